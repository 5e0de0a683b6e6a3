package storage

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"

	"github.com/lib/pq"
)

// errUnknown means that nobody knows whether a change is durable: PostgreSQL may have stored it, or stored it only on
// a primary that can still be lost. The client must not be told that it happened.
var errUnknown = errors.New("it is unknown whether the database has stored the change")

// durableConnector opens connections on which a success means that the change is durable.
//
// With synchronous replication PostgreSQL waits in the commit for its standby. A cancel request ends that wait, and
// PostgreSQL then reports a success with a warning (its documentation, section 27.2.8.3). The driver sends a cancel
// request when a context ends, and hides the warning. database/sql repeats a statement whose connection has ended,
// and the repetition of a change that is stored already writes nothing and does not wait. So these connections never
// cancel a statement, take the warning for an unknown outcome, and report a connection that has ended as such.
type durableConnector struct {
	address   string
	unhurried *atomic.Bool
}

// Driver returns the driver of PostgreSQL.
func (d durableConnector) Driver() driver.Driver { return &pq.Driver{} }

// Connect opens a connection.
func (d durableConnector) Connect(ctx context.Context) (driver.Conn, error) {
	connector, err := pq.NewConnector(d.address)
	if err != nil {
		return nil, err
	}
	wires := &wireDialer{dialer: dialer{silence: maxReadWait, unhurried: d.unhurried}}
	connector.Dialer(wires)
	inner, err := connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	c := &durableConn{pqConn: inner.(pqConn), wire: wires.wire}
	pq.SetNoticeHandler(inner, c.notice)
	return c, nil
}

// pqConn is what a connection of the driver can do.
type pqConn interface {
	driver.Conn
	driver.ExecerContext
	driver.QueryerContext
	driver.ConnPrepareContext
	driver.ConnBeginTx
	driver.Pinger
	driver.NamedValueChecker
	driver.SessionResetter
	driver.Validator
}

// durableConn is a connection. database/sql uses it in one goroutine at a time.
type durableConn struct {
	pqConn
	wire   *readTimeoutConn
	within bool // a transaction is open, so that a statement commits nothing
	doubt  bool // the server did not wait for its standby
	dead   bool
}

// notice is called for each notice of the server. The text is translated, but the name of the function in PostgreSQL
// that sends it is not.
func (c *durableConn) notice(n *pq.Error) {
	if n.Routine == "SyncRepWaitForLSN" {
		c.doubt = true
	}
}

// commits reports whether a statement commits when it ends. Every read of this package begins with SELECT.
func (c *durableConn) commits(query string) bool {
	query = strings.TrimSpace(query)
	return !c.within && (len(query) < len("SELECT") || !strings.EqualFold(query[:len("SELECT")], "SELECT"))
}

// guard prepares a call of the driver. It returns the context for the call, and a function that turns the error of the
// call into that of the statement. When the time of the request ends, the connection is given up without a cancel
// request: the caller gets an error at once, even if the server is silent. If only the client has gone, the statement
// goes on to its end: a request to cancel it costs a connection more, and the driver a goroutine for each statement.
func (c *durableConn) guard(ctx context.Context, commits bool) (context.Context, func(error) error) {
	c.doubt = false
	stop := func() bool { return true }
	if ctx.Done() != nil {
		stop = context.AfterFunc(ctx, func() {
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				c.wire.giveUp()
			}
		})
	}
	return context.WithoutCancel(ctx), func(err error) error { return c.outcome(ctx, commits, stop(), err) }
}

// outcome returns the error of a statement. Nothing is believed after the end of its time.
func (c *durableConn) outcome(ctx context.Context, commits, inTime bool, err error) error {
	if !inTime && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		c.dead = true
		if !commits {
			return ctx.Err()
		}
		return fmt.Errorf("%w: %w", errUnknown, ctx.Err())
	}
	switch {
	case !commits || err == nil && !c.doubt || err == io.EOF && !c.doubt:
		return err
	case err == nil, err == io.EOF:
		return fmt.Errorf("%w: PostgreSQL did not wait for its standby", errUnknown)
	case errors.Is(err, driver.ErrBadConn): // database/sql would repeat the statement
		c.dead = true
		return fmt.Errorf("%w: %w", errUnknown, io.ErrUnexpectedEOF)
	}
	return err
}

