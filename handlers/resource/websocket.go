package resource

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"time"
)

const (
	// webSocketAge ends every WebSocket, also one whose token says no end and one
	// of a public rule.
	webSocketAge = 24 * time.Hour

	// webSocketTrust is how long a WebSocket goes on while nobody can say whether
	// its token is still live.
	webSocketTrust = time.Minute
)

// webSocketKey finds the WebSocket that a request was allowed to open, in its context.
type webSocketKey struct{}

// webSocket stands in for the response to a handshake. When the protocol is
// switched, it watches over the connection.
type webSocket struct {
	http.ResponseWriter
	accept string // what the upstream must answer
	until  time.Time
	every  time.Duration                  // between two checks
	check  func(context.Context) *refusal // nil: there is no token to check
	ctx    context.Context                // of the request; its end closes both connections
	end    context.CancelFunc
}

// forwardTo returns what runs for a request that a rule lets in.
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
	if ok { // a public rule asks for no token
		s.check = func(ctx context.Context) *refusal {
			_, no := g.check(r.WithContext(ctx), rule.Scopes)
			return no
		}
	}
	p.forward.ServeHTTP(s, r.WithContext(context.WithValue(ctx, webSocketKey{}, s)))
}

// webSocketEnd returns when a WebSocket ends at the latest. There may be no token.
func webSocketEnd(token *Token, opened time.Time) time.Time {
	end := opened.Add(webSocketAge)
	if token != nil && !token.ExpiresAt.IsZero() && token.ExpiresAt.Before(end) {
		return token.ExpiresAt
	}
	return end
}

// Unwrap lets http.ResponseController find the rest of the response.
func (s *webSocket) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// Hijack hands the client's connection over, and begins to watch.
func (s *webSocket) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(s.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	s.Header().Del("Connection") // the upstream's names the upgrade
	context.AfterFunc(s.ctx, func() { conn.Close() })
	go s.watch()
	return conn, buffered, nil
}

// watch closes the WebSocket when its token ends or is not good any longer.
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
