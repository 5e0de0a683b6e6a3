package presets

import (
	"encoding/json"
	"go/parser"
	"maps"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"mandate/testkit"
)

const (
	testIssuer = "https://auth.example.com/o"
	testSecret = "Se-cret_0123456789abcdefghijklmnopqrstuvwxy"
	testID     = "id-0123456789"
	testRandom = "rAnd-om_0123456789abcdefghijklmn"
)

// filledAt returns what the settings of a program contain in the tests.
func filledAt(t *testing.T, p Program, address string) (Filled, Values) {
	t.Helper()
	if !p.NeedsAddress() {
		address = ""
	}
	if address != "" && p.wrongPart(address) != "" {
		address = strings.TrimRight(address, "/") + map[Part]string{Realm: "/realms/company", Port: ":8006"}[p.Part]
	}
	filled, err := p.Fill(address)
	if err != nil {
		t.Fatal(err)
	}
	if len(filled.Redirects) == 0 {
		filled.Redirects = []string{"https://app.example.org/callback"}
	}
	v := Values{Issuer: testIssuer, ClientID: testID, ClientSecret: testSecret, Address: filled.Address,
		Redirects:  filled.Redirects,
		PostLogout: filled.PostLogout, Scopes: p.Scopes, Random: testRandom,
		Endpoints: Endpoints{Authorize: testIssuer + "/authorize/",
			Token: testIssuer + "/token/", UserInfo: testIssuer + "/userinfo/", Keys: testIssuer + "/jwks", Logout: testIssuer +
				"/logout/",
			Device: testIssuer + "/device_authorization/"}}
	if p.Public {
		v.ClientSecret = ""
	}
	return filled, v
}

// A row without a part of its facts would print half of the settings, or settings that nobody has checked.
func TestRowsAreComplete(t *testing.T) {
	dated, name := regexp.MustCompile(`^20\d\d-\d\d-\d\d$`), regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	files, err := os.ReadDir("settings")
	if err != nil {
		t.Fatal(err)
	}
	rows, seen := map[string]bool{}, map[string]string{}
	for _, p := range Programs() {
		for _, word := range append([]string{p.Name}, p.Also...) {
			if was := seen[word]; was != "" && !(word == "authlib" && p.Name == "flask-authlib") {
				t.Errorf("%s is a name of %s and of %s", word, was, p.Name)
			}
			seen[word] = p.Name
		}
		rows[p.Name+".txt"] = true
		switch {
		case !name.MatchString(p.Name), p.Title == "", p.File == "", p.Format == "", p.text() == "":
			t.Errorf("%s lacks a name, a title, a file, a format or settings", p.Name)
		case !slices.Contains([]string{Application, Framework, Other}, p.Kind):
			t.Errorf("%s has the kind %q", p.Name, p.Kind)
		case p.Kind == Other && p.Verified != Verified{}:
			t.Errorf("%s is no program: nobody can have run it", p.Name)
		case p.Kind != Other && !slices.Contains([]string{Text, Run, Read}, p.Verified.How),
			p.Kind != Other && !dated.MatchString(p.Verified.Date),
			slices.Contains([]string{Text, Run}, p.Verified.How) && p.Verified.Version == "":
			t.Errorf("%s does not say how it was verified: %+v", p.Name, p.Verified)
		case p.Kind != Other && (len(p.Redirects) == 0 || !slices.Contains(p.Scopes, "openid")):
			t.Errorf("%s has no redirect URI or does not sign in", p.Name)
		case p.Kind != Other &&
			(!slices.Contains([]string{PKCERequired, PKCEIfSent}, p.PKCE) ||
				!slices.Contains([]string{ClaimsOn, ClaimsOff}, p.Claims)):
			t.Errorf("%s does not say how it uses PKCE, or where it reads the claims", p.Name)
		// RFC 9700 §2.1.1: a public client must use PKCE.
		case p.Public && p.Grant == "" && p.PKCE != PKCERequired:
			t.Errorf("%s is public and may omit PKCE", p.Name)
		}
	}
	for _, f := range files {
		if !rows[f.Name()] {
			t.Errorf("settings/%s belongs to no row", f.Name())
		}
	}
	if len(rows) < 50 {
		t.Errorf("%d rows", len(rows))
	}
}

