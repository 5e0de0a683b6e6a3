package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	fositeModule = "github.com/ory/fosite"
	standardOnly = "" // a layer that lists it imports only the standard library
)

// layers lists the imports that a package may have: packages of this module, and
// those that only some packages may import. The path of another module includes
// everything below it. A path that no layer lists, such as most of the standard
// library, is allowed everywhere. A change of the architecture is a change of this
// table.
var layers = map[string][]string{
	"storage": {"golang.org/x/net/idna", "database/sql", "github.com/jmoiron/sqlx", "github.com/lib/pq",
		"modernc.org/sqlite"},
	"storage/storagetest":  {"mandate/storage", "mandate/testkit"},
	"storage/postgrestest": {"mandate/testkit", "mandate/testkit/port", "database/sql", "github.com/lib/pq"},
	"provider": {
		"mandate/provider/access",
		"mandate/provider/authorize", "mandate/provider/checkup", "mandate/provider/clientauth", "mandate/provider/clients",
		"mandate/provider/clock", "mandate/provider/copies", "mandate/provider/device", "mandate/provider/errorcode",
		"mandate/provider/events", "mandate/provider/grant", "mandate/provider/jose", "mandate/provider/keys",
		"mandate/provider/launcher", "mandate/provider/limits", "mandate/provider/logout", "mandate/provider/loopback",
		"mandate/provider/mail", "mandate/provider/notices", "mandate/provider/oauth", "mandate/provider/outbound",
		"mandate/provider/passkey", "mandate/provider/password", "mandate/provider/people",
		"mandate/provider/policy", "mandate/provider/possession", "mandate/provider/presets",
		"mandate/provider/redirect", "mandate/provider/registration", "mandate/provider/resources",
		"mandate/provider/seal", "mandate/provider/sites", "mandate/provider/tokens", "mandate/storage",
	},
	"provider/sites": {"mandate/provider/acr", "mandate/provider/authority", "mandate/provider/clients",
		"mandate/provider/copies", "mandate/provider/events", "mandate/provider/jose", "mandate/provider/keys",
		"mandate/provider/oauth", "mandate/provider/people", "mandate/provider/policy", "mandate/provider/seal",
		"mandate/storage"},
	"provider/possession": {"mandate/storage", "mandate/provider/oauth", "mandate/provider/dpop",
		"mandate/provider/mtls", "mandate/provider/seal"},
	"provider/access": {"mandate/storage", "mandate/provider/acr", "mandate/provider/oauth", "mandate/provider/people",
		"mandate/provider/policy"},
	"provider/seal":      {standardOnly},
	"provider/bell":      {standardOnly},
	"provider/loopback":  {standardOnly},
	"provider/parameter": {standardOnly},
	"provider/authority": {"golang.org/x/net/idna", standardOnly},
	"provider/origin":    {standardOnly},
	"provider/events": {"mandate/provider/bell", "mandate/storage", "mandate/provider/oauth",
		"mandate/provider/policy", "mandate/provider/origin", "mandate/provider/seal", "mandate/provider/throttle"},
	"provider/typed":     {"golang.org/x/text", standardOnly},
	"provider/password":  {"golang.org/x/crypto", "mandate/provider/typed", standardOnly},
	"provider/blocklist": {standardOnly},
	"provider/passkey":   {"github.com/go-webauthn/webauthn", "mandate/provider/loopback", standardOnly},
	"provider/throttle":  {"mandate/provider/nat64", standardOnly},
	"provider/outbound":  {"mandate/provider/authority", "mandate/provider/nat64", standardOnly},
	"provider/nat64":     {standardOnly},
	"provider/upstream": {"github.com/coreos/go-oidc/v3", "golang.org/x/oauth2", "mandate/provider/outbound",
		"mandate/provider/recovered", standardOnly},
	"provider/jose": {"github.com/golang-jwt/jwt/v5", standardOnly},
	"provider/dpop": {"mandate/provider/jose", standardOnly},
	"provider/documents": {"mandate/provider/oauth", "mandate/provider/outbound", "mandate/provider/places",
		"mandate/provider/recovered", "mandate/provider/throttle"},
	"provider/keysets": {"mandate/provider/jose", "mandate/provider/outbound", "mandate/provider/places",
		"mandate/provider/recovered"},
	"provider/places":      {"golang.org/x/net/publicsuffix", "mandate/provider/throttle", standardOnly},
	"provider/recovered":   {standardOnly},
	"provider/spreadsheet": {standardOnly},
	"provider/mtls":        {standardOnly},
	"provider/redirect": {"mandate/provider/parameter", "mandate/provider/authority", "mandate/provider/loopback",
		standardOnly},
	"provider/acr":        {standardOnly},
	"provider/claims":     {standardOnly},
	"provider/attributes": {standardOnly},
	"provider/totp":       {"rsc.io/qr", "mandate/provider/typed", standardOnly},
	"provider/clock":      {standardOnly},
	"provider/checkup":    {standardOnly},
	"provider/errorcode":  {standardOnly},
	"provider/copies":     {standardOnly},
	"provider/presets":    {standardOnly},
	"provider/mail":       {"github.com/wneessen/go-mail", "mandate/provider/loopback", standardOnly},
	"provider/indicator":  {"mandate/provider/authority", standardOnly},
	"provider/logo":       {"golang.org/x/image", standardOnly},
	"provider/metadata":   {"mandate/provider/authority", "mandate/provider/jose", standardOnly},
	"provider/resources": {"mandate/provider/seal", "mandate/provider/events", "mandate/storage",
		"mandate/provider/oauth", "mandate/provider/policy", "mandate/provider/keys", "mandate/provider/people",
		"mandate/provider/copies", "mandate/provider/indicator", "mandate/provider/jose"},
	"provider/oauth":  {"mandate/storage", "mandate/provider/redirect"},
	"provider/policy": {"mandate/storage", "mandate/provider/acr", "mandate/provider/oauth", "mandate/provider/redirect"},
	"provider/keys": {"mandate/provider/origin", "mandate/provider/events", "mandate/storage",
		"mandate/provider/oauth", "mandate/provider/jose", "mandate/provider/seal"},
	"provider/limits": {"mandate/provider/origin", "mandate/provider/oauth", "mandate/provider/password",
		"mandate/provider/throttle"},
	"provider/notices": {"mandate/provider/bell", "mandate/storage", "mandate/provider/oauth",
		"mandate/provider/mail", "mandate/provider/seal"},
	"provider/people": {"mandate/provider/attributes", "mandate/provider/claims",
		"mandate/provider/bell", "golang.org/x/net/idna", "mandate/provider/clock",
		"mandate/provider/indicator", "mandate/provider/origin", "mandate/provider/events", "golang.org/x/text",
		"mandate/provider/acr", "mandate/provider/blocklist", "mandate/provider/totp", "mandate/storage",
		"mandate/provider/oauth", "mandate/provider/policy", "mandate/provider/limits", "mandate/provider/notices",
		"mandate/provider/outbound", "mandate/provider/passkey", "mandate/provider/password", "mandate/provider/seal",
		"mandate/provider/throttle", "mandate/provider/typed", "mandate/provider/upstream"},
	"provider/tokens": {"mandate/provider/claims",
		"mandate/provider/clientauth", "mandate/provider/events", "mandate/provider/acr",
		"mandate/storage", "mandate/provider/possession", "mandate/provider/oauth", "mandate/provider/policy",
		"mandate/provider/keys", "mandate/provider/people", "mandate/provider/clients", "mandate/provider/resources",
		"mandate/provider/indicator", "mandate/provider/copies", "mandate/provider/jose", "mandate/provider/places",
		"mandate/provider/seal", "mandate/provider/throttle"},
	"provider/logout": {"mandate/provider/bell", "mandate/provider/clientauth", "mandate/provider/authority",
		"mandate/provider/clients", "mandate/provider/events", "mandate/storage", "mandate/provider/oauth",
		"mandate/provider/policy", "mandate/provider/tokens",
		"mandate/provider/jose", "mandate/provider/outbound", "mandate/provider/places", "mandate/provider/recovered",
		"mandate/provider/redirect", "mandate/provider/seal"},
	"provider/pkce": {"mandate/provider/oauth"},
	"provider/framework": {"mandate/storage", "mandate/provider/oauth", "mandate/provider/policy",
		"mandate/provider/clients", "mandate/provider/seal", "mandate/provider/tokens", fositeModule},
	"provider/framework/oryx/errorsx": {"github.com/pkg/errors"},
	"provider/framework/oryx/otelx":   {"go.opentelemetry.io"},
	"provider/authorize": {"mandate/provider/access", "mandate/provider/claims",
		"mandate/provider/clientauth", "mandate/provider/authority", "mandate/provider/errorcode",
		"mandate/provider/indicator", "mandate/provider/events", "mandate/provider/acr", "mandate/storage",
		"mandate/provider/possession", "mandate/provider/oauth", "mandate/provider/policy", "mandate/provider/limits",
		"mandate/provider/throttle", "mandate/provider/people", "mandate/provider/clients", "mandate/provider/resources",
		"mandate/provider/tokens", "mandate/provider/keys", "mandate/provider/framework",
		"mandate/provider/pkce", "mandate/provider/redirect", "mandate/provider/requestobject", "mandate/provider/seal",
		fositeModule},
	"provider/grant": {"mandate/provider/clientauth", "mandate/provider/events", "mandate/provider/acr",
		"mandate/storage", "mandate/provider/possession", "mandate/provider/oauth", "mandate/provider/policy",
		"mandate/provider/limits", "mandate/provider/people", "mandate/provider/clients", "mandate/provider/resources",
		"mandate/provider/tokens",
		"mandate/provider/framework", "mandate/provider/pkce", "mandate/provider/seal", "mandate/provider/throttle",
		fositeModule},
	"provider/device": {"mandate/provider/access",
		"mandate/provider/clientauth", "mandate/provider/events", "mandate/provider/acr",
		"mandate/storage", "mandate/provider/oauth", "mandate/provider/policy", "mandate/provider/limits",
		"mandate/provider/clients", "mandate/provider/resources", "mandate/provider/tokens",
		"mandate/provider/seal", "mandate/provider/throttle", "mandate/provider/typed"},
	"provider/registration": {"mandate/provider/clientauth", "mandate/provider/authority", "mandate/provider/events",
		"mandate/storage", "mandate/provider/possession", "mandate/provider/oauth", "mandate/provider/policy",
		"mandate/provider/limits", "mandate/provider/clients", "mandate/provider/keysets", "mandate/provider/places",
		"mandate/provider/jose", "mandate/provider/metadata", "mandate/provider/mtls", "mandate/provider/outbound",
		"mandate/provider/redirect", "mandate/provider/seal", "mandate/provider/throttle", "mandate/provider/loopback"},
	"provider/requestobject": {"mandate/provider/jose", standardOnly},
	"provider/clientauth": {
		"mandate/provider/jose", "mandate/provider/keysets", "mandate/provider/limits", "mandate/provider/metadata",
		"mandate/provider/mtls", "mandate/provider/oauth", "mandate/provider/outbound", "mandate/provider/policy",
		"mandate/provider/possession", "mandate/provider/seal", "mandate/provider/throttle", "mandate/provider/typed",
		"mandate/storage",
	},
	"provider/clients": {"mandate/provider/claims",
		"mandate/provider/clientauth", "mandate/provider/authority", "mandate/provider/errorcode",
		"mandate/provider/origin", "mandate/provider/events", "mandate/provider/acr", "mandate/storage",
		"mandate/provider/possession", "mandate/provider/metadata", "mandate/provider/oauth", "mandate/provider/policy",
		"mandate/provider/limits", "mandate/provider/keys", "mandate/provider/people", "mandate/provider/resources",
		"mandate/provider/copies", "mandate/provider/documents", "mandate/provider/jose", "mandate/provider/keysets",
		"mandate/provider/logo", "mandate/provider/mtls", "mandate/provider/outbound", "mandate/provider/redirect",
		"mandate/provider/requestobject", "mandate/provider/seal", "mandate/provider/loopback"},
	"provider/launcher": {"mandate/provider/clients", "mandate/provider/oauth", "mandate/provider/policy",
		"mandate/storage"},
	"handlers": {
		"mandate/handlers/account", "mandate/handlers/admin", "mandate/handlers/clients",
		"mandate/handlers/protocol", "mandate/handlers/signin", "mandate/handlers/sites", "mandate/handlers/web",
		"mandate/provider", "mandate/templates", "github.com/gorilla/mux",
	},
	// No area of the site imports another one: what two of them need is in handlers/web or handlers/person.
	"handlers/web": {
		"mandate/handlers/request", "mandate/handlers/resource", "mandate/provider", "mandate/provider/acr",
		"mandate/provider/authorize", "mandate/provider/checkup", "mandate/provider/jose",
		"mandate/provider/loopback", "mandate/provider/oauth", "mandate/provider/origin", "mandate/provider/people",
		"mandate/provider/policy", "mandate/provider/totp", "mandate/storage", "mandate/templates",
		"mandate/templates/languages", "github.com/gorilla/mux",
	},
	"handlers/person": {
		"mandate/handlers/web", "mandate/provider/origin", "mandate/provider/people", "mandate/storage",
		"mandate/templates", "mandate/templates/languages",
	},
	"handlers/protocol": {
		"mandate/handlers/request", "mandate/handlers/resource", "mandate/handlers/web", "mandate/provider/checkup",
		"mandate/provider/device", "mandate/provider/errorcode", "mandate/provider/oauth", "mandate/provider/origin",
		"mandate/provider/people", "mandate/provider/policy", "mandate/provider/tokens", "mandate/storage",
		"mandate/templates", "mandate/templates/languages", "github.com/gorilla/mux",
	},
	"handlers/signin": {
		"mandate/handlers/request", "mandate/handlers/web", "mandate/provider/access", "mandate/provider/claims",
		"mandate/provider/acr", "mandate/provider/authority",
		"mandate/provider/authorize", "mandate/provider/clientauth", "mandate/provider/clients",
		"mandate/provider/errorcode", "mandate/provider/events", "mandate/provider/logout",
		"mandate/provider/loopback", "mandate/provider/oauth", "mandate/provider/origin", "mandate/provider/people",
		"mandate/provider/policy", "mandate/provider/redirect", "mandate/provider/resources", "mandate/storage",
		"mandate/templates", "mandate/templates/languages",
	},
	"handlers/sites": {
		"mandate/handlers/request", "mandate/handlers/web", "mandate/provider/oauth", "mandate/provider/seal",
		"mandate/provider/sites",
	},
	"handlers/account": {
		"mandate/handlers/person", "mandate/handlers/request", "mandate/handlers/web", "mandate/provider/authority",
		"mandate/provider/clients", "mandate/provider/launcher", "mandate/provider/oauth", "mandate/provider/people",
		"mandate/provider/policy", "mandate/storage",
		"mandate/templates", "mandate/templates/languages",
	},
	"handlers/admin": {
		"mandate/handlers/person", "mandate/handlers/request", "mandate/handlers/web", "mandate/provider/checkup",
		"mandate/provider/clients", "mandate/provider/events", "mandate/provider/oauth", "mandate/provider/people",
		"mandate/provider/policy", "mandate/provider/registration", "mandate/provider/resources",
		"mandate/provider/sites", "mandate/provider/spreadsheet", "mandate/storage", "mandate/templates",
	},
	"handlers/clients": {
		"mandate/handlers/request", "mandate/handlers/web", "mandate/provider", "mandate/provider/acr",
		"mandate/provider/clientauth", "mandate/provider/clients", "mandate/provider/errorcode",
		"mandate/provider/events", "mandate/provider/jose", "mandate/provider/loopback", "mandate/provider/oauth",
		"mandate/provider/policy", "mandate/provider/possession", "mandate/provider/presets",
		"mandate/provider/registration", "mandate/provider/tokens", "mandate/storage", "mandate/templates",
		"mandate/templates/languages",
	},
	"handlers/request": {"mandate/provider/oauth", "mandate/provider/origin", "mandate/provider/mtls",
		"mandate/provider/throttle"},
	"handlers/resource": {"mandate/provider/parameter", "mandate/provider/authority", "mandate/provider/dpop",
		"mandate/provider/jose", "mandate/provider/indicator", "mandate/provider/mtls", "mandate/provider/recovered",
		"mandate/provider/throttle", "mandate/provider/loopback", standardOnly},
	"app": {
		"mandate/app/config", "mandate/app/eventlog", "mandate/app/httpserve", "mandate/app/telemetry",
		"mandate/conformance/wire", "mandate/handlers", "mandate/handlers/request", "mandate/handlers/resource",
		"mandate/handlers/web", "mandate/provider", "mandate/provider/checkup", "mandate/provider/events",
		"mandate/provider/mail", "mandate/provider/notices", "mandate/provider/origin", "mandate/provider/outbound",
		"mandate/provider/people", "mandate/provider/policy", "mandate/provider/registration",
		"mandate/provider/resources", "mandate/provider/tokens", "mandate/storage", "mandate/templates",
		"mandate/templates/languages",
	},
	"app/config": {
		"mandate/app/httpserve", "mandate/provider", "mandate/provider/acr", "mandate/provider/attributes",
		"mandate/provider/authority",
		"mandate/provider/authorize", "mandate/provider/clients", "mandate/provider/device", "mandate/provider/grant",
		"mandate/provider/keys", "mandate/provider/limits", "mandate/provider/logout", "mandate/provider/loopback",
		"mandate/provider/mail", "mandate/provider/notices", "mandate/provider/outbound", "mandate/provider/people",
		"mandate/provider/policy", "mandate/provider/possession", "mandate/provider/redirect",
		"mandate/provider/registration", "mandate/provider/resources", "mandate/provider/tokens", "mandate/storage",
		"mandate/templates",
		"go.yaml.in/yaml/v3",
	},
	"cmd/mandate/demo": {
		"mandate/conformance/need", "mandate/conformance/target", "mandate/handlers/resource", "mandate/provider",
		"mandate/provider/clients", "mandate/provider/dpop", "mandate/provider/jose", "mandate/provider/loopback",
		"mandate/provider/outbound", "mandate/provider/people", "mandate/provider/policy",
		"mandate/provider/resources", "mandate/templates",
	},
	"app/httpserve": {standardOnly},
	"app/lines":     {standardOnly},
	"app/eventlog":  {standardOnly},
	"app/telemetry": {
		"mandate/app/eventlog", "mandate/handlers/request", "mandate/provider", "mandate/provider/policy",
		"mandate/storage", "github.com/prometheus", "go.opentelemetry.io",
	},
	"templates":           {"mandate/templates/languages", standardOnly},
	"templates/languages": {"golang.org/x/text", standardOnly},
	"conformance": {"mandate/conformance/engine", "mandate/conformance/rules", "mandate/conformance/target",
		"mandate/conformance/wire"},
	"conformance/engine": {"mandate/conformance/check", "mandate/conformance/target", "mandate/conformance/browser",
		"mandate/conformance/need", "mandate/conformance/wire", "go.yaml.in/yaml/v3"},
	"conformance/rules": {"mandate/conformance/check", "mandate/conformance/target", "mandate/conformance/need",
		"mandate/conformance/browser", "mandate/conformance/jose", "mandate/conformance/wire"},
	"conformance/check": {"mandate/conformance/target", "mandate/conformance/need", "mandate/conformance/browser",
		"mandate/conformance/jose", "mandate/conformance/wire"},
	"conformance/target": {"mandate/conformance/jose", "mandate/conformance/need", "mandate/conformance/browser",
		"mandate/conformance/wire", "go.yaml.in/yaml/v3"},
	"conformance/browser": {"mandate/conformance/wire"},
	"conformance/jose":    {"github.com/golang-jwt/jwt/v5"},
	"conformance/wire":    {standardOnly},
	"conformance/need":    {standardOnly},
	// For tests alone.
	"testkit":                      {"flag", standardOnly},
	"testkit/port":                 {standardOnly},
	"testkit/metrics":              {standardOnly},
	"testkit/rename":               {standardOnly},
	"testkit/headless":             {"mandate/testkit", "github.com/chromedp/chromedp", standardOnly},
	"testkit/times":                {"flag", standardOnly},
	"provider/oauth/oauthtest":     {"mandate/provider/oauth"},
	"provider/passkey/passkeytest": {standardOnly},
	"testkit/smtpd":                {"mandate/testkit", "mandate/testkit/port"},
	// For tests alone: it runs the built server, on a database of its own.
	"conformance/servertest": {"mandate/testkit",
		"mandate/conformance/engine", "mandate/conformance/rules", "mandate/conformance/check",
		"mandate/conformance/target", "mandate/conformance/need", "mandate/conformance/wire",
		"mandate/storage/postgrestest", "mandate/testkit/port"},
	"conformance/faults":   {},
	"conformance/foreign":  {},
	"conformance/mandate":  {},
	"conformance/programs": {},
	"conformance/bench": {"mandate/conformance/bench/load", "mandate/conformance/bench/process",
		"mandate/conformance/jose", "mandate/handlers/resource", "mandate/testkit/port", "flag", "database/sql",
		"github.com/lib/pq", "modernc.org/sqlite"},
	"conformance/bench/load":    {standardOnly},
	"conformance/bench/process": {standardOnly},
	"cmd/mandate": {
		"mandate/cmd/mandate/command",
	},
	"cmd/mandate/command": {
		"mandate/app", "mandate/app/config", "mandate/app/httpserve", "mandate/app/lines",
		"mandate/cmd/mandate/demo", "mandate/conformance", "mandate/conformance/check", "mandate/conformance/engine",
		"mandate/conformance/rules", "mandate/conformance/target", "mandate/conformance/wire", "mandate/provider",
		"mandate/provider/access", "mandate/provider/acr", "mandate/provider/checkup", "mandate/provider/clientauth",
		"mandate/provider/clients", "mandate/provider/errorcode",
		"mandate/provider/events", "mandate/provider/jose", "mandate/provider/oauth", "mandate/provider/origin",
		"mandate/provider/password", "mandate/provider/people", "mandate/provider/policy",
		"mandate/provider/possession", "mandate/provider/presets", "mandate/provider/registration",
		"mandate/provider/resources", "mandate/provider/sites", "mandate/provider/spreadsheet", "mandate/provider/tokens",
		"mandate/storage", "mandate/templates", "flag", "github.com/spf13/cobra",
	},
}

