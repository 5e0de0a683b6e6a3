package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// batching is a batcher of numbers whose batches wait until the test releases them.
type batching struct {
	*batcher[int]
	batches chan []int
	let     chan struct{}
}

func newBatching(lanes, most int) batching {
	g := batching{batches: make(chan []int, 100), let: make(chan struct{})}
	g.batcher = &batcher[int]{lanes: lanes, maxWaiting: most, size: powerOfTwo, run: func(items []int) []error {
		g.batches <- slices.Clone(items)
		<-g.let
		outcomes := make([]error, len(items))
		for i, item := range items {
			if item < 0 {
				outcomes[i] = ErrConflict
			}
		}
		return outcomes
	}}
	return g
}

// send starts one write per number, one after the other, and returns a channel for each
// result.
func (g batching) send(ctx context.Context, items ...int) []chan error {
	outcomes := make([]chan error, len(items))
	for i, item := range items {
		outcomes[i] = make(chan error, 1)
		go func() { outcomes[i] <- g.do(ctx, item) }()
		synctest.Wait()
	}
	return outcomes
}

func TestGatherSharesWhatComesTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newBatching(1, 100)
		outcomes := g.send(t.Context(), 1, 2, -3, 4, 5, 6)
		close(g.let)
		synctest.Wait()
		for i, outcome := range outcomes {
			want := error(nil)
			if i == 2 {
				want = ErrConflict // this item alone fails
			}
			is(t, "outcome", <-outcome, want)
		}
		// The first item did not wait. The others arrived while its batch was running.
		for _, want := range [][]int{{1}, {2, -3, 4, 5}, {6}} {
			if got := <-g.batches; !slices.Equal(got, want) {
				t.Errorf("batch %v, want %v", got, want)
			}
		}
		if g.busy != 0 || len(g.waiting) != 0 {
			t.Errorf("%d lanes are busy, %d wait", g.busy, len(g.waiting))
		}
	})
}

func TestGatherHasSoManyLanes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newBatching(3, 100)
		g.send(t.Context(), 1, 2, 3, 4, 5)
		if len(g.batches) != 3 {
			t.Errorf("%d batches at once, want 3", len(g.batches))
		}
		close(g.let)
	})
}

func TestGatherThatIsFullSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newBatching(1, 2)
		outcomes := g.send(t.Context(), 1, 2, 3, 4) // one is running, two wait
		is(t, "the write that exceeds the limit", <-outcomes[3], ErrBusy)
		close(g.let)
		synctest.Wait()
		is(t, "the last write that waits", <-outcomes[2], nil)
		is(t, "the next", <-g.send(t.Context(), 5)[0], nil)
	})
}

// A waiting item can be cancelled. A running item cannot: its caller gets the real
// result.
func TestGatherWhoseCallerGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newBatching(1, 100)
		ctx, stop := context.WithCancel(t.Context())
		outcomes := g.send(ctx, 1, 2)
		stop()
		is(t, "waiting", <-outcomes[1], context.Canceled)
		close(g.let)
		is(t, "under way", <-outcomes[0], nil)
		synctest.Wait()
		if len(g.batches) != 1 {
			t.Error("a withdrawn write was run")
		}
		is(t, "a write after the end", g.do(ctx, 3), context.Canceled)
	})
}

func TestWritesThatComeTogetherFailAlone(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		a := w.application(t, "App")
		must(t, w.AddGroup(t.Context(), "taken", at))
		var conflicts atomic.Int64
		for i, err := range race(200, func(i int) error {
			if i%50 != 7 {
				return w.AddToken(t.Context(),
					Token{Digest: fmt.Sprint("token ", i), ApplicationID: &a.ID, Scope: "read", IssuedAt: at, ExpiresAt: later})
			}
			err := w.AddGroup(t.Context(), "taken", at)
			if errors.Is(err, ErrConflict) {
				conflicts.Add(1)
				return nil
			}
			return err
		}) {
			if err != nil {
				t.Errorf("%d: %v", i, err)
			}
		}
		if n := count(t, w.Store, `SELECT COUNT(*) FROM tokens`); n != 196 || conflicts.Load() != 4 {
			t.Errorf("%d tokens and %d conflicts, want 196 and 4", n, conflicts.Load())
		}
	})
}

// A panic reaches only its own caller, and no other write is lost.
func TestPanicOfASharedTransactionIsItsCallers(t *testing.T) {
	w := migrated(t, sqliteURL(t))
	errs := race(20, func(i int) (err error) {
		defer func() {
			if cause := recover(); cause != nil {
				err = errors.New(cause.(string))
			}
		}()
		if i == 7 {
			return w.atomically(t.Context(), func(tx) error { panic("of seven") })
		}
		return w.AddGroup(t.Context(), "group "+string(rune('a'+i)), at)
	})
	for i, err := range errs {
		if (i == 7) != (err != nil && err.Error() == "of seven") {
			t.Errorf("%d: %v", i, err)
		}
	}
	if n := count(t, w.Store, `SELECT COUNT(*) FROM groups`); n != 19 {
		t.Errorf("%d groups, want 19", n)
	}
}

// The driver panics on some answers of a server. That ends neither the process nor the batches after it.
func TestPanicInABatchEndsNothing(t *testing.T) {
	broken := true
	g := &batcher[int]{size: atMost(1), lanes: 1, maxWaiting: 2, run: func([]int) []error {
		if broken {
			panic("a mistake")
		}
		return []error{nil}
	}}
	if err := g.do(t.Context(), 1); err == nil || !strings.Contains(err.Error(), "a mistake") {
		t.Errorf("the write that panics: %v", err)
	}
	broken = false
	if err := g.do(t.Context(), 2); err != nil {
		t.Errorf("the next write: %v", err)
	}
}
