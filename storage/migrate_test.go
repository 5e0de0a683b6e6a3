package storage

import (
	"errors"
	"strings"
	"testing"
)

func steps(list []Migration) string {
	var names []string
	for _, m := range list {
		names = append(names, m.Name)
	}
	return strings.Join(names, " ")
}

func allSteps(t *testing.T) []Migration {
	t.Helper()
	all, err := migrations()
	must(t, err)
	return all
}

func TestMigrationsAreNumberedFromOneWithoutAGap(t *testing.T) {
	for i, m := range allSteps(t) {
		if m.Version != i+1 || m.sql == "" {
			t.Errorf("step %d is %d, %s", i+1, m.Version, m.Name)
		}
	}
}

func TestMigrateBringsAnEmptyDatabaseUpToDateOnce(t *testing.T) {
	eachEmpty(t, func(t *testing.T, url string) {
		s, all := opened(t, url), allSteps(t)
		for range 2 { // asking changes nothing
			pending, err := s.Pending(t.Context())
			must(t, err)
			if steps(pending) != steps(all) {
				t.Errorf("pending on an empty database: %s", steps(pending))
			}
		}
		done, err := s.Migrate(t.Context())
		must(t, err)
		if steps(done) != steps(all) {
			t.Errorf("did %s, want %s", steps(done), steps(all))
		}
		w := world{s, url}
		_, _, f := w.scene(t, "alice")
		done, err = s.Migrate(t.Context())
		must(t, err)
		pending, err := s.Pending(t.Context())
		must(t, err)
		if len(done)+len(pending) != 0 {
			t.Errorf("the second time: did %s, pending %s", steps(done), steps(pending))
		}
		_, err = s.TokenByDigest(t.Context(), f.access)
		is(t, "the record from before", err, nil)
		if n := count(t, s, `SELECT COUNT(*) FROM schema_version WHERE version = $1 AND migrated_at > 0`, len(all)); n != 1 {
			t.Error("the version is not written down")
		}
	})
}

func TestMigrateRunsOnceOfManyNodesThatStartTogether(t *testing.T) {
	eachEmpty(t, func(t *testing.T, url string) {
		stores := []*Store{opened(t, url), opened(t, url)}
		ran := make([][]Migration, 8)
		for i, err := range race(8, func(i int) error {
			_, err := stores[i%2].Pending(t.Context())
			if err != nil {
				return err
			}
			ran[i], err = stores[i%2].Migrate(t.Context())
			return err
		}) {
			if err != nil {
				t.Errorf("node %d: %v", i, err)
			}
		}
		sum := 0
		for _, done := range ran {
			sum += len(done)
		}
		if want := len(allSteps(t)); sum != want {
			t.Errorf("%d steps ran, want %d", sum, want)
		}
		pending, err := stores[1].Pending(t.Context())
		must(t, err)
		if len(pending) != 0 {
			t.Errorf("pending: %s", steps(pending))
		}
	})
}

func TestNewerSchemaIsRefused(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		_, err := w.exec(t.Context(), `UPDATE schema_version SET version = version + 1`)
		must(t, err)
		done, err := w.Migrate(t.Context())
		is(t, "Migrate", err, ErrNewerSchema)
		pending, err := w.Pending(t.Context())
		is(t, "Pending", err, ErrNewerSchema)
		if len(done)+len(pending) != 0 {
			t.Errorf("did %s, pending %s", steps(done), steps(pending))
		}
		_, err = w.exec(t.Context(), `UPDATE schema_version SET version = version - 1`)
		must(t, err)
		_, err = w.Migrate(t.Context())
		is(t, "Migrate by the newer release", err, nil)
	})
}

func TestFailedMigrationLeavesNothingHalfDone(t *testing.T) {
	eachEmpty(t, func(t *testing.T, url string) {
		s := opened(t, url)
		// The last table of the first step is there already.
		_, err := s.exec(t.Context(), `CREATE TABLE tokens (foreign_to_us TEXT)`)
		must(t, err)
		for range 2 {
			done, err := s.Migrate(t.Context())
			if err == nil || !strings.Contains(err.Error(), "migration 0001_init:") || !strings.Contains(err.Error(), "tokens") {
				t.Fatalf("got %v", err)
			}
			if len(done) != 0 || errors.Is(err, ErrConflict) || errors.Is(err, ErrNotFound) {
				t.Errorf("did %s, got %v", steps(done), err)
			}
			for _, table := range []string{"settings", "users", "grants"} {
				_, err = s.write.ExecContext(t.Context(), `SELECT COUNT(*) FROM `+table)
				if err == nil {
					t.Errorf("table %s was left behind", table)
				}
			}
			if n := count(t, s, `SELECT COUNT(*) FROM schema_version WHERE version = 0`); n != 1 {
				t.Error("the version went up")
			}
		}
		_, err = s.exec(t.Context(), `DROP TABLE tokens`)
		must(t, err)
		done, err := s.Migrate(t.Context())
		must(t, err)
		if steps(done) != steps(allSteps(t)) {
			t.Errorf("once mended it did %s", steps(done))
		}
	})
}

func TestStatementPreparedTooEarlyDoesNotStickToTheStore(t *testing.T) {
	eachEmpty(t, func(t *testing.T, url string) {
		s := opened(t, url)
		_, err := s.HasUsers(t.Context())
		notASentinel(t, "HasUsers without a schema", err)
		_, err = s.Migrate(t.Context())
		must(t, err)
		_, err = s.HasUsers(t.Context())
		is(t, "HasUsers", err, nil)
	})
}
