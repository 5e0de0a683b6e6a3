package config

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/provider/resources"
)

const testKey = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="

// load reads a configuration from text, as the content of mandate.yaml.
func load(t testing.TB, text string, environ ...string) (*Config, error) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "mandate.yaml")
	err := os.WriteFile(path, []byte(text), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Load(path, environ)
	var problems *Error
	if errors.As(err, &problems) {
		for i := range problems.problems {
			p := &problems.problems[i]
			p.at.file = strings.TrimPrefix(p.at.file, dir+"/")
			p.text = strings.ReplaceAll(p.text, dir+"/", "")
		}
	}
	return c, err
}

func mustLoad(t testing.TB, text string, environ ...string) *Config {
	t.Helper()
	c, err := load(t, text, environ...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// settings compares configurations without the sources of the values.
var settings = cmp.Options{cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".sources" },
	cmp.Ignore()),
	cmp.AllowUnexported(Config{}), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })}

// The defaults, and the order in which `config print` shows the settings.
func TestConfigDefaults(t *testing.T) {
	c := mustLoad(t, "")
	want, err := os.ReadFile("testdata/default.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), withoutSource(printed(c))); diff != "" {
		t.Error(diff)
	}
}

// The default of BASE_URL leads to the address that LISTEN binds. If it named another
// port, the one-time link for the first administrator would lead to another program.
func TestBaseURLFollowsListen(t *testing.T) {
	const fixed = "http://127.0.0.1:8000"
	for listen, want := range map[string]string{
		"127.0.0.1:8001": "http://127.0.0.1:8001",
		"127.0.0.2:8001": "http://127.0.0.2:8001",
		"localhost:8001": "http://localhost:8001",
		"[::1]:8001":     "http://[::1]:8001",
		"127.0.0.1:80":   "http://127.0.0.1",
		":8001":          "http://127.0.0.1:8001",
		"0.0.0.0:8001":   "http://127.0.0.1:8001",
		"[::]:8001":      "http://127.0.0.1:8001",
		"127.0.0.1:0":    fixed,
		"192.0.2.1:8001": fixed,
		"example:8001":   fixed,
		"[::1%lo]:8001":  fixed,
	} {
		if got := mustLoad(t, "LISTEN: '"+listen+"'\n").BaseURL; got != want {
			t.Errorf("LISTEN %s: BASE_URL is %s, want %s", listen, got, want)
		}
		secure := strings.Replace(want, "http:", "https:", 1)
		if listen == "127.0.0.1:80" {
			secure += ":80"
		}
		if got := mustLoad(t, "LISTEN: '"+listen+"'\nTLS_CERTIFICATE_FILE: a.pem\nTLS_KEY_FILE: b.pem\n").
			BaseURL; got != secure {
			t.Errorf("LISTEN %s with TLS: BASE_URL is %s, want %s", listen, got, secure)
		}
		if got := mustLoad(t, "BASE_URL: https://a.example\nLISTEN: '"+listen+"'\n").BaseURL; got != "https://a.example" {
			t.Errorf("LISTEN %s: BASE_URL was set, and is now %s", listen, got)
		}
	}
}

// MTLS_BASE_URL has the host of BASE_URL and the port of MTLS_LISTEN.
func TestMutualBaseURL(t *testing.T) {
	const tls = "TLS_CERTIFICATE_FILE: a.pem\nTLS_KEY_FILE: b.pem\n"
	for text, want := range map[string]string{
		tls: "",
		tls +
			"BASE_URL: https://a.example/x\nMTLS_LISTEN: ':8443'\n": "https://a.example:8443/x",
		tls +
			"BASE_URL: https://a.example:8000\nMTLS_LISTEN: ':443'\n": "https://a.example",
		tls +
			"BASE_URL: 'https://[::1]:8000'\nMTLS_LISTEN: '[::1]:8443'\n": "https://[::1]:8443",
		tls +
			"BASE_URL: https://a.example\nMTLS_LISTEN: ':0'\n": "",
		tls +
			"BASE_URL: https://a.example\nMTLS_LISTEN: ':8443'\nMTLS_BASE_URL: https://m.example/\n": "https://m.example",
		"TRUSTED_PROXIES: [10.0.0.1]\nMTLS_CERTIFICATE_HEADER: Client-Cert\nMTLS_BASE_URL: https://m.example\nBASE_URL: https://a.example\n": "https://m.example",
	} {
		if got := mustLoad(t, text).MTLSBaseURL; got != want {
			t.Errorf("%q: MTLS_BASE_URL is %q, want %q", text, got, want)
		}
	}
}

