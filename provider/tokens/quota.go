package tokens

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/throttle"
	"mandate/storage"
)

// quotas remembers for a short time how much of a quota is free, so that most new
// tokens need no count of the existing ones.
type quotas struct {
	mu   sync.Mutex
	room map[string]room
	rate *throttle.Throttle // limits the rate of token responses
}

// room is what this node knows about a quota, until a time.
type room struct {
	left  int // responses that are allowed without another count
	full  bool
	until time.Time
}

const (
	// Another node may use the same quota, so a node takes a small part of what is
	// free, for a short time.
	budgetDivisor = 32
	roomLife      = 10 * time.Second
	// fullLife is how long a quota counts as used up without another count. It equals
	// the Retry-After of the response.
	fullLife = 2 * time.Second
	maxRooms = 10_000 // about 100 bytes each
)

const (
	ofPersons = iota // the applications of each owner
	ofOpen           // all applications for which nobody is responsible
	oneOf            // added to one of the two: the part of it for one person who signs in
)

func newRates(c Config) *throttle.Throttle {
	perMinute := func(n int) throttle.Limit {
		return throttle.Limit{Tries: n, Refill: time.Minute / time.Duration(max(1, n))}
	}
	persons, open := c.PersonTokensPerMinute, c.OpenTokensPerMinute
	return throttle.New(maxRooms, perMinute(persons), perMinute(open), perMinute(share(persons)), perMinute(share(open)))
}

// share returns how much of a quota one person may use, so that others can use the
// rest.
func share(quota int) int { return max(1, quota/10) }

// take uses one place of a quota if it knows a free one. full says that it knows that
// none is free.
func (q *quotas) take(key string) (taken, full bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	r := q.room[key]
	if r.left == 0 && !r.full || time.Now().After(r.until) {
		return false, false
	}
	if r.full {
		return false, true
	}
	r.left--
	q.room[key] = r
	return true, false
}

// keep remembers how much of a quota is free.
func (q *quotas) keep(key string, free int) {
	r := room{left: free / budgetDivisor, until: time.Now().Add(roomLife)}
	if free <= 0 {
		r = room{full: true, until: time.Now().Add(fullLife)}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.room == nil || len(q.room) >= maxRooms {
		q.room = map[string]room{}
	}
	q.room[key] = r
}

func quotaUsedUp(wait time.Duration, text string, args ...any) *oauth.Error {
	return oauth.Later(http.StatusTooManyRequests, wait, fmt.Sprintf(text, args...)+" The operator can raise the quota, "+
		"or an administrator can take the application over.")
}

// checkQuota returns an Error with status 429 if one party has used up a quota. who is the
// party, key names the quota, most is its size (0: no limit), and text is the
// description of the Error. It calls count only if it does not remember how much of
// the quota is free.
func (p *Tokens) checkQuota(ctx context.Context, key, who string, most int,
	count func(context.Context, string, int64, int) (int, error), text string) error {
	if most == 0 {
		return nil
	}
	taken, full := p.quotas.take(key + who)
	if taken {
		return nil
	}
	if !full {
		n, err := count(ctx, who, oauth.Now(), most)
		if err != nil {
			return oauth.Unavailable(err)
		}
		p.quotas.keep(key+who, most-n)
		full = n >= most
	}
	if full {
		return quotaUsedUp(fullLife, text, most)
	}
	return nil
}

// MayIssue returns an Error with status 429 if the owner of an application has used up
// the quota of token responses or of live tokens. person is the subject of the person
// whom the tokens are for; "": they are for the application itself. Call giveBack if there is no
// token response after all: a request that is refused does not count.
func (p *Tokens) MayIssue(ctx context.Context, a storage.Application, person string) (giveBack func(), err error) {
	who := policy.ChargedTo(a)
	giveBack = func() {}
	if who == nil {
		return giveBack, nil
	}
	quota := p.rules.AllowanceOf(a).Quota
	if n := quota.TokensPerMinute; n > 0 {
		kind := ofPersons
		if policy.StandingOf(a) == policy.StandingOpen {
			kind = ofOpen
		}
		tries := []throttle.Try{{Kind: kind, Key: *who, Wide: ""}}
		if person != "" {
			tries = append(tries, throttle.Try{Kind: kind + oneOf, Key: *who + " " + person, Wide: ""})
		}
		taken, wait := p.quotas.rate.Take(tries...)
		if wait > 0 {
			return giveBack, quotaUsedUp(wait, "The applications of this owner may get tokens at most %d times a minute, and "+
				"at most %d times a minute for one person.", n, share(n))
		}
		giveBack = taken
	}
	return giveBack, p.checkQuota(ctx, "tokens ", *who, quota.LiveTokens, p.store.LiveTokens,
		"The applications of this owner have %d live tokens, which is the limit.")
}

// MayApprove returns an Error with status 429 if the owner of an application has used
// up the quota of authorization grants, or this person the part of it that one person
// may use.
func (p *Tokens) MayApprove(ctx context.Context, a storage.Application, person string) error {
	who, most := policy.ChargedTo(a), p.rules.AllowanceOf(a).Quota.Approvals
	if who == nil || most == 0 {
		return nil
	}
	n, err := p.store.GrantsOf(ctx, person, a.ID, oauth.Now(), share(most))
	if err != nil {
		return oauth.Unavailable(err)
	}
	if n >= share(most) {
		return quotaUsedUp(fullLife, "This person has %d live approvals of this application, which is the limit.", n)
	}
	return p.checkQuota(ctx, "grants ", *who, most, p.store.LiveGrants,
		"The applications of this owner have %d live approvals, which is the limit.")
}
