package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"mandate/testkit"
	"mandate/testkit/port"
)

// screen collects the output of a command while it runs.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// startDemo runs the demo during the test and returns its output. At the end of the
// test the demo must have deleted its files.
func startDemo(t *testing.T, address string) string {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	ctx, stop := context.WithCancel(t.Context())
	var out, log screen
	p := &program{Process: Process{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &log}}
	ended := make(chan int)
	go func() { ended <- p.run(ctx, []string{"demo", "--listen", address}) }()
	t.Cleanup(func() {
		stop()
		code := <-ended
		if code != exitDone || log.String() != "" {
			t.Errorf("exit code %d, log:\n%s", code, log.String())
		}
		left, _ := filepath.Glob(filepath.Join(os.TempDir(), "*"))
		if len(left) > 0 {
			t.Errorf("the demo did not delete %q", left)
		}
	})
	for begin := time.Now(); time.Since(begin) < 30*time.Second; time.Sleep(10 * time.Millisecond) {
		if strings.Contains(out.String(), demoTargetFile+"\n") { // the last line
			return out.String()
		}
	}
	stop()
	t.Fatalf("the demo printed only:\n%s%s", out.String(), log.String())
	return ""
}

// TestDemoTarget runs the command that the demo prints for a conformance check.
func TestDemoTarget(t *testing.T) {
	out := startDemo(t, port.Address())
	line := regexp.MustCompile(`(?m)^\S+ (conformance --target \S+)$`).FindStringSubmatch(out)
	if line == nil {
		t.Fatalf("no such line:\n%s", out)
	}
	var report, log screen
	p := &program{Process: Process{Stdin: strings.NewReader(""), Stdout: &report, Stderr: &log}}
	// These rules cover a code, a refresh, client credentials, an ID token, a logout,
	// metadata documents of clients, registration and resources.
	for _, clause := range []string{
		"RFC7636",
		"RFC6749/6",
		"RFC6749/4.4",
		"OIDCCore/2",
		"OIDCRPLogout/2",
		"CIMD",
		"MCP/M7",
		"MCP/M8",
		"RFC8707/2.2",
		"RFC7591/2/logo",
		"OIDCRegistration/2/policy-and-terms",
	} {
		line[1] += " --only " + clause
	}
	code := p.run(t.Context(), strings.Fields(line[1]))
	missing := regexp.MustCompile(`the target has no|into the target|blocked`).FindString(report.String())
	if code != exitDone || !strings.Contains(report.String(), "RP-Initiated Logout") || missing != "" {
		t.Errorf("exit code %d\n%s%s", code, report.String(), log.String())
	}
}

// TestDemoApplications counts the applications by the command that the demo prints, and compares
// them with README.md.
func TestDemoApplications(t *testing.T) {
	out := startDemo(t, port.Address())
	line := regexp.MustCompile(`(?m)^\S+ (--config \S+ application list)$`).FindStringSubmatch(out)
	if line == nil {
		t.Fatalf("no such line:\n%s", out)
	}
	var printed, log screen
	p := &program{Process: Process{Stdin: strings.NewReader(""), Stdout: &printed, Stderr: &log}}
	code := p.run(t.Context(), append(strings.Fields(line[1]), "--json"))
	var all []struct{ Name string }
	err := json.Unmarshal([]byte(printed.String()), &all)
	if code != exitDone || err != nil {
		t.Fatalf("exit code %d, %v\n%s%s", code, err, printed.String(), log.String())
	}
	ofRunner := 0
	for _, a := range all {
		if strings.HasPrefix(a.Name, "conformance") {
			ofRunner++
		}
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("%d applications, and %d more that the conformance runner uses", len(all)-ofRunner, ofRunner)
	if !strings.Contains(strings.Join(strings.Fields(string(readme)), " "), want) {
		t.Errorf("README.md does not say %q", want)
	}
}

// TestDemoLines runs every command that the demo prints in a shell.
func TestDemoLines(t *testing.T) {
	testkit.Program(t, "curl", "curl")
	out := startDemo(t, port.Address())
	wants := []struct{ what, answer string }{
		{"Client credentials: an access token", `^{"access_token": *"mat_[^"]+".*"scope": *"read write groups"`},
		{"Client credentials, with one scope", `"scope": *"read"`},
		{"Password", `"refresh_token": *"mrt_`},
		{"Refresh", `"refresh_token": *"mrt_`},
		{"Introspection", `"active": *true.*"username": *"alice"`},
		{"Sample API: list the people", `^\[{"username": *"alice"`},
		{"Sample API: add a person", `^{"username": *"carol-\d+"`},
		{"Sample API: list the groups", `^\[{"name": *"staff"}`},
		{"Sample API without a token: 401", `^HTTP/1.1 401 Unauthorized`},
		{"OpenID Connect: the metadata", `"id_token_signing_alg_values_supported": *\[[^]]*"RS256"`},
		{"OpenID Connect: the public keys", `^{"keys": *\[.*"kty": *"RSA"`},
		{
			"OpenID Connect: the claims about alice that Legacy may read",
			`"email": *"alice@example.org".*"given_name": *"Alice"`,
		},
	}
	tries := regexp.MustCompile(`(?m)^# (.*)\n(curl .*)$`).FindAllStringSubmatch(out, -1)
	if len(tries) != len(wants) {
		t.Fatalf("the demo prints %d commands, want %d:\n%s", len(tries), len(wants), out)
	}
	for i, try := range tries {
		got, err := exec.Command("sh", "-c", try[2]).Output()
		if !strings.HasPrefix(try[1], wants[i].what) || err != nil || !regexp.MustCompile(wants[i].answer).Match(got) {
			t.Errorf("# %s\n%s\n%v, answer %s\nwant %s: %s", try[1], try[2], err, got, wants[i].what, wants[i].answer)
		}
	}
}
