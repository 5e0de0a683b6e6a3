package provider

import (
	"context"
	"sync/atomic"
	"time"

	"mandate/provider/limits"
	"mandate/provider/oauth"
	"mandate/storage"
)

// counters count since the start of the process.
type sweepCounters struct{ swept, sweepsFailed, lost atomic.Int64 }

// Stats is how the provider is doing. What has a count has it since the start
// of the process.
type Stats struct {
	Issued  []Issued
	Copies  []Copies
	Hashing []Hashing
	Hears   bool  // what other processes change is known at once
	Lost    int64 // how often the way was lost by which it is heard

	LogoutsTold    int64 // back-channel logouts that an application took
	LogoutsFailed  int64 // calls that did not succeed, each of which is tried again
	LogoutsGivenUp int64

	SweptAt      int64 // when the clean-up last succeeded; 0: not yet
	SweepsFailed int64

	Storage storage.Stats
}

// Issued is how many of a kind were given out: access, refresh and ID tokens,
// and codes.
type Issued struct {
	Kind  string
	Count int64
}

// Copies is how often a record was at hand, and how many are.
type Copies struct {
	Of           string
	Hits, Misses int64
	Entries      int
}

// Hashing is how the places are taken at which passwords are hashed.
type Hashing struct {
	For                    string // people at a page, or programs
	Places, InUse, Waiting int
	Refused                int64
}

// Stats costs no statement.
func (p *Provider) Stats() Stats {
	c := &p.counters
	told, failed, givenUp := p.Logouts.Counts()
	access, refresh, ids := p.Grants.Counts()
	return Stats{
		Issued:  []Issued{{"access", access}, {"refresh", refresh}, {"id", ids}, {"code", p.Authorizations.CodesIssued()}},
		Copies:  []Copies{copiesOf("application", p.Clients.CopyStats), copiesOf("token", p.Tokens.CopyStats)},
		Hashing: []Hashing{hashingOf("people", p.limits.People), hashingOf("programs", p.limits.Programs)},
		Hears:   p.changes.Hears(),
		Lost:    c.lost.Load(),

		LogoutsTold: told, LogoutsFailed: failed, LogoutsGivenUp: givenUp,
		SweptAt: c.swept.Load(), SweepsFailed: c.sweepsFailed.Load(),
		Storage: p.store.Stats(),
	}
}

// Lag is for how many seconds the clean-up is late: the age of the oldest row
// whose time is up.
func (p *Provider) Lag(ctx context.Context) (int64, error) {
	oldest, err := p.store.Oldest(ctx)
	if err != nil || oldest == 0 {
		return 0, err
	}
	return max(0, oauth.Now()-oldest), nil
}

func copiesOf(of string, stats func() (hits, misses int64, entries int)) Copies {
	hits, misses, entries := stats()
	return Copies{of, hits, misses, entries}
}

func hashingOf(of string, h limits.Hasher) Hashing {
	s := h.Stats()
	return Hashing{of, s.Slots, s.InUse, s.Waiting, s.Refused}
}

// readyPatience is less than what those wait who ask whether a node is ready.
const readyPatience = 3 * time.Second

// Ready says whether the database answers.
func (p *Provider) Ready(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, readyPatience)
	defer stop()
	err := p.store.Ping(ctx)
	if err != nil {
		return oauth.Unavailable(err)
	}
	return nil
}
