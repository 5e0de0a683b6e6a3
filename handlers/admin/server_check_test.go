package admin

import (
	"context"
	"testing"

	"mandate/provider/checkup"
)

// A check that hangs keeps nobody longer than their own request lasts, and only a few requests wait for it (CWE-400).
func TestAttackServerCheckPilesUp(t *testing.T) {
	c := newLastCheck()
	began, end, ended := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		_, _, err := c.findings(
			t.Context(),
			func(context.Context) []checkup.Finding { close(began); <-end; return nil },
		)
		ended <- err
	}()
	<-began
	gone, leave := context.WithCancel(t.Context())
	for range mostCheckWaits + 3 {
		go func() {
			_, _, err := c.findings(gone, nil)
			ended <- err
		}()
	}
	for range 3 { // there is no room for them
		if err := <-ended; err == nil {
			t.Error("a request has findings of no check")
		}
	}
	leave()
	for range mostCheckWaits {
		if err := <-ended; err == nil {
			t.Error("a request that has gone has findings")
		}
	}
	close(end)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	_, _, err := c.findings(t.Context(), nil)
	if err != nil {
		t.Error(err)
	}
}
