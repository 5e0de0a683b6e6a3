package main

import (
	"bytes"
	"context"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// screen collects what a command prints while it runs.
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

// startDemo runs the demo beside the test and returns what it has printed. At
// the end of the test it must leave nothing behind.
func startDemo(t *testing.T, address string) string {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	ctx, stop := context.WithCancel(t.Context())
	var out, log screen
	p := &program{stdin: strings.NewReader(""), stdout: &out, stderr: &log}
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
			t.Errorf("the demo leaves %q behind", left)
		}
	})
	for begin := time.Now(); time.Since(begin) < 30*time.Second; time.Sleep(10 * time.Millisecond) {
		if strings.Contains(out.String(), "application list\n") { // the last line
			return out.String()
		}
	}
	stop()
	t.Fatalf("the demo printed only:\n%s%s", out.String(), log.String())
	return ""
}

// TestDemoLines pastes every line that the demo prints into a shell.
func TestDemoLines(t *testing.T) {
	_, err := exec.LookPath("curl")
	if err != nil {
		if os.Getenv("CI") == "true" || os.Getenv("MANDATE_TEST_REQUIRE") == "all" {
			t.Fatal("curl is not installed: apt-get install curl")
		}
		t.Skip("curl is not installed: apt-get install curl")
	}
	out := startDemo(t, "127.0.0.1:"+freePort())
	wants := []struct{ what, answer string }{
		{"Client credentials: a token", `^{"access_token": *"mat_[^"]+".*"scope": *"read write groups"`},
		{"Client credentials, with one scope", `"scope": *"read"`},
		{"Password", `"refresh_token": *"mrt_`},
		{"Refresh", `"refresh_token": *"mrt_`},
		{"Introspection", `"active": *true.*"username": *"alice"`},
		{"Sample API: list the people", `^\[{"username": *"alice"`},
		{"Sample API: add somebody", `^{"username": *"carol-\d+"`},
		{"Sample API: list the groups", `^\[{"name": *"staff"}`},
		{"Sample API without a token: 401", `^HTTP/1.1 401 Unauthorized`},
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

// TestDemoWalk follows the link as a browser would, to the page that shows
// the exchange. The port that the demo wants is taken.
func TestDemoWalk(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:"+freePort())
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	out := startDemo(t, taken.Addr().String())
	if !regexp.MustCompile(`(?m)^Port \d+ is taken, so the demo uses \d+\.$`).MatchString(out) {
		t.Errorf("no word about the port in:\n%s", out)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	b := &demoBrowser{t: t, client: &http.Client{Jar: jar}}
	start := regexp.MustCompile(`http://\S+/demo/`).FindString(out)
	b.open(start)
	password := regexp.MustCompile(`(?m)^  alice +(\S+)$`).FindStringSubmatch(out)[1]
	b.submit(url.Values{"username": {"alice"}, "password": {password}})
	b.submit(url.Values{"decision": {"deny"}})
	if !strings.Contains(b.page, "error=access_denied") || strings.Contains(b.page, "/o/token/") {
		t.Errorf("the page after a denial:\n%s", b.page)
	}
	b.open(start)
	forged := start + "callback?code=x&state=forged&iss=" + url.QueryEscape(strings.TrimSuffix(start, "/demo/")+"/o")
	b.open(forged)
	if !strings.Contains(b.page, "The state in the answer is not the one that was sent") {
		t.Errorf("the callback takes an answer that nobody asked for:\n%s", b.page)
	}
	b.open(start)
	b.submit(url.Values{"decision": {"approve"}})
	for _, want := range []string{"GET /o/authorize/", "code_challenge_method=S256", "grant_type=authorization_code", `"access_token": "mat_`,
		`"username": "alice"`, `"active": true`, "grant_type=refresh_token"} {
		if !strings.Contains(b.page, want) {
			t.Errorf("the page does not show %q", want)
		}
	}
	if strings.Contains(b.page, `"error"`) {
		t.Errorf("the page shows an error:\n%s", b.page)
	}
	// The answer is good once, and in the browser that asked.
	b.open(b.at.String())
	if !strings.Contains(b.page, "This walk cannot go on") {
		t.Errorf("the callback takes an answer twice:\n%s", b.page)
	}
}

type demoBrowser struct {
	t      *testing.T
	client *http.Client
	at     *url.URL
	page   string
}

func (b *demoBrowser) open(address string) {
	answer, err := b.client.Get(address)
	b.take(answer, err)
}

func (b *demoBrowser) take(answer *http.Response, err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	b.at, b.page = answer.Request.URL, html.UnescapeString(string(body))
}

// submit sends the form of the page, with its hidden fields.
func (b *demoBrowser) submit(form url.Values) {
	b.t.Helper()
	action := regexp.MustCompile(`<form method="post" action="([^"]+)"`).FindAllStringSubmatch(b.page, -1)
	if len(action) == 0 {
		b.t.Fatalf("no form at %s:\n%s", b.at, b.page)
	}
	for _, hidden := range regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)"`).FindAllStringSubmatch(b.page, -1) {
		form.Set(hidden[1], hidden[2])
	}
	target, err := b.at.Parse(action[len(action)-1][1])
	if err != nil {
		b.t.Fatal(err)
	}
	b.take(b.client.PostForm(target.String(), form))
}
