package resource

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
)

// arrives sends a request with a token for the rule and returns the status, and the request line and
// the header as the upstream got them.
func arrives(t *testing.T, change func(*ProxyConfig), request, token string, headers ...string) (int, string,
	http.Header) {
	t.Helper()
	server, last := newProxy(t, change)
	*last = http.Request{}
	if token != "" {
		headers = append(headers, "Authorization: Bearer "+token)
	}
	status, _ := send(t, server, request, headers...)
	return status, last.Method + " " + last.RequestURI, last.Header
}

// A header that the upstream could read as another one does not arrive, and neither does the request.
//
// CVE-2025-64484 (underscores in headers, behind oauth2-proxy), CVE-2024-45410 (hop-by-hop headers, in
// Traefik).
func TestAttackHeaderIsAnotherOneForUpstream(t *testing.T) {
	for _, header := range []string{
		"SCRIPT_NAME: /x", "Script_Name: /x", "PATH_INFO: /admin", "X_Token_Subject: 1", "x-token_subject: 1",
		"X.Token.Subject: 1", "X-Token-Subject~: 1",
		"X_Forwarded_For: 10.0.0.1", "Transfer_Encoding: chunked", "Content_Length: 5", "X_Other: 1", "$WSRU: root",
		"!~Passenger-User: root", "A'b: 1",
		"Accept: a\r\nConnection: close, Accept", "If-Match: a\r\nConnection: if-match", "Connection: authorization",
		"Content-Length: 0\r\nConnection: Content-Length",
		"Trailer: X-Token-Subject", "Trailer: X-A\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-A: 1",
	} {
		status, line, _ := arrives(t, nil, "GET /", "read", header)
		if status != 400 || line != " " {
			t.Errorf("%q: %d, the upstream got %q", header, status, line)
		}
	}
	for _, header := range []string{"Connection: keep-alive, Te\r\nTe: trailers",
		"Proxy-Connection: a\r\nConnection: Proxy-Connection", "X-Other: 1"} {
		status, line, _ := arrives(t, nil, "GET /", "read", header)
		if status != 200 || line != "GET /v1/" {
			t.Errorf("%q: %d, the upstream got %q", header, status, line)
		}
	}
}

// What the rules do not read arrives as it was written, or the request is refused: without its query, a
// request could be for everything.
//
// CVE-2022-2880: ReverseProxy of Go forwarded parameters that Go itself did not read. Since then it drops
// them.
func TestAttackQueryVanishes(t *testing.T) {
	for _, query := range []string{
		"keep=1&ids=1;2;3", "ids=1;2;3", "q=100%", "a=%zz&b=%", "a+b=c%20d", "%61=1&%41=2", "a=1&a=2&a", "&&a&", "?",
		"a=/../b//c", "a=%00", "a=é", "a=[]{}|\\^`\"<>", "=",
		strings.Repeat("a=1;", 2000),
	} {
		status, line, _ := arrives(t, nil, "GET /orders?"+query, "read")
		if status != 200 || line != "GET /v1/orders?"+query {
			t.Errorf("%q: %d, the upstream got %q", query, status, line)
		}
	}
	if status, line, _ := arrives(t, nil, "GET /orders?", "read"); status != 200 || line != "GET /v1/orders?" {
		t.Errorf("an empty query: %d %q", status, line)
	}
	for _, query := range []string{
		"a=1#b", "#", "a=1;_method=DELETE", "q=100%&_method=DELETE", "x-http-method-override=DELETE", "X-HTTP-Method=DELETE",
		"a=1&a=2&_method", "%zz;%5fMETHOD[x]=1",
	} {
		status, line, _ := arrives(t, nil, "GET /orders?"+query, "read")
		if status != 400 || line != " " {
			t.Errorf("%q: %d, the upstream got %q", query, status, line)
		}
	}
}

// An encoded reserved character and the character itself have different meanings: /a%3Acancel is an item
// "a:cancel", and /a:cancel calls the method cancel (RFC 3986 §2.2, AIP-136).
func TestPathArrivesAsWritten(t *testing.T) {
	for path, want := range map[string]string{
		"/a%3Acancel": "/a%3Acancel", "/a:cancel": "/a:cancel", "/a%2Cb,c": "/a%2Cb,c", "/a(1)!*'": "/a(1)!*'",
		"/%61%2D%7E": "/a-~", "/a%20b": "/a%20b",
		"/größe%3a\"{": "/gr%C3%B6%C3%9Fe%3a%22%7B", "/%e2%98%ba": "/%e2%98%ba", "/a%40b@c": "/a%40b@c",
		"/a%26b&c=%3D": "/a%26b&c=%3D",
	} {
		status, line, _ := arrives(t, nil, "GET "+path, "read")
		if status != 200 || line != "GET /v1"+want {
			t.Errorf("%s: %d, the upstream got %q", path, status, line)
		}
	}
}

