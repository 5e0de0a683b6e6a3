package mandate

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// agent is a client of the Model Context Protocol, and the browser of the person who uses
// it.
type agent struct {
	sdk    mcpSDK
	name   string
	window *tab
	person person
	back   *site
}

func newAgent(t *testing.T, sdk mcpSDK, s *server, browser context.Context, p person) *agent {
	a := &agent{sdk: sdk, name: t.Name(), person: p, back: newSite(t, "http", "localhost")}
	a.window = s.window(t, browser, a.back.Host)
	return a
}

// connects begins with the URL of a server of the protocol alone. The person must approve
// a page that says these texts.
func (a *agent) connects(t *testing.T, tools string, says ...string) any {
	t.Helper()
	callback := a.back.page("/callback", "<h1>Back at the agent</h1>")
	got := a.sdk.step(t, "connect", a.name, map[string]any{"url": tools, "redirect_uri": callback})
	got = a.finishes(t, got, append(says, tools, "program on this computer")...)
	if got["tools"] == nil {
		t.Fatalf("the agent does not get the tools: %v", got)
	}
	return got["tools"]
}

// finishes goes to the URL to which the SDK sends the person, approves, and gives the SDK
// what comes back.
func (a *agent) finishes(t *testing.T, got map[string]any, says ...string) map[string]any {
	t.Helper()
	address, _ := got["authorize"].(string)
	if address == "" {
		t.Fatalf("the agent does not ask the person: %v", got)
	}
	b := a.window
	b.open(address)
	if strings.Contains(b.URL().Path, "/login") {
		b.logIn(a.person)
	}
	b.expect(200, "Allow access to your account?")
	b.says(says...)
	b.press("Allow")
	a.back.mu.Lock()
	back := a.back.visits[len(a.back.visits)-1].Query()
	a.back.mu.Unlock()
	if back.Get("state") != got["state"] {
		t.Errorf("the state %q came back as %q", got["state"], back.Get("state"))
	}
	return a.sdk.step(t, "finish", a.name, map[string]any{"code": back.Get("code"), "iss": back.Get("iss")})
}

// calls calls a tool, and requires that its result contains a text.
func (a *agent) calls(t *testing.T, tool string, arguments map[string]any, want string) {
	t.Helper()
	got := a.sdk.step(t, "call", a.name, map[string]any{"tool": tool, "arguments": arguments})
	if got["failed"] != false || !strings.Contains(fmt.Sprint(got["result"]), want) {
		t.Errorf("%s: %v, want %s", tool, got, want)
	}
}

// The line that the demo prints is all that an agent needs: it finds the server by the
// challenge of the tools, comes by itself, and asks the person (RFC 9728 §5, RFC 8414,
// RFC 7591, RFC 8707).
func TestMCPDemo(t *testing.T) {
	browser := chromium(t)
	demo, _, alice := startDemo(t)
	line := regexp.MustCompile(`claude mcp add --transport http \S+ (http\S+)`).FindStringSubmatch(demo.log.String())
	if line == nil {
		t.Fatalf("the demo prints no line for agents:\n%s", demo.log.String())
	}
	for i, sdk := range mcpSDKs {
		t.Run(sdk.name, func(t *testing.T) {
			a := newAgent(t, sdk, demo, browser, alice)
			tools := a.connects(t, line[1], "Demo tools", "read")
			if !strings.Contains(fmt.Sprint(tools), "list_people") {
				t.Errorf("the tools are %v", tools)
			}
			a.calls(t, "list_people", nil, "alice")

			// RFC 8707 §2.2: a refresh keeps the resource.
			a.sdk.step(t, "expire", a.name, nil)
			a.calls(t, "who_am_i", nil, "alice")

			// RFC 6750 §3.1: the challenge names the scopes of a call, and the agent asks for them.
			if sdk.release == 1 {
				a.sdk.step(t, "forget", a.name, nil)
			}
			name := map[string]any{"username": fmt.Sprintf("zoe%d", i)}
			got := a.finishes(t, a.sdk.step(t, "call", a.name, map[string]any{"tool": "add_person", "arguments": name}), "Demo tools", line[1], "write")
			if got["result"] == nil { // the SDK for Python repeats the call itself
				got = a.sdk.step(t, "call", a.name, map[string]any{"tool": "add_person", "arguments": name})
			}
			if !strings.Contains(fmt.Sprint(got["result"]), fmt.Sprint(name["username"])) {
				t.Errorf("add_person: %v", got)
			}
			a.calls(t, "who_am_i", nil, "[read write]")
		})
	}
}

// A server of the protocol that knows nothing of OAuth, behind `mandate resource-server`.
func TestMCPResourceServer(t *testing.T) {
	browser := chromium(t)
	s := startServer(t, options{provider: []string{"OPEN_CLIENTS: [registration]", "SCOPES: {sums: Add numbers, other: Other things}"}})
	p := s.person(t, "ann")
	asker := s.application(t, "--name", "Sums server", "--grant", "client_credentials")
	g := s.guard(t, pythonServer(t, mcpPackages, "mcp/server.py"), []string{"{PATH: /mcp, SCOPES: [sums]}"},
		"RESOURCE_SERVER_INTROSPECTION_URL: "+quote(s.URL+"/o/introspect/"),
		"RESOURCE_SERVER_INTROSPECTION_CREDENTIALS: ["+quote(asker.ClientID)+", "+quote(asker.ClientSecret)+"]",
		"RESOURCE_SERVER_ISSUER: "+quote(s.Issuer), "RESOURCE_SERVER_AUDIENCE: "+ownURL+"/mcp")
	s.mustCLI(t, "", "resource", "add", g.URL+"/mcp", "--name", "Sums", "--scope", "sums", "--introspector", asker.ClientID)
	for _, sdk := range mcpSDKs {
		t.Run(sdk.name, func(t *testing.T) {
			a := newAgent(t, sdk, s, browser, p)
			a.connects(t, g.URL+"/mcp", "Sums", "Add numbers")
			a.calls(t, "add", map[string]any{"a": 20, "b": 22}, "42")
		})
	}
}
