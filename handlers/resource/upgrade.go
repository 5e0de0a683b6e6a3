package resource

import (
	"bufio"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
)

// webSocketKey is the context key of the WebSocket that a request may open.
type webSocketKey struct{}

// webSocket replaces the ResponseWriter of a handshake. After the switch of the
// protocol, it monitors the connection.
type webSocket struct {
	http.ResponseWriter
	accept string // the Sec-WebSocket-Accept that the upstream must send
	lease  lease
	ctx    context.Context // the request's context; its end closes both connections
	end    context.CancelFunc
}

// Unwrap returns the wrapped ResponseWriter, for http.ResponseController.
func (s *webSocket) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// Hijack returns the client's connection and starts to monitor it.
func (s *webSocket) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(s.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	s.Header().Del("Connection") // the upstream's Connection header names the upgrade
	context.AfterFunc(s.ctx, func() { conn.Close() })
	go s.lease.watch(s.ctx, s.end)
	return conn, buffered, nil
}

// The texts of refusals, for the client's developer.
const (
	noUpgrade = "This server does not switch to another protocol: send the request without the headers Upgrade and " +
		"HTTP2-Settings, and without their names in Connection."
	noHandshake = "This is not a WebSocket handshake: use GET and HTTP/1.1 without content, and one Sec-WebSocket-Key " +
		"of 16 bytes in base64 (RFC 6455 §4.1)."
	noVersion   = "This server supports only version 13 of the WebSocket protocol."
	noWebSocket = "You do not have permission to perform this action: no rule of this server allows a WebSocket here."
)

// errSwitched means that the upstream switched the protocol without a request for it.
var errSwitched = errors.New("the upstream switched to another protocol, but not with a valid WebSocket handshake " +
	"(RFC 6455) that was requested and is allowed")

// refuseUpgrade refuses a request that asks for another protocol and is not a valid
// WebSocket handshake, and reports whether it did. After a switch of the protocol,
// requests would reach the upstream without a check of the rules.
func refuseUpgrade(w http.ResponseWriter, r *http.Request) bool {
	switch {
	case !asksUpgrade(r.Header):
		return false
	// RFC 9110 §7.8: the name of a protocol is case-insensitive, and the list may have
	// several.
	case !one(r.Header, "Upgrade", func(v string) bool { return strings.EqualFold(v, "websocket") }) ||
		!connectionNames(r.Header, "upgrade") || asksHTTP2(r.Header):
		writeDetail(w, http.StatusBadRequest, noUpgrade)
	// RFC 6455 §4.1: GET, HTTP/1.1, and a key of 16 bytes. Some servers read a GET with
	// content as two requests.
	case r.Method != http.MethodGet || r.ProtoMajor != 1 || !r.ProtoAtLeast(1, 1) || r.ContentLength != 0 ||
		!one(r.Header, "Sec-Websocket-Key", isNonce):
		writeDetail(w, http.StatusBadRequest, noHandshake)
	// RFC 6455 §4.2.2: the answer to another version names the supported one.
	case !one(r.Header, "Sec-Websocket-Version", func(v string) bool { return v == "13" }):
		w.Header().Set("Sec-Websocket-Version", "13")
		w.Header().Set("Connection", "Upgrade") // RFC 9110 §15.5.22: 426 names the protocol
		w.Header().Set("Upgrade", "websocket")
		writeDetail(w, http.StatusUpgradeRequired, noVersion)
	default:
		return false
	}
	return true
}

// asksUpgrade reports whether any header of a request asks for another protocol.
func asksUpgrade(h http.Header) bool {
	_, upgrade := h["Upgrade"]
	return upgrade || connectionNames(h, "upgrade") || asksHTTP2(h)
}

// asksHTTP2 reports whether a request has the header of RFC 7540 §3.2.1 in any
// spelling.
func asksHTTP2(h http.Header) bool {
	for name := range h {
		if headerAlias(name) == "http2-settings" {
			return true
		}
	}
	return connectionNames(h, "http2-settings")
}

// connectionNames reports whether a Connection header has this option
// (RFC 9110 §7.6.1).
func connectionNames(h http.Header, option string) bool {
	for _, line := range h["Connection"] {
		for value := range strings.SplitSeq(line, ",") {
			if headerAlias(strings.TrimSpace(value)) == option {
				return true
			}
		}
	}
	return false
}

// one reports whether there is exactly one header of this name and its value is
// accepted.
func one(h http.Header, name string, wanted func(string) bool) bool {
	return len(h[name]) == 1 && wanted(h[name][0])
}

func isNonce(key string) bool {
	raw, err := base64.StdEncoding.Strict().DecodeString(key)
	return err == nil && len(raw) == 16
}

// acceptOf returns the Sec-WebSocket-Accept for a key. RFC 6455 §4.2.2 requires SHA-1.
// The value shows that the server supports the protocol; it is no protection.
func acceptOf(key string) string {
	digest := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	return base64.StdEncoding.EncodeToString(digest[:])
}

// checkSwitch checks each answer of the upstream. It accepts status 101 only for a
// WebSocket that a rule allows.
func checkSwitch(resp *http.Response) error {
	if resp.StatusCode != http.StatusSwitchingProtocols {
		return nil
	}
	s, allowed := resp.Request.Context().Value(webSocketKey{}).(*webSocket)
	backend, writable := resp.Body.(io.ReadWriteCloser)
	// RFC 6455 §4.1: a client fails the connection in these cases, and so does the
	// proxy.
	if !allowed || !writable || !connectionNames(resp.Header, "upgrade") ||
		!one(resp.Header, "Upgrade", func(v string) bool { return strings.EqualFold(v, "websocket") }) ||
		!one(resp.Header, "Sec-Websocket-Accept", func(v string) bool { return v == s.accept }) {
		return errSwitched
	}
	resp.Body = &frames{ReadWriteCloser: backend, extended: resp.Header.Get("Sec-Websocket-Extensions") != ""}
	return nil
}
