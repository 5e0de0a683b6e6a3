package resource

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// newUpstream returns an API that answers with what it received, and its last request.
func newUpstream(t testing.TB) (*httptest.Server, *http.Request) {
	var last http.Request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		last = *r.Clone(r.Context())
		fmt.Fprintf(w, "%s %s", r.Method, r.RequestURI)
	}))
	t.Cleanup(server.Close)
	return server, &last
}

var proxyRules = []Rule{
	{Path: "/", Methods: []string{"GET"}, Scopes: []string{"read"}},
	{Path: "/users/", Methods: []string{"GET"}, Scopes: []string{"read"}},
	{Path: "/users", Methods: []string{"POST", "DELETE"}, Scopes: []string{"read", "write"}},
	{Path: "/admin", Scopes: []string{"admin"}},
	{Path: "/admin", Methods: []string{"PURGE"}, Scopes: []string{"purge"}},
	{Path: "/admin/help", Methods: []string{"GET"}},
	{Path: "/healthz", Methods: []string{"GET"}, Public: true},
	{Path: "/files", Methods: []string{"GET"}, Scopes: []string{"read"}},
	{Path: "/files", Methods: []string{"HEAD"}},
	{Path: "/files.json", Methods: []string{"GET"}, Scopes: []string{"read"}},
	{Path: "/reports", Scopes: []string{"admin"}},
	{Path: "/reports", Methods: []string{"GET"}, Scopes: []string{"read"}},
}

func newProxy(t testing.TB, change func(*ProxyConfig)) (*httptest.Server, *http.Request) {
	p := newProvider(t, map[string]string{
		"read":  liveRead,
		"write": `{"active":true,"scope":"read write"}`,
		"admin": `{"active":true,"scope":"admin"}`,
		"none":  `{"active":true}`,
		"odd":   `{"active":true,"scope":"read","username":" admin\r\nX-Token-Scope: admin","sub":"100%","client_id":"é"}`,
	})
	api, last := newUpstream(t)
	c := ProxyConfig{
		Upstream: parseURL(t, api.URL+"/v1"),
		Guard:    newGuard(t, GuardConfig{Verifier: p.introspection(t)}),
		Rules:    proxyRules,
	}
	if change != nil {
		change(&c)
	}
	proxy, err := NewProxy(c)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return server, last
}

