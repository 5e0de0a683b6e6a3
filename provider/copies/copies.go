// Package copies keeps copies of records in memory until the records change.
package copies

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Life is how long a copy serves while every change is received. It bounds the delay
// of a change that nothing announces, such as one by hand in the database.
const Life = time.Minute

// Copies keeps records that were read, by the key of the request for them.
type Copies[T any] struct {
	most    int
	changes *Changes
	// changed reports whether something that the copy depends on has changed.
	changed func(c *Changes, read time.Time, value *T) bool

	mu   sync.RWMutex
	rows map[string]*copied[T]

	hits, misses atomic.Int64
}

// copied is a copy with the time at which its reading began. It never changes.
type copied[T any] struct {
	value T
	read  time.Time // when the reading began
}

// New makes room for most copies. changed reports whether one of the records that a copy
// depends on has changed since it was read.
func New[T any](most int, c *Changes, changed func(*Changes, time.Time, *T) bool) *Copies[T] {
	return &Copies[T]{most: most, changed: changed, changes: c, rows: map[string]*copied[T]{}}
}

// Get returns the copy, or reads the record and copies it. may reports whether a record
// may be copied. A record that may not be copied is read each time.
func (c *Copies[T]) Get(ctx context.Context, key string, read func(context.Context, string) (T, error),
	may func(T) bool) (T, error) {
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
	c.rows[key] = &copied[T]{value, began}
	return value, nil
}

// serves reports whether a copy may be used now: nothing that it depends on has changed
// since the reading began, as far as this node can know.
func (c *Copies[T]) serves(row *copied[T], now time.Time) bool {
	c.changes.mu.RLock()
	defer c.changes.mu.RUnlock()
	return c.changes.fresh(now, row.read) && c.changes.all.Before(row.read) && !c.changed(c.changes, row.read, &row.value)
}

// makeRoom removes at least one copy: it looks at a few of them and removes those that
// are too old, or any one.
func (c *Copies[T]) makeRoom(now time.Time) {
	looked := 0
	for key, row := range c.rows {
		if looked++; now.Sub(row.read) >= Life || looked == 16 {
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

// Drop removes the copies that are too old, so that an idle node keeps none.
func (c *Copies[T]) Drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	for key, row := range c.rows {
		if now.Sub(row.read) >= Life {
			delete(c.rows, key)
		}
	}
	if len(c.rows) == 0 {
		c.rows = map[string]*copied[T]{} // a map never shrinks
	}
}

// Change names a record that has changed.
type Change struct{ Kind, ID string }

// Changes remembers which records changed, for as long as an older copy may exist.
type Changes struct {
	bound time.Duration

	mu           sync.RWMutex
	at           map[Change]time.Time
	all          time.Time
	receivedUpTo time.Time
}

// NewChanges makes a memory of changes. bound is how long a copy serves while this
// node does not receive the changes that other nodes make; 0: there are no copies.
func NewChanges(bound time.Duration) *Changes {
	return &Changes{bound: bound, at: map[Change]time.Time{}}
}

// maxChanges bounds the memory: above it, every record counts as changed.
const maxChanges = 100_000

// Add notes that records have changed.
func (c *Changes) Add(changed ...Change) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range changed {
		if len(c.at) >= maxChanges {
			c.all = now
			clear(c.at)
			continue
		}
		c.at[one] = now
	}
}

// AddAll notes that any record may have changed.
func (c *Changes) AddAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = time.Now()
	clear(c.at)
}

// ReceivedUpTo notes that this node has received every change up to a time.
func (c *Changes) ReceivedUpTo(upTo time.Time) {
	c.mu.Lock()
	c.receivedUpTo = upTo
	c.mu.Unlock()
}

// Receiving reports whether this node receives the changes of the other nodes.
func (c *Changes) Receiving() bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return time.Since(c.receivedUpTo) < c.bound
}

// fresh reports whether a record that was read at a time may be used now. A change that
// this node has not received is younger than the bound, counted from the reading or
// from the last time up to which all changes were received.
func (c *Changes) fresh(now, read time.Time) bool {
	age := now.Sub(read)
	return age < c.bound || age < Life && now.Sub(c.receivedUpTo) < c.bound
}

// Has reports whether a record changed after a reading began.
func (c *Changes) Has(kind string, id *string, read time.Time) bool {
	if id == nil {
		return false
	}
	at, changed := c.at[Change{kind, *id}]
	return changed && !at.Before(read)
}

// Drop removes changes that are older than every copy.
func (c *Changes) Drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for change, at := range c.at {
		if time.Since(at) > 2*Life {
			delete(c.at, change)
		}
	}
}

// Stats says how often a copy served, how often the record was read, and how many
// copies there are.
func (c *Copies[T]) Stats() (hits, misses int64, entries int) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.hits.Load(), c.misses.Load(), len(c.rows)
}
