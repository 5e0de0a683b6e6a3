//go:build !race

// With the race detector, pools lose what is given back to them.

package resource

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"mandate/testkit"
)

// costSize is the size of the header of a request that `mandate resource-server` reads.
const costSize = 32 << 10

// What one request may cost, whatever is in it: the bytes that are allocated are at most so many for each of its bytes,
// and the processor time is at most so many times that in which net/http reads a plain request of the same size.
const (
	mostAllocated = 80
	mostTime      = 30
)

// costs are what one request takes.
type costs struct {
	allocated uint64 // bytes
	objects   uint64
	time      time.Duration // of this thread
}

// costOf returns what a request costs at a handler that starts no goroutine.
func costOf(t *testing.T, h http.Handler, r *http.Request) costs {
	t.Helper()
	var before, after runtime.MemStats
	w := httptest.NewRecorder()
	runtime.ReadMemStats(&before)
	began := testkit.ThreadTime(t)
	h.ServeHTTP(w, r)
	took := testkit.ThreadTime(t) - began
	runtime.ReadMemStats(&after)
	return costs{after.TotalAlloc - before.TotalAlloc, after.Mallocs - before.Mallocs, took}
}

// readingTime is the processor time in which net/http reads a plain request with many headers.
func readingTime(t *testing.T) time.Duration {
	t.Helper()
	text := "GET / HTTP/1.1\r\nHost: a\r\n"
	for n := 0; len(text) < costSize; n++ {
		text += fmt.Sprintf("X-%x: a\r\n", n)
	}
	const times = 20 // the clock can have steps of a millisecond
	began := testkit.ThreadTime(t)
	for range times {
		_, err := http.ReadRequest(bufio.NewReader(strings.NewReader(text + "\r\n")))
		if err != nil {
			t.Fatal(err)
		}
	}
	return (testkit.ThreadTime(t) - began) / times
}

// costHandlers are what a request of a stranger can meet: proxies and a guard, with many rules, and with all that reads
// something of a request. An upstream answers in the same goroutine.
func costHandlers(t *testing.T) map[string]http.Handler {
	t.Helper()
	handlers := map[string]http.Handler{}
	config := GuardConfig{BaseURLs: []string{"https://api.example"},
		AuthorizationServers: []string{"https://auth.example"}, Audience: "https://api.example",
		AllowedOrigins: []string{"https://app.example"}, CertificateHeader: "X-Cert",
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")},
		Logger:         slog.New(slog.NewTextHandler(io.Discard, nil))}
	for name, token := range map[string]*Token{"no token": nil, "a token": {Scope: []string{"read"}}} {
		config.Verifier = verifierFunc(func(context.Context, string) (*Token, error) {
			if token == nil {
				return nil, ErrInactive
			}
			return token, nil
		})
		guard := newGuard(t, config)
		handlers["guard, "+name] = guard.Wrap(guard.Require(http.NotFoundHandler(), "read"))
		for _, written := range []bool{false, true} {
			rules := []Rule{{Path: "/", Public: token == nil, PathAsWritten: written},
				{Path: "/x.pl", Scopes: []string{"read"}, PathAsWritten: written}}
			for n := range 30 {
				rules = append(rules, Rule{Path: fmt.Sprintf("/a%d", n), Scopes: []string{"read"}, PathAsWritten: written})
			}
			p, err := NewProxy(ProxyConfig{Upstream: parseURL(t, "http://api.example"), Guard: guard, Rules: rules,
				Logger: config.Logger})
			if err != nil {
				t.Fatal(err)
			}
			p.forward.Transport = &answering{}
			handlers[fmt.Sprintf("proxy, %s, PathAsWritten %t", name, written)] = p
		}
	}
	return handlers
}

// costHeaders are the headers that the proxy, the guard or net/http reads.
var costHeaders = []string{
	"Connection", "Upgrade", "Http2-Settings", "Te", "Trailer", "Proxy-Connection", "Transfer-Encoding", "Expect",
	"Sec-Websocket-Key", "Sec-Websocket-Version",
	"Destination", "Depth", "Authorization", "Dpop", "Origin", "Access-Control-Request-Method", "X-Cert", "Cookie",
	"X-Forwarded-For", "X-Other", "X_Other",
	"X-Http-Method-Override", "X-Amz-Copy-Source", "Idempotency-Key",
}

