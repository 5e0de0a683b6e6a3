package command

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mandate/storage/postgrestest"
)

// TestMain stops the PostgreSQL server that the tests share.
func TestMain(m *testing.M) { os.Exit(postgrestest.Main(m)) }

// shell runs commands on one database, as the command line does.
type shell struct {
	t       *testing.T
	environ []string
}

func (s shell) run(code int, want string, args ...string) {
	s.t.Helper()
	var out, log screen
	p := &program{Process: Process{Environ: s.environ, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &log}}
	got := p.run(s.t.Context(), args)
	if got != code || !strings.Contains(out.String()+log.String(), want) {
		s.t.Errorf(
			"mandate %s: exit code %d, want %d and %q:\n%s%s", strings.Join(args, " "), got, code, want, out.String(),
			log.String(),
		)
	}
}

const keyVariable = "MANDATE_SECRET_KEY=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

// anyPort keeps a server of a test from the address of another one, which it would find in use.
const anyPort = "MANDATE_LISTEN=127.0.0.1:0"

// Nodes of several releases may share a PostgreSQL database: only the migrate
// command changes its schema.
func TestPostgresSchemaIsMigratedByCommand(t *testing.T) {
	address := postgrestest.URL(t)
	s := shell{t, []string{keyVariable, anyPort, "MANDATE_DATABASE_URL=" + address}}
	for _, args := range [][]string{{"serve"}, {"user", "list"}, {"group", "add", "staff"}} {
		s.run(exitError, "the database's schema is older than this program: run mandate migrate", args...)
	}
	s.run(exitDone, "To be applied: 0001_init", "migrate", "--plan")
	s.run(exitError, "run mandate migrate", "serve")
	s.run(exitDone, "Applied: 0001_init", "migrate")
	s.run(exitDone, "Added the group staff.", "group", "add", "staff")
	s.newerSchema("postgres", address)
}

func TestSQLiteSchemaOfANewerRelease(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	s := shell{t, []string{keyVariable, anyPort, "MANDATE_DATABASE_URL=sqlite:///" + path}}
	s.run(exitDone, "Applied: 0001_init", "migrate")
	s.run(exitDone, "Added the group staff.", "group", "add", "staff")
	s.newerSchema("sqlite", "file:"+path)
}

// newerSchema checks that an older program does not use a newer schema.
func (s shell) newerSchema(driver, address string) {
	s.t.Helper()
	db, err := sql.Open(driver, address)
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close()
	_, err = db.ExecContext(
		s.t.Context(),
		`UPDATE schema_version SET version = 9999; UPDATE settings SET value = '9999' WHERE name = 'schema_works_from'`,
	)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, args := range [][]string{{"serve"}, {"migrate"}, {"user", "list"}, {"group", "add", "more"}} {
		s.run(exitError, "the database's schema is newer than this program: run the newer release", args...)
	}
}
