package mandate

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// A fixture is a server with several people and applications. The tests of binding, life
// cycle and faults share it.
type fixture struct {
	*server
	alice, bob, admin person

	web    application // confidential, all grants, skips the consent page
	rival  application // the same, with another owner
	phone  application // public
	asker  application // may introspect
	casual application // confidential, shows the consent page
	tv     application // public, for devices
	agent  application // has a metadata document; only for some tests

	// the address of a client that registered itself, and its token; only for some tests
	registered, registrationToken string

	codes map[string]url.Values // the other parameters that exchange an issued code
}

const (
	webURI   = "https://web.example/back"
	rivalURI = "https://rival.example/back"
	phoneURI = "com.example.phone:/back"
)

// fixtureScopes are the scopes that a fixture's applications may request.
const fixtureScopes = "SCOPES: {read: Read scope, write: Write scope, groups: Groups, introspection: Introspect " +
	"token scope}"

// newFixture starts a server and fills it. The server trusts X-Forwarded-For, so that each
// request can come from another address. Other tests cover throttling.
func newFixture(t testing.TB, o options) *fixture {
	t.Helper()
	o.settings = append(slices.Clone(o.settings), "TRUSTED_PROXIES: [127.0.0.1]", "PASSWORD_HASH_CONCURRENCY: 2",
		"SAMPLE_API: true")
	o.provider = append(slices.Clone(o.provider), fixtureScopes, "REGISTRATION_WITH_TOKEN: true",
		"RESOURCE_SERVER_TOKEN_CACHING_SECONDS: 0")
	v := &fixture{server: startServer(t, o)}
	v.alice, v.bob, v.admin = v.person(t, "alice"), v.person(t, "bob"), v.person(t, "root", "--admin")
	every := []string{"--grant", "authorization_code", "--grant", "password", "--grant", "client_credentials"}
	v.tv = v.application(t, "--name", "Television", "--client-type", "public", "--grant", deviceGrant)
	v.web = v.application(t, append(slices.Clone(every), "--grant", deviceGrant, "--name", "Web", "--skip-consent",
		"--redirect-uri", webURI, "--redirect-uri", webURI+"/other")...)
	v.rival = v.application(t, append(every, "--name", "Rival", "--skip-consent", "--redirect-uri", rivalURI)...)
	v.phone = v.application(t, "--name", "Phone", "--client-type", "public", "--grant", "authorization_code",
		"--redirect-uri", phoneURI)
	v.asker = v.application(t, "--name", "Asker", "--grant", "client_credentials", "--may-introspect")
	v.casual = v.application(t, "--name", "Casual", "--grant", "authorization_code", "--redirect-uri",
		"https://casual.example/back")
	return v
}

// signedIn returns a browser in which a person has signed in.
func (s *server) signedIn(t testing.TB, p person) *browser {
	t.Helper()
	b := s.browser(t)
	b.open(t, "/login/")
	b.logIn(t, p)
	if b.Status != http.StatusOK || b.URL.Path != "/" && b.URL.Path != "/account/" {
		t.Fatalf("%s could not log in, the browser shows %d %s:\n%s", p.Name, b.Status, b.URL, b.Body)
	}
	return b
}

