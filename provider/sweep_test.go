package provider

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mandate/provider/events"
	"mandate/storage"
)

// A node whose clock is wrong would delete the sessions, tokens and events of all nodes, and end their keys.
func TestNothingIsDeletedByAWrongClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t, func(c *Config) {
			c.OpenID, c.EventRetention, c.SweepInterval, c.SweepBatch = true, 24*time.Hour, time.Minute, 10
		})
		f.login("alice")
		time.Sleep(48 * time.Hour)
		now := time.Now()
		for _, wrong := range []time.Duration{-61 * time.Second, 61 * time.Second} {
			f.clock.Compare(now, now, now.Add(wrong))
			f.sweep(t.Context())
			if got := len(f.storedEvents(events.SignIn)); got != 1 {
				t.Errorf("%v: the event was deleted", wrong)
			}
			err := f.Keys.RotateNow(t.Context(), "RSA", time.Hour)
			if err == nil || !strings.Contains(errors.Unwrap(err).Error(), "clock of this machine") {
				t.Errorf("%v: a key was added: %v", wrong, err)
			}
		}
		f.clock.Compare(now, now, now.Add(30*time.Second))
		f.sweep(t.Context())
		if got := len(f.storedEvents(events.SignIn)); got != 0 {
			t.Error("nothing is deleted by a right clock")
		}
	})
}

// A probe of readiness writes. However many ask, and however long the database is silent, one write runs at a time.
func TestReadinessWritesOnceForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b probe
		writes, release := 0, make(chan struct{})
		write := func(context.Context) error { writes++; <-release; return nil }
		first := b.begin(write)
		time.Sleep(time.Hour)
		if b.begin(write) != first {
			t.Error("another write begins while one runs")
		}
		close(release)
		<-first.done
		if b.begin(write) != first {
			t.Error("another write begins at once")
		}
		time.Sleep(proofLife)
		<-b.begin(write).done
		if writes != 2 {
			t.Errorf("%d writes", writes)
		}
	})
}

// An operator must find in the log why a load balancer has left out this node, and not one line for each of its
// questions.
func TestReadinessIsLoggedWhenItChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t)
		ask := func() error { time.Sleep(proofLife); return f.Ready(t.Context()) }
		for range 2 {
			err := os.Rename(f.file, f.file+".away")
			if err != nil || ask() == nil || ask() == nil {
				t.Fatal("ready without the database file", err)
			}
			err = os.Rename(f.file+".away", f.file)
			if err != nil || ask() != nil || ask() != nil {
				t.Fatal("not ready with the database file", err)
			}
		}
		gone, stop := context.WithCancel(t.Context())
		stop()
		_ = f.Ready(gone)
		logged := f.logged.String()
		for text, times := range map[string]int{"not ready": 2, storage.ErrReplaced.Error(): 2, "ready again": 2} {
			if n := strings.Count(logged, text); n != times {
				t.Errorf("%q is logged %d times:\n%s", text, n, logged)
			}
		}
	})
}
