package storage

import (
	"context"
	"database/sql"
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"
)

// Stats holds the database's statistics since the start of the process.
type Stats struct {
	Pools   []Pool
	Queue   Queue
	Removed []Removed
}

// Pool holds the statistics of a connection pool.
type Pool struct {
	Name                 string // read and write on SQLite, shared on PostgreSQL
	Open, InUse, Largest int
	Waits                int64 // for a connection
	Waited               time.Duration
}

// Queue holds the statistics of writes that share a statement and its commit.
type Queue struct {
	Waiting, Room int
	Full          int64 // refused writes
	// Sizes counts batches by their number of items: 1, 2, up to 4, up to 8 and so on.
	// Items is the total number of items.
	Sizes [batchSizes]int64
	Items int64
}

const batchSizes = 8 // up to 128

// Removed is the number of rows of a table that the clean-up has deleted.
type Removed struct {
	Table string
	Rows  int64
}

// counters count the deleted rows by table.
type counters struct {
	tokens, grants, logins, sessions, devices, requests, initial, mails, links, invitations, mailCounts, seen,
	sites, events atomic.Int64
}

// batchStats counts batches, their items, and refused writes.
type batchStats struct {
	full, items atomic.Int64
	sizes       [batchSizes]atomic.Int64
}

func (t *batchStats) batch(items int) {
	t.items.Add(int64(items))
	t.sizes[min(bits.Len(uint(items-1)), batchSizes-1)].Add(1)
}

// Stats returns the statistics. It runs no statement.
func (s *Store) Stats() Stats {
	c := &s.counters
	found := Stats{Removed: []Removed{{"tokens", c.tokens.Load()}, {"grants", c.grants.Load()},
		{"logins", c.logins.Load()}, {"sessions", c.sessions.Load()}, {"devices", c.devices.Load()},
		{"requests", c.requests.Load()}, {"initial_tokens", c.initial.Load()}, {"mails", c.mails.Load()},
		{"links", c.links.Load()}, {"invitations", c.invitations.Load()}, {"mail_counts", c.mailCounts.Load()},
		{"seen", c.seen.Load()}, {"site_sessions", c.sites.Load()}, {"events", c.events.Load()}}}
	if s.embedded {
		found.Pools = []Pool{pool("read", s.read), pool("write", s.write)}
		found.Queue = s.together.stats()
	} else {
		found.Pools = []Pool{pool("shared", s.read)}
		found.Queue = s.writes.stats()
	}
	return found
}

func pool(name string, db *sqlx.DB) Pool {
	p := db.Stats()
	return Pool{name, p.OpenConnections, p.InUse, p.MaxOpenConnections, p.WaitCount, p.WaitDuration}
}

func (g *batcher[T]) stats() Queue {
	g.mu.Lock()
	q := Queue{Waiting: len(g.waiting), Room: g.maxWaiting}
	g.mu.Unlock()
	q.Full, q.Items = g.tally.full.Load(), g.tally.items.Load()
	for i := range q.Sizes {
		q.Sizes[i] = g.tally.sizes[i].Load()
	}
	return q
}

// Oldest returns the earliest expiry time of all tokens and grants, or 0 if there are
// none. Each part of the query reads only the first entry of an index.
func (s *Store) Oldest(ctx context.Context) (int64, error) {
	var at sql.NullInt64
	err := s.get(ctx, &at, `SELECT MIN(expires_at) FROM (SELECT MIN(expires_at) AS expires_at
		FROM tokens UNION ALL SELECT MIN(expires_at) FROM grants) AS oldest`)
	return at.Int64, err
}
