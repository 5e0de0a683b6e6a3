package mandate

import (
	"net/http"
	"strings"
	"testing"

	"mandate/storage/postgrestest"
)

// Metrics and profiles are for operators only. The public address never serves them.
func TestOpsAreApart(t *testing.T) {
	const health, ready, metrics, profile = "/healthz", "/readyz", "/metrics", "/debug/pprof/goroutine"
	check := func(t *testing.T, get func(string) answer, want map[string]int) {
		t.Helper()
		for path, status := range want {
			if got := get(path); got.Status != status {
				t.Errorf("%s answered %d, want %d", path, got.Status, status)
			}
		}
	}
	t.Run("by default", func(t *testing.T) {
		s := startServer(t, options{})
		check(t, func(path string) answer { return s.get(t, path, nobody) },
			map[string]int{health: 200, ready: 200, metrics: 404, profile: 404})
	})
	for name, pprof := range map[string]int{"false": 404, "true": 200} {
		t.Run("OPS_PPROF "+name, func(t *testing.T) {
			w := startWatched(t, options{settings: []string{"OPS_PPROF: " + name}})
			check(t, func(path string) answer { return w.get(t, path, nobody) },
				map[string]int{health: 404, ready: 404, metrics: 404, profile: 404})
			check(t, func(path string) answer { return w.look(t, path) },
				map[string]int{health: 200, ready: 200, metrics: 200, profile: pprof,
					"/login/": 404, "/o/token/": 404, "/": 404})
		})
	}
}

// A node that must stop first reports that it is not ready, and answers all requests
// during the delay.
func TestReadinessFailsBeforeConnectionsDo(t *testing.T) {
	t.Parallel()
	w := startWatched(t, options{settings: []string{"SHUTDOWN_DELAY_SECONDS: 5"}})
	app := w.application(t, "--name", "x", "--grant", "client_credentials")
	status := func() int { return w.look(t, "/readyz").Status }
	if status() != http.StatusOK {
		t.Fatal("the server is not ready")
	}
	w.process.end()
	waitFor(t, "/readyz fails", func() bool { return status() == http.StatusServiceUnavailable })
	if got := w.look(t, "/healthz").Status; got != http.StatusOK {
		t.Errorf("/healthz answered %d: a node that stops by itself need not be killed", got)
	}
	w.mustToken(t, app.auth(), params("grant_type", "client_credentials"))
	// RFC 9112 §9.6: clients open a new connection, and so reach another node.
	response, err := w.client.Get(w.URL + "/login/")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK || !response.Close {
		t.Errorf("during the delay a page has status %d, and the connection ends after it: %v", response.StatusCode,
			response.Close)
	}
	if got := w.series(t, "mandate_changes_heard")["mandate_changes_heard{}"]; got != 1 {
		t.Error("a node that still answers does not hear changes")
	}
	waitFor(t, "the server has ended", func() bool { return !w.process.running() })
	if code := w.process.code; code != 0 {
		t.Errorf("it exited with %d", code)
	}
}

// Without a separate listener, the public address serves the health checks.
func TestReadinessAtTheMainListener(t *testing.T) {
	t.Parallel()
	s := startServer(t, options{settings: []string{"SHUTDOWN_DELAY_SECONDS: 5"}})
	s.process.end()
	waitFor(t, "/readyz fails", func() bool { return s.get(t, "/readyz", nobody).Status == http.StatusServiceUnavailable })
	if got := s.get(t, "/healthz", nobody).Status; got != http.StatusOK {
		t.Errorf("/healthz answered %d", got)
	}
}