// Other addresses of this machine may have the port of LISTEN.
func TestUpstreamBesideListen(t *testing.T) {
	for listen, upstream := range map[string]string{
		"127.0.0.1:9000": "http://127.0.0.2:9000",
		"0.0.0.0:9000":   "http://[::1]:9000",
		":9000":          "http://127.0.0.1:9001",
		"[::]:9000":      "http://192.0.2.1:9000",
	} {
		mustLoad(t, "LISTEN: '"+listen+"'\nUPSTREAM: '"+upstream+"'\nRULES: [{PATH: /}]\n"+
			"OAUTH2_PROVIDER: {RESOURCE_SERVER_INTROSPECTION_URL: 'https://a/', RESOURCE_SERVER_AUTH_TOKEN: mat_1}\n")
	}
}

// Every setting has a default, every number has limits, and no key exists twice.
func TestConfigTags(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range allFields(&Config{}) {
		for _, name := range keysOf([]field{f}) {
			if seen[name] {
				t.Errorf("%s is there twice", name)
			}
			seen[name] = true
			if text := unavailableText(name); text != "" {
				t.Errorf("%s is a setting, and also in the list of names that are not: %s", name, text)
			}
			if notSetting(name, "") {
				t.Errorf("%s cannot be set in the environment", name)
			}
		}
		_, isSet := f.tag.Lookup("default")
		numeric := f.value.CanInt() || f.value.CanUint()
		if !isSet || numeric && (f.tag.Get("min") == "" || f.tag.Get("max") == "") {
			t.Errorf("%s lacks a tag", f.name)
		}
		if numeric && (tagNumber(f.tag, "default") < tagNumber(f.tag, "min") ||
			tagNumber(f.tag, "default") > tagNumber(f.tag, "max")) {
			t.Errorf("%s has a default out of its bounds", f.name)
		}
	}
}

