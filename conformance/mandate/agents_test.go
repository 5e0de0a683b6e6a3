package mandate

import (
	"net/http"
	"strings"
	"testing"
)

// What agents do with a server beside the Model Context Protocol itself: they ask for more scopes than the tools have, share
// their tokens with other agents on the computer, and open the browser of people who have no account.

const toolsURI = "https://tools.example/mcp"

// withTools adds the resource of the tools, and returns an agent that has registered itself and the proxy that may ask about
// its tokens.
func (s *server) withTools(t *testing.T) (agent, proxy application) {
	t.Helper()
	proxy = s.application(t, "--name", "Tools proxy", "--grant", "client_credentials")
	s.mustCLI(t, "", "resource", "add", toolsURI, "--name", "Tools", "--scope", "tools", "--introspector", proxy.ClientID)
	const back = "http://127.0.0.1:50123/callback"
	return asApplication(s.registers(t, nobody, `{"client_name":"Agent","redirect_uris":["`+back+`"],"token_endpoint_auth_method":"none"}`), back), proxy
}

// Most agents ask for openid or offline_access whether they need it or not. offline_access without OpenID Connect changes
// nothing, since the tokens belong to no login, so it is left out (RFC 6749 §3.3). The token is for the tools in each case.
func TestAgentsAskForMoreScopes(t *testing.T) {
	const both = "openid offline_access"
	for name, test := range map[string]struct {
		settings []string
		scopes   map[string]string // what the agent asks for, and gets, or the error
	}{
		"with OpenID Connect": {[]string{"SCOPES: {read: Read, tools: Use the tools}"},
			map[string]string{"tools": "tools", "tools openid": "tools openid", "tools offline_access": "tools", "tools " + both: "tools " + both, "offline_access tools": "tools"}},
		"without": {[]string{openIDOff, "SCOPES: {read: Read, tools: Use the tools}"},
			map[string]string{"tools": "tools", "tools offline_access": "tools", "tools openid": "invalid_scope", "tools openid offline_access": "invalid_scope"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := startServer(t, options{provider: append(test.settings, openClients...)})
			agent, proxy := s.withTools(t)
			alice := s.person(t, "alice")
			b := s.signedIn(t, alice)
			for asked, want := range test.scopes {
				address, verifier := s.authorizeURL(agent, "scope", asked, "resource", toolsURI)
				if want == "invalid_scope" { // nobody is responsible for the agent, so the person reads the reason
					b.open(t, address)
					b.isAt(t, asked, http.StatusBadRequest, "OIDC_ENABLED")
					continue
				}
				first := s.redeem(t, agent, b.code(t, address, alice), verifier)
				for what, answer := range map[string]tokens{"the first token": first, "after a refresh": s.mustToken(t, agent.auth(), with(refreshForm(first.RefreshToken), "resource", toolsURI))} {
					checkEqual(t, asked+", "+what, answer.Scope, want)
					checkEqual(t, asked+", the ID token of "+what, answer.IDToken != "", strings.Contains(want, "openid"))
					shown := s.introspect(t, proxy.auth(), answer.AccessToken)
					if shown["active"] != true || shown["aud"] != toolsURI || !strings.Contains(shown["scope"].(string), "tools") {
						t.Errorf("%s, %s, at the tools: %v", asked, what, shown)
					}
				}
			}
		})
	}
}

// The agents on one computer share a refresh token, and do not know of each other. With the settings as they are, each of them
// succeeds, on any node, and all have the same successor.
func TestAgentsShareARefreshToken(t *testing.T) {
	forEachDatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db, provider: append([]string{"SCOPES: {read: Read, tools: Use the tools}"}, openClients...)})
		agent, proxy := s.withTools(t)
		nodes, alice := []*server{s, s.node(t)}, s.person(t, "alice")
		now := s.signedIn(t, alice).family(t, agent, alice, "scope", "tools", "resource", toolsURI)
		for range 3 {
			next := now
			for i, a := range parallel(t, 12, func(i int) (answer, error) {
				return nodes[i%2].tryPost("/o/token/", agent.auth(), with(refreshForm(now.RefreshToken), "resource", toolsURI))
			}) {
				if a.Status != http.StatusOK {
					t.Fatalf("agent %d: %d %s", i, a.Status, a.Body)
				}
				got := s.tokens(t, a)
				if i > 0 && (got.RefreshToken != next.RefreshToken || got.AccessToken != next.AccessToken) {
					t.Errorf("agent %d has another successor", i)
				}
				next = got
			}
			if next.RefreshToken == now.RefreshToken || !s.active(t, proxy.auth(), next.AccessToken) {
				t.Fatal("the tokens are not new")
			}
			now = next
		}
	})
}

// The person whose browser an agent opens may have no account. The sign-in page leads to the sign-up, and back to the request of
// the agent, or says whom to ask.
func TestAgentOfAPersonWithoutAnAccount(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		closed := startServer(t, options{provider: openClients})
		agent := asApplication(closed.registers(t, nobody, `{"redirect_uris":["http://127.0.0.1/back"],"token_endpoint_auth_method":"none"}`), "http://127.0.0.1:50123/back")
		b := closed.browser(t)
		b.open(t, closed.mustAuthorize(agent))
		b.isAt(t, "no sign-up", http.StatusOK, "No account yet? Ask an administrator of this server for one.")

		m := startMailingWith(t, db, "", "SIGN_UP: open")
		agent = m.application(t, "--name", "Agent", "--client-type", "public", "--grant", "authorization_code", "--redirect-uri", "http://127.0.0.1:50123/back")
		address, verifier := m.authorizeURL(agent, "scope", "read", "state", "of the agent")
		b = m.browser(t)
		b.open(t, address)
		b.isAt(t, "a sign-up", http.StatusOK, "Create an account")
		b.open(t, regexpSubmatch(t, `href="(/sign-up/\?next=[^"]*)"`, b.Body))
		b.submit(t, "Send the link", params("email", "ann@example.com"))
		b.joins(t, m.linkIn(t, m.waitTo(t, "ann@example.com", signUpSubject, 1)), "username", "ann")
		b.decide(t, "approve")
		if b.Away == nil || b.Away.Query().Get("state") != "of the agent" {
			t.Fatalf("%d %s, sent to %v\n%s", b.Status, b.URL, b.Away, b.Body)
		}
		m.redeem(t, agent, b.Away.Query().Get("code"), verifier)
	})
}
