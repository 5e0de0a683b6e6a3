package resource

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// counter is a Verifier whose verdict can be changed.
type counter struct {
	asked atomic.Int64
	token atomic.Pointer[Token]
	err   error // the error if token is nil; nil means ErrInactive
}

func (c *counter) Verify(context.Context, string) (*Token, error) {
	c.asked.Add(1)
	token := c.token.Load()
	if token == nil && c.err == nil {
		return nil, ErrInactive
	}
	return token, c.err
}

func newCache(t testing.TB, c CacheConfig) *Cache {
	cache, err := NewCache(c)
	if err != nil {
		t.Fatal(err)
	}
	return cache
}

func TestCacheTimes(t *testing.T) {
	tests := []struct {
		name  string
		ttl   time.Duration
		end   time.Duration // the token's expiry; 0: none, -1: inactive
		kept  time.Duration // how long the result is kept
		fault error
	}{
		{"live", 10 * time.Second, 0, 10 * time.Second, nil},
		{"active, expires later", 10 * time.Second, time.Hour, 10 * time.Second, nil},
		{"active, expires before", 10 * time.Second, 3 * time.Second, 3 * time.Second, nil},
		{"inactive", 10 * time.Second, -1, 10 * time.Second, nil},
		{"off", 0, 0, 0, nil},
		{"an outage", 10 * time.Second, -1, 0, errors.New("outage")},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := &counter{err: test.fault}
				if test.end >= 0 {
					token := &Token{}
					if test.end > 0 {
						token.ExpiresAt = time.Now().Add(test.end)
					}
					v.token.Store(token)
				}
				c := newCache(t, CacheConfig{Verifier: v, TTL: test.ttl})
				ask := func(want int64) {
					t.Helper()
					token, err := c.Verify(t.Context(), "t")
					if (token == nil) == (test.end >= 0) || (err == nil) == (test.end < 0) {
						t.Fatalf("got %v, %v", token, err)
					}
					if v.asked.Load() != want {
						t.Fatalf("asked %d times, want %d", v.asked.Load(), want)
					}
				}
				ask(1)
				if test.kept > 0 {
					ask(1)
					time.Sleep(test.kept - 1)
					ask(1)
					time.Sleep(time.Nanosecond)
				}
				ask(2)
			})
		})
	}
}

// The age of a result counts from the start of the call. So a revocation that happens
// while the answer is on its way also takes effect in time.
func TestCacheCountsFromTheQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		c := newCache(t, CacheConfig{TTL: 10 * time.Second,
			Verifier: verifierFunc(func(context.Context, string) (*Token, error) {
				asked.Add(1)
				time.Sleep(4 * time.Second)
				return &Token{}, nil
			})})
		c.Verify(t.Context(), "t")
		time.Sleep(6*time.Second - 1)
		c.Verify(t.Context(), "t")
		if asked.Load() != 1 {
			t.Errorf("asked %d times", asked.Load())
		}
		time.Sleep(time.Nanosecond)
		c.Verify(t.Context(), "t")
		if asked.Load() != 2 {
			t.Errorf("asked %d times", asked.Load())
		}
	})
}

func TestCacheSharesQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		c := newCache(t, CacheConfig{TTL: time.Second,
			Verifier: verifierFunc(func(ctx context.Context, _ string) (*Token, error) {
				asked.Add(1)
				select {
				case <-time.After(100 * time.Millisecond):
					return &Token{ClientID: "shop"}, nil
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			})})
		first, cancel := context.WithCancel(t.Context())
		firstErr := make(chan error, 1)
		go func() {
			_, err := c.Verify(first, "t")
			firstErr <- err
		}()
		synctest.Wait()
		var others sync.WaitGroup
		for range 20 {
			others.Go(func() {
				token, err := c.Verify(t.Context(), "t")
				if err != nil || token.ClientID != "shop" {
					t.Errorf("got %v, %v", token, err)
				}
			})
		}
		synctest.Wait()
		start := time.Now()
		cancel()
		if err := <-firstErr; !errors.Is(err, context.Canceled) || time.Since(start) > 0 {
			t.Errorf("the first call returned %v after %v", err, time.Since(start))
		}
		others.Wait()
		if asked.Load() != 1 {
			t.Errorf("asked %d times", asked.Load())
		}
	})
}

func TestCacheCallsOffWhatNobodyWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked, calledOff atomic.Int64
		c := newCache(t, CacheConfig{TTL: time.Second,
			Verifier: verifierFunc(func(ctx context.Context, _ string) (*Token, error) {
				asked.Add(1)
				select {
				case <-time.After(time.Second):
					return &Token{}, nil
				case <-ctx.Done():
					calledOff.Add(1)
					time.Sleep(100 * time.Millisecond) // it ends some time after its cancellation
					return nil, ctx.Err()
				}
			})})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		_, err := c.Verify(ctx, "t")
		synctest.Wait()
		if !errors.Is(err, context.DeadlineExceeded) || calledOff.Load() != 1 {
			t.Fatalf("got %v, %d calls were cancelled", err, calledOff.Load())
		}
		// Later requests share a new call, also after the old one has ended.
		var others sync.WaitGroup
		for i := range 5 {
			others.Go(func() {
				time.Sleep(time.Duration(i) * 50 * time.Millisecond)
				_, err := c.Verify(t.Context(), "t")
				if err != nil {
					t.Errorf("got %v", err)
				}
			})
		}
		others.Wait()
		if asked.Load() != 2 {
			t.Errorf("asked %d times", asked.Load())
		}
		for i := range c.shards {
			if len(c.shards[i].calls) != 0 {
				t.Error("a pending call is still registered")
			}
		}
	})
}

