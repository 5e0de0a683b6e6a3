package storage

import (
	"context"
	"net"
	"sync/atomic"
	"time"
)

// silence is how long PostgreSQL may leave a statement without a word. lib/pq
// waits for an answer also when the request's context has ended: without this
// a network that swallows everything would hold requests for ever.
const silence = 20 * time.Second

// dialer opens connections whose reads end, but while the schema is migrated:
// a step over a large table takes what it takes.
type dialer struct {
	net.Dialer
	silence   time.Duration
	unhurried *atomic.Bool // nil: never
}

func (d dialer) Dial(network, address string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, address)
}

func (d dialer) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	ctx, stop := context.WithTimeout(context.Background(), timeout)
	defer stop()
	return d.DialContext(ctx, network, address)
}

func (d dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := d.Dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &patientConn{Conn: conn, silence: d.silence, unhurried: d.unhurried}, nil
}

// patientConn waits for each answer for so long and no longer. Whoever sets a
// deadline of their own, as lib/pq does while it connects, has that one.
type patientConn struct {
	net.Conn
	silence   time.Duration
	unhurried *atomic.Bool
	own       bool
}

func (c *patientConn) SetDeadline(t time.Time) error {
	c.own = !t.IsZero()
	return c.Conn.SetDeadline(t)
}

func (c *patientConn) Read(b []byte) (int, error) {
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
