// Package storage stores the records on SQLite or PostgreSQL: people, groups,
// applications, sessions, logins at applications, consents, grants, tokens, device
// authorization requests, signing keys and settings. It uses the SQL that both databases share. The
// package makes no decisions; package provider holds the rules.
package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"
	_ "modernc.org/sqlite" // registers "sqlite"
)

// Store is an open database.
type Store struct {
	read, write          *sqlx.DB
	embedded             bool
	busyWait             time.Duration     // how long one attempt waits for a locked SQLite file
	path                 string            // of the SQLite file
	file                 os.FileInfo       // the file at its opening; nil: PostgreSQL
	connector            *durableConnector // of PostgreSQL
	url                  string            // for notifications of PostgreSQL
	most                 int               // the limit of connections to PostgreSQL
	noPreparedStatements bool              // statements are not prepared
	noReadTimeout        *atomic.Bool
	prepared             sync.Map // pool and SQL text to *sqlx.Stmt

	together *batcher[unit]     // work that shares a transaction, on SQLite
	writes   *batcher[write]    // tokens and one-time values that share a statement, on PostgreSQL
	settling *batcher[struct{}] // calls of Settle that share a commit, on PostgreSQL
	polls    *batcher[poll]     // polls of devices that share an UPDATE, on PostgreSQL
	onChange func([]Change)
	onEvents func([]Event)
	tracer   Tracer
	counters counters
	open     atomic.Pointer[openCount]
	counting sync.Mutex // held while open is counted again

	changesWritten, polling, notifyUnsupported, messageUnsupported atomic.Bool
	renewed                                                        atomic.Int64 // how often the connections were renewed
	// deleted tokens whose space VACUUM has freed
	reclaimed atomic.Int64
}

type preparedKey struct {
	db    *sqlx.DB
	query string
}

// Open opens the database at an address, with the default configuration.
func Open(ctx context.Context, databaseURL string) (*Store, error) {
	return Config{URL: databaseURL}.Open(ctx)
}

// Open opens the database and checks that it answers.
func (c Config) Open(ctx context.Context) (*Store, error) {
	s, err := c.open()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if s.connector != nil && !s.noPreparedStatements {
		err = checkPooler(ctx, *s.connector)
		if err != nil {
			s.Close()
			return nil, err
		}
	}
	err = s.Ping(ctx)
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("reach the database: %w", err)
	}
	err = s.checkEncoding(ctx)
	if err != nil {
		s.Close()
		return nil, err
	}
	if s.path != "" {
		s.file, err = os.Stat(s.path)
		if err != nil {
			s.Close()
			return nil, fmt.Errorf("examine the database file: %w", err)
		}
	}
	return s, nil
}

// checkEncoding refuses a database that cannot store every text. A stranger could send a letter that it does not have,
// and each such request would fail.
func (s *Store) checkEncoding(ctx context.Context) error {
	if s.embedded {
		return nil
	}
	var encoding string
	err := s.write.GetContext(ctx, &encoding, `SHOW server_encoding`)
	if err != nil {
		return fmt.Errorf("read the encoding of the database: %w", err)
	}
	if encoding != "UTF8" {
		return fmt.Errorf("the database has the encoding %s, and needs UTF8: create it anew with createdb --encoding UTF8 "+
			"--template template0 NAME", encoding)
	}
	return nil
}

func (c Config) open() (*Store, error) {
	scheme, rest, _ := strings.Cut(c.URL, "://")
	switch scheme {
	case "sqlite":
		return openSQLite(strings.TrimPrefix(rest, "/"), busyWait)
	case "postgres", "postgresql":
		return openPostgres(c)
	}
	// The message must not contain the URL: a text without a scheme may be a password.
	return nil, errors.New("the database URL must begin with sqlite:/// or postgres://")
}

// busyWait is how long one attempt waits for a SQLite file that another process has locked.
// A request makes several attempts, and has 25 seconds.
const busyWait = 3 * time.Second

