package provider

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// quotas remember for a moment how much room was left, so that a token costs a
// count of those before it only now and then.
type quotas struct {
	mu   sync.Mutex
	room map[string]room
	rate *throttle // of token responses
}

// room is how many more this node may hand out before it counts again.
type room struct {
	left  int
	until time.Time
}

const (
	roomLife = 10 * time.Second
	roomPart = 32 // of what is free; several nodes share it
	maxRooms = 10_000
)

const (
	ofPersons = iota // the applications of each person
	ofOpen           // all that nobody answers for
)

func newRates(c Config) *throttle {
	perMinute := func(n int) limit { return limit{n, time.Minute / time.Duration(max(1, n))} }
	return newThrottle(maxRooms, perMinute(c.PersonQuota.TokensPerMinute), perMinute(c.OpenQuota.TokensPerMinute))
}

// take uses one place, if any is known of.
func (q *quotas) take(key string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	r := q.room[key]
	if r.left == 0 || time.Now().After(r.until) {
		return false
	}
	r.left--
	q.room[key] = r
	return true
}

func (q *quotas) keep(key string, free int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.room == nil || len(q.room) >= maxRooms {
		q.room = map[string]room{}
	}
	q.room[key] = room{free / roomPart, time.Now().Add(roomLife)}
}

func quotaUsedUp(text string, args ...any) *Error {
	e := refuse("temporarily_unavailable", text+" An administrator can raise the quota, or take the application over.", args...)
	e.Status, e.RetryAfter = http.StatusTooManyRequests, 60
	return e
}

// within counts what is there unless it is known that there is room.
func (p *Provider) within(ctx context.Context, key, who string, most int, count func(context.Context, string, int64, int) (int, error), text string) error {
	if most == 0 || p.quotas.take(key+who) {
		return nil
	}
	n, err := count(ctx, who, now(), most)
	if err != nil {
		return unavailable(err)
	}
	if n >= most {
		return quotaUsedUp(text, most)
	}
	p.quotas.keep(key+who, most-n)
	return nil
}

// mayIssue holds whoever answers for an application to how many tokens their
// applications may be given.
func (p *Provider) mayIssue(ctx context.Context, a Application) error {
	who, quota := chargedTo(a), p.config.allowanceOf(a).Quota
	if who == nil {
		return nil
	}
	if n := quota.TokensPerMinute; n > 0 {
		kind := ofPersons
		if StandingOf(a) == ByNobody {
			kind = ofOpen
		}
		_, wait := p.quotas.rate.take(try{kind, *who, ""})
		if wait > 0 {
			return quotaUsedUp("The applications of this owner may be given tokens %d times a minute.", n)
		}
	}
	return p.within(ctx, "tokens ", *who, quota.LiveTokens, p.store.LiveTokens, "The applications of this owner have %d live tokens, and may have no more.")
}

// mayApprove does so for approvals.
func (p *Provider) mayApprove(ctx context.Context, a Application) error {
	who := chargedTo(a)
	if who == nil {
		return nil
	}
	return p.within(ctx, "grants ", *who, p.config.allowanceOf(a).Quota.Approvals, p.store.LiveGrants, "The applications of this owner have %d live approvals, and may have no more.")
}
