package storage

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/lib/pq"
)

// ErrDeaf: this database has no way by which nodes could tell each other.
var ErrDeaf = errors.New("the database has no LISTEN and NOTIFY")

// errUnheard: what a node said to itself did not come back.
var errUnheard = errors.New("LISTEN is taken, but nothing is heard: does DATABASE_URL lead through a pooler that gives each transaction another connection?")

// errLeft: the writes have left for another server, perhaps, and with them what is
// said.
var errLeft = errors.New("the connections to the database are renewed")

const (
	// A listening connection is asked so often whether it is there, and has so
	// long to answer: one that died without a word says nothing by itself.
	askEvery  = 500 * time.Millisecond
	answersIn = 3 * time.Second
	// echoIn is how long a node's own word may take to come back to it.
	echoIn = 2 * time.Second
)

// unsupported says that a database which speaks PostgreSQL's protocol does not
// know what was asked of it: feature_not_supported, syntax_error,
// undefined_function.
func unsupported(err error) bool {
	p, ok := errors.AsType[*pq.Error](err)
	return ok && (p.Code == "0A000" || p.Code == "42601" || p.Code == "42883")
}

// listening is one connection that listens to PostgreSQL.
type listening struct {
	*Store
	listener *pq.Listener
	heard    func(time.Time)
	listens  chan error // once, when it does
	lost     chan error
	late     *time.Timer
	echo     string // what this node has said to itself
	proven   bool   // it has come back
	asking   bool
	renewed  int64          // the pool, until it began
	answers  chan time.Time // when it was asked
}

// hear listens until ctx ends or the connection does.
func (s *Store) hear(ctx context.Context, heard func(time.Time)) error {
	l := &listening{Store: s, heard: heard, listens: make(chan error, 1), lost: make(chan error, 1), answers: make(chan time.Time, 1), late: time.NewTimer(time.Hour), renewed: s.renewed.Load()}
	l.listener = pq.NewDialListener(dialer{silence: answersIn}, s.url, time.Second, time.Second, func(_ pq.ListenerEventType, err error) {
		if err == nil {
			return
		}
		select {
		case l.lost <- err:
		default: // the first reason is enough
		}
	})
	defer func() { go l.listener.Close() }() // which may wait for a server that is silent
	go func() { l.listens <- l.listener.Listen(channel) }()
	beat := time.NewTicker(askEvery)
	defer beat.Stop()
	for {
		err := l.next(ctx, beat.C)
		switch {
		case ctx.Err() != nil:
			return nil
		case unsupported(err):
			return fmt.Errorf("%w: %w", ErrDeaf, err)
		case err != nil:
			return fmt.Errorf("listen for changes: %w", err)
		}
	}
}

// next waits for whatever comes first. Its error ends the listening.
func (l *listening) next(ctx context.Context, beat <-chan time.Time) error {
	select {
	case <-ctx.Done():
	case err := <-l.lost:
		return err
	case err := <-l.listens:
		if err != nil {
			return err
		}
		return l.call(ctx)
	case <-l.late.C:
		return errUnheard
	case n := <-l.listener.Notify:
		l.take(n)
	case asked := <-l.answers:
		// What was said before has come before the answer.
		l.asking = false
		if !asked.IsZero() {
			l.heard(asked)
		}
	case <-beat:
		if l.Store.renewed.Load() != l.renewed {
			return errLeft
		}
		l.ask()
	}
	return nil
}

// call has the node say something to itself, by the way that changes go: a
// pooler may take LISTEN and forget it.
func (l *listening) call(ctx context.Context) error {
	l.echo = encodeChanges([]Change{{ofNothing, rand.Text()}})
	l.late.Reset(echoIn)
	ctx, stop := context.WithTimeout(ctx, echoIn)
	defer stop()
	_, err := l.exec(ctx, notify, channel, l.echo)
	return err
}

// take passes on what was said.
func (l *listening) take(n *pq.Notification) {
	switch {
	case n == nil: // the connection is lost, which is told elsewhere
	case n.Extra == l.echo:
		l.late.Stop()
		l.tell([]Change{{OfAll, ""}}) // nobody told of what was before
		l.proven = true
		l.ask()
	default:
		l.tell(decodeChanges(n.Extra))
	}
}

// ask sends something to which there is an answer; where there is none, the
// connection ends by its silence.
func (l *listening) ask() {
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