func TestConfigFile(t *testing.T) {
	c := mustLoad(t, `
BASE_URL: https://auth.example.com/sso/
LISTEN: ":9000"
DATABASE_URL: postgres://mandate:s3cret%2F@db/mandate?sslmode=verify-full
SECRET_KEY: `+testKey+`
TRUSTED_PROXIES: [10.0.0.0/8, "::1", 192.0.2.1]
SESSION_COOKIE_AGE: 3600
UPSTREAM: http://api:8080
RULES:
  - PATH: /users/
    METHODS: [GET]
    SCOPES: [read]
    MAX_AGE: 300
    ACR_VALUES: ["urn:mandate:acr:password"]
    WEBSOCKET: true
  - PATH: /open
OAUTH2_PROVIDER:
  SCOPES:
    write: Write scope
    introspection: Introspect token scope
    openid: Log in
    read: Read scope
  OIDC_ENABLED: true
  PKCE_REQUIRED: False
  REFRESH_TOKEN_ABSOLUTE_EXPIRE_SECONDS: 600
  ALLOWED_REDIRECT_URI_SCHEMES: [https, com.example.app]
  RESOURCE_SERVER_INTROSPECTION_URL: https://auth.example.com/sso/o/introspect/
  RESOURCE_SERVER_INTROSPECTION_CREDENTIALS: [id, "secret"]
  RESOURCE_SERVER_ISSUER: https://auth.example.com/sso/o
  RESOURCE_SERVER_AUDIENCE: https://api.example.com
  RESOURCE_SERVER_NAME: Orders
  RESOURCE_SERVER_DOCUMENTATION: https://docs.example.com/
  RESOURCE_SERVER_ALLOWED_ORIGINS: [https://app.example.com, "http://localhost:5173"]
`)
	check := func(name string, got, want any) {
		t.Helper()
		if diff := cmp.Diff(want, got, settings); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	check("BASE_URL", c.BaseURL, "https://auth.example.com/sso")
	check("SECRET_KEY", string(c.ServerKey), "01234567890123456789012345678901")
	check("TRUSTED_PROXIES", c.TrustedProxies,
		[]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128"),
			netip.MustParsePrefix("192.0.2.1/32")})
	check("SESSION_IDLE_SECONDS follows", c.People.SessionIdle, time.Hour)
	check("REFRESH_TOKEN_EXPIRE_SECONDS follows", c.Provider.RefreshTokenLifetime, 10*time.Minute)
	check("RULES", c.Rules,
		[]Rule{{Path: "/users/", Methods: []string{"GET"}, Scopes: []string{"read"}, MaxAge: 5 * time.Minute,
			ACRValues: []string{"urn:mandate:acr:password"}, WebSocket: true}, {Path: "/open"}})
	check("SCOPES in order", c.Provider.Scopes,
		[]policy.Scope{{Name: "write", Description: "Write scope"},
			{Name: "introspection", Description: "Introspect token scope"}, {Name: "openid", Description: "Log in"},
			{Name: "read", Description: "Read scope"}})
	check("DEFAULT_SCOPES, which the provider resolves", c.Provider.DefaultScopes, []string{policy.AllScopes})
	check("PKCE_REQUIRED", c.Provider.PKCE, "false")
	check("credentials", c.Provider.ResourceServerIntrospectionCredentials, []string{"id", "secret"})
	check("what the API publishes",
		[]string{c.Provider.ResourceServerIssuer, c.Provider.ResourceServerName, c.Provider.ResourceServerDocumentation},
		[]string{"https://auth.example.com/sso/o", "Orders", "https://docs.example.com/"})
	check("RESOURCE_SERVER_ALLOWED_ORIGINS", c.Provider.ResourceServerAllowedOrigins,
		[]string{"https://app.example.com", "http://localhost:5173"})
	check("source", c.sources["OAUTH2_PROVIDER.PKCE_REQUIRED"].line, 24)
	check("OIDC_ENABLED", c.Provider.OpenID, true)
}