// records lists what a layer may use of storage: the records that pages and messages show, and the values in them. It
// reads and changes them through the components of provider, and has no Store.
var records = map[string][]string{
	"handlers":          {},
	"handlers/web":      {"SignedIn"},
	"handlers/person":   {"Event", "Passkey", "SignedIn", "User"},
	"handlers/protocol": {"Application", "User"},
	"handlers/signin":   {"Application", "SignedIn"},
	"handlers/sites":    {},
	"handlers/account":  {"FromDocument", "Passkey", "SignedIn", "User"},
	"handlers/admin": {
		"ActDisable", "ActEnable", "ActFactors", "ActLink", "ActRemove", "Application", "Event", "Group", "Invitation",
		"SignedIn", "Site", "User",
	},
	"handlers/clients": {
		"Application", "FromCommand", "FromDocument", "FromPage", "FromRegistration", "Selection",
		"SignedIn", "Suspended", "UnknownOrigin", "User",
	},
}

// never lists modules that no package may import: provider/jose does what they do.
var never = []string{"github.com/go-jose/go-jose"}

// forbidden lists the imports and names that a layer, and everything below it, must not
// use.
var forbidden = map[string][]string{
	"storage":  {"net/http"},
	"provider": {"http.ResponseWriter"},
}

// ofTheProgram lists the names that read the input of the process or end it. A test
// helper, which is in no program, may also read the environment.
var ofTheProgram = []string{"os.Exit", "os.Args", "os.Getenv", "os.LookupEnv", "os.Environ", "log.Fatal", "log.Fatalf"}

