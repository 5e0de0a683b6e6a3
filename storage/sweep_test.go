package storage

import (
	"context"
	"fmt"
	"slices"
	"testing"
)

// expiring adds a token, a grant, a session and a login that all expire at this time.
func expiring(t *testing.T, w world, userID, applicationID string, then int64) {
	t.Helper()
	g := newGrant(userID, applicationID)
	g.ID, g.ExpiresAt = fmt.Sprint("grant ", then), then
	n := newSession(userID)
	n.ID, n.ExpiresAt = fmt.Sprint("session ", then), then
	must(t, w.AddSession(t.Context(), n, "", proof(w.Store, n.UserID), 0))
	must(t, w.AddGrant(t.Context(), inSession(g, n), "owner", ""))
	must(t, w.AddToken(t.Context(), Token{Digest: fmt.Sprint("token ", then), GrantID: &g.ID, ExpiresAt: then}))
}

// leftAfter checks which rows of each table are left.
func leftAfter(t *testing.T, w world, want ...int64) {
	t.Helper()
	for table, key := range map[string]string{"token": "digest", "grant": "id"} {
		left := []int64{}
		must(t, w.write.SelectContext(t.Context(), &left, `SELECT expires_at FROM `+table+`s ORDER BY expires_at`))
		if !slices.Equal(left, want) {
			t.Errorf("by %s of %ss: left %v, want %v", key, table, left, want)
		}
	}
}

func TestSweepTakesTheOldestExpiredRowsInBatches(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, a := w.person(t, "alice"), w.application(t, "App")
		oldest := func(want int64) {
			t.Helper()
			got, err := w.Oldest(t.Context())
			must(t, err)
			if got != want {
				t.Errorf("the oldest row is of %d, want %d", got, want)
			}
		}
		oldest(0)
		for _, then := range []int64{at - 1, at - 4, at, at + 1, at - 2, at - 3, at + 2} {
			expiring(t, w, alice.ID, a.ID, then)
		}
		sweep := func(limit int, want int64) {
			t.Helper()
			n, err := w.Sweep(t.Context(), at, limit)
			must(t, err)
			if n != want {
				t.Errorf("%d rows were deleted, want %d", n, want)
			}
		}
		oldest(at - 4)
		sweep(0, 0)
		leftAfter(t, w, at-4, at-3, at-2, at-1, at, at+1, at+2)
		sweep(2, 4)
		leftAfter(t, w, at-2, at-1, at, at+1, at+2)
		sweep(2, 4)
		leftAfter(t, w, at, at+1, at+2)
		sweep(2, 2)
		leftAfter(t, w, at+1, at+2)
		sweep(2, 0)
		leftAfter(t, w, at+1, at+2)
		oldest(at + 1)
		want := []Removed{{"tokens", 5}, {"grants", 5}, {"logins", 0}, {"sessions", 0}, {"devices", 0}, {"requests", 0},
			{"initial_tokens", 0}, {"mails", 0}, {"links", 0}, {"invitations", 0}, {"mail_counts", 0}, {"seen", 0},
			{"site_sessions", 0}, {"events", 0}}
		if got := w.Stats().Removed; !slices.Equal(got, want) {
			t.Errorf("counted %v, want %v", got, want)
		}
		for what, err := range map[string]error{
			"the person":      second(w.UserByID(t.Context(), alice.ID)),
			"the application": second(w.Application(t.Context(), a.ID)),
		} {
			is(t, what, err, nil)
		}
	})
}

func second[T any](_ T, err error) error { return err }

func TestSweepLeavesWhatIsStillLive(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, _, f := w.scene(t, "alice")
		n := w.session(t, alice.ID)
		// rows without a grant are deleted when they expire
		must(t, w.RevokeGrant(t.Context(), w.family(t, alice.ID, f.ApplicationID).ID))
		sum, err := w.Sweep(t.Context(), later-1, 100)
		must(t, err)
		if sum != 0 {
			t.Errorf("%d rows were deleted", sum)
		}
		_, err = w.TokenByDigest(t.Context(), f.access, at)
		is(t, "token", err, nil)
		_, err = w.SessionByDigest(t.Context(), n.Digest, later-1, 0)
		is(t, "session", err, nil)
		sum, err = w.Sweep(t.Context(), later, 100)
		must(t, err)
		if sum != 3 { // two access tokens, the grant
			t.Errorf("%d rows were deleted, want 3", sum)
		}
	})
}

