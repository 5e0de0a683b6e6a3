package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/lib/pq"
)

// ErrPooler means that the database is behind a pooler that gives each transaction another connection.
var ErrPooler = errors.New("DATABASE_URL leads to a pooler that gives each transaction another connection " +
	"(PgBouncer: pool_mode = transaction), " +
	"so that a prepared statement of one request would run in another: add binary_parameters=yes to DATABASE_URL, and " +
	"set DATABASE_LISTEN_URL to the address of the database itself")

// crossings is how often two connections are compared. A pooler may use its connections in turn.
const crossings = 3

// checkPooler returns ErrPooler if prepared statements of two connections meet. A pooler that keeps them apart, such as
// PgBouncer since 1.21 with max_prepared_statements, is no fault. It opens connections of its own, because the
// limit of the pool may be one.
func checkPooler(ctx context.Context, connector durableConnector) error {
	db := sql.OpenDB(connector)
	defer db.Close()
	first, err := db.Conn(ctx)
	if err != nil {
		return nil // the caller learns that the database does not answer
	}
	defer first.Close()
	second, err := db.Conn(ctx)
	if err != nil {
		return nil // the limit of connections of this account may be one
	}
	defer second.Close()
	shared, err := shareSession(ctx, first, second)
	if err != nil {
		if unsupported(err) {
			return nil // another database
		}
		return fmt.Errorf("examine the connections: %w", err)
	}
	if !shared {
		return nil
	}
	return keepApart(ctx, first, second)
}

// shareSession reports whether two connections, both of which are open, are the same one of the database, or one of
// them is now this one and then that one.
func shareSession(ctx context.Context, first, second *sql.Conn) (bool, error) {
	seen := map[int]*sql.Conn{}
	for range crossings {
		for _, c := range []*sql.Conn{first, second, second} {
			var process int
			err := c.QueryRowContext(ctx, `SELECT pg_backend_pid()`).Scan(&process)
			if err != nil {
				return false, err
			}
			if seen[process] == nil {
				seen[process] = c
			}
			if seen[process] != c || len(seen) > 2 {
				return true, nil
			}
		}
	}
	return false, nil
}

// keepApart returns ErrPooler if two connections that each prepare a statement of their own do not both get their own
// answer.
func keepApart(ctx context.Context, first, second *sql.Conn) error {
	var prepared []*sql.Stmt
	for _, own := range []struct {
		conn  *sql.Conn
		query string
	}{{first, `SELECT 'first'`}, {second, `SELECT 'second'`}} {
		one, err := own.conn.PrepareContext(ctx, own.query)
		if err != nil {
			return refusePooler(err)
		}
		prepared = append(prepared, one)
	}
	for range crossings {
		for i, want := range []string{"first", "second"} {
			var got string
			err := prepared[i].QueryRowContext(ctx).Scan(&got)
			if err != nil {
				return refusePooler(err)
			}
			if got != want {
				return ErrPooler
			}
		}
	}
	return nil
}

// refusePooler returns ErrPooler for an answer of the database, and otherwise the error.
func refusePooler(err error) error {
	if _, ok := errors.AsType[*pq.Error](err); ok {
		return fmt.Errorf("%w (%w)", ErrPooler, err)
	}
	return err
}
