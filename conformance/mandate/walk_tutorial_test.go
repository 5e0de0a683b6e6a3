package mandate

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"
)

// checkSame checks the status and the value of a JSON answer.
func checkSame(t testing.TB, a answer, status int, want any) {
	t.Helper()
	var got any
	err := json.Unmarshal([]byte(a.Body), &got)
	if diff := cmp.Diff(want, got); err != nil || a.Status != status || diff != "" {
		t.Errorf("status %d, want %d; %v (-want +got):\n%s", a.Status, status, err, diff)
	}
	checkType(t, a, "application/json")
}

// Tutorial 1: make a provider in a minute, and get a token with Postman.
func TestWalkTutorial1(t *testing.T) {
	ownProcesses(t)
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db})
		alice := s.person(t, "alice")
		const postman = "https://www.getpostman.com/oauth2/callback"

		// Go to /o/applications/ and register a new application.
		b := s.signIn(t, alice, "/o/applications/")
		b.click(t, "Register an application")
		app := b.registers(t, params("name", "Postman", "client_type", "confidential", "grant_type", "authorization_code",
			"redirect_uris", postman))

		// Get New Access Token: authorization code with PKCE. The login form is shown, then the request for
		// authorization, then the token.
		verifier, challenge := newPKCE()
		address := "/o/authorize/?" + params("response_type", "code", "client_id", app.ClientID, "redirect_uri", postman,
			"scope", "read write",
			"state", "from Postman", "code_challenge", challenge, "code_challenge_method", "S256").Encode()
		other := s.browser(t)
		other.open(t, address)
		if !other.shows("password") {
			t.Fatalf("no login form:\n%s", other.Body)
		}
		other.logIn(t, alice)
		if !other.shows("decision") || other.URL.RequestURI() != address {
			t.Fatalf("the login leads to %s and not back to the request:\n%s", other.URL, other.Body)
		}
		other.decide(t, "approve")
		if other.Away == nil || other.Away.Query().Get("state") != "from Postman" || other.Away.Host != "www.getpostman.com" {
			t.Fatalf("sent to %v", other.Away)
		}

		// The server answers pages of other origins, by CORS.
		const origin = "https://www.getpostman.com"
		preflight, err := http.NewRequest("OPTIONS", s.URL+"/o/token/", nil)
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{"Origin": origin, "Access-Control-Request-Method": "POST",
			"Access-Control-Request-Headers": "authorization"} {
			preflight.Header.Set(name, value)
		}
		allowed, err := s.do(preflight)
		if err != nil || allowed.Status/100 != 2 ||
			!strings.Contains(strings.ToLower(allowed.Header.Get("Access-Control-Allow-Headers")), "authorization") {
			t.Errorf("the preflight request gives %d %v, %v", allowed.Status, allowed.Header, err)
		}
		request := params("grant_type", "authorization_code", "code", other.Away.Query().Get("code"), "redirect_uri", postman,
			"code_verifier", verifier)
		granted := s.post(t, "/o/token/", app.auth(), request)
		pair := s.checkGranted(t, granted, "read write", true)
		for _, a := range []answer{allowed, granted} {
			if got := a.Header.Get("Access-Control-Allow-Origin"); got != "*" && got != origin {
				t.Errorf("Access-Control-Allow-Origin %q", got)
			}
		}

		// Refresh the token.
		s.checkGranted(t, s.refresh(t, app.auth(), pair.RefreshToken), "read write", true)

		s.walkFailures(t, b, app)
	})
}

// walkFailures tests the errors that the documentation describes. A person is signed in
// in the browser.
func (s *server) walkFailures(t *testing.T, b *browser, app application) {
	t.Helper()
	// The secret is wrong. The documentation warns of the hash; here no page shows it.
	a := s.refresh(t, basic(app.ClientID, "pbkdf2_sha256$600000$abc$def="), "mrt_unknown")
	checkRefused(t, a, http.StatusUnauthorized, "invalid_client")
	// The callback is not registered: a page shows the error, and the browser is not
	// redirected.
	address, _ := s.authorizeURL(app, "redirect_uri", "https://oauth.pstmn.io/v1/callback")
	b.open(t, address)
	if b.Status != http.StatusBadRequest || len(b.Hops) != 0 || !strings.Contains(b.Body, "redirect URI") {
		t.Errorf("a callback that is not registered gives %d, redirects %v:\n%s", b.Status, b.Hops, b.Body)
	}
	// PKCE is left out: invalid_request.
	address, _ = s.authorizeURL(app, "code_challenge", "", "code_challenge_method", "", "state", "xyz")
	b.open(t, address)
	s.checkReturn(t, b, app, "invalid_request", "xyz")
}

// hello starts the API of tutorials 2 and 3, which does not support OAuth.
func hello(t *testing.T) string {
	t.Helper()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/hello":
			fmt.Fprint(w, "Hello, OAuth2!")
		case "/secret":
			fmt.Fprint(w, "Secret contents!")
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(api.Close)
	return api.URL
}

// protects runs a resource server with its own credentials in front of an API.
func (s *server) protects(t *testing.T, api string, rules ...string) *server {
	t.Helper()
	asker := s.introspector(t)
	return s.guard(t, api, rules, "RESOURCE_SERVER_INTROSPECTION_URL: "+quote(s.URL+"/o/introspect/"),
		fmt.Sprintf("RESOURCE_SERVER_INTROSPECTION_CREDENTIALS: [%s, %s]", quote(asker.ClientID), quote(asker.ClientSecret)))
}

