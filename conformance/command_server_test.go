package conformance

import (
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mandate/conformance/servertest"
)

// Whatever the server answers, the command reports it in a line and ends soon.
func TestCommandBadServers(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	t.Run("nobody listens", func(t *testing.T) {
		servertest.Run(t, "", "--target", targetText(t, "issuer: http://"+closed.Addr().String())).Want(t, 2,
			"connection refused")
	})
	t.Run("no such host", func(t *testing.T) {
		servertest.Run(t, "", "--target", targetText(t, "issuer: http://nowhere.invalid")).Want(t, 2,
			"nowhere.invalid: its address cannot be found")
	})
	t.Run("a foreign host", func(t *testing.T) {
		servertest.Run(t, "", "--target", targetText(t, "issuer: https://192.0.2.1")).Want(t, 2,
			"192.0.2.1 is at 192.0.2.1, which is neither", "--i-own-this-server")
		r := servertest.Run(t, "", "--target", targetText(t, "issuer: https://192.0.2.1"), "--i-own-this-server",
			"--timeout", "1ms")
		r.Want(t, 2, "192.0.2.1")
		if strings.Contains(r.Stderr, "own-this") {
			t.Errorf("the flag does nothing: %s", r.Stderr)
		}
	})
	t.Run("no TLS", func(t *testing.T) {
		server := httptest.NewServer(http.NotFoundHandler())
		defer server.Close()
		servertest.Run(t, "", "--target", targetText(t, "issuer: https"+strings.TrimPrefix(server.URL, "http"))).Want(t, 2,
			"does not speak TLS there: write the address with http")
	})
	t.Run("no http", func(t *testing.T) {
		server := httptest.NewTLSServer(http.NotFoundHandler())
		defer server.Close()
		server.Config.ErrorLog = nil
		servertest.Run(t, "", "--target", targetText(t, "issuer: http"+strings.TrimPrefix(server.URL, "https"))).Want(t, 2,
			"the server speaks TLS there: write the address with https")
	})
	t.Run("a certificate of its own", func(t *testing.T) {
		server := httptest.NewTLSServer(http.NotFoundHandler())
		defer server.Close()
		server.Config.ErrorLog = nil
		path := targetText(t, "issuer: "+server.URL)
		servertest.Run(t, "", "--target", path).Want(t, 2, "not signed by an authority that this machine trusts", "--ca FILE")
		ca := filepath.Join(t.TempDir(), "ca.pem")
		err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600)
		if err != nil {
			t.Fatal(err)
		}
		servertest.Run(t, "", "--target", path, "--ca", ca).Want(t, 2, "publishes no metadata", "answers 404 Not Found",
			"endpoints in the target file")
		servertest.Run(t, "", "--target", path, "--ca", path).Want(t, 2, "contains no certificate in PEM")
		servertest.Run(t, "", "--target", path, "--ca", "nowhere.pem").Want(t, 2, "--ca: open nowhere.pem: no such file")
	})
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"garbage": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "\x00\xff{{{<<<") },
			"publishes no metadata"},
		"no HTTP": {func(w http.ResponseWriter, _ *http.Request) {
			c, _, _ := w.(http.Hijacker).Hijack()
			fmt.Fprint(c, "garbage\x1b[31m\r\n\r\n")
			c.Close()
		}, "malformed"},
		"a gigabyte": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.Copy(w, io.LimitReader(endless{}, 1<<30)) },
			"larger than a mebibyte"},
		"a header without end": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X", strings.Repeat("x", 1<<20))
		}, "header"},
		"a redirect circle": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
		}, "answers 302 Found"},
		"silence":   {silent, "no answer within 1s"},
		"a trickle": {trickle, "no answer within 1s"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(c.handler)
			defer server.Close()
			r := servertest.Run(t, "", "--target", targetText(t, "issuer: "+server.URL), "--timeout", "1s")
			r.Want(t, 2, c.want)
			if r.Took > 20*time.Second || strings.Contains(r.Stderr, "\x1b") || strings.Count(r.Stderr, "\n") > 2 {
				t.Errorf("after %s: %q", r.Took, r.Stderr)
			}
		})
	}
}

// endless is a reader without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// silent reads the request, because otherwise it would not notice that the client has gone, and does not answer.
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

// If a server fails during a run, the run ends soon, and the report says so.
func TestCommandServerThatBreaksDown(t *testing.T) {
	s := servertest.OnDatabase(t, "sqlite")
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
			target := copied(s)
			target.Endpoints = map[string]string{"authorization_endpoint": server.URL + "/authorize",
				"token_endpoint":         server.URL + "/token",
				"introspection_endpoint": server.URL + "/introspect", "revocation_endpoint": server.URL + "/revoke"}
			r := servertest.Run(t, "", "--target", targetFile(t, target), "--timeout", "500ms")
			r.Want(t, 1, "rules in ")
			top, _, _ := strings.Cut(r.Stdout, "RFC 6749")
			if name == "hangs" && !strings.Contains(strings.Join(strings.Fields(top), " "),
				"The server did not answer a request. Other results may be a consequence of it: ") {
				t.Errorf("the report does not begin with the request: %s", top)
			}
			if strings.Contains(r.Stdout, "BROKEN") || r.Took > time.Minute {
				t.Errorf("after %s:\n%s", r.Took, r.Stdout)
			}
		})
	}
}

// If the server stops answering, the rules that were not reached say nothing about it: the exit code is 2, and the
// baseline stays as it is.
func TestCommandServerThatStops(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewUnstartedServer(nil)
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) > 2 { // the command looks for the metadata at two addresses
			c, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				c.Close()
			}
			return
		}
		fmt.Fprintf(w, `{"issuer":"http://%s"}`, r.Host)
	})
	server.Start()
	defer server.Close()
	known := filepath.Join(t.TempDir(), "known.yaml")
	r := servertest.Run(t, "", "--target", targetText(t, "issuer: "+server.URL), "--only", "RFC8414/3",
		"--write-baseline", known)
	r.Want(t, 2, "mandate: the server has stopped answering, and ", "start it, and run the check again")
	if !strings.Contains(r.Stdout, "blocked") {
		t.Errorf("the report is missing: %s", r.Stdout)
	}
	text, err := os.ReadFile(known)
	if err == nil && strings.Contains(string(text), "rule:") {
		t.Errorf("it writes a baseline: %s", text)
	}
}

// A proxy answers 502, 503 or 504 instead of a server that has stopped (RFC 9110 §15.6.3 to §15.6.5).
func TestCommandServerThatStopsBehindAProxy(t *testing.T) {
	for _, status := range []int{http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout} {
		var asked atomic.Int32
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if asked.Add(1) > 2 { // the command looks for the metadata at two addresses
				w.WriteHeader(status)
				return
			}
			fmt.Fprintf(w, `{"issuer":"http://%s"}`, r.Host)
		}))
		defer server.Close()
		r := servertest.Run(t, "", "--target", targetText(t, "issuer: "+server.URL), "--only", "RFC8414/3")
		r.Want(t, 2, "mandate: the server has stopped answering, and ", "start it, and run the check again")
	}
}

// A server that answers 503 at one endpoint has not stopped.
func TestCommandServerWithOneFault(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintf(w, `{"issuer":"http://%s","token_endpoint":"http://%[1]s/token"}`, r.Host)
	}))
	defer server.Close()
	of := "issuer: " + server.URL + "\nclients:\n  machine: {id: machine, secret: a secret of a client}\n"
	servertest.Run(t, "", "--target", targetText(t, of), "--only", "RFC6749/5.2/json").Want(t, 1)
}
