package storage

import (
	"errors"
	"regexp"
	"strconv"
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
		for range 2 { // Pending changes nothing
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
		_, err = s.TokenByDigest(t.Context(), f.access, at)
		is(t, "the record from before", err, nil)
		if n := count(t, s, `SELECT COUNT(*) FROM schema_version WHERE version = $1 AND migrated_at > 0`,
			all[len(all)-1].Version); n != 1 {
			t.Error("the version is not stored")
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
		_, err = w.exec(t.Context(), `UPDATE settings SET value = (SELECT CAST(version AS TEXT) FROM schema_version)
			WHERE name = 'schema_works_from'`)
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

func TestNewerSchemaThatOnlyHasMoreIsWorkedWith(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		_, err := w.exec(t.Context(), `UPDATE schema_version SET version = version + 9`)
		must(t, err)
		pending, err := w.Pending(t.Context())
		must(t, err)
		done, err := w.Migrate(t.Context())
		must(t, err)
		if len(done)+len(pending) != 0 {
			t.Errorf("did %s, pending %s", steps(done), steps(pending))
		}
		if n := count(t, w.Store, `SELECT version FROM schema_version`); n != len(allSteps(t))+9 {
			t.Errorf("the version is %d now", n)
		}
	})
}

// takesAway and asksMore find changes that break an older program: a table or column
// that was removed, renamed or changed, and a new column that every INSERT would have
// to set.
var (
	takesAway = regexp.MustCompile(
		`(?i)\b(DROP|RENAME|ALTER\s+COLUMN|ADD\s+CONSTRAINT|CREATE\s+UNIQUE|CREATE\s+TRIGGER)\b`)
	asksMore  = regexp.MustCompile(`(?i)\bADD\s+(COLUMN\s+)?\w+\s[^;]*\bNOT\s+NULL\b`)
	byDefault = regexp.MustCompile(`(?i)\bDEFAULT\b`)
	sets      = regexp.MustCompile(`(?i)\bSET\s+value\s*=\s*'(\d+)'\s+WHERE\s+name\s*=\s*'schema_works_from'`)
)

// newUnique finds a column that is NULL in the rows of older programs, with its unique
// index: NULL is equal to nothing.
var newUnique = regexp.MustCompile(
	`(?i)\bADD COLUMN (\w+) (TEXT|BIGINT);[\s\S]*\bCREATE UNIQUE INDEX \w+ ON \w+ \((\w+)\)`)

// dropsIndex finds an index that is removed. No statement names an index, so only the check
// of a unique one can be missed.
var (
	dropsIndex  = regexp.MustCompile(`(?i)\bDROP INDEX (\w+);`)
	makesUnique = regexp.MustCompile(`(?i)\bCREATE UNIQUE INDEX (\w+)`)
	makesTable  = regexp.MustCompile(`\bCREATE TABLE (\w+)`)
)

// breaks returns the part of a migration that breaks older programs, or "".
func breaks(t *testing.T, sql string) string {
	t.Helper()
	for _, match := range newUnique.FindAllStringSubmatch(sql, -1) {
		if match[1] == match[3] {
			sql = strings.ReplaceAll(sql, "CREATE UNIQUE INDEX", "CREATE INDEX")
		}
	}
	for _, table := range makesTable.FindAllStringSubmatch(sql, -1) { // older programs do not know it
		sql = regexp.MustCompile(`CREATE UNIQUE (INDEX \w+ ON `+table[1]+`\b)`).ReplaceAllString(sql, "CREATE $1")
	}
	sql = dropsIndex.ReplaceAllStringFunc(sql, func(statement string) string {
		name := dropsIndex.FindStringSubmatch(statement)[1]
		for _, m := range allSteps(t) {
			for _, unique := range makesUnique.FindAllStringSubmatch(m.sql, -1) {
				if unique[1] == name {
					return statement
				}
			}
		}
		return ""
	})
	for statement := range strings.SplitSeq(regexp.MustCompile(`--.*`).ReplaceAllString(sql, ""), ";") {
		if found := takesAway.FindString(statement); found != "" {
			return found
		}
		if found := asksMore.FindString(statement); found != "" && !byDefault.MatchString(found+statement) {
			return found
		}
	}
	return ""
}

// During an update, nodes of two releases run side by side. So a migration only adds to
// the schema, or it declares which older programs it breaks.
func TestMigrationOnlyAddsOrSaysFromWhenOnItWorks(t *testing.T) {
	for sql, want := range map[string]bool{
		`ALTER TABLE users DROP COLUMN email`:                                                                        true,
		`ALTER TABLE users RENAME COLUMN email TO mail`:                                                              true,
		`ALTER TABLE users ADD COLUMN more TEXT NOT NULL`:                                                            true,
		`ALTER TABLE users ADD COLUMN more TEXT NOT NULL DEFAULT ''`:                                                 false,
		`ALTER TABLE users ADD COLUMN more TEXT; CREATE TABLE more ()`:                                               false,
		`ALTER TABLE users ADD COLUMN more TEXT; CREATE UNIQUE INDEX users_more ON users (more)`:                     false,
		`ALTER TABLE users ADD COLUMN more TEXT; CREATE UNIQUE INDEX users_email ON users (email)`:                   true,
		`ALTER TABLE users ADD COLUMN more TEXT NOT NULL DEFAULT ''; CREATE UNIQUE INDEX users_more ON users (more)`: true,
		`CREATE TABLE more (name TEXT); CREATE UNIQUE INDEX more_name ON more (name) WHERE name <> ''`:               false,
		`CREATE TABLE more (name TEXT); CREATE UNIQUE INDEX users_email ON users (email)`:                            true,
		`DROP INDEX users_email;`:                            false,
		`DROP INDEX applications_registration;`:              true,
		"-- DROP\nCREATE INDEX users_email ON users (email)": false,
	} {
		if got := breaks(t, sql); (got != "") != want {
			t.Errorf("%s: %q, want that it breaks: %t", sql, got, want)
		}
	}
	first := 0 // the migration that introduced the declaration
	for _, m := range allSteps(t) {
		if strings.Contains(m.sql, "INSERT INTO settings (name, value) SELECT 'schema_works_from'") {
			first = m.Version
		}
		if first == 0 || first == m.Version {
			continue
		}
		from := sets.FindStringSubmatch(m.sql)
		if why := breaks(t, m.sql); why != "" && from == nil {
			t.Errorf("%s has %q, and does not set schema_works_from", m.Name, why)
		}
		if from != nil {
			if n, _ := strconv.Atoi(from[1]); n < first || n > m.Version {
				t.Errorf("%s sets schema_works_from to %d", m.Name, n)
			}
		}
	}
}

func TestFailedMigrationLeavesNothingHalfDone(t *testing.T) {
	eachEmpty(t, func(t *testing.T, url string) {
		s := opened(t, url)
		// The last table of the first migration exists already.
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
				t.Error("the version was increased")
			}
		}
		_, err = s.exec(t.Context(), `DROP TABLE tokens`)
		must(t, err)
		done, err := s.Migrate(t.Context())
		must(t, err)
		if steps(done) != steps(allSteps(t)) {
			t.Errorf("after the repair it did %s", steps(done))
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