func TestLayers(t *testing.T) {
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != "../.." &&
			(name[0] == '.' || name[0] == '_' || name == "testdata" || name == "node_modules"):
			return filepath.SkipDir
		case strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go"):
			checkFile(t, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func checkFile(t *testing.T, path string) {
	dir, err := filepath.Rel("../..", filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	layer := filepath.ToSlash(dir)
	allowed, known := layers[layer]
	if !known {
		t.Errorf("%s: the package %s is not in the table of layers", path, layer)
		return
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range file.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		if !mayImport(allowed, imported) || isForbidden(layer, imported) {
			t.Errorf("%s must not import %s", path, imported)
		}
		if imported == "mandate/storage" && records[layer] != nil && spec.Name != nil {
			t.Errorf("%s must import %s under its own name", path, imported)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		of, ok := selector.X.(*ast.Ident)
		if !ok {
			return true
		}
		used := of.Name + "." + selector.Sel.Name
		allowed, limited := records[layer]
		if limited && of.Name == "storage" && !slices.Contains(allowed, selector.Sel.Name) {
			t.Errorf("%s must not use %s: the table of records does not list it", path, used)
		}
		program := layer == "cmd/mandate" || layer == "conformance/bench" || layer == "storage/postgrestest" ||
			layer == "conformance/servertest" ||
			layer == "testkit" ||
			layer == "testkit/times" ||
			layer == "testkit/rename" ||
			layer == "testkit/metrics"
		if isForbidden(layer, used) || !program && slices.Contains(ofTheProgram, used) {
			t.Errorf("%s must not use %s", path, used)
		}
		return true
	})
}

func isForbidden(layer, name string) bool {
	for base, names := range forbidden {
		if (layer == base || strings.HasPrefix(layer, base+"/")) && slices.Contains(names, name) {
			return true
		}
	}
	return false
}

func mayImport(allowed []string, imported string) bool {
	covers := func(base string) bool {
		return base != standardOnly && (imported == base || !strings.HasPrefix(
			base, ours+"/",
		) && strings.HasPrefix(imported, base+"/"))
	}
	if slices.ContainsFunc(never, covers) {
		return false
	}
	if slices.ContainsFunc(allowed, covers) {
		return true
	}
	for _, claimed := range layers {
		if slices.ContainsFunc(claimed, covers) {
			return false
		}
	}
	first, _, _ := strings.Cut(imported, "/")
	return !strings.HasPrefix(
		imported, ours+"/",
	) && !(slices.Contains(allowed, standardOnly) && strings.Contains(first, "."))
}

// TestArchitectureDocs wants each package of the table of layers in docs/architecture.md.
func TestArchitectureDocs(t *testing.T) {
	text, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	for layer := range layers {
		if !strings.Contains(string(text), "| `"+layer+"` |") {
			t.Errorf("docs/architecture.md has no row for %s: say what it holds", layer)
		}
	}
}