var placeholder = regexp.MustCompile(
	`(?i)<<|>>|<no value>|<[a-z_-]+>|\bTODO\b|\bchangeme\b|\byour[-_ ]|xxxx|example\.com/api`)

// Settings with a placeholder, without the secret or for another redirect URI fail at the first login.
func TestSettingsAreReady(t *testing.T) {
	texts := map[Format]map[string]string{}
	for _, p := range Programs() {
		for _, address := range []string{"https://app.example.org", "https://app.example.org:8443/below/it/",
			"http://localhost:3000"} {
			filled, v := filledAt(t, p, address)
			text, err := p.Settings(v)
			if err != nil {
				t.Errorf("%s: %v", p.Name, err)
				continue
			}
			if !strings.Contains(text, testIssuer) || !strings.Contains(text, testID) {
				t.Errorf("%s: the settings lack the issuer or the client ID:\n%s", p.Name, text)
			}
			if n := strings.Count(text, testSecret); n != 1 && !p.Public || n != 0 && p.Public {
				t.Errorf("%s: the secret is there %d times", p.Name, n)
			}
			if found := placeholder.FindString(strings.ReplaceAll(text, "</Location>", "")); found != "" {
				t.Errorf("%s has a placeholder: %s", p.Name, found)
			}
			for _, uri := range urlsIn(text) {
				if strings.HasPrefix(uri, testIssuer) || uri == filled.Address || uri == filled.Address+"/" ||
					slices.Contains(filled.Redirects, uri) || slices.Contains(filled.PostLogout, uri) {
					continue
				}
				t.Errorf("%s: the settings name %s, which is not registered", p.Name, uri)
			}
			checkScopes(t, p, text)
			if strings.Contains(address, "below") {
				checkSyntax(t, p, text)
				if texts[p.Format] == nil {
					texts[p.Format] = map[string]string{}
				}
				texts[p.Format][p.Name] = text
			}
		}
	}
	checkPrograms(t, texts)
}

// urlsIn returns the addresses in a text, other than the schemes of mobile applications.
func urlsIn(text string) []string {
	return regexp.MustCompile(`https?://[A-Za-z0-9._~:/?=@\[\]-]+[A-Za-z0-9/]`).FindAllString(text, -1)
}

// checkScopes requires that settings that name a scope name each.
func checkScopes(t *testing.T, p Program, text string) {
	t.Helper()
	if !strings.Contains(p.text(), ".Scopes") {
		return // the program decides itself
	}
	for _, scope := range p.Scopes {
		if scope != "openid" && !strings.Contains(text, scope) {
			t.Errorf("%s: the settings lack the scope %s", p.Name, scope)
		}
	}
}

// checkSyntax reads the settings as the program does.
func checkSyntax(t *testing.T, p Program, text string) {
	t.Helper()
	var err error
	switch p.Format {
	case JSON:
		var into map[string]any
		err = json.Unmarshal([]byte(text), &into)
	case YAML:
		d := yaml.NewDecoder(strings.NewReader(text))
		d.KnownFields(true)
		for range strings.Count(text, "\n---\n") + 1 {
			var into map[string]any
			err = d.Decode(&into)
			if err != nil {
				break
			}
		}
	case Python, JavaScript, Shell: // see checkPrograms
	case Env:
		checkLines(t, p, text, `^[A-Z][A-Z0-9_]*=('[^']*'|[^'" ]+)$`)
	case Properties:
		checkLines(t, p, text, `^[a-z0-9.-]+=[^ ]+$`)
	case INI:
		checkLines(t, p, text, `^(\[[a-z_.]+\]|[a-z_]+ = [^ ].*)?$`)
	case TOML:
		checkLines(t, p, text, `^(\[[a-z_.]+\]|[a-z_]+ = ("[^"]*"|\{ [a-z_]+ = "[^"]*" \}))?$`)
	case List:
		checkLines(t, p, text, `^[A-Z][^:]*: [^ ].*$`)
	case Apache:
		checkLines(t, p, text, `^(</?Location( "[^"]+")?>|  ?[A-Za-z ]+[A-Za-z0-9-]+|OIDC[A-Za-z]+ ("[^"]+"|[^" ]+))?$`)
	case Ruby:
		if strings.Count(text, "[") != strings.Count(text, "]") || strings.Count(text, "{") != strings.Count(text, "}") {
			t.Errorf("%s: brackets are not closed", p.Name)
		}
	case Go:
		_, err = parser.ParseExpr("func() {\n" + text + "}")
	default:
		t.Errorf("%s: nothing reads the format %q", p.Name, p.Format)
	}
	if err != nil {
		t.Errorf("%s: %v in\n%s", p.Name, err, text)
	}
}

