package storage

import (
	"context"
	"net"
	"sync/atomic"
	"time"
)

// maxReadWait is the longest time that PostgreSQL may send nothing while a statement runs.
// lib/pq waits for an answer even after the request's context has ended. Without this
// limit, a network that drops all packets would block requests for ever.
const maxReadWait = 20 * time.Second

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
		if c.unhurried == nil || !c.unhurried.Load() {
			end = time.Now().Add(c.silence)
		}
		err := c.SetReadDeadline(end)
		if err != nil {
			return 0, err
		}
	}
	return c.Conn.Read(b)
}
