package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jmoiron/sqlx"
)

// tx is a transaction: all of its changes are stored, or none.
type tx struct {
	*sqlx.Tx
	store *Store
	ctx   context.Context
	left  *afterCommit
	by    context.Context // the caller's context, for tracing

	events *[]Event // to store at the end; only within atomically
}

// afterCommit is the work that follows the end of a transaction.
type afterCommit struct {
	unknown []string // statements to prepare once the connection is free
	changes []Change // changes to report to caches
}

// atomically runs work in one transaction, and again if the database requires it.
//
// The events of the context are stored in it.
func (s *Store) atomically(ctx context.Context, work func(tx) error) error {
	var events []Event
	work = recording(ctx, &events, work)
	ctx, done := s.begin(ctx, transaction)
	err := retry(ctx, s.busyWait, func() error {
		if s.embedded {
			return s.share(ctx, unit{work, true, ctx})
		}
		return s.alone(ctx, func(t tx) error {
			err := work(t)
			if err != nil {
				return err
			}
			return t.announce()
		})
	})
	done(err)
	if err == nil {
		s.tellEvents(events)
	}
	return err
}

// alone runs work in its own transaction.
func (s *Store) alone(ctx context.Context, work func(tx) error) error {
	left := &afterCommit{}
	committing, err := s.attempt(ctx, left, work)
	s.prepare(ctx, left.unknown)
	if err == nil {
		s.tell(left.changes)
	}
	// Before the commit, nothing has happened, so the work may run again. If the answer
	// to a commit is lost, it is unknown whether the commit happened.
	return s.classify(err, !committing)
}

// attempt runs work and commits. The first result reports whether it reached the
// commit.
func (s *Store) attempt(ctx context.Context, left *afterCommit, work func(tx) error) (bool, error) {
	t, err := s.write.BeginTxx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer func() { _ = t.Rollback() }() // after a commit it does nothing
	err = work(tx{Tx: t, store: s, ctx: ctx, left: left, by: ctx})
	if err != nil {
		return false, err
	}
	return true, t.Commit()
}

// prepare prepares, for later transactions, the statements that this one ran
// unprepared. This transaction has ended already, so errors do not matter.
func (s *Store) prepare(ctx context.Context, queries []string) {
	if s.noPreparedStatements {
		return
	}
	for _, query := range queries {
		_, _ = s.statement(ctx, s.write, query)
	}
}

// unit is work that shares a transaction with other units. undone means that the unit
// may have to be rolled back alone, because it is more than one statement.
type unit struct {
	work   func(tx) error
	undone bool
	by     context.Context // as in tx; nil: its single statement is traced already
}

const savepoint = "unit"

var errPanicked = errors.New("panic in a transaction")

// share runs a unit together with others. A panic of the unit reaches only its caller.
func (s *Store) share(ctx context.Context, u unit) error {
	var cause any
	work := u.work
	u.work = func(t tx) (err error) {
		defer func() {
			cause = recover()
			if cause != nil {
				err = errPanicked
			}
		}()
		return work(t)
	}
	err := s.together.do(ctx, u)
	if errors.Is(err, errPanicked) {
		panic(cause)
	}
	return err
}

// runTogether runs units in one transaction. SQLite has one writer, so the units share
// one wait for the disk. A unit that fails stores nothing and does not affect the
// others.
func (s *Store) runTogether(units []unit) []error {
	outcomes := make([]error, len(units))
	// The callers' contexts are not used: an interrupted statement would roll back the
	// whole transaction.
	err := s.alone(context.Background(), func(t tx) error {
		for i, u := range units {
			var broken error
			outcomes[i], broken = t.runUnit(u, len(units) == 1)
			if broken != nil {
				return broken
			}
		}
		if len(units) == 1 {
			return outcomes[0]
		}
		return nil
	})
	if err != nil {
		return slices.Repeat([]error{err}, len(units))
	}
	return outcomes
}

// runUnit returns the error of the unit, and separately an error of the transaction.
func (t tx) runUnit(u unit, only bool) (outcome, broken error) {
	guarded := u.undone && !only
	if guarded {
		_, err := t.exec(`SAVEPOINT ` + savepoint)
		if err != nil {
			return nil, err
		}
	}
	before := len(t.left.changes)
	if u.by != nil {
		t.by = u.by
	}
	outcome = u.work(t)
	if outcome == nil {
		outcome = t.announce()
	}
	if outcome != nil {
		t.left.changes = t.left.changes[:before]
	}
	if !guarded {
		return outcome, nil
	}
	if outcome != nil {
		_, err := t.exec(`ROLLBACK TO ` + savepoint)
		if err != nil {
			return outcome, fmt.Errorf("roll back to the savepoint: %w", err)
		}
	}
	_, err := t.exec(`RELEASE ` + savepoint)
	return outcome, err
}

func (t tx) exec(query string, args ...any) (int64, error) {
	_, done := t.store.begin(t.by, query)
	n, err := t.execute(query, args...)
	done(err)
	return n, err
}

// execute uses the prepared statement if there is one. It cannot prepare one now:
// SQLite has a single connection for writes, and this transaction holds it.
func (t tx) execute(query string, args ...any) (int64, error) {
	known, ok := t.store.prepared.Load(preparedKey{t.store.write, query})
	if !ok {
		t.remember(query)
		return affected(t.ExecContext(t.ctx, query, args...))
	}
	return affected(t.StmtxContext(t.ctx, known.(*sqlx.Stmt)).ExecContext(t.ctx, args...))
}

// write runs a statement that changes one row and returns it, or returns ErrNotFound.
func (t tx) write(dest any, query string, args ...any) error {
	_, done := t.store.begin(t.by, query)
	known, ok := t.store.prepared.Load(preparedKey{t.store.write, query})
	var err error
	if ok {
		err = t.StmtxContext(t.ctx, known.(*sqlx.Stmt)).GetContext(t.ctx, dest, args...)
	} else {
		t.remember(query)
		err = t.GetContext(t.ctx, dest, query, args...)
	}
	err = translate(err)
	done(err)
	return err
}

// remember notes a statement that is to be prepared after the transaction.
func (t tx) remember(query string) {
	if !slices.Contains(t.left.unknown, query) {
		t.left.unknown = append(t.left.unknown, query)
	}
}

// spend runs a statement that must affect a row; otherwise it returns ErrSpent, because
// another transaction was faster.
func (t tx) spend(query string, args ...any) error {
	return t.meets(ErrSpent, query, args...)
}

// one runs a statement that must affect a row; otherwise it returns ErrNotFound.
func (t tx) one(query string, args ...any) error {
	return t.meets(ErrNotFound, query, args...)
}

func (t tx) meets(otherwise error, query string, args ...any) error {
	n, err := t.exec(query, args...)
	if err == nil && n == 0 {
		err = otherwise
	}
	return err
}

func (t tx) get(dest any, query string, args ...any) error {
	_, done := t.store.begin(t.by, query)
	err := translate(t.GetContext(t.ctx, dest, query, args...))
	done(err)
	return err
}

// texts runs a statement that returns one text column, and collects its values.
func (t tx) texts(query string, args ...any) ([]string, error) {
	var found []string
	_, done := t.store.begin(t.by, query)
	err := translate(t.SelectContext(t.ctx, &found, query, args...))
	done(err)
	return found, err
}
