package storage

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/lib/pq"
)

// ErrNoListen means that the database does not support notifications between nodes.
var ErrNoListen = errors.New("the database does not support LISTEN and NOTIFY")

// errNoEcho means that a node did not receive its own test notification.
var errNoEcho = errors.New("the database accepted LISTEN, but the test notification did not arrive: if DATABASE_URL " +
	"leads to a pooler, set DATABASE_LISTEN_URL to the address of the database itself")

// errConnectionsRenewed means that the connections for writes were renewed. Writes, and with them the
// notifications, may now go to another server.
var errConnectionsRenewed = errors.New("the connections to the database were renewed")

const (
	// The listener sends a ping at this interval, and waits this long for the answer.
	// Otherwise it would not detect a connection that broke without an error.
	askEvery  = 500 * time.Millisecond
	answersIn = 3 * time.Second
	// echoIn is the time limit for a node's own test notification to arrive.
	echoIn = 2 * time.Second
)

// unsupported reports whether the database does not support the statement. Some
// databases use PostgreSQL's protocol but lack some of its functions:
// feature_not_supported, syntax_error, undefined_function.
func unsupported(err error) bool {
	p, ok := errors.AsType[*pq.Error](err)
	return ok && (p.Code == "0A000" || p.Code == "42601" || p.Code == "42883")
}

// listening is one connection that receives notifications from PostgreSQL.
type listening struct {
	*Store
	listener *pq.Listener
	received func(time.Time)
	listens  chan error // receives the result of LISTEN, once
	lost     chan error
	late     *time.Timer
	echo     string // the test notification of this node
	proven   bool   // the test notification has arrived
	asking   bool
	renewed  int64          // Store.renewed when the listening began
	answers  chan time.Time // the time of the ping that was answered; zero: it failed
}

// receive receives notifications until ctx ends or the connection is lost.
func (s *Store) receive(ctx context.Context, received func(time.Time)) error {
	l := &listening{Store: s, received: received, listens: make(chan error, 1), lost: make(chan error, 1),
		answers: make(chan time.Time, 1), late: time.NewTimer(time.Hour), renewed: s.renewed.Load()}
	l.listener = pq.NewDialListener(dialer{silence: answersIn}, s.url, time.Second, time.Second,
		func(_ pq.ListenerEventType, err error) {
			if err == nil {
				return
			}
			select {
			case l.lost <- err:
			default: // the first error is enough
			}
		})
	defer func() { go l.listener.Close() }() // Close may wait for a server that does not answer
	go func() { l.listens <- l.listener.Listen(channel) }()
	beat := time.NewTicker(askEvery)
	defer beat.Stop()
	for {
		err := l.next(ctx, beat.C)
		switch {
		case ctx.Err() != nil:
			return nil
		case unsupported(err):
			return fmt.Errorf("%w: %w", ErrNoListen, err)
		case err != nil:
			return fmt.Errorf("listen for changes: %w", err)
		}
	}
}

// next waits for the next event. An error ends the listening.
func (l *listening) next(ctx context.Context, beat <-chan time.Time) error {
	select {
	case <-ctx.Done():
	case err := <-l.lost:
		return err
	case err := <-l.listens:
		if err != nil {
			return err
		}
		return l.sendEcho(ctx)
	case <-l.late.C:
		return errNoEcho
	case n := <-l.listener.Notify:
		l.handle(n)
	case asked := <-l.answers:
		// All notifications that were sent before the ping have arrived before its
		// answer.
		l.asking = false
		if !asked.IsZero() {
			l.received(asked)
		}
	case <-beat:
		if l.Store.renewed.Load() != l.renewed {
			return errConnectionsRenewed
		}
		l.ping()
	}
	return nil
}

// sendEcho sends a test notification from the node to itself, on the same way as changes. A
// pooler may accept LISTEN and not forward notifications.
func (l *listening) sendEcho(ctx context.Context) error {
	l.echo = encodeChanges([]Change{{ofNothing, rand.Text()}})
	l.late.Reset(echoIn)
	ctx, stop := context.WithTimeout(ctx, echoIn)
	defer stop()
	_, err := l.exec(ctx, notifyOnly, channel, l.echo)
	return err
}

// handle processes a notification.
func (l *listening) handle(n *pq.Notification) {
	switch {
	case n == nil: // the connection is lost; l.lost receives the error
	case n.Extra == l.echo:
		l.late.Stop()
		l.tell([]Change{{OfAll, ""}}) // changes before this moment are unknown
		l.proven = true
		l.ping()
	default:
		l.tell(decodeChanges(n.Extra))
	}
}

// ping sends a ping. If no answer arrives, the time limit of the connection ends it.
func (l *listening) ping() {
	if l.asking || !l.proven {
		return
	}
	l.asking = true
	asked := time.Now()
	go func() {
		defer func() {
			if recover() != nil { // the driver panics where the answer is an error
				asked = time.Time{}
			}
			l.answers <- asked
		}()
		if l.listener.Ping() != nil {
			asked = time.Time{}
		}
	}()
}
