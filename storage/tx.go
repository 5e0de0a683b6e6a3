package storage

import (
	"context"

	"github.com/jmoiron/sqlx"
)

// tx is a transaction: what it did stands as a whole or not at all.
type tx struct {
	*sqlx.Tx
	store   *Store
	ctx     context.Context
	unknown *[]string // statements to prepare once the connection is free
}

// atomically runs work in one transaction, again where the database asks for it.
func (s *Store) atomically(ctx context.Context, work func(tx) error) error {
	return retry(ctx, func() error {
		t, err := s.write.BeginTxx(ctx, nil)
		if err != nil {
			return err
		}
		defer t.Rollback() // after a commit it does nothing
		var unknown []string
		err = work(tx{t, s, ctx, &unknown})
		if err != nil {
			return err
		}
		err = t.Commit()
		for _, query := range unknown {
			// It serves the next transaction; this one is over either way.
			_, _ = s.statement(ctx, s.write, query)
		}
		return err
	})
}

// exec uses the prepared statement if there is one. It cannot prepare one
// here: with a single connection that would wait for this very transaction.
func (t tx) exec(query string, args ...any) (int64, error) {
	known, ok := t.store.prepared.Load(preparedKey{t.store.write, query})
	if !ok {
		*t.unknown = append(*t.unknown, query)
		return affected(t.ExecContext(t.ctx, query, args...))
	}
	return affected(t.StmtxContext(t.ctx, known.(*sqlx.Stmt)).ExecContext(t.ctx, args...))
}

// spend runs a statement that must meet its row: else somebody was faster.
func (t tx) spend(query string, args ...any) error {
	n, err := t.exec(query, args...)
	if err != nil {
		return err
	}
	if n == 0 {
		return ErrSpent
	}
	return nil
}

func (t tx) get(dest any, query string, args ...any) error {
	return translate(t.GetContext(t.ctx, dest, query, args...))
}
