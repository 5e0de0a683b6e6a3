package provider

import (
	"container/heap"
	"crypto/sha256"
	"sync"
	"time"
)

// throttle bounds how often something may be tried. Each key has a counter of
// tries that fills up again with time; a try takes one from every counter it
// concerns, and success gives them back. It lives in one node's memory: n nodes
// allow n times as much.
//
// Its memory is bounded. A counter that is new takes the place of the one that
// is soonest full again, and never of one that is exhausted: nobody gets new
// tries by making the throttle forget. While all counters of a kind are
// exhausted, whoever is new is counted by a wider key.
type throttle struct {
	mu    sync.Mutex
	began time.Time
	kinds []*counterSet
}

// limit is how many tries there are at once, and how long one takes to come back.
type limit struct {
	tries  int
	refill time.Duration
}

// A try is counted under its kind and key. A key is kept as a digest: it may be
// as long as a request. wide is the key that counts while there is no room.
type try struct {
	kind      int
	key, wide string
}

// newThrottle has so many kinds as there are limits, and room for so many
// counters of each.
func newThrottle(most int, kinds ...limit) *throttle {
	t := &throttle{began: time.Now()}
	for _, l := range kinds {
		wide := &counterSet{limit: l, most: max(1, most/8), known: map[digest16]*counter{}}
		t.kinds = append(t.kinds, &counterSet{limit: l, most: most, known: map[digest16]*counter{}, wide: wide})
	}
	return t
}

// take uses a try of each counter before it is known how it ends, so that many
// tries at once count as many. The returned func gives them back. Where one is
// exhausted nothing is taken, and it says how long to wait.
func (t *throttle) take(tries ...try) (func(), time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Since(t.began)
	wait := t.longest(tries, now)
	if wait > 0 {
		return nil, wait
	}
	var taken []*counter
	for _, want := range tries {
		c, wait := t.find(want, now)
		if wait > 0 { // the room went to another counter of this very try
			giveBack(taken, now)
			return nil, wait
		}
		c.set(max(c.full, now) + c.of.refill)
		taken = append(taken, c)
	}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		giveBack(taken, time.Since(t.began))
	}, 0
}

// wait looks without taking, and says for how long there is no try.
func (t *throttle) wait(tries ...try) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.longest(tries, time.Since(t.began))
}

func (t *throttle) longest(tries []try, now time.Duration) time.Duration {
	var longest time.Duration
	for _, want := range tries {
		c, of, _ := t.place(want, now)
		longest = max(longest, of.wait(c, now))
	}
	return longest
}

// place is the counter that a try has, or where it would be made.
func (t *throttle) place(want try, now time.Duration) (*counter, *counterSet, digest16) {
	of, key := t.kinds[want.kind], short(want.key)
	c := of.known[key]
	if c == nil && of.spent(now) > 0 {
		of, key = of.wide, short(want.wide)
		c = of.known[key]
	}
	return c, of, key
}

// find makes the counter where there is none.
func (t *throttle) find(want try, now time.Duration) (*counter, time.Duration) {
	c, of, key := t.place(want, now)
	if wait := of.wait(c, now); wait > 0 || c != nil {
		return c, wait
	}
	return of.add(key, now), 0
}

func giveBack(taken []*counter, now time.Duration) {
	for _, c := range taken {
		switch full := c.full - c.of.refill; {
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
	limit
	most  int
	known map[digest16]*counter
	order []*counter // a heap, with the one in front that is soonest full
	wide  *counterSet
}

// A counter knows only when it is full again: from that follows how many tries
// are left.
type counter struct {
	full  time.Duration // since the throttle began
	key   digest16
	of    *counterSet
	index int
}

const gone = -1 // the index of a counter that is forgotten

func (c *counter) set(full time.Duration) {
	c.full = full
	heap.Fix(c.of, c.index)
}

// lacks is how long it takes until a counter that is full at this time has a try.
func (c *counterSet) lacks(full, now time.Duration) time.Duration {
	return max(0, full-now-time.Duration(c.tries-1)*c.refill)
}

// spent is how long it takes until there is room for one more counter.
func (c *counterSet) spent(now time.Duration) time.Duration {
	if len(c.order) < c.most {
		return 0
	}
	return c.lacks(c.order[0].full, now)
}

// wait is how long it takes until one has a try, which may not exist yet.
func (c *counterSet) wait(one *counter, now time.Duration) time.Duration {
	if one == nil {
		return c.spent(now)
	}
	return c.lacks(one.full, now)
}

func (c *counterSet) add(key digest16, now time.Duration) *counter {
	// Two that are full again go for each that comes, so that a flood leaves
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

// For container/heap.

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
