package provider

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mandate/storage"
)

// copyLife is how long a copy of what was read may serve, while every change is
// heard of. It is for a change that nobody tells of: by an operator's hand.
const copyLife = time.Minute

// copyBytes bounds what is copied of a token whose size somebody else decides, and
// four times that of an application, of which there are fewer: so many copies take
// a known part of the memory.
const copyBytes = 1024

// copies keeps what was read a moment ago, by the key it was asked for.
type copies[T any] struct {
	most    int
	changes *changes
	// changed says whether something that the copy depends on has changed.
	changed func(c *changes, read time.Time, value T) bool

	mu   sync.RWMutex
	rows map[string]copied[T]

	hits, misses atomic.Int64
}

type copied[T any] struct {
	value T
	read  time.Time // when the reading began
}

func newCopies[T any](most int, c *changes, changed func(*changes, time.Time, T) bool) *copies[T] {
	return &copies[T]{most: most, changed: changed, changes: c, rows: map[string]copied[T]{}}
}

// get gives the copy, or reads. What may not be copied is read each time.
func (c *copies[T]) get(ctx context.Context, key string, read func(context.Context, string) (T, error), may func(T) bool) (T, error) {
	began := time.Now()
	c.mu.RLock()
	row, ok := c.rows[key]
	c.mu.RUnlock()
	if ok && c.serves(row, began) {
		c.hits.Add(1)
		return row.value, nil
	}
	c.misses.Add(1)
	value, err := read(ctx, key)
	if err != nil || c.changes.bound <= 0 || !may(value) {
		return value, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.rows) >= c.most {
		c.makeRoom(began)
	}
	c.rows[key] = copied[T]{value, began}
	return value, nil
}

// serves says whether a copy may serve now: nothing that it depends on has changed
// since its reading began, as far as this node can know.
func (c *copies[T]) serves(row copied[T], now time.Time) bool {
	c.changes.mu.RLock()
	defer c.changes.mu.RUnlock()
	return c.changes.fresh(now, row.read) && c.changes.all.Before(row.read) && !c.changed(c.changes, row.read, row.value)
}

// makeRoom drops one at least: of a few that come first those that are too old,
// or else any.
func (c *copies[T]) makeRoom(now time.Time) {
	looked := 0
	for key, row := range c.rows {
		if looked++; now.Sub(row.read) >= copyLife || looked == 16 {
			delete(c.rows, key)
		}
		if looked == 16 {
			return
		}
	}
	for key := range c.rows {
		if len(c.rows) < c.most {
			return
		}
		delete(c.rows, key)
	}
}

// drop forgets all that is too old, so that an idle node holds nothing.
func (c *copies[T]) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	for key, row := range c.rows {
		if now.Sub(row.read) >= copyLife {
			delete(c.rows, key)
		}
	}
	if len(c.rows) == 0 {
		c.rows = map[string]copied[T]{} // a map never shrinks
	}
}

// changes remembers what has changed, for as long as an older copy may be about.
type changes struct {
	bound  time.Duration
	onKeys func()

	mu        sync.RWMutex
	at        map[storage.Change]time.Time
	all       time.Time
	heardUpTo time.Time
}

// maxChanges bounds the memory: past it everything counts as changed.
const maxChanges = 100_000

// tell is called by the store when a change has been committed, here or
// elsewhere.
func (c *changes) tell(told []storage.Change) {
	// First the keys: a copy made after the change is made by the keys of after it.
	if slices.ContainsFunc(told, func(change storage.Change) bool { return change.Kind == storage.OfKeys || change.Kind == storage.OfAll }) {
		c.onKeys()
	}
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, change := range told {
		if change.Kind == storage.OfAll || len(c.at) >= maxChanges {
			c.all = now
			clear(c.at)
			continue
		}
		c.at[change] = now
	}
}

// heard notes that no change before that time is missing.
func (c *changes) heard(upTo time.Time) {
	c.mu.Lock()
	c.heardUpTo = upTo
	c.mu.Unlock()
}

// hears says whether this node knows what others change.
func (c *changes) hears() bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return time.Since(c.heardUpTo) < c.bound
}

// fresh says whether what was read then may serve now: a change that nobody has
// told of yet is younger than the bound, whether by when it was read or by when
// the others were last heard.
func (c *changes) fresh(now, read time.Time) bool {
	age := now.Sub(read)
	return age < c.bound || age < copyLife && now.Sub(c.heardUpTo) < c.bound
}

// of says whether a record changed after a reading began.
func (c *changes) of(kind string, id *string, read time.Time) bool {
	if id == nil {
		return false
	}
	at, changed := c.at[storage.Change{Kind: kind, ID: *id}]
	return changed && !at.Before(read)
}

// drop forgets changes that every copy is younger than.
func (c *changes) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for change, at := range c.at {
		if time.Since(at) > 2*copyLife {
			delete(c.at, change)
		}
	}
}

// application finds an application as nearly every request asks for one: as it may
// act now.
func (p *Provider) application(ctx context.Context, clientID string) (Application, error) {
	read := func(ctx context.Context, clientID string) (Application, error) {
		a, err := p.store.ApplicationByClientID(ctx, clientID)
		return p.config.inForce(a), err
	}
	return p.applications.get(ctx, clientID, read, func(a Application) bool {
		return len(a.Name)+len(a.RedirectURIs)+len(a.PostLogoutURIs) <= 4*copyBytes
	})
}

func applicationChanged(c *changes, read time.Time, a Application) bool {
	return c.of(storage.OfApplication, &a.ID, read) || c.of(storage.OfUser, a.OwnerID, read)
}

// token reads a token for those who only look at it. Of refresh tokens there is
// no copy: they are spent without a word to anybody. A copy of a signed one
// saves the look at its signature too.
func (p *Provider) token(ctx context.Context, text string) (knownToken, error) {
	find := func(ctx context.Context, _ string) (knownToken, error) { return p.findToken(ctx, text) }
	return p.tokens.get(ctx, digest(text), find, func(t knownToken) bool {
		return !t.Refresh && len(deref(t.Claims)) <= copyBytes
	})
}

func tokenChanged(c *changes, read time.Time, t knownToken) bool {
	return c.of(storage.OfToken, &t.Digest, read) || c.of(storage.OfApplication, &t.Application, read) ||
		c.of(storage.OfGrant, t.GrantID, read) || c.of(storage.OfUser, t.UserID, read) || c.of(storage.OfUser, t.OwnerID, read) || c.of(storage.OfSession, t.SessionID, read) ||
		t.name != "" && c.of(storage.OfKeys, new(string), read) // which names no key
}