func TestConfigEnvironment(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(dir, "key")
	err := os.WriteFile(secret, []byte(testKey+"\n"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	c := mustLoad(t, "SECRET_KEY: bm90IHRoaXMgb25lLCBidXQgdGhlIGZpbGUncyBvbmU=\nSAMPLE_API: false\nRULES: [{PATH: /a}, "+
		"{PATH: /b}]\nUPSTREAM: http://api\n",
		"MANDATE_SAMPLE_API=true",
		"MANDATE_SECRET_KEY_FILE="+secret,
		"MANDATE_SCOPES={read: Read it, write: 'Write: it'}",
		"MANDATE_DEFAULT_SCOPES=write read",
		"MANDATE_ALLOWED_REDIRECT_URI_SCHEMES=[https]",
		"MANDATE_TRUSTED_PROXIES=10.0.0.1 10.1.0.0/16",
		"MANDATE_RULES=[{PATH: /, SCOPES: [read]}]",
		"MANDATE_ACCESS_TOKEN_EXPIRE_SECONDS=60",
		"MANDATE_RESOURCE_SERVER_INTROSPECTION_URL=http://localhost/o/introspect/",
		"MANDATE_RESOURCE_SERVER_AUTH_TOKEN=mat_123",
		"MANDATE_TEST_ANYTHING=1", "MANDATE_CONFIG=/elsewhere", "MANDATEX=1", "PATH=/bin",
		// Kubernetes adds these variables if a service is named mandate or
		// mandate-web.
		"MANDATE_SERVICE_HOST=10.0.0.1", "MANDATE_SERVICE_PORT=8000", "MANDATE_SERVICE_PORT_HTTP=8000",
		"MANDATE_PORT=tcp://10.0.0.1:8000",
		"MANDATE_PORT_8000_TCP=tcp://10.0.0.1:8000", "MANDATE_PORT_8000_TCP_PROTO=tcp", "MANDATE_WEB_SERVICE_HOST=10.0.0.1",
		"MANDATE_WEB_PORT=tcp://10.0.0.1:80")
	want := mustLoad(t, `
SECRET_KEY: `+testKey+`
SAMPLE_API: true
TRUSTED_PROXIES: [10.0.0.1, 10.1.0.0/16]
RULES: [{PATH: /, SCOPES: [read]}]
UPSTREAM: http://api
OAUTH2_PROVIDER:
  SCOPES: {read: Read it, write: "Write: it"}
  DEFAULT_SCOPES: [write, read]
  ALLOWED_REDIRECT_URI_SCHEMES: [https]
  ACCESS_TOKEN_EXPIRE_SECONDS: 60
  RESOURCE_SERVER_INTROSPECTION_URL: http://localhost/o/introspect/
  RESOURCE_SERVER_AUTH_TOKEN: mat_123
`)
	if diff := cmp.Diff(want, c, settings); diff != "" {
		t.Error(diff)
	}
}

// The file is the named one, or that of MANDATE_CONFIG, or mandate.yaml if it
// exists.
func TestConfigWhichFile(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range map[string]string{"mandate.yaml": "LISTEN: :1", "named.yaml": "LISTEN: :2",
		"env.yaml": "LISTEN: :3", "empty.yaml": "", "null.yaml": "# nothing\n---\n", "comment.yaml": "# SCOPES:\n"} {
		err := os.WriteFile(name, []byte(text), 0o600)
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ path, env, want string }{
		{"", "", ":1"},
		{"named.yaml", "MANDATE_CONFIG=env.yaml", ":2"},
		{"", "MANDATE_CONFIG=env.yaml", ":3"},
		{"", "MANDATE_CONFIG=", ":1"},
		{"empty.yaml", "", "127.0.0.1:8000"},
		{"null.yaml", "", "127.0.0.1:8000"},
		{"comment.yaml", "", "127.0.0.1:8000"},
	} {
		c, err := Load(test.path, []string{test.env})
		if err != nil || c.Listen != test.want {
			t.Errorf("%q %q: %v %v, want %s", test.path, test.env, c, err, test.want)
		}
	}
	for _, test := range []struct{ path, env, want string }{
		{"missing.yaml", "", "--config: open missing.yaml: no such file or directory"},
		{"", "MANDATE_CONFIG=missing.yaml", "MANDATE_CONFIG: open missing.yaml: no such file or directory"},
		{dir, "", "--config: read " + dir + ": is a directory"},
		{"/dev/zero", "", "--config: /dev/zero is larger than 1048576 bytes"},
	} {
		_, err := Load(test.path, []string{test.env})
		if err == nil || err.Error() != test.want {
			t.Errorf("%q %q: %v, want %s", test.path, test.env, err, test.want)
		}
	}
}

// The list of unavailable settings covers those of django-oauth-toolkit. Each has a
// sentence.
func TestConfigUnavailable(t *testing.T) {
	for _, u := range unavailable {
		key := strings.ReplaceAll(u.key, "*", "ANYTHING")
		for _, test := range []struct {
			text, env, where string
		}{
			{text: "OAUTH2_PROVIDER:\n  " + key + ": 1\n", where: "mandate.yaml:2: OAUTH2_PROVIDER." + key},
			{text: key + ": 1\n", where: "mandate.yaml:1: " + key},
			{env: "MANDATE_" + key + "=1", where: "MANDATE_" + key},
		} {
			_, err := load(t, test.text, test.env)
			if err == nil || err.Error() != test.where+": "+u.text {
				t.Errorf("%s: %v", key, err)
			}
		}
	}
	if slices.ContainsFunc(unavailable,
		func(u struct{ key, text string }) bool { return !strings.Contains(u.text, " ") }) {
		t.Error("a name has no sentence")
	}
	names := keysOf(allFields(&Config{}))
	for _, u := range unavailable {
		for _, named := range regexp.MustCompile(`[A-Z]+(?:_[A-Z0-9]+)+`).FindAllString(u.text, -1) {
			if !slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, named) }) {
				t.Errorf("%s: there is no setting %s", u.key, named)
			}
		}
	}
}