// Without its database a node is alive but not ready, and still serves its metrics.
func TestMetricsWithoutTheDatabase(t *testing.T) {
	cluster := postgrestest.New(t)
	w := startWatched(t, options{database: database{name: "postgres", url: cluster.URL(t)}})
	heard := func() float64 { return w.series(t, "mandate_changes_heard")["mandate_changes_heard{}"] }
	waitFor(t, "the node hears changes", func() bool { return heard() == 1 })
	if w.scrape(t)["mandate_cleanup_lag_seconds"] == nil {
		t.Error("there is no lag")
	}
	cluster.Stop(t)
	waitFor(t, "the node notices", func() bool { return heard() == 0 })
	if got := w.look(t, "/readyz").Status; got != http.StatusServiceUnavailable {
		t.Errorf("/readyz answered %d", got)
	}
	if got := w.look(t, "/healthz").Status; got != http.StatusOK {
		t.Errorf("/healthz answered %d", got)
	}
	if w.scrape(t)["mandate_cleanup_lag_seconds"] != nil {
		t.Error("there is a lag, which nobody can know")
	}
	if lost := w.series(t, "mandate_changes_lost_total")["mandate_changes_lost_total{}"]; lost != 1 {
		t.Errorf("the way was lost %v times", lost)
	}
	cluster.Start(t)
	waitFor(t, "the node hears changes again",
		func() bool { return heard() == 1 && w.look(t, "/readyz").Status == http.StatusOK })
}

// The clean-up counts the deleted rows by table.
func TestMetricsOfTheCleanUp(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		w := startWatched(t, options{database: db, provider: []string{"ACCESS_TOKEN_EXPIRE_SECONDS: 1"}})
		app := w.application(t, "--name", "x", "--grant", "client_credentials")
		for range 3 {
			w.mustToken(t, app.auth(), params("grant_type", "client_credentials"))
		}
		waitFor(t, "three tokens are removed", func() bool {
			return w.series(t, "mandate_cleanup_rows_total")["mandate_cleanup_rows_total{table=tokens}"] == 3
		})
		// It removes more than tokens, and has succeeded at its end.
		waitFor(t, "the clean-up succeeds", func() bool {
			return w.series(t,
				"mandate_cleanup_last_success_timestamp_seconds")["mandate_cleanup_last_success_timestamp_seconds{}"] != 0
		})
	})
}

// Records that were just read come from the cache. Reads and cache hits are both
// counted.
func TestMetricsOfCopies(t *testing.T) {
	w := startWatched(t, options{})
	app := w.application(t, "--name", "x", "--grant", "client_credentials", "--may-introspect")
	token := w.mustToken(t, app.auth(), params("grant_type", "client_credentials")).AccessToken
	before := w.series(t, "mandate_copy_lookups_total")
	asked, hits := 0.0, 0.0
	waitFor(t, "a copy is used", func() bool {
		w.introspect(t, app.auth(), token)
		asked++
		now := w.series(t, "mandate_copy_lookups_total")
		moved := func(result string) float64 {
			name := "mandate_copy_lookups_total{record=token,result=" + result + "}"
			return now[name] - before[name]
		}
		if hits = moved("hit"); hits+moved("miss") != asked {
			t.Fatalf("of %v look-ups %v found a copy and %v did not", asked, hits, moved("miss"))
		}
		return hits > 0
	})
	if entries := w.series(t, "mandate_copies")["mandate_copies{record=token}"]; entries != 1 {
		t.Errorf("there are copies of %v tokens", entries)
	}
}

// The log line of a request has the pattern of its route, and never the path.
func TestLogLine(t *testing.T) {
	s := startServer(t, options{})
	app := s.application(t, "--name", "x", "--grant", "client_credentials")
	s.mustToken(t, app.auth(), params("grant_type", "client_credentials"))
	s.get(t, "/o/applications/"+app.ID+"/", nobody)
	s.get(t, "/wp-admin/"+app.ID, nobody)
	s.token(t, app.auth(), params("grant_type", "made-up"))
	for _, want := range []string{"method=POST route=/o/token/ status=200", "grant_type=client_credentials outcome=ok",
		"route=/o/applications/{id}/ status=303", "route=unmatched status=404",
		"grant_type=other outcome=unsupported_grant_type"} {
		waitFor(t, "the log has "+want, func() bool { return strings.Contains(s.log.String(), want) })
	}
	for _, path := range []string{app.ID, "wp-admin", "made-up"} {
		if strings.Contains(s.log.String(), path) {
			t.Errorf("the log has %q:\n%s", path, s.log.String())
		}
	}
}
