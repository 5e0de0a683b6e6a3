package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jmoiron/sqlx"
)

// tx is a transaction: what it did stands as a whole or not at all.
type tx struct {
	*sqlx.Tx
	store *Store
	ctx   context.Context
	left  *leftOver
	by    context.Context // of whoever asked for it, to tell of its statements
}

// leftOver is what is to be done once a transaction is over.
type leftOver struct {
	unknown []string // statements to prepare once the connection is free
	changes []Change // to be told to whoever keeps copies
}

// atomically runs work in one transaction, again where the database asks for it.
func (s *Store) atomically(ctx context.Context, work func(tx) error) error {
	ctx, done := s.begin(ctx, transaction)
	err := retry(ctx, func() error {
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
	return err
}

// alone runs work in a transaction of its own.
func (s *Store) alone(ctx context.Context, work func(tx) error) error {
	left := &leftOver{}
	committing, err := s.attempt(ctx, left, work)
	s.prepare(ctx, left.unknown)
	if err == nil {
		s.tell(left.changes)
	}
	// What was not to be committed yet has not happened, and may be done again.
	// What became of a commit whose answer is lost nobody knows.
	return s.heed(err, !committing)
}

// attempt says too whether it came to the commit.
func (s *Store) attempt(ctx context.Context, left *leftOver, work func(tx) error) (bool, error) {
	t, err := s.write.BeginTxx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer func() { _ = t.Rollback() }() // after a commit it does nothing
	err = work(tx{t, s, ctx, left, ctx})
	if err != nil {
		return false, err
	}
	return true, t.Commit()
}

// prepare readies for the next transaction what this one found unprepared. This
// one is over either way.
func (s *Store) prepare(ctx context.Context, queries []string) {
	if s.unprepared {
		return
	}
	for _, query := range queries {
		_, _ = s.statement(ctx, s.write, query)
	}
}

// unit is a piece of work that shares a transaction with others. Where it is
// more than one statement it may have to be undone by itself.
type unit struct {
	work   func(tx) error
	undone bool
	by     context.Context // as in tx; nil: its one statement is told of already
}

const savepoint = "unit"

var errPanicked = errors.New("the work of a transaction panicked")

// share has a unit run with others. A panic of its is its caller's.
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

// runTogether runs units in one transaction: SQLite has one writer, and one
// wait for the disk then serves them all. A unit that fails leaves nothing
// behind, and takes nobody with it.
func (s *Store) runTogether(units []unit) []error {
	outcomes := make([]error, len(units))
	// Not the callers' contexts: a statement that is interrupted takes the whole
	// transaction with it.
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

// runUnit gives what became of the unit, and an error of the transaction
// itself.
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
			return outcome, fmt.Errorf("undo one of several: %w", err)
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

// execute uses the prepared statement if there is one. It cannot prepare one
// here: with a single connection that would wait for this very transaction.
func (t tx) execute(query string, args ...any) (int64, error) {
	known, ok := t.store.prepared.Load(preparedKey{t.store.write, query})
	if !ok {
		if !slices.Contains(t.left.unknown, query) {
			t.left.unknown = append(t.left.unknown, query)
		}
		return affected(t.ExecContext(t.ctx, query, args...))
	}
	return affected(t.StmtxContext(t.ctx, known.(*sqlx.Stmt)).ExecContext(t.ctx, args...))
}

// spend runs a statement that must meet its row: else somebody was faster.
func (t tx) spend(query string, args ...any) error {
	return t.meets(ErrSpent, query, args...)
}

// one runs a statement that must meet a row, or gives ErrNotFound.
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

// texts runs a statement that gives a text for each row.
func (t tx) texts(query string, args ...any) ([]string, error) {
	var found []string
	_, done := t.store.begin(t.by, query)
	err := translate(t.SelectContext(t.ctx, &found, query, args...))
	done(err)
	return found, err
}