// Every key changes one field: no setting is lost.
func TestConfigEachKey(t *testing.T) {
	base := mustLoad(t, "")
	values := map[reflect.Type]string{
		reflect.TypeFor[[]policy.Scope](): "{other: Other, read: R, write: W}", reflect.TypeFor[[]netip.Prefix](): "10.0.0.1",
		reflect.TypeFor[time.Duration]():            "59",
		reflect.TypeFor[[]resources.Registration](): "[{URI: https://api.example, NAME: Files, SCOPES: [read]}]",
		reflect.TypeFor[int]():                      "64", reflect.TypeFor[uint32](): "64", reflect.TypeFor[int64](): "9000",
	}
	special := map[string]string{
		"BASE_URL": "https://a.example", "LISTEN": "192.0.2.1:1", "OPS_LISTEN": ":1", "DATABASE_URL": "sqlite:////a.db",
		"SECRET_KEY": testKey, "LOGIN_URL": "/in",
		"LOG_LEVEL": "warn", "LOG_FORMAT": "json", "SECOND_FACTOR": "everybody", "SIGN_UP": "off", "BRAND_NAME": "Example",
		"BRAND_LOGO_FILE": "logo.svg", "BRAND_COLOR": "#0d5752", "HELP_URL": "mailto:help@example.org",
		"TERMS_URL": "https://example.org/terms#1", "PRIVACY_URL": "https://example.org/", "INVITATION_EXPIRE_SECONDS": "60",
		"REQUEST_APPROVAL_PROMPT": "force", "PKCE_REQUIRED": "true", "READ_SCOPE": "r", "WRITE_SCOPE": "w",
		"DEFAULT_SCOPES":               "read",
		"ALLOWED_REDIRECT_URI_SCHEMES": "https", "GRANTS_BY_ADMINISTRATOR": "password", "SCOPES_BY_ADMINISTRATOR": "write",
		"SESSION_COOKIE_AGE": "999999", "SESSION_IDLE_SECONDS": "61", "REFRESH_TOKEN_ABSOLUTE_EXPIRE_SECONDS": "9999999",
		"ACCESS_TOKEN_EXPIRE_SECONDS": "7200", "RESOURCE_SERVER_AUDIENCE": "https://api.example",
		"RESOURCE_SERVER_ALLOWED_ORIGINS": "https://app.example", "RESOURCE_SERVER_BASE_URLS": "https://api.example",
		"RESOURCE_SERVER_REQUIRED_BINDING": "dpop", "DEVICE_CODE_EXPIRE_SECONDS": "900",
		"PUSHED_REQUEST_EXPIRE_SECONDS": "60",
		"OPEN_CLIENTS":                  "documents", "OPEN_HOSTS": "claude.ai", "OPEN_NEVER_USED_EXPIRE_SECONDS": "60",
		"OPEN_UNUSED_EXPIRE_SECONDS": "3600", "REGISTRATION_ALLOWED_GROUPS": "developers", "EDITABLE_BY_PEOPLE": "name",
		"ATTRIBUTES":               "[{NAME: quota}]",
		"PASSWORD_HASH_MEMORY_KIB": "20000", "PASSWORD_HASH_ITERATIONS": "3", "MAX_STALENESS_SECONDS": "3",
		"OIDC_RSA_PRIVATE_KEY": newRSAKey(t), "OIDC_RSA_PRIVATE_KEYS_INACTIVE": newRSAKey(t) + newRSAKey(t),
	}
	together := []string{"DATABASE_LISTEN_URL", "SMTP_URL", "MAIL_FROM", "OPS_PPROF", "UPSTREAM", "RULES",
		"PASS_AUTHORIZATION", "RESERVED_HEADERS", "REFRESH_TOKEN_REUSE_PROTECTION", "RESOURCE_SERVER_INTROSPECTION_URL",
		"RESOURCE_SERVER_AUTH_TOKEN", "RESOURCE_SERVER_INTROSPECTION_CREDENTIALS",
		"RESOURCE_SERVER_JWKS_URL", "RESOURCE_SERVER_JWT_TYP", "RESOURCE_SERVER_ISSUER", "RESOURCE_SERVER_NAME",
		"RESOURCE_SERVER_DOCUMENTATION", "RESOURCE_SERVER_DPOP_NONCE_KEY", "OIDC_ENABLED", "TLS_CERTIFICATE_FILE",
		"TLS_KEY_FILE", "MTLS_LISTEN", "MTLS_BASE_URL", "MTLS_CLIENT_AUTHORITIES_FILE", "MTLS_CERTIFICATE_HEADER",
		"SOFTWARE_STATEMENT_ISSUERS", "OPEN_SOFTWARE_STATEMENT_REQUIRED", "SIGN_IN_SERVERS", "SIGN_UP_ALLOWED_DOMAINS"}
	for _, f := range allFields(base) {
		if slices.Contains(together, f.key) {
			continue // other tests set these with the settings that they need
		}
		value, ok := special[f.key]
		if !ok {
			value = values[f.value.Type()]
		}
		if f.value.Kind() == reflect.Bool {
			value = map[bool]string{true: "false", false: "true"}[f.value.Bool()]
		}
		c, err := load(t, "", "MANDATE_"+f.key+"="+value)
		if err != nil {
			t.Errorf("%s: %v", f.key, err)
			continue
		}
		changed := 0
		for i, other := range allFields(c) {
			if !reflect.DeepEqual(other.value.Interface(), allFields(base)[i].value.Interface()) {
				changed++
			}
		}
		// OPEN_REFRESH_TOKEN_GRACE_PERIOD_SECONDS depends on it.
		if changed != 1 && f.key != "REFRESH_TOKEN_GRACE_PERIOD_SECONDS" {
			t.Errorf("%s changed %d settings", f.key, changed)
		}
	}
}

