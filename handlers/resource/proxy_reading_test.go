package resource

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
)

// A server that removes what follows a semicolon before it decodes joins other segments than one that
// decodes first.
//
// CVE-2020-1957 and CVE-2020-11989 (semicolons behind Apache Shiro) are of the class: the check and the
// server read two paths.
func TestAttackSemicolonIsCutBeforeDecoding(t *testing.T) {
	rules := func(c *ProxyConfig) {
		c.Rules = []Rule{
			{Path: "/", Scopes: []string{"read"}, PathAsWritten: true},
			{Path: "/admin", Scopes: []string{"admin"}, PathAsWritten: true},
			{Path: "/admin/secret", Scopes: []string{"owner"}},
			{Path: "/a/c", Scopes: []string{"admin"}},
		}
	}
	for path, want := range map[string]int{
		"/a;b%2Fadmin/c": 403, "/;x%2Fy/admin": 403, "/;x%2Fy/%61dmin/users": 403, "/x;%2F/a;%2Fd/c": 200,
		"/;%2Fx/a;%2Fd/c": 403, "/a%2F;x%2Fy/c": 403,
		"/a%3By;z%2Fq/c": 403, "/x.ph%C2%ADp;y%2Fz/admin": 403, "/x.php;y%2Fz/admin": 403, "/(S(a));x%2Fy/admin": 403,
		"/ad%C2%ADmin;x%2Fy": 400, "/;%2Fx/ad%C2%ADmin": 403,
		"/a%3Bb%2Fx/c": 200, "/a;b%2Fx/d": 200, "/x;y%2Fz/b": 200, "/x%3B..;y": 400, "/x%3By.;z/a": 400,
	} {
		status, line, _ := arrives(t, rules, "GET "+path, "read")
		if status != want || want != 200 && line != " " {
			t.Errorf("%s: %d, want %d; the upstream got %q", path, status, want, line)
		}
	}
}

// What a stranger can make the proxy read is limited, and what real clients send is below the limits.
func TestLimitsOfReading(t *testing.T) {
	written := func(c *ProxyConfig) {
		c.Rules = []Rule{{Path: "/", Scopes: []string{"read"}, PathAsWritten: true},
			{Path: "/plain", Scopes: []string{"read"}}}
	}
	path := func(n int) string { return "/plain/" + strings.Repeat("a", n-len("/plain/")) }
	scripts := func(n int) string { return strings.Repeat("/a.py", n) + "/b" }
	for _, test := range []struct {
		request, header string
		want            int
	}{
		{"GET " + path(8192), "X-A: 1", 200},
		{"GET " + path(8193), "X-A: 1", 414},
		{"GET " + path(8192) + "?" + strings.Repeat("a", 20000), "X-A: 1", 200},
		{"GET " + path(8192-3000) + strings.Repeat("%41", 1000), "X-A: 1", 200},
		{"GET " + path(8192-2998) + strings.Repeat("%41", 1000), "X-A: 1", 414}, // the length is that of the text as written
		{"GET " + path(8192-2998) + strings.Repeat("%C3", 1) + strings.Repeat("%BC", 999), "X-A: 1", 414},
		{"MOVE /plain/a", "Destination: " + path(8192), 200},
		{"MOVE /plain/a", "Destination: " + path(8193), 400},
		{"GET " + scripts(8), "X-A: 1", 200},
		{"GET " + scripts(9), "X-A: 1", 400},
		{"GET " + strings.Repeat("/x;y%2Fa.py", 8) + "/b", "X-A: 1", 200},
		{"GET " + strings.Repeat("/x;y%2Fa.py", 9) + "/b", "X-A: 1", 400},
		{"GET " + strings.Repeat("/x;y.py", 9) + "/b", "X-A: 1", 400},
		{"GET " + strings.Repeat("/x%3By.py;z", 9) + "/b", "X-A: 1", 400},
		{"GET " + strings.Repeat("/x%C2%AD.py;y", 9) + "/b", "X-A: 1", 400},
		{"GET /", "Connection: keep-alive" + strings.Repeat(",a", 14), 200}, // and close
		{"GET /", "Connection: keep-alive" + strings.Repeat(",a", 15), 400},
		{"GET /", "Connection: a" + strings.Repeat("\r\nConnection: a", 15), 400},
	} {
		status, line, _ := arrives(t, written, test.request, "read", test.header)
		if status != test.want || status != 200 && line != " " {
			t.Errorf("%.40s... of %d bytes, %.40s: %d, want %d", test.request, len(test.request), test.header, status, test.want)
		}
	}
}

// serves gives a request to the proxy that HTTP/1.1 cannot carry, but HTTP/2 can.
func serves(t *testing.T, change func(*http.Request)) (int, bool) {
	t.Helper()
	p, err := NewProxy(ProxyConfig{Upstream: parseURL(t, "http://api.example"),
		Guard: newGuard(t, GuardConfig{Verifier: &counter{}}), Rules: []Rule{{Path: "/", Public: true}}})
	if err != nil {
		t.Fatal(err)
	}
	upstream := &answering{}
	p.forward.Transport = upstream
	r := httptest.NewRequest("GET", "/a", nil)
	change(r)
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	return w.Code, upstream.asked
}

