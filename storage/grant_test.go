package storage

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGrantIsReadByItsCode(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, a := w.person(t, "alice"), w.application(t, "App")
		g := newGrant(alice.ID, a.ID)
		w.addGrant(t, g)
		g.UserMay = true
		got, err := w.GrantByCode(t.Context(), *g.CodeDigest, at)
		must(t, err)
		if diff := cmp.Diff(g, got); diff != "" {
			t.Error(diff)
		}
		must(t, w.RedeemCode(t.Context(), g.ID, at+1, later, newPair(g.ID)))
		used := int64(at + 1)
		g.CodeUsedAt, g.ExpiresAt = &used, later
		got, err = w.GrantByCode(t.Context(), *g.CodeDigest, at)
		must(t, err)
		if diff := cmp.Diff(g, got); diff != "" {
			t.Errorf("once redeemed: %s", diff)
		}
	})
}

func TestGrantThatIsNotThereIsNotFound(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, a, f := w.scene(t, "alice")
		for _, digest := range []string{"", "unknown", f.ID, f.access} {
			_, err := w.GrantByCode(t.Context(), digest, at)
			is(t, "GrantByCode "+digest, err, ErrNotFound)
		}
		g := newGrant(alice.ID, a.ID)
		w.addGrant(t, g)
		_, err := w.write.ExecContext(t.Context(), `UPDATE users SET active = FALSE`) // as an operator could do with SQL
		must(t, err)
		got, err := w.GrantByCode(t.Context(), *g.CodeDigest, at)
		must(t, err)
		if got.UserMay {
			t.Error("the grant of a disabled person says that the person is active")
		}
		_, err = w.write.ExecContext(t.Context(), `DELETE FROM users`)
		must(t, err)
		_, err = w.GrantByCode(t.Context(), *g.CodeDigest, at)
		is(t, "GrantByCode of an unknown code", err, ErrNotFound)
	})
}

func TestCodeIsTakenOnce(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		_, _, f := w.scene(t, "alice")
		g := newGrant(f.UserID, f.ApplicationID)
		g.CodeDigest = f.CodeDigest
		is(t, "AddGrant", w.AddGrant(t.Context(), g, "", ""), ErrConflict)
		is(t, "AddGrantWithTokens", w.AddGrantWithTokens(t.Context(), g, newPair(g.ID), proof(w.Store, g.UserID)),
			ErrConflict)
	})
}

func TestCodeIsRedeemedOnce(t *testing.T) {
	eachIsolation(t, func(t *testing.T, w world) {
		alice, a, stores := w.person(t, "alice"), w.application(t, "App"), w.pair(t)
		g := newGrant(alice.ID, a.ID)
		w.addGrant(t, g)
		pairs := make([][]Token, 64)
		for i := range pairs {
			pairs[i] = newPair(g.ID)
		}
		winner := oneWins(t, race(64, func(i int) error {
			return stores[i%2].RedeemCode(t.Context(), g.ID, at+int64(i%50), later, pairs[i])
		}))
		onlyTheseTokens(t, w.Store, pairs[winner][0].Digest, pairs[winner][1].Digest)
		got, err := w.GrantByCode(t.Context(), *g.CodeDigest, at)
		must(t, err)
		if got.CodeUsedAt == nil || *got.CodeUsedAt != at+int64(winner%50) || got.ExpiresAt != later {
			t.Errorf("the grant does not belong to the successful call: %+v", got)
		}
	})
}

// onlyTheseTokens checks that the failed calls stored no rows.
func onlyTheseTokens(t *testing.T, s *Store, want ...string) {
	t.Helper()
	stored := []string{}
	must(t, s.write.SelectContext(t.Context(), &stored, `SELECT digest FROM tokens ORDER BY digest`))
	if diff := cmp.Diff(want, stored); diff != "" {
		t.Errorf("stored tokens: %s", diff)
	}
}

func TestCodeThatCannotBeRedeemed(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, a := w.person(t, "alice"), w.application(t, "App")
		g := newGrant(alice.ID, a.ID)
		w.addGrant(t, g)
		is(t, "expired", w.RedeemCode(t.Context(), g.ID, g.CodeExpiresAt, later, newPair(g.ID)), ErrSpent)
		is(t, "unknown", w.RedeemCode(t.Context(), "unknown", at, later, newPair(g.ID)), ErrSpent)
		direct := newGrant(alice.ID, a.ID)
		direct.CodeDigest, direct.CodeExpiresAt = nil, 0
		pair := newPair(direct.ID)
		must(t, w.AddGrantWithTokens(t.Context(), direct, pair, proof(w.Store, direct.UserID)))
		is(t, "grant without a code", w.RedeemCode(t.Context(), direct.ID, at, later, newPair(g.ID)), ErrSpent)
		onlyTheseTokens(t, w.Store, pair[0].Digest, pair[1].Digest)
		is(t, "last moment", w.RedeemCode(t.Context(), g.ID, g.CodeExpiresAt-1, later, newPair(g.ID)), nil)
	})
}

func TestCodeStaysUnspentWhereItsTokensCannotBeStored(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, a, f := w.scene(t, "alice")
		g := newGrant(alice.ID, a.ID)
		w.addGrant(t, g)
		pair := newPair(g.ID)
		pair[1].Digest = f.refresh
		is(t, "token that exists", w.RedeemCode(t.Context(), g.ID, at, later, pair), ErrConflict)
		onlyTheseTokens(t, w.Store, f.access, f.refresh)
		is(t, "again", w.RedeemCode(t.Context(), g.ID, at, later, newPair(g.ID)), nil)
	})
}

func TestGrantWithTokensIsStoredAsAWhole(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, a, f := w.scene(t, "alice")
		g := newGrant(alice.ID, a.ID)
		g.CodeDigest = nil
		pair := newPair(g.ID)
		pair[0].Digest = f.access
		is(t, "token that exists", w.AddGrantWithTokens(t.Context(), g, pair, proof(w.Store, g.UserID)), ErrConflict)
		if n := count(t, w.Store, `SELECT COUNT(*) FROM grants`); n != 1 {
			t.Errorf("%d grants, want 1", n)
		}
		single := newPair(g.ID)[:1]
		must(t, w.AddGrantWithTokens(t.Context(), g, single, proof(w.Store, g.UserID)))
		if !live(t, w.Store, map[string]string{"": single[0].Digest})[""] {
			t.Error("an access token without a refresh token is not live")
		}
	})
}

func TestRevokedGrantEndsItsTokensAndNoOthers(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, a, f := w.scene(t, "alice")
		stays := w.family(t, alice.ID, a.ID)
		must(t, w.RevokeGrant(t.Context(), f.ID))
		got := live(t, w.Store, map[string]string{"access": f.access, "refresh": f.refresh, "other access": stays.access,
			"other refresh": stays.refresh})
		want := map[string]bool{"access": false, "refresh": false, "other access": true, "other refresh": true}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		_, err := w.GrantByCode(t.Context(), *f.CodeDigest, at)
		is(t, "its code", err, ErrNotFound)
		is(t, "RevokeGrant twice", w.RevokeGrant(t.Context(), f.ID), nil)
	})
}