// send writes a request unchanged; http.Client would normalize it.
func send(t *testing.T, server *httptest.Server, requestLine string, headers ...string) (int, string) {
	t.Helper()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	lines := append([]string{requestLine + " HTTP/1.1", "Host: api.example"}, headers...)
	fmt.Fprintf(conn, "%s\r\nConnection: close\r\n\r\n", strings.Join(lines, "\r\n"))
	method, _, _ := strings.Cut(requestLine, " ")
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func TestProxyRules(t *testing.T) {
	server, _ := newProxy(t, nil)
	tests := []struct {
		request string
		token   string
		status  int
		reached string // what the upstream received
	}{
		{"GET /", "read", 200, "GET /v1/"},
		{"GET /orders/7?a=b", "read", 200, "GET /v1/orders/7?a=b"},
		{"GET /orders", "none", 403, ""},
		{"GET /orders", "", 401, ""},
		{"GET /orders", "unknown", 401, ""},
		{"GET /users", "read", 200, "GET /v1/users"},
		{"GET /users/", "read", 200, "GET /v1/users/"},
		{"HEAD /users", "read", 200, ""},
		{"HEAD /users", "none", 403, ""},
		{"HEAD /files/a", "none", 200, ""},
		{"GET /files/a", "none", 403, ""},
		{"HEAD /reports", "read", 200, ""}, // the rule for GET, not the rule for all other methods
		{"HEAD /reports", "admin", 403, ""},
		{"HEAD /admin", "admin", 200, ""},
		{"POST /users", "read", 403, ""},
		{"POST /users", "write", 200, "POST /v1/users"},
		{"DELETE /users/7", "write", 200, "DELETE /v1/users/7"},

		// No rule covers the request: it is refused for every token, and no shorter path
		// applies.
		{"PUT /users", "write", 403, ""},
		{"POST /orders", "write", 403, ""},
		{"OPTIONS /users", "write", 403, ""},
		{"POST /admin/help", "admin", 403, ""},

		{"GET /admin", "read", 403, ""},
		{"GET /admin", "admin", 200, "GET /v1/admin"},

		// A suffix or a character without a glyph does not reach the looser rule of a
		// shorter path.
		{"GET /admin.json", "read", 403, ""},
		{"GET /Admin.do", "read", 403, ""},
		{"GET /admin.json/a", "read", 403, ""},
		{"GET /admin/help.xml", "admin", 403, ""},
		{"GET /admin/users.xml", "admin", 200, "GET /v1/admin/users.xml"},
		{"GET /orders/7.json", "read", 200, "GET /v1/orders/7.json"},
		{"GET /.well-known/a", "read", 200, "GET /v1/.well-known/a"},
		{"GET /files.json/a.json", "read", 200, "GET /v1/files.json/a.json"}, // has a rule
		{"GET /admin%E2%80%8D", "read", 403, ""},
		{"GET /ad%C2%ADmin/users", "read", 403, ""},
		{"GET /orders/%E2%98%BA%EF%B8%8F", "read", 200, "GET /v1/orders/%E2%98%BA%EF%B8%8F"},
		{"PUT /admin/a/b", "admin", 200, "PUT /v1/admin/a/b"},
		{"PURGE /admin", "admin", 403, ""},
		{"GET /admin/help", "none", 200, "GET /v1/admin/help"},
		{"GET /administrator", "read", 200, "GET /v1/administrator"},
		{"GET /healthz", "", 200, "GET /v1/healthz"},
		{"GET /healthz/deep", "", 200, "GET /v1/healthz/deep"},
		{"POST /healthz", "", 403, ""},

		// The same path in other spellings.
		{"GET /%61dmin", "read", 403, ""},
		{"GET /%61dmin", "admin", 200, "GET /v1/admin"},
		{"GET /admin/", "read", 403, ""},
		{"GET /admin?x", "read", 403, ""},
		{"GET /Admin", "read", 403, ""},
		{"GET /Admin", "admin", 403, ""},
		{"GET /ADMIN/help", "admin", 403, ""},
		{"GET /u%C5%BFers", "read", 403, ""}, // a long s is an S in capitals
		{"GET //admin", "read", 400, ""},
		{"GET /healthz//admin", "", 400, ""},
		{"GET /healthz/../admin", "", 400, ""},
		{"GET /healthz/%2e%2e/admin", "", 400, ""},
		{"GET /healthz/%2E./admin", "", 400, ""},
		{"GET /healthz/..%2fadmin", "", 400, ""},
		{"GET /healthz%2F..%2Fadmin", "", 400, ""},
		{"GET /healthz%2fdeep", "", 400, ""},
		{"GET /healthz/..%5cadmin", "", 400, ""},
		{`GET /healthz\..\admin`, "", 400, ""},
		{"GET /healthz/%252e%252e/admin", "", 400, ""},
		{"GET /healthz%3fx", "", 400, ""},
		{"GET /healthz%23x", "", 400, ""},
		{"GET /healthz/..;/admin", "", 400, ""},
		{"GET /admin;x=y/users", "read", 400, ""},
		{"GET /./admin", "read", 400, ""},
		{"GET /admin./users", "read", 400, ""},
		{"GET /admin%20", "read", 400, ""},
		{"GET /admin%00", "read", 400, ""},
		{"GET /admin%0a", "read", 400, ""},
		{"GET /%c0%afadmin", "read", 400, ""},
		{"GET /healthz/．．/admin", "", 400, ""},
		{"GET /healthz%EF%BC%8Fadmin", "", 400, ""},
		{"GET /admin%e2%80%a8", "read", 400, ""},
		{"GET http://elsewhere.example/admin", "read", 403, ""},
		{"GET http:admin", "admin", 400, ""},
		{"OPTIONS *", "admin", 200, ""}, // net/http answers it

		// The same method in other forms.
		{"get /admin", "admin", 400, ""},
		{"Purge /admin", "admin", 400, ""},
		{"CONNECT /admin", "admin", 400, ""},
		{"CONNECT api.example:80", "admin", 400, ""},
		{"PRI *", "admin", 400, ""},
		{"POST /users?_method=PUT", "write", 400, ""},
		{"POST /users?a&%5fmethod=PUT", "write", 400, ""},
		{"POST /users?.method=PUT", "write", 400, ""},
		{"POST /users?%20[Method=PUT", "write", 400, ""},
		{"POST /users?_method%00=PUT", "write", 400, ""},
		{"POST /users?_method[]=PUT", "write", 400, ""},
		{"POST /users?page.method=PUT", "write", 200, "POST /v1/users?page.method=PUT"},
	}
	for _, test := range tests {
		t.Run(test.request+" as "+test.token, func(t *testing.T) {
			var headers []string
			if test.token != "" {
				headers = append(headers, "Authorization: Bearer "+test.token)
			}
			status, body := send(t, server, test.request, headers...)
			if status != test.status || status == 200 && test.reached != body {
				t.Errorf("got %d %s", status, body)
			}
			if status == 403 && body != noScope && body != noRule && body != otherRule &&
				!strings.HasPrefix(test.request, "HEAD") {
				t.Errorf("got %s", body)
			}
		})
	}
}

func TestProxyMethodOverride(t *testing.T) {
	server, _ := newProxy(t, nil)
	for _, name := range []string{"X-HTTP-Method-Override", "X-Http-Method", "X-METHOD-OVERRIDE", "X_HTTP_Method_Override",
		"x.http.method.override"} {
		status, _ := send(t, server, "POST /users", "Authorization: Bearer write", name+": DELETE")
		if status != 400 {
			t.Errorf("%s: got %d", name, status)
		}
	}
}

// The developer who reads a refusal learns what to change in the request.
func TestProxySaysWhatIsWrongWithARequest(t *testing.T) {
	var log strings.Builder
	p, err := NewProxy(ProxyConfig{
		Upstream: parseURL(t, "http://api.example"), Guard: newGuard(t, GuardConfig{Verifier: &counter{}}),
		Rules:  []Rule{{Path: "/files", Scopes: []string{"read"}}, {Path: "/files/private", Scopes: []string{"write"}}},
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ method, target, header, value, want string }{
		{"GET", "/files/..%2Fx", "", "", "in different ways"},
		{"get", "/files", "", "", "capital letters"},
		{"POST", "/files?a=1&_Method=PUT", "", "", "parameter _method"},
		{"POST", "/files", "X-Method-Override", "PUT", "header X-Method-Override"},
		{"PROPFIND", "/files", "Depth", "1", "part of it. Send Depth: 0, or name a path with one rule."},
		{"MOVE", "/files", "Depth", "0", "part of it. Name a path with one rule."}, // RFC 4918 §9.9.2
	} {
		r, w := httptest.NewRequest(test.method, test.target, nil), httptest.NewRecorder()
		if test.header != "" {
			r.Header.Set(test.header, test.value)
		}
		p.ServeHTTP(w, r)
		if w.Code < 400 || !strings.Contains(w.Body.String(), test.want) {
			t.Errorf("%s %s: %d %s, want %q", test.method, test.target, w.Code, w.Body, test.want)
		}
	}
	if !strings.Contains(log.String(), "path=/files/..%2Fx") {
		t.Errorf("the log does not show the path as it was sent: %s", log.String())
	}
}

func TestProxyHeaders(t *testing.T) {
	spoofed := []string{
		"X-Token-Subject: 1", "X-Token-Role: admin", "X-Original-URL: /admin", "X-Original-Path: /admin",
		"X-Rewrite-Url: /admin",
		"X-Forwarded-User: root", "X-Forwarded-Prefix: /admin", "X-Forwarded-For: 10.0.0.1", "Script-Name: /x",
		"X-Script-Name: /x",
		"Path-Info: /admin", "Daphne-Root-Path: /x", "Root-Path: /x", "X-Root-Path: /x", "X-Request-Uri: /admin",
		"X-ProxyContextPath: /x",
		"Remote-User: root", "X-Real-Ip: 10.0.0.1", "X-Other: kept",
	}
	tests := []struct {
		name    string
		request string
		headers []string
		pass    bool
		want    http.Header // without those of every request
	}{
		{"a token with all claims", "GET /", []string{"Authorization: Bearer read"}, false, http.Header{
			"X-Token-Client-Id": {"shop"}, "X-Token-Subject": {"7"}, "X-Token-Username": {"ann"}, "X-Token-Scope": {"read"}}},
		{"a token without claims", "GET /admin/help", []string{"Authorization: Bearer none"}, false, http.Header{}},
		{"claims that a header cannot contain", "GET /", []string{"Authorization: Bearer odd"}, false, http.Header{
			"X-Token-Client-Id": {"%C3%A9"}, "X-Token-Subject": {"100%25"}, "X-Token-Scope": {"read"},
			"X-Token-Username": {"%20admin%0D%0AX-Token-Scope:%20admin"}}},
		{"the token is forwarded if PassAuthorization is set", "GET /", []string{"Authorization: Bearer read"}, true,
			http.Header{
				"Authorization":     {"Bearer read"},
				"X-Token-Client-Id": {"shop"}, "X-Token-Subject": {"7"}, "X-Token-Username": {"ann"}, "X-Token-Scope": {"read"}}},
		{"Connection lists headers that are not there", "GET /",
			[]string{"Authorization: Bearer read", "Connection: X-Token-Scope, X-Token-Username"}, false, http.Header{
				"X-Token-Client-Id": {"shop"}, "X-Token-Subject": {"7"}, "X-Token-Username": {"ann"}, "X-Token-Scope": {"read"}}},
		{"a public path", "GET /healthz", []string{"Authorization: Bearer read"}, false, http.Header{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			server, last := newProxy(t, func(c *ProxyConfig) { c.PassAuthorization = test.pass })
			status, _ := send(t, server, test.request, append(test.headers, spoofed...)...)
			if status != 200 {
				t.Fatalf("got %d", status)
			}
			test.want.Set("X-Other", "kept")
			test.want.Set("X-Forwarded-For", "127.0.0.1")
			test.want.Set("X-Forwarded-Host", "api.example")
			test.want.Set("X-Forwarded-Proto", "http")
			last.Header.Del("User-Agent")
			if diff := cmp.Diff(test.want, last.Header); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestProxyReflection(t *testing.T) {
	server, _ := newProxy(t, nil)
	for _, method := range []string{"TRACE", "TRACK"} {
		status, _ := send(t, server, method+" /admin", "Authorization: Bearer admin")
		if status != 403 {
			t.Errorf("%s: got %d", method, status)
		}
	}
}

// If an upstream may not expect content, the connection ends after this content. The
// proxy does not forward a trailer.
func TestProxyContent(t *testing.T) {
	server, last := newProxy(t, nil)
	for _, test := range []struct {
		request, headers string
		last             bool
	}{
		{"GET /admin", "Content-Length: 3\r\n\r\nGET", true},
		{"DELETE /admin", "Transfer-Encoding: chunked\r\n\r\n0\r\n", true},
		{"POST /admin", "Content-Length: 3\r\n\r\nGET", false},
		{"POST /admin", "Transfer-Encoding: chunked\r\n\r\n0\r\nX-Token-Subject: 1", false},
		{"GET /admin", "Content-Length: 0", false},
	} {
		status, _ := send(t, server, test.request, "Authorization: Bearer admin", test.headers)
		if status != 200 || last.Close != test.last || len(last.Trailer) > 0 {
			t.Errorf("%s, %q: got %d, the last %v, %v", test.request, test.headers, status, last.Close, last.Trailer)
		}
	}
}

// An HTTP/1.0 client receives no interim responses. Other clients do.
func TestProxyInterim(t *testing.T) {
	api := httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusEarlyHints) }))
	defer api.Close()
	server, _ := newProxy(t, func(c *ProxyConfig) { c.Upstream = parseURL(t, api.URL) })
	for version, want := range map[string]string{"1.0": "HTTP/1.0 200 OK\r\n", "1.1": "HTTP/1.1 103 Early Hints\r\n"} {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "GET /healthz HTTP/%s\r\nHost: api.example\r\n\r\n", version)
		line, err := bufio.NewReader(conn).ReadString('\n')
		if err != nil || line != want {
			t.Errorf("HTTP/%s: got %q, %v", version, line, err)
		}
	}
}

func TestProxyUpstreamDown(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	server, _ := newProxy(t, func(c *ProxyConfig) { c.Upstream = parseURL(t, gone.URL) })
	status, body := send(t, server, "GET /", "Authorization: Bearer read")
	if status != 502 || body != `{"detail":"The service behind this address did not answer."}` {
		t.Errorf("got %d %s", status, body)
	}
}
