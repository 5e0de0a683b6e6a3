package mandate

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Separate resource server.
func TestWalkResourceServer(t *testing.T) {
	ownProcesses(t)
	onADatabase(t, func(t *testing.T, db database) {
		// Set up the authentication server: the scope introspection is added to SCOPES.
		s := startServer(t, options{database: db, settings: []string{"SAMPLE_API: true"}, provider: []string{
			sampleScopes, "RESOURCE_SERVER_TOKEN_CACHING_SECONDS: 0"}})
		alice, admin := s.person(t, "alice"), s.person(t, "root", "--admin")

		// The resource server needs a token with that scope. There every client can get
		// it; here an administrator allows it for one client.
		b := s.signIn(t, admin, "/o/applications/register/")
		asker := b.registers(t, params("name", "resource server", "client_type", "confidential", "grant_type",
			"client_credentials", "may_introspect", "on"))
		key := s.checkGranted(t,
			s.post(t, "/o/token/", asker.auth(), params("grant_type", "client_credentials", "scope", "introspection")),
			"introspection", false)

		b = s.signIn(t, alice, "/o/applications/register/")
		app := b.registers(t, params("name", "service", "client_type", "confidential", "grant_type", "password", "grant_type",
			"client_credentials"))
		pair := s.checkGranted(t, s.password(t, app.auth(), alice, "scope", "read write"), "read write", true)

		// Example request: POST /o/introspect/ with Authorization: Bearer, token=... gives 200 and the facts.
		a := s.post(t, "/o/introspect/", bearer(key.AccessToken), params("token", pair.AccessToken))
		if a.Status != http.StatusOK {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		got := object(t, a)
		for name, want := range map[string]any{"active": true, "client_id": app.ClientID, "username": "alice",
			"scope": "read write"} {
			if got[name] != want {
				t.Errorf("%s is %v, want %v", name, got[name], want)
			}
		}

		// Set up the resource server, with a token or with credentials. Its default there
		// caches an answer for 36000 seconds and so accepts revoked tokens. Here the
		// default is 10 seconds, and 0 in this test.
		address := "RESOURCE_SERVER_INTROSPECTION_URL: " + quote(s.URL+"/o/introspect/")
		byToken := "RESOURCE_SERVER_AUTH_TOKEN: " + quote(key.AccessToken)
		byPair := fmt.Sprintf("RESOURCE_SERVER_INTROSPECTION_CREDENTIALS: [%s, %s]", quote(asker.ClientID),
			quote(asker.ClientSecret))
		const uncached = "RESOURCE_SERVER_TOKEN_CACHING_SECONDS: 0"
		api, requests := upstream(t)
		rules := []string{"{PATH: /users, METHODS: [GET], SCOPES: [read]}",
			"{PATH: /users, METHODS: [POST], SCOPES: [write]}",
			"{PATH: /groups, SCOPES: [groups]}", "{PATH: /resource}"}

		// A resource server that knows the provider only by its settings has its own
		// users.
		separate := startServer(t,
			options{settings: []string{"SAMPLE_API: true"}, provider: []string{sampleScopes, address, byToken, uncached}})
		for name, resource := range map[string]*server{
			"the sample API in the provider":        s,
			"the sample API of another server":      separate,
			"a process in front of an API by token": s.guard(t, api.URL, rules, address, byToken, uncached),
			"a process in front of an API by pair":  s.guard(t, api.URL, rules, address, byPair, uncached),
		} {
			t.Run(name, func(t *testing.T) {
				s.walkResource(t, resource, app, alice)
			})
		}
		// The API receives the facts of the token, but not the token.
		if len(requests()) == 0 {
			t.Error("no request reached the API")
		}
		for _, r := range requests() {
			got := []string{r.Header.Get("Authorization"), r.Header.Get("X-Token-Client-Id"), r.Header.Get("X-Token-Username")}
			if diff := cmp.Diff([]string{"", app.ClientID, "alice"}, got); diff != "" {
				t.Errorf("headers (-want +got):\n%s", diff)
			}
		}
	})
}

// walkResource calls a protected API with tokens of every kind. s is their issuer.
func (s *server) walkResource(t *testing.T, resource *server, app application, alice person) {
	t.Helper()
	pair := s.pair(t, app, alice, "scope", "read")
	for _, path := range []string{"/users/", "/resource"} {
		if a := resource.get(t, path, bearer(pair.AccessToken)); a.Status != http.StatusOK {
			t.Errorf("%s answers %d: %s", path, a.Status, a.Body)
		}
	}
	checkPermission(t, resource.get(t, "/groups/", bearer(pair.AccessToken)), "groups")
	checkPermission(t, resource.post(t, "/users/", bearer(pair.AccessToken), params("username", "foo")), "write")
	checkDetail(t, resource.get(t, "/users/", nobody), http.StatusUnauthorized, "")
	checkDetail(t, resource.get(t, "/users/", bearer("mat_unknown")), http.StatusUnauthorized, "invalid_token")
	checkDetail(t, resource.get(t, "/users/", bearer(pair.RefreshToken)), http.StatusUnauthorized, "invalid_token")
	// A revoked token is refused. There it is accepted until the cached answer expires.
	s.revoke(t, app.auth(), pair.AccessToken)
	checkDetail(t, resource.get(t, "/users/", bearer(pair.AccessToken)), http.StatusUnauthorized, "invalid_token")
}

// The provider is down: the resource server refuses all requests, but does not call
// valid tokens invalid.
func TestWalkResourceServerWithoutProvider(t *testing.T) {
	ownProcesses(t)
	forEachDatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db})
		alice, app := s.person(t, "alice"), s.whole(t, "service")
		g := s.protects(t, hello(t), "{PATH: /api/hello}")
		known, unknown := s.pair(t, app, alice), s.pair(t, app, alice)
		if a := g.get(t, "/api/hello", bearer(known.AccessToken)); a.Status != http.StatusOK {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		s.kill(t)
		a := g.get(t, "/api/hello", bearer(unknown.AccessToken))
		if a.Status != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" {
			t.Errorf("without the provider: %d, Retry-After %q: %s", a.Status, a.Header.Get("Retry-After"), a.Body)
		}
		s.start(t)
		waitFor(t, "the resource server has found the provider again", func() bool {
			return g.get(t, "/api/hello", bearer(unknown.AccessToken)).Status == http.StatusOK
		})
	})
}