// A space or a control character in the request line of HTTP/1.1 would end the target.
//
// CVE-2021-33193 (Apache): a method of HTTP/2 splits the request to the upstream.
func TestAttackSpaceInRequestLine(t *testing.T) {
	for _, query := range []string{"a b", "a HTTP/1.1", " ", "\t", "a=\r\nX: 1", "\x00", "a\x7f"} {
		if status, reached := serves(t, func(r *http.Request) { r.URL.RawQuery = query }); status != 400 || reached {
			t.Errorf("query %q: %d, reached: %t", query, status, reached)
		}
	}
	for _, method := range []string{"G A", "GET /admin HTTP/1.1\r\n", "G\tA", "A(", "A:B", "A/B", "É", "A\x00", ""} {
		if status, reached := serves(t, func(r *http.Request) { r.Method = method }); status != 400 || reached {
			t.Errorf("method %q: %d, reached: %t", method, status, reached)
		}
	}
	for _, query := range []string{"a=b%20c&d=é", "a=!~"} {
		if status, reached := serves(t, func(r *http.Request) { r.URL.RawQuery = query }); status != 200 || !reached {
			t.Errorf("query %q: %d, reached: %t", query, status, reached)
		}
	}
	for _, method := range []string{"PURGE", "M-SEARCH", "VERSION-CONTROL", "A1!#$%&'*+-.^_`|~"} {
		if status, reached := serves(t, func(r *http.Request) { r.Method = method }); status != 200 || !reached {
			t.Errorf("method %q: %d, reached: %t", method, status, reached)
		}
	}
}

// Whoever makes requests fail writes few lines, and his text stays in its line.
//
// The classes are CWE-779 (too many lines in a log) and CWE-117 (text of others in a line).
func TestAttackFailuresFloodTheLog(t *testing.T) {
	foreign := errors.New("dial: \x1b[2J\u009b" + strings.Repeat("x", 5000))
	for name, c := range map[string]struct {
		verifier Verifier
		rule     Rule
		status   int
	}{
		"the upstream does not answer": {&counter{}, Rule{Path: "/", Public: true}, 502},
		"the token cannot be checked": {verifierFunc(func(context.Context, string) (*Token, error) { return nil, foreign }),
			Rule{Path: "/"}, 503},
		"the verifier returns no token": {verifierFunc(func(context.Context, string) (*Token, error) { return nil, nil }),
			Rule{Path: "/"}, 503},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				log := slog.New(slog.NewJSONHandler(&out, nil))
				p, err := NewProxy(ProxyConfig{Upstream: parseURL(t, "http://api.example"),
					Guard: newGuard(t, GuardConfig{Verifier: c.verifier, Logger: log}), Rules: []Rule{c.rule}, Logger: log})
				if err != nil {
					t.Fatal(err)
				}
				p.forward.Transport = failing{foreign}
				send := func(ctx context.Context, from string, n int) (int, string) {
					out.Reset()
					for range n {
						r := httptest.NewRequestWithContext(ctx, "GET", "/", nil)
						r.RemoteAddr = from
						r.Header.Set("Authorization", "Bearer x")
						w := httptest.NewRecorder()
						p.ServeHTTP(w, r)
						if w.Code != c.status {
							t.Fatalf("%d: %s", w.Code, w.Body)
						}
					}
					return strings.Count(out.String(), "\n"), out.String()
				}
				// A client that leaves writes no line, and takes none from others.
				gone, leave := context.WithCancel(t.Context())
				leave()
				if n, text := send(gone, "192.0.2.1:1", 100); n != 0 {
					t.Errorf("of clients that left: %s", text)
				}
				n, text := send(t.Context(), "192.0.2.1:1", 200)
				if n != 30 || len(text) > 30*1000 || strings.ContainsAny(text, "\x1b\u009b") {
					t.Errorf("%d lines, %d bytes, %.300s", n, len(text), text)
				}
				if n, text = send(t.Context(), "198.51.100.1:1", 1); n != 1 || !strings.Contains(text, `"left_out":170`) ||
					!strings.Contains(text, `"level":"ERROR"`) {
					t.Errorf("another network: %s", text)
				}
			})
		})
	}
}

// answering is an upstream that answers each request.
type answering struct{ asked bool }

// RoundTrip notes that the upstream got a request.
func (a *answering) RoundTrip(r *http.Request) (*http.Response, error) {
	a.asked = true
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
}

// failing is an upstream that cannot be reached.
type failing struct{ err error }

// RoundTrip returns the error.
func (f failing) RoundTrip(*http.Request) (*http.Response, error) { return nil, f.err }
