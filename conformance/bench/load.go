package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// worker asks the questions of one connection, one after the other.
type worker interface {
	// next formats a request, whose memory it may use again for the one after it. Nothing is the end.
	next() []byte
	// check looks at the answer and gives a name to what is wrong with it, or nothing.
	check(response) string
}

// load is some seconds of requests.
type load struct {
	to      endpoint
	workers []worker // one connection each
	length  time.Duration
	// rate is the number of requests that arrive in a second, however long the answers take; 0 lets each
	// worker ask again as soon as it has its answer.
	rate float64
	from func() net.Addr // where a connection comes from; nil leaves it to the system
	each int             // requests after which a connection is replaced; 0 is never
}

// outcome is what came of a load.
type outcome struct {
	good    int // answers with nothing wrong about them
	wrong   map[string]int
	latency histogram
	// late is how long after its time the generator itself handed a request on: what it may have added to
	// the latency.
	late    histogram
	elapsed time.Duration
}

func (o *outcome) rate() float64 { return float64(o.good) / o.elapsed.Seconds() }

func (o *outcome) answers() int {
	sum := o.good
	for _, n := range o.wrong {
		sum += n
	}
	return sum
}

func (o *outcome) blame(kind string) {
	if o.wrong == nil {
		o.wrong = map[string]int{}
	}
	o.wrong[kind]++
}

func (o *outcome) merge(other *outcome) {
	o.good += other.good
	o.latency.merge(other.latency)
	for kind, n := range other.wrong {
		if o.wrong == nil {
			o.wrong = map[string]int{}
		}
		o.wrong[kind] += n
	}
}

// grace is how long answers may take that are still on their way when the time is over.
const grace = 20 * time.Second

// run does it. Its error is only that it could not begin, or that ctx ended.
func (l load) run(ctx context.Context) (*outcome, error) {
	lines := make([]*line, len(l.workers))
	for i, w := range l.workers {
		lines[i] = &line{load: &l, worker: w}
		err := lines[i].connect(ctx)
		if err != nil {
			for _, open := range lines[:i] {
				open.conn.Close()
			}
			return nil, fmt.Errorf("connect to %s: %w", l.to.address, err)
		}
	}
	start := time.Now()
	end := start.Add(l.length)
	sum := &outcome{}
	var due chan time.Time
	var group sync.WaitGroup
	if l.rate > 0 {
		// There is room for all, so that a slow server cannot keep requests from becoming due.
		due = make(chan time.Time, int(l.rate*l.length.Seconds())+1)
		group.Go(func() { sum.late = arrivals(ctx, due, start, l.rate) })
	}
	for _, a := range lines {
		a.until = end.Add(grace)
		group.Go(func() {
			defer func() { a.conn.Close() }()
			defer context.AfterFunc(ctx, func() { a.interrupt() })()
			if due != nil {
				a.open(ctx, due)
			} else {
				a.closed(ctx, start, end)
			}
		})
	}
	group.Wait()
	last := start
	for _, a := range lines {
		sum.merge(&a.outcome)
		if a.last.After(last) {
			last = a.last
		}
	}
	sum.elapsed = last.Sub(start)
	if due != nil {
		sum.elapsed = max(sum.elapsed, l.length)
	}
	return sum, ctx.Err()
}

// arrivals hands requests on at a fixed rate: each with the time at which it should begin.
func arrivals(ctx context.Context, due chan<- time.Time, start time.Time, rate float64) histogram {
	// Go's timers are as coarse as a millisecond; the kernel's are not, and block a thread of our own. It goes
	// before others where it may, and ends with us.
	runtime.LockOSThread()
	hurry()
	defer close(due)
	var late histogram
	interval := float64(time.Second) / rate
	for k := range cap(due) - 1 {
		at := start.Add(time.Duration(float64(k) * interval))
		for wait := time.Until(at); wait > 0; wait = time.Until(at) {
			pause(wait)
		}
		if ctx.Err() != nil {
			return late
		}
		due <- at
		late.add(time.Since(at))
	}
	return late
}

// line is a worker with its connection.
type line struct {
	*load
	outcome
	worker worker
	until  time.Time // no answer is waited for after that
	last   time.Time // the last answer came
	asked  int       // on this connection

	mu   sync.Mutex // conn is also closed from outside
	conn *conn
}

func (a *line) connect(ctx context.Context) error {
	var from net.Addr
	if a.from != nil {
		from = a.from()
	}
	made, err := a.to.dial(ctx, from)
	if err != nil {
		return err
	}
	if !a.until.IsZero() {
		_ = made.SetDeadline(a.until) // the next read says if it is closed
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.conn != nil {
		a.conn.Close()
	}
	a.conn, a.asked = made, 0
	return nil
}

func (a *line) interrupt() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.conn.Close()
}

// closed asks again as soon as there is an answer.
func (a *line) closed(ctx context.Context, at, end time.Time) {
	_ = a.conn.SetDeadline(a.until)
	for at.Before(end) && ctx.Err() == nil {
		if !a.ask(ctx, at) {
			return
		}
		at = time.Now()
	}
}

// open asks when a request is due. Its latency counts from then: a request that had to wait for a worker,
// because the server kept all of them waiting, has waited for the server (no coordinated omission).
func (a *line) open(ctx context.Context, due <-chan time.Time) {
	_ = a.conn.SetDeadline(a.until)
	for at := range due {
		if ctx.Err() != nil {
			return
		}
		if time.Now().After(a.until) {
			a.blame("not sent in time")
			continue
		}
		if !a.ask(ctx, at) {
			return
		}
	}
}

// ask sends one request, whose time counts from at. It says whether there may be another one.
func (a *line) ask(ctx context.Context, at time.Time) bool {
	request := a.worker.next()
	if request == nil {
		return false
	}
	if a.each > 0 && a.asked >= a.each {
		a.reconnect(ctx)
	}
	a.asked++
	r, err := a.conn.ask(request)
	done := time.Now()
	if ctx.Err() != nil {
		return false
	}
	a.last = done
	if err != nil {
		a.blame(broken(err))
		a.reconnect(ctx)
		return true
	}
	a.latency.add(done.Sub(at))
	if kind := a.worker.check(r); kind != "" {
		a.blame(kind)
	} else {
		a.good++
	}
	if a.conn.closing {
		a.reconnect(ctx)
	}
	return true
}

// reconnect fails by the next request, which is then counted. A server that is gone is not asked as fast
// as a processor can.
func (a *line) reconnect(ctx context.Context) {
	err := a.connect(ctx)
	if err != nil {
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// broken names what went wrong with a connection, without the addresses, which differ each time.
func broken(err error) string {
	switch {
	case errors.Is(err, io.EOF):
		return "connection closed"
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Sprintf("no answer within %v of the end", grace)
	case errors.Is(err, net.ErrClosed):
		return "no connection"
	}
	var number syscall.Errno
	if errors.As(err, &number) {
		return number.Error()
	}
	text := err.Error()
	return text[strings.LastIndex(text, ": ")+1:]
}
