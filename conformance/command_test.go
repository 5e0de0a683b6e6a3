package conformance

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A whole run, several checks at once, comes to what the checks come to one by one.
func TestRun(t *testing.T) {
	s := onDatabase(t, "sqlite")
	done := map[string]bool{}
	report := s.runner.Run(t.Context(), Rules(), func(r Result) { done[r.Rule.ID] = true })
	if len(done) != len(Rules()) {
		t.Errorf("%d of %d rules were told of", len(done), len(Rules()))
	}
	for i, result := range report.Results {
		if result.Rule.ID != Rules()[i].ID {
			t.Fatalf("result %d is that of %s", i, result.Rule.ID)
		}
		if result.Rule.Check != nil {
			judge(t, result)
		}
	}
	if report.Failed() {
		t.Error(report.Summary())
	}
}

// result is what the command left behind.
type result struct {
	stdout, stderr string
	code           int
	took           time.Duration
}

// mandate runs `mandate conformance` to its end.
func mandate(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, append([]string{"conformance"}, args...)...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.WaitDelay = t.TempDir(), environment(), strings.NewReader(stdin), time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	began := time.Now()
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() < 0) {
		t.Fatalf("%v\n%s%s", err, &stdout, &stderr)
	}
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode(), time.Since(began)}
}

// want checks the exit code, and words of the two outputs together.
func (r result) want(t *testing.T, code int, words ...string) {
	t.Helper()
	all := r.stdout + r.stderr
	if r.code != code {
		t.Errorf("exit code %d, want %d\n%s", r.code, code, all)
	}
	for _, word := range words {
		if !strings.Contains(all, word) {
			t.Errorf("the output lacks %q:\n%s", word, all)
		}
	}
	if strings.Contains(all, "panic") || strings.Contains(all, "goroutine ") {
		t.Errorf("it panicked:\n%s", all)
	}
}

