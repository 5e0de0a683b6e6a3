package mandate

import (
	"net/http"
	"testing"
)

// What agents do with a server beside the Model Context Protocol itself: they share their tokens with other agents on
// the computer, and open the browser of people who have no account.

const toolsURI = "https://tools.example/mcp"

// withTools adds the resource of the tools, and returns an agent that has registered itself and the proxy that may ask
// about its tokens.
func (s *server) withTools(t *testing.T) (agent, proxy application) {
	t.Helper()
	proxy = s.application(t, "--name", "Tools proxy", "--grant", "client_credentials")
	s.mustCLI(t, "", "resource", "add", toolsURI, "--name", "Tools", "--scope", "tools", "--introspector", proxy.ClientID)
	const back = "http://127.0.0.1:50123/callback"
	return asApplication(s.registers(t, nobody, `{"client_name":"Agent","redirect_uris":["`+back+
		`"],"token_endpoint_auth_method":"none"}`), back), proxy
}

// The agents on one computer share a refresh token, and do not know of each other. With the settings as they are, each
// of them succeeds, on any node, and all have the same successor.
func TestAgentsShareARefreshToken(t *testing.T) {
	ownProcesses(t)
	forEachDatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db,
			provider: append([]string{"SCOPES: {read: Read, tools: Use the tools}"}, openClients...)})
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

// The person whose browser an agent opens may have no account. The sign-in page leads to the sign-up, and back to the
// request of the agent, or says whom to ask.
func TestAgentOfAPersonWithoutAnAccount(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		closed := startServer(t, options{provider: openClients})
		agent := asApplication(closed.registers(t, nobody,
			`{"redirect_uris":["http://127.0.0.1/back"],"token_endpoint_auth_method":"none"}`), "http://127.0.0.1:50123/back")
		b := closed.browser(t)
		b.open(t, closed.mustAuthorize(agent))
		b.isAt(t, "no sign-up", http.StatusOK, "No account yet? Ask an administrator of this server for one.")

		m := startMailingWith(t, db, "", "SIGN_UP: open")
		agent = m.application(t, "--name", "Agent", "--client-type", "public", "--grant", "authorization_code",
			"--redirect-uri", "http://127.0.0.1:50123/back")
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
