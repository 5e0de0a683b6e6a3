package provider

import (
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// throttle slows guessing. Each key has a bucket of tries that fills up again
// with time; a try takes one from every bucket it concerns, and success gives
// them back. It lives in one node's memory: n nodes allow n times as much.
type throttle struct {
	mu      sync.Mutex
	buckets map[string]*bucket
}

type bucket struct {
	left float64
	at   time.Time
	limit
}

type limit struct {
	tries  float64       // at once
	refill time.Duration // for one more
}

// The account's own limit is wide: strangers who guess at it from many networks
// slow its logins for as long as they go on. A browser in which the person has
// signed in before is not subject to it, nor is an application that an
// administrator stands for.
var (
	perPair    = limit{10, 10 * time.Second}
	perAccount = limit{100, 5 * time.Second}
	perAddress = limit{100, time.Second}
)

const throttleSize = 100_000

// A try is named in full for the reader and kept as a digest: a name may be
// as long as a request.
type try struct {
	key string
	limit
}

// take uses a try of each bucket before it is known how it ends, so that many
// guesses at once count as many. The returned func gives the tries back.
func (t *throttle) take(tries ...try) (func(), error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	err := t.check(tries)
	if err != nil {
		return nil, err
	}
	for _, want := range tries {
		t.bucket(want, time.Now()).left--
	}
	return func() { t.giveBack(tries) }, nil
}

// refused looks without taking: right requests may come in any number at once.
func (t *throttle) refused(tries ...try) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.check(tries)
}

func (t *throttle) check(tries []try) error {
	at := time.Now()
	var wait time.Duration
	for _, want := range tries {
		b := t.bucket(want, at)
		if b.left < 1 {
			wait = max(wait, time.Duration((1-b.left)*float64(b.refill)))
		}
	}
	if wait == 0 {
		return nil
	}
	return &Error{Status: http.StatusTooManyRequests, Code: "temporarily_unavailable",
		Description: "Too many failed attempts. Wait a little, then try again.", RetryAfter: int(wait/time.Second) + 1}
}

func (t *throttle) giveBack(tries []try) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, want := range tries {
		if b := t.buckets[digest(want.key)]; b != nil {
			b.left = min(b.left+1, b.tries)
		}
	}
}

func (t *throttle) bucket(want try, at time.Time) *bucket {
	key := digest(want.key)
	b := t.buckets[key]
	if b == nil {
		if len(t.buckets) >= throttleSize {
			t.forget(at)
		}
		b = &bucket{left: want.tries, at: at, limit: want.limit}
		t.buckets[key] = b
	}
	b.left = min(b.tries, b.left+float64(at.Sub(b.at))/float64(b.refill))
	b.at = at
	return b
}

// forget drops the buckets that are full again; if that frees too little, it
// drops any half, since a bounded memory matters more than a few more guesses.
func (t *throttle) forget(at time.Time) {
	for key, b := range t.buckets {
		if b.left+float64(at.Sub(b.at))/float64(b.refill) >= b.tries {
			delete(t.buckets, key)
		}
	}
	for key := range t.buckets {
		if len(t.buckets) <= throttleSize/2 {
			return
		}
		delete(t.buckets, key)
	}
}

// network is what one subscriber has: an IPv4 address, or an IPv6 /64.
func network(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	ip = ip.Unmap()
	if ip.Is6() {
		prefix, _ := ip.WithZone("").Prefix(64)
		return prefix.String()
	}
	return ip.String()
}
