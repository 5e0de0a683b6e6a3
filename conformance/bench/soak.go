package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"mandate/conformance/bench/load"
)

// soak issues tokens with a short lifetime, and watches their table.
func soak(ctx context.Context, o *options) error {
	var failures []error
	err := o.onEach(ctx, func(name string, pg *cluster) error {
		grown, err := soakOn(ctx, o, name, pg)
		failures = append(failures, grown)
		return err
	})
	return errors.Join(append(failures, err)...)
}

// onEach calls a function for each requested database.
func (o *options) onEach(ctx context.Context, do func(name string, pg *cluster) error) error {
	if slices.Contains(o.databases, "postgres") {
		pg, err := o.cluster(ctx)
		if err != nil {
			return err
		}
		defer pg.stop()
		if pg != nil {
			err = do(onPostgres, pg)
			if err != nil {
				return err
			}
		}
	}
	if slices.Contains(o.databases, "sqlite") {
		return do(onSQLite, nil)
	}
	return nil
}

// tokenTable reads the table of tokens in the database.
type tokenTable struct {
	db   *sql.DB
	file string // file of SQLite
}

func openTable(s *server) (*tokenTable, error) {
	file, embedded := strings.CutPrefix(s.database, "sqlite:///")
	if !embedded {
		db, err := sql.Open("postgres", s.database)
		return &tokenTable{db: db}, err
	}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: file}).EscapedPath()+"?mode=ro&_pragma=busy_timeout(10000)")
	return &tokenTable{db, file}, err
}

// tableState is the size of the table, and the number of expired rows in it.
type tableState struct {
	rows, expired int
	bytes         int64 // of the table with its indexes; with SQLite of the whole database
}

func (t *tokenTable) look(ctx context.Context) (tableState, error) {
	var now tableState
	err := t.db.QueryRowContext(ctx, `SELECT count(*), count(CASE WHEN expires_at <= $1 THEN 1 END) FROM tokens`,
		time.Now().Unix()).
		Scan(&now.rows, &now.expired)
	if err != nil {
		return now, fmt.Errorf("count the tokens: %w", err)
	}
	if t.file == "" {
		return now, t.db.QueryRowContext(ctx, `SELECT pg_total_relation_size('tokens')`).Scan(&now.bytes)
	}
	for _, part := range []string{"", "-wal"} {
		info, err := os.Stat(t.file + part)
		if err == nil {
			now.bytes += info.Size()
		}
	}
	return now, nil
}

// soakOn returns two errors: that the table has grown, and that the measurement failed.
func soakOn(ctx context.Context, o *options, name string, pg *cluster) (grown, err error) {
	s, err := startMandate(ctx, o, pg, []string{fmt.Sprintf("ACCESS_TOKEN_EXPIRE_SECONDS: %d", int(o.lifetime.Seconds()))})
	if err != nil {
		return nil, err
	}
	defer s.end()
	t, err := machineTarget(ctx, s)
	if err != nil {
		return nil, err
	}
	table, err := openTable(s)
	if err != nil {
		return nil, err
	}
	defer table.db.Close()
	fmt.Fprintf(o.stdout, "%s: %s tokens with a lifetime of %v, %d connections\n", name, grouped(o.total), o.lifetime,
		o.connections)
	fmt.Fprintf(o.stdout, "%8s %12s %10s %10s %12s %12s %12s  %s\n", "seconds", "issued", "per second", "p99", "rows",
		"expired", "size", "errors")
	began, issued := time.Now(), 0
	var steady []tableState // from the time when expired tokens are deleted
	for issued < o.total {
		to, workers, err := clientWorkers(ctx, t, o.connections, 0)
		if err != nil {
			return nil, err
		}
		left := counter(o.total - issued)
		for i, w := range workers {
			workers[i] = &counted{w, left}
		}
		out, err := load.Load{To: to, Workers: workers, Length: o.every, Rate: o.rate}.Run(ctx)
		if err != nil {
			return nil, err
		}
		if out.Good == 0 {
			return nil, fmt.Errorf("no token was issued: %v", out.Wrong)
		}
		s.process.Trim()
		issued += out.Good
		now, err := table.look(ctx)
		if err != nil {
			return nil, err
		}
		since := time.Since(began)
		fmt.Fprintf(o.stdout, "%8.0f %12s %10s %10s %12s %12s %9.1f MB  %s\n", since.Seconds(), grouped(issued),
			grouped(int(out.Rate())),
			milliseconds(micro(out.Latency.Quantile(0.99))), grouped(now.rows), grouped(now.expired), float64(now.bytes)/1e6,
			kinds(out.Wrong))
		if since > 2*o.lifetime {
			steady = append(steady, now)
		}
	}
	err = table.drain(ctx, o)
	return o.judge(name, steady), err
}

// judge compares the second half of the time in which tokens expire with the first half. It uses the maximal size of
// the table, because expired rows are deleted in batches. The expired rows must not outnumber the valid ones.
func (o *options) judge(name string, steady []tableState) error {
	if len(steady) < 4 {
		fmt.Fprintf(o.stdout, "%s: too short to judge: issue more tokens, or shorten their lifetime\n\n", name)
		return nil
	}
	most := func(states []tableState) float64 {
		return float64(slices.MaxFunc(states, func(a, b tableState) int { return cmp.Compare(a.bytes, b.bytes) }).bytes)
	}
	half := len(steady) / 2
	growth := most(steady[half:])/most(steady[:half]) - 1
	behind := slices.ContainsFunc(steady[half:], func(s tableState) bool { return s.expired > s.rows-s.expired })
	fmt.Fprintf(o.stdout, "%s: from the first to the second half of the time the table grew by %.0f %%; expired tokens "+
		"are deleted %s\n\n", name, 100*growth,
		map[bool]string{true: "TOO SLOWLY", false: "in time"}[behind])
	if growth > o.growth || behind {
		return fmt.Errorf("on %s the table of tokens grows", name)
	}
	return nil
}

// drain waits for a limited time until all expired rows are deleted.
func (t *tokenTable) drain(ctx context.Context, o *options) error {
	began := time.Now()
	for {
		now, err := t.look(ctx)
		if err != nil {
			return err
		}
		since := time.Since(began).Round(time.Second)
		if now.rows == 0 {
			fmt.Fprintf(o.stdout, "%v after the last token the table is empty and takes %.1f MB\n", since,
				float64(now.bytes)/1e6)
			return nil
		}
		if since > o.lifetime+time.Minute {
			fmt.Fprintf(o.stdout, "%v after the last token the table still has %s rows and takes %.1f MB\n", since,
				grouped(now.rows), float64(now.bytes)/1e6)
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

// kinds writes errors on one line.
func kinds(errors map[string]int) string {
	if len(errors) == 0 {
		return "0"
	}
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(errors)) {
		parts = append(parts, fmt.Sprintf("%s x %s", grouped(errors[kind]), kind))
	}
	return strings.Join(parts, ", ")
}
