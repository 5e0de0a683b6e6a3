package resource

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// openProxy returns a proxy without tokens in front of an upstream.
func openProxy(t *testing.T, upstream string) *Proxy {
	t.Helper()
	p, err := NewProxy(ProxyConfig{Upstream: parseURL(t, upstream),
		Guard: newGuard(t, GuardConfig{Verifier: live(time.Time{})}), Rules: []Rule{{Path: "/", Public: true}}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// pipeListener is a listener without a network, so that the time of a test is virtual.
type pipeListener struct {
	connections chan net.Conn
	closed      chan struct{}
	once        sync.Once
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.connections:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error   { l.once.Do(func() { close(l.closed) }); return nil }
func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

func (l *pipeListener) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	l.connections <- server
	return client, nil
}

// No request fails because the upstream closes its idle connections, however often it comes.
func TestUpstreamClosesIdleConnections(t *testing.T) {
	for name, keeps := range map[string]time.Duration{"gunicorn": 2 * time.Second,
		"Node, uvicorn, Apache": 5 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			l := &pipeListener{connections: make(chan net.Conn), closed: make(chan struct{})}
			api := &http.Server{IdleTimeout: keeps,
				Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })}
			go api.Serve(l)
			p := openProxy(t, "http://api.example")
			transport := p.forward.Transport.(*http.Transport)
			transport.DialContext = l.dial
			for _, pause := range []time.Duration{0, time.Millisecond, keeps - time.Millisecond, keeps,
				keeps + time.Millisecond} {
				for range 20 {
					w := httptest.NewRecorder()
					p.ServeHTTP(w, httptest.NewRequest("POST", "http://api.example/", strings.NewReader("a")))
					if w.Code != 200 || w.Body.String() != "a" {
						t.Errorf("%s, a request after %v: %d %s", name, pause, w.Code, w.Body)
					}
					time.Sleep(pause)
				}
			}
			transport.CloseIdleConnections()
			api.Close()
		})
	}
}

// A request whose connection failed is repeated if its method or its key allows it, and no other
// (RFC 9110 §9.2.2).
func TestRequestIsRepeated(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var got atomic.Int64
	// Each connection answers one request, and is closed by the next one.
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				reader := bufio.NewReader(conn)
				for range 2 {
					r, err := http.ReadRequest(reader)
					if err != nil {
						return
					}
					content, _ := io.ReadAll(r.Body)
					got.Add(1)
					if got.Load() != 2 {
						fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(content), content)
					}
				}
			}()
		}
	}()
	for _, test := range []struct {
		method, content, key string
		want                 int
	}{
		{"GET", "", "", 200}, {"PUT", "abc", "", 200}, {"DELETE", "", "", 200}, {"DELETE", "abc", "", 200},
		{"POST", "abc", "k", 200}, {"POST", "", "k", 200},
		{"PUT", strings.Repeat("a", maxRepeatable+1), "", 502}, {"POST", "abc", "", 502}, {"PATCH", "abc", "", 502},
		{"POST", "", "", 502},
	} {
		got.Store(0)
		server := httptest.NewServer(openProxy(t, "http://"+l.Addr().String()))
		for i, want := range []int{200, test.want} {
			r, err := http.NewRequest(test.method, server.URL, strings.NewReader(test.content))
			if err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				r.Method = "POST"
			}
			if test.key != "" {
				r.Header.Set("Idempotency-Key", test.key)
			}
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			answer, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.StatusCode != want || want == 200 && string(answer) != test.content {
				t.Errorf("%+.50v, request %d: %d %.50s", test, i, resp.StatusCode, answer)
			}
		}
		if n := got.Load(); n != 2 && test.want == 502 || n != 3 && test.want == 200 {
			t.Errorf("%+.50v: the upstream got %d requests", test, n)
		}
		server.Close()
	}
}

// An upstream that answers before it has read everything gets the whole content, and nothing of it is
// left out.
func TestContentIsWhole(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		_ = control.EnableFullDuplex()
		piece := make([]byte, 3)
		for {
			n, err := io.ReadFull(r.Body, piece)
			_, _ = w.Write(piece[:n])
			_ = control.Flush()
			if err != nil {
				return
			}
		}
	}))
	defer api.Close()
	server := httptest.NewServer(openProxy(t, api.URL))
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n000\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	piece := make([]byte, 3)
	for i := range 50 {
		_, err = io.ReadFull(resp.Body, piece)
		if want := fmt.Sprintf("%03d", i); err != nil || string(piece) != want {
			t.Fatalf("got %q, %v, want %s", piece, err, want)
		}
		fmt.Fprintf(conn, "3\r\n%03d\r\n", i+1)
	}
}

// Content that ends too early does not reach the upstream as a whole.
func TestContentIsIncomplete(t *testing.T) {
	api, last := newUpstream(t)
	server := httptest.NewServer(openProxy(t, api.URL))
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "DELETE / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc")
	_ = conn.(*net.TCPConn).CloseWrite()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err == nil && resp.StatusCode != 400 || last.Method != "" {
		t.Errorf("%v, %v, the upstream got %q", resp, err, last.Method)
	}
}
