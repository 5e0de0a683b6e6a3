package mandate

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// badMethods: RFC 9110 §15.5.6: an unsupported method gets 405 with the supported
// methods.
func (v *fixture) badMethods(t *testing.T) {
	read, write, either := []string{"GET", "HEAD"}, []string{"POST"}, []string{"GET", "HEAD", "POST"}
	for path, allowed := range map[string][]string{
		"/o/token/": write, "/o/introspect/": write, "/o/revoke_token/": write, "/o/revoke/": write, "/o/consent/": write,
		"/o/device_authorization/": write, "/o/device-authorization/": write,
		"/.well-known/oauth-authorization-server": read, "/.well-known/oauth-authorization-server/o": read,
		"/o/.well-known/oauth-authorization-server": read,
		"/healthz": read, "/readyz": read, "/": read, "/account/": read, "/o/applications/": read, "/admin/users/": read,
		"/admin/resources/": read, "/o/authorized_tokens/": read,
		"/users/1/": read, "/groups/": read, "/resource": read, "/o/applications/x/": read,
		"/o/authorize/": either, "/login/": either, "/logout/": either, "/setup/x/": either, "/users/": either,
		"/admin/groups/":            either,
		"/o/applications/register/": either, "/o/applications/programs/": either, "/o/applications/x/update/": either,
		"/o/applications/x/rotate/": either, "/o/applications/x/revoke/": either, "/o/applications/x/delete/": either,
		"/admin/users/new/": either, "/admin/users/x/": either, "/admin/users/x/delete/": either,
		"/admin/groups/x/delete/": either, "/admin/resources/new/": either, "/admin/resources/change/": either,
		"/admin/resources/delete/": either, "/account/password/": either, "/device/": either, "/device/answer/": either,
	} {
		for _, at := range []string{path, strings.TrimSuffix(path, "/")} {
			if at == "" {
				continue
			}
			for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "FOO", "get"} {
				a := v.ask(t, method, at, nil)
				got := strings.Split(strings.ReplaceAll(a.Header.Get("Allow"), " ", ""), ",")
				slices.Sort(got)
				switch {
				case slices.Contains(allowed, method):
					if a.Status == http.StatusMethodNotAllowed || a.Status >= 500 {
						t.Errorf("%s %s: %d", method, at, a.Status)
					}
				case a.Status != http.StatusMethodNotAllowed || !slices.Equal(got, allowed):
					t.Errorf("%s %s: %d, Allow %q, want 405 and %q", method, at, a.Status, got, allowed)
				}
				if method == "HEAD" && a.Body != "" {
					t.Errorf("HEAD %s has a body", at)
				}
				if method != "HEAD" {
					a.sane(t, method+" "+at)
				}
			}
		}
	}
	// RFC 9700 §2.6: scripts of other sites may send requests to the token endpoint, but
	// never to the authorization endpoint.
	preflight := http.Header{"Origin": {"https://spa.example"}, "Access-Control-Request-Method": {"POST"},
		"Access-Control-Request-Headers": {"authorization"}}
	for path, open := range map[string]bool{"/o/token/": true, "/o/revoke_token/": true, "/o/device_authorization/": true,
		"/device/": false, "/o/.well-known/oauth-authorization-server": true, "/o/authorize/": false, "/login/": false,
		"/o/consent/": false, "/account/": false} {
		a := v.ask(t, "OPTIONS", path, preflight)
		if (a.Header.Get("Access-Control-Allow-Origin") == "*") != open ||
			a.Header.Get("Access-Control-Allow-Credentials") != "" || open && a.Status/100 != 2 {
			t.Errorf("preflight of %s: %d, %v", path, a.Status, a.Header)
		}
	}
}

func (s *server) ask(t testing.TB, method, path string, header http.Header) answer {
	t.Helper()
	request, err := http.NewRequest(method, s.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range header {
		request.Header[name] = values
	}
	a, err := s.do(request)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return a
}

// dial writes bytes unchanged to the server and returns the connection.
func (s *server) dial(t testing.TB, bytes string) net.Conn {
	t.Helper()
	_, address, _ := strings.Cut(s.URL, "://")
	dial := net.Dial
	if s.options.tls != nil {
		dial = (&tls.Dialer{Config: s.options.tls}).Dial
	}
	conn, err := dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	err = conn.SetDeadline(time.Now().Add(time.Minute))
	if err == nil {
		_, err = io.WriteString(conn, bytes)
	}
	if err != nil && len(bytes) < 30<<10 {
		t.Fatal(err) // the server may close the connection before it has read everything
	}
	return conn
}

// status reads an answer and returns its status, or 0 if the connection was closed
// without one.
func status(conn net.Conn) int {
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0
	}
	response.Body.Close()
	return response.StatusCode
}

