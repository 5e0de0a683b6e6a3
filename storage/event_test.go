package storage

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func newEvent(kind string, about User) Event {
	return Event{ID: rand.Text(), At: at, Since: at, Times: 1, Kind: kind, ActorKind: "person", ActorID: about.ID,
		ActorName: about.Username, Address: "192.0.2.1",
		UserAgent: "browser", PersonID: about.ID, PersonName: about.Username, ObjectKind: "passkey", ObjectID: "key",
		ObjectName: "Laptop", Detail: "words"}
}

// said returns the kinds and counts of all events, the newest first.
func (w world) said(t *testing.T, of EventFilter) []string {
	t.Helper()
	found, err := w.Events(context.WithoutCancel(t.Context()), of, 1000)
	must(t, err)
	texts := []string{}
	for _, e := range found {
		texts = append(texts, fmt.Sprint(e.Kind, " ", e.Times))
	}
	return texts
}

func TestEventIsStoredExactlyIfItsChangeIs(t *testing.T) {
	eachIsolation(t, func(t *testing.T, w world) {
		alice, stores := w.person(t, "alice"), w.pair(t)
		var mu sync.Mutex
		var told []Event
		for _, s := range stores {
			s.OnEvents(func(events []Event) {
				mu.Lock()
				defer mu.Unlock()
				told = append(told, events...)
			})
		}
		n := w.session(t, alice.ID)
		stays, key := w.passkey(t, n), w.passkey(t, n)
		n2 := w.session(t, alice.ID)
		check := func(name string, want int, change func(ctx context.Context, s *Store, i int) error) {
			t.Helper()
			mu.Lock()
			told = nil
			mu.Unlock()
			race(4, func(i int) error {
				return change(WithEvents(t.Context(), newEvent(name, alice)), stores[i%2], i)
			})
			if got := w.said(t, EventFilter{Kind: name}); len(got) != want {
				t.Errorf("%s: %v, want %d events", name, got, want)
			}
			if len(told) != want {
				t.Errorf("%s: %d events were told, want %d", name, len(told), want)
			}
		}
		check("a transaction", 1, func(ctx context.Context, s *Store, _ int) error {
			return s.DeletePasskey(ctx, alice.ID, key.ID, Ways{Passkeys: true}, nil)
		})
		check("a refused transaction", 0, func(ctx context.Context, s *Store, _ int) error {
			return s.DeletePasskey(ctx, alice.ID, "none", Ways{Passkeys: true}, nil)
		})
		check("one statement", 1, func(ctx context.Context, s *Store, _ int) error { return s.AddGroup(ctx, "staff", at) })
		check("one that deletes", 1, func(ctx context.Context, s *Store, _ int) error { return s.DeleteGroup(ctx, "staff") })
		check("a session", 1, func(ctx context.Context, s *Store, _ int) error {
			return s.EndSession(ctx, alice.ID, n2.ID, at, false)
		})
		check("events alone", 4, func(ctx context.Context, s *Store, _ int) error { return s.AddEvents(ctx) })
		if _, err := w.Passkey(t.Context(), stays.ID); err != nil {
			t.Error(err)
		}
	})
}

// A context that two calls get by mistake stores its event once.
func TestEventIsStoredOnce(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		ctx := WithEvents(t.Context(), newEvent("one", User{}), newEvent("two", User{}))
		must(t, w.AddGroup(ctx, "a", at))
		must(t, w.AddGroup(ctx, "b", at))
		got := w.said(t, EventFilter{})
		slices.Sort(got)
		if diff := cmp.Diff([]string{"one 1", "two 1"}, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestNothingChangesWithoutItsEvent(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice := w.person(t, "alice")
		n := w.session(t, alice.ID)
		_, err := w.write.ExecContext(t.Context(), `DROP TABLE events`)
		must(t, err)
		ctx := WithEvents(t.Context(), newEvent("kind", alice))
		for name, err := range map[string]error{
			"SetPassword": w.SetPassword(ctx, alice.ID, "new", at),
			"EndSession":  w.EndSession(ctx, alice.ID, n.ID, at, false),
			"AddGroup":    w.AddGroup(ctx, "staff", at),
			"CountEvent":  w.CountEvent(t.Context(), newEvent("kind", alice), newEvent("kind", alice), 10),
		} {
			if err == nil {
				t.Errorf("%s succeeds", name)
			}
		}
		if got := proof(w.Store, alice.ID); got != alice.Password {
			t.Errorf("the password is %q", got)
		}
		if n := count(t, w.Store, `SELECT (SELECT COUNT(*) FROM sessions) + 10 * (SELECT COUNT(*) FROM groups)`); n != 1 {
			t.Errorf("sessions and groups: %d", n)
		}
	})
}

