package main

import (
	"runtime"
	"slices"
	"time"

	"mandate/conformance/bench/load"
)

// figures are the results of one measurement.
type figures struct {
	Database    string         `json:"database"`
	Path        string         `json:"path"`
	Side        string         `json:"side"` // bare, or what is measured against it
	Round       int            `json:"round"`
	Loop        string         `json:"loop"`               // closed or open
	Arrivals    float64        `json:"arrivals,omitempty"` // a second, of an open loop
	Connections int            `json:"connections"`
	Seconds     float64        `json:"seconds"`
	Requests    int            `json:"requests"`
	Rate        float64        `json:"rate"` // good answers a second
	P50         float64        `json:"p50_us"`
	P99         float64        `json:"p99_us"`
	P999        float64        `json:"p999_us"`
	Max         float64        `json:"max_us"`
	LateP99     float64        `json:"generator_late_p99_us,omitempty"`
	Errors      map[string]int `json:"errors,omitempty"`
	ServerCPU   float64        `json:"server_cpu_us"` // a request
	DatabaseCPU float64        `json:"database_cpu_us"`
	Generator   float64        `json:"generator_share"` // of all processors

	latency load.Histogram
}

const (
	sideBare  = "bare"
	sideOurs  = "measured"
	loopsBack = "closed"
	loopsOpen = "open"
)

func newFigures(database string, p path, bare bool, arrivals float64, round int, o *load.Outcome, before,
	after used) *figures {
	f := &figures{Database: database, Path: p.name, Side: sideOurs, Round: round, Loop: loopsBack, Arrivals: arrivals,
		Connections: p.connections,
		Seconds:     o.Elapsed.Seconds(), Requests: o.Answers(), Rate: o.Rate(), Errors: o.Wrong, latency: o.Latency,
		P50: micro(o.Latency.Quantile(0.5)), P99: micro(o.Latency.Quantile(0.99)), P999: micro(o.Latency.Quantile(0.999)),
		Max: micro(o.Latency.Max), LateP99: micro(o.Late.Quantile(0.99))}
	if bare {
		f.Side = sideBare
	}
	if arrivals > 0 {
		f.Loop, f.Connections = loopsOpen, max(p.connections, waiting)
	}
	if f.Requests > 0 {
		f.ServerCPU = micro(after.server-before.server) / float64(f.Requests)
		f.DatabaseCPU = micro(after.database-before.database) / float64(f.Requests)
	}
	f.Generator = (after.generator - before.generator).Seconds() / f.Seconds / float64(runtime.NumCPU())
	return f
}

func micro(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// summary is the result of a path on a database over all rounds.
type summary struct {
	Database    string         `json:"database"`
	Path        string         `json:"path"`
	Title       string         `json:"title"`
	Connections int            `json:"connections"`
	Rate        float64        `json:"rate"` // the median
	Bare        float64        `json:"bare"`
	Yardstick   string         `json:"yardstick"`
	Ratio       load.Spread    `json:"ratio"`
	Goal        float64        `json:"goal,omitempty"`
	P50         float64        `json:"p50_us"` // at half of the rate, as all below
	P99         float64        `json:"p99_us"`
	P999        float64        `json:"p999_us"`
	BareP50     float64        `json:"bare_p50_us"`
	BareP99     float64        `json:"bare_p99_us"`
	LateP99     float64        `json:"generator_late_p99_us"`
	ServerCPU   float64        `json:"server_cpu_us"` // of a request of the closed loop, as the two below
	DatabaseCPU float64        `json:"database_cpu_us"`
	Generator   float64        `json:"generator_share"`
	Errors      map[string]int `json:"errors,omitempty"`
	BareErrors  map[string]int `json:"bare_errors,omitempty"`
}

// summarize combines the rounds of a path: medians of the rates, and all latencies as one set.
func summarize(database string, p path, all []*figures) (summary, bool) {
	s := summary{Database: database, Path: p.name, Title: p.title, Connections: p.connections, Yardstick: p.bare,
		Goal: p.goal[database]}
	var ours, theirs, server, base, generator, late []float64
	var latency, bare load.Histogram
	add := func(to *map[string]int, errors map[string]int) {
		for kind, n := range errors {
			if *to == nil {
				*to = map[string]int{}
			}
			(*to)[kind] += n
		}
	}
	for _, f := range all {
		if f.Database != database || f.Path != p.name {
			continue
		}
		switch {
		case f.Side == sideBare && f.Loop == loopsBack:
			theirs = append(theirs, f.Rate)
		case f.Side == sideBare:
			bare.Merge(f.latency)
		case f.Loop == loopsBack:
			ours = append(ours, f.Rate)
			server, base, generator = append(server, f.ServerCPU), append(base, f.DatabaseCPU), append(generator, f.Generator)
		default:
			latency.Merge(f.latency)
			late = append(late, f.LateP99)
		}
		if f.Side == sideBare {
			add(&s.BareErrors, f.Errors)
		} else {
			add(&s.Errors, f.Errors)
		}
	}
	s.Rate, s.Bare, s.Ratio = load.Median(ours), load.Median(theirs), load.Ratios(ours, theirs)
	s.ServerCPU, s.DatabaseCPU = load.Median(server), load.Median(base)
	if len(generator) > 0 {
		s.Generator = slices.Max(generator)
	}
	s.P50, s.P99, s.P999 = micro(latency.Quantile(0.5)), micro(latency.Quantile(0.99)), micro(latency.Quantile(0.999))
	s.BareP50, s.BareP99, s.LateP99 = micro(bare.Quantile(0.5)), micro(bare.Quantile(0.99)), load.Median(late)
	return s, len(ours) > 0
}

// single is a figure without a path: a start, the memory, a table.
type single struct {
	Name   string    `json:"name"`
	Unit   string    `json:"unit"`
	Values []float64 `json:"values"`
	Goal   float64   `json:"goal,omitempty"`
	// Least says that the goal is a minimum and not a maximum.
	Least bool `json:"goal_is_least,omitempty"`
}

func (s single) met() bool {
	if s.Least {
		return load.Median(s.Values) >= s.Goal
	}
	return load.Median(s.Values) <= s.Goal
}
