package password

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"mandate/testkit"
)

func TestWhoWaitsForOneHashHasTheSecondTurnAtTheLatest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		places := newTurns(1)
		if err := places.take(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := make(chan string, 10)
		wait := func(ctx context.Context, party string) {
			go func() {
				if err := places.take(InTurn(ctx, party)); err != nil {
					party = err.Error()
				}
				got <- party
			}()
			synctest.Wait()
		}
		given, leave := context.WithCancel(t.Context())
		for range 3 {
			wait(t.Context(), "flood")
		}
		wait(given, "left")
		wait(t.Context(), "person")
		leave()
		synctest.Wait()
		order := []string{<-got}
		for range 4 {
			places.release()
			synctest.Wait()
			order = append(order, <-got)
		}
		if want := []string{context.Canceled.Error(), "flood", "person", "flood", "flood"}; !slices.Equal(order, want) {
			t.Errorf("the order is %q, want %q", order, want)
		}
		places.release()
		if places.inUse() != 0 {
			t.Errorf("%d places are in use", places.inUse())
		}
		ended, end := context.WithCancel(t.Context())
		end()
		if err := places.take(ended); err != nil { // a free place is taken without a wait
			t.Error(err)
		}
		if err := places.take(ended); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// Each place in the queue is given back.
func TestQueueAtOnce(t *testing.T) {
	h := New(Cost{64, 1}, 1)
	pass := func() {
		leave, err := h.Enter("client", "address")
		if err != nil {
			t.Error(err)
			return
		}
		leave()
	}
	testkit.AtOnce(pass, pass, pass)
	if queued := h.Stats().Parties; queued != 0 {
		t.Errorf("%d parties wait", queued)
	}
}
