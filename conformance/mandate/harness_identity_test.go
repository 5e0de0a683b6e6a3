package mandate

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/html"

	"mandate/testkit"
)

// company is another server with which people sign in: npm's oidc-provider. See testdata/provider/server.mjs.
type company struct {
	name, issuer string
	shown        string // what the button calls it; empty: a name with an umlaut
	program      *foreignProgram
}

// providerNode installs the packages of the other server, and providerProgram runs it.
var (
	providerNode    = sync.OnceValues(func() (string, error) { return installNode("provider") })
	providerProgram = sync.OnceValues(func() (*foreignProgram, error) { return startNode(providerNode, "server.mjs") })
)

// newCompany listens at an address, and answers nothing before start.
func newCompany(t testing.TB, name string) *company {
	t.Helper()
	ownProcesses(t)
	for _, program := range []string{"node", "npm"} {
		testkit.Program(t, program, "nodejs npm")
	}
	program, err := providerProgram()
	if err != nil {
		testkit.Missing(t, err.Error())
	}
	c := &company{name: name, program: program}
	c.issuer = c.step(t, "listen", map[string]any{})["issuer"].(string)
	return c
}

func (c *company) step(t testing.TB, step string, input map[string]any) map[string]any {
	t.Helper()
	input["step"] = step
	if c.issuer != "" {
		input["issuer"] = c.issuer
	}
	return exchange(t, c.program, step, input)
}

const companySecret = "the secret of Mandate at the company"

// setting returns the item of SIGN_IN_SERVERS, with more keys.
func (c *company) setting(more string) string {
	return "{NAME: " + c.name + ", LABEL: " + quote(c.label()) + ", ISSUER: " + quote(c.issuer) +
		", CLIENT_ID: mandate, CLIENT_SECRET: " + quote(companySecret) + more + "}"
}

func (c *company) label() string { return cmp.Or(c.shown, "Die "+c.name+" & Söhne") }

func (c *company) button() string { return "Sign in with " + c.label() }

// start registers a server as a client, and answers from now on.
func (c *company) start(t testing.TB, s *server) {
	t.Helper()
	s.secret(companySecret)
	c.step(t, "start", map[string]any{
		"clients": []map[string]any{{"client_id": "mandate", "client_secret": companySecret,
			"redirect_uris":             []string{c.callback(s)},
			"post_logout_redirect_uris": []string{s.BaseURL + "/"}, "scope": "openid profile email groups"}}})
}

func (c *company) callback(s *server) string {
	return s.BaseURL + "/login/with/" + c.name + "/callback/"
}

// person adds or changes a person there.
func (c *company) person(t testing.TB, name string, claims map[string]any) {
	t.Helper()
	c.step(t, "person", map[string]any{"name": name, "claims": claims})
}

// employee adds a person there whose address is verified.
func (c *company) employee(t testing.TB, name string, groups ...string) {
	t.Helper()
	c.person(t, name, map[string]any{"email": name + "@company.example", "email_verified": true,
		"given_name": "Given " + name, "family_name": "Family", "groups": groups})
}

func (c *company) disable(t testing.TB, name string) {
	t.Helper()
	c.step(t, "disable", map[string]any{"name": name})
}

const privateNetworks = "OUTBOUND_ALLOWED_NETWORKS: [127.0.0.0/8]"

// withCompany starts a server whose people sign in with npm's oidc-provider. more are keys of the item
// of SIGN_IN_SERVERS, such as `, LOGOUT: true`.
func withCompany(t *testing.T, db database, more string, settings ...string) (*server, *company) {
	t.Helper()
	c := newCompany(t, "company")
	s := startServer(t, options{database: db,
		settings: append([]string{privateNetworks, "SIGN_IN_SERVERS: [" + c.setting(more) + "]"}, settings...),
		provider: []string{"OIDC_ENABLED: true", openidScopes}})
	c.start(t, s)
	return s, c
}

// traveller is the part of a person's browser that is at other servers.
type traveller struct{ client *http.Client }

func newTraveller(t testing.TB) *traveller {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &traveller{&http.Client{Jar: jar,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// signIn goes to an address of another server, signs in there as somebody if the server asks, and
// returns the address to which that server sends the browser. asked reports whether it asked.
func (v *traveller) signIn(t testing.TB, address *url.URL, name string) (back *url.URL, asked bool) {
	t.Helper()
	origin, at, form := address.Host, address, url.Values(nil)
	for range 12 {
		request, err := http.NewRequest("GET", at.String(), nil)
		if form != nil {
			request, err = http.NewRequest("POST", at.String(), strings.NewReader(form.Encode()))
			request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		if err != nil {
			t.Fatal(err)
		}
		answer, err := v.client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		form = nil
		if to := answer.Header.Get("Location"); to != "" {
			at, err = at.Parse(to)
			if err != nil {
				t.Fatal(err)
			}
			if at.Host != origin {
				return at, asked
			}
			continue
		}
		if asked || !strings.Contains(string(body), `name="login"`) {
			t.Fatalf("%s: %d %s", at, answer.StatusCode, body)
		}
		asked, form = true, url.Values{"login": {name}}
	}
	t.Fatal("too many redirects")
	return nil, false
}

// goTo presses the button of a company on the login page, and returns where the server sends the browser.
func (b *browser) goTo(t testing.TB, c *company, address string) *url.URL {
	t.Helper()
	b.open(t, address)
	b.submit(t, c.button(), nil)
	if b.Away == nil || "http://"+b.Away.Host != c.issuer {
		t.Fatalf("the browser was not sent to the company: %d %s, sent to %v\n%s", b.Status, b.URL, b.Away, b.Body)
	}
	return b.Away
}

// signInWith signs a person in with a company, from the login page on.
func (b *browser) signInWith(t testing.TB, c *company, name, address string) {
	t.Helper()
	back, _ := newTraveller(t).signIn(t, b.goTo(t, c, address), name)
	b.server.secret(back.Query().Get("code"))
	b.open(t, back.String())
}

// isAt asserts that the browser shows a page with a status and a text.
func (b *browser) isAt(t testing.TB, what string, status int, says string) {
	t.Helper()
	if b.Away != nil || b.Status != status || !strings.Contains(html.UnescapeString(b.Body), says) {
		t.Errorf("%s: %d %s, sent to %v, want %d and %q\n%s", what, b.Status, b.URL, b.Away, status, says, b.Body)
	}
}

// groupsOf returns the groups of a person.
func (s *server) groupsOf(t testing.TB, name string) string {
	t.Helper()
	for _, u := range s.people(t) {
		if u.Username == name {
			return strings.Join(u.Groups, " ")
		}
	}
	t.Fatalf("there is no person %s", name)
	return ""
}

// account is a person as the command line lists them.
type account struct {
	ID, Username, Email string
	Groups              []string
	Administrator       bool
}

func (s *server) people(t testing.TB) []account {
	t.Helper()
	var list []account
	err := json.Unmarshal([]byte(s.mustCLI(t, "", "user", "list", "--json")), &list)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// regexpSubmatch returns what the first group of an expression matches in a page.
func regexpSubmatch(t testing.TB, expression, page string) string {
	t.Helper()
	found := regexp.MustCompile(expression).FindStringSubmatch(page)
	if found == nil {
		t.Fatalf("%s is not in the page:\n%s", expression, page)
	}
	return found[1]
}

// randomText returns a text of this length, which cannot be compressed much.
func randomText(size int) string {
	var text strings.Builder
	for text.Len() < size {
		text.WriteString(rand.Text())
	}
	return text.String()[:size]
}
