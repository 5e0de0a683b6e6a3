package resource

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"
)

// DefaultCacheTTL is a suitable TTL for [CacheConfig]. A revoked token works for at
// most ten more seconds, and each token causes at most one request to the verifier in
// ten seconds.
const DefaultCacheTTL = 10 * time.Second

const (
	maxCacheTTL     = time.Hour
	defaultEntries  = 10_000
	shards          = 16
	maxCacheEntries = 100_000_000
)

// CacheConfig configures a [Cache]. Only Verifier is required.
type CacheConfig struct {
	Verifier Verifier

	// TTL limits how long a result is used (RESOURCE_SERVER_TOKEN_CACHING_SECONDS), and
	// so how late a revocation takes effect. With zero, each request asks the verifier.
	TTL time.Duration

	// MaxEntries limits the active tokens in the cache. The same number of inactive
	// tokens is kept separately, so that invented tokens cannot displace real ones. Zero
	// means 10,000. The number is rounded up to a multiple of 16.
	MaxEntries int
}

// Cache is a [Verifier] that stores the results of another one, for active and inactive
// tokens. It keeps no result after the token's expiry, and it does not store failures.
// Concurrent requests with the same token share one call of the verifier. The cache
// keeps only the SHA-256 of a token, not the token.
type Cache struct {
	verifier Verifier
	ttl      time.Duration
	shards   [shards]shard
}

type key [sha256.Size]byte

// shard is the part of the cache for one sixteenth of the keys. It has its own lock, so
// that processor cores seldom wait for each other.
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

// Verify returns the stored result, or calls the verifier.
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

// call is one running call of the verifier. All requests with the same token share it.
type call struct {
	waiting int // protected by the shard's lock
	cancel  context.CancelFunc
	done    chan struct{} // closed when token and err are set
	token   *Token
	err     error
}

// start calls the verifier in the background, independent of the first request: that
// request may be cancelled while others still wait. The caller holds the shard's lock.
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

// finish stores the result and wakes all waiting requests. The age of a result counts
// from the start of the call, because a revocation may happen while the answer is on
// its way.
func (c *Cache) finish(s *shard, k key, asked *call, now time.Time) {
	// In this goroutine no HTTP server recovers a panic of the verifier.
	if v := recover(); v != nil {
		asked.token, asked.err = nil, fmt.Errorf("the verifier panicked: %v", v)
	}
	e := &entry{key: k, token: asked.token, until: now.Add(c.ttl)}
	s.mu.Lock()
	switch {
	case errors.Is(asked.err, ErrInactive):
		e.token, e.why = nil, ErrInactive
		if known, ok := errors.AsType[*reasonError](asked.err); ok {
			e.why = known
		}
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

// wait returns the result, or an error if the request ends first. The last request that
// stops waiting cancels the call. Otherwise clients that close their connections could
// leave many calls running.
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
	return nil, fmt.Errorf("wait until a token is checked: %w", ctx.Err())
}

// entry is one stored result. token is nil for an inactive token.
type entry struct {
	key   key
	token *Token
	why   error // an ErrInactive, with the reason if it is known
	until time.Time
}

func (e *entry) verdict() (*Token, error) {
	if e.token == nil {
		return nil, e.why
	}
	return e.token, nil
}

// ring keeps the newest results, up to its size. All results have the same lifetime, so
// the oldest one expires first and is the right one to remove.
type ring struct {
	size    int
	next    int
	slots   []*entry
	entries map[key]*entry
}

// at returns the entry of a key if it is valid at this time, otherwise nil.
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
		// The oldest entry's key may have been stored again since, in another slot.
		old := r.slots[r.next]
		if r.entries[old.key] == old {
			delete(r.entries, old.key)
		}
		r.slots[r.next] = e
		r.next = (r.next + 1) % r.size
	}
	r.entries[e.key] = e
}