// badMessages sends requests that HTTP libraries do not send.
func (v *fixture) badMessages(t *testing.T) {
	const form = "grant_type=client_credentials"
	credentials := "Authorization: " + basicHeader(v.web.ClientID, v.web.ClientSecret) + "\r\n"
	v.secret(basicHeader(v.web.ClientID, v.web.ClientSecret))
	post := func(headers, body string) string {
		return "POST /o/token/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: " + formType + "\r\n" + credentials +
			headers + "\r\n" + body
	}
	for _, c := range []struct {
		name, message string
		want          []int
	}{
		{"chunked", post("Transfer-Encoding: chunked\r\n", "6\r\ngrant_\r\n17\r\ntype=client_credentials\r\n0\r\n\r\n"),
			[]int{200}},
		{"chunked with extensions and a trailer",
			post("Transfer-Encoding: chunked\r\nTrailer: X\r\n", "1d;x=y\r\n"+form+"\r\n0\r\nX: y\r\n\r\n"), []int{200}},
		{"100 KB in chunks",
			post("Transfer-Encoding: chunked\r\n", strings.Repeat("400\r\n"+strings.Repeat("x", 1024)+"\r\n", 100)+"0\r\n\r\n"),
			[]int{413}},
		{"a chunk without a size", post("Transfer-Encoding: chunked\r\n", "zz\r\n"+form+"\r\n0\r\n\r\n"), []int{400}},
		{"a chunk with a huge size", post("Transfer-Encoding: chunked\r\n", "ffffffffffffffffff\r\n"+form), []int{400}},
		{"an unknown coding", post("Transfer-Encoding: gzip\r\nContent-Length: 29\r\n", form), []int{400, 501}},
		{"two lengths", post("Content-Length: 29\r\nContent-Length: 30\r\n", form), []int{400}},
		{"a length that is none", post("Content-Length: -1\r\n", form), []int{400}},
		{"both length and chunks",
			post("Content-Length: 29\r\nTransfer-Encoding: chunked\r\n", "1d\r\n"+form+"\r\n0\r\n\r\n"), []int{200, 400}},
		{"no body", post("", ""), []int{400}},
		{"a compressed body", post("Content-Encoding: gzip\r\nContent-Length: 29\r\n", form), []int{200, 400, 415}},
		{"a body that is expected", post("Expect: 100-continue\r\nContent-Length: 29\r\n", form), []int{100, 200}},
		{"no host", "GET / HTTP/1.1\r\nConnection: close\r\n\r\n", []int{400}},
		{"two hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n", []int{400}},
		{"another host", "GET /login/ HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", []int{200}},
		{"a whole address", "GET http://evil.example/login/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
			[]int{200, 404}},
		{"an escape that is none", "GET /o/%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", []int{400}},
		{"a path of nothing", "GET  HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", []int{400}},
		{"NUL in a header", "GET / HTTP/1.1\r\nHost: x\r\nX: a\x00b\r\nConnection: close\r\n\r\n", []int{400}},
		{"a header name with a space", "GET / HTTP/1.1\r\nHost: x\r\nX y: z\r\nConnection: close\r\n\r\n", []int{400}},
		{"no HTTP", "hello\r\n\r\n", []int{400}},
		{"another HTTP", "GET / HTTP/9.9\r\nHost: x\r\n\r\n", []int{505, 400}},
		{"64 KB of a header", "GET / HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 64<<10) + "\r\n\r\n", []int{431, 0}},
		{"10,000 headers", "GET / HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("X: y\r\n", 10000) + "\r\n", []int{431, 0}},
		{"64 KB of an address", "GET /" + strings.Repeat("x", 64<<10) + " HTTP/1.1\r\nHost: x\r\n\r\n", []int{431, 414, 0}},
		{"a forged name of the request", "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Request-Id: a b\x7f\r\nConnection: " +
			"close\r\n\r\n", []int{200, 400}},
		{"an agent that is no text", "GET /login/ HTTP/1.1\r\nHost: x\r\nUser-Agent: \xff\xfe\r\nConnection: close\r\n\r\n",
			[]int{200}},
		{"hops that are none", "GET /login/ HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: a, ,\"b\", 1.2.3.4.5, ::::, " +
			"[::1]:x\r\nConnection: close\r\n\r\n", []int{200}},
	} {
		if got := status(v.dial(t, c.message)); !slices.Contains(c.want, got) {
			t.Errorf("%s: %d, want one of %v", c.name, got, c.want)
		}
	}
	// RFC 9112 §2.5: an HTTP/1.0 client gets its answer too. Nothing in the answer comes
	// from the Host header.
	a := v.post(t, "/o/applications/", func(r *http.Request, _ url.Values) { r.Host = "evil.example" }, nil)
	if strings.Contains(a.Body+a.Header.Get("Location"), "evil.example") {
		t.Errorf("the answer repeats the Host header: %s", a.Body)
	}
	if page := v.get(t, "/account/", func(r *http.Request, _ url.Values) { r.Host = "evil.example" }); strings.Contains(
		page.Header.Get("Location"), "evil") {
		t.Errorf("a redirect follows the Host header: %s", page.Header.Get("Location"))
	}
}

// TestInputSlow: a client that sends slowly does not delay others, and is disconnected
// after a time.
func TestInputSlow(t *testing.T) {
	t.Parallel()
	s := startServer(t, options{})
	app := s.application(t, "--name", "Robot", "--grant", "client_credentials")
	header := "POST /o/token/ HTTP/1.1\r\nHost: x\r\nContent-Type: " + formType + "\r\nContent-Length: 29\r\n"
	begun := time.Now()
	ends := make(chan int)
	const slow = 50
	for n := range slow {
		message := header + "\r\ngrant_type="
		if n%2 == 0 {
			message = header[:len(header)-2] // the headers are incomplete
		}
		conn := s.dial(t, message)
		go func() { ends <- status(conn) }()
	}
	for range 20 {
		s.mustToken(t, app.auth(), params("grant_type", "client_credentials"))
	}
	for range slow {
		if got := <-ends; got != 0 && got != 400 && got != 408 && got != 413 {
			t.Errorf("a request that does not end is answered with %d", got)
		}
	}
	if took := time.Since(begun); took > 45*time.Second {
		t.Errorf("slow requests were kept for %v", took)
	}
	s.mustToken(t, app.auth(), params("grant_type", "client_credentials"))
}