// A path that a front controller, a prefix location or a session in the path turns into the path of a
// stricter rule is refused.
//
// CVE-2021-41773 and CVE-2018-1271 are of the class: the check and the server read two paths.
func TestAttackFrontController(t *testing.T) {
	for request, want := range map[string]int{
		"/index.php/admin/users": 400, "/INDEX.PHP/admin": 400, "/a/index.php/admin": 400, "/index.php/": 400,
		"/app.cgi/admin": 400, "/app.wsgi/admin": 400,
		"/default.aspx/admin": 400, "/index.php/x.jsp/admin": 400, "/index.ph\u00adp/admin": 400, "/(S(a1))/admin": 400,
		"/(s(a))/admin":       400,
		"/x/(A(1)F(2))/admin": 400, "/index.php": 200, "/a/index.php?x=/admin": 200, "/index.phps/admin": 200, "/a(1)": 200,
		"/(1)/a":  200,
		"/admin~": 403, "/admin,x": 403, "/admin(1)": 403, "/admin:x": 403, "/admin@x": 403, "/admin+x": 403, "/admin=x": 403,
		"/admin'": 403, "/admin$x/y": 403,
		"/admin!": 403, "/admin*": 403, "/admin&a": 403, "/ADMIN~": 403, "/admin%20x": 403, "/admin%7e": 403,
		"/admin%E2%98%BA": 403, "/admin\"": 403,
		"/admin-x": 200, "/admin_x": 200, "/admin2": 200, "/adminé": 200, "/administrator": 200,
	} {
		status, line, _ := arrives(t, nil, "GET "+request, "read")
		if status != want || status != 200 && line != " " {
			t.Errorf("%s: %d, want %d; the upstream got %q", request, status, want, line)
		}
	}
	// The operator knows this script.
	named := func(c *ProxyConfig) {
		c.Rules = append(c.Rules, Rule{Path: "/index.php/admin", Scopes: []string{"admin"}},
			Rule{Path: "/shop/index.php", Scopes: []string{"read"}})
	}
	for request, want := range map[string]int{
		"/index.php/admin/users": 403, "/index.php/orders": 400, "/shop/index.php/orders": 200,
		"/shop/index.php/x.php/orders": 400, "/shop/index.php/a;b": 400,
		"/shop/index.php": 200, "/shop/index.phpx/a": 200, "/shop/index.php~/a": 403,
	} {
		status, line, _ := arrives(t, named, "GET "+request, "read")
		if status != want {
			t.Errorf("with rules for scripts, %s: %d, want %d; the upstream got %q", request, status, want, line)
		}
	}
}

// PathAsWritten forwards what servers read in different ways, but never what another rule could be for.
func TestPathAsWritten(t *testing.T) {
	rules := func(c *ProxyConfig) {
		c.Rules = []Rule{
			{Path: "/", Scopes: []string{"read"}, PathAsWritten: true},
			{Path: "/admin", Scopes: []string{"admin"}},
			{Path: "/größe", Scopes: []string{"admin"}},
			{Path: "/projects", Scopes: []string{"read"}, PathAsWritten: true},
		}
	}
	for _, path := range []string{
		"/projects/group%2Fproject", "/projects/a%2fb/c%2F", "/projects//a", "/projects/a;b=c/d", "/projects/a%3Fb",
		"/projects/a%23b", "/projects/100%25", "/projects/%41%2F",
		"//a", "/a//", "/setup.py/raw", "/a(b)/(S(c))/d", "/projects/%E2%98%BA%2F", "/a%3B", "/x%2Fprojects",
	} {
		status, line, _ := arrives(t, rules, "GET "+path, "read")
		if status != 200 || line != "GET /v1"+path {
			t.Errorf("%s: %d, the upstream got %q", path, status, line)
		}
	}
	if status, line, _ := arrives(t, rules, "GET /projects/é\"%2Fa", "read"); status != 200 ||
		line != "GET /v1/projects/%C3%A9%22%2Fa" {
		t.Errorf("characters that a URL cannot contain: %d, the upstream got %q", status, line)
	}
	for path, want := range map[string]int{
		"//admin": 403, "/%2Fadmin": 403, "/a/..%2Fadmin": 400, "/a%2F..%2Fadmin": 400, "/a/..;/admin": 400, "/;x/admin": 403,
		"/admin;x/users": 400, "/admin%2Fusers": 400,
		"/index.php/admin": 403, "/a.php/b.php/admin": 403, "/(S(a))/admin": 403, "/%252e%252e/admin": 400,
		"/a%2F%5Cadmin": 400, "/a%2F%00": 400, "/a%2F%ff": 400,
		"/projects%2Fx": 400, "/ADMIN%2F": 400, "/admin%3Fx": 400, "/admin%23": 400, "/x%3F/../admin": 400,
		"/x/..%3Fa/admin": 400, "/;%3F/admin": 403, "/x%3Fy/admin": 200, "//gr%C3%B6%C3%9Fe": 403, "/a%2F.": 400,
		"/a/.%2Fb": 400, "/a%2F%20": 400,
		"/%23;%3fa.cgi/admin": 403, "/x;a.cgi/admin": 403, "/;a.cgi/%61dmin": 403, "/x;a%2Fb.cgi/admin": 403,
		"/x;a.cgi;y/admin": 200, "/x;a.cgi/b": 200, "/%C4%B0%C4%B0%C4%B0%C4%B0%C4%B0%C4%B0/a.py/admin/b": 403,
		"/projects%2F..%2Fadmin": 400, "/projects//admin": 200, "/a;/%2e%2e/admin": 400,
	} {
		status, line, _ := arrives(t, rules, "GET "+path, "read")
		if status != want || want != 200 && line != " " {
			t.Errorf("%s: %d, want %d; the upstream got %q", path, status, want, line)
		}
	}
	// A rule without it stays strict beside one that has it.
	for path, want := range map[string]int{"/admin//x": 400, "/admin/a%2Fb": 400, "/admin/a;b": 400, "/admin/x.php/y": 400,
		"/admin/a": 200} {
		if status, line, _ := arrives(t, rules, "GET "+path, "admin"); status != want {
			t.Errorf("%s: %d, want %d; the upstream got %q", path, status, want, line)
		}
	}
}

