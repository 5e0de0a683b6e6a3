package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"mandate/conformance/bench/process"
)

// compare runs the benchmark.
func compare(ctx context.Context, o *options) error {
	for _, name := range o.only {
		known := []string{"start", "memory", "fill"}
		for _, p := range allPaths(o) {
			known = append(known, p.name)
		}
		if name != "introspect" && name != "resource" && !slices.Contains(known, name) {
			return fmt.Errorf("--only: there is no measurement %q", name)
		}
	}
	r := &report{Machine: machineInfo(), options: o}
	var pg *cluster
	needed := slices.Contains(o.databases, "postgres") && (o.target.issuer == "" || o.withBare)
	if needed {
		var err error
		pg, err = o.cluster(ctx)
		if err != nil {
			return err
		}
		defer pg.stop()
	}
	if pg != nil {
		r.Machine.Postgres = pg.version
	}
	err := compareOn(ctx, o, pg, r)
	if err != nil {
		return err
	}
	if len(r.Figures)+len(r.Singles) == 0 {
		return errors.New("nothing was measured: start needs SQLite, fill needs PostgreSQL and --fill, and with --target " +
			"only what the flags describe is measured")
	}
	return r.write()
}

// cluster returns a PostgreSQL, or nil if there is none. Then only SQLite is measured.
func (o *options) cluster(ctx context.Context) (*cluster, error) {
	if o.postgres != "" {
		return useCluster(ctx, o.postgres)
	}
	o.say("Starting PostgreSQL ...")
	c, err := startCluster(ctx, o.dir, o.postgresSettings)
	if errors.Is(err, errNoPostgres) {
		o.say("ATTENTION: PostgreSQL is not installed, so NOTHING IS MEASURED ON IT. Install it (Debian: apt-get install " +
			"postgresql), or set --postgres URL.")
		return nil, nil
	}
	return c, err
}

func compareOn(ctx context.Context, o *options, pg *cluster, r *report) error {
	if o.target.issuer != "" {
		return compareTarget(ctx, o, pg, r)
	}
	if pg != nil {
		err := compareMandate(ctx, o, onPostgres, pg, r)
		if err == nil && o.wants("fill") && o.fill > 0 {
			err = measureFill(ctx, o, pg, r)
		}
		if err != nil {
			return err
		}
	}
	if slices.Contains(o.databases, "sqlite") {
		return compareMandate(ctx, o, onSQLite, nil, r)
	}
	return nil
}

// compareMandate measures everything on one database.
func compareMandate(ctx context.Context, o *options, name string, pg *cluster, r *report) error {
	if o.against != "" {
		return compareBinaries(ctx, o, name, pg, r)
	}
	if o.wants("start") && name == onSQLite {
		err := measureStart(ctx, o, r)
		if err != nil {
			return err
		}
	}
	c := &comparison{options: o, database: name, report: r, rates: map[string]float64{}}
	for _, p := range allPaths(o) {
		if o.wants(p.name) {
			c.paths = append(c.paths, p)
		}
	}
	if len(c.paths) > 0 {
		err := c.onMandate(ctx, pg)
		if err != nil {
			return err
		}
	}
	if o.wants("memory") {
		return measureMemory(ctx, o, name, pg, r)
	}
	return nil
}

func (c *comparison) onMandate(ctx context.Context, pg *cluster) error {
	c.say("%s: setting up ...", c.database)
	s, err := startMandate(ctx, c.options, pg, nil)
	if err != nil {
		return err
	}
	defer s.end()
	c.ours, err = mandateTarget(ctx, s)
	if err != nil {
		return err
	}
	bare, err := c.startBare(ctx, pg)
	if err != nil {
		return err
	}
	defer bare.process.End()
	c.ours.resource = bare.url + "/guarded"
	logs := []*process.Child{s.process}
	pids := []int{s.process.PID(), bare.process.PID()} // the guard has a process too
	if c.wants("proxy") {
		guard, err := startGuard(ctx, c.options, s, c.ours, bare)
		if err != nil {
			return err
		}
		defer guard.end()
		c.ours.proxy = guard.url + "/fixed"
		logs, pids = append(logs, guard.process), append(pids, guard.process.PID())
	}
	c.ours.processor = func() (sum time.Duration) {
		for _, pid := range pids {
			sum += process.CPUTime(pid, false)
		}
		return sum
	}
	c.ours.database = pg.processor
	c.tidy = func() {
		for _, log := range logs {
			log.Trim()
		}
	}
	return c.run(ctx)
}

