package request

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

type other struct{}

func TestPatienceEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &lazyDeadline{Context: t.Context(), rec: &Record{began: time.Now()}}
		defer p.end()
		below, stop := context.WithCancel(context.WithValue(p, other{}, 1))
		defer stop()
		before := runtime.NumGoroutine()
		if RecordOf(below) != p.rec {
			t.Error("the record is not found")
		}
		if end, ok := below.Deadline(); !ok || time.Until(end) != patience {
			t.Errorf("it ends in %v, %v", time.Until(end), ok)
		}
		time.Sleep(patience - time.Nanosecond)
		if below.Err() != nil {
			t.Error("it has ended too soon")
		}
		<-below.Done()
		if !errors.Is(below.Err(), context.DeadlineExceeded) {
			t.Error(below.Err())
		}
		if n := runtime.NumGoroutine() - before; n > 0 {
			t.Errorf("%d goroutines watch it", n)
		}
	})
}

// A client that goes away ends the request, with a timer and without one.
func TestPatienceEndsWithTheRequest(t *testing.T) {
	for _, looked := range []bool{false, true} {
		gone, leave := context.WithCancel(t.Context())
		p := &lazyDeadline{Context: gone, rec: &Record{began: time.Now()}}
		if looked {
			_ = p.Done()
		}
		leave()
		<-p.Done()
		if !errors.Is(p.Err(), context.Canceled) {
			t.Errorf("looked %v: %v", looked, p.Err())
		}
	}
}

func TestPatienceThatIsOverSetsNoTimer(t *testing.T) {
	gone, leave := context.WithCancel(t.Context())
	p := &lazyDeadline{Context: gone, rec: &Record{began: time.Now()}}
	p.end()
	if _, ok := p.Deadline(); ok || p.Err() != nil {
		t.Error("it is more than the request's own context")
	}
	leave()
	<-p.Done()
}
