package mandate

import (
	"fmt"
	"testing"
)

// The resource server checks signed tokens itself, without the authorization server. It
// asks the authorization server about all other tokens.
func TestRFC9068Guard(t *testing.T) {
	t.Parallel()
	s, app, api, alice := signedServer(t, newSQLite(t))
	opaque := s.relyingParty(t)
	upstream, _ := upstream(t)
	alone := []string{"RESOURCE_SERVER_JWKS_URL: " + quote(s.URL+"/o/.well-known/jwks.json"),
		"RESOURCE_SERVER_ISSUER: " + quote(s.Issuer), "RESOURCE_SERVER_AUDIENCE: " + quote(s.BaseURL)}
	asking := []string{"RESOURCE_SERVER_INTROSPECTION_URL: " + quote(s.URL+"/o/introspect/"),
		fmt.Sprintf("RESOURCE_SERVER_INTROSPECTION_CREDENTIALS: [%s, %s]", quote(api.ClientID), quote(api.ClientSecret))}
	rules := []string{"{PATH: /orders, SCOPES: [read]}", "{PATH: /admin, SCOPES: [write]}"}
	local, both := s.guard(t, upstream.URL, rules, alone...), s.guard(t, upstream.URL, rules, append(alone, asking...)...)
	other := s.guard(t, upstream.URL, rules, alone[0], alone[1], "RESOURCE_SERVER_AUDIENCE: https://other.example")
	signed, plain := s.browser(t).signsIn(t, app, alice, "scope", "openid read"),
		s.browser(t).signsIn(t, opaque, alice, "scope", "openid read")
	is := func(what string, g *server, path, token string, want int) {
		t.Helper()
		if a := g.get(t, path, bearer(token)); a.Status != want {
			t.Errorf("%s: %d, want %d: %s", what, a.Status, want, a.Body)
		}
	}
	is("signed", local, "/orders", signed.AccessToken, 200)
	is("signed, another scope", local, "/admin", signed.AccessToken, 403)
	is("opaque, nobody to ask", local, "/orders", plain.AccessToken, 401)
	is("opaque, somebody to ask", both, "/orders", plain.AccessToken, 200)
	is("signed, with both", both, "/orders", signed.AccessToken, 200)
	is("an ID token", local, "/orders", signed.IDToken, 401)
	is("for another service", other, "/orders", signed.AccessToken, 401)
	s.revoke(t, app.auth(), signed.AccessToken)
	is("revoked, and nobody is asked", local, "/orders", signed.AccessToken, 200)
	s.stop(t)
	is("the authorization server is down", local, "/orders", signed.AccessToken, 200)
	is("opaque, and nobody answers", both, "/orders", plain.AccessToken+"x", 503)
}