// openSQLite opens one connection for writes, because SQLite allows one writer. The
// pool is then a fair queue; SQLite's own lock would be polled.
func openSQLite(path string, wait time.Duration) (*Store, error) {
	if path == "" || path == ":memory:" { // each connection would have its own database
		return nil, fmt.Errorf("the database URL contains no file name: write sqlite:///mandate.db")
	}
	// synchronous(FULL): a token that was sent to a client survives a power failure.
	dsn := "file:" + (&url.URL{Path: path}).EscapedPath() +
		fmt.Sprintf("?_pragma=busy_timeout(%d)", wait.Milliseconds()) +
		"&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)&_txlock=immediate"
	write, err := sqlx.Open("sqlite", dsn)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	write.SetMaxOpenConns(1)
	read, err := sqlx.Open("sqlite", dsn)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	read.SetMaxOpenConns(8)
	read.SetMaxIdleConns(8)
	return newStore(&Store{read: read, write: write, embedded: true, path: path, busyWait: wait,
		noReadTimeout: &atomic.Bool{}}), nil
}

// maxWaiting limits the writes that wait for the database. A waiting token needs a few
// hundred bytes.
const maxWaiting = 8192

func newStore(s *Store) *Store {
	s.together = &batcher[unit]{run: s.runTogether, size: atMost(128), lanes: 1, maxWaiting: maxWaiting}
	s.writes = &batcher[write]{run: s.writeBatch, size: atMost(128), lanes: 2, maxWaiting: maxWaiting, leaves: true}
	s.settling = &batcher[struct{}]{run: s.settle, size: atMost(maxWaiting), lanes: 1, maxWaiting: maxWaiting,
		leaves: true}
	s.polls = &batcher[poll]{run: s.pollTogether, size: powerOfTwo, lanes: 2, maxWaiting: maxWaiting, leaves: true}
	return s
}

// Embedded reports whether the database is a local SQLite file.
func (s *Store) Embedded() bool { return s.embedded }

// Ping checks that the database answers.
func (s *Store) Ping(ctx context.Context) error {
	return s.write.PingContext(ctx)
}

// Close closes all connections. After a command has changed something, Close waits
// until the server has had time to read the change counter.
func (s *Store) Close() {
	if s.changesWritten.Load() && !s.polling.Load() {
		time.Sleep(2 * lookEvery)
	}
	s.read.Close()
	if s.write != s.read {
		s.write.Close()
	}
}

// statement prepares each SQL text once. Parsing and planning then happen at its first
// use on a connection, not at each request.
func (s *Store) statement(ctx context.Context, db *sqlx.DB, query string) (*sqlx.Stmt, error) {
	key := preparedKey{db, query}
	if known, ok := s.prepared.Load(key); ok {
		return known.(*sqlx.Stmt), nil
	}
	made, err := db.PreparexContext(ctx, query)
	if err != nil {
		return nil, err
	}
	known, loaded := s.prepared.LoadOrStore(key, made)
	if loaded {
		made.Close()
	}
	return known.(*sqlx.Stmt), nil
}

// querier runs one SQL text.
type querier interface {
	GetContext(ctx context.Context, dest any, args ...any) error
	SelectContext(ctx context.Context, dest any, args ...any) error
	ExecContext(ctx context.Context, args ...any) (sql.Result, error)
}

func (s *Store) querier(ctx context.Context, db *sqlx.DB, query string) (querier, error) {
	if s.noPreparedStatements {
		return directQuerier{db, query}, nil
	}
	return s.statement(ctx, db, query)
}

// directQuerier sends the SQL text each time.
type directQuerier struct {
	db    *sqlx.DB
	query string
}

// GetContext reads one row.
func (u directQuerier) GetContext(ctx context.Context, dest any, args ...any) error {
	return u.db.GetContext(ctx, dest, u.query, args...)
}

// SelectContext reads all rows.
func (u directQuerier) SelectContext(ctx context.Context, dest any, args ...any) error {
	return u.db.SelectContext(ctx, dest, u.query, args...)
}

