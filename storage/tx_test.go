package storage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func preparedTexts(s *Store) int {
	n := 0
	s.prepared.Range(func(any, any) bool { n++; return true })
	return n
}

func TestStatementIsPreparedOnceAndServesTransactionsToo(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		w.scene(t, "alice")
		first := preparedTexts(w.Store)
		w.scene(t, "bob")
		if n := preparedTexts(w.Store); n != first || n == 0 {
			t.Errorf("%d statements after the first round, %d after the second", first, n)
		}
		if _, ok := w.prepared.Load(preparedKey{w.write, insertGrant}); !ok {
			t.Error("a statement of a transaction is not prepared")
		}
	})
}

func TestTransactionStandsAsAWholeOrNotAtAll(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		for round := range 3 { // first unprepared, then prepared
			before := counts(t, w.Store)
			failure := errors.New("the work changed its mind")
			err := w.atomically(t.Context(), func(x tx) error {
				_, err := x.exec(`INSERT INTO groups (name, created_at) VALUES ($1, $2)`, fmt.Sprint("group ", round), at)
				if err != nil {
					return err
				}
				return failure
			})
			is(t, "atomically", err, failure)
			if diff := cmp.Diff(before, counts(t, w.Store)); diff != "" {
				t.Error(diff)
			}
			must(t, w.AddGroup(t.Context(), fmt.Sprint("group ", round), at))
		}
	})
}

func TestTransactionWhosePanicIsCaughtLeavesTheStoreUsable(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		func() {
			defer func() { _ = recover() }()
			_ = w.atomically(t.Context(), func(x tx) error {
				_, err := x.exec(`INSERT INTO groups (name, created_at) VALUES ($1, $2)`, "group", at)
				must(t, err)
				panic("a handler recovers from this")
			})
		}()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		is(t, "AddGroup", w.AddGroup(ctx, "group", at), nil)
	})
}

// Reads, writes and transactions share SQLite's single connection for writes, while
// statements are prepared and contexts end in the middle of a call.
func TestMixedLoadNeitherLocksUpNorLosesAnything(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		stores := []*Store{opened(t, w.url), opened(t, w.url)} // new stores without prepared statements
		alice, a := w.person(t, "alice"), w.application(t, "App")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		const workers, rounds = 16, 6
		for i, err := range race(workers, func(i int) error {
			s := stores[i%2]
			for round := range rounds {
				err := mixed(ctx, s, alice.ID, a.ID, fmt.Sprint(i, "/", round))
				if err != nil {
					return err
				}
			}
			return nil
		}) {
			if err != nil {
				t.Fatalf("worker %d: %v", i, err)
			}
		}
		got := counts(t, w.Store)
		want := map[string]int{"users": 1, "groups": 0, "memberships": 0, "applications": 1, "consents": 1, "logins": 0,
			"devices":  0,
			"sessions": workers * rounds, "grants": workers * rounds, "tokens": workers * rounds * 5}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func mixed(ctx context.Context, s *Store, userID, applicationID, name string) error {
	g := newGrant(userID, applicationID)
	n := newSession(userID)
	g.SessionID = n.ID
	one, two := newPair(g.ID), newPair(g.ID)
	gone, cancel := context.WithCancel(ctx)
	go cancel() // at any moment of the next call, which then succeeds or fails
	_ = s.AddUser(gone, newUser(name), nil)
	u, err := s.UserByKey(ctx, name)
	if err == nil {
		err = s.DeleteUser(ctx, u.ID, at, Handover{Responsible: ByOperator})
	}
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	for _, step := range []func() error{
		func() error { return s.AddSession(ctx, n, "", proof(s, n.UserID), 0) },
		func() error { return s.AddGrant(ctx, g, "", "") },
		func() error { return second(s.GrantByCode(ctx, *g.CodeDigest, at)) },
		func() error { return s.RedeemCode(ctx, g.ID, at, later, one) },
		func() error { return second(s.TokenByDigest(ctx, one[0].Digest, at)) },
		func() error { return s.RotateRefresh(ctx, one[1].Digest, g.ID, "", at, later, two) },
		func() error { return s.KeepRefresh(ctx, two[1].Digest, g.ID, at, later, later, newPair(g.ID)[0]) },
		func() error {
			return s.KeepConsent(ctx, Consent{userID, applicationID, "read", "", at, 0}, n.ID, replace)
		},
		func() error { return second(s.SessionByDigest(ctx, n.Digest, at, 0)) },
		func() error { return s.TouchSession(ctx, n.ID, at+1, 60) },
		func() error { return second(s.AuthorizedBy(ctx, userID, at)) },
		func() error { return second(s.Sweep(ctx, at, 10)) },
	} {
		err := step()
		if err != nil {
			return err
		}
	}
	return nil
}

// A request must answer before its deadline also while another process keeps the SQLite file
// locked. So no further attempt begins that may end after the deadline.
func TestWriteToLockedSQLiteEndsBeforeTheDeadline(t *testing.T) {
	w := migrated(t, sqliteURL(t))
	s, err := openSQLite(strings.TrimPrefix(w.url, "sqlite:///"), time.Millisecond)
	must(t, err)
	defer s.Close()
	lock, err := w.write.BeginTxx(t.Context(), nil) // BEGIN IMMEDIATE
	must(t, err)
	ctx, stop := context.WithTimeout(t.Context(), time.Hour)
	defer stop()
	ran := 0
	run := s.together.run
	s.together.run = func(units []unit) []error { ran++; return run(units) }
	for longest, want := range map[time.Duration]int{time.Minute: attempts, 2 * time.Hour: 1} {
		ran, s.busyWait = 0, longest
		if err := s.AddGroup(ctx, "group", at); tries(err) != attempts || ran != want {
			t.Errorf("an attempt may take %v: %d attempts, want %d (%v)", longest, ran, want, err)
		}
	}
	must(t, lock.Rollback())
	must(t, s.AddGroup(ctx, "group", at))
	// A request has 25 seconds, and the server closes the connection after 30.
	if attempts*busyWait > 20*time.Second || 25*time.Second+busyWait > 29*time.Second {
		t.Errorf("%d attempts wait for %v each", attempts, busyWait)
	}
}
