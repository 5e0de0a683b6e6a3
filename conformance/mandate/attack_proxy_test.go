package mandate

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// An upstream that normalizes paths reads full-width dots and slashes as plain ones:
// /open/．．/admin is /admin.
func TestAttackPathInOtherCharacters(t *testing.T) {
	t.Parallel()
	attack(t, "path traversal by Unicode normalization", "")
	api, requests := upstream(t)
	s := startServer(t, options{})
	app := s.whole(t, "service")
	g := s.protects(t, api.URL, "{PATH: /open}", "{PATH: /admin, SCOPES: [write]}")
	token := s.mustToken(t, app.auth(), params("grant_type", "client_credentials", "scope", "read")).AccessToken
	for _, path := range []string{
		"/open/．．/admin", "/open／..／admin", "/open/．./admin", "/open/‥/admin", "/open/︰/admin", "/open/﹒﹒/admin",
		"/open/..＼admin", "/open/..﹨admin", "/open/％2e％2e/admin", "/open/﹪2e", "/open/a℀b", "/open/⒈", "/open/…", "/open/🄀",
		"/open/；/admin", "/open/\u037e", "/open/admin\u3000", "/open/admin\u00a0", "/open/admin\u2028/x",
	} {
		for _, written := range []string{path, (&url.URL{Path: path}).EscapedPath(),
			strings.ToLower((&url.URL{Path: path}).EscapedPath())} {
			_, _, response := g.switches(t, written, token)
			if response.StatusCode != http.StatusBadRequest {
				t.Errorf("%+q as %s: %d, want 400", path, written, response.StatusCode)
			}
		}
	}
	for _, path := range []string{"/open/größe", "/open/日本語", "/open/a·b", "/open/٪"} {
		_, _, response := g.switches(t, (&url.URL{Path: path}).EscapedPath(), token)
		if response.StatusCode != http.StatusOK {
			t.Errorf("%s: %d, want 200", path, response.StatusCode)
		}
	}
	for _, r := range requests() {
		if strings.Contains(r.URL.Path, "admin") {
			t.Errorf("the upstream got %+q", r.URL.Path)
		}
	}
}

// arrived is a request as the upstream received it.
type arrived struct {
	header, trailer http.Header
	last            bool // on its connection
}

// listening starts an upstream that reads each request completely and keeps the newest.
// At /open/hints it first sends an interim response.
func listening(t *testing.T) (string, func() arrived) {
	t.Helper()
	var mu sync.Mutex
	var newest arrived
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/open/hints" {
			w.WriteHeader(http.StatusEarlyHints)
		}
		_, _ = io.Copy(io.Discard, r.Body) // the trailer comes after it
		mu.Lock()
		defer mu.Unlock()
		newest = arrived{r.Header, r.Trailer, r.Close}
		fmt.Fprint(w, r.Method)
	}))
	t.Cleanup(api.Close)
	return api.URL, func() arrived {
		mu.Lock()
		defer mu.Unlock()
		return newest
	}
}

// The upstream does not take trailers, headers in other spellings, or content for
// headers of the proxy or for a second request.
func TestAttackForgedAtProxy(t *testing.T) {
	t.Parallel()
	attack(t, "request smuggling, and headers forged behind a proxy",
		"CL.0 desynchronization (PortSwigger, 2022); CVE-2025-64484 for underscores in headers")
	api, newest := listening(t)
	s := startServer(t, options{})
	app := s.whole(t, "service")
	g := s.protects(t, api, "{PATH: /open}")
	token := s.mustToken(t, app.auth(), params("grant_type", "client_credentials")).AccessToken
	send := func(line string, headers []string, content string) int {
		t.Helper()
		lines := append([]string{line, "Host: api.example", "Connection: close", "Authorization: Bearer " + token},
			headers...)
		conn := g.dial(t, strings.Join(lines, "\r\n")+"\r\n\r\n"+content)
		return status(conn)
	}
	// RFC 9110 §6.5.1: a trailer field is not a header field. One that was announced is refused, because it would be
	// lost.
	const chunks = "1\r\na\r\n0\r\nX-Token-Subject: root\r\nX-Other: 1\r\n\r\n"
	if got := send("POST /open HTTP/1.1",
		[]string{"Transfer-Encoding: chunked", "Trailer: X-Token-Subject, X-Other", "TE: trailers", "Connection: TE"},
		chunks); got != http.StatusBadRequest {
		t.Errorf("a trailer that was announced: %d, want 400", got)
	}
	send("POST /open HTTP/1.1",
		[]string{"Transfer-Encoding: chunked", "TE: trailers", "Connection: TE, X-Token-Client-Id"}, chunks)
	got := newest()
	if len(got.trailer) > 0 || got.header.Get("X-Token-Subject") == "root" ||
		got.header.Get("X-Token-Client-Id") != app.ClientID {
		t.Errorf("a trailer: %v %v", got.header, got.trailer)
	}
	for _, odd := range []string{"X_Token_Subject: root", "X-Token.Role: root", "Transfer_Encoding: chunked",
		"Content_Length: 5", "SCRIPT_NAME: /x"} {
		if got := send("POST /open HTTP/1.1", []string{odd, "Content-Length: 1"}, "a"); got != http.StatusBadRequest {
			t.Errorf("%s: %d, want 400", odd, got)
		}
	}
	// RFC 9110 §9.3.1: an upstream that expects no content in a GET would read it as the next request.
	for method, last := range map[string]bool{"GET": true, "HEAD": true, "OPTIONS": true, "POST": false} {
		send(method+" /open HTTP/1.1", []string{"Content-Length: 4"}, "GET ")
		if newest().last != last {
			t.Errorf("%s with content: the connection ends %v, want %v", method, newest().last, last)
		}
	}
	send("GET /open HTTP/1.1", nil, "")
	if newest().last {
		t.Error("each GET ends its connection")
	}
	// RFC 9110 §9.3.8: TRACE shows the headers that the proxy has added.
	for _, line := range []string{"TRACE /open HTTP/1.1", "TRACK /open HTTP/1.1"} {
		if got := send(line, nil, ""); got != http.StatusForbidden {
			t.Errorf("%s: %d, want 403", line, got)
		}
	}
	for _, line := range []string{"CONNECT /open HTTP/1.1", "CONNECT api.example:80 HTTP/1.1", "PRI * HTTP/2.0"} {
		if got := send(line, nil, ""); got != http.StatusBadRequest {
			t.Errorf("%s: %d, want 400", line, got)
		}
	}
	// RFC 9110 §15.2: an HTTP/1.0 client would read a 1xx as the final response.
	if got := send("GET /open/hints HTTP/1.0", nil, ""); got != http.StatusOK {
		t.Errorf("HTTP/1.0: %d, want 200", got)
	}
	if got := send("GET /open/hints HTTP/1.1", nil, ""); got != http.StatusEarlyHints {
		t.Errorf("HTTP/1.1: %d, want 103", got)
	}
}
