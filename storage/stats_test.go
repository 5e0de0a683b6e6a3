package storage

import (
	"errors"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The statistics count waiting writes, batches by size, and refused writes.
func TestQueueStats(t *testing.T) {
	running, release := make(chan struct{}), make(chan struct{})
	g := &batcher[int]{lanes: 1, maxWaiting: 3, size: func(n int) int { return n }, run: func(items []int) []error {
		running <- struct{}{}
		<-release
		return slices.Repeat([]error{nil}, len(items))
	}}
	outcomes := make(chan error)
	do := func() { outcomes <- g.do(t.Context(), 0) }
	go do()
	<-running
	for n := 1; n <= 3; n++ {
		go do()
		for end := time.Now().Add(10 * time.Second); g.stats().Waiting < n; runtime.Gosched() {
			if time.Now().After(end) {
				t.Fatal("it does not wait")
			}
		}
	}
	err := g.do(t.Context(), 0)
	if !errors.Is(err, ErrBusy) {
		t.Errorf("the fifth got %v", err)
	}
	release <- struct{}{}
	<-running
	release <- struct{}{}
	for range 4 {
		err = <-outcomes
		if err != nil {
			t.Error(err)
		}
	}
	// a batch of one, and a batch of three (up to four)
	want := Queue{Room: 3, Full: 1, Items: 4, Sizes: [batchSizes]int64{1, 0, 1}}
	if diff := cmp.Diff(want, g.stats()); diff != "" {
		t.Error(diff)
	}
}

func TestBatchSizes(t *testing.T) {
	for items, place := range map[int]int{1: 0, 2: 1, 3: 2, 4: 2, 5: 3, 64: 6, 65: 7, 128: 7, 1000: 7} {
		var counted batchStats
		counted.batch(items)
		if counted.sizes[place].Load() != 1 {
			t.Errorf("a batch of %d is not at place %d", items, place)
		}
	}
}
