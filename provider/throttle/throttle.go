// Package throttle limits how often something may be tried, for example a password (RFC
// 6749 §2.3.1).
package throttle

import (
	"cmp"
	"container/heap"
	"crypto/sha256"
	"sync"
	"time"
)

// Throttle limits how often something may be tried. Each key has a counter of
// tries, and used tries come back with time. One attempt uses a try of each
// counter that it concerns; a success gives them back. The counters are in the
// memory of one node, so n nodes together allow n times as many tries.
//
// The memory is bounded. A new counter replaces the one that will be full first,
// but never an exhausted one: a flood of keys gives nobody new tries. While all
// counters of a kind are exhausted, a new key is counted by its wider key.
type Throttle struct {
	mu    sync.Mutex
	began time.Time
	kinds []*counterSet
}

// Limit is the number of tries, and the time after which a used try comes back.
type Limit struct {
	Tries  int
	Refill time.Duration

	// Site is how many times the tries of one network its site has, and SiteRefill the time after
	// which a used try of the site comes back. 0: SiteShare, and as many times faster.
	Site       int
	SiteRefill time.Duration
}

// SiteShare is how many networks of one site may do as much as they like at the same time. It
// is more than one, because some providers give each customer less than an IPv6 /48, and an IPv4
// /24 is often of many customers.
const SiteShare = 4

// OfSite returns the limit of a site.
func (l Limit) OfSite() Limit {
	times := cmp.Or(l.Site, SiteShare)
	return Limit{Tries: l.Tries * times, Refill: cmp.Or(l.SiteRefill, l.Refill/time.Duration(times))}
}

// Try names a counter by its kind and key. The throttle stores a digest of the key,
// which may be as long as a request. Site names the counter that many keys share (see From), or
// is "". Wide is the key that is used while there is no room for another counter.
type Try struct {
	Kind      int
	Key, Wide string
	Site      string
}

// New makes a throttle with one kind of counter for each limit, and room for most
// counters of each kind.
func New(most int, kinds ...Limit) *Throttle {
	t := &Throttle{began: time.Now()}
	for _, l := range kinds {
		one := newSet(most, l)
		one.site = newSet(max(1, most/4), l.OfSite())
		t.kinds = append(t.kinds, one)
	}
	return t
}

func newSet(most int, l Limit) *counterSet {
	wide := &counterSet{Limit: l, most: max(1, most/8), known: map[digest16]*counter{}}
	return &counterSet{Limit: l, most: most, known: map[digest16]*counter{}, wide: wide}
}

// place is where one counter of a try is found or made.
type place struct {
	of        *counterSet
	key, wide string
}

// places lists the counters of tries. All sites come first: while one of them is exhausted, no
// counter is made for its networks.
func (t *Throttle) places(tries []Try) []place {
	all := make([]place, 0, 2*len(tries))
	for _, want := range tries {
		if want.Site != "" {
			all = append(all, place{t.kinds[want.Kind].site, want.Site, want.Wide})
		}
	}
	for _, want := range tries {
		all = append(all, place{t.kinds[want.Kind], want.Key, want.Wide})
	}
	return all
}

// Take uses a try of each counter before the result is known, so that parallel
// attempts are all counted. The returned function gives the tries back. If one of
// the counters is exhausted, Take uses no try and says how long to wait.
func (t *Throttle) Take(tries ...Try) (func(), time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now, all := time.Since(t.began), t.places(tries)
	wait := longest(all, now)
	if wait > 0 {
		return nil, wait
	}
	taken := make([]*counter, 0, len(all))
	for _, at := range all {
		c, wait := at.counter(now)
		if wait > 0 { // another counter of this call has taken the last room
			giveBack(taken, now)
			return nil, wait
		}
		c.set(max(c.full, now) + c.of.Refill)
		taken = append(taken, c)
	}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		giveBack(taken, time.Since(t.began))
	}, 0
}

// Wait says how long to wait for a try, and uses none.
func (t *Throttle) Wait(tries ...Try) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return longest(t.places(tries), time.Since(t.began))
}

