package resource

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"mandate/provider/throttle"
)

// requestLog limits the log lines about requests that anybody can send, without a token
// or with an invented one.
type requestLog struct {
	rate    *throttle.Throttle
	leftOut atomic.Int64 // requests without a line since the last line
}

const (
	ofNetwork = iota
	ofAll
)

// newRequestLog allows 3 lines a second for one network, and 30 for all together.
func newRequestLog() requestLog {
	return requestLog{rate: throttle.New(1000, throttle.Limit{Tries: 30, Refill: time.Second / 3}, throttle.Limit{Tries: 300, Refill: time.Second / 30})}
}

// write writes a line about a request, unless there were too many. The line also has the
// number of requests that were left out before it.
func (l *requestLog) write(log *slog.Logger, level slog.Level, r *http.Request, message string, facts ...any) {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	_, wait := l.rate.Take(throttle.From(ofNetwork, "", host), throttle.Try{Kind: ofAll})
	if wait > 0 {
		l.leftOut.Add(1)
		return
	}
	if n := l.leftOut.Swap(0); n > 0 {
		facts = append(facts, "left_out", n)
	}
	log.Log(r.Context(), level, message, facts...)
}

// printable returns at most 200 bytes of a text that a client chose. Characters other
// than printable ASCII are escaped: a log in JSON would contain them as they are.
func printable(text string) string {
	if len(text) > maxLogged {
		text = strings.ToValidUTF8(text[:maxLogged], "") + "..."
	}
	quoted := strconv.QuoteToASCII(text)
	return quoted[1 : len(quoted)-1]
}

const maxLogged = 200

// report logs why a token could not be checked. A cancelled request is logged only at
// debug level, because it is not an error of this server.
func (g *Guard) report(ctx context.Context, err error) {
	level := slog.LevelError
	if errors.Is(ctx.Err(), context.Canceled) {
		level = slog.LevelDebug
	}
	g.log.Log(ctx, level, "the access token could not be checked", "error", err)
}

// logReason logs why a token was refused, and for which request. The client is not told: the reason concerns the
// settings of this server. The log has the reasons of this package only, because the
// error of another [Verifier] could contain the token.
func (g *Guard) logReason(r *http.Request, q requirement, err error) {
	text := ErrInactive.Error()
	if known, ok := errors.AsType[*reasonError](err); ok {
		text = known.text
	}
	g.refused.write(g.log, slog.LevelInfo, r, "the access token was refused", about(r, q, "reason", text)...)
}

// about returns the facts of a log line with the request that it is about. The query, which can
// contain a secret, is not one of them. The client is known only if the token is active.
func about(r *http.Request, q requirement, facts ...any) []any {
	facts = append(facts, "method", printable(r.Method), "path", printable(r.URL.Path))
	if q.client != "" {
		facts = append(facts, "client", printable(q.client))
	}
	return facts
}

func logger(l *slog.Logger) *slog.Logger {
	if l == nil {
		return slog.New(slog.DiscardHandler)
	}
	return l
}
