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
// or with an invented one, and about those that fail while another server does not answer.
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
	return requestLog{rate: throttle.New(1000, throttle.Limit{Tries: 30, Refill: time.Second / 3},
		throttle.Limit{Tries: 300, Refill: time.Second / 30})}
}

// write writes a line about a request, unless there were too many. The line also has the
// number of requests that were left out before it. A line of a level that is not logged does not count.
func (l *requestLog) write(log *slog.Logger, level slog.Level, r *http.Request, message string, facts ...any) {
	if !log.Enabled(r.Context(), level) {
		return
	}
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
func printable(text string) string { return escaped(text, maxLogged) }

// explained returns the text of an error in the same form. It can have the answer of another server
// or the request of a client, and it is longer, because it also says what to do.
func explained(err error) string { return escaped(err.Error(), maxExplained) }

func escaped(text string, limit int) string {
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "") + "..."
	}
	quoted := strconv.QuoteToASCII(text)
	return quoted[1 : len(quoted)-1]
}

const (
	maxLogged    = 200
	maxExplained = 500
)

// report logs why a token could not be checked.
func (g *Guard) report(r *http.Request, err error) {
	g.unchecked.write(g.log, failure(r), r, "the access token could not be checked", "error", explained(err))
}

// failure returns the level for a request that another server has failed. A cancelled request is
// logged only at debug level, because it is not an error of any server.
func failure(r *http.Request) slog.Level {
	if errors.Is(r.Context().Err(), context.Canceled) {
		return slog.LevelDebug
	}
	return slog.LevelError
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
