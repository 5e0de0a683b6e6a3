package resource

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	sampleKey = "dGhlIHNhbXBsZSBub25jZQ==" // with its answer, of RFC 6455 §1.3
	upgrade   = "Connection: Upgrade\r\nUpgrade: websocket\r\n"
	opening   = upgrade + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + sampleKey + "\r\n"
	accepted  = "HTTP/1.1 101 Switching Protocols\r\n" + upgrade + "Sec-WebSocket-Accept: " +
		"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"
	frame = "\x81\x83\x01\x02\x03\x04`bb" // the text "aaa", masked
)

// newSwitching returns a proxy to an upstream that gives each request this answer, and
// then returns the bytes that it receives.
func newSwitching(t *testing.T, answer string, rules []Rule, verifier Verifier) (*Proxy, *httptest.Server) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		io.WriteString(conn, answer)
		io.Copy(conn, conn)
	}))
	t.Cleanup(api.Close)
	proxy, err := NewProxy(ProxyConfig{Upstream: parseURL(t, api.URL), Guard: newGuard(t, GuardConfig{Verifier: verifier}),
		Rules: rules, Recheck: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return proxy, server
}

// openWebSocket sends a handshake, and returns the connection after the answer.
func openWebSocket(t *testing.T, server *httptest.Server, headers string) (net.Conn, *bufio.Reader, *http.Response) {
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(30 * time.Second))
	fmt.Fprintf(conn, "GET /ws HTTP/1.1\r\nHost: api.example\r\nAuthorization: Bearer a\r\n%s\r\n", headers)
	reader := bufio.NewReader(conn)
	resp, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	return conn, reader, resp
}

func live(until time.Time) Verifier {
	return verifierFunc(func(context.Context, string) (*Token, error) { return &Token{ExpiresAt: until}, nil })
}

func TestUpgradeRefused(t *testing.T) {
	change := func(old, new string) string { return strings.Replace(opening, old, new, 1) }
	tests := []struct {
		name, headers string
		status        int
		detail        string
	}{
		{"a handshake", opening, 101, ""},
		{"in other letters", strings.ToUpper(upgrade) + strings.TrimPrefix(opening, upgrade), 101, ""},
		{"h2c", "Connection: Upgrade\r\nUpgrade: h2c\r\n", 400, noUpgrade},
		{"h2c too", change("websocket", "websocket, h2c"), 400, noUpgrade},
		{"h2c in another header", opening + "Upgrade: h2c\r\n", 400, noUpgrade},
		{"settings", opening + "HTTP2-Settings: AAMAAABk\r\n", 400, noUpgrade},
		{"settings in another spelling", "HTTP2_Settings: AAMAAABk\r\n", 400,
			"The name of the header Http2_settings contains a character that is no letter, digit or hyphen."},
		{"settings for the hop", "Connection: http2-settings\r\n", 400, noUpgrade},
		{"not for the hop", change("Connection: Upgrade\r\n", ""), 400, noUpgrade},
		{"to nothing", "Connection: upgrade\r\n", 400, noUpgrade},
		{"empty", "Upgrade:\r\n", 400, noUpgrade},
		{"no key", change("Sec-WebSocket-Key: "+sampleKey+"\r\n", ""), 400, noHandshake},
		{"a short key", change(sampleKey, "c2hvcnQ="), 400, noHandshake},
		{"two keys", opening + "Sec-WebSocket-Key: " + sampleKey + "\r\n", 400, noHandshake},
		{"content", opening + "Transfer-Encoding: chunked\r\n\r\n0\r\n", 400, noHandshake},
		{"version 8", change("13", "8"), 426, noVersion},
		{"two versions", opening + "Sec-WebSocket-Version: 13\r\n", 426, noVersion},
	}
	_, server := newSwitching(t, accepted, []Rule{{Path: "/", WebSocket: true}}, live(time.Time{}))
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, _, resp := openWebSocket(t, server, test.headers)
			if resp.StatusCode != test.status {
				t.Fatalf("got %d", resp.StatusCode)
			}
			if test.status == 426 && resp.Header.Get("Sec-Websocket-Version") != "13" {
				t.Errorf("got %v", resp.Header)
			}
			if test.detail == "" {
				return
			}
			body, err := io.ReadAll(resp.Body)
			if err != nil || string(body) != `{"detail":"`+test.detail+`"}` {
				t.Errorf("got %s, %v", body, err)
			}
		})
	}
}

