// Package throttle limits how often something may be tried, for example a password (RFC
// 6749 §2.3.1).
package throttle

import (
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
}

// Try names a counter by its kind and key. The throttle stores a digest of the key,
// which may be as long as a request. Wide is the key that is used while there is no
// room for another counter.
type Try struct {
	Kind      int
	Key, Wide string
}

// New makes a throttle with one kind of counter for each limit, and room for most
// counters of each kind.
func New(most int, kinds ...Limit) *Throttle {
	t := &Throttle{began: time.Now()}
	for _, l := range kinds {
		wide := &counterSet{Limit: l, most: max(1, most/8), known: map[digest16]*counter{}}
		t.kinds = append(t.kinds, &counterSet{Limit: l, most: most, known: map[digest16]*counter{}, wide: wide})
	}
	return t
}

// Take uses a try of each counter before the result is known, so that parallel
// attempts are all counted. The returned function gives the tries back. If one of
// the counters is exhausted, Take uses no try and says how long to wait.
func (t *Throttle) Take(tries ...Try) (func(), time.Duration) {
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
	return t.longest(tries, time.Since(t.began))
}

// longest returns the longest time to wait for one of the tries.
func (t *Throttle) longest(tries []Try, now time.Duration) time.Duration {
	var longest time.Duration
	for _, want := range tries {
		c, of, _ := t.place(want, now)
		longest = max(longest, of.delay(c, now))
	}
	return longest
}

// place returns the counter of a try, or nil with the set and the key under which it
// would be made.
func (t *Throttle) place(want Try, now time.Duration) (*counter, *counterSet, digest16) {
	of, key := t.kinds[want.Kind], short(want.Key)
	c := of.known[key]
	if c == nil && of.waitForRoom(now) > 0 {
		of, key = of.wide, short(want.Wide)
		c = of.known[key]
	}
	return c, of, key
}

// find returns the counter of a try, and makes it if there is none. If the try is not
// allowed now, find returns how long to wait.
func (t *Throttle) find(want Try, now time.Duration) (*counter, time.Duration) {
	c, of, key := t.place(want, now)
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
		n += len(of.order) + len(of.wide.order)
	}
	return n
}
