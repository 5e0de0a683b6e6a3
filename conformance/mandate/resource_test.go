package mandate

import (
	"net/http"
	"slices"
	"testing"
)

// RFC 8707, on both databases: a token works at the APIs that it was issued for, and
// nowhere else.

const (
	ordersURI = "https://orders.example/v1"
	mailURI   = "https://mail.example/"
)

// apis are two resources, and the applications that introspect their tokens.
type apis struct {
	*fixture
	orders, mail application
}

func newAPIs(t *testing.T, o options) *apis {
	t.Helper()
	a := &apis{fixture: newFixture(t, o)}
	introspector := func(name string) application {
		return a.application(t, "--name", name, "--grant", "client_credentials")
	}
	a.orders, a.mail = introspector("Orders"), introspector("Mail")
	a.mustCLI(t, "", "resource", "add", ordersURI, "--name", "Orders API", "--scope", "read", "--scope", "write",
		"--introspector", a.orders.ClientID)
	a.mustCLI(t, "", "resource", "add", mailURI, "--name", "Mail API", "--scope", "read", "--scope", "groups",
		"--introspector", a.mail.ClientID)
	return a
}

// activeAt says which introspectors see a token as active. An application that no resource names any more may not ask.
func (a *apis) activeAt(t *testing.T, token string) []string {
	t.Helper()
	var seen []string
	for _, asker := range []struct {
		name string
		app  application
	}{{"orders", a.orders}, {"mail", a.mail}, {"server", a.asker}} {
		refused := a.post(t, "/o/introspect/", asker.app.auth(), params("token", token)).refused(403,
			"unauthorized_client") == nil
		if !refused && a.active(t, asker.app.auth(), token) {
			seen = append(seen, asker.name)
		}
	}
	return seen
}

func (a *apis) wantActiveAt(t *testing.T, token string, want ...string) {
	t.Helper()
	if got := a.activeAt(t, token); !slices.Equal(got, want) {
		t.Errorf("active at %q, want %q", got, want)
	}
}

func TestResource(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		a := newAPIs(t, options{database: db})
		for _, owner := range []application{a.web, a.phone} {
			t.Run(owner.kind(), func(t *testing.T) { a.narrowed(t, owner) })
		}
		t.Run("client_credentials", a.ofMachine)
		t.Run("refused", a.refusedTargets)
		t.Run("userinfo_and_sample_api", a.ofServer)
		t.Run("guard", a.guarded)
		t.Run("deleted", a.deleted)
	})
}

// narrowed follows one approval for two APIs: each access token can be for one of them.
func (a *apis) narrowed(t *testing.T, owner application) {
	alice := a.signedIn(t, a.alice)
	form := func() map[string][]string {
		return alice.issue(t, owner, a.alice, "resource", ordersURI, "resource", mailURI, "scope", "read write groups")
	}
	// One token has no scope that only one of its APIs has.
	err := a.post(t, "/o/token/", owner.auth(), form()).refused(400, "invalid_scope")
	if err != nil {
		t.Error(err)
	}
	code := form()
	code["resource"] = []string{a.URL}
	err = a.post(t, "/o/token/", owner.auth(), code).refused(400, "invalid_target")
	if err != nil {
		t.Error(err)
	}
	code["resource"] = []string{"HTTPS://Orders.Example:443/v1"} // the code is still unused
	one := a.mustToken(t, owner.auth(), code)
	a.wantActiveAt(t, one.AccessToken, "orders")
	if one.Scope != "read write" {
		t.Errorf("scope %q", one.Scope)
	}
	for _, wrong := range []string{a.URL, "https://unknown.example", ordersURI + "//", ordersURI + "/x", "orders"} {
		err := a.post(t, "/o/token/", owner.auth(), with(refreshForm(one.RefreshToken), "resource", wrong)).refused(400,
			"invalid_target")
		if err != nil {
			t.Errorf("%s: %v", wrong, err)
		}
	}
	err = a.post(t, "/o/token/", owner.auth(),
		with(refreshForm(one.RefreshToken), "resource", ordersURI, "scope", "groups")).refused(400, "invalid_scope")
	if err != nil {
		t.Error(err)
	}
	// Some clients add a slash to the URL. The token is for the resource as it was registered.
	next := a.mustToken(t, owner.auth(), with(refreshForm(one.RefreshToken), "resource", ordersURI+"/"))
	if aud := a.introspect(t, a.orders.auth(), next.AccessToken)["aud"]; aud != ordersURI {
		t.Errorf("aud %v", aud)
	}
	next = a.mustToken(t, owner.auth(), with(refreshForm(next.RefreshToken), "resource", mailURI))
	a.wantActiveAt(t, next.AccessToken, "mail")
	a.wantActiveAt(t, one.AccessToken, "orders")
	whole := a.mustToken(t, owner.auth(), with(refreshForm(next.RefreshToken), "scope", "read"))
	a.wantActiveAt(t, whole.AccessToken, "orders", "mail")
	aud, _ := a.introspect(t, a.mail.auth(), whole.AccessToken)["aud"].([]any)
	if !slices.Equal(aud, []any{ordersURI, mailURI}) {
		t.Errorf("aud %v", aud)
	}
	if aud := a.introspect(t, a.mail.auth(), next.AccessToken)["aud"]; aud != mailURI {
		t.Errorf("aud %v", aud)
	}
}

