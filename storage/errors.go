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

// What a caller may branch on. Every other error means that the database
// failed, and says nothing about the record.
var (
	// ErrNotFound: there is no such record, or none that a new one names.
	ErrNotFound = errors.New("record not found")
	// ErrConflict: a record with that name is there already.
	ErrConflict = errors.New("record exists")
	// ErrSpent: a thing that works once has been used, or has ended meanwhile.
	ErrSpent = errors.New("already spent")
)

// translate turns the drivers' errors into ours, and leaves the rest.
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
	}
	if l, ok := errors.AsType[*sqlite.Error](err); ok {
		switch l.Code() {
		case sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY:
			return ErrConflict
		case sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY:
			return ErrNotFound
		}
	}
	return err
}

// errAgain marks work that came to nothing, or that may be done twice, where
// another connection may do it.
var errAgain = errors.New("to be tried again")

// transient says that the database undid the work and that doing it again is
// right: serialization failure (40001), deadlock (40P01), a busy file.
func transient(err error) bool {
	if errors.Is(err, errAgain) {
		return true
	}
	if p, ok := errors.AsType[*pq.Error](err); ok {
		return p.Code == "40001" || p.Code == "40P01"
	}
	if l, ok := errors.AsType[*sqlite.Error](err); ok {
		return l.Code()&0xff == sqlite3.SQLITE_BUSY
	}
	return false
}

// heed looks at what an error says of the connection that it came from. safe
// means that the work has not been done, or may be done twice.
func (s *Store) heed(err error, safe bool) error {
	if err == nil || s.embedded {
		return err
	}
	refused := readOnly(err)
	if refused || silent(err) {
		s.renew() // the others lead to the same server
	}
	if refused || safe && broken(err) {
		return fmt.Errorf("%w: %w", errAgain, err)
	}
	return err
}

// readOnly says that the server takes no writes any more: another one does now
// (read_only_sql_transaction).
func readOnly(err error) bool {
	p, ok := errors.AsType[*pq.Error](err)
	return ok && p.Code == "25006"
}

// silent says that the server has not answered in time.
func silent(err error) bool {
	o, ok := errors.AsType[*net.OpError](err)
	return ok && o.Timeout()
}

// broken says that a connection ended that was there. One that does not come
// about is no reason to try again at once, and neither is one that was silent.
func broken(err error) bool {
	o, ok := errors.AsType[*net.OpError](err)
	if ok {
		return o.Op != "dial" && !o.Timeout()
	}
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

const attempts = 5

// retry runs work again while it fails in a way that only another try mends.
func retry(ctx context.Context, work func() error) error {
	for try := 1; ; try++ {
		err := work()
		if try == attempts || !transient(err) {
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
