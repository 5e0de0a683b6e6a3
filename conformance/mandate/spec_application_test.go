package mandate

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// People register and change applications in a browser.

// element returns the first element of the page that the function accepts, or nil.
func (b *browser) element(accept func(*html.Node) bool) *html.Node {
	page, err := html.Parse(strings.NewReader(b.Body))
	if err != nil {
		return nil // the parser takes anything; only a reader can fail
	}
	return descendant(page, accept)
}

func descendant(node *html.Node, accept func(*html.Node) bool) *html.Node {
	for inner := range node.Descendants() {
		if inner.Type == html.ElementNode && accept(inner) {
			return inner
		}
	}
	return nil
}

// fact returns the description of a term on the page: its code element, or all its
// text.
func (b *browser) fact(t testing.TB, term string) string {
	t.Helper()
	dt := b.element(func(n *html.Node) bool { return n.Data == "dt" && text(n) == term })
	if dt == nil {
		t.Fatalf("%s does not say the %s:\n%s", b.URL, term, b.Body)
	}
	for next := dt.NextSibling; next != nil; next = next.NextSibling {
		if next.Type != html.ElementNode {
			continue
		}
		if code := descendant(next, func(n *html.Node) bool { return n.Data == "code" }); code != nil {
			return text(code)
		}
		return text(next)
	}
	return ""
}

// shownSecret returns the client secret that the page shows, or "".
func (b *browser) shownSecret() string {
	field := b.element(func(n *html.Node) bool { return attribute(n, "id") == "client_secret" })
	if field == nil {
		return ""
	}
	return b.server.secret(attribute(field, "value"))
}

// click follows a link by its text.
func (b *browser) click(t testing.TB, label string) {
	t.Helper()
	link := b.element(func(n *html.Node) bool { return n.Data == "a" && text(n) == label })
	if link == nil {
		t.Fatalf("%s has no link %q:\n%s", b.URL, label, b.Body)
	}
	target, err := b.URL.Parse(attribute(link, "href"))
	if err != nil {
		t.Fatal(err)
	}
	b.open(t, target.String())
}

// registers sends the registration form in the browser, and records what the next page
// shows.
func (b *browser) registers(t testing.TB, fields url.Values) application {
	t.Helper()
	b.submit(t, "Register application", fields)
	id, found := strings.CutPrefix(b.URL.Path, "/o/applications/")
	id = strings.TrimSuffix(id, "/")
	if b.Status != http.StatusOK || !found || id == "" || id == "register" {
		t.Fatalf("registering leads to %d %s:\n%s", b.Status, b.URL, b.Body)
	}
	redirect, _, _ := strings.Cut(fields.Get("redirect_uris"), "\n")
	return application{ID: id, ClientID: b.fact(t, "Client ID"), ClientSecret: b.shownSecret(), RedirectURI: redirect}
}

// signIn opens a page that requires a login, and signs in.
func (s *server) signIn(t testing.TB, p person, path string) *browser {
	t.Helper()
	b := s.browser(t)
	b.open(t, path)
	if b.URL.Path != "/login/" {
		t.Fatalf("%s shows %s to a stranger, want the login", path, b.URL)
	}
	b.logIn(t, p)
	if b.Status != http.StatusOK || b.URL.Path != path {
		t.Fatalf("after the login: %d %s, want %s", b.Status, b.URL, path)
	}
	return b
}

