package lines

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// slow is a destination that accepts one write at a time.
type slow struct {
	let    chan struct{}
	writes [][]byte
}

func (s *slow) Write(b []byte) (int, error) {
	<-s.let
	s.writes = append(s.writes, bytes.Clone(b))
	return len(b), nil
}

func TestLinesShareAWriteInTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &slow{let: make(chan struct{})}
		l := New(to)
		for i := range 5 {
			fmt.Fprintf(l, "line %d\n", i)
			synctest.Wait()
		}
		close(to.let)
		l.Close()
		if len(to.writes) != 2 || string(to.writes[0]) != "line 0\n" ||
			string(to.writes[1]) != "line 1\nline 2\nline 3\nline 4\n" {
			t.Errorf("%q", to.writes)
		}
		l.Close() // no line waits
	})
}

func TestLinesWaitForAReaderWhoIsTooSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &slow{let: make(chan struct{})}
		l := New(to)
		full := strings.Repeat("x", maxLines+1)
		var all sync.WaitGroup
		written := make(chan int, 3)
		for i := range 3 {
			all.Go(func() {
				fmt.Fprint(l, full)
				written <- i
			})
			synctest.Wait()
		}
		if len(written) != 2 { // one is being written, one waits
			t.Errorf("%d lines were accepted for a reader that reads none", len(written))
		}
		close(to.let)
		all.Wait()
		l.Close()
		if len(bytes.Join(to.writes, nil)) != 3*len(full) || l.Lost() != 0 {
			t.Error("a line is lost")
		}
	})
}

// A log that nobody reads must not stop the requests, nor the end of the server.
func TestReaderThatStopsDoesNotStopTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &slow{let: make(chan struct{})}
		l := New(to)
		var told []int64
		l.OnResumed(func(lost int64) { told = append(told, lost) })
		full := strings.Repeat("x", maxLines+1)
		began := time.Now()
		for range 10 {
			fmt.Fprint(l, full)
		}
		if took := time.Since(began); took != patience || l.Lost() != 8 {
			t.Errorf("ten lines took %v, and %d are lost", took, l.Lost())
		}
		l.Close()
		if took := time.Since(began); took != 2*patience {
			t.Errorf("the end takes %v", took)
		}
		close(to.let)
		synctest.Wait()
		fmt.Fprint(l, "again")
		l.Close()
		synctest.Wait()
		if last := to.writes[len(to.writes)-1]; string(last) != "again" || len(told) != 1 || told[0] != 8 {
			t.Errorf("after that %.20q is written, and told is %d", last, told)
		}
	})
}
