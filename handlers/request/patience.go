package request

import (
	"context"
	"sync"
	"time"

	"mandate/provider/origin"
)

// patience is the longest time that a request may take. It ends before the server
// closes the connection, so that the client still gets an error response.
const patience = 25 * time.Second

// lazyDeadline is a context that ends after patience. It starts its timer only when
// somebody uses the deadline. A request that is answered from memory never waits,
// and a timer would add a twentieth to its work.
type lazyDeadline struct {
	context.Context
	rec *Record

	once sync.Once
	set  context.Context
	stop context.CancelFunc
}

func (p *lazyDeadline) arm() context.Context {
	p.once.Do(func() { p.set, p.stop = context.WithDeadline(p.Context, p.rec.began.Add(patience)) })
	return p.set
}

func (p *lazyDeadline) Deadline() (time.Time, bool) { return p.arm().Deadline() }
func (p *lazyDeadline) Done() <-chan struct{}       { return p.arm().Done() }
func (p *lazyDeadline) Err() error                  { return p.arm().Err() }

// Value returns the record, the origin of the request, and the values of the timer's context. Without those,
// each derived context would start a goroutine to watch this one.
func (p *lazyDeadline) Value(key any) any {
	switch key {
	case recordKey{}:
		return p.rec
	case origin.Key{}:
		return &p.rec.origin
	}
	return p.arm().Value(key)
}

// end stops the timer. A context that is used after that ends with the request.
func (p *lazyDeadline) end() {
	p.once.Do(func() { p.set = p.Context })
	if p.stop != nil {
		p.stop()
	}
}
