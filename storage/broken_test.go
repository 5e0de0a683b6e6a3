package storage

import (
	"crypto/rand"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"mandate/storage/postgrestest"
)

// lined opens a database through a connection that the test can break.
func lined(t *testing.T) (world, *postgrestest.Line) {
	t.Helper()
	line, address := postgrestest.NewLine(t, postgresURL(t))
	return migrated(t, address), line
}

// once applies the fate to the first statement with this prefix, and lets all others
// pass.
func once(begin string, fate postgrestest.Fate) func(string) postgrestest.Fate {
	var met atomic.Bool
	return func(statement string) postgrestest.Fate {
		if strings.HasPrefix(statement, begin) && met.CompareAndSwap(false, true) {
			return fate
		}
		return postgrestest.Pass
	}
}

func TestTransactionWhoseConnectionBreaksBeforeItsCommitIsRunAgain(t *testing.T) {
	w, line := lined(t)
	alice, a := w.person(t, "alice"), w.application(t, "App")
	for _, statement := range []string{"INSERT INTO grants", "INSERT INTO tokens", "BEGIN"} {
		for _, fate := range []postgrestest.Fate{postgrestest.Cut, postgrestest.Swallow} {
			for range 2 { // first unprepared, then prepared
				g := newGrant(alice.ID, a.ID)
				pair := newPair(g.ID)
				line.Rule(once(statement, fate))
				is(t, statement, w.AddGrantWithTokens(t.Context(), g, pair, alice.Password), nil)
				if _, err := w.TokenByDigest(t.Context(), pair[1].Digest); err != nil {
					t.Errorf("%s: its token: %v", statement, err)
				}
			}
		}
	}
}

// If the answer to a commit is lost, the transaction does not run again and is not
// reported as done.
func TestCommitWhoseAnswerIsLostIsNotRunAgain(t *testing.T) {
	w, line := lined(t)
	must(t, w.AddGroup(t.Context(), "group", 0))
	for name, c := range map[string]struct {
		fate postgrestest.Fate
		want int
	}{"lost before": {postgrestest.Cut, 0}, "lost after": {postgrestest.Swallow, 1}} {
		ran, before := 0, count(t, w.Store, `SELECT created_at FROM groups`)
		line.Rule(once("COMMIT", c.fate))
		err := w.atomically(t.Context(), func(x tx) error {
			ran++
			_, err := x.exec(`UPDATE groups SET created_at = created_at + 1`)
			return err
		})
		notASentinel(t, name, err)
		if errors.Is(err, errAgain) || ran != 1 {
			t.Errorf("%s: ran %d times, got %v", name, ran, err)
		}
		if got := count(t, w.Store, `SELECT created_at FROM groups`) - before; got != c.want {
			t.Errorf("%s: it was done %d times, want %d", name, got, c.want)
		}
	}
}

// If this call itself has used a code or a refresh token, it does not return ErrSpent,
// because callers revoke the token family after ErrSpent.
func TestExchangeWhoseAnswerIsLostIsNotTakenForAnotherOne(t *testing.T) {
	w, line := lined(t)
	alice, a := w.person(t, "alice"), w.application(t, "App")
	for name, exchange := range map[string]func(f family, g Grant, pair []Token) error{
		"RotateRefresh": func(f family, _ Grant, pair []Token) error {
			return w.RotateRefresh(t.Context(), f.refresh, f.ID, "", at, later, pair)
		},
		"KeepRefresh": func(f family, _ Grant, pair []Token) error {
			return w.KeepRefresh(t.Context(), f.refresh, f.ID, at, later, later, pair[0])
		},
		"RedeemCode": func(_ family, g Grant, pair []Token) error {
			pair[0].GrantID, pair[1].GrantID = &g.ID, &g.ID
			return w.RedeemCode(t.Context(), g.ID, at, later, pair)
		},
	} {
		for _, fate := range []postgrestest.Fate{postgrestest.Cut, postgrestest.Swallow} {
			for range 2 {
				f, g := w.family(t, alice.ID, a.ID), newGrant(alice.ID, a.ID)
				w.addGrant(t, g)
				pair := newPair(f.ID)
				line.Rule(once("WITH spent", fate))
				err := exchange(f, g, pair)
				if name == "KeepRefresh" && errors.Is(err, ErrConflict) { // marks nothing as used, so the client may repeat it
					err = nil
				}
				is(t, name, err, nil)
				_, err = w.TokenByDigest(t.Context(), pair[0].Digest)
				is(t, name+": its token", err, nil)
				if name != "KeepRefresh" {
					is(t, name+" with other tokens", exchange(f, g, newPair(f.ID)), ErrSpent)
				}
			}
		}
	}
}

func TestTokenOfAnApplicationIsStoredThoughItsAnswerIsLost(t *testing.T) {
	w, line := lined(t)
	a := w.application(t, "App")
	for _, fate := range []postgrestest.Fate{postgrestest.Cut, postgrestest.Swallow} {
		for range 2 {
			token := newPair("")[0]
			token.GrantID, token.ApplicationID = nil, &a.ID
			line.Rule(once("INSERT INTO tokens", fate))
			is(t, "AddToken", w.AddToken(t.Context(), token), nil)
			if n := count(t, w.Store, `SELECT COUNT(*) FROM tokens WHERE digest = $1`, token.Digest); n != 1 {
				t.Errorf("the record exists %d times", n)
			}
		}
	}
}

func TestReadWhoseConnectionBreaksIsReadAgain(t *testing.T) {
	w, line := lined(t)
	_, _, f := w.scene(t, "alice")
	for _, fate := range []postgrestest.Fate{postgrestest.Cut, postgrestest.Swallow} {
		for range 2 {
			line.Rule(once("SELECT", fate))
			_, err := w.TokenByDigest(t.Context(), f.access)
			is(t, "TokenByDigest", err, nil)
		}
	}
}

// If a server has become read-only, the store closes all connections to it.
func TestConnectionsToAServerThatOnlyReadsAreLeft(t *testing.T) {
	server := postgrestest.New(t)
	w := migrated(t, withParameter(t, server.URL(t), "application_name", "leaver"))
	admin := opened(t, withParameter(t, w.url, "application_name", "admin"))
	for _, err := range race(16, func(int) error { return w.Ping(t.Context()) }) {
		must(t, err)
	}
	set := func(statement string) {
		_, err := admin.write.ExecContext(t.Context(), statement)
		must(t, err)
		_, err = admin.write.ExecContext(t.Context(), `SELECT pg_reload_conf()`)
		must(t, err)
	}
	set(`ALTER SYSTEM SET default_transaction_read_only = on`)
	var err error
	// The single statement runs first. A transaction declares itself as writing, which
	// overrides this way to make the server read-only.
	eventually(t, "a statement is refused", func() bool { err = w.AddGroup(t.Context(), rand.Text(), at); return err != nil })
	for name, err := range map[string]error{"a statement": err, "a transaction": w.AddUser(t.Context(), newUser("alice"), nil)} {
		notASentinel(t, name, err)
		if err != nil && !strings.Contains(err.Error(), "session is read-only") {
			t.Errorf("%s: it did not look for another server: %v", name, err)
		}
	}
	eventually(t, "the connections are closed", func() bool {
		return count(t, admin, `SELECT COUNT(*) FROM pg_stat_activity WHERE application_name = 'leaver'`) == 0
	})
	set(`ALTER SYSTEM RESET default_transaction_read_only`)
	eventually(t, "the database accepts writes again", func() bool { return w.AddGroup(t.Context(), "group", at) == nil })
}