// ExecContext runs the statement.
func (u directQuerier) ExecContext(ctx context.Context, args ...any) (sql.Result, error) {
	return u.db.ExecContext(ctx, u.query, args...)
}

// get reads one row, or returns ErrNotFound. It also returns ErrNotFound for a key that
// the database rejects as text, such as one with a NUL character. No row has such a
// key, and clients may send one.
func (s *Store) get(ctx context.Context, dest any, query string, args ...any) error {
	err := s.look(ctx, query, func(q querier) error { return q.GetContext(ctx, dest, args...) })
	if p, ok := errors.AsType[*pq.Error](err); ok && p.Code == "22021" { // character_not_in_repertoire
		return ErrNotFound
	}
	return translate(err)
}

// all reads every row.
func (s *Store) all(ctx context.Context, dest any, query string, args ...any) error {
	return s.look(ctx, query, func(q querier) error { return q.SelectContext(ctx, dest, args...) })
}

// look runs a read, and repeats it if the connection breaks.
func (s *Store) look(ctx context.Context, query string, read func(querier) error) error {
	ctx, done := s.begin(ctx, query)
	err := retry(ctx, s.busyWait, func() error {
		q, err := s.querier(ctx, s.read, query)
		if err == nil {
			err = read(q)
		}
		return s.classify(err, true)
	})
	done(translate(err))
	return err
}

// exec runs one statement and returns the number of rows that it affected.
func (s *Store) exec(ctx context.Context, query string, args ...any) (int64, error) {
	return s.run(ctx, false, query, args)
}

// run is exec with a choice: repeatable means that the statement may run twice. That
// happens if a connection breaks and it is unknown whether the statement ran. (The
// driver itself repeats a statement if the server had closed the connection.)
//
// With events in the context, it is a transaction.
func (s *Store) run(ctx context.Context, repeatable bool, query string, args []any) (int64, error) {
	var n int64
	if len(eventsOf(ctx)) > 0 {
		err := s.atomically(ctx, func(t tx) error {
			var err error
			n, err = t.exec(query, args...)
			if n == 0 {
				t.unchanged()
			}
			return err
		})
		return n, err
	}
	ctx, done := s.begin(ctx, query)
	err := retry(ctx, s.busyWait, func() error {
		if s.embedded {
			return s.share(ctx, unit{func(t tx) error {
				var err error
				n, err = t.exec(query, args...)
				return err
			}, false, nil})
		}
		q, err := s.querier(ctx, s.write, query)
		if err == nil {
			n, err = affected(q.ExecContext(ctx, args...))
		}
		return s.classify(err, repeatable)
	})
	done(err)
	return n, err
}

// writeRow runs one statement that changes one row and returns it, or returns ErrNotFound.
// It is for SQLite.
func (s *Store) writeRow(ctx context.Context, dest any, query string, args ...any) error {
	ctx, done := s.begin(ctx, query)
	err := retry(ctx, s.busyWait, func() error {
		return s.share(ctx, unit{func(t tx) error { return t.write(dest, query, args...) }, false, nil})
	})
	done(err)
	return err
}

// writeRows runs one statement that changes rows and returns them. It is for PostgreSQL. The
// statement may run twice, as with run.
func (s *Store) writeRows(ctx context.Context, dest any, query string, args ...any) error {
	return retry(ctx, s.busyWait, func() error {
		q, err := s.querier(ctx, s.write, query)
		if err == nil {
			err = q.SelectContext(ctx, dest, args...)
		}
		return s.classify(err, true)
	})
}

// one runs a statement that must affect a row; otherwise it returns ErrNotFound.
func (s *Store) one(ctx context.Context, query string, args ...any) error {
	n, err := s.exec(ctx, query, args...)
	if err != nil {
		return err
	}
	if n == 0 {
		return ErrNotFound
	}
	return nil
}

func affected(r sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, translate(err)
	}
	return r.RowsAffected()
}