func TestCacheOffKeepsNothing(t *testing.T) {
	c := newCache(t, CacheConfig{Verifier: &counter{}})
	c.Verify(t.Context(), "t")
	for i := range c.shards {
		if len(c.shards[i].dead.slots) != 0 {
			t.Error("a result was cached")
		}
	}
}

func TestCacheOutlivesPanic(t *testing.T) {
	c := newCache(t, CacheConfig{TTL: time.Second,
		Verifier: verifierFunc(func(context.Context, string) (*Token, error) { panic("oops") })})
	token, err := c.Verify(t.Context(), "t")
	if token != nil || err == nil || errors.Is(err, ErrInactive) {
		t.Errorf("got %v, %v", token, err)
	}
}

// Invented tokens do not fill the memory, and do not displace real tokens from the
// cache.
func TestCacheUnderSpray(t *testing.T) {
	var asked atomic.Int64
	c := newCache(t, CacheConfig{TTL: time.Hour, MaxEntries: 160,
		Verifier: verifierFunc(func(_ context.Context, token string) (*Token, error) {
			asked.Add(1)
			if token[0] == 'x' {
				return nil, ErrInactive
			}
			return &Token{}, nil
		})})
	c.Verify(t.Context(), "real")
	for i := range 5000 {
		c.Verify(t.Context(), fmt.Sprint("x", i))
	}
	before := asked.Load()
	c.Verify(t.Context(), "real")
	if asked.Load() != before {
		t.Error("the active token was removed from the cache")
	}
	for i := range 5000 {
		c.Verify(t.Context(), fmt.Sprint("live", i))
	}
	for i := range c.shards {
		s := &c.shards[i]
		for _, r := range []*ring{&s.live, &s.dead} {
			if len(r.slots) > 10 || len(r.entries) > 10 {
				t.Errorf("shard %d contains %d and %d", i, len(r.slots), len(r.entries))
			}
		}
	}
}

func TestRing(t *testing.T) {
	now := time.Unix(1000, 0)
	entryOf := func(b byte, until time.Duration) *entry { return &entry{key: key{b}, until: now.Add(until)} }
	r := ring{size: 3}
	r.add(entryOf('a', 1))
	r.add(entryOf('b', 5))
	r.add(entryOf('a', 5)) // stored again after it expired
	r.add(entryOf('c', 5)) // replaces the first a
	for _, b := range []byte("abc") {
		if r.at(key{b}, now.Add(2)) == nil {
			t.Errorf("%c is not in the cache", b)
		}
	}
	r.add(entryOf('d', 5))
	if r.at(key{'b'}, now) != nil || len(r.entries) != 3 {
		t.Errorf("the oldest entry was not removed: %d entries", len(r.entries))
	}
}

func TestCacheKeepsNoClearToken(t *testing.T) {
	v := &counter{}
	v.token.Store(&Token{})
	c := newCache(t, CacheConfig{Verifier: v, TTL: time.Second})
	c.Verify(t.Context(), "clear-token")
	want := key(sha256.Sum256([]byte("clear-token")))
	if c.shards[want[0]%shards].live.entries[want] == nil {
		t.Error("not found under its digest")
	}
}

func TestNewCache(t *testing.T) {
	v := &counter{}
	for _, c := range []CacheConfig{
		{},
		{Verifier: v, TTL: -1},
		{Verifier: v, TTL: time.Hour + 1},
		{Verifier: v, MaxEntries: -1},
	} {
		if _, err := NewCache(c); err == nil {
			t.Errorf("%+v: no error", c)
		}
	}
}

func TestCacheInParallel(t *testing.T) {
	p := newProvider(t, map[string]string{"t0": liveRead, "t1": liveRead})
	c := newCache(t, CacheConfig{Verifier: p.introspection(t), TTL: time.Hour, MaxEntries: 1})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 50 {
				name := fmt.Sprint("t", (i+j)%4)
				token, err := c.Verify(t.Context(), name)
				if (token != nil) != (name < "t2") || (err != nil) != (name >= "t2") {
					t.Errorf("%s: %v, %v", name, token, err)
				}
			}
		})
	}
	all.Wait()
}

func BenchmarkCacheHit(b *testing.B) {
	v := &counter{}
	v.token.Store(&Token{})
	c := newCache(b, CacheConfig{Verifier: v, TTL: time.Hour})
	const token = "mat_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG"
	b.ReportAllocs()
	for b.Loop() {
		c.Verify(b.Context(), token)
	}
}

func BenchmarkCacheHitParallel(b *testing.B) {
	v := &counter{}
	v.token.Store(&Token{})
	c := newCache(b, CacheConfig{Verifier: v, TTL: time.Hour})
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			c.Verify(b.Context(), "mat_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG")
		}
	})
}
