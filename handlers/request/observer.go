// Package request does what every HTTP request needs, whatever its endpoint: the
// limits of time and size, the address of the client, the ID, the log line, the
// metrics and the trace, and a response if the handler panics. Handlers use its
// Record to add what they learn.
package request

import (
	"log/slog"
	"net/http"
	"net/netip"
)

// Config contains what an Observer needs. Fail is required.
type Config struct {
	TrustedProxies []netip.Prefix // their X-Forwarded-For and X-Request-Id are used
	MaxBodyBytes   int64          // 0: 64 KiB
	// CertificateHeader is the header in which a trusted proxy passes the certificate of a
	// client; "": none is read.
	CertificateHeader string
	OnlyHTTPS         bool         // browsers must use https from now on
	Log               *slog.Logger // nil: nothing is logged
	Watch             Watch
	Fail              Failure // writes an error before a route has set its own format
}

// Observer surrounds the handlers of all routes.
type Observer struct {
	config    Config
	unmatched func(Seen) // counts the requests that match no route
	refusals  refusals
	inactive  refusals // requests about tokens that are not active
	untrusted untrusted
	strangers untrusted
}

// NewObserver returns an observer.
func NewObserver(c Config) *Observer {
	if c.MaxBodyBytes <= 0 {
		c.MaxBodyBytes = 64 << 10
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	o := &Observer{config: c}
	o.refusals.summary = "requests were refused and left out of the log"
	o.inactive.summary = "requests about inactive tokens were left out of the log"
	o.unmatched = o.count(unmatched)
	return o
}

// Route returns a handler that adds the pattern of the route to the record of each
// request.
func (o *Observer) Route(pattern string, h http.Handler) http.Handler {
	seen := o.count(pattern)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := RecordOf(r.Context())
		rec.route, rec.seen = pattern, seen
		h.ServeHTTP(w, r)
	})
}

func (o *Observer) count(pattern string) func(Seen) {
	if o.config.Watch.Route == nil {
		return nil
	}
	return o.config.Watch.Route(pattern)
}
