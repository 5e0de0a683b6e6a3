package storage

import (
	"context"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// maxReadWait is the longest time that PostgreSQL may send nothing while a statement runs.
// lib/pq waits for an answer even after the request's context has ended. Without this
// limit, a network that drops all packets would block requests for ever.
const maxReadWait = 20 * time.Second

// maxBatchWait is the longest time of a batch. It is longer than maxReadWait, so that a silent server is noticed as
// such, and left.
const maxBatchWait = maxReadWait + 5*time.Second

// dialer opens connections whose reads have a time limit. There is no limit while the
// schema is migrated, because a migration of a large table may take long.
type dialer struct {
	net.Dialer
	silence   time.Duration
	unhurried *atomic.Bool // true during a migration; nil: never
}

// Dial opens a connection.
func (d dialer) Dial(network, address string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, address)
}

// DialTimeout opens a connection within the timeout.
func (d dialer) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	ctx, stop := context.WithTimeout(context.Background(), timeout)
	defer stop()
	return d.DialContext(ctx, network, address)
}

// DialContext opens a connection, and limits the time of each of its reads.
func (d dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := d.Dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &readTimeoutConn{Conn: conn, silence: d.silence, unhurried: d.unhurried}, nil
}

// readTimeoutConn limits the time of each read to silence. A deadline that the caller has
// set itself replaces this limit: lib/pq sets one while it connects.
type readTimeoutConn struct {
	net.Conn
	silence   time.Duration
	unhurried *atomic.Bool
	own       bool
	givenUp   atomic.Bool
	patient   bool      // the present statement may take long
	used      time.Time // the last read
}

// giveUp makes the present read and all later ones fail.
func (c *readTimeoutConn) giveUp() {
	c.givenUp.Store(true)
	_ = c.SetReadDeadline(time.Unix(1, 0)) // only a connection that is closed already returns an error
}

// SetDeadline sets the caller's own deadline. The zero time restores the limit.
func (c *readTimeoutConn) SetDeadline(t time.Time) error {
	c.own = !t.IsZero()
	return c.Conn.SetDeadline(t)
}

// Read reads with the time limit.
func (c *readTimeoutConn) Read(b []byte) (int, error) {
	if !c.own {
		var end time.Time
		if !c.patient && (c.unhurried == nil || !c.unhurried.Load()) {
			end = time.Now().Add(c.silence)
		}
		err := c.SetReadDeadline(end)
		if err != nil {
			return 0, err
		}
	}
	if c.givenUp.Load() {
		return 0, os.ErrDeadlineExceeded
	}
	n, err := c.Conn.Read(b)
	c.used = time.Now()
	return n, err
}

// restedFor is for how long a connection may rest in the pool without a test of it.
const restedFor = time.Second

// closed reports whether the server has closed a connection that has rested, or has sent something that nobody asked
// for, which mostly is the reason for which it closes the connection.
func (c *readTimeoutConn) closed() bool {
	if time.Since(c.used) < restedFor {
		return false
	}
	c.used = time.Now()
	return ended(c.Conn)
}
