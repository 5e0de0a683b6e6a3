package storage

import (
	"crypto/rand"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"mandate/storage/postgrestest"
)

// throughProxy opens a database through a connection that the test can break.
func throughProxy(t *testing.T) (world, *postgrestest.Proxy) {
	t.Helper()
	proxy, address := postgrestest.NewProxy(t, postgresURL(t))
	return migrated(t, address), proxy
}

// once applies the action to the first statement with this prefix, and lets all others
// pass.
func once(begin string, action postgrestest.Action) func(string) postgrestest.Action {
	var met atomic.Bool
	return func(statement string) postgrestest.Action {
		if strings.HasPrefix(statement, begin) && met.CompareAndSwap(false, true) {
			return action
		}
		return postgrestest.Pass
	}
}

func TestTransactionWhoseConnectionBreaksBeforeItsCommitIsRunAgain(t *testing.T) {
	w, proxy := throughProxy(t)
	alice, a := w.person(t, "alice"), w.application(t, "App")
	for _, statement := range []string{"INSERT INTO grants", "INSERT INTO tokens", "BEGIN"} {
		for _, action := range []postgrestest.Action{postgrestest.Cut, postgrestest.Swallow} {
			for range 2 { // first unprepared, then prepared
				g := newGrant(alice.ID, a.ID)
				pair := newPair(g.ID)
				proxy.Rule(once(statement, action))
				is(t, statement, w.AddGrantWithTokens(t.Context(), g, pair, alice.Password), nil)
				if _, err := w.TokenByDigest(t.Context(), pair[1].Digest, at); err != nil {
					t.Errorf("%s: its token: %v", statement, err)
				}
			}
		}
	}
}

// If the answer to a commit is lost, the transaction does not run again and is not
// reported as done.
func TestCommitWhoseAnswerIsLostIsNotRunAgain(t *testing.T) {
	w, proxy := throughProxy(t)
	must(t, w.AddGroup(t.Context(), "group", 0))
	for name, c := range map[string]struct {
		action postgrestest.Action
		want   int
	}{"lost before": {postgrestest.Cut, 0}, "lost after": {postgrestest.Swallow, 1}} {
		ran, before := 0, count(t, w.Store, `SELECT created_at FROM groups`)
		proxy.Rule(once("COMMIT", c.action))
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

// A call that stores no token cannot recognize its own redemption. The code is refused then: two calls with one
// code must never both succeed.
func TestLostAnswerWithoutATokenIsRefused(t *testing.T) {
	w, proxy := throughProxy(t)
	alice, a := w.person(t, "alice"), w.application(t, "App")
	g := newGrant(alice.ID, a.ID)
	w.addGrant(t, g)
	proxy.Rule(once("WITH spent", postgrestest.Swallow))
	is(t, "the code", w.RedeemCode(t.Context(), g.ID, at, later, nil), ErrSpent)
}

// If this call itself has used a code or a refresh token, it does not return ErrSpent,
// because callers revoke the token family after ErrSpent.
func TestExchangeWhoseAnswerIsLostIsNotTakenForAnotherOne(t *testing.T) {
	w, proxy := throughProxy(t)
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
		for _, action := range []postgrestest.Action{postgrestest.Cut, postgrestest.Swallow} {
			for range 2 {
				f, g := w.family(t, alice.ID, a.ID), newGrant(alice.ID, a.ID)
				w.addGrant(t, g)
				pair := newPair(f.ID)
				proxy.Rule(once("WITH spent", action))
				err := exchange(f, g, pair)
				if name == "KeepRefresh" && errors.Is(err, ErrConflict) { // marks nothing as used, so the client may repeat it
					err = nil
				}
				is(t, name, err, nil)
				_, err = w.TokenByDigest(t.Context(), pair[0].Digest, at)
				is(t, name+": its token", err, nil)
				if name != "KeepRefresh" {
					is(t, name+" with other tokens", exchange(f, g, newPair(f.ID)), ErrSpent)
				}
			}
		}
	}
}

func TestTokenOfAnApplicationIsStoredThoughItsAnswerIsLost(t *testing.T) {
	w, proxy := throughProxy(t)
	a := w.application(t, "App")
	for _, action := range []postgrestest.Action{postgrestest.Cut, postgrestest.Swallow} {
		for range 2 {
			token := newPair("")[0]
			token.GrantID, token.ApplicationID = nil, &a.ID
			proxy.Rule(once("INSERT INTO tokens", action))
			is(t, "AddToken", w.AddToken(t.Context(), token), nil)
			if n := count(t, w.Store, `SELECT COUNT(*) FROM tokens WHERE digest = $1`, token.Digest); n != 1 {
				t.Errorf("the record exists %d times", n)
			}
		}
	}
}

func TestReadWhoseConnectionBreaksIsReadAgain(t *testing.T) {
	w, proxy := throughProxy(t)
	_, _, f := w.scene(t, "alice")
	for _, action := range []postgrestest.Action{postgrestest.Cut, postgrestest.Swallow} {
		for range 2 {
			proxy.Rule(once("SELECT", action))
			_, err := w.TokenByDigest(t.Context(), f.access, at)
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
	eventually(t, "a statement is refused", func() bool {
		err = w.AddGroup(t.Context(), rand.Text(), at)
		return err != nil
	})
	for name, err := range map[string]error{"a statement": err,
		"a transaction": w.AddUser(t.Context(), newUser("alice"), nil)} {
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