func TestEventsAreCounted(t *testing.T) {
	eachIsolation(t, func(t *testing.T, w world) {
		alice, stores := w.person(t, "alice"), w.pair(t)
		var mu sync.Mutex
		var told []int64
		for _, s := range stores {
			s.OnEvents(func(events []Event) {
				mu.Lock()
				defer mu.Unlock()
				told = append(told, events[0].Times)
			})
		}
		failure := func(network string, i int) (e, rest Event) {
			e = newEvent("failed", alice)
			e.ID, e.Address, e.At = "failed "+network, network, at+int64(i)
			e.Since = e.At
			rest = e
			rest.ID, rest.Address = "failed", ""
			return e, rest
		}
		for _, err := range race(16, func(i int) error {
			e, rest := failure("192.0.2.1", i)
			return stores[i%2].CountEvent(t.Context(), e, rest, 3)
		}) {
			must(t, err)
		}
		found, err := w.Events(t.Context(), EventFilter{}, 10)
		must(t, err)
		if len(found) != 1 || found[0].Times != 16 || found[0].At != at+15 || found[0].Address != "192.0.2.1" ||
			found[0].PersonName != "alice" {
			t.Errorf("%+v", found)
		}
		slices.Sort(told)
		if want := []int64{1, 2, 4, 8, 16}; !slices.Equal(told, want) {
			t.Errorf("told at %v, want %v", told, want)
		}
		// From the third network on, all others share a row.
		for i, network := range []string{"192.0.2.2", "192.0.2.3", "192.0.2.4", "192.0.2.5", "192.0.2.4", "192.0.2.1"} {
			e, rest := failure(network, 100+i)
			must(t, w.CountEvent(t.Context(), e, rest, 3))
		}
		got := []string{}
		found, err = w.Events(t.Context(), EventFilter{PersonID: alice.ID}, 10)
		must(t, err)
		for _, e := range found {
			got = append(got, fmt.Sprint(e.Address, " ", e.Times))
		}
		if diff := cmp.Diff([]string{"192.0.2.1 17", " 3", "192.0.2.3 1", "192.0.2.2 1"}, got); diff != "" {
			t.Error(diff)
		}
	})
}

// A stranger who measures how long a refusal takes (CWE-208): what makes a row takes the same statements as what is
// counted in one, and as what is counted in the row of the rest.
func TestAttackNumberOfStatementsOfACountedEvent(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		const withoutRoom = "without room for another network"
		alice := w.person(t, "alice")
		count := func(what, network string, times int64) {
			t.Helper()
			e := newEvent("failed", alice)
			e.ID, e.Address = "failed "+network, network
			rest := e
			rest.ID, rest.Address = "failed", ""
			var ran []string
			w.Trace(func(ctx context.Context, statement string) (context.Context, func(error)) {
				ran = append(ran, statement)
				return ctx, func(error) {}
			})
			defer w.Trace(nil)
			must(t, w.CountEvent(t.Context(), e, rest, 2))
			if want := 2; len(ran) != want { // the transaction, and one statement in it
				t.Errorf("%s takes %d statements, want %d:\n%s", what, len(ran), want, strings.Join(ran, "\n"))
			}
			of := EventFilter{Address: network}
			if what == withoutRoom {
				of = EventFilter{Until: at + 1}
			}
			found, err := w.Events(t.Context(), of, 10)
			must(t, err)
			if i := slices.IndexFunc(found, func(e Event) bool { return what != withoutRoom || e.Address == "" }); i < 0 ||
				found[i].Times != times {
				t.Errorf("%s: %+v, want %d times", what, found, times)
			}
		}
		count("the first", "192.0.2.1", 1)
		count("the second", "192.0.2.1", 2)
		count("another network", "192.0.2.2", 1)
		count(withoutRoom, "192.0.2.3", 1)
		count(withoutRoom, "192.0.2.4", 2)
	})
}

func TestEventsAreFilteredAndPaged(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, bob := w.person(t, "alice"), w.person(t, "bob")
		var events []Event
		for i, e := range []Event{newEvent("a", alice), newEvent("b", alice), newEvent("b", bob), newEvent("c", bob),
			newEvent("c", alice), newEvent("c", alice)} {
			e.ID, e.At = fmt.Sprint(i), at+int64(i/2) // two each second
			if i == 3 {
				e.ActorID, e.ObjectID, e.Address = alice.ID, "another", "198.51.100.1"
			}
			events = append(events, e)
		}
		must(t, w.AddEvents(t.Context(), events...))
		for _, test := range []struct {
			of   EventFilter
			want string
		}{
			{EventFilter{}, "543210"},
			{EventFilter{Kind: "b"}, "21"},
			{EventFilter{PersonID: alice.ID}, "5410"},
			{EventFilter{PersonID: alice.ID, Kind: "c"}, "54"},
			{EventFilter{ActorID: alice.ID}, "54310"},
			{EventFilter{ActorID: alice.ID, PersonID: bob.ID}, "3"},
			{EventFilter{ObjectID: "another"}, "3"},
			{EventFilter{ObjectID: "key", Address: "192.0.2.1", Kind: "a"}, "0"},
			{EventFilter{Address: "198.51.100.1"}, "3"},
			{EventFilter{Since: at + 1}, "5432"},
			{EventFilter{Until: at + 2}, "3210"},
			{EventFilter{Since: at + 1, Until: at + 2}, "32"},
			{EventFilter{Kind: "none"}, ""},
		} {
			for _, size := range []int{1, 2, 100} {
				got, of := "", test.of
				for range 10 {
					found, err := w.Events(t.Context(), of, size)
					must(t, err)
					for _, e := range found {
						got += e.ID
						of.BeforeAt, of.BeforeID = e.At, e.ID
					}
					if len(found) < size {
						break
					}
				}
				if got != test.want {
					t.Errorf("%+v in pages of %d: %s, want %s", test.of, size, got, test.want)
				}
			}
		}
		found, err := w.Events(t.Context(), EventFilter{}, 1)
		must(t, err)
		if diff := cmp.Diff(events[5:], found); diff != "" {
			t.Error(diff)
		}
	})
}