func TestUpgradeOfUpstream(t *testing.T) {
	tests := []struct {
		name, headers, answer string
		status                int
	}{
		{"asked for", opening, accepted, 101},
		{"not asked for", "", accepted, 502},
		{"another key's", opening, strings.Replace(accepted, "s3p", "S3p", 1), 502},
		{"h2c", opening, strings.Replace(accepted, "websocket", "h2c", 1), 502},
		{"websocket and h2c", opening, strings.Replace(accepted, "websocket", "websocket\r\nUpgrade: h2c", 1), 502},
		{"no Connection", opening, strings.Replace(accepted, "Connection: Upgrade\r\n", "", 1), 502},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, server := newSwitching(t, test.answer, []Rule{{Path: "/", WebSocket: true}}, live(time.Time{}))
			_, _, resp := openWebSocket(t, server, test.headers)
			if resp.StatusCode != test.status {
				t.Errorf("got %d, want %d", resp.StatusCode, test.status)
			}
		})
	}
	t.Run("the rule does not allow it", func(t *testing.T) {
		_, server := newSwitching(t, accepted, []Rule{{Path: "/"}}, live(time.Time{}))
		_, _, resp := openWebSocket(t, server, opening)
		if resp.StatusCode != 403 {
			t.Errorf("got %d", resp.StatusCode)
		}
	})
}

// Whenever a WebSocket ends, both connections end, even if one side has closed its half
// before.
func TestWebSocketEnd(t *testing.T) {
	inactive := make(chan struct{})
	tests := []struct {
		name     string
		public   bool
		verifier func() Verifier
		end      func(p *Proxy, conn net.Conn)
	}{
		{"the token ends", false, func() Verifier { return live(time.Now().Add(time.Second)) }, func(*Proxy, net.Conn) {}},
		{"the token is revoked", false, func() Verifier {
			return verifierFunc(func(context.Context, string) (*Token, error) {
				select {
				case <-inactive:
					return nil, ErrInactive
				default:
					return &Token{}, nil
				}
			})
		}, func(*Proxy, net.Conn) { close(inactive) }},
		{"the proxy is closed", false, func() Verifier { return live(time.Time{}) },
			func(p *Proxy, _ net.Conn) { p.Close() }},
		{"the proxy is closed, and the rule is public", true, func() Verifier { return live(time.Time{}) },
			func(p *Proxy, _ net.Conn) { p.Close() }},
		{"no frame", false, func() Verifier { return live(time.Time{}) },
			func(_ *Proxy, conn net.Conn) { io.WriteString(conn, "GET") }},
		{"the client closes its side", false, func() Verifier { return live(time.Time{}) },
			func(_ *Proxy, conn net.Conn) { conn.(*net.TCPConn).CloseWrite() }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p, server := newSwitching(t, accepted, []Rule{{Path: "/", Public: test.public, WebSocket: true}}, test.verifier())
			conn, reader, resp := openWebSocket(t, server, opening)
			if resp.StatusCode != 101 {
				t.Fatalf("got %d", resp.StatusCode)
			}
			io.WriteString(conn, frame)
			back := make([]byte, len(frame))
			_, err := io.ReadFull(reader, back)
			if err != nil || string(back) != frame {
				t.Fatalf("got %q, %v", back, err)
			}
			test.end(p, conn)
			_, err = reader.ReadByte()
			var late net.Error
			if err == nil || errors.As(err, &late) && late.Timeout() {
				t.Errorf("got %v", err)
			}
		})
	}
}

