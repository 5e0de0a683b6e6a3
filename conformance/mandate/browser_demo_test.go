package mandate

import (
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The link that `mandate demo` prints ends on a page that shows the exchange.
func TestBrowserDemo(t *testing.T) {
	browser := chromium(t)
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	// The demo speaks HTTP to nobody but itself; what it prints stands in for the server's log.
	demo := &server{URL: "http://" + freeAddress(), secrets: &vault{}, client: http.DefaultClient}
	cmd := exec.Command(path, "demo", "--listen", strings.TrimPrefix(demo.URL, "http://"))
	cmd.Dir, cmd.Env = t.TempDir(), append(environment(), "TMPDIR="+t.TempDir())
	p, err := launch(cmd, &demo.log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.cmd.Process.Signal(syscall.SIGINT) // it may have ended; the exit code tells
		select {
		case <-p.exited:
		case <-time.After(patience):
			_ = p.cmd.Process.Kill()
		}
		if code := p.cmd.ProcessState.ExitCode(); code != 0 {
			t.Errorf("the demo ended with %d:\n%s", code, demo.log.String())
		}
	})
	waitFor(t, "the demo has printed its last line", func() bool { return strings.Contains(demo.log.String(), "application list\n") })
	printed := demo.log.String()
	link := regexp.MustCompile(`http://\S+/demo/`).FindString(printed)
	password := regexp.MustCompile(`(?m)^  alice +(\S+)$`).FindStringSubmatch(printed)

	b := demo.window(t, browser)
	b.open(link)
	b.logIn(person{"alice", password[1]})
	b.expect(200, "Allow access to your account?")
	b.says("Web", "admin", demo.URL+"/demo/callback")
	b.press("Allow")
	b.expect(200, "The code flow, step by step")
	b.says("GET /o/authorize/", "grant_type=authorization_code", `"token_type": "Bearer"`, `"active": true`, "grant_type=refresh_token")
	token := regexp.MustCompile(`"access_token": "(mat_[^"]+)"`).FindStringSubmatch(b.text())
	if token == nil {
		t.Fatalf("the page shows no token:\n%s", b.text())
	}
	// It is a real one: the sample API of the demo takes it.
	if a := demo.get(t, "/users/", bearer(token[1])); a.Status != 200 || !strings.Contains(a.Body, `"alice"`) {
		t.Errorf("the sample API answered %d to the token on the page: %s", a.Status, a.Body)
	}
	b.follow("Walk through it again")
	b.expect(200, "The code flow, step by step")
}