// compareBinaries measures two binaries in turn, each on a database of its own.
func compareBinaries(ctx context.Context, o *options, name string, pg *cluster, r *report) error {
	c := &comparison{options: o, database: name, report: r, rates: map[string]float64{}}
	c.say("%s: setting up ...", name)
	both := [2]*target{}
	for i, binary := range []string{o.against, o.binary} {
		with := *o
		with.binary = binary
		s, err := startMandate(ctx, &with, pg, nil)
		if err != nil {
			return err
		}
		defer s.end()
		both[i], err = mandateTarget(ctx, s)
		if err != nil {
			return err
		}
		both[i].processor = func() time.Duration { return process.CPUTime(s.process.PID(), false) }
		both[i].database = pg.processor
	}
	c.baseline, c.ours = both[0], both[1]
	for _, p := range allPaths(o) {
		if o.wants(p.name) && p.ready(c.ours) {
			c.paths = append(c.paths, p)
		}
	}
	return c.run(ctx)
}

// startMandate starts a server on a new database. more are settings inside OAUTH2_PROVIDER.
func startMandate(ctx context.Context, o *options, pg *cluster, more []string) (*server, error) {
	address := ""
	if pg != nil {
		var err error
		address, err = pg.database(ctx)
		if err != nil {
			return nil, err
		}
	}
	// The codes of a round are all requested before it, and must remain valid during the round. OpenID Connect is off, as
	// it is by default in older binaries.
	s, err := newServer(o, address, []string{"SAMPLE_API: true", "TRUSTED_PROXIES: [127.0.0.1]"},
		append([]string{"AUTHORIZATION_CODE_EXPIRE_SECONDS: 600", "OIDC_ENABLED: false",
			"OPEN_CLIENTS: [documents, registration]", "OPEN_MAX_APPLICATIONS: 1000000"}, more...))
	if err != nil {
		return nil, err
	}
	if pg != nil {
		_, err = s.cli(ctx, "", "migrate")
		if err != nil {
			return nil, err
		}
	}
	_, err = s.start(ctx, "serve", "/readyz", http.StatusOK)
	return s, err
}

// startGuard starts the guard in front of the bare handlers.
func startGuard(ctx context.Context, o *options, s *server, t *target, bare *bareServer) (*server, error) {
	guard, err := newServer(o, noDatabase,
		[]string{"UPSTREAM: " + bare.url, "RULES:", "  - {PATH: /fixed, SCOPES: [read]}"},
		[]string{"RESOURCE_SERVER_INTROSPECTION_URL: " + s.url + "/o/introspect/",
			"RESOURCE_SERVER_INTROSPECTION_CREDENTIALS: [" + quote(t.api.ID) + ", " + quote(t.api.Secret) + "]"})
	if err != nil {
		return nil, err
	}
	_, err = guard.start(ctx, "resource-server", "/fixed", http.StatusUnauthorized)
	return guard, err
}

func (c *comparison) startBare(ctx context.Context, pg *cluster) (*bareServer, error) {
	address := "sqlite:///" + filepath.Join(c.dir, "bare.db")
	if pg != nil {
		var err error
		address, err = pg.database(ctx)
		if err != nil {
			return nil, err
		}
	}
	told := bareOptions{Database: address}
	if c.database != elsewhere {
		told.Introspect, told.API, told.Key = c.ours.introspect, c.ours.api, c.ours.key.Public()
	}
	bare, err := startBare(ctx, c.dir, told)
	if err != nil {
		return nil, err
	}
	c.baseline = &target{processor: func() time.Duration { return process.CPUTime(bare.process.PID(), false) },
		database: pg.processor}
	c.bareURL = bare.url
	return bare, nil
}

// compareTarget measures another provider.
func compareTarget(ctx context.Context, o *options, pg *cluster, r *report) error {
	t, err := foreignTarget(ctx, o.target)
	if err != nil {
		return err
	}
	c := &comparison{options: o, database: elsewhere, report: r, ours: t, rates: map[string]float64{}}
	for _, p := range allPaths(o) {
		if o.wants(p.name) && p.ready(t) {
			c.paths = append(c.paths, p)
		}
	}
	if o.withBare {
		bare, err := c.startBare(ctx, pg)
		if err != nil {
			return err
		}
		defer bare.process.End()
	}
	return c.run(ctx)
}