// Whoever sets the grace period of refresh tokens means all applications. The one for those that registered themselves
// differs only if nobody has said anything, or has set both.
func TestGraceOfOpenApplications(t *testing.T) {
	for file, want := range map[string][2]time.Duration{
		"": {10, 30},
		"OAUTH2_PROVIDER: {REFRESH_TOKEN_GRACE_PERIOD_SECONDS: 0}":                                              {0, 0},
		"OAUTH2_PROVIDER: {REFRESH_TOKEN_GRACE_PERIOD_SECONDS: 10}":                                             {10, 10},
		"OAUTH2_PROVIDER: {OPEN_REFRESH_TOKEN_GRACE_PERIOD_SECONDS: 5}":                                         {10, 5},
		"OAUTH2_PROVIDER: {REFRESH_TOKEN_GRACE_PERIOD_SECONDS: 0, OPEN_REFRESH_TOKEN_GRACE_PERIOD_SECONDS: 30}": {0, 30},
	} {
		p := mustLoad(t, file).Provider
		if got := [2]time.Duration{p.RefreshGrace / time.Second, p.OpenRefreshGrace / time.Second}; got != want {
			t.Errorf("%s: %d, want %d", file, got, want)
		}
	}
}

// A setting whose name ends in DAYS is a number of days, every other time is a number of seconds.
func TestUnitsOfTime(t *testing.T) {
	c := mustLoad(t, "EVENT_RETENTION_DAYS: 2\nSECOND_FACTOR_GRACE_DAYS: 3\nSESSION_COOKIE_AGE: 60\n")
	if c.EventRetention != 48*time.Hour || c.People.SecondFactorGrace != 72*time.Hour ||
		c.People.SessionLifetime != time.Minute {
		t.Error(c.EventRetention, c.People.SecondFactorGrace, c.People.SessionLifetime)
	}
	for _, want := range []string{"EVENT_RETENTION_DAYS: 2 #", "SECOND_FACTOR_GRACE_DAYS: 3 #",
		"SESSION_COOKIE_AGE: 60 #"} {
		if !strings.Contains(printed(c), want) {
			t.Errorf("config print lacks %s", want)
		}
	}
}

