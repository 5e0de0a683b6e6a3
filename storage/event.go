package storage

import (
	"cmp"
	"context"
	"math"
	"math/bits"
	"slices"
)

// Event is a row of the event log: what somebody has done, or has tried without success. It has the
// names of that time, because it outlives its person and its application.
type Event struct {
	ID         string `db:"id"`
	At         int64  `db:"at"`
	Since      int64  `db:"since"` // when it happened for the first time, if it is counted
	Times      int64  `db:"times"` // how often it has happened
	Kind       string `db:"kind"`
	ActorKind  string `db:"actor_kind"`
	ActorID    string `db:"actor_id"`
	ActorName  string `db:"actor_name"`
	Address    string `db:"address"`
	UserAgent  string `db:"user_agent"`
	PersonID   string `db:"person_id"` // whom it concerns
	PersonName string `db:"person_name"`
	ObjectKind string `db:"object_kind"`
	ObjectID   string `db:"object_id"`
	ObjectName string `db:"object_name"`
	Detail     string `db:"detail"`
}

const eventColumns = `id, at, since, times, kind, actor_kind, actor_id, actor_name, ` +
	`address, user_agent, person_id, person_name, object_kind, object_id, object_name, detail`

const insertEvent = `INSERT INTO events (` + eventColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11,
	$12, $13, $14, $15, $16) ON CONFLICT (id) DO `

func (e Event) values() []any {
	return []any{e.ID, e.At, e.Since, e.Times, e.Kind, e.ActorKind, e.ActorID, e.ActorName, e.Address, e.UserAgent,
		e.PersonID, e.PersonName, e.ObjectKind, e.ObjectID, e.ObjectName, e.Detail}
}

type eventsKey struct{}

// WithEvents returns a context for one change. The change and the events are stored in one transaction:
// if the change fails or finds nothing to change, no event is stored, and if an event cannot be stored,
// nothing is changed. The IDs make it harmless that a transaction runs again.
func WithEvents(ctx context.Context, events ...Event) context.Context {
	return context.WithValue(ctx, eventsKey{}, append(slices.Clone(eventsOf(ctx)), events...))
}

func eventsOf(ctx context.Context) []Event {
	events, _ := ctx.Value(eventsKey{}).([]Event)
	return events
}

// OnEvents sets the function that receives events after they were stored. It must not wait. Call it
// before more than one goroutine uses the store.
func (s *Store) OnEvents(stored func([]Event)) { s.onEvents = stored }

func (s *Store) tellEvents(events []Event) {
	if s.onEvents != nil && len(events) > 0 {
		s.onEvents(events)
	}
}

// recording returns work that also stores the events of the context. events gets those that the last
// attempt has stored.
func recording(ctx context.Context, events *[]Event, work func(tx) error) func(tx) error {
	return func(t tx) error {
		*events = slices.Clone(eventsOf(ctx))
		t.events = events
		err := work(t)
		for _, e := range *events {
			if err == nil {
				_, err = t.exec(insertEvent+`NOTHING`, e.values()...)
			}
		}
		return err
	}
}

// happened adds an event to a transaction.
func (t tx) happened(e Event) { *t.events = append(*t.events, e) }

// unchanged removes the events of a transaction that has found nothing to change.
func (t tx) unchanged() { *t.events = nil }

// sessionIs corrects the ID of a session in the events of a transaction.
func (t tx) sessionIs(was, id string) {
	for i, e := range *t.events {
		if e.ObjectKind == "session" && e.ObjectID == was {
			(*t.events)[i].ObjectID = id
		}
	}
}

// AddEvents stores events that belong to no change.
func (s *Store) AddEvents(ctx context.Context, events ...Event) error {
	return s.atomically(WithEvents(ctx, events...), func(tx) error { return nil })
}

// anHourOfEvents is the time in which a counted event has one row, in seconds.
const anHourOfEvents = 60 * 60

// countEvent has the values of e, then the ID, the address and the user agent of rest, the beginning of the hour, and
// most - 1. Without MATERIALIZED, it would look for room once for each column that depends on it.
const countEvent = `WITH x (is_full) AS MATERIALIZED (
		SELECT NOT EXISTS (SELECT 1 FROM events WHERE id = $1)
			AND EXISTS (SELECT 1 FROM events WHERE person_id = $11 AND kind = $5 AND at >= $20 LIMIT 1 OFFSET $21))
	INSERT INTO events (` + eventColumns + `)
		SELECT CASE WHEN is_full THEN $17 ELSE $1 END, $2, $3, $4, $5, $6, $7, $8, CASE WHEN is_full THEN $18 ELSE $9 END,
			CASE WHEN is_full THEN $19 ELSE $10 END, $11, $12, $13, $14, $15, $16 FROM x WHERE TRUE
		ON CONFLICT (id) DO UPDATE SET times = events.times + 1, at = CASE WHEN events.at > excluded.at THEN events.at
			ELSE excluded.at END
		RETURNING ` + eventColumns

// CountEvent stores an event that anybody can cause, or counts it if it has a row: its ID is the same
// for everything that is counted together. If most rows of this kind are about the same person and of
// the same hour, it is counted in the row of rest, which differs in its ID, address and user agent.
//
// It is one statement in each case: the time must not tell whether the event has a row.
func (s *Store) CountEvent(ctx context.Context, e, rest Event, most int) error {
	var stored Event
	err := s.atomically(ctx, func(t tx) error {
		values := append(e.values(), rest.ID, rest.Address, rest.UserAgent, e.At-e.At%anHourOfEvents, most-1)
		return t.write(&stored, countEvent, values...)
	})
	// Whoever reads the events as they come learns of the first, the second, the fourth and so on.
	if err == nil && bits.OnesCount64(uint64(stored.Times)) == 1 {
		s.tellEvents([]Event{stored})
	}
	return err
}

// countRefusal has the values of e, then the ID and the detail of rest, the range of IDs that share the room, and most
// - 1.
const countRefusal = `WITH x (is_full) AS MATERIALIZED (
		SELECT NOT EXISTS (SELECT 1 FROM events WHERE id = $1)
			AND EXISTS (SELECT 1 FROM events WHERE id >= $19 AND id < $20 LIMIT 1 OFFSET $21))
	INSERT INTO events (` + eventColumns + `)
		SELECT CASE WHEN is_full THEN $17 ELSE $1 END, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15,
			CASE WHEN is_full THEN $18 ELSE $16 END FROM x WHERE TRUE
		ON CONFLICT (id) DO UPDATE SET times = events.times + excluded.times,
			at = CASE WHEN events.at > excluded.at THEN events.at ELSE excluded.at END,
			since = CASE WHEN events.since < excluded.since THEN events.since ELSE excluded.since END
		RETURNING ` + eventColumns

// CountedRefusal is an event that has happened Times more. Rows whose IDs have the same Prefix share the room for most
// rows: the others are counted in a row with the ID RestID and the detail RestDetail.
type CountedRefusal struct {
	Event
	Prefix, RestID, RestDetail string
}

// CountRefusals stores events that anybody can cause, or counts those that have rows, in one transaction.
func (s *Store) CountRefusals(ctx context.Context, refusals []CountedRefusal, most int) error {
	var stored []Event
	err := s.atomically(ctx, func(t tx) error {
		stored = make([]Event, len(refusals))
		for i, r := range refusals {
			err := t.write(&stored[i], countRefusal,
				append(r.values(), r.RestID, r.RestDetail, r.Prefix, endOfPrefix(r.Prefix), most-1)...)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	// Whoever reads the events as they come learns of the first, and then of each that has doubled the number.
	for i, e := range stored {
		if bits.Len64(uint64(e.Times)) > bits.Len64(uint64(e.Times-refusals[i].Times)) {
			s.tellEvents([]Event{e})
		}
	}
	return nil
}

// endOfPrefix returns what is greater than each ID that goes on with hexadecimal digits, in every collation.
func endOfPrefix(prefix string) string { return prefix + "g" }

// EventsFrom lists at most limit events whose IDs begin with a prefix and are not smaller than from, by ID.
func (s *Store) EventsFrom(ctx context.Context, prefix, from string, limit int) ([]Event, error) {
	var found []Event
	err := s.all(ctx, &found, `SELECT `+eventColumns+` FROM events WHERE id >= $1 AND id < $2 ORDER BY id LIMIT $3`, from,
		endOfPrefix(prefix), limit)
	return found, err
}

// EventFilter says which events a list contains. An empty field selects all.
type EventFilter struct {
	Kind, PersonID, ActorID, ObjectID, Address string
	Since, Until                               int64 // from the first on, and before the second; 0: without a limit

	// Share selects a part of the events: those of nobody, and those whose kinds are between two "|" in Strange, are
	// the share of strangers.
	Share   Share
	Strange string

	// BeforeAt and BeforeID are those of the last event of the page before this one.
	BeforeAt int64
	BeforeID string
}

// Share is a part of the events of a person.
type Share string

// The shares of a list of events. The zero value is both.
const (
	Own         Share = "own"
	OfStrangers Share = "strangers"
)

// The statement that lists events has the condition of the most selective filter first. An index has the
// column of this condition and the order of the list, so no number of other events makes it slower.
const (
	selectEvents = `SELECT ` + eventColumns + ` FROM events WHERE at >= $1 AND at < $2 AND (at, id) < ($3, $4)`
	restOfEvents = ` AND ($5 = '' OR person_id = $5) AND ($6 = '' OR object_id = $6) AND ($7 = '' OR actor_id = $7)
		AND ($8 = '' OR address = $8)
		AND ($9 = '' OR kind = $9)
		AND ($11 = '' OR ($11 = 'strangers') = (actor_kind = 'nobody' OR $12 LIKE '%|' || kind || '|%'))
		ORDER BY at DESC, id DESC LIMIT $10`
)

// Events lists events, the newest first.
func (s *Store) Events(ctx context.Context, of EventFilter, limit int) ([]Event, error) {
	first := ""
	switch {
	case of.PersonID != "":
		first = ` AND person_id = $5`
	case of.ObjectID != "":
		first = ` AND object_id = $6`
	case of.ActorID != "":
		first = ` AND actor_id = $7`
	case of.Address != "":
		first = ` AND address = $8`
	case of.Kind != "":
		first = ` AND kind = $9`
	}
	var found []Event
	err := s.all(ctx, &found, selectEvents+first+restOfEvents, of.Since, cmp.Or(of.Until, math.MaxInt64),
		cmp.Or(of.BeforeAt, math.MaxInt64), of.BeforeID,
		of.PersonID, of.ObjectID, of.ActorID, of.Address, of.Kind, limit, string(of.Share), of.Strange)
	return found, err
}

// SweepEvents deletes at most limit events of the time before, the oldest first, and returns their number.
func (s *Store) SweepEvents(ctx context.Context, before int64, limit int) (int64, error) {
	n, err := s.exec(ctx, `DELETE FROM events WHERE id IN (SELECT id FROM events WHERE at < $1 ORDER BY at LIMIT $2)
		AND at < $1`, before, limit)
	s.counters.events.Add(n)
	return n, err
}
