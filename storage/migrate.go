package storage

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lib/pq"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// Migration is one numbered step of the schema.
type Migration struct {
	Version int
	Name    string
	Notes   []string // what the operator has to do afterwards
	sql     string
}

// ErrNewerSchema means that a later release has migrated the database to a schema that
// this release cannot use.
var ErrNewerSchema = errors.New("the database's schema is newer than this program: run the newer release")

func migrations() ([]Migration, error) {
	entries, err := migrationFiles.ReadDir("migrations")
	if err != nil {
		return nil, err
	}
	var steps []Migration
	for _, e := range entries {
		number, _, _ := strings.Cut(e.Name(), "_")
		version, err := strconv.Atoi(number)
		if err != nil {
			return nil, fmt.Errorf("migration %s: %w", e.Name(), err)
		}
		text, err := migrationFiles.ReadFile("migrations/" + e.Name())
		if err != nil {
			return nil, err
		}
		steps = append(steps, Migration{Version: version, Name: strings.TrimSuffix(e.Name(), ".sql"), sql: string(text)})
	}
	slices.SortFunc(steps, func(a, b Migration) int { return a.Version - b.Version })
	return steps, nil
}

// Pending lists the migrations that the database does not have yet.
func (s *Store) Pending(ctx context.Context) ([]Migration, error) {
	current, err := s.schemaVersion(ctx)
	if err != nil {
		return nil, err
	}
	return after(current, func(from *int) error {
		return translate(s.write.GetContext(ctx, from, worksFrom))
	})
}

// worksFrom reads the oldest schema version whose programs can use this schema. It is
// read if the schema is newer than this program.
const worksFrom = `SELECT CAST(value AS BIGINT) FROM settings WHERE name = 'schema_works_from'`

// after lists the migrations to run on a schema of version current. There are none if
// the schema is newer and this program can use it.
func after(current int, readFrom func(*int) error) ([]Migration, error) {
	steps, err := migrations()
	if err != nil {
		return nil, err
	}
	if newest := len(steps); current > newest {
		from := current
		err = readFrom(&from)
		if err == nil && from > newest {
			err = ErrNewerSchema
		}
		return nil, err
	}
	return slices.DeleteFunc(steps, func(m Migration) bool { return m.Version <= current }), nil
}

// schemaVersion returns the version of the schema, or 0 for an empty database.
func (s *Store) schemaVersion(ctx context.Context) (int, error) {
	const query = `SELECT version FROM schema_version WHERE id = 1`
	var version int
	err := s.write.GetContext(ctx, &version, query)
	if err == nil {
		return version, nil
	}
	// The table is created only if it is missing. At every other start, the database
	// user needs no permission to create tables.
	err = s.lockTable(ctx)
	if err != nil {
		return 0, err
	}
	err = s.write.GetContext(ctx, &version, query)
	return version, translate(err)
}

// lockTable creates the table whose single row holds the schema version. The row is
// also the lock for migrations. If two nodes create the table at the same time, one
// gets an error about the database's catalogue; it tries again and finds the table.
func (s *Store) lockTable(ctx context.Context) error {
	var err error
	for range attempts {
		_, err = s.write.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS schema_version (id BIGINT PRIMARY KEY,
			version BIGINT NOT NULL, migrated_at BIGINT NOT NULL)`)
		if err == nil {
			_, err = s.write.ExecContext(ctx, `INSERT INTO schema_version (id, version, migrated_at) VALUES (1, 0, 0)
				ON CONFLICT DO NOTHING`)
		}
		if err == nil {
			return nil
		}
	}
	return fmt.Errorf("prepare schema_version: %w", s.permitted(ctx, err))
}

// permitted says what to grant if a role may not change the schema (insufficient_privilege). Since PostgreSQL 15, only
// the owner of a database may create tables in the schema public.
func (s *Store) permitted(ctx context.Context, err error) error {
	p, ok := errors.AsType[*pq.Error](err)
	if !ok || p.Code != "42501" {
		return err
	}
	var role string
	if s.write.GetContext(ctx, &role, `SELECT quote_ident(current_user)`) != nil {
		return err
	}
	return fmt.Errorf("%w: as the owner of the database, run GRANT USAGE, CREATE ON SCHEMA public TO %s, or make this "+
		"role the owner. If another role has created the tables, migrate as that role", err, role)
}

// Migrate runs the missing migrations, each in its own transaction, and returns those
// that it ran. The first statement of each transaction locks the version row. If many
// nodes start at once, one migrates while the others wait.
func (s *Store) Migrate(ctx context.Context) ([]Migration, error) {
	s.noReadTimeout.Store(true)
	defer s.noReadTimeout.Store(false)
	err := s.lockTable(ctx)
	if err != nil {
		return nil, err
	}
	var done []Migration
	for {
		step, err := s.migrateOne(ctx)
		if err != nil {
			return done, s.permitted(ctx, err)
		}
		if step.Version == 0 {
			return done, nil
		}
		done = append(done, step)
	}
}

func (s *Store) migrateOne(ctx context.Context) (Migration, error) {
	var step Migration
	err := s.atomically(ctx, func(t tx) error {
		step = Migration{}
		_, err := t.ExecContext(ctx, `UPDATE schema_version SET id = id WHERE id = 1`)
		if err != nil {
			return err
		}
		var current int
		err = t.get(&current, `SELECT version FROM schema_version WHERE id = 1`)
		if err != nil {
			return err
		}
		pending, err := after(current, func(from *int) error { return t.get(from, worksFrom) })
		if err != nil || len(pending) == 0 {
			return err
		}
		_, err = t.ExecContext(ctx, pending[0].sql)
		if err != nil {
			return fmt.Errorf("migration %s: %w", pending[0].Name, err)
		}
		if more := byProgram[pending[0].Version]; more != nil {
			pending[0].Notes, err = more(t)
			if err != nil {
				return fmt.Errorf("migration %s: %w", pending[0].Name, err)
			}
		}
		_, err = t.ExecContext(ctx, `UPDATE schema_version SET version = $1, migrated_at = $2 WHERE id = 1`,
			pending[0].Version, time.Now().Unix())
		if err != nil {
			return err
		}
		step = pending[0]
		return nil
	})
	return step, err
}
