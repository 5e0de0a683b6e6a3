package storage

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
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

// transient says that the database undid the work and that doing it again is
// right: serialization failure (40001), deadlock (40P01), a busy file.
func transient(err error) bool {
	if p, ok := errors.AsType[*pq.Error](err); ok {
		return p.Code == "40001" || p.Code == "40P01"
	}
	if l, ok := errors.AsType[*sqlite.Error](err); ok {
		return l.Code()&0xff == sqlite3.SQLITE_BUSY
	}
	return false
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
