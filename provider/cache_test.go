package provider

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"mandate/storage"
)

// shelf is copies of what a counter says, and how often it was read.
type shelf struct {
	*copies[int]
	reads int
}

func newShelf(bound time.Duration) *shelf {
	c := &changes{bound: bound, at: map[storage.Change]time.Time{}, onKeys: func() {}}
	return &shelf{newCopies(3, c, func(c *changes, read time.Time, n int) bool {
		id := strconv.Itoa(n)
		return c.of(storage.OfToken, &id, read)
	}), 0}
}

func (s *shelf) wants(t *testing.T, key string, reads int) {
	t.Helper()
	before := s.reads
	_, err := s.get(t.Context(), key, func(context.Context, string) (int, error) {
		s.reads++
		return strconv.Atoi(key)
	}, func(n int) bool { return n < 100 })
	if err != nil || s.reads-before != reads {
		t.Errorf("%s: read %d times, want %d; %v", key, s.reads-before, reads, err)
	}
}

func (s *shelf) tell(id string) { s.changes.tell([]storage.Change{{Kind: storage.OfToken, ID: id}}) }

func TestCopyServesUntilItsRecordChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(2 * time.Second)
		s.wants(t, "1", 1)
		s.wants(t, "1", 0)
		s.tell("2")
		s.wants(t, "1", 0)
		s.tell("1")
		s.wants(t, "1", 1)
		time.Sleep(time.Millisecond)
		s.wants(t, "1", 1) // read in the very moment of the change
		s.wants(t, "1", 0)
		s.changes.tell([]storage.Change{{Kind: storage.OfAll}})
		s.wants(t, "1", 1)
		s.wants(t, "100", 1)
		s.wants(t, "100", 1) // not to be copied
	})
}

// A change that comes while the record is read makes the copy worthless: nobody
// knows which of the two was read.
func TestCopyThatWasReadBesideAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(2 * time.Second)
		_, err := s.get(t.Context(), "1", func(context.Context, string) (int, error) {
			time.Sleep(time.Millisecond)
			s.tell("1")
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
		if s.changes.hears() {
			t.Error("it hears")
		}
		// Whoever hears the others goes on.
		for range 20 {
			s.changes.heard(time.Now())
			time.Sleep(time.Second)
			s.wants(t, "1", 0)
		}
		if !s.changes.hears() {
			t.Error("it hears nothing")
		}
		// Until they fall silent.
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
			s.changes.heard(time.Now())
			s.wants(t, "1", 0)
		}
		time.Sleep(time.Second)
		s.changes.heard(time.Now())
		s.wants(t, "1", 1)
	})
}

func TestNoCopiesWhereNothingMayBeStale(t *testing.T) {
	s := newShelf(0)
	s.changes.heard(time.Now())
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
			s.tell(strconv.Itoa(i))
		}
		if n := len(s.changes.at); n > maxChanges {
			t.Errorf("%d changes are kept", n)
		}
		time.Sleep(3 * copyLife)
		s.drop()
		s.changes.drop()
		if len(s.rows)+len(s.changes.at) > 0 {
			t.Errorf("%d copies and %d changes are kept of long ago", len(s.rows), len(s.changes.at))
		}
	})
}

func TestWhatCannotBeReadIsNoCopy(t *testing.T) {
	s := newShelf(time.Minute)
	broken := errors.New("the database is gone")
	_, err := s.get(t.Context(), "1", func(context.Context, string) (int, error) { return 0, broken }, func(int) bool { return true })
	if !errors.Is(err, broken) {
		t.Error(err)
	}
	s.wants(t, "1", 1)
}

// A refresh token is spent without a word to anybody, so that a copy would show a
// spent one as active.
func TestRefreshTokenIsNoCopy(t *testing.T) {
	f := begin(t)
	app, asker := f.app(), f.app(introspects)
	first := f.tokens(app, f.login("alice"))
	asks := func() bool {
		answer, _, err := f.Introspect(t.Context(), by(asker, "token", first.RefreshToken, "token_type_hint", "refresh_token"), "")
		if err != nil {
			t.Fatal(err)
		}
		return answer.Active
	}
	if !asks() {
		t.Error("the token is inactive before it is spent")
	}
	f.wantActive(true, first.RefreshToken)
	f.must(f.refresh(app, first.RefreshToken))
	if asks() {
		t.Error("a spent token is active")
	}
	f.wantActive(false, first.RefreshToken)
}
