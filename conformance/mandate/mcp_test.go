package mandate

import (
	"context"
	"fmt"
	"mandate/testkit/port"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
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
	// document is the client id, which is the URL of the agent's metadata document; "": it registers itself.
	document string
}

func newAgent(t *testing.T, sdk mcpSDK, s *server, browser context.Context, p person) *agent {
	a := &agent{sdk: sdk, name: t.Name(), person: p, back: newSite(t, "http", "localhost")}
	a.window = s.window(t, browser, a.back.Host)
	return a
}

func (a *agent) callback() string { return a.back.page("/callback", "<h1>Back at the agent</h1>") }

// connects begins with the URL of a server of the protocol alone. The person must approve
// a page that says these texts.
func (a *agent) connects(t *testing.T, tools string, says ...string) any {
	t.Helper()
	input := map[string]any{"url": tools, "redirect_uri": a.callback()}
	if a.document != "" {
		input["document"] = a.document
	}
	got := a.sdk.step(t, "connect", a.name, input)
	address, _ := got["authorize"].(string)
	if u, err := url.Parse(address); err != nil || (u.Query().Get("client_id") == a.document) != (a.document != "") {
		t.Errorf("the agent with the document %q asks by %s", a.document, address)
	}
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
			got := a.finishes(t, a.sdk.step(t, "call", a.name, map[string]any{"tool": "add_person", "arguments": name}),
				"Demo tools", line[1], "write")
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

// The page docs/protect-an-mcp-server.md, followed unchanged except for the addresses, with
// a server that knows nothing of OAuth.
func TestMCPResourceServer(t *testing.T) {
	browser := chromium(t)
	commands, files := steps(t, "docs/protect-an-mcp-server.md", "In five minutes")
	h := newDocumentHost(t)
	o := h.options(options{})
	o.provider = append(indented(t, files["mandate.yaml"]), "OPEN_HOSTS: [127.0.0.1]")
	s := startServer(t, o)
	p := s.person(t, "ann")
	proxy := port.Address()
	address := func(url string) string { return strings.TrimPrefix(url, "http://") }
	values := []string{"127.0.0.1:8000", address(s.URL), "127.0.0.1:8080", proxy, "127.0.0.1:3000",
		address(pythonServer(t, mcpPackages, "mcp/server.py"))}
	asker := s.application(t, arguments(t, commands["./mandate application add"])...)
	values = append(values, "CLIENT-ID", asker.ClientID, "CLIENT-SECRET", asker.ClientSecret)
	s.mustCLI(t, "", append([]string{"resource", "add"},
		arguments(t, strings.NewReplacer(values...).Replace(commands["./mandate resource add"]))...)...)
	s.resourceServer(t, strings.NewReplacer(values...).Replace(files["guard.yaml"]))
	tools := strings.NewReplacer(values...).Replace(commands["claude mcp"])
	tools = tools[strings.LastIndex(tools, " ")+1:]
	for _, sdk := range mcpSDKs {
		t.Run(sdk.name, func(t *testing.T) {
			a := newAgent(t, sdk, s, browser, p)
			a.connects(t, tools, "Tools", "Use the tools")
			a.calls(t, "add", map[string]any{"a": 20, "b": 22}, "42")
		})
		t.Run(sdk.name+", by a document", func(t *testing.T) {
			a := newAgent(t, sdk, s, browser, p)
			a.document = h.client("/"+fmt.Sprint(sdk.release), a.callback(), nil).ClientID
			a.connects(t, tools, "Tools", "Use the tools", strings.TrimPrefix(h.URL, "https://"))
			a.calls(t, "add", map[string]any{"a": 20, "b": 22}, "42")
			a.sdk.step(t, "expire", a.name, nil)
			a.calls(t, "add", map[string]any{"a": 1, "b": 1}, "2")
		})
	}
}

// indented returns the lines below OAUTH2_PROVIDER in a file of a page.
func indented(t *testing.T, file string) []string {
	t.Helper()
	_, block, found := strings.Cut(file, "OAUTH2_PROVIDER:\n")
	if !found {
		t.Fatalf("no OAUTH2_PROVIDER in %q", file)
	}
	return strings.Split(strings.ReplaceAll(strings.TrimSpace(block), "\n  ", "\n"), "\n")
}

// arguments returns the words after the third one of a command of a page. Quotes keep a
// word together.
func arguments(t *testing.T, command string) []string {
	t.Helper()
	var words []string
	for _, found := range regexp.MustCompile(`"([^"]*)"|(\S+)`).FindAllStringSubmatch(command, -1) {
		words = append(words, found[1]+found[2])
	}
	if len(words) < 4 {
		t.Fatalf("not a command with arguments: %q", command)
	}
	return words[3:]
}

// resourceServer runs `mandate resource-server` with a configuration until the test ends.
func (s *server) resourceServer(t *testing.T, settings string) {
	t.Helper()
	path := built(t, binary)
	config := filepath.Join(s.dir, "guard.yaml")
	err := os.WriteFile(config, []byte(settings), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "resource-server", "--config", config)
	cmd.Dir, cmd.Env = s.dir, environment()
	var log logBuffer
	proxy, err := launch(cmd, &log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = proxy.cmd.Process.Kill() // it may have ended
		<-proxy.exited
	})
	waitFor(t, "the proxy listens", func() bool {
		if !proxy.running() {
			t.Fatalf("the proxy ended at once:\n%s", log.String())
		}
		return strings.Contains(log.String(), "Mandate protects")
	})
}