// The keys that an item lacks have their defaults.
func TestConfigSignInServers(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	err := os.WriteFile(secret, []byte("s3cret s3cret\n"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	const least = "SIGN_IN_SERVERS:\n  - {NAME: company, ISSUER: https://login.example.com, CLIENT_ID: mandate, " +
		"CLIENT_SECRET_FILE: "
	c := mustLoad(t, least+secret+"}\n  - NAME: two\n    LABEL: Zwei\n    ISSUER: https://two.example.com/\n    "+
		"CLIENT_ID: m\n    CLIENT_SECRET: hunter22\n    SCOPES: [openid, email]\n    TRUSTED_FOR_EMAIL: true\n"+
		"    NEW_PEOPLE: domains\n    ALLOWED_DOMAINS: [example.com]\n    GROUPS_CLAIM: roles\n    GROUPS: {b: staff, a: "+
		"admins}\n    ACR: {\"2\": urn:mandate:acr:mfa}\n    LOGOUT: true\n")
	want := []people.Server{
		{Name: "company", Label: "company", Issuer: "https://login.example.com", ClientID: "mandate",
			ClientSecret: "s3cret s3cret", Scopes: []string{"openid", "profile", "email"}, NewPeople: "off"},
		{Name: "two", Label: "Zwei", Issuer: "https://two.example.com/", ClientID: "m", ClientSecret: "hunter22",
			Scopes: []string{"openid", "email"}, TrustedForEmail: true,
			NewPeople: "domains", AllowedDomains: []string{"example.com"}, GroupsClaim: "roles",
			Groups: Pairs{{From: "b", To: "staff"}, {From: "a", To: "admins"}},
			ACR:    Pairs{{From: "2", To: "urn:mandate:acr:mfa"}}, Logout: true},
	}
	if diff := cmp.Diff(want, c.People.Servers); diff != "" {
		t.Error(diff)
	}
	got := printed(c)
	if strings.Contains(got, "hunter22") || strings.Contains(got, "s3cret s3cret") ||
		!strings.Contains(got, "CLIENT_SECRET_FILE: "+strconv.Quote(secret)) ||
		!strings.Contains(got, `GROUPS: {"b": "staff", "a": "admins"}`) {
		t.Error(got)
	}
	// What is printed can be loaded again, if the secrets are in files.
	first := mustLoad(t, least+secret+"}\n")
	if diff := cmp.Diff(first, mustLoad(t, printed(first)), settings, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

// newRSAKey is a private key in PEM, as an operator would configure it.
func newRSAKey(t *testing.T) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
}

// The description of a scope may be there in several languages.
func TestScopesInLanguages(t *testing.T) {
	c := mustLoad(t, "OAUTH2_PROVIDER:\n  SCOPES:\n    read: {de: Ihre Daten lesen, en: Read your data}\n    write: "+
		"Write them\n")
	want := []policy.Scope{
		{
			Name: "read", Description: "Read your data",
			In: []policy.Translation{{Language: "de", Text: "Ihre Daten lesen"}, {Language: "en", Text: "Read your data"}},
		},
		{Name: "write", Description: "Write them"},
	}
	if diff := cmp.Diff(want, c.Provider.Scopes); diff != "" {
		t.Error(diff)
	}
	read, write := want[0], want[1]
	for language, texts := range map[string][2]string{"de": {"Ihre Daten lesen", "Write them"},
		"en": {"Read your data", "Write them"}, "fr": {"Read your data", "Write them"}} {
		if got := [2]string{read.DescribedIn(language), write.DescribedIn(language)}; got != texts {
			t.Errorf("%s: %q", language, got)
		}
	}
	if text := printed(c); !strings.Contains(text,
		`SCOPES: {"read": {"de": "Ihre Daten lesen", "en": "Read your data"}, "write": "Write them"}`) {
		t.Error(text)
	}
	c = mustLoad(t, "", "MANDATE_SCOPES={read: {en: Read, fr: Lire}}", "MANDATE_DEFAULT_SCOPES=read",
		"MANDATE_READ_SCOPE=read", "MANDATE_WRITE_SCOPE=read")
	if got := c.Provider.Scopes[0].DescribedIn("fr"); got != "Lire" {
		t.Errorf("%q", got)
	}
}

// OpenID Connect needs no scope in SCOPES. Its scopes can be named wherever those of SCOPES can be.
func TestBuiltInScopes(t *testing.T) {
	for _, text := range []string{
		"OIDC_ENABLED: true", "SCOPES: {api: Use it, email: Write to you}\n  DEFAULT_SCOPES: [api, email, profile]",
		"SCOPES_BY_ADMINISTRATOR: [phone, write]", "RESOURCES: [{URI: https://files.example, NAME: Files, SCOPES: [read, " +
			"groups]}]",
	} {
		mustLoad(t, "OAUTH2_PROVIDER:\n  "+text+"\n")
	}
}