func TestSpecApplication(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db})
		alice, bob := s.person(t, "alice"), s.person(t, "bob")
		b := s.signIn(t, alice, "/o/applications/register/")
		t.Run("the secret is hashed unless that is switched off", func(t *testing.T) {
			i := slices.IndexFunc(b.forms(), func(f form) bool { return f.has("redirect_uris") })
			if i < 0 || !b.forms()[i].values().Has("hash_client_secret") {
				t.Error("hash client secret is not switched on in the form")
			}
		})
		app := b.registers(t, params("name", "My web site", "client_type", "confidential", "grant_type", "authorization_code",
			"grant_type", "client_credentials", "redirect_uris", "https://client.example/back"))
		t.Run("the service makes id and secret, of 256 random bits", func(t *testing.T) {
			raw, err := base64.RawURLEncoding.DecodeString(app.ClientSecret)
			if err != nil || len(raw) != 32 || app.ClientID == "" {
				t.Errorf("client id %q, a secret of %d bytes, %v", app.ClientID, len(raw), err)
			}
			s.checkGranted(t, s.post(t, "/o/token/", app.auth(), params("grant_type", "client_credentials")),
				"read write", false)
		})
		t.Run("the secret is shown once", func(t *testing.T) {
			b.open(t, b.URL.String())
			if b.Status != http.StatusOK || strings.Contains(b.Body, app.ClientSecret) || b.shownSecret() != "" {
				t.Error("the secret is shown again")
			}
		})
		t.Run("the application is listed and shown", func(t *testing.T) {
			b.open(t, "/o/applications/")
			b.click(t, "My web site")
			for term, want := range map[string]string{"Client ID": app.ClientID, "Client type": "confidential",
				"Redirect URIs": "https://client.example/back"} {
				if got := b.fact(t, term); !strings.EqualFold(got, want) {
					t.Errorf("%s is %q, want %q", term, got, want)
				}
			}
		})
		t.Run("the application is changed, and the secret stays", func(t *testing.T) {
			b.click(t, "Change")
			b.submit(t, "Save changes", params("name", "My other web site", "redirect_uris", "https://client.example/other"))
			if b.URL.Path != "/o/applications/"+app.ID+"/" || b.fact(t, "Redirect URIs") != "https://client.example/other" ||
				!strings.Contains(b.Body, "My other web site") {
				t.Errorf("after the change: %d %s:\n%s", b.Status, b.URL, b.Body)
			}
			if b.shownSecret() != "" {
				t.Error("there is a new secret")
			}
			s.checkGranted(t, s.post(t, "/o/token/", app.auth(), params("grant_type", "client_credentials")),
				"read write", false)
			address, _ := s.authorizeURL(app)
			b.open(t, address)
			if b.Status != http.StatusBadRequest || b.Away != nil {
				t.Errorf("the old redirect URI gives %d, sent to %v", b.Status, b.Away)
			}
		})
		t.Run("somebody else's application is none", func(t *testing.T) {
			other := s.signIn(t, bob, "/o/applications/")
			if strings.Contains(other.Body, "My other web site") {
				t.Error("it is listed")
			}
			for _, page := range []string{"", "update/", "delete/", "rotate/"} {
				other.open(t, "/o/applications/"+app.ID+"/"+page)
				if other.Status != http.StatusNotFound {
					t.Errorf("%s gives %d", other.URL, other.Status)
				}
			}
		})
		t.Run("the application is deleted with its tokens", func(t *testing.T) {
			token := s.mustToken(t, app.auth(), params("grant_type", "client_credentials"))
			b.open(t, "/o/applications/"+app.ID+"/delete/")
			b.submit(t, "Delete the application", nil)
			if b.Status != http.StatusOK || b.URL.Path != "/o/applications/" {
				t.Errorf("after deleting: %d %s", b.Status, b.URL)
			}
			b.open(t, "/o/applications/"+app.ID+"/")
			if b.Status != http.StatusNotFound {
				t.Errorf("the deleted application gives %d", b.Status)
			}
			s.checkInactive(t, s.introspector(t).auth(), token.AccessToken)
			checkRefused(t, s.post(t, "/o/token/", app.auth(), params("grant_type", "client_credentials")),
				http.StatusUnauthorized, "invalid_client")
		})
	})
}

// Each kind of application has the right settings on its page.
func TestSpecApplicationKinds(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db})
		alice, admin := s.person(t, "alice"), s.person(t, "root", "--admin")
		b := s.signIn(t, alice, "/o/applications/register/")
		t.Run("a public one has no secret and has to use PKCE", func(t *testing.T) {
			app := b.registers(t, params("name", "Phone", "client_type", "public", "grant_type", "authorization_code",
				"redirect_uris", "com.example.app:/back"))
			if app.ClientSecret != "" {
				t.Fatal("it got a secret")
			}
			address, verifier := s.authorizeURL(app)
			s.checkGranted(t, s.exchange(t, app, b.code(t, address, alice), app.RedirectURI, verifier), "read write", true)
		})
		t.Run("one without hashing keeps a secret that works", func(t *testing.T) {
			b.open(t, "/o/applications/register/")
			app := b.registers(t,
				url.Values{"name": {"Signer"}, "client_type": {"confidential"}, "grant_type": {"client_credentials"},
					"hash_client_secret": nil})
			s.checkGranted(t, s.post(t, "/o/token/", app.auth(), params("grant_type", "client_credentials")),
				"read write", false)
		})
		t.Run("one has lifetimes of its own", func(t *testing.T) {
			b.open(t, "/o/applications/register/")
			app := b.registers(t, params("name", "Short", "client_type", "confidential", "grant_type", "client_credentials",
				"access_token_lifetime", "120"))
			if got := s.mustToken(t, app.auth(), params("grant_type", "client_credentials")); got.ExpiresIn != 120 {
				t.Errorf("expires_in %d, want 120", got.ExpiresIn)
			}
		})
		t.Run("only an administrator lets it introspect", func(t *testing.T) {
			b.open(t, "/o/applications/register/")
			if b.shows("may_introspect") {
				t.Error("the form shows the switch to everybody")
			}
			other := s.signIn(t, admin, "/o/applications/register/")
			app := other.registers(t, params("name", "API", "client_type", "confidential", "grant_type", "client_credentials",
				"may_introspect", "on"))
			s.checkInactive(t, app.auth(), "mat_unknown")
		})
	})
}
