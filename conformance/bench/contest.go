package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"time"

	"mandate/conformance/bench/load"
	"mandate/conformance/bench/process"
)

// contest is the rounds on one database.
type contest struct {
	*options
	database string
	report   *report
	paths    []path
	ours     *target
	yard     *target // nil: no bare handlers
	bareURL  string
	rates    map[string]float64 // of each path, the highest until now
	tidy     func()
}

func (c *contest) run(ctx context.Context) error {
	for _, p := range c.paths {
		c.say("%s: warming up %s ...", c.database, p.title)
		for _, bare := range c.sides() {
			_, err := c.measure(ctx, p, bare, 0, c.warmUp, 0)
			if err != nil {
				return err
			}
		}
	}
	for round := 1; round <= c.rounds; round++ {
		c.say("%s: round %d of %d ...", c.database, round, c.rounds)
		for _, p := range c.paths {
			err := c.round(ctx, p, round)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// sides is who takes part: the bare handler first, then what is measured.
func (c *contest) sides() []bool {
	if c.yard == nil {
		return []bool{false}
	}
	return []bool{true, false}
}

// round measures what can be had at most, one close after the other, and then how long answers take at half
// of that.
func (c *contest) round(ctx context.Context, p path, round int) error {
	rates := map[bool]float64{}
	for _, rate := range []bool{false, true} {
		for _, bare := range c.sides() {
			arrivals := 0.0
			if rate {
				arrivals = rates[bare] / 2
				if arrivals < 1 {
					continue // nothing came; the errors say why
				}
			}
			f, err := c.measure(ctx, p, bare, arrivals, c.seconds, round)
			if err != nil {
				return err
			}
			if !rate {
				rates[bare] = f.Rate
			}
			c.report.Figures = append(c.report.Figures, f)
		}
	}
	return nil
}

// waiting is the least number of connections on which requests arrive that wait for nobody. With all of them
// waiting for the server, the next request waits too, and that counts.
const waiting = 64

// measure runs one load. A rate of 0 is as much as can be had.
func (c *contest) measure(ctx context.Context, p path, bare bool, rate float64, length time.Duration, round int) (*figures, error) {
	workers := p.connections
	if rate > 0 {
		workers = max(workers, waiting)
	}
	l := load.Load{Length: length, Rate: rate}
	side := c.ours
	var err error
	if bare {
		side = c.yard
		rows := 1
		_, _ = fmt.Sscanf(p.name, "introspect-%d", &rows) // other paths do not select
		l.To, l.Workers, err = bareWorkers(c.bareURL, p, rows, workers)
	} else {
		l.To, l.Workers, err = p.workers(ctx, side, workers, c.expected(p, rate, length))
	}
	if err != nil {
		return nil, fmt.Errorf("%s, %s: %w", c.database, p.title, err)
	}
	runtime.GC() // what the preparation left behind is not collected meanwhile
	before := c.used(side)
	o, err := l.Run(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s, %s: %w", c.database, p.title, err)
	}
	after := c.used(side)
	if !bare && rate == 0 {
		c.rates[p.name] = max(c.rates[p.name], o.Rate())
	}
	if c.tidy != nil {
		c.tidy()
	}
	return newFigures(c.database, p, bare, rate, round, o, before, after), nil
}

// expected is how many requests a load may come to, for what has to be made before: with some to spare
// where it is not known.
func (c *contest) expected(p path, rate float64, length time.Duration) int {
	if !p.uses {
		return 0
	}
	if rate > 0 {
		return int(rate*length.Seconds()) + 1
	}
	known := c.rates[p.name]
	if known == 0 {
		return 1000
	}
	return int(1.5*known*length.Seconds()) + 100
}

// used is the time of the processors that all have taken until now.
type used struct{ server, database, generator time.Duration }

func (c *contest) used(t *target) used {
	u := used{generator: process.CPUTime(os.Getpid(), false)}
	if t.processor != nil {
		u.server = t.processor()
	}
	if t.database != nil {
		u.database = t.database()
	}
	return u
}
