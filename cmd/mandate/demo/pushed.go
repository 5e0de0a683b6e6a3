package demo

import (
	"sync"

	"mandate/templates"
)

// pushed is a pushed authorization request: its reference, and the step that shows it. The zero
// value is that of a request that was not pushed.
type pushed struct {
	uri  string
	step templates.WalkStep
}

// maxPushed is how many pushed requests wait for their response. The oldest is forgotten first.
const maxPushed = 100

// pushes remembers pushed requests by their state. The messages are too long for a cookie.
type pushes struct {
	mu     sync.Mutex
	states []string // the oldest is the first
	all    map[string]pushed
}

func (p *pushes) keep(state string, one pushed) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.states) == maxPushed {
		delete(p.all, p.states[0])
		p.states = p.states[1:]
	}
	if p.all == nil {
		p.all = map[string]pushed{}
	}
	p.states, p.all[state] = append(p.states, state), one
}

// take returns a request and forgets it, or returns the zero value.
func (p *pushes) take(state string) pushed {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.all[state]
	delete(p.all, state)
	return one
}