func checkLines(t *testing.T, p Program, text, form string) {
	t.Helper()
	each := regexp.MustCompile(form)
	for line := range strings.Lines(text) {
		if line = strings.TrimSuffix(line, "\n"); !each.MatchString(line) {
			t.Errorf("%s: %q is no line of %s", p.Name, line, p.Format)
		}
	}
}

// checkPrograms has the languages read the texts that are programs of them, without running these. Each begins once,
// because beginning takes longer than reading.
func checkPrograms(t *testing.T, texts map[Format]map[string]string) {
	t.Helper()
	const python = `import ast, json, sys
for name, text in json.load(sys.stdin).items():
    ast.parse(text, name)`
	const node = `const { SourceTextModule } = require("vm");
const texts = JSON.parse(require("fs").readFileSync(0));
for (const name in texts) new SourceTextModule(texts[name], { identifier: name });`
	pipe(t, asJSON(t, texts[Python]), testkit.Program(t, "python3", "python3"), "-c", python)
	pipe(t, asJSON(t, texts[JavaScript]), testkit.Program(t, "node", "nodejs"), "--no-warnings",
		"--experimental-vm-modules", "-e", node)
	pipe(t, strings.Join(slices.Collect(maps.Values(texts[Shell])), "\n"), testkit.Program(t, "sh", "dash"), "-n")
	pipe(t, "set -eu\n"+strings.Join(slices.Collect(maps.Values(texts[Env])), "\n"), testkit.Program(t, "sh", "dash"))
}

func asJSON(t *testing.T, texts map[string]string) string {
	t.Helper()
	b, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func pipe(t *testing.T, text, name string, args ...string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, args...)
	c.Stdin, c.Dir = strings.NewReader(text), t.TempDir()
	said, err := c.CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, said)
	}
}

// A value that ends a text in quotes would become another setting of the program.
func TestAttackSettingsTakeNoValueThatNeedsQuoting(t *testing.T) {
	for _, bad := range []string{"a\"b", "a'b", "a b", "a\nb", "a$b", "a`b", "a\\b", "a#b", "a;b", "a%b", "a,b", "é",
		"a\x00b", "a<b", "a&b", "a|b", "a{b", "a*b"} {
		for _, set := range []func(*Values){
			func(v *Values) { v.ClientID = bad }, func(v *Values) { v.ClientSecret = bad },
			func(v *Values) { v.Redirects = []string{bad} },
			func(v *Values) { v.PostLogout = []string{bad} }, func(v *Values) { v.Issuer = bad },
		} {
			p, _ := Find("grafana")
			_, v := filledAt(t, p, "https://app.example.org")
			set(&v)
			text, err := p.Settings(v)
			if err == nil {
				t.Errorf("%q gives %s", bad, text)
			}
		}
		if made, err := Address("https://app.example.org/" + bad); err == nil {
			t.Errorf("the address with %q is %s", bad, made)
		}
	}
}

// A person copies the address from the browser, with a slash at its end, a port, or a path.
func TestAddressHasOneSpelling(t *testing.T) {
	for _, test := range []struct{ raw, want, wrong string }{
		{"https://grafana.example.org", "https://grafana.example.org", ""},
		{" https://Grafana.Example.org/ ", "https://grafana.example.org", ""},
		{"https://grafana.example.org:443/", "https://grafana.example.org", ""},
		{"http://localhost:80", "http://localhost", ""},
		{"https://example.org:8443/Sub/path//", "https://example.org:8443/Sub/path", ""},
		{"http://127.0.0.1:3000/", "http://127.0.0.1:3000", ""},
		{"http://[::1]:3000/", "http://[::1]:3000", ""},
		{"https://[::1]", "https://[::1]", ""},
		{"grafana.example.org", "", "must begin with https://, or with http:// on this computer or in a private network"},
		{"localhost:3000", "", "must begin with https://, or with http://"},
		{"ftp://example.org", "", "must begin with https://"},
		{"https:///path", "", "has no host"},
		{"https://me:secret@example.org", "", "name or a password"},
		{"https://example.org/?a=b", "", "must not contain ?"},
		{"https://example.org/#a", "", "must not contain ?"},
		{"https://example.org/a/../b", "", "must not contain . or .."},
		{"https://example.org/a/%2e%2e/b", "", "must not contain . or .."},
		{"https://example.org/a//b", "", "empty part"},
		{"https://bücher.example", "", "punycode"},
		{"https://example.org:99999999/x y", "", "characters"},
	} {
		got, err := Address(test.raw)
		switch {
		case test.wrong == "" && (err != nil || got != test.want):
			t.Errorf("%q gives %q, %v; want %q", test.raw, got, err, test.want)
		case test.wrong != "" && err == nil:
			t.Errorf("%q gives %q", test.raw, got)
		case test.wrong != "" && test.wrong != "characters" && !strings.Contains(err.Error(), test.wrong):
			t.Errorf("%q: %v; want %q", test.raw, err, test.wrong)
		}
		if again, err := Address(got); got != "" && (err != nil || again != got) {
			t.Errorf("%q gives %q, and that %q, %v", test.raw, got, again, err)
		}
	}
}

