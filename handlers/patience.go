package handlers

import (
	"context"
	"sync"
	"time"
)

// patience is the longest that a request may take. It ends before the server
// closes the connection, so that the answer says what happened.
const patience = 25 * time.Second

// patient is a context that ends after patience, whose timer is not set before
// somebody looks: what is answered from memory waits for nobody, and a timer
// would be a twentieth of its work.
type patient struct {
	context.Context
	rec *record

	once sync.Once
	set  context.Context
	stop context.CancelFunc
}

func (p *patient) arm() context.Context {
	p.once.Do(func() { p.set, p.stop = context.WithDeadline(p.Context, p.rec.began.Add(patience)) })
	return p.set
}

func (p *patient) Deadline() (time.Time, bool) { return p.arm().Deadline() }
func (p *patient) Done() <-chan struct{}       { return p.arm().Done() }
func (p *patient) Err() error                  { return p.arm().Err() }

// Value gives the record, and all that the timer's context knows: the contexts
// below would each watch it by a goroutine otherwise.
func (p *patient) Value(key any) any {
	if key == (recordKey{}) {
		return p.rec
	}
	return p.arm().Value(key)
}

// end stops the timer; whoever looks after that sees the request's own end.
func (p *patient) end() {
	p.once.Do(func() { p.set = p.Context })
	if p.stop != nil {
		p.stop()
	}
}
