package storage

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"time"

	"github.com/lib/pq"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// The errors that a caller may test for. Every other error means that the database
// failed. It says nothing about the record.
var (
	// ErrNotFound means that the record does not exist, or that a record to which a new
	// one refers does not exist.
	ErrNotFound = errors.New("record not found")
	// ErrConflict means that a record with this name exists already.
	ErrConflict = errors.New("the record exists already")
	// ErrSpent means that a one-time value was used already, or that the record has
	// ended or changed in the meantime.
	ErrSpent = errors.New("already used, ended or changed")
	// ErrRejected means that the database works, and does not accept a value.
	ErrRejected = errors.New("the database does not accept a value")
)

// translate replaces the drivers' errors by the errors of this package. It returns
// other errors unchanged.
func translate(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	if p, ok := errors.AsType[*pq.Error](err); ok {
		switch p.Code {
		case "23505": // unique_violation
			return ErrConflict
		case "23503": // foreign_key_violation
			return ErrNotFound
		}
		if p.Code.Class() == "22" { // data_exception
			return fmt.Errorf("%w: %w", ErrRejected, err)
		}
	}
	if l, ok := errors.AsType[*sqlite.Error](err); ok {
		switch l.Code() {
		case sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY:
			return ErrConflict
		case sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY:
			return ErrNotFound
		case sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_MISMATCH:
			return fmt.Errorf("%w: %w", ErrRejected, err)
		}
	}
	return err
}

// errAgain marks an error after which the work may run again on another connection:
// either the work had no effect, or it may safely run twice.
var errAgain = errors.New("the work must run again")

// attempts is how often work is tried before its error is returned. Overtaken work is tried more often, because each of
// its failures usually means that another transaction was committed meanwhile: as often as it has rivals.
const (
	attempts  = 5
	overtaken = 20
)

// tries is how often work is tried that fails with an error: more than once if the database has rolled the work back
// and a new attempt is useful, as after a serialization failure (40001), a deadlock (40P01) or a busy SQLite file.
func tries(err error) int {
	if errors.Is(err, errAgain) {
		return attempts
	}
	if p, ok := errors.AsType[*pq.Error](err); ok && (p.Code == "40001" || p.Code == "40P01") {
		return overtaken
	}
	if l, ok := errors.AsType[*sqlite.Error](err); ok && l.Code()&0xff == sqlite3.SQLITE_BUSY {
		return attempts
	}
	return 1
}

// classify examines whether an error concerns the connection. safe means that the work was
// not done, or may be done twice.
func (s *Store) classify(err error, safe bool) error {
	if err == nil || s.embedded {
		return err
	}
	refused := readOnly(err)
	if refused || silent(err) {
		s.renew() // the idle connections lead to the same server
	}
	if refused || safe && broken(err) {
		return fmt.Errorf("%w: %w", errAgain, err)
	}
	return err
}

// readOnly reports whether the server no longer accepts writes, because another server
// has become the primary (read_only_sql_transaction).
func readOnly(err error) bool {
	p, ok := errors.AsType[*pq.Error](err)
	return ok && p.Code == "25006"
}

// silent reports whether the server did not answer in time.
func silent(err error) bool {
	o, ok := errors.AsType[*net.OpError](err)
	return ok && o.Timeout()
}

// broken reports whether an established connection has ended. A connection that cannot
// be opened, or one that timed out, is no reason for an immediate retry.
func broken(err error) bool {
	o, ok := errors.AsType[*net.OpError](err)
	if ok {
		return o.Op != "dial" && !o.Timeout()
	}
	if errors.Is(err, errUnknown) {
		return !errors.Is(err, context.DeadlineExceeded)
	}
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// retry runs work again while it fails with a transient error. It does not begin another
// attempt if less time is left than one attempt may take, so that the caller gets the error
// before its deadline.
func retry(ctx context.Context, longest time.Duration, work func() error) error {
	for try := 1; ; try++ {
		err := work()
		if try >= tries(err) {
			return err
		}
		deadline, ok := ctx.Deadline()
		if ok && time.Until(deadline) < longest {
			return err
		}
		pause := time.NewTimer(time.Duration(try) * time.Duration(5+rand.IntN(20)) * time.Millisecond)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return err
		}
	}
}
