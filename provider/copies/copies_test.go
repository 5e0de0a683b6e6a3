package copies

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"mandate/testkit"
)

// shelf holds copies of numbers, and counts how often they were read.
type shelf struct {
	*Copies[int]
	reads int
}

func newShelf(bound time.Duration) *shelf {
	c := NewChanges(bound)
	return &shelf{New(3, c, func(c *Changes, read time.Time, n *int) bool {
		id := strconv.Itoa(*n)
		return c.Has("token", &id, read)
	}), 0}
}

func (s *shelf) wants(t *testing.T, key string, reads int) {
	t.Helper()
	before := s.reads
	_, err := s.Get(t.Context(), key, func(context.Context, string) (int, error) {
		s.reads++
		return strconv.Atoi(key)
	}, func(n int) bool { return n < 100 })
	if err != nil || s.reads-before != reads {
		t.Errorf("%s: read %d times, want %d; %v", key, s.reads-before, reads, err)
	}
}

func (s *shelf) Tell(id string) { s.changes.Add(Change{Kind: "token", ID: id}) }

func TestCopyServesUntilItsRecordChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(2 * time.Second)
		s.wants(t, "1", 1)
		s.wants(t, "1", 0)
		s.Tell("2")
		s.wants(t, "1", 0)
		s.Tell("1")
		s.wants(t, "1", 1)
		time.Sleep(time.Millisecond)
		s.wants(t, "1", 1) // read at the same moment as the change
		s.wants(t, "1", 0)
		s.changes.AddAll()
		s.wants(t, "1", 1)
		s.wants(t, "100", 1)
		s.wants(t, "100", 1) // may not be copied
	})
}

// A copy is not used if a change came while the record was read: the record may have
// been read before or after the change.
func TestCopyThatWasReadBesideAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(2 * time.Second)
		_, err := s.Get(t.Context(), "1", func(context.Context, string) (int, error) {
			time.Sleep(time.Millisecond)
			s.Tell("1")
			time.Sleep(time.Millisecond)
			return 1, nil
		}, func(int) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		s.wants(t, "1", 1)
	})
}

func TestCopyOfANodeThatHearsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(2 * time.Second)
		s.wants(t, "1", 1)
		time.Sleep(2*time.Second - time.Nanosecond)
		s.wants(t, "1", 0)
		time.Sleep(time.Nanosecond)
		s.wants(t, "1", 1)
		if s.changes.Receiving() {
			t.Error("it hears")
		}
		// A node that receives the changes of the others keeps its copies.
		for range 20 {
			s.changes.ReceivedUpTo(time.Now())
			time.Sleep(time.Second)
			s.wants(t, "1", 0)
		}
		if !s.changes.Receiving() {
			t.Error("it hears nothing")
		}
		// When it no longer receives them, the copies end.
		time.Sleep(time.Second)
		s.wants(t, "1", 1)
	})
}

func TestCopyEndsByItsAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(2 * time.Second)
		s.wants(t, "1", 1)
		for range 59 {
			time.Sleep(time.Second)
			s.changes.ReceivedUpTo(time.Now())
			s.wants(t, "1", 0)
		}
		time.Sleep(time.Second)
		s.changes.ReceivedUpTo(time.Now())
		s.wants(t, "1", 1)
	})
}

func TestNoCopiesWhereNothingMayBeStale(t *testing.T) {
	s := newShelf(0)
	s.changes.ReceivedUpTo(time.Now())
	s.wants(t, "1", 1)
	s.wants(t, "1", 1)
}

func TestCopiesAreSoManyAndAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(2 * time.Second)
		for i := range 50 {
			s.wants(t, strconv.Itoa(i), 1)
		}
		if n := len(s.rows); n > 3 {
			t.Errorf("%d copies, want 3 at most", n)
		}
		for i := range maxChanges + 10 {
			s.Tell(strconv.Itoa(i))
		}
		if n := len(s.changes.at); n > maxChanges {
			t.Errorf("%d changes are kept", n)
		}
		time.Sleep(3 * Life)
		s.Drop()
		s.changes.Drop()
		if len(s.rows)+len(s.changes.at) > 0 {
			t.Errorf("%d copies and %d changes are kept of long ago", len(s.rows), len(s.changes.at))
		}
	})
}

func TestWhatCannotBeReadIsNoCopy(t *testing.T) {
	s := newShelf(time.Minute)
	broken := errors.New("the database is gone")
	_, err := s.Get(t.Context(), "1", func(context.Context, string) (int, error) { return 0, broken },
		func(int) bool { return true })
	if !errors.Is(err, broken) {
		t.Error(err)
	}
	s.wants(t, "1", 1)
}

// Requests read copies while others change the records.
func TestCopiesAtOnce(t *testing.T) {
	changes := NewChanges(time.Hour)
	copies := New(3, changes, func(c *Changes, read time.Time, n *int) bool {
		id := strconv.Itoa(*n)
		return c.Has("number", &id, read)
	})
	get := func() {
		for n := range 5 {
			got, err := copies.Get(t.Context(), strconv.Itoa(n), func(context.Context, string) (int, error) { return n, nil },
				func(int) bool { return true })
			if err != nil || got != n {
				t.Errorf("%d, %v, and not %d", got, err, n)
			}
		}
	}
	testkit.AtOnce(get, get, copies.Drop, changes.Drop, changes.AddAll,
		func() { changes.Add(Change{"number", "1"}) },
		func() { changes.ReceivedUpTo(time.Now()); changes.Receiving() })
}
