package resource

import (
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"mandate/provider/throttle"
)

// uncoveredLog limits the log lines about requests that no rule covers. Anybody can send
// such requests, without a token.
type uncoveredLog struct {
	rate    *throttle.Throttle
	leftOut atomic.Int64 // requests without a line since the last line
}

const (
	ofNetwork = iota
	ofAll
)

// newUncoveredLog allows 3 lines a second for one network, and 30 for all together.
func newUncoveredLog() uncoveredLog {
	return uncoveredLog{rate: throttle.New(1000, throttle.Limit{Tries: 30, Refill: time.Second / 3}, throttle.Limit{Tries: 300, Refill: time.Second / 30})}
}

// logUncovered writes a log line about a request that no rule covers. The line also has
// the number of requests that were left out before it.
func (p *Proxy) logUncovered(r *http.Request) {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	_, wait := p.uncovered.rate.Take(throttle.Try{Kind: ofNetwork, Key: throttle.Network(host), Wide: throttle.WideNetwork(host)}, throttle.Try{Kind: ofAll})
	if wait > 0 {
		p.uncovered.leftOut.Add(1)
		return
	}
	facts := []any{"method", printable(r.Method), "path", printable(r.URL.Path)}
	if n := p.uncovered.leftOut.Swap(0); n > 0 {
		facts = append(facts, "left_out", n)
	}
	p.log.Warn("no rule covers the request", facts...)
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
