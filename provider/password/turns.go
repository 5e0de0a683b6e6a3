package password

import (
	"context"
	"slices"
	"sync"
)

// turns gives places to those who wait, in turns by party: whoever waits for one place does not wait
// behind all that somebody else asks for.
type turns struct {
	most int

	mu      sync.Mutex
	used    int
	waiting map[string][]chan struct{} // by party; each is closed when its place is free
	order   []string                   // the parties that wait, the next one first
}

func newTurns(most int) *turns { return &turns{most: most, waiting: map[string][]chan struct{}{}} }

type partyKey struct{}

// InTurn returns a context with the party that waits for a hash.
func InTurn(ctx context.Context, party string) context.Context {
	return context.WithValue(ctx, partyKey{}, party)
}

// take takes a place, or returns the error of the context.
func (t *turns) take(ctx context.Context) error {
	party, _ := ctx.Value(partyKey{}).(string)
	t.mu.Lock()
	if t.used < t.most {
		t.used++
		t.mu.Unlock()
		return nil
	}
	free := make(chan struct{})
	if len(t.waiting[party]) == 0 {
		t.order = append(t.order, party)
	}
	t.waiting[party] = append(t.waiting[party], free)
	t.mu.Unlock()
	select {
	case <-free:
		return nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	at := slices.Index(t.waiting[party], free)
	if at < 0 {
		t.pass() // the place became free at this moment
		return ctx.Err()
	}
	t.waiting[party] = slices.Delete(t.waiting[party], at, at+1)
	if len(t.waiting[party]) == 0 {
		delete(t.waiting, party)
		t.order = slices.DeleteFunc(t.order, func(other string) bool { return other == party })
	}
	return ctx.Err()
}

// release gives a place back.
func (t *turns) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pass()
}

// pass gives a place to the next party. A party that still waits goes to the end.
func (t *turns) pass() {
	if len(t.order) == 0 {
		t.used--
		return
	}
	party := t.order[0]
	t.order = t.order[1:]
	first := t.waiting[party][0]
	t.waiting[party] = t.waiting[party][1:]
	if len(t.waiting[party]) > 0 {
		t.order = append(t.order, party)
	} else {
		delete(t.waiting, party)
	}
	close(first)
}

func (t *turns) inUse() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.used
}