// costly returns requests of about this size, by what is in them.
func costly(size int) map[string]*http.Request {
	fill := func(part string) string { return strings.Repeat(part, (size-64)/len(part)) }
	requests := map[string]*http.Request{}
	add := func(what, method, target string, header http.Header) *http.Request {
		r := &http.Request{Method: method, URL: &url.URL{Path: "/"}, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Host: "api.example", RemoteAddr: "192.0.2.1:1", Body: http.NoBody,
			Header: http.Header{"Authorization": {"Bearer x"}}}
		u, err := url.ParseRequestURI(target)
		if err == nil {
			r.URL, r.RequestURI = u, target
		} else {
			r.URL.RawQuery = target // HTTP/2 carries it
		}
		for name, values := range header {
			r.Header[name] = values
		}
		requests[what] = r
		return r
	}
	for _, part := range []string{
		"/.pl", "/a.php", "/x.pl/.pl", "/.pl;a", "/.pl%2Fa;b", "/%2F.pl", "/;.pl", "/a;b", "/a%3Bb.pl", "/", "//a",
		"/%E2%80%8B", "/%C4%B0", "/%C2%AD.pl", "/(S(a))", "/.a", "/a%20b", "/%25a", "/abc", "a", "%61",
	} {
		for _, method := range []string{"GET", "COPY"} {
			add(method+" path "+part, method, "/"+strings.TrimPrefix(fill(part), "/"), nil)
			add(method+" path /x.pl"+part, method, "/x.pl/"+strings.TrimPrefix(fill(part), "/"), nil)
			add(method+" well-known "+part, method, wellKnown+fill(part), nil)
		}
	}
	for _, part := range []string{"a&", "a;", ".&", "%5b&", "%&", "+&", "a[&", "a", "a=1&", "%2e%", "_method.&",
		"%00;", " &"} {
		add("query "+part, "GET", "/?"+fill(part), nil)
	}
	for _, name := range costHeaders {
		for _, part := range []string{"a", "a,", ",", " ,", "te,", "X-Other,", "/.pl", "/%2F", "%25", "Bearer ", ".", ":",
			"=", "-", "\x7f"} {
			add(fmt.Sprintf("header %s %q", name, part), "COPY", "/a", http.Header{name: {fill(part)}})
		}
		lines := size / (len(name) + 6)
		add("lines "+name, "MOVE", "/a", http.Header{name: slices.Repeat([]string{"/a"}, lines)})
		add("lines of two "+name, "MOVE", "/a", http.Header{name: slices.Repeat([]string{"a,te"}, lines), "Te": {"a"}})
	}
	many, options := http.Header{}, http.Header{}
	for n := range size / 10 {
		many[fmt.Sprintf("X-%x", n)] = []string{"a"}
	}
	for n := range size / 20 {
		options[fmt.Sprintf("X-%x", n)] = []string{"a"}
	}
	options["Connection"] = []string{fill("a-b,")[:size/2]}
	add("many headers", "GET", "/a", many)
	add("many headers and options", "GET", "/a", options)
	add("a long method", fill("A"), "/a", nil) // HTTP/2 carries it
	add("a long host", "GET", "/a", nil).Host = fill("a.")
	add("a host of marks", "GET", "/a", nil).Host = fill("[:")
	return requests
}

// A CPU and memory bill that a stranger runs up (CWE-407, CWE-789; CVE-2022-2879 and CVE-2023-24534 are of this class):
// what one request costs at the proxy or the guard grows with its size and not faster, whatever is in it, with a token
// or without.
func TestAttackProxyCostOfARequest(t *testing.T) {
	handlers := costHandlers(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	limit := mostTime * readingTime(t)
	var most costs
	wrong := 0
	for of, h := range handlers {
		for _, size := range []int{costSize, maxPath} { // a path longer than maxPath is not read
			half := costly(size / 2)
			for what, r := range costly(size) {
				costOf(t, h, half[what]) // the first of a kind can fill a pool or a table
				before, c := costOf(t, h, half[what]), costOf(t, h, r)
				for n := 0; n < 5 && tooMuch(size, before, c, limit) != ""; n++ {
					// The garbage collector takes time, and empties pools, but not each time.
					again := costOf(t, h, r)
					c = costs{min(c.allocated, again.allocated), min(c.objects, again.objects), min(c.time, again.time)}
				}
				if problem := tooMuch(size, before, c, limit); problem != "" {
					t.Errorf("%s, %s in %d bytes: %s", of, what, size, problem)
					wrong++
				}
				if wrong > 10 {
					t.FailNow()
				}
				most = costs{max(most.allocated, c.allocated), max(most.objects, c.objects), max(most.time, c.time)}
			}
		}
	}
	t.Logf("the most: %d bytes, %d objects, %s of %s", most.allocated, most.objects, most.time, limit)
}

// tooMuch says why the costs of a request of this size are too high, or "". before are those of half of it.
func tooMuch(size int, before, c costs, limit time.Duration) string {
	switch {
	case c.allocated > uint64(mostAllocated*size):
		return fmt.Sprintf("%d bytes are allocated", c.allocated)
	// Slices and maps grow by steps, so a cost that is proportional to the size can look larger here.
	case c.allocated > 3*before.allocated+uint64(size) || c.objects > 3*before.objects+1000:
		return fmt.Sprintf("%d bytes and %d objects at half of the size become %d and %d", before.allocated, before.objects,
			c.allocated, c.objects)
	case c.time > limit:
		return fmt.Sprintf("it takes %s, and at most %s is allowed", c.time, limit)
	}
	return ""
}

// The same over HTTP/2, which carries what HTTP/1.1 cannot, and packs it.
func TestAttackProxyCostOverHTTP2(t *testing.T) {
	for of, h := range costHandlers(t) {
		server := httptest.NewUnstartedServer(h)
		server.EnableHTTP2, server.Config.MaxHeaderBytes = true, costSize
		server.StartTLS()
		transport := server.Client().Transport.(*http.Transport)
		transport.TLSClientConfig = &tls.Config{RootCAs: transport.TLSClientConfig.RootCAs, ServerName: "example.com"}
		allocated := func(r *http.Request) (uint64, error) {
			r = r.Clone(t.Context())
			r.URL.Scheme, r.URL.Host, r.RequestURI, r.Body = "https", server.Listener.Addr().String(), "", nil
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			resp, err := transport.RoundTrip(r)
			if err != nil {
				return 0, err
			}
			_, err = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			runtime.ReadMemStats(&after)
			if resp.ProtoMajor != 2 {
				t.Fatal(resp.Proto)
			}
			return after.TotalAlloc - before.TotalAlloc, err
		}
		sent := 0
		for what, r := range costly(costSize * 3 / 4) {
			n, err := allocated(r)
			if err != nil {
				continue // HTTP/2 or this client does not carry it
			}
			sent++
			if n > 2*mostAllocated*costSize { // with the client
				t.Errorf("%s, %s: %d bytes are allocated for one of %d bytes", of, what, n, costSize)
			}
		}
		if sent < 200 {
			t.Errorf("%s: only %d requests were sent", of, sent)
		}
		server.Close()
	}
}
