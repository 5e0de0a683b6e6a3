package mandate

import (
	"bytes"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// h2c are the headers of RFC 7540 §3.2.
var h2c = []string{"Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA"}

func TestAttackUpgrade(t *testing.T) {
	ownProcesses(t)
	s := startServer(t, options{})
	app := s.whole(t, "service")
	token := s.mustToken(t, app.auth(), params("grant_type", "client_credentials", "scope", "read")).AccessToken
	t.Run("h2c smuggling", func(t *testing.T) { s.smugglesH2C(t, token) })
	api := newSwitcher(t)
	g := s.protects(t, api.url, "{PATH: /plain}", "{PATH: /ws, WEBSOCKET: true}",
		"{PATH: /scoped, SCOPES: [write], WEBSOCKET: true}")
	t.Run("a switch that nobody asked for", func(t *testing.T) { g.switchUnasked(t, api, token) })
	t.Run("a false handshake", func(t *testing.T) { g.falseHandshake(t, api, token) })
	t.Run("a tunnel in a WebSocket", func(t *testing.T) { g.tunnelInWebSocket(t, api, token) })
}

// An upstream that accepts an upgrade to HTTP/2 would serve all later requests on the
// connection without a check by the proxy.
func (s *server) smugglesH2C(t *testing.T, token string) {
	attack(t, "request smuggling by a protocol upgrade", "h2c smuggling (Bishop Fox, 2020)")
	api := hypercorn(t)
	g := s.protects(t, api, "{PATH: /open}", "{PATH: /admin, SCOPES: [write]}")
	if status := g.get(t, "/admin", bearer(token)).Status; status != http.StatusForbidden {
		t.Fatalf("/admin answers %d to a token that must not go there", status)
	}
	direct := &server{URL: api}
	if _, _, response := direct.switches(t, "/open", "", h2c...); response.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("this Hypercorn answers %d to h2c, so it shows nothing", response.StatusCode)
	}
	for _, headers := range [][]string{
		h2c,
		{"Connection: Upgrade", "Upgrade: h2c"},
		{"Upgrade: h2c", "HTTP2-Settings: AAMAAABk"},
		{"Connection: HTTP2-Settings", "HTTP2-Settings: AAMAAABk"},
		{"HTTP2-Settings: AAMAAABk"},
		{"Connection: keep-alive, upgrade"},
		{"Connection: upgrade, HTTP2-Settings", "Upgrade: H2C", h2c[2]},
		{"Connection: Upgrade", "Upgrade: websocket, h2c", h2c[2]},
		{"Connection: Upgrade", "Upgrade: websocket", "Upgrade: h2c", h2c[2]},
		{"Connection: Upgrade", "Upgrade:"},
		{"Connection: Upgrade", "Upgrade: TLS/1.0"},
	} {
		conn, reader, response := g.switches(t, "/open", token, headers...)
		if response.StatusCode == http.StatusBadRequest {
			text, err := io.ReadAll(response.Body)
			if err != nil || !strings.Contains(string(text), "without the headers Upgrade and HTTP2-Settings") {
				t.Errorf("%q: the text %s, %v", headers, text, err)
			}
			continue
		}
		t.Errorf("%q: %d, want 400", headers, response.StatusCode)
		if response.StatusCode == http.StatusSwitchingProtocols {
			t.Errorf("/admin answers through it: %s", smuggled(t, conn, reader))
		}
	}
}

// smuggled requests /admin by HTTP/2 on a switched connection, and returns the content
// of the answer.
func smuggled(t *testing.T, w io.Writer, r io.Reader) string {
	t.Helper()
	var fields bytes.Buffer
	encoder := hpack.NewEncoder(&fields)
	for _, f := range [][2]string{{":method", "GET"}, {":scheme", "http"}, {":path", "/admin"}, {":authority", "api"},
		{"x-token-subject", "root"}} {
		_ = encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}) // into memory
	}
	_, err := io.WriteString(w, http2.ClientPreface)
	if err != nil {
		return err.Error()
	}
	framer := http2.NewFramer(w, r)
	err = framer.WriteSettings()
	if err == nil {
		err = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 3, BlockFragment: fields.Bytes(), EndStream: true,
			EndHeaders: true})
	}
	for err == nil {
		var frame http2.Frame
		frame, err = framer.ReadFrame()
		if data, ok := frame.(*http2.DataFrame); ok && data.StreamID == 3 {
			return string(data.Data())
		}
	}
	return err.Error()
}