// ExecContext runs a statement.
func (c *durableConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	inner, outcome := c.guard(ctx, c.commits(query))
	c.wire.patient = strings.HasPrefix(query, "VACUUM") // of a large table takes minutes, in which the server says nothing
	r, err := c.pqConn.ExecContext(inner, query, args)
	c.wire.patient = false
	return r, outcome(err)
}

// QueryContext runs a statement that returns rows.
func (c *durableConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	inner, outcome := c.guard(ctx, c.commits(query))
	r, err := c.pqConn.QueryContext(inner, query, args)
	return guardRows(r, err, outcome)
}

// PrepareContext prepares a statement.
func (c *durableConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	inner, outcome := c.guard(ctx, false)
	s, err := c.pqConn.PrepareContext(inner, query)
	err = outcome(err)
	if err != nil {
		return nil, err
	}
	return &durableStmt{s.(pqStmt), c, query}, nil
}

// BeginTx begins a transaction. The driver's own context would cancel the commit.
func (c *durableConn) BeginTx(ctx context.Context, options driver.TxOptions) (driver.Tx, error) {
	inner, outcome := c.guard(ctx, false)
	t, err := c.pqConn.BeginTx(inner, options)
	err = outcome(err)
	if err != nil {
		return nil, err
	}
	c.within = true
	return durableTx{t, c, ctx}, nil
}

// Ping asks for an answer of the server.
func (c *durableConn) Ping(ctx context.Context) error {
	inner, outcome := c.guard(ctx, false)
	return outcome(c.pqConn.Ping(inner))
}

// ResetSession is called before a connection of the pool is used again. A connection that the server has closed in the
// meantime is found here, where the statement can still have another one.
func (c *durableConn) ResetSession(ctx context.Context) error {
	if c.dead || c.wire.closed() {
		c.dead = true
		return driver.ErrBadConn
	}
	return c.pqConn.ResetSession(ctx)
}

// IsValid reports whether the connection can be used again.
func (c *durableConn) IsValid() bool { return !c.dead && c.pqConn.IsValid() }

// pqStmt is what a prepared statement of the driver can do.
type pqStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

type durableStmt struct {
	pqStmt
	conn  *durableConn
	query string
}

// ExecContext runs the statement.
func (s *durableStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	inner, outcome := s.conn.guard(ctx, s.conn.commits(s.query))
	r, err := s.pqStmt.ExecContext(inner, args)
	return r, outcome(err)
}

// QueryContext runs a statement that returns rows.
func (s *durableStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	inner, outcome := s.conn.guard(ctx, s.conn.commits(s.query))
	r, err := s.pqStmt.QueryContext(inner, args)
	return guardRows(r, err, outcome)
}

// durableRows are the rows of a statement. It ends, and commits, when they have been read.
type durableRows struct {
	driver.Rows
	outcome func(error) error // nil: the statement has ended
}

func guardRows(r driver.Rows, err error, outcome func(error) error) (driver.Rows, error) {
	if err != nil {
		return nil, outcome(err)
	}
	return &durableRows{r, outcome}, nil
}

// Next reads a row. io.EOF means that the statement has ended.
func (r *durableRows) Next(dest []driver.Value) error {
	err := r.Rows.Next(dest)
	if err == nil {
		return nil
	}
	return r.end(err)
}

// Close reads what is left.
func (r *durableRows) Close() error { return r.end(r.Rows.Close()) }

func (r *durableRows) end(err error) error {
	if r.outcome == nil {
		return err
	}
	outcome := r.outcome
	r.outcome = nil
	return outcome(err)
}

type durableTx struct {
	driver.Tx
	conn *durableConn
	ctx  context.Context
}

// Commit commits.
func (t durableTx) Commit() error {
	t.conn.within = false
	_, outcome := t.conn.guard(t.ctx, true)
	return outcome(t.Tx.Commit())
}

// Rollback undoes the transaction.
func (t durableTx) Rollback() error {
	t.conn.within = false
	return t.Tx.Rollback()
}

// wireDialer opens the connection of one durableConn and keeps it.
type wireDialer struct {
	dialer
	wire *readTimeoutConn
}

// DialContext opens a connection.
func (d *wireDialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := d.dialer.DialContext(ctx, network, address)
	if err == nil {
		d.wire = conn.(*readTimeoutConn)
	}
	return conn, err
}