// COPY and MOVE write to a second path, which the rules read too.
func TestAttackDestinationOfAnotherRule(t *testing.T) {
	rules := func(c *ProxyConfig) {
		c.Rules = []Rule{{Path: "/", Scopes: []string{"read"}}, {Path: "/admin", Scopes: []string{"admin"}}}
	}
	for destination, want := range map[string]int{
		"/b": 200, "http://api.example/b": 200, "http://api.example/b?c": 403, "http://a@api.example/b": 403, "/admin/b": 403,
		"http://api.example/admin": 403, "/%61dmin": 403, "/x/../admin": 403, "//admin/b": 403, "/x;/b": 403,
		"admin": 403, "http:admin": 403, "/b\r\nDestination: /admin": 403, "%": 403, "/index.php/admin": 403,
	} {
		status, line, _ := arrives(t, rules, "MOVE /a", "read", "Destination: "+destination)
		if status != want || want != 200 && line != " " {
			t.Errorf("%q: %d, want %d; the upstream got %q", destination, status, want, line)
		}
	}
}

// A host that the client has chosen does not reach the links that the API makes.
//
// CVE-2025-43864 and CVE-2025-31137: a path in X-Forwarded-Host.
func TestAttackForwardedHost(t *testing.T) {
	with := func(g GuardConfig) func(*ProxyConfig) {
		return func(c *ProxyConfig) {
			g.Verifier = verifierFunc(c.Guard.verifier.Verify)
			c.Guard = newGuard(t, g)
		}
	}
	urls := GuardConfig{BaseURLs: []string{"https://api.example/v1", "https://other.example:8443"}}
	audience := GuardConfig{Audience: "https://orders.example/v1"}
	ofServer := GuardConfig{Audience: "https://auth.example", AuthorizationServers: []string{"https://auth.example/o"}}
	for _, test := range []struct {
		guard             GuardConfig
		host, sent, proto string
	}{
		{urls, "evil.example", "api.example", "https"},
		{urls, "Other.example:8443", "other.example:8443", "https"},
		{urls, "", "api.example", "https"},
		{audience, "evil.example", "orders.example", "https"},
		{ofServer, "api.internal", "api.internal", "http"},
		{GuardConfig{}, "api.internal:80", "api.internal:80", "http"},
		{GuardConfig{}, "[::1]:80", "[::1]:80", "http"},
		{GuardConfig{}, "my_api", "my_api", "http"},
	} {
		status, got := asHost(t, with(test.guard), test.host)
		if status != 200 || got.Get("X-Forwarded-Host") != test.sent || got.Get("X-Forwarded-Proto") != test.proto {
			t.Errorf("%+v: %d, %v", test, status, got)
		}
	}
	for _, host := range []string{"a,b", "a;b", "a(b)", "a=b", "a%2fb", "a&b", "a'b", "a!b", "a~b", "a*b", "a+b", "a$b"} {
		if status, got := asHost(t, nil, host); status != 400 || got != nil {
			t.Errorf("%s: %d, %v", host, status, got)
		}
	}
}

// asHost sends a request with this Host, and returns the status and the header that the upstream got.
func asHost(t *testing.T, change func(*ProxyConfig), host string) (int, http.Header) {
	t.Helper()
	server, last := newProxy(t, change)
	*last = http.Request{}
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer read\r\nConnection: close\r\n\r\n", host)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode, last.Header
}