// The client's 101 names only the upgrade in Connection, whatever other proxies do.
func TestWebSocketAnswer(t *testing.T) {
	p, _ := newSwitching(t, strings.TrimSuffix(accepted, "\r\n")+"Content-Length: 3\r\nTransfer-Encoding: "+
		"chunked\r\nX-Other: kept\r\n\r\n",
		[]Rule{{Path: "/", WebSocket: true}}, live(time.Time{}))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close") // like a server that will stop soon
		p.ServeHTTP(w, r)
	}))
	defer server.Close()
	_, _, resp := openWebSocket(t, server, opening)
	want := http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"},
		"Sec-Websocket-Accept": {"s3pPLMBiTxaQ9kYGzzhZRbK+xOo="}, "X-Other": {"kept"}}
	if diff := cmp.Diff(want, resp.Header); diff != "" || resp.TransferEncoding != nil {
		t.Error(resp.TransferEncoding, diff)
	}
	p.Close()
}

// If the upstream has closed its half, no connection stays open when the proxy ends the
// WebSocket.
func TestWebSocketHalfClosed(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		io.WriteString(conn, accepted)
		conn.(*net.TCPConn).CloseWrite()
		io.Copy(io.Discard, conn)
	}))
	defer api.Close()
	p, err := NewProxy(ProxyConfig{Upstream: parseURL(t, api.URL),
		Guard: newGuard(t, GuardConfig{Verifier: live(time.Time{})}), Rules: []Rule{{Path: "/", WebSocket: true}}})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan bool)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.ServeHTTP(w, r)
		close(served)
	}))
	defer server.Close()
	_, reader, _ := openWebSocket(t, server, opening)
	if _, err := reader.ReadByte(); err != io.EOF {
		t.Errorf("got %v", err)
	}
	p.Close()
	select {
	case <-served:
	case <-time.After(20 * time.Second):
		t.Error("the connection of the client is still open")
	}
}

func TestLeaseEnd(t *testing.T) {
	now := time.Now()
	day := now.Add(24 * time.Hour)
	tests := []struct {
		name  string
		token *Token
		want  time.Time
	}{
		{"no token", nil, day},
		{"no end", &Token{}, day},
		{"an hour", &Token{ExpiresAt: now.Add(time.Hour)}, now.Add(time.Hour)},
		{"a year", &Token{ExpiresAt: now.AddDate(1, 0, 0)}, day},
	}
	for _, test := range tests {
		if got := leaseEnd(test.token, now); !got.Equal(test.want) {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
}

func TestLease(t *testing.T) {
	unknown := errors.New("the check fails")
	tests := []struct {
		name   string
		token  *Token
		answer func(age time.Duration) error
		want   time.Duration
	}{
		{"the end of the token", &Token{}, func(time.Duration) error { return nil }, 95 * time.Second},
		{"revoked", &Token{}, func(age time.Duration) error {
			if age > 25*time.Second {
				return ErrInactive
			}
			return nil
		}, 30 * time.Second},
		{"the check fails", &Token{}, func(age time.Duration) error {
			if age > 15*time.Second {
				return unknown
			}
			return nil
		}, 70 * time.Second},
		{"the check fails for a while", &Token{}, func(age time.Duration) error {
			if age > 15*time.Second && age < 65*time.Second {
				return unknown
			}
			return nil
		}, 95 * time.Second},
		{"without the scope", &Token{Scope: []string{}}, func(time.Duration) error { return nil }, 10 * time.Second},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				g := newGuard(t, GuardConfig{Verifier: verifierFunc(func(context.Context, string) (*Token, error) {
					return test.token, test.answer(time.Since(begun))
				})})
				if test.token.Scope == nil {
					test.token.Scope = []string{"read"}
				}
				r := httptest.NewRequest("GET", "/", nil)
				r.Header.Set("Authorization", "Bearer a")
				ctx, cancel := context.WithCancel(t.Context())
				l := lease{until: begun.Add(95 * time.Second), every: 10 * time.Second, check: func(ctx context.Context) *refusal {
					_, no := g.check(r.WithContext(ctx), requirement{scopes: []string{"read"}})
					return no
				}}
				l.watch(ctx, cancel)
				if ctx.Err() == nil || time.Since(begun) != test.want {
					t.Errorf("ended after %v: %v", time.Since(begun), ctx.Err())
				}
			})
		})
	}
}

