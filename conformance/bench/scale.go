package main

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"strings"
	"time"

	"mandate/conformance/bench/load"
	"mandate/conformance/bench/process"
)

// measureStart measures the first start on an embedded database, which creates its schema and its keys, and a later
// start.
func measureStart(ctx context.Context, o *options, r *report) error {
	firsts := single{Name: "first start to first 200, SQLite, schema and keys created", Unit: "ms", Goal: 250}
	others := single{Name: "restart to first 200, SQLite", Unit: "ms", Goal: 50}
	o.say("Timing the start ...")
	for range o.starts {
		s, err := newServer(o, "", nil, nil)
		if err != nil {
			return err
		}
		for _, into := range []*single{&firsts, &others} {
			took, err := s.start(ctx, "serve", "/readyz", http.StatusOK)
			if err != nil {
				return err
			}
			s.end()
			into.Values = append(into.Values, micro(took)/1000)
		}
	}
	r.Singles = append(r.Singles, firsts, others)
	return nil
}

// measureMemory measures the memory of a server when it is idle, and after many tokens.
func measureMemory(ctx context.Context, o *options, name string, pg *cluster, r *report) error {
	o.say("%s: reading the memory before and after %s tokens ...", name, grouped(o.issued))
	s, err := startMandate(ctx, o, pg, nil)
	if err != nil {
		return err
	}
	defer s.end()
	t, err := machineTarget(ctx, s)
	if err != nil {
		return err
	}
	read := func(what string, goal float64) {
		r.Singles = append(r.Singles, single{Name: "resident memory " + what + ", " + name, Unit: "MB",
			Values: []float64{float64(process.Memory(s.process.PID())) / 1e6}, Goal: goal})
	}
	time.Sleep(2 * time.Second) // time for the work after the start
	read("when idle", 40)
	to, workers, err := clientWorkers(ctx, t, o.connections, 0)
	if err != nil {
		return err
	}
	left := counter(o.issued)
	for i, w := range workers {
		workers[i] = &counted{w, left}
	}
	err = t.prepare(ctx, to, workers, o.issued, "tokens")
	if err != nil {
		return err
	}
	read(fmt.Sprintf("after %s tokens", grouped(o.issued)), 120)
	return nil
}

// machineTarget has one application, which requests tokens for itself.
func machineTarget(ctx context.Context, s *server) (*target, error) {
	t := &target{token: s.url + "/o/token/", introspect: s.url + "/o/introspect/", scope: "read write"}
	var err error
	t.machine, err = s.register(ctx, "machine", "--grant", "client_credentials", "--may-introspect")
	t.api = t.machine
	return t, err
}

// measureFill compares the rate of client credentials with a full table and with an empty one: two servers on two
// databases of one PostgreSQL, in turn.
func measureFill(ctx context.Context, o *options, pg *cluster, r *report) error {
	var targets []*target
	var full *server
	for range 2 {
		s, err := startMandate(ctx, o, pg, nil)
		if err != nil {
			return err
		}
		defer s.end()
		t, err := machineTarget(ctx, s)
		if err != nil {
			return err
		}
		targets, full = append(targets, t), s
	}
	_, err := targets[1].issue(ctx, 1) // the row that is copied
	if err != nil {
		return err
	}
	o.say("PostgreSQL: filling a table with %s tokens ...", grouped(o.fill))
	size, err := fillTokens(ctx, full.database, o.fill)
	if err != nil {
		return err
	}
	rates := [2][]float64{}
	for round := range o.rounds + 1 {
		for i, t := range targets {
			to, workers, err := clientWorkers(ctx, t, o.wide, 0)
			if err != nil {
				return err
			}
			out, err := load.Load{To: to, Workers: workers, Length: o.seconds}.Run(ctx)
			if err != nil {
				return err
			}
			if len(out.Wrong) > 0 {
				return fmt.Errorf("client credentials beside a full table: %v", out.Wrong)
			}
			if round > 0 { // the first one warms up
				rates[i] = append(rates[i], out.Rate())
			}
		}
	}
	against := single{Name: fmt.Sprintf("client credentials with %s live tokens against an empty table", grouped(o.fill)),
		Unit: "x", Goal: 0.9, Least: true}
	for i, rate := range rates[1] {
		against.Values = append(against.Values, rate/rates[0][i])
	}
	r.Singles = append(r.Singles, against,
		single{Name: "bytes of a live token with its indexes, PostgreSQL", Unit: "bytes",
			Values: []float64{float64(size) / float64(o.fill)}, Goal: 300})
	return nil
}

// fillTokens copies the existing token n times, with different hashes and expiry times within ten hours. It returns
// the size of the table with its indexes. It does not need to know the other columns.
func fillTokens(ctx context.Context, address string, n int) (int64, error) {
	db, err := sql.Open("postgres", address)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	rows, err := db.QueryContext(ctx, `SELECT column_name, data_type FROM information_schema.columns
		WHERE table_schema = current_schema() AND table_name = 'tokens' AND is_generated = 'NEVER'`)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	var names, values []string
	for rows.Next() {
		var name, kind string
		err = rows.Scan(&name, &kind)
		if err != nil {
			return 0, err
		}
		value := "t." + name
		switch {
		case name == "digest" && kind == "bytea":
			value = "sha256(n::text::bytea)"
		case name == "digest":
			value = "rtrim(translate(encode(sha256(n::text::bytea), 'base64'), '+/', '-_'), '=')"
		case name == "expires_at":
			value = "t.expires_at + n % 36000"
		}
		names, values = append(names, name), append(values, value)
	}
	err = rows.Err()
	if err != nil {
		return 0, err
	}
	const batch = 500_000
	for from := 1; from <= n; from += batch {
		_, err = db.ExecContext(ctx, "INSERT INTO tokens ("+strings.Join(names, ", ")+") SELECT "+strings.Join(values, ", ")+
			" FROM (SELECT * FROM tokens LIMIT 1) t, generate_series($1::bigint, $2::bigint) n", from, min(n, from+batch-1))
		if err != nil {
			return 0, fmt.Errorf("fill the table: %w", err)
		}
	}
	_, err = db.ExecContext(ctx, "VACUUM (ANALYZE) tokens")
	if err != nil {
		return 0, err
	}
	_, err = db.ExecContext(ctx, "CHECKPOINT")
	if err != nil {
		return 0, err
	}
	var size int64
	var held int
	err = db.QueryRowContext(ctx, `SELECT pg_total_relation_size('tokens'), (SELECT count(*) FROM tokens)`).Scan(&size,
		&held)
	if err == nil && held < n {
		err = fmt.Errorf("the table has %d rows, but %d were inserted", held, n)
	}
	return size, err
}