// A path is below the address as the program builds it: without two slashes, and complete URIs stay.
func TestFillBuildsTheURIsOfTheProgram(t *testing.T) {
	for _, test := range []struct{ program, address, redirect, logout, back string }{
		{"grafana", "https://g.example.org/sub/", "https://g.example.org/sub/login/generic_oauth", "", ""},
		{"portainer", "https://p.example.org/", "https://p.example.org", "", ""},
		{"quarkus", "http://127.0.0.1:8080", "http://127.0.0.1:8080/sign-in/callback", "http://127.0.0.1:8080/",
			"http://127.0.0.1:8080/back-channel-logout"},
		{"kubelogin", "", "http://localhost:8000", "", ""},
	} {
		p, _ := Find(test.program)
		got, err := p.Fill(test.address)
		if err != nil || got.Redirects[0] != test.redirect || first(got.PostLogout) != test.logout ||
			got.BackChannel != test.back {
			t.Errorf("%s at %s: %+v, %v", test.program, test.address, got, err)
		}
	}
	p, _ := Find("grafana")
	if _, err := p.Fill(""); err == nil || !strings.Contains(err.Error(), "https://grafana.example.org") {
		t.Errorf("without an address: %v", err)
	}
	for _, p := range Programs() {
		for _, uri := range append(append([]string{p.BackChannel}, p.Redirects...), p.PostLogout...) {
			if strings.HasPrefix(uri, "/") && uri != "/." && path.Clean(uri) != strings.TrimSuffix(uri, "/") && uri != "/" {
				t.Errorf("%s has the path %s", p.Name, uri)
			}
		}
	}
}

// The address from the browser has the login page at its end, or lacks what only some programs need: the redirect URI
// would be one that the program never sends.
func TestAddressIsThatOfTheProgram(t *testing.T) {
	const page = "ends in a page"
	for _, test := range []struct{ program, address, wrong string }{
		{"grafana", "https://g.example.org/login", page}, {"grafana", "https://g.example.org/sub/Login/", page},
		{"grafana", "https://g.example.org/login/generic_oauth", page}, {"gitea", "https://git.example.org/user/login", page},
		{"gitlab", "https://git.example.org/users/sign_in", page}, {"nextcloud", "https://c.example.org/index.php", page},
		{"apache", "https://a.example.org/redirect_uri", page},
		{"synapse", "https://m.example.org/_synapse/client/oidc/backchannel_logout", page},
		{"grafana", "https://login", ""}, {"grafana", "https://login.example.org/", ""},
		{"oidc-client-ts", "https://callback", ""},
		{"grafana", "https://g.example.org/logins", ""}, {"portainer", "https://p.example.org/", ""},
		{"keycloak", "https://k.example.org", "realm"}, {"keycloak", "https://k.example.org/realms/", "realm"},
		{"keycloak", "https://k.example.org/realms/a/account", "realm"},
		{"keycloak", "https://k.example.org/realms/a", ""}, {"keycloak", "https://k.example.org/auth/realms/a/", ""},
		{"proxmox", "https://pve.example.org", "port"}, {"proxmox", "https://[::1]", "port"},
		{"proxmox", "https://pve.example.org/:8006x", "port"},
		{"proxmox", "https://pve.example.org:8006/", ""}, {"proxmox", "https://pve.example.org:443", ""},
		{"proxmox", "https://[::1]:8006", ""},
	} {
		p, _ := Find(test.program)
		_, err := p.Fill(test.address)
		if (err == nil) != (test.wrong == "") || err != nil && !strings.Contains(err.Error(), test.wrong) {
			t.Errorf("%s at %s: %v, want %q", test.program, test.address, err, test.wrong)
		}
	}
	for _, p := range Programs() {
		_, err := p.Fill(p.Example())
		if _, missing := p.Fill(""); err != nil ||
			p.NeedsAddress() && (missing == nil || !strings.Contains(missing.Error(), p.Example())) {
			t.Errorf("%s: the example %s: %v, %v", p.Name, p.Example(), err, missing)
		}
	}
}

