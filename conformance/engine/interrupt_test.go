package engine

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mandate/conformance/check"
)

// A check that is at work between two requests, such as on a large answer, does not see the interrupt. The run ends all
// the same, and the results so far are kept.
func TestRunInterrupted(t *testing.T) {
	d := newDoor(t)
	ctx, interrupt := context.WithCancel(t.Context())
	work := make(chan struct{})
	t.Cleanup(func() { close(work) })
	rules := []check.Rule{
		{Alone: true, Check: func(*check.T) {}},
		{Alone: true, Check: func(t *check.T) { interrupt(); <-work }},
		{Alone: true, Check: func(*check.T) { t.Error("a check began after the interrupt") }},
	}
	began := time.Now()
	results := d.runUntil(ctx, t, rules...)
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
	if results[0].Status != check.Pass {
		t.Errorf("%s: %s", results[0].Status, results[0].Reason)
	}
	for _, r := range results[1:] {
		if r.Status != check.Blocked || !strings.Contains(r.Reason, "the run was interrupted") {
			t.Errorf("%s: %s", r.Status, r.Reason)
		}
	}
}

// A check has a limit for everything that it does.
func TestCheckThatDoesNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		work := make(chan struct{})
		defer close(work)
		rule := check.Rule{ID: "TEST/1/endless", Level: check.Must, Check: func(*check.T) {}}
		r := bounded(t.Context(), rule, func(context.Context, check.Rule) check.Result { <-work; return check.Result{} })
		if r.Status != check.Blocked || r.Reason != "the check did not end within 4m0s" || r.Duration != checkLimit {
			t.Errorf("%s after %s: %s", r.Status, r.Duration, r.Reason)
		}
	})
}