// handshake returns the headers that open a WebSocket (RFC 6455 §4.1), with changes: a
// change replaces the header of the same name, or removes it if it has no value.
func handshake(changes ...string) []string {
	headers := []string{"Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="}
	for _, change := range changes {
		name, value, _ := strings.Cut(change, ":")
		kept := []string{}
		for _, h := range headers {
			if !strings.HasPrefix(h, name+":") {
				kept = append(kept, h)
			}
		}
		if value != "" {
			kept = append(kept, change)
		}
		headers = kept
	}
	return headers
}

// accepting returns the answer of RFC 6455 §4.2.2 to a handshake.
func accepting(r *http.Request) string {
	digest := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	return "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: " +
		base64.StdEncoding.EncodeToString(digest[:]) + "\r\n"
}

// An upstream that switches protocols without a request, or to another protocol, opens
// no tunnel.
func (s *server) switchUnasked(t *testing.T, api *switcher, token string) {
	attack(t, "request smuggling by a protocol upgrade", "WebSocket smuggling (Mikhail Egorov, 2019)")
	fixed := func(lines string) func(*http.Request) string { return func(*http.Request) string { return lines } }
	for _, c := range []struct {
		name, path string
		headers    []string
		answer     func(*http.Request) string
		want       int
	}{
		{"no upgrade was asked for", "/plain", nil, fixed(""), 502},
		{"nor here", "/ws", nil, accepting, 502},
		{"the rule has no WebSocket", "/plain", handshake(), accepting, 403},
		{"no headers", "/ws", handshake(), fixed(""), 502},
		{"h2c", "/ws", handshake(), fixed("Connection: Upgrade\r\nUpgrade: h2c\r\n"), 502},
		{"no Sec-WebSocket-Accept", "/ws", handshake(), fixed("Connection: Upgrade\r\nUpgrade: websocket\r\n"), 502},
		{"another Sec-WebSocket-Accept", "/ws", handshake("Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="),
			fixed("Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"), 502},
		{"two protocols", "/ws", handshake(), func(r *http.Request) string { return accepting(r) + "Upgrade: h2c\r\n" }, 502},
		{"no Connection", "/ws", handshake(),
			func(r *http.Request) string { return strings.TrimPrefix(accepting(r), "Connection: Upgrade\r\n") }, 502},
		{"a WebSocket", "/ws", handshake(), accepting, 101},
	} {
		api.answers(c.answer)
		_, _, response := s.switches(t, c.path, token, c.headers...)
		if response.StatusCode != c.want {
			t.Errorf("%s: %d, want %d", c.name, response.StatusCode, c.want)
		}
	}
}

