package resource

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"time"
)

const (
	// webSocketAge limits the lifetime of every WebSocket. It also applies to tokens
	// without an expiry time and to public rules.
	webSocketAge = 24 * time.Hour

	// webSocketTrust is how long a WebSocket stays open while its token cannot be
	// checked.
	webSocketTrust = time.Minute
)

// webSocketKey is the context key of the WebSocket that a request may open.
type webSocketKey struct{}

// webSocket replaces the ResponseWriter of a handshake. After the switch of the
// protocol, it monitors the connection.
type webSocket struct {
	http.ResponseWriter
	accept string // the Sec-WebSocket-Accept that the upstream must send
	until  time.Time
	every  time.Duration                  // the interval between two checks
	check  func(context.Context) *refusal // checks the token; nil: there is no token
	ctx    context.Context                // the request's context; its end closes both connections
	end    context.CancelFunc
}

// forwardTo returns the handler for requests that a rule and its guard have accepted.
func (p *Proxy) forwardTo(g *Guard, rule Rule) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !asksUpgrade(r.Header):
			p.forward.ServeHTTP(w, r)
		case !rule.WebSocket:
			writeDetail(w, http.StatusForbidden, noWebSocket)
		default:
			p.forwardWebSocket(w, r, g, rule)
		}
	})
}

func (p *Proxy) forwardWebSocket(w http.ResponseWriter, r *http.Request, g *Guard, rule Rule) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(p.closing, cancel)()
	s := &webSocket{
		ResponseWriter: w,
		accept:         acceptOf(r.Header.Get("Sec-Websocket-Key")),
		every:          p.recheck,
		ctx:            ctx,
		end:            cancel,
	}
	token, ok := FromContext(ctx)
	s.until = webSocketEnd(token, time.Now())
	if ok { // a public rule requires no token
		s.check = func(ctx context.Context) *refusal {
			_, no := g.check(r.WithContext(ctx), rule.Scopes)
			return no
		}
	}
	p.forward.ServeHTTP(s, r.WithContext(context.WithValue(ctx, webSocketKey{}, s)))
}

// webSocketEnd returns the latest end of a WebSocket. token may be nil.
func webSocketEnd(token *Token, opened time.Time) time.Time {
	end := opened.Add(webSocketAge)
	if token != nil && !token.ExpiresAt.IsZero() && token.ExpiresAt.Before(end) {
		return token.ExpiresAt
	}
	return end
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
	go s.watch()
	return conn, buffered, nil
}

// watch closes the WebSocket when its token expires or is no longer accepted.
func (s *webSocket) watch() {
	defer s.end()
	ctx, cancel := context.WithDeadline(s.ctx, s.until)
	defer cancel()
	var tick <-chan time.Time
	if s.check != nil {
		tick = time.Tick(s.every)
	}
	asked := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}
		no := s.check(ctx)
		switch {
		case no == nil:
			asked = time.Now()
		case no.status != http.StatusServiceUnavailable || time.Since(asked) >= webSocketTrust:
			return
		}
	}
}
