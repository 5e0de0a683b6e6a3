package storage

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"runtime/debug"
	"slices"
	"sync"
)

// ErrBusy means that too many writes wait already. The client may try again later.
var ErrBusy = errors.New("too many writes wait for the database")

// batcher combines concurrent writes in one statement and one commit. A write starts at
// once if a lane is free. Writes that arrive while all lanes are busy form the next
// batch.
type batcher[T any] struct {
	run        func([]T) []error // returns the outcome of each item
	size       func(waiting int) int
	lanes      int // batches that may run at the same time
	maxWaiting int // waiting items; this limits the memory
	// leaves means that a caller whose time ends does not wait for its batch. The item then has an outcome that nobody
	// learns: nobody gets the token, and the one-time value counts as used.
	leaves bool
	tally  batchStats

	mu      sync.Mutex
	waiting []*batched[T]
	busy    int
}

type batched[T any] struct {
	item T
	done chan error
}

// atMost returns the size of the next batch: everything that waits, up to a limit.
func atMost(limit int) func(waiting int) int {
	return func(waiting int) int { return min(waiting, limit) }
}

// powerOfTwo returns the size of the next batch. Each size is a separate statement that
// the database has prepared.
func powerOfTwo(waiting int) int { return 1 << min(bits.Len(uint(waiting))-1, 6) }

// do waits until the item is stored or has failed.
func (g *batcher[T]) do(ctx context.Context, item T) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	one := &batched[T]{item, make(chan error, 1)}
	g.mu.Lock()
	if len(g.waiting) >= g.maxWaiting {
		g.mu.Unlock()
		g.tally.full.Add(1)
		return ErrBusy
	}
	g.waiting = append(g.waiting, one)
	if g.busy < g.lanes {
		g.busy++
		go g.work()
	}
	g.mu.Unlock()
	select {
	case err := <-one.done:
		return err
	case <-ctx.Done():
	}
	// An item that waits is removed. An item whose batch runs cannot be removed.
	if g.remove(one) || g.leaves {
		return ctx.Err()
	}
	return <-one.done
}

func (g *batcher[T]) remove(one *batched[T]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, other := range g.waiting {
		if other == one {
			g.waiting = append(g.waiting[:i], g.waiting[i+1:]...)
			return true
		}
	}
	return false
}

// work runs batches until no item waits.
func (g *batcher[T]) work() {
	for {
		batch := g.take()
		if batch == nil {
			return
		}
		items := make([]T, len(batch))
		for i, one := range batch {
			items[i] = one.item
		}
		g.tally.batch(len(items))
		for i, err := range g.survive(items) {
			batch[i].done <- err
		}
	}
}

// survive runs a batch. The driver panics on some answers of a server, and no HTTP server recovers a panic in this
// goroutine. Then nobody knows what was stored.
func (g *batcher[T]) survive(items []T) (outcomes []error) {
	defer func() {
		if cause := recover(); cause != nil {
			outcomes = slices.Repeat([]error{fmt.Errorf("panic in a batch of writes: %v\n%s", cause, debug.Stack())}, len(items))
		}
	}()
	return g.run(items)
}

func (g *batcher[T]) take() []*batched[T] {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 {
		g.busy--
		return nil
	}
	n := g.size(len(g.waiting))
	batch := g.waiting[:n:n]
	g.waiting = append([]*batched[T](nil), g.waiting[n:]...)
	return batch
}
