package resource

import (
	"context"
	"net/http"
	"time"

	"mandate/provider/recovered"
)

const (
	// leaseAge limits the lifetime of every WebSocket and event stream. It also applies to
	// tokens without an expiry time and to public rules.
	leaseAge = 24 * time.Hour

	// leaseTrust is how long one stays open while its token cannot be checked.
	leaseTrust = time.Minute
)

// lease is how long a connection may stay open that outlives the check of its token.
type lease struct {
	until time.Time
	every time.Duration                  // the interval between two checks
	check func(context.Context) *refusal // checks the token; nil: there is no token
}

// lease returns the lease of a request that a rule and its guard have accepted.
func (p *Proxy) lease(r *http.Request, g *Guard, rule Rule) lease {
	token, ok := FromContext(r.Context())
	l := lease{until: leaseEnd(token, time.Now()), every: p.recheck}
	if ok { // a public rule requires no token
		l.check = func(ctx context.Context) (no *refusal) {
			// No HTTP server recovers a panic of the goroutine that watches.
			err := recovered.Do(p.log, "check the token of an open connection", func() error {
				no = g.still(r.WithContext(ctx), rule.requirement(), token)
				return nil
			})
			if err != nil {
				return &refusal{status: http.StatusServiceUnavailable, detail: unchecked}
			}
			return no
		}
	}
	return l
}

// leaseEnd returns the latest end of a lease. token may be nil.
func leaseEnd(token *Token, opened time.Time) time.Time {
	end := opened.Add(leaseAge)
	if token != nil && !token.ExpiresAt.IsZero() && token.ExpiresAt.Before(end) {
		return token.ExpiresAt
	}
	return end
}

// watch calls end when the token expires or is no longer accepted. It returns when ctx
// ends.
func (l lease) watch(ctx context.Context, end func()) {
	defer end()
	ctx, cancel := context.WithDeadline(ctx, l.until)
	defer cancel()
	var tick <-chan time.Time
	if l.check != nil {
		tick = time.Tick(l.every)
	}
	asked := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}
		no := l.check(ctx)
		switch {
		case no == nil:
			asked = time.Now()
		case no.status != http.StatusServiceUnavailable || time.Since(asked) >= leaseTrust:
			return
		}
	}
}
