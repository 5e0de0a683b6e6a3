// Package load sends requests to a server at full speed or at a fixed rate, and measures how long the answers take.
package load

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

// Worker makes the requests of one connection, one after the other.
type Worker interface {
	// Next formats a request. It may use the memory of the previous one. An empty request ends the connection.
	Next() []byte
	// Check looks at the answer and returns the name of what is wrong with it, or nothing, or Unfinished.
	Check(Response) string
}

// Unfinished is the result of an answer after which the worker has to send a further request. All of them count as one.
const Unfinished = "unfinished"

// Load is a series of requests that lasts some seconds.
type Load struct {
	To      Endpoint
	Workers []Worker // one for each connection
	Length  time.Duration
	// Rate is the number of requests that arrive in a second, however long the answers take. If it is 0, each worker
	// sends the next request as soon as it has an answer.
	Rate float64
	From func() net.Addr // returns the address from which a connection comes; nil leaves it to the system
	Each int             // number of requests after which a connection is replaced; 0 means never
	// Connected is called when all workers are connected; it may be nil.
	Connected func()
}

// Outcome is the result of a load.
type Outcome struct {
	Good    int // correct answers
	Wrong   map[string]int
	Latency Histogram
	// Late is the delay with which the generator itself handed a request on. The latency may contain it.
	Late    Histogram
	Elapsed time.Duration
}

// Rate returns the number of correct answers in a second.
func (o *Outcome) Rate() float64 { return float64(o.Good) / o.Elapsed.Seconds() }

// Answers returns the number of all answers.
func (o *Outcome) Answers() int {
	sum := o.Good
	for _, n := range o.Wrong {
		sum += n
	}
	return sum
}

// count counts what a worker says about an answer.
func (o *Outcome) count(kind string) {
	if kind == "" {
		o.Good++
	} else {
		o.countError(kind)
	}
}

func (o *Outcome) countError(kind string) {
	if o.Wrong == nil {
		o.Wrong = map[string]int{}
	}
	o.Wrong[kind]++
}

// Merge adds another outcome.
func (o *Outcome) Merge(other *Outcome) {
	o.Good += other.Good
	o.Latency.Merge(other.Latency)
	for kind, n := range other.Wrong {
		if o.Wrong == nil {
			o.Wrong = map[string]int{}
		}
		o.Wrong[kind] += n
	}
}

// Grace is how long the generator waits for answers after the end.
const Grace = 20 * time.Second

// Run sends the requests. It returns an error only if it cannot connect, or if ctx has ended.
func (l Load) Run(ctx context.Context) (*Outcome, error) {
	lines := make([]*line, len(l.Workers))
	for i, w := range l.Workers {
		lines[i] = &line{Load: &l, worker: w}
		err := lines[i].connect(ctx)
		if err != nil {
			for _, open := range lines[:i] {
				open.conn.Close()
			}
			return nil, fmt.Errorf("connect to %s: %w", l.To.address, err)
		}
	}
	if l.Connected != nil {
		l.Connected()
	}
	start := time.Now()
	end := start.Add(l.Length)
	sum := &Outcome{}
	var due chan time.Time
	var group sync.WaitGroup
	if l.Rate > 0 {
		// The channel has room for all requests, so that a slow server does not delay later ones.
		due = make(chan time.Time, int(l.Rate*l.Length.Seconds())+1)
		group.Go(func() { sum.Late = arrivals(ctx, due, start, l.Rate) })
	}
	for _, a := range lines {
		a.until = end.Add(Grace)
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
		sum.Merge(&a.Outcome)
		if a.last.After(last) {
			last = a.last
		}
	}
	sum.Elapsed = last.Sub(start)
	if due != nil {
		sum.Elapsed = max(sum.Elapsed, l.Length)
	}
	return sum, ctx.Err()
}

// arrivals hands requests on at a fixed rate, each with the time at which it should begin.
func arrivals(ctx context.Context, due chan<- time.Time, start time.Time, rate float64) Histogram {
	// Go's timers have a resolution of a millisecond. The kernel's timers are finer, but block a thread. The thread
	// gets a higher priority if that is allowed, and ends with this function.
	runtime.LockOSThread()
	hurry()
	defer close(due)
	var late Histogram
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
	*Load
	Outcome
	worker Worker
	until  time.Time // the end of waiting for answers
	last   time.Time // the time of the last answer
	asked  int       // number of requests on this connection

	mu   sync.Mutex // the connection is also closed by interrupt
	conn *conn
}

func (a *line) connect(ctx context.Context) error {
	var from net.Addr
	if a.From != nil {
		from = a.From()
	}
	made, err := a.To.dial(ctx, from)
	if err != nil {
		return err
	}
	if !a.until.IsZero() {
		_ = made.SetDeadline(a.until) // the next read returns the error if it is closed
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

// closed sends the next request as soon as there is an answer.
func (a *line) closed(ctx context.Context, at, end time.Time) {
	_ = a.conn.SetDeadline(a.until)
	for at.Before(end) && ctx.Err() == nil {
		if !a.ask(ctx, at) {
			return
		}
		at = time.Now()
	}
}

// open sends a request when it is due. Its latency counts from that time. So the time during which a slow server kept
// all workers busy is part of the latency (no coordinated omission).
func (a *line) open(ctx context.Context, due <-chan time.Time) {
	_ = a.conn.SetDeadline(a.until)
	for at := range due {
		if ctx.Err() != nil {
			return
		}
		if time.Now().After(a.until) {
			a.countError("not sent in time")
			continue
		}
		if !a.ask(ctx, at) {
			return
		}
	}
}

// ask sends one request, whose latency counts from at. It returns false if there may be no further request.
func (a *line) ask(ctx context.Context, at time.Time) bool {
	for kind := Unfinished; kind == Unfinished; {
		request := a.worker.Next()
		if request == nil {
			return false
		}
		if a.Each > 0 && a.asked >= a.Each {
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
			a.countError(broken(err))
			a.reconnect(ctx)
			return true
		}
		kind = a.worker.Check(r)
		if kind != Unfinished {
			a.Latency.add(done.Sub(at))
			a.count(kind)
		}
		if a.conn.closing {
			a.reconnect(ctx)
		}
	}
	return true
}

// reconnect leaves errors to the next request, which is then counted as failed. It waits a moment, so that a server
// that is gone is not flooded.
func (a *line) reconnect(ctx context.Context) {
	err := a.connect(ctx)
	if err != nil {
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// broken names an error of a connection, without addresses, so that equal errors are counted together.
func broken(err error) string {
	switch {
	case errors.Is(err, io.EOF):
		return "connection closed"
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Sprintf("no answer within %v of the end", Grace)
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