// targetFile writes a target in a folder that goes with the test.
func targetFile(t *testing.T, target *Target) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "target.yaml")
	err := target.Write(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func targetText(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "target.yaml")
	err := os.WriteFile(path, []byte(text), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// copied is a target that a test may change.
func (s *server) copied() *Target {
	c := *s.runner.Target
	c.Endpoints = map[string]string{}
	return &c
}

func TestCommand(t *testing.T) {
	s := onDatabase(t, "sqlite")
	path := targetFile(t, s.copied())
	t.Run("a tree, and a summary last", func(t *testing.T) {
		r := mandate(t, "", "--target", path, "--only", "RFC7636/4.6", "--only", "RFC6749/10.12")
		r.want(t, 0, "RFC 7636 Proof Key for Code Exchange\n  §4.6\n    pass      MUST   verifier-compared: ", "RFC 6749", "0 rules"[1:])
		lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
		if last := lines[len(lines)-1]; !strings.Contains(last, "passed") {
			t.Errorf("the last line is %q", last)
		}
		if r.stderr != "" {
			t.Errorf("it writes progress where nobody watches: %q", r.stderr)
		}
	})
	t.Run("json", func(t *testing.T) {
		r := mandate(t, "", "--target", path, "--only", "RFC7662/2.2", "--format", "json")
		r.want(t, 0)
		var report struct {
			Issuer  string `json:"issuer"`
			Failed  bool   `json:"failed"`
			Results []struct{ ID, Status string }
		}
		err := json.Unmarshal([]byte(r.stdout), &report)
		if err != nil || report.Issuer != s.url+"/o" || report.Failed || len(report.Results) < 5 {
			t.Errorf("%v: %s", err, r.stdout)
		}
	})
	t.Run("junit", func(t *testing.T) {
		r := mandate(t, "", "--target", path, "--only", "RFC6750", "--format", "junit")
		r.want(t, 0)
		var suites junitSuites
		err := xml.Unmarshal([]byte(r.stdout), &suites)
		if err != nil || len(suites.Suites) != 1 || suites.Suites[0].Failures != 0 || suites.Suites[0].Skipped == 0 {
			t.Errorf("%v: %s", err, r.stdout)
		}
	})
	t.Run("list", func(t *testing.T) {
		r := mandate(t, "", "--list")
		r.want(t, 0, "not applicable: ", "not observable from outside: ", "not done: ")
		for _, rule := range Rules() {
			if !strings.Contains(r.stdout, rule.ID+"\n") {
				t.Errorf("the list lacks %s", rule.ID)
			}
		}
		mandate(t, "", "--list", "--profile", "oauth21").want(t, 0, "RFC7636/4.6/")
	})
	t.Run("wrong usage", func(t *testing.T) {
		for _, args := range [][]string{{}, {"--target"}, {"--target", path, "--only", "RFC1"}, {"--target", path, "--profile", "x"},
			{"--target", path, "--format", "x"}, {"--target", path, "more"}, {"--target", path, "--timeout", "0s"}, {"--frobnicate"}} {
			mandate(t, "", args...).want(t, 2, "mandate: ", "--help")
		}
	})
}

// A fault fails the check that names it, and the report says what was sent, what came back, and how to
// repeat it, without a secret.
func TestCommandShowsAFault(t *testing.T) {
	s := onDatabase(t, "sqlite")
	target := s.copied()
	target.Endpoints["token_endpoint"] = faulty(t, s.url, func(a *http.Response) error {
		a.Header.Del("Pragma")
		return nil
	}) + "/o/token/"
	path := targetFile(t, target)
	r := mandate(t, "", "--target", path, "--only", "RFC6749/5.1", "--only", "RFC6749/4.1")
	r.want(t, 1, "FAIL      MUST   no-cache: ", `Pragma is "", want no-cache`, "> POST http://127.0.0.1:", "> Authorization: Basic (",
		"grant_type=client_credentials", "< 200 OK", `"access_token":"$ACCESS_TOKEN"`, "repeat: curl -i http://127.0.0.1", `:"$MACHINE_SECRET"`, "-d grant_type=client_credentials",
		"1 MUST failed", "mandate: not every MUST holds")
	if strings.Count(r.stdout, "FAIL") != 1 || strings.Contains(r.stdout, "blocked") {
		t.Errorf("other checks fail too:\n%s", r.stdout)
	}
	for role, c := range target.Clients {
		if c.Secret != "" && strings.Contains(r.stdout+r.stderr, c.Secret) {
			t.Errorf("the secret of %s is shown", role)
		}
	}
	if strings.Contains(r.stdout, "mat_") {
		t.Errorf("an access token is shown:\n%s", r.stdout)
	}
}

// faulty is a proxy that spoils answers.
func faulty(t *testing.T, address string, spoil func(*http.Response) error) string {
	t.Helper()
	to, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.ModifyResponse = spoil
	front := httptest.NewServer(proxy)
	t.Cleanup(front.Close)
	return front.URL
}

func TestCommandTargetFile(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "it needs an issuer",
		"issuer: x\n":              `issuer: "x" is not an http or https URL`,
		"issuer: http://h\nx: 1\n": "line 2: unknown key x",
		"issuer: http://h\nclients:\n  code:\n    id: a\n    sekret: b\n": "line 5: unknown key sekret",
		"issuer: http://h\nclients:\n  coder: {id: a}\n":                  "clients: coder: there is no such role: use ",
		"issuer: http://h\nclients:\n  code: {id: a, secret: b}\n":        "clients: code: redirect_uris is missing",
		"issuer: http://h\nclients:\n  code:\n":                           "clients: code: id is missing",
		"issuer: http://h\nclients:\n  machine: {id: a, auth: magic}\n":   `auth: "magic" is none of`,
		"issuer: http://h\nissuer: http://i\n":                            "already defined",
		"issuer: [1\n":                                                    "line 1",
		"issuer: http://h\n---\nissuer: http://h\n":                       "more than one document",
		"issuer: http://h\nuser: {username: alice}\n":                     "user: needs both",
		"issuer: http://h\nendpoints: {token_endpoint: /token}\n":         `endpoints: token_endpoint: "/token" is not an http or https URL`,
		"\xff\xfe\x00":           "yaml",
		"issuer: {a: b}\n":       "line 1",
		"- issuer: http://h\n":   "line 1",
		"issuer: http://u@h/o\n": "is not an http or https URL",
	} {
		r := mandate(t, "", "--target", targetText(t, text))
		r.want(t, 1, "target.yaml: ", strings.TrimPrefix(want, "yaml"))
		if strings.Contains(r.stderr, "conformance.") {
			t.Errorf("%q: the error has words of Go: %s", text, r.stderr)
		}
	}
	mandate(t, "", "--target", "nowhere.yaml").want(t, 1, "nowhere.yaml: no such file")
	mandate(t, "", "--target", os.DevNull).want(t, 1, "it needs an issuer")
	mandate(t, "", "--target", targetText(t, "issuer: http://h\nscope: "+strings.Repeat("x", 1<<20))).want(t, 1, "larger than a mebibyte")
}

// Whatever answers, or does not, the command says so in a line and ends soon.
func TestCommandBadServers(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	t.Run("nobody listens", func(t *testing.T) {
		mandate(t, "", "--target", targetText(t, "issuer: http://"+closed.Addr().String())).want(t, 1, "connection refused")
	})
	t.Run("no such host", func(t *testing.T) {
		mandate(t, "", "--target", targetText(t, "issuer: http://nowhere.invalid")).want(t, 1, "nowhere.invalid: its address cannot be found")
	})
	t.Run("a foreign host", func(t *testing.T) {
		mandate(t, "", "--target", targetText(t, "issuer: https://192.0.2.1")).want(t, 1, "--i-own-this-server")
		r := mandate(t, "", "--target", targetText(t, "issuer: https://192.0.2.1"), "--i-own-this-server", "--timeout", "1ms")
		r.want(t, 1, "192.0.2.1")
		if strings.Contains(r.stderr, "own-this") {
			t.Errorf("the flag does nothing: %s", r.stderr)
		}
	})
	t.Run("a certificate of its own", func(t *testing.T) {
		server := httptest.NewTLSServer(http.NotFoundHandler())
		defer server.Close()
		server.Config.ErrorLog = nil
		path := targetText(t, "issuer: "+server.URL)
		mandate(t, "", "--target", path).want(t, 1, "signed by nobody whom this machine trusts", "--ca FILE")
		ca := filepath.Join(t.TempDir(), "ca.pem")
		err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600)
		if err != nil {
			t.Fatal(err)
		}
		mandate(t, "", "--target", path, "--ca", ca).want(t, 1, "publishes no metadata")
		mandate(t, "", "--target", path, "--ca", path).want(t, 1, "holds no certificate in PEM")
		mandate(t, "", "--target", path, "--ca", "nowhere.pem").want(t, 1, "nowhere.pem: no such file")
	})
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"garbage": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "\x00\xff{{{<<<") }, "publishes no metadata"},
		"no HTTP": {func(w http.ResponseWriter, _ *http.Request) {
			c, _, _ := w.(http.Hijacker).Hijack()
			fmt.Fprint(c, "garbage\x1b[31m\r\n\r\n")
			c.Close()
		}, "malformed"},
		"a gigabyte": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.Copy(w, io.LimitReader(endless{}, 1<<30)) }, "larger than a mebibyte"},
		"a header without end": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X", strings.Repeat("x", 1<<20))
		}, "header"},
		"silence":   {silent, "no answer within 1s"},
		"a trickle": {trickle, "no answer within 1s"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(c.handler)
			defer server.Close()
			r := mandate(t, "", "--target", targetText(t, "issuer: "+server.URL), "--timeout", "1s")
			r.want(t, 1, c.want)
			if r.took > 20*time.Second || strings.Contains(r.stderr, "\x1b") || strings.Count(r.stderr, "\n") > 2 {
				t.Errorf("after %s: %q", r.took, r.stderr)
			}
		})
	}
}