// send posts a form to a path, as one of the server's own pages would.
func (b *browser) send(t testing.TB, path string, form url.Values) {
	t.Helper()
	for _, name := range confidential {
		for _, value := range form[name] {
			b.server.secret(value)
		}
	}
	request, err := http.NewRequest("POST", b.server.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Origin", b.server.URL)
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	b.follow(t, request)
}

// cookie returns the value of a cookie that the browser would send to a path.
func (b *browser) cookie(t testing.TB, path, name string) string {
	t.Helper()
	at, err := url.Parse(b.server.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range b.client.Jar.Cookies(at) {
		if c.Name == name {
			return c.Value
		}
	}
	t.Fatalf("the browser has no cookie %s for %s: %v", name, path, b.client.Jar.Cookies(at))
	return ""
}

// carrying returns a browser that has only these cookies, given as names and values in
// turn.
func (s *server) carrying(t testing.TB, pairs ...string) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	home, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	var cookies []*http.Cookie
	for i := 0; i < len(pairs); i += 2 {
		cookies = append(cookies, &http.Cookie{Name: pairs[i], Value: pairs[i+1], Path: "/"})
	}
	jar.SetCookies(home, cookies)
	b := s.browser(t)
	b.client.Jar = jar
	return b
}

// with returns a copy of a form in which some parameters are replaced. An empty value
// removes the parameter.
func with(form url.Values, pairs ...string) url.Values {
	changed := maps.Clone(form)
	for i := 0; i < len(pairs); i += 2 {
		changed.Set(pairs[i], pairs[i+1])
		if pairs[i+1] == "" {
			changed.Del(pairs[i])
		}
	}
	return changed
}

// addresses counts the addresses that requests came from.
var addresses atomic.Uint32

// afar sends a request from a site (an IPv4 /24) that no request has used before.
func afar(as auth) auth {
	n := addresses.Add(1)
	return func(r *http.Request, form url.Values) {
		r.Header.Set("X-Forwarded-For", fmt.Sprintf("10.%d.%d.1", n>>8&255, n&255))
		as(r, form)
	}
}

// withCookie sends one cookie.
func withCookie(name, value string) auth {
	return func(r *http.Request, _ url.Values) { r.AddCookie(&http.Cookie{Name: name, Value: value}) }
}

// grantForm returns the form that exchanges a code.
func grantForm(app application, code, verifier string) url.Values {
	return params("grant_type", "authorization_code", "code", code, "redirect_uri", app.RedirectURI,
		"code_verifier", verifier)
}

func refreshForm(token string) url.Values {
	return params("grant_type", "refresh_token", "refresh_token", token)
}

// issue lets a signed-in person approve an application, and returns the form that
// exchanges the code.
func (b *browser) issue(t testing.TB, app application, p person, more ...string) url.Values {
	t.Helper()
	address, verifier := b.server.authorizeURL(app, more...)
	return grantForm(app, b.code(t, address, p), verifier)
}

// family lets a person approve an application, and returns the tokens.
func (b *browser) family(t testing.TB, app application, p person, more ...string) tokens {
	t.Helper()
	return b.server.mustToken(t, app.auth(), b.issue(t, app, p, more...))
}

// ticket opens an authorization request that needs the consent page, and returns the
// form fields of that page.
func (b *browser) ticket(t testing.TB, app application, more ...string) string {
	t.Helper()
	address, _ := b.server.authorizeURL(app, more...)
	b.open(t, address)
	return b.ticketOfPage(t)
}

// ticketOfPage returns the ticket of the page that asks for a decision.
func (b *browser) ticketOfPage(t testing.TB) string {
	t.Helper()
	for _, f := range b.forms() {
		if ticket := f.values().Get("ticket"); ticket != "" {
			return ticket
		}
	}
	t.Fatalf("no page asks for a decision, but %d %s, away %v:\n%s", b.Status, b.URL, b.Away, b.Body)
	return ""
}

// refused says how an answer differs from a protocol error with this status and code,
// or returns "".
// RFC 6749 §5.2: the error is a code, and a description that tells the developer what
// to change, in ASCII without quote and backslash.
func (a answer) refused(status int, code string) error {
	if a.Status != status {
		return fmt.Errorf("status %d, want %d %s: %s", a.Status, status, code, a.Body)
	}
	var got tokens
	err := json.Unmarshal([]byte(a.Body), &got)
	if err != nil || !strings.HasPrefix(a.Header.Get("Content-Type"), "application/json") {
		return fmt.Errorf("%s, %v: %q", a.Header.Get("Content-Type"), err, a.Body)
	}
	if got.Error != code {
		return fmt.Errorf("error %q, want %q: %s", got.Error, code, a.Body)
	}
	if got.AccessToken != "" || got.RefreshToken != "" {
		return fmt.Errorf("an error with a token in it")
	}
	if len(got.ErrorDescription) < 12 || strings.ContainsFunc(got.ErrorDescription, notNQSCHAR) {
		return fmt.Errorf("error_description %q does not say what to change in the characters that it may have",
			got.ErrorDescription)
	}
	if a.Status == http.StatusUnauthorized && a.Header.Get("WWW-Authenticate") == "" {
		return fmt.Errorf("401 without WWW-Authenticate")
	}
	if a.Header.Get("Cache-Control") != "no-store" {
		return fmt.Errorf("Cache-Control %q, want no-store", a.Header.Get("Cache-Control"))
	}
	return nil
}

// RFC 6749 §5.2: %x20-21 / %x23-5B / %x5D-7E.
func notNQSCHAR(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }
