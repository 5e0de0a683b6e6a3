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

// Worker asks the questions of one connection, one after the other.
type Worker interface {
	// next formats a request, whose memory it may use again for the one after it. Nothing is the end.
	Next() []byte
	// check looks at the answer and gives a name to what is wrong with it, or nothing.
	Check(Response) string
}

// Load is some seconds of requests.
type Load struct {
	To      Endpoint
	Workers []Worker // one connection each
	Length  time.Duration
	// rate is the number of requests that arrive in a second, however long the answers take; 0 lets each
	// worker ask again as soon as it has its answer.
	Rate float64
	From func() net.Addr // where a connection comes from; nil leaves it to the system
	Each int             // requests after which a connection is replaced; 0 is never
}

// Outcome is what came of a load.
type Outcome struct {
	Good    int // answers with nothing wrong about them
	Wrong   map[string]int
	Latency Histogram
	// late is how long after its time the generator itself handed a request on: what it may have added to
	// the latency.
	Late    Histogram
	Elapsed time.Duration
}

func (o *Outcome) Rate() float64 { return float64(o.Good) / o.Elapsed.Seconds() }

func (o *Outcome) Answers() int {
	sum := o.Good
	for _, n := range o.Wrong {
		sum += n
	}
	return sum
}

func (o *Outcome) blame(kind string) {
	if o.Wrong == nil {
		o.Wrong = map[string]int{}
	}
	o.Wrong[kind]++
}

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

// Grace is how long answers may take that are still on their way when the time is over.
const Grace = 20 * time.Second

// Run does it. Its error is only that it could not begin, or that ctx ended.
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
	start := time.Now()
	end := start.Add(l.Length)
	sum := &Outcome{}
	var due chan time.Time
	var group sync.WaitGroup
	if l.Rate > 0 {
		// There is room for all, so that a slow server cannot keep requests from becoming due.
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

// arrivals hands requests on at a fixed rate: each with the time at which it should begin.
func arrivals(ctx context.Context, due chan<- time.Time, start time.Time, rate float64) Histogram {
	// Go's timers are as coarse as a millisecond; the kernel's are not, and block a thread of our own. It goes
	// before others where it may, and ends with us.
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
	until  time.Time // no answer is waited for after that
	last   time.Time // the last answer came
	asked  int       // on this connection

	mu   sync.Mutex // conn is also closed from outside
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
		a.blame(broken(err))
		a.reconnect(ctx)
		return true
	}
	a.Latency.add(done.Sub(at))
	if kind := a.worker.Check(r); kind != "" {
		a.blame(kind)
	} else {
		a.Good++
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