// What strangers cause, however often, is a list of its own, and every event is in exactly one of both.
func TestEventsOfStrangersAreApart(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice := w.person(t, "alice")
		kinds := []string{"a", "a.failed", "b", "a.failedx", "reused", "nobody's"}
		for i, kind := range kinds {
			e := newEvent(kind, alice)
			e.ID, e.At = fmt.Sprint(i), at+int64(i)
			if kind == "nobody's" {
				e.ActorKind = "nobody"
			}
			must(t, w.AddEvents(t.Context(), e))
		}
		for share, want := range map[Share]string{"": "543210", Own: "320", OfStrangers: "541"} {
			got := ""
			found, err := w.Events(t.Context(), EventFilter{PersonID: alice.ID, Share: share, Strange: "|a.failed|reused|"}, 10)
			must(t, err)
			for _, e := range found {
				got += e.ID
			}
			if got != want {
				t.Errorf("the share %q is %s, want %s", share, got, want)
			}
		}
	})
}

func TestEventsOutliveTheirPersonUntilTheirTimeIsOver(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice := w.person(t, "alice")
		for i := range int64(5) {
			e := newEvent(fmt.Sprint(i), alice)
			e.At = at + i
			must(t, w.AddEvents(t.Context(), e))
		}
		must(t, w.DeleteUser(t.Context(), alice.ID, at, Handover{}))
		for _, test := range []struct {
			limit int
			want  int64
			left  string
		}{{2, 2, "4 1,3 1,2 1"}, {2, 1, "4 1,3 1"}, {2, 0, "4 1,3 1"}} {
			n, err := w.SweepEvents(t.Context(), at+3, test.limit)
			must(t, err)
			if got := strings.Join(w.said(t, EventFilter{PersonID: alice.ID}), ","); n != test.want || got != test.left {
				t.Errorf("%d events were deleted and %s is left, want %d and %s", n, got, test.want, test.left)
			}
		}
	})
}

// Refusals are counted together, on all nodes. Beyond the room of a prefix they share a row, and other prefixes have
// room of their own.
func TestRefusalsAreCounted(t *testing.T) {
	eachIsolation(t, func(t *testing.T, w world) {
		stores := w.pair(t)
		refusal := func(prefix, id string, times, at int64) CountedRefusal {
			e := newEvent("refused", User{})
			e.ID, e.Times, e.At, e.Since, e.Detail = prefix+id, times, at, at, id
			return CountedRefusal{e, prefix, prefix + "ee", "other"}
		}
		for _, err := range race(8, func(i int) error {
			return stores[i%2].CountRefusals(t.Context(),
				[]CountedRefusal{refusal("ra0", "1a", 5, at+int64(i)), refusal("ra0", "2a", 1, at)}, 3)
		}) {
			must(t, err)
		}
		told := []int64{}
		w.OnEvents(func(events []Event) { told = append(told, events[0].Times) })
		for _, id := range []string{"3a", "4a", "5a", "4a", "1a"} {
			must(t, w.CountRefusals(t.Context(), []CountedRefusal{refusal("ra0", id, 10, at+100)}, 3))
		}
		must(t, w.CountRefusals(t.Context(), []CountedRefusal{refusal("ra1", "4a", 1, at-5)}, 3))
		must(t, w.AddEvents(WithEvents(t.Context(), newEvent("other", User{}))))
		all := func(prefix, from string) []string {
			found, err := w.EventsFrom(t.Context(), prefix, from, 10)
			must(t, err)
			texts := []string{}
			for _, e := range found {
				texts = append(texts, fmt.Sprint(e.ID, " ", e.Detail, " ", e.Times, " ", e.Since-at, " ", e.At-at))
			}
			return texts
		}
		got := all("ra", "ra")
		// The first of them to arrive says since when it is.
		if len(got) != 5 || !strings.HasPrefix(got[0], "ra01a 1a 50 0 100") {
			t.Errorf("%q", got)
		}
		if diff := cmp.Diff([]string{"ra02a 2a 8 0 0", "ra03a 3a 10 100 100", "ra0ee other 30 100 100", "ra14a 4a 1 -5 -5"},
			got[1:]); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"ra14a 4a 1 -5 -5"}, all("ra", "ra1")); diff != "" {
			t.Error(diff)
		}
		if want := []int64{10, 10, 20, 1, 1}; !slices.Equal(told, want) {
			t.Errorf("told at %v, want %v", told, want)
		}
	})
}