// docker run --env-file keeps quotes, so whoever copies such a text there has to know it.
func TestQuotesHaveANote(t *testing.T) {
	for _, p := range Programs() {
		quoted := p.Format == Env && strings.Contains(p.text(), "='")
		if quoted != slices.Contains(p.Notes, inQuotes) {
			t.Errorf("%s has quotes: %t, and the notes %q", p.Name, quoted, p.Notes)
		}
	}
}

// Somebody who mistypes a name gets the right one, and not the whole table.
func TestNearNames(t *testing.T) {
	for _, test := range []struct{ name, want string }{
		{"grafna", "grafana"}, {"Grafanna", "grafana"}, {"gitae", "gitea"}, {"oauth2proxy", "oauth2-proxy"},
		{"next", "nextcloud"},
		{"springboot", "spring-boot"}, {"keyclock", "keycloak"}, {"django", "django-allauth"},
	} {
		if got := Near(test.name); !slices.Contains(got, test.want) || len(got) > most {
			t.Errorf("near %q: %q", test.name, got)
		}
	}
	for _, name := range []string{"", "zzzzzzzz", strings.Repeat("grafana", 1000), "é"} {
		if got := Near(name); len(got) > 0 {
			t.Errorf("near %.20q: %q", name, got)
		}
	}
	for _, name := range []string{"Grafana", " mod_auth_openidc ", "next-auth"} {
		if _, known := Find(name); !known {
			t.Errorf("%q is not found", name)
		}
	}
	if p, known := Find(""); known {
		t.Errorf("no name is %s", p.Name)
	}
}

// Somebody who types the first letter gets what begins with it, and who types a part of the name gets that program.
func TestSearchFindsPrograms(t *testing.T) {
	for _, test := range []struct {
		text, first string
		least, most int
	}{
		{"", "actual-budget", len(Programs()), len(Programs())}, {"g", "gitea", 2, 12}, {"G", "gitea", 2, 12},
		{" grafana ", "grafana", 1, 1},
		{"httpd", "apache", 1, 1}, {"grafna", "grafana", 1, most}, {"zzzzzzzz", "", 0, 0}, {"é", "", 0, 0},
	} {
		found := Search(test.text)
		if len(found) < test.least || len(found) > test.most || len(found) > 0 && found[0].Name != test.first {
			t.Errorf("%q finds %d, first %+v", test.text, len(found), found[:min(1, len(found))])
		}
	}
}

// The address is read back from the redirect URIs, and never guessed from those of another program.
func TestAddressIsReadFromTheRedirectURIs(t *testing.T) {
	for _, test := range []struct{ program, redirects, want string }{
		{"grafana", "https://g.example.org/login/generic_oauth", "https://g.example.org"},
		{"grafana", "https://x.example.org/cb https://g.example.org:8443/sub/login/generic_oauth",
			"https://g.example.org:8443/sub"},
		{"portainer", "https://p.example.org", "https://p.example.org"},
		{"grafana", "https://g.example.org/login/other", "-"}, {"grafana", "", "-"}, {"grafana", "/login/generic_oauth", "-"},
		{"grafana", "https://g.example.org/a?x=/login/generic_oauth", "-"},
		{"grafana", "https://G.example.org:443/login/generic_oauth", "-"},
		{"kubernetes", "http://localhost:8000", ""},
	} {
		p, _ := Find(test.program)
		got, ok := p.AddressIn(strings.Fields(test.redirects))
		if !ok {
			got = "-"
		}
		if got != test.want {
			t.Errorf("%s with %s is at %q, want %q", test.program, test.redirects, got, test.want)
		}
	}
}