// endless has always more to read.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// silent reads the request, without which it would not hear that the client has gone, and says nothing.
func silent(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

func trickle(w http.ResponseWriter, r *http.Request) {
	for r.Context().Err() == nil {
		_, _ = w.Write([]byte(" "))
		_ = http.NewResponseController(w).Flush()
		select {
		case <-time.After(50 * time.Millisecond):
		case <-r.Context().Done():
		}
	}
}

// A server that breaks down in the middle of a run ends it soon, and the report says so.
func TestCommandServerThatBreaksDown(t *testing.T) {
	s := onDatabase(t, "sqlite")
	answers := map[string]http.HandlerFunc{
		"hangs":    silent,
		"circles":  func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.String(), http.StatusFound) },
		"gigabyte": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.Copy(w, io.LimitReader(endless{}, 1<<30)) },
		"garbage": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=x")
			fmt.Fprint(w, strings.Repeat("<form><form action='http://[::1'><input name=password type=password>\x00\xff", 100))
		},
		"status 999": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(999) },
		"nothing":    func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(answer)
			defer server.Close()
			target := s.copied()
			target.Endpoints = map[string]string{"authorization_endpoint": server.URL + "/authorize", "token_endpoint": server.URL + "/token",
				"introspection_endpoint": server.URL + "/introspect", "revocation_endpoint": server.URL + "/revoke"}
			r := mandate(t, "", "--target", targetFile(t, target), "--timeout", "500ms")
			r.want(t, 1, "rules in ")
			if strings.Contains(r.stdout, "broken checks") || r.took > time.Minute {
				t.Errorf("after %s:\n%s", r.took, r.stdout)
			}
		})
	}
}