func (a *apis) ofMachine(t *testing.T) {
	machine := params("grant_type", "client_credentials", "scope", "read")
	a.wantActiveAt(t, a.mustToken(t, a.web.auth(), machine).AccessToken, "server")
	a.wantActiveAt(t, a.mustToken(t, a.web.auth(), with(machine, "resource", ordersURI)).AccessToken, "orders")
	limited := a.application(t, "--name", "Limited", "--grant", "client_credentials", "--resource", mailURI)
	a.wantActiveAt(t, a.mustToken(t, limited.auth(), machine).AccessToken, "mail")
	err := a.post(t, "/o/token/", limited.auth(), with(machine, "resource", ordersURI)).refused(400, "invalid_target")
	if err != nil {
		t.Error(err)
	}
}

// refusedTargets: RFC 8707 §2. The authorization endpoint sends the error to the client.
func (a *apis) refusedTargets(t *testing.T) {
	alice := a.signedIn(t, a.alice)
	for _, wrong := range []string{"https://unknown.example", ordersURI + "#part", "/v1", "orders.example"} {
		address, _ := a.authorizeURL(a.web, "resource", wrong)
		alice.open(t, address)
		if alice.Away == nil || alice.Away.Query().Get("error") != "invalid_target" || alice.Away.Query().Get("code") != "" {
			t.Errorf("%s: %d, %v", wrong, alice.Status, alice.Away)
		}
		err := a.post(t, "/o/token/", a.web.auth(), params("grant_type", "client_credentials", "resource", wrong)).refused(
			400, "invalid_target")
		if err != nil {
			t.Errorf("%s: %v", wrong, err)
		}
	}
	// RFC 6749 §3.1: no other parameter may be repeated, and this one only where RFC 8707 defines it.
	err := a.post(t, "/o/introspect/", a.asker.auth(),
		params("token", "x", "resource", ordersURI, "resource", mailURI)).refused(400, "invalid_request")
	if err != nil {
		t.Error(err)
	}
}

// ofServer: the sample API and the introspection endpoint are the server itself.
func (a *apis) ofServer(t *testing.T) {
	other := a.mustToken(t, a.web.auth(),
		params("grant_type", "client_credentials", "scope", "read", "resource", ordersURI))
	own := a.mustToken(t, a.web.auth(), params("grant_type", "client_credentials", "scope", "read", "resource", a.URL))
	if got := a.get(t, "/users/", bearer(other.AccessToken)); got.Status != http.StatusUnauthorized {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	if got := a.get(t, "/users/", bearer(own.AccessToken)); got.Status != http.StatusOK {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	asks := a.mustToken(t, a.asker.auth(), params("grant_type", "client_credentials", "scope", "introspection"))
	if !a.active(t, bearer(asks.AccessToken), own.AccessToken) {
		t.Error("inactive")
	}
	err := a.post(t, "/o/token/", a.asker.auth(),
		params("grant_type", "client_credentials", "scope", "introspection", "resource", ordersURI)).refused(400,
		"invalid_scope")
	if err != nil {
		t.Error(err)
	}
}

// guarded: the guard of one API refuses a token for another, also if its introspection
// credentials see the token as active.
func (a *apis) guarded(t *testing.T) {
	api, _ := upstream(t)
	g := a.guard(t, api.URL, []string{"{PATH: /, SCOPES: [read]}"}, "RESOURCE_SERVER_INTROSPECTION_URL: "+a.URL+
		"/o/introspect/",
		"RESOURCE_SERVER_INTROSPECTION_CREDENTIALS: ["+quote(a.orders.ClientID)+", "+quote(a.orders.ClientSecret)+"]",
		"RESOURCE_SERVER_AUDIENCE: "+ordersURI, "RESOURCE_SERVER_TOKEN_CACHING_SECONDS: 0")
	machine := params("grant_type", "client_credentials", "scope", "read")
	for resource, status := range map[string]int{ordersURI: http.StatusOK, mailURI: http.StatusUnauthorized,
		a.URL: http.StatusUnauthorized} {
		token := a.mustToken(t, a.web.auth(), with(machine, "resource", resource))
		if got := g.get(t, "/", bearer(token.AccessToken)); got.Status != status {
			t.Errorf("%s: %d, want %d", resource, got.Status, status)
		}
	}
}

// deleted: the tokens of a resource end with it, on a server that has a copy of them.
func (a *apis) deleted(t *testing.T) {
	owner := a.web
	alice := a.signedIn(t, a.alice)
	both := alice.family(t, owner, a.alice, "resource", ordersURI, "resource", mailURI, "scope", "read")
	one := a.mustToken(t, owner.auth(), with(refreshForm(both.RefreshToken), "resource", mailURI))
	a.wantActiveAt(t, one.AccessToken, "mail")
	a.mustCLI(t, "", "resource", "delete", mailURI)
	waitFor(t, "the token has ended", func() bool { return len(a.activeAt(t, one.AccessToken)) == 0 })
	a.wantActiveAt(t, both.AccessToken, "orders")
	next := a.mustToken(t, owner.auth(), refreshForm(one.RefreshToken))
	a.wantActiveAt(t, next.AccessToken, "orders")
	err := a.post(t, "/o/token/", owner.auth(), with(refreshForm(next.RefreshToken), "resource", mailURI)).refused(400,
		"invalid_target")
	if err != nil {
		t.Error(err)
	}
}
