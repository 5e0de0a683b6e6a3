// Package clock compares the clock of this machine with that of the database, which all nodes share. A node whose clock
// is wrong would delete, retire and give up what is still valid at all others.
package clock

import (
	"fmt"
	"sync"
	"time"
)

const (
	// Tolerance is the largest difference with which a node works. It is the usual lifetime of an authorization code.
	Tolerance = time.Minute
	// settling is for how long the clock of a machine without another one to compare with must run on after it was
	// changed, until it counts as right. An error is found in this time; the end of a suspension is none.
	settling = time.Hour
)

// Clock knows what the time must be. Between two comparisons it counts by the monotonic clock of the machine, which
// nobody can set: so it notices a change of the other clock at once.
type Clock struct {
	alone bool

	mu    sync.Mutex
	at    time.Time // of the last comparison, at this machine
	right time.Time // what was right then
	wrong time.Time // since when this clock differs from itself; zero: it does not
}

// New returns a clock that is right now. alone means that there is no database with a clock of its own: Settle is
// called, and not Compare.
func New(alone bool) *Clock {
	now := time.Now()
	return &Clock{alone: alone, at: now, right: now.Round(0)}
}

// Compare notes the time of the database, which it told between asked and answered.
func (c *Clock) Compare(asked, answered, database time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at, c.right = asked.Add(answered.Sub(asked)/2), database.Round(0)
}

// Settle lets a change of the clock count as right after some time.
func (c *Clock) Settle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	switch {
	case tolerable(c.difference(now)):
		c.wrong = time.Time{}
	case c.wrong.IsZero():
		c.wrong = now
		return
	case now.Sub(c.wrong) < settling:
		return
	}
	c.at, c.right, c.wrong = now, now.Round(0), time.Time{}
}

// Difference returns by how much the clock of this machine is ahead of the right time. It is negative if it is behind.
func (c *Clock) Difference() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.difference(time.Now())
}

func (c *Clock) difference(now time.Time) time.Duration {
	return now.Round(0).Sub(c.right.Add(now.Sub(c.at)))
}

func tolerable(d time.Duration) bool { return d.Abs() <= Tolerance }

// Right reports whether the clock of this machine may decide about what other nodes use.
func (c *Clock) Right() bool { return tolerable(c.Difference()) }

// Err returns nil if the clock is right, and otherwise what is wrong and what to do.
func (c *Clock) Err() error {
	d := c.Difference()
	if tolerable(d) {
		return nil
	}
	if c.alone {
		return fmt.Errorf("the clock of this machine was set by %v: the server deletes nothing and adds no key until it "+
			"has run on for %v", d.Round(time.Second), settling)
	}
	side := "ahead of"
	if d < 0 {
		side = "behind"
	}
	return fmt.Errorf("the clock of this machine is %v %s that of the database, and at most %v is tolerated: "+
		"synchronize the clocks of all machines (NTP)",
		d.Abs().Round(time.Second), side, Tolerance)
}
