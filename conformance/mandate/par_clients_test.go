package mandate

import (
	"net/http"
	"strings"
	"testing"
)

// Pushed authorization requests of kinds of clients, and the requirement to push.

// A client with a metadata document pushes before any approval has stored it.
func TestPushedRequestsOfDocumentClient(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		h := newDocumentHost(t)
		v := newFixture(t, h.options(options{database: db}))
		agent := h.client("/pushing", "http://127.0.0.1:50123/back",
			map[string]any{"require_pushed_authorization_requests": true})
		address, _ := v.authorizeURL(agent)
		b := v.signedIn(t, v.alice)
		b.open(t, address)
		b.wantMustPush(t)
		for range 2 { // the second time, the application is stored
			address, verifier := v.pushed(t, agent)
			v.redeem(t, agent, v.browser(t).authorize(t, address, v.alice, "approve").Query().Get("code"), verifier)
		}
		form, _ := v.requestFor(t, agent)
		unknown := agent
		unknown.ClientID = strings.Replace(agent.ClientID, "/pushing", "/missing", 1)
		a := v.push(t, unknown, with(form, "client_id", unknown.ClientID))
		if a.Status < 400 || a.Status > 499 {
			t.Errorf("without a document: %d %s", a.Status, a.Body)
		}
	})
}

// wantMustPush checks the refusal of a request that was not pushed. Nobody is responsible for its application, so the
// page does not lead to it.
func (b *browser) wantMustPush(t *testing.T) {
	t.Helper()
	if b.Away != nil || b.Status != http.StatusBadRequest ||
		!strings.Contains(b.Body, "must push its authorization requests") {
		t.Errorf("a request that was not pushed: %d, %v, %s", b.Status, b.Away, b.Body)
	}
}

// The npm package openid-client, and oauth4webapi below it, push their requests.
func TestPushedRequestsOfOpenIDClient(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db, provider: []string{"REQUIRE_PUSHED_AUTHORIZATION_REQUESTS: true"}})
		alice := s.person(t, "alice")
		secret := s.application(t, "--name", "Web", "--grant", "authorization_code", "--redirect-uri", webURI)
		public := s.application(t, "--name", "Phone", "--client-type", "public", "--grant", "authorization_code",
			"--redirect-uri", webURI)
		for _, c := range []struct {
			method string
			app    application
		}{{"basic", secret}, {"post", secret}, {"none", public}} {
			begun := s.openidClient(t, c.app, "authorize",
				map[string]any{"auth": c.method, "redirect_uri": c.app.RedirectURI, "scope": "read", "push": true})
			address, _ := begun["url"].(string)
			if !strings.Contains(address, "request_uri=urn") || strings.Contains(address, "state") {
				t.Fatalf("%s: %v", c.method, begun)
			}
			back := s.browser(t).authorize(t, address, alice, "approve")
			got := s.openidClient(t, c.app, "callback",
				map[string]any{"auth": c.method, "url": back.String(), "code_verifier": begun["code_verifier"],
					"state": begun["state"]})
			if got["access_token"] == nil {
				t.Errorf("%s: %v", c.method, got)
			}
			wrong := s.openidClient(t, c.app, "authorize",
				map[string]any{"auth": c.method, "redirect_uri": "https://evil.example/", "push": true})
			if wrong["error"] != "invalid_request" {
				t.Errorf("%s, with a wrong redirect URI: %v", c.method, wrong)
			}
		}
	})
}

// Where requests must be pushed, a request that was not pushed is refused at the redirect
// URI, which is proven.
func TestPushedRequestsRequired(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db, provider: []string{"REQUIRE_PUSHED_AUTHORIZATION_REQUESTS: true"}})
		alice := s.person(t, "alice")
		app := s.application(t, "--name", "Web", "--grant", "authorization_code", "--redirect-uri", webURI)
		if s.get(t, "/.well-known/oauth-authorization-server",
			nobody).JSON(t)["require_pushed_authorization_requests"] != true {
			t.Error("the metadata does not say that requests must be pushed")
		}
		address, _ := s.authorizeURL(app)
		back := s.browser(t).authorize(t, address, alice, "approve")
		if back.Query().Get("error") != "invalid_request" || !strings.HasPrefix(back.String(), webURI) {
			t.Errorf("a request that was not pushed: %v", back)
		}
		address, verifier := s.pushed(t, app)
		s.redeem(t, app, s.browser(t).authorize(t, address, alice, "approve").Query().Get("code"), verifier)
	})
}

// The operator, the page and the application itself can require it of one application.
func TestPushedRequestsRequiredOfOne(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db, provider: []string{"OPEN_CLIENTS: [registration]"}})
		alice, root := s.person(t, "alice"), s.person(t, "root", "--admin")
		required := s.application(t, "--name", "Strict", "--grant", "authorization_code", "--redirect-uri", webURI,
			"--require-pushed-requests")
		free := s.application(t, "--name", "Free", "--grant", "authorization_code", "--redirect-uri", webURI)
		said := s.registers(t, nobody, member{"redirect_uris": []string{"http://127.0.0.1/cb"}, "client_name": "Tool",
			"token_endpoint_auth_method": "none", "require_pushed_authorization_requests": true})
		if said["require_pushed_authorization_requests"] != true {
			t.Errorf("the answer to the registration is %v", said)
		}
		itself := application{ClientID: said["client_id"].(string), RedirectURI: "http://127.0.0.1/cb"}
		pushes := func(app application) {
			t.Helper()
			address, verifier := s.pushed(t, app)
			s.redeem(t, app, s.browser(t).authorize(t, address, alice, "approve").Query().Get("code"), verifier)
		}
		wants := func(app application, code string) {
			t.Helper()
			address, _ := s.authorizeURL(app)
			back := s.browser(t).authorize(t, address, alice, "approve")
			if back.Query().Get("error") != code {
				t.Errorf("a request that was not pushed: %v, want the error %q", back, code)
			}
			pushes(app)
		}
		wants(required, "invalid_request")
		wants(free, "")
		address, _ := s.authorizeURL(itself)
		stranger := s.signedIn(t, alice)
		stranger.open(t, address)
		stranger.wantMustPush(t)
		pushes(itself)
		b := s.signedIn(t, root)
		b.open(t, "/o/applications/"+free.ID+"/update/")
		b.submit(t, "", params("require_pushed", "on"))
		if !strings.Contains(b.Body, "must push them") {
			t.Errorf("the page of the application: %d %s", b.Status, b.Body)
		}
		wants(free, "invalid_request")
	})
}
