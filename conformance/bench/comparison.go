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

// comparison is the sequence of rounds on one database.
type comparison struct {
	*options
	database string
	report   *report
	paths    []path
	ours     *target
	baseline *target // nil: no bare handlers
	bareURL  string
	rates    map[string]float64 // the highest rate of each path until now
	tidy     func()
}

func (c *comparison) run(ctx context.Context) error {
	for _, p := range c.paths {
		c.say("%s: warming up %s ...", c.database, p.title)
		for _, bare := range c.sides(0) {
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

// sides returns the participants: the bare handler first, then the measured server. Two binaries take turns.
func (c *comparison) sides(round int) []bool {
	switch {
	case c.baseline == nil:
		return []bool{false}
	case c.against != "" && round%2 == 1:
		return []bool{false, true}
	}
	return []bool{true, false}
}

// round measures the maximal rates, one directly after the other. Then it measures the latencies at half of that
// rate.
func (c *comparison) round(ctx context.Context, p path, round int) error {
	rates := map[bool]float64{}
	for _, rate := range []bool{false, true} {
		for _, bare := range c.sides(round) {
			arrivals := 0.0
			if rate {
				arrivals = rates[bare] / 2
				if arrivals < 1 {
					continue // there were no answers; the errors say why
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

// waiting is the minimal number of connections when requests arrive at a fixed rate. If all of them wait for the
// server, the next request waits too, and this is part of its latency.
const waiting = 64

// measure runs one load. The rate 0 stands for the maximum.
func (c *comparison) measure(ctx context.Context, p path, bare bool, rate float64, length time.Duration,
	round int) (*figures, error) {
	workers := p.connections
	if rate > 0 {
		workers = max(workers, waiting)
	}
	l := load.Load{Length: length, Rate: rate}
	side := c.ours
	var err error
	switch {
	case bare && c.against != "":
		side = c.baseline
		l.To, l.Workers, err = p.workers(ctx, side, workers, c.expected(p, rate, length))
	case bare && p.plain != nil:
		l.To, l.Workers, err = p.plain(ctx, side, workers, c.expected(p, rate, length))
	case bare:
		side = c.baseline
		rows := 1
		_, _ = fmt.Sscanf(p.name, "introspect-%d", &rows) // other paths do not select
		l.To, l.Workers, err = bareWorkers(c.bareURL, p, rows, workers, c.ours.key)
	default:
		l.To, l.Workers, err = p.workers(ctx, side, workers, c.expected(p, rate, length))
	}
	if err != nil {
		return nil, fmt.Errorf("%s, %s: %w", c.database, p.title, err)
	}
	runtime.GC() // the garbage of the preparation is not collected during the measurement
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

// expected returns how many requests a load can send, so that enough is prepared. If this is unknown, it adds a
// reserve.
func (c *comparison) expected(p path, rate float64, length time.Duration) int {
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

// used returns the processor time of all participants until now.
type used struct{ server, database, generator time.Duration }

func (c *comparison) used(t *target) used {
	u := used{generator: process.CPUTime(os.Getpid(), false)}
	if t.processor != nil {
		u.server = t.processor()
	}
	if t.database != nil {
		u.database = t.database()
	}
	return u
}
