package storage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Change names a record that has changed or is gone. Every cache that holds a copy of
// the record receives it: caches in this process directly, other nodes through
// PostgreSQL.
type Change struct{ Kind, ID string }

// The kinds of record that are cached, or that cached records depend on.
const (
	OfApplication = "application"
	OfUser        = "user"
	OfSession     = "session"
	OfGrant       = "grant"
	OfToken       = "token"
	OfKeys        = "keys"
	OfResource    = "resource" // the change does not name the resource
	OfAll         = "all"      // any record may have changed

	ofNothing = "hello" // a node's test notification to itself
)

// channel is the PostgreSQL notification channel that all nodes use.
const channel = "mandate"

// OnChange sets the function that receives changes. Call it before more than one
// goroutine uses the store.
func (s *Store) OnChange(changed func([]Change)) { s.onChange = changed }

func (s *Store) tell(changes []Change) {
	if s.onChange != nil && len(changes) > 0 {
		s.onChange(changes)
	}
}

// changed records that a transaction changes a record.
func (t tx) changed(kind, id string) {
	t.left.changes = append(t.left.changes, Change{kind, id})
}

// announce notifies other processes of the changes. It is part of the transaction: they
// receive the notification when the transaction commits, and only then. With SQLite,
// announce increments a counter row that the server reads regularly.
func (t tx) announce() error {
	switch {
	case len(t.left.changes) == 0:
		return nil
	case t.store.embedded:
		t.store.changesWritten.Store(true)
		_, err := t.exec(`INSERT INTO settings (name, value) VALUES ('changes', '1')
			ON CONFLICT (name) DO UPDATE SET value = CAST(CAST(settings.value AS BIGINT) + 1 AS TEXT)`)
		return err
	}
	statement := notify
	switch {
	case t.store.notifyUnsupported.Load():
		return nil
	case t.store.messageUnsupported.Load():
		statement = notifyOnly
	}
	_, err := t.exec(statement, channel, encodeChanges(t.left.changes))
	if unsupported(err) {
		// The failed statement has aborted the transaction. It runs again without the message, and then without the
		// notification.
		if !t.store.messageUnsupported.CompareAndSwap(false, true) {
			t.store.notifyUnsupported.Store(true)
		}
		return fmt.Errorf("%w: %w", errAgain, err)
	}
	return err
}

// notify sends the notification, and writes an empty message to the log of PostgreSQL. A revocation may find that an
// earlier one, which got no answer, has deleted everything already. Without the message its commit would write
// nothing, and would not wait until the standby has the earlier one.
const (
	emit       = `pg_logical_emit_message(true, 'mandate', '')`
	notify     = `SELECT pg_notify($1, $2), ` + emit
	notifyOnly = `SELECT pg_notify($1, $2)`
)

// maxPayload is below PostgreSQL's limit for a notification, which is 8000 bytes.
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

// lookEvery is the interval at which the server reads the counter of a SQLite database,
// to detect changes by the command line.
const lookEvery = 20 * time.Millisecond

// Listen receives the changes of other processes until ctx ends or the connection is
// lost. Changes during such an interruption are unknown. Listen calls received with a
// time: all changes before that time have been received.
func (s *Store) Listen(ctx context.Context, received func(time.Time)) error {
	if s.embedded {
		return s.watch(ctx, received)
	}
	return s.receive(ctx, received)
}

// watch polls the counter that the command line increments.
func (s *Store) watch(ctx context.Context, received func(time.Time)) error {
	s.polling.Store(true)
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
		received(asked)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