// Tutorial 2: protect your APIs.
func TestWalkTutorial2(t *testing.T) {
	ownProcesses(t)
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db})
		alice, app := s.person(t, "alice"), s.whole(t, "web app")
		g := s.protects(t, hello(t), "{PATH: /api/hello}")

		// Without a token the API refuses. It answers 403 without a challenge there; RFC 6750 §3 wants 401 with one.
		checkDetail(t, g.get(t, "/api/hello", nobody), http.StatusUnauthorized, "")

		// With a token: Hello, OAuth2!
		address, verifier := s.authorizeURL(app)
		b := s.browser(t)
		pair := s.redeem(t, app, b.code(t, address, alice), verifier)
		if a := g.get(t, "/api/hello", bearer(pair.AccessToken)); a.Status != http.StatusOK || a.Body != "Hello, OAuth2!" {
			t.Errorf("%d %s", a.Status, a.Body)
		}

		// The tutorial mounts revoke-token/ and authorized-tokens/ with hyphens, the package has underscores. The
		// page lists what was authorized, and revokes it.
		b.open(t, "/o/authorized_tokens/")
		if b.Status != http.StatusOK || !strings.Contains(b.Body, "web app") || !strings.Contains(b.Body, "read write") {
			t.Fatalf("the page of authorized tokens: %d\n%s", b.Status, b.Body)
		}
		button := b.element(func(n *html.Node) bool { return n.Data == "button" && strings.HasPrefix(text(n), "Revoke") })
		if button == nil {
			t.Fatalf("nothing to revoke:\n%s", b.Body)
		}
		b.submit(t, text(button), nil)
		if strings.Contains(b.Body, "read write") {
			t.Error("it is still listed")
		}
		checkRefused(t, s.refresh(t, app.auth(), pair.RefreshToken), http.StatusBadRequest, "invalid_grant")
	})
}

// Tutorial 3: have the token authenticate the user.
func TestWalkTutorial3(t *testing.T) {
	ownProcesses(t)
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db})
		alice, app := s.person(t, "alice"), s.whole(t, "web app")
		// What the permission TokenHasReadWriteScope is there: read for safe methods, write for the others.
		g := s.protects(t, hello(t), "{PATH: /secret, METHODS: [GET, OPTIONS], SCOPES: [read]}",
			"{PATH: /secret, SCOPES: [write]}")

		// curl -H "Authorization: Bearer 123456" -X GET /secret gives: Secret contents!
		token := s.pair(t, app, alice, "scope", "read").AccessToken
		if a := g.get(t, "/secret", bearer(token)); a.Status != http.StatusOK || a.Body != "Secret contents!" {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		// The tutorial's 123456 stands for a real token; as it is it is none.
		checkDetail(t, g.get(t, "/secret", bearer("123456")), http.StatusUnauthorized, "invalid_token")
		// Without a token Django sends the caller to its login page. An API has none: RFC 6750 §3 wants a challenge.
		checkDetail(t, g.get(t, "/secret", nobody), http.StatusUnauthorized, "")
		// A token for reading cannot write.
		checkPermission(t, g.post(t, "/secret", bearer(token), nil), "write")
		if a := g.post(t, "/secret", bearer(s.pair(t, app, alice, "scope", "write").AccessToken),
			nil); a.Status != http.StatusOK {
			t.Errorf("writing gives %d %s", a.Status, a.Body)
		}
	})
}

// Tutorial 4: revoke a token.
func TestWalkTutorial4(t *testing.T) {
	ownProcesses(t)
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db})
		alice, asker := s.person(t, "alice"), s.introspector(t)
		b := s.signIn(t, alice, "/o/applications/register/")
		public := b.registers(t, params("name", "phone", "client_type", "public", "grant_type", "authorization_code",
			"redirect_uris", callback))
		b.open(t, "/o/applications/register/")
		secret := b.registers(t, params("name", "web app", "client_type", "confidential", "grant_type", "authorization_code",
			"redirect_uris", callback))
		for _, c := range []struct {
			name string
			app  application
			as   auth
		}{
			// curl --data "token=XXXX&client_id=XXXX" /o/revoke_token/
			{"public", public, public.auth()},
			// curl --data "token=XXXX&client_id=XXXX&client_secret=XXXX" /o/revoke_token/
			{"confidential", secret, body(secret.ClientID, secret.ClientSecret)},
		} {
			for _, kind := range []string{"access_token", "refresh_token"} {
				t.Run(c.name+" "+kind, func(t *testing.T) {
					address, verifier := s.authorizeURL(c.app)
					pair := s.redeem(t, c.app, b.code(t, address, alice), verifier)
					token := map[string]string{"access_token": pair.AccessToken, "refresh_token": pair.RefreshToken}[kind]
					// The answer is 200 and empty, also to a token that is gone already.
					for range 2 {
						a := s.post(t, "/o/revoke_token/", c.as, params("token", token, "token_type_hint", kind))
						if a.Status != http.StatusOK || a.Body != "" {
							t.Fatalf("%d %q", a.Status, a.Body)
						}
						checkUncached(t, a)
					}
					// The other token of the pair survives there in older versions; here it ends with the one revoked.
					s.checkInactive(t, asker.auth(), pair.AccessToken)
					s.checkInactive(t, asker.auth(), pair.RefreshToken)
					checkRefused(t, s.refresh(t, c.app.auth(), pair.RefreshToken), http.StatusBadRequest, "invalid_grant")
				})
			}
		}
		t.Run("another client's token is left alone", func(t *testing.T) {
			address, verifier := s.authorizeURL(public)
			pair := s.redeem(t, public, b.code(t, address, alice), verifier)
			checkRefused(t, s.post(t, "/o/revoke_token/", secret.auth(), params("token", pair.AccessToken)),
				http.StatusBadRequest, "invalid_grant")
			if !s.active(t, asker.auth(), pair.AccessToken) {
				t.Error("it was revoked")
			}
		})
	})
}
