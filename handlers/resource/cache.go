package resource

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"
)

// DefaultCacheTTL is a fair value of [CacheConfig] TTL: a revoked token works
// for at most ten seconds more, and a busy client costs one question each ten.
const DefaultCacheTTL = 10 * time.Second

const (
	maxCacheTTL     = time.Hour
	defaultEntries  = 10_000
	shards          = 16
	maxCacheEntries = 100_000_000
)

// CacheConfig is what a [Cache] needs. Only Verifier is required.
type CacheConfig struct {
	Verifier Verifier

	// TTL bounds how long a verdict is believed (RESOURCE_SERVER_TOKEN_CACHING_SECONDS),
	// and so how late a revocation is noticed. Zero: every request asks.
	TTL time.Duration

	// MaxEntries bounds the live tokens kept, and apart from them as many dead
	// ones, so that made-up tokens cannot push real ones out. 10,000 if zero;
	// rounded up to a multiple of 16.
	MaxEntries int
}

// Cache is a [Verifier] that remembers what another one found, live and
// inactive alike, never past the end of a token. Failures are not remembered.
// Requests that wait for the same token share one question. The clear token is
// not kept, only its SHA-256.
type Cache struct {
	verifier Verifier
	ttl      time.Duration
	shards   [shards]shard
}

type key [sha256.Size]byte

// shard is the part of the cache for one sixteenth of the keys, under its own
// lock, so that cores seldom wait for each other.
type shard struct {
	mu    sync.Mutex
	live  ring
	dead  ring
	calls map[key]*call
}

// NewCache returns a Cache, or an error that names the setting to change.
func NewCache(c CacheConfig) (*Cache, error) {
	switch {
	case c.Verifier == nil:
		return nil, errors.New("cache: no verifier")
	case c.TTL < 0 || c.TTL > maxCacheTTL:
		return nil, fmt.Errorf("RESOURCE_SERVER_TOKEN_CACHING_SECONDS: set 0 to %d", int(maxCacheTTL.Seconds()))
	case c.MaxEntries < 0 || c.MaxEntries > maxCacheEntries:
		return nil, fmt.Errorf("cache: set MaxEntries to 0 (for %d) to %d", defaultEntries, maxCacheEntries)
	}
	entries := c.MaxEntries
	if entries == 0 {
		entries = defaultEntries
	}
	cache := &Cache{verifier: c.Verifier, ttl: c.TTL}
	for i := range cache.shards {
		s := &cache.shards[i]
		s.live.size = (entries + shards - 1) / shards
		s.dead.size = s.live.size
		s.calls = map[key]*call{}
	}
	return cache, nil
}

// Verify returns the remembered verdict, or asks for one.
func (c *Cache) Verify(ctx context.Context, token string) (*Token, error) {
	if c.ttl == 0 {
		return c.verifier.Verify(ctx, token)
	}
	k := key(sha256.Sum256([]byte(token)))
	s := &c.shards[k[0]%shards]
	now := time.Now()
	s.mu.Lock()
	e := s.live.at(k, now)
	if e == nil {
		e = s.dead.at(k, now)
	}
	if e != nil {
		s.mu.Unlock()
		return e.verdict()
	}
	asked := s.calls[k]
	if asked == nil {
		asked = c.start(ctx, s, k, token, now)
	}
	asked.waiting++
	s.mu.Unlock()
	return asked.wait(ctx, s, k)
}

// call is one question under way, shared by all who wait for its answer.
type call struct {
	waiting int // under the shard's lock
	cancel  context.CancelFunc
	done    chan struct{} // closed when token and err are set
	token   *Token
	err     error
}

// start asks in the background, on behalf of all who wait and not of the first
// alone: its request may be cancelled, the others still want the answer. The
// shard is locked.
func (c *Cache) start(ctx context.Context, s *shard, k key, token string, now time.Time) *call {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	asked := &call{
		cancel: cancel,
		done:   make(chan struct{}),
		err:    errors.New("the verifier did not return"),
	}
	s.calls[k] = asked
	go func() {
		defer cancel()
		defer c.finish(s, k, asked, now)
		asked.token, asked.err = c.verifier.Verify(ctx, token)
	}()
	return asked
}

// finish stores the verdict and wakes all who wait. A verdict is as old as the
// question: a revocation may have overtaken the answer.
func (c *Cache) finish(s *shard, k key, asked *call, now time.Time) {
	// Here, no server stands behind the verifier to catch its panic.
	if v := recover(); v != nil {
		asked.token, asked.err = nil, fmt.Errorf("the verifier panicked: %v", v)
	}
	e := &entry{key: k, token: asked.token, until: now.Add(c.ttl)}
	s.mu.Lock()
	switch {
	case errors.Is(asked.err, ErrInactive):
		e.token = nil
		s.dead.add(e)
	case asked.err == nil && asked.token != nil:
		if end := asked.token.ExpiresAt; !end.IsZero() && end.Before(e.until) {
			e.until = end
		}
		s.live.add(e)
	}
	if s.calls[k] == asked {
		delete(s.calls, k)
	}
	s.mu.Unlock()
	close(asked.done)
}

// wait returns the answer, or leaves with the request. The last to leave calls
// the question off, else clients that hang up could pile questions up.
func (a *call) wait(ctx context.Context, s *shard, k key) (*Token, error) {
	select {
	case <-a.done:
		return a.token, a.err
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a.waiting--
	if a.waiting == 0 {
		a.cancel()
		if s.calls[k] == a {
			delete(s.calls, k)
		}
	}
	return nil, fmt.Errorf("wait for the verdict on a token: %w", ctx.Err())
}

// entry is one verdict: a live token, or nil for a dead one.
type entry struct {
	key   key
	token *Token
	until time.Time
}

func (e *entry) verdict() (*Token, error) {
	if e.token == nil {
		return nil, ErrInactive
	}
	return e.token, nil
}

// ring keeps the newest verdicts, up to its size. All live equally long, so the
// one that came first is the one that ends first, and the right one to drop.
type ring struct {
	size    int
	next    int
	slots   []*entry
	entries map[key]*entry
}

// at returns the entry that is good at this time, nil if there is none.
func (r *ring) at(k key, now time.Time) *entry {
	e := r.entries[k]
	if e == nil || !now.Before(e.until) {
		return nil
	}
	return e
}

func (r *ring) add(e *entry) {
	if r.entries == nil {
		r.entries = map[key]*entry{}
	}
	if len(r.slots) < r.size {
		r.slots = append(r.slots, e)
	} else {
		// The key of the oldest may have come again since, in another slot.
		old := r.slots[r.next]
		if r.entries[old.key] == old {
			delete(r.entries, old.key)
		}
		r.slots[r.next] = e
		r.next = (r.next + 1) % r.size
	}
	r.entries[e.key] = e
}