func TestManyNodesMaySweepTogether(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, a, stores := w.person(t, "alice"), w.application(t, "App"), w.pair(t)
		for i := range int64(20) {
			expiring(t, w, alice.ID, a.ID, at-i)
		}
		expiring(t, w, alice.ID, a.ID, at+1)
		went := make([]int64, 8)
		for i, err := range race(8, func(i int) error {
			var err error
			went[i], err = stores[i%2].Sweep(t.Context(), at, 20)
			return err
		}) {
			if err != nil {
				t.Errorf("node %d: %v", i, err)
			}
		}
		var sum int64
		for _, n := range went {
			sum += n
		}
		if sum != 40 {
			t.Errorf("%d rows were counted, want 40", sum)
		}
		leftAfter(t, w, at+1)
	})
}

// On PostgreSQL the test can hold a refresh while the sweep waits for its row.
func TestSweepSparesWhatIsExtendedAtThatMoment(t *testing.T) {
	for _, table := range []string{"token", "grant"} {
		t.Run(table, func(t *testing.T) {
			w := migrated(t, postgresURL(t))
			alice, a := w.person(t, "alice"), w.application(t, "App")
			expiring(t, w, alice.ID, a.ID, at)
			refresh, err := w.write.BeginTxx(t.Context(), nil)
			must(t, err)
			defer refresh.Rollback()
			_, err = refresh.ExecContext(t.Context(), `UPDATE `+table+`s SET expires_at = $1`, later)
			must(t, err)
			result := make(chan error)
			go func() {
				_, err := w.Sweep(context.WithoutCancel(t.Context()), at, 10)
				result <- err
			}()
			waitForLock(t, w.Store)
			must(t, refresh.Commit())
			must(t, <-result)
			if n := count(t, w.Store, `SELECT COUNT(*) FROM `+table+`s`); n != 1 {
				t.Error("it was swept though it lives on")
			}
		})
	}
}

// Expired and unused sessions end with the same effect as signing out.
func TestOldSessionsEndInBatches(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, a := w.person(t, "alice"), w.application(t, "App")
		fresh := w.session(t, alice.ID)
		kept := w.bound(t, fresh, a.ID, later)
		for i := range int64(3) {
			n := newSession(alice.ID)
			n.ExpiresAt = at - i
			must(t, w.AddSession(t.Context(), n, "", alice.Password, 0))
			w.bound(t, n, a.ID, at-i)
		}
		idle := newSession(alice.ID)
		idle.SeenAt = at - 100
		must(t, w.AddSession(t.Context(), idle, "", alice.Password, 0))
		w.bound(t, idle, a.ID, later)
		_, err := w.write.ExecContext(t.Context(), `UPDATE sessions SET seen_at = $1 WHERE id = $2`, at-100, idle.ID)
		must(t, err)
		for _, want := range []int64{3, 1, 0} { // two expired and one idle; the third expired; none
			n, err := w.EndOldSessions(t.Context(), at, at-100, 2)
			must(t, err)
			if n != want {
				t.Errorf("%d sessions ended, want %d", n, want)
			}
		}
		if n := len(due(t, w.Store, at)); n != 4 {
			t.Errorf("%d logins are due, want 4", n)
		}
		if !live(t, w.Store, map[string]string{"": kept})[""] {
			t.Error("a family ended whose session goes on")
		}
		if n := count(t, w.Store, `SELECT COUNT(*) FROM grants WHERE session_id <> $1`, fresh.ID); n != 0 {
			t.Errorf("%d families outlived their sessions", n)
		}
	})
}

// PostgreSQL's autovacuum is off here, so Reclaim alone keeps the table small.
func TestRoomOfDeletedTokensIsUsedAgain(t *testing.T) {
	w := migrated(t, postgresURL(t))
	_, err := w.write.ExecContext(t.Context(), `ALTER TABLE tokens SET (autovacuum_enabled = false)`)
	must(t, err)
	var first int
	for round := range 4 {
		_, err := w.write.ExecContext(t.Context(), `INSERT INTO tokens (digest, refresh, scope, issued_at, expires_at)
			SELECT md5($1 || i), FALSE, 'read', 1, 2 FROM generate_series(1, $2) i`, fmt.Sprint(round, "-"), reclaimAfter)
		must(t, err)
		size := count(t, w.Store, `SELECT pg_relation_size('tokens')`)
		if round == 0 {
			first = size
		} else if size > first+first/4 {
			t.Fatalf("round %d: the table has %d bytes, and had %d", round, size, first)
		}
		_, err = w.write.ExecContext(t.Context(), `DELETE FROM tokens`) // as many sweeps would do
		must(t, err)
		w.counters.tokens.Add(reclaimAfter)
		must(t, w.Reclaim(t.Context()))
	}
}