// An invalid handshake (RFC 6455) opens nothing, even where a rule allows WebSockets.
func (s *server) falseHandshake(t *testing.T, api *switcher, token string) {
	attack(t, "request smuggling by a protocol upgrade", "WebSocket smuggling (Mikhail Egorov, 2019)")
	api.answers(accepting)
	for _, c := range []struct {
		request string
		headers []string
		want    int
	}{
		{"GET /ws HTTP/1.1", handshake("Sec-WebSocket-Version: 777"), 426},
		{"GET /ws HTTP/1.1", handshake("Sec-WebSocket-Version:"), 426},
		{"GET /ws HTTP/1.1", handshake("Sec-WebSocket-Key:"), 400},
		{"GET /ws HTTP/1.1", handshake("Sec-WebSocket-Key: c2hvcnQ="), 400},
		{"GET /ws HTTP/1.1", append(handshake(), "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="), 400},
		{"GET /ws HTTP/1.1", handshake("Connection:"), 400},
		{"GET /ws HTTP/1.1", append(handshake(), "HTTP2-Settings: AAMAAABk"), 400},
		{"GET /ws HTTP/1.1", append(handshake(), "Content-Length: 1"), 400},
		{"GET /ws HTTP/1.1", append(handshake(), "Transfer-Encoding: chunked"), 400},
		{"GET /ws HTTP/1.0", handshake(), 400},
		{"POST /ws HTTP/1.1", append(handshake(), "Content-Length: 0"), 400},
		{"GET /scoped HTTP/1.1", handshake(), 403},
	} {
		message := append([]string{c.request, "Host: api.example", "Authorization: Bearer " + token}, c.headers...)
		got := status(s.dial(t, strings.Join(message, "\r\n")+"\r\n\r\n0\r\n\r\n"))
		if got != c.want {
			t.Errorf("%s %q: %d, want %d", c.request, c.headers, got, c.want)
		}
	}
	if _, _, response := s.switches(t, "/ws", "", handshake()...); response.StatusCode != http.StatusUnauthorized {
		t.Errorf("without a token: %d", response.StatusCode)
	}
}

// A WebSocket carries only frames, and no other protocol.
func (s *server) tunnelInWebSocket(t *testing.T, api *switcher, token string) {
	attack(t, "request smuggling by a protocol upgrade", "")
	api.answers(accepting)
	if got := api.got(); got != "" {
		t.Errorf("before anything was sent in a WebSocket, the upstream got %q", got)
	}
	const frame = "\x81\x83\x01\x02\x03\x04`bb" // the text "aaa", masked
	for _, c := range []struct{ sent, passed string }{
		{"GET /admin HTTP/1.1\r\nHost: api\r\nX-Token-Subject: root\r\n\r\n", ""},
		{http2.ClientPreface, ""},
		{frame + "GET /admin HTTP/1.1\r\nHost: api\r\n\r\n", frame},
		{"\x81\x03aaa", "\x81"}, // RFC 6455 §5.1: a client masks its frames
	} {
		conn, reader, response := s.switches(t, "/ws", token, handshake()...)
		if response.StatusCode != http.StatusSwitchingProtocols {
			t.Fatalf("%d", response.StatusCode)
		}
		// The first part is only the frame, the second part the rest.
		for _, part := range []string{c.sent[:len(c.passed)], c.sent[len(c.passed):]} {
			_, err := io.WriteString(conn, part)
			if err != nil {
				t.Fatal(err)
			}
			if part == c.passed && part == frame {
				waitFor(t, "the frame arrives", func() bool {
					api.mu.Lock()
					defer api.mu.Unlock()
					return string(api.tunnelled) == frame
				})
			}
		}
		_, err := io.ReadAll(reader) // until the proxy closes
		if late, ok := err.(net.Error); ok && late.Timeout() {
			t.Errorf("%.20q: the connection stays open", c.sent)
		}
		// The first byte of an unmasked frame may pass, because the error is in the
		// second byte.
		if got := api.got(); got != c.passed && (got != "" || c.passed == frame) {
			t.Errorf("%.20q: the upstream got %q, want %q", c.sent, got, c.passed)
		}
	}
}

// A WebSocket ends as soon as the proxy begins to stop. It does not wait for running
// requests.
func TestAttackWebSocketOutlivesProxy(t *testing.T) {
	ownProcesses(t)
	attack(t, "a connection that outlives its credentials", "")
	api := newSwitcher(t)
	asked, answer := make(chan bool), make(chan bool)
	api.answers(func(r *http.Request) string {
		if r.URL.Path == "/ws/slow" {
			close(asked)
			<-answer
		}
		return accepting(r)
	})
	s := startServer(t, options{})
	app := s.whole(t, "service")
	g := s.protects(t, api.url, "{PATH: /ws, WEBSOCKET: true}")
	token := s.mustToken(t, app.auth(), params("grant_type", "client_credentials")).AccessToken
	_, reader, response := g.switches(t, "/ws", token, handshake()...)
	if response.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%d", response.StatusCode)
	}
	slow := g.dial(t, "GET /ws/slow HTTP/1.1\r\nHost: api.example\r\nAuthorization: Bearer "+token+"\r\n\r\n")
	<-asked
	g.process.end()
	_, err := reader.ReadByte()
	if late, ok := err.(net.Error); err == nil || ok && late.Timeout() || !g.process.running() {
		t.Errorf("%v; the proxy runs: %v", err, g.process.running())
	}
	close(answer)
	if got := status(slow); got != http.StatusBadGateway {
		t.Errorf("the request in flight: %d", got)
	}
	<-g.process.exited
}