// longest returns the longest time to wait for one of the counters.
func longest(all []place, now time.Duration) time.Duration {
	var longest time.Duration
	for _, at := range all {
		c, of, _ := at.find(now)
		longest = max(longest, of.delay(c, now))
	}
	return longest
}

// find returns the counter, or nil with the set and the key under which it would be made.
func (p place) find(now time.Duration) (*counter, *counterSet, digest16) {
	of, key := p.of, short(p.key)
	c := of.known[key]
	if c == nil && of.waitForRoom(now) > 0 {
		of, key = of.wide, short(p.wide)
		c = of.known[key]
	}
	return c, of, key
}

// counter returns the counter, and makes it if there is none. If it has no try now, counter
// returns how long to wait.
func (p place) counter(now time.Duration) (*counter, time.Duration) {
	c, of, key := p.find(now)
	if wait := of.delay(c, now); wait > 0 || c != nil {
		return c, wait
	}
	return of.add(key, now), 0
}

func giveBack(taken []*counter, now time.Duration) {
	for _, c := range taken {
		switch full := c.full - c.of.Refill; {
		case c.index == gone:
		case full <= now:
			heap.Remove(c.of, c.index)
		default:
			c.set(full)
		}
	}
}

type digest16 [16]byte

func short(key string) digest16 {
	sum := sha256.Sum256([]byte(key))
	return digest16(sum[:16])
}

// counterSet holds the counters of one kind, ordered by when they are full again.
type counterSet struct {
	Limit
	most  int
	known map[digest16]*counter
	order []*counter // a heap: the counter that will be full first is in front
	wide  *counterSet
	site  *counterSet // the counters of sites, of the same kind
}

// counter stores only the time when it will be full again. The number of tries that are
// left follows from it.
type counter struct {
	full  time.Duration // since the throttle began
	key   digest16
	of    *counterSet
	index int
}

const gone = -1 // the index of a counter that was replaced

func (c *counter) set(full time.Duration) {
	c.full = full
	heap.Fix(c.of, c.index)
}

// waitForTry returns how long it takes until a counter, which is full again at the given
// time, has a try.
func (c *counterSet) waitForTry(full, now time.Duration) time.Duration {
	return max(0, full-now-time.Duration(c.Tries-1)*c.Refill)
}

// waitForRoom returns how long it takes until there is room for one more counter.
func (c *counterSet) waitForRoom(now time.Duration) time.Duration {
	if len(c.order) < c.most {
		return 0
	}
	return c.waitForTry(c.order[0].full, now)
}

// delay returns how long it takes until a counter has a try. nil stands for a counter
// that does not exist yet.
func (c *counterSet) delay(one *counter, now time.Duration) time.Duration {
	if one == nil {
		return c.waitForRoom(now)
	}
	return c.waitForTry(one.full, now)
}

func (c *counterSet) add(key digest16, now time.Duration) *counter {
	// Each new counter replaces two that are full again, so that a flood of keys leaves
	// nothing behind.
	for range 2 {
		if len(c.order) > 0 && c.order[0].full <= now {
			heap.Pop(c)
		}
	}
	if len(c.order) >= c.most {
		heap.Pop(c)
	}
	one := &counter{full: now, key: key, of: c}
	heap.Push(c, one)
	return one
}

// The methods Len, Less, Swap, Push and Pop implement heap.Interface.

func (c *counterSet) Len() int           { return len(c.order) }
func (c *counterSet) Less(i, j int) bool { return c.order[i].full < c.order[j].full }
func (c *counterSet) Swap(i, j int) {
	c.order[i], c.order[j] = c.order[j], c.order[i]
	c.order[i].index, c.order[j].index = i, j
}

func (c *counterSet) Push(one any) {
	added := one.(*counter)
	added.index = len(c.order)
	c.order = append(c.order, added)
	c.known[added.key] = added
}

func (c *counterSet) Pop() any {
	last := len(c.order) - 1
	removed := c.order[last]
	c.order[last] = nil
	c.order = c.order[:last]
	removed.index = gone
	delete(c.known, removed.key)
	return removed
}

// Size returns the number of counters in use.
func (t *Throttle) Size() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for _, of := range t.kinds {
		n += len(of.order) + len(of.wide.order) + len(of.site.order) + len(of.site.wide.order)
	}
	return n
}
