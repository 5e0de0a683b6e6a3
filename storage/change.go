package storage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Change names a record that is no longer what it was, to whoever keeps a copy:
// this process at once, other nodes through PostgreSQL.
type Change struct{ Kind, ID string }

// The kinds of record that copies are kept of, or depend on.
const (
	OfApplication = "application"
	OfUser        = "user"
	OfSession     = "session"
	OfGrant       = "grant"
	OfToken       = "token"
	OfKeys        = "keys"
	OfAll         = "all" // nobody knows what

	ofNothing = "hello" // by which a node hears itself
)

// channel is PostgreSQL's name of the way by which nodes tell each other.
const channel = "mandate"

// OnChange sets who is told, before the store is used by more than one
// goroutine.
func (s *Store) OnChange(told func([]Change)) { s.told = told }

func (s *Store) tell(changes []Change) {
	if s.told != nil && len(changes) > 0 {
		s.told(changes)
	}
}

// changed notes what a transaction changes.
func (t tx) changed(kind, id string) {
	t.left.changes = append(t.left.changes, Change{kind, id})
}

// announce tells other processes, as part of the transaction: they hear of it
// when it is committed, and only then. In an embedded database a number is
// counted up, at which the server looks.
func (t tx) announce() error {
	switch {
	case len(t.left.changes) == 0:
		return nil
	case t.store.embedded:
		t.store.announced.Store(true)
		_, err := t.exec(`INSERT INTO settings (name, value) VALUES ('changes', '1')
			ON CONFLICT (name) DO UPDATE SET value = CAST(CAST(settings.value AS BIGINT) + 1 AS TEXT)`)
		return err
	}
	if t.store.mute.Load() {
		return nil
	}
	_, err := t.exec(notify, channel, encodeChanges(t.left.changes))
	if unsupported(err) {
		// The transaction has failed with it, and is run again without.
		t.store.mute.Store(true)
		return fmt.Errorf("%w: %w", errAgain, err)
	}
	return err
}

const notify = `SELECT pg_notify($1, $2)`

// PostgreSQL carries 8000 bytes.
const maxPayload = 7000

func encodeChanges(changes []Change) string {
	var parts []string
	length := 0
	for _, c := range changes {
		part := c.Kind + " " + c.ID
		length += len(part) + 1
		parts = append(parts, part)
	}
	if length > maxPayload {
		return OfAll + " "
	}
	return strings.Join(parts, "\n")
}

func decodeChanges(payload string) []Change {
	var changes []Change
	for line := range strings.SplitSeq(payload, "\n") {
		kind, id, _ := strings.Cut(line, " ")
		changes = append(changes, Change{kind, id})
	}
	return changes
}

// lookEvery is how often an embedded database is asked whether the command line
// has changed something.
const lookEvery = 20 * time.Millisecond

// Listen passes on what other processes have changed until ctx ends, or the way
// to them is lost: what was changed before it is there again is unknown then.
// heard is told the times up to which nothing can be missing.
func (s *Store) Listen(ctx context.Context, heard func(time.Time)) error {
	if s.embedded {
		return s.watch(ctx, heard)
	}
	return s.hear(ctx, heard)
}

// watch looks at the number that the command line counts up.
func (s *Store) watch(ctx context.Context, heard func(time.Time)) error {
	s.watches.Store(true)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	seen := "unknown"
	for {
		asked := time.Now()
		now, err := s.Setting(ctx, "changes")
		if err != nil && !errors.Is(err, ErrNotFound) {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("look for changes: %w", err)
		}
		if now != seen {
			seen = now
			s.tell([]Change{{OfAll, ""}})
		}
		heard(asked)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