// The few questions of --write-target, at a server that registers clients: they are registered for the run,
// and gone after it.
func TestCommandRegistration(t *testing.T) {
	var registered, removed atomic.Int32
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	defer server.Close()
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"issuer": server.URL, "token_endpoint": server.URL + "/token", "registration_endpoint": server.URL + "/register"})
	})
	mux.HandleFunc("POST /register", func(w http.ResponseWriter, r *http.Request) {
		var asked map[string]any
		err := json.NewDecoder(r.Body).Decode(&asked)
		if err != nil || r.Header.Get("Authorization") != "Bearer initial" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if slices.Contains(asked["grant_types"].([]any), "client_credentials") {
			http.Error(w, `{"error":"invalid_client_metadata"}`, http.StatusBadRequest)
			return
		}
		id := fmt.Sprint("client", registered.Add(1))
		made := maps.Clone(asked)
		maps.Copy(made, map[string]any{"client_id": id, "registration_client_uri": server.URL + "/register/" + id, "registration_access_token": "manage-" + id})
		if asked["token_endpoint_auth_method"] != "none" {
			made["client_secret"] = "secret-of-" + id
		}
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(made)
	})
	mux.HandleFunc("DELETE /register/{id}", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer manage-"+r.PathValue("id") {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		removed.Add(1)
		w.WriteHeader(http.StatusNoContent)
	})
	path := filepath.Join(t.TempDir(), "target.yaml")
	mandate(t, server.URL+"\nalice\nopen sesame\nread\n\ninitial\n", "--target", path, "--write-target").want(t, 0, "Wrote "+path)
	mandate(t, "", "--target", path, "--write-target").want(t, 1, "is there already")
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, mode %v", err, info.Mode())
	}
	mandate(t, "", "--target", path, "--only", "RFC7636/4.1").want(t, 0, "the server names no authorization_endpoint")
	if registered.Load() < 5 || removed.Load() != registered.Load() {
		t.Errorf("%d clients were registered, and %d removed", registered.Load(), removed.Load())
	}
	mandate(t, "http://127.0.0.1:1\n", "--target", path+"2", "--write-target").want(t, 1, "connection refused")
	bare := httptest.NewServer(http.NotFoundHandler())
	defer bare.Close()
	answers := []string{bare.URL, bare.URL + "/authorize", bare.URL + "/token", "", "", "", "client-1", "secret-1", "https://client.example/back", "", "client-2", "https://client.example/public", "", ""}
	mandate(t, strings.Join(answers, "\n")+"\n", "--target", path+"3", "--write-target").want(t, 0, "publishes no metadata", "Wrote")
	written, err := LoadTarget(path + "3")
	if err != nil || written.Endpoints["token_endpoint"] != bare.URL+"/token" || written.Clients[NeedCode].Secret != "secret-1" || written.Clients[NeedPublic].Auth != noAuthentication || len(written.Clients) != 2 {
		t.Errorf("%v: %+v", err, written)
	}
	mandate(t, "x\n", "--target", path+"2", "--write-target").want(t, 1, "is not an http or https URL")
	mandate(t, "", "--target", path+"2", "--write-target").want(t, 1, "standard input ended")
}