// sink is a connection that records what is written to it.
type sink struct{ bytes.Buffer }

func (*sink) Close() error { return nil }

func TestFrames(t *testing.T) {
	const key = "\x01\x02\x03\x04"
	tests := []struct {
		name, sent string
		extended   bool
		fine       bool
	}{
		{"text", frame, false, true},
		{"a frame in two", "\x01\x81" + key + "a\x80\x81" + key + "b", false, true},
		{"empty", "\x82\x80" + key + frame, false, true},
		{"126 bytes", "\x82\xfe\x00\x7e" + key + strings.Repeat("x", 126) + frame, false, true},
		{"65536 bytes", "\x82\xff\x00\x00\x00\x00\x00\x01\x00\x00" + key + strings.Repeat("x", 65536) + frame, false, true},
		{"ping, pong, close", "\x89\x80" + key + "\x8a\x80" + key + "\x88\x80" + key, false, true},
		{"compressed", "\xc1\x81" + key + "a", true, true},
		{"compressed, not agreed on", "\xc1\x81" + key + "a", false, false},
		{"no mask", "\x81\x01a", false, false},
		{"an unknown opcode", "\x83\x80" + key, false, false},
		{"an unknown control frame", "\x8b\x80" + key, false, false},
		{"a split control frame", "\x09\x80" + key, false, false},
		{"a long control frame", "\x89\xfe\x00\x7e" + key, false, false},
		{"a length below zero", "\x82\xff\x80\x00\x00\x00\x00\x00\x00\x00" + key, false, false},
		{"a request", "GET / HTTP/1.1\r\n\r\n", false, false},
		{"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", true, false},
		{"a frame and a request", frame + "GET / HTTP/1.1\r\n\r\n", false, false},
	}
	for _, test := range tests {
		for _, size := range []int{1, 3, len(test.sent)} {
			out := &sink{}
			f := &frames{ReadWriteCloser: out, extended: test.extended}
			fine := writeParts(f, test.sent, size)
			if fine != test.fine || fine && out.String() != test.sent {
				t.Errorf("%s in parts of %d: %v, %d bytes", test.name, size, fine, out.Len())
			}
		}
	}
}

func writeParts(w io.Writer, text string, size int) bool {
	for len(text) > 0 {
		n := min(size, len(text))
		_, err := io.WriteString(w, text[:n])
		if err != nil {
			return false
		}
		text = text[n:]
	}
	return true
}

// The result does not depend on how the bytes are divided, and they are forwarded
// unchanged.
func FuzzFrames(f *testing.F) {
	f.Add(frame+frame, 2)
	f.Add("\x82\xfe\x00\x7e\x01\x02\x03\x04", 5)
	f.Add("GET / HTTP/1.1\r\n\r\n", 1)
	f.Fuzz(func(t *testing.T, sent string, size int) {
		if size < 1 {
			return
		}
		whole, parts := &sink{}, &sink{}
		a := writeParts(&frames{ReadWriteCloser: whole}, sent, max(len(sent), 1))
		b := writeParts(&frames{ReadWriteCloser: parts}, sent, size)
		if a != b || a && (whole.String() != sent || parts.String() != sent) || !strings.HasPrefix(sent, parts.String()) {
			t.Errorf("at once %v, in parts of %d %v", a, size, b)
		}
	})
}