// A WebSocket ends when its token ends in any way, and when the proxy stops.
func TestAttackWebSocketOutlivesToken(t *testing.T) {
	ownProcesses(t)
	attack(t, "a connection that outlives its credentials", "")
	api := hypercorn(t)
	s := startServer(t, options{provider: []string{"JWT_ACCESS_TOKEN_EXPIRE_SECONDS: 4"}})
	alice, long := s.person(t, "alice"), s.whole(t, "long")
	short := s.whole(t, "short", "--access-token-format", "jwt", "--algorithm", "ES256")
	asker := s.introspector(t)
	g := s.guard(t, api, []string{"{PATH: /ws, SCOPES: [read], WEBSOCKET: true}", "{PATH: /plain}"},
		"RESOURCE_SERVER_INTROSPECTION_URL: "+quote(s.URL+"/o/introspect/"), "RESOURCE_SERVER_TOKEN_CACHING_SECONDS: 0",
		fmt.Sprintf("RESOURCE_SERVER_INTROSPECTION_CREDENTIALS: [%s, %s]", quote(asker.ClientID), quote(asker.ClientSecret)))
	address := strings.Replace(g.URL, "http", "ws", 1)
	open := func(path, token string) map[string]any {
		t.Helper()
		return webSocket(t, map[string]any{"step": "open", "url": address + path, "token": token})
	}
	step := func(name string, socket map[string]any, text string) map[string]any {
		t.Helper()
		return webSocket(t, map[string]any{"step": name, "id": socket["id"], "text": text})
	}
	kept, revoked := s.pair(t, long, alice), s.pair(t, long, alice)
	if got := open("/plain", kept.AccessToken); got["status"] != 403.0 {
		t.Errorf("where the rule allows none: %v", got)
	}
	if got := open("/ws", "mat_unknown"); got["status"] != 401.0 {
		t.Errorf("with an unknown token: %v", got)
	}
	stays, taken := open("/ws", kept.AccessToken), open("/ws", revoked.AccessToken)
	subject := fmt.Sprint(s.introspect(t, asker.auth(), kept.AccessToken)["sub"])
	if stays["text"] != "subject "+subject || taken["id"] == nil {
		t.Fatalf("%v, %v", stays, taken)
	}
	for _, text := range []string{"hello", strings.Repeat("x", 200), strings.Repeat("ä", 50_000)} {
		if got := step("say", stays, text); got["text"] != text {
			t.Errorf("the echo of %d characters is %.50v", len(text), got)
		}
	}
	// The token expires.
	begun := time.Now()
	ends := open("/ws", s.pair(t, short, alice).AccessToken)
	if got := step("end", ends, ""); got["closed"] != true || time.Since(begun) > 10*time.Second {
		t.Errorf("after the end of its token: %v within %v", got, time.Since(begun))
	}
	if time.Since(begun) < 2*time.Second {
		t.Errorf("it lived for %v alone", time.Since(begun))
	}
	// The token is revoked.
	s.revoke(t, long.auth(), revoked.AccessToken)
	if got := step("end", taken, ""); got["closed"] != true {
		t.Errorf("after its token was revoked: %v", got)
	}
	// The proxy stops.
	if got := step("say", stays, "still here"); got["text"] != "still here" {
		t.Errorf("the one whose token lives: %v", got)
	}
	g.stop(t)
	if got := step("end", stays, ""); got["closed"] != true {
		t.Errorf("after the proxy has stopped: %v", got)
	}
}
