package eventlog

import (
	"testing"
	"testing/synctest"
	"time"
)

// full is a stream that takes nothing more.
type full struct{ let chan struct{} }

func (f full) Write(b []byte) (int, error) { <-f.let; return len(b), nil }

// A reader of the events that has stopped must not keep the server from its end.
func TestReaderThatStopsDoesNotKeepTheServerFromItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := full{make(chan struct{})}
		log, _ := logger()
		w := ToStream(to, log)
		w.Write([]byte("event\n"))
		began := time.Now()
		w.Close()
		if took := time.Since(began); took > 2*patience {
			t.Errorf("the end takes %v", took)
		}
		close(to.let)
	})
}
