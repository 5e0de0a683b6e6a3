package storage

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRefreshTokenIsRotatedOnce(t *testing.T) {
	eachIsolation(t, func(t *testing.T, w world) {
		_, _, f := w.scene(t, "alice")
		stores, pairs := w.pair(t), make([][]Token, 64)
		for i := range pairs {
			pairs[i] = newPair(f.ID)
		}
		winner := oneWins(t, race(64, func(i int) error {
			return stores[i%2].RotateRefresh(t.Context(), f.refresh, f.ID, fmt.Sprint("sealed ", i), at+1,
				later+int64(i), pairs[i])
		}))
		want := []string{f.access, f.refresh, pairs[winner][0].Digest, pairs[winner][1].Digest}
		slices.Sort(want)
		onlyTheseTokens(t, w.Store, want...)
		old, err := w.TokenByDigest(t.Context(), f.refresh, at)
		must(t, err)
		if old.UsedAt == nil || *old.UsedAt != at+1 || old.Successor == nil ||
			*old.Successor != fmt.Sprint("sealed ", winner) {
			t.Errorf("the old token does not name its successor: %+v", old.Token)
		}
		if n := count(t, w.Store, `SELECT COUNT(*) FROM grants WHERE id = $1 AND expires_at >= $2 AND expires_at <= $2 + $3`,
			f.ID, later+int64(winner), 1_000/8+64); n != 1 {
			t.Error("the family does not expire when the new token does")
		}
	})
}

func TestTokenThatCannotBeRefreshed(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		_, _, f := w.scene(t, "alice")
		_, _, revoked := w.scene(t, "bob")
		must(t, w.RevokeToken(t.Context(), revoked.refresh))
		used := w.family(t, f.UserID, f.ApplicationID)
		must(t, w.RotateRefresh(t.Context(), used.refresh, used.ID, "", at, later, newPair(used.ID)))
		before := counts(t, w.Store)
		for name, c := range map[string]struct {
			digest, grant string
			now           int64
		}{
			"access token":                          {f.access, f.ID, at},
			"expired":                               {f.refresh, f.ID, later + 1},
			"unknown":                               {"unknown", f.ID, at},
			"revoked":                               {revoked.refresh, revoked.ID, at},
			"used":                                  {used.refresh, used.ID, at},
			"no such grant, so no token is used up": {f.refresh, "unknown", at},
		} {
			is(t, "RotateRefresh, "+name, w.RotateRefresh(t.Context(), c.digest, c.grant, "", c.now, later, newPair(c.grant)),
				ErrSpent)
			is(t, "KeepRefresh, "+name, w.KeepRefresh(t.Context(), c.digest, c.grant, c.now, later, later, newPair(c.grant)[0]),
				ErrSpent)
		}
		if diff := cmp.Diff(before, counts(t, w.Store)); diff != "" {
			t.Error(diff)
		}
		is(t, "at the last moment", w.RotateRefresh(t.Context(), f.refresh, f.ID, "", later, later, newPair(f.ID)), nil)
	})
}

func TestRefreshTokenThatIsKept(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		_, _, f := w.scene(t, "alice")
		for i := range 2 {
			must(t, w.KeepRefresh(t.Context(), f.refresh, f.ID, at+1, later+50, later+60, newPair(f.ID)[0]))
			got, err := w.TokenByDigest(t.Context(), f.refresh, at)
			must(t, err)
			if got.UsedAt != nil || got.ExpiresAt != later+50 || got.IssuedAt != at+1 {
				t.Errorf("the token is used at %v, issued at %d, expires at %d", got.UsedAt, got.IssuedAt, got.ExpiresAt)
			}
			if n := count(t, w.Store, `SELECT COUNT(*) FROM tokens`); n != 3+i {
				t.Errorf("%d tokens, want %d", n, 3+i)
			}
		}
		if n := count(t, w.Store, `SELECT COUNT(*) FROM grants WHERE expires_at >= $1 AND expires_at <= $1 + $2`, later+60,
			1_060/8); n != 1 {
			t.Error("the family was not prolonged")
		}
		got, err := w.TokenByDigest(t.Context(), f.access, at)
		must(t, err)
		if got.ExpiresAt != later {
			t.Error("the access token was prolonged too")
		}
	})
}

func TestRefreshTokenStaysUnspentWhereItsSuccessorsCannotBeStored(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		_, _, f := w.scene(t, "alice")
		pair := newPair(f.ID)
		pair[0].Digest = f.access
		is(t, "RotateRefresh", w.RotateRefresh(t.Context(), f.refresh, f.ID, "", at, later, pair), ErrConflict)
		is(t, "KeepRefresh", w.KeepRefresh(t.Context(), f.refresh, f.ID, at, later, later, pair[0]), ErrConflict)
		is(t, "again", w.RotateRefresh(t.Context(), f.refresh, f.ID, "", at, later, newPair(f.ID)), nil)
	})
}

func TestFamilyThatWasRevokedDoesNotGrow(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, a, f := w.scene(t, "alice")
		for name, revoke := range map[string]func(f family) error{
			"RevokeGrant":   func(f family) error { return w.RevokeGrant(t.Context(), f.ID) },
			"RevokeConsent": func(family) error { return w.RevokeConsent(t.Context(), alice.ID, a.ID) },
			"DisableUser": func(family) error {
				return errors.Join(w.DisableUser(t.Context(), alice.ID, at), w.UpdateUser(t.Context(), alice, nil, nil, Beside{}))
			},
		} {
			f = w.family(t, alice.ID, a.ID)
			must(t, revoke(f))
			before := counts(t, w.Store)
			is(t, "RotateRefresh after "+name, w.RotateRefresh(t.Context(), f.refresh, f.ID, "", at, later, newPair(f.ID)),
				ErrSpent)
			is(t, "KeepRefresh after "+name, w.KeepRefresh(t.Context(), f.refresh, f.ID, at, later, later, newPair(f.ID)[0]),
				ErrSpent)
			is(t, "RedeemCode after "+name, w.RedeemCode(t.Context(), f.ID, at, later, newPair(f.ID)), ErrSpent)
			if diff := cmp.Diff(before, counts(t, w.Store)); diff != "" {
				t.Errorf("after %s: %s", name, diff)
			}
		}
	})
}

func TestRevocationThatRacesWithRefreshLeavesNoLiveToken(t *testing.T) {
	eachIsolation(t, func(t *testing.T, w world) {
		alice, a, stores := w.person(t, "alice"), w.application(t, "App"), w.pair(t)
		for round := range 12 {
			f := w.family(t, alice.ID, a.ID)
			tokens := map[string]string{"access": f.access, "refresh": f.refresh}
			pairs := make([][]Token, 8)
			for i := range pairs {
				pairs[i] = newPair(f.ID)
				tokens[fmt.Sprint("access ", i)], tokens[fmt.Sprint("refresh ", i)] = pairs[i][0].Digest, pairs[i][1].Digest
			}
			revoker := round % len(pairs)
			for i, err := range race(len(pairs), func(i int) error {
				s := stores[i%2]
				switch {
				case i == revoker && round%2 == 0:
					return s.RevokeGrant(t.Context(), f.ID)
				case i == revoker:
					return s.RevokeConsent(t.Context(), alice.ID, a.ID)
				case i%3 == 0:
					return s.KeepRefresh(t.Context(), f.refresh, f.ID, at, later, later, pairs[i][0])
				}
				return s.RotateRefresh(t.Context(), f.refresh, f.ID, "", at, later, pairs[i])
			}) {
				if err != nil && (i == revoker || !errors.Is(err, ErrSpent)) {
					t.Fatalf("round %d, %d: %v", round, i, err)
				}
			}
			for name, is := range live(t, w.Store, tokens) {
				if is {
					t.Errorf("round %d: %s is still active", round, name)
				}
			}
		}
	})
}

// On PostgreSQL the test can hold both transactions at the moment when they meet. The
// refresh does not wait, and the tokens that it stored are revoked with the family.
func TestRefreshBesideARevocationGivesNothingThatLives(t *testing.T) {
	w := migrated(t, postgresURL(t))
	_, _, f := w.scene(t, "alice")
	revocation, err := w.write.BeginTxx(t.Context(), nil)
	must(t, err)
	defer revocation.Rollback()
	_, err = revocation.ExecContext(t.Context(), `DELETE FROM grants WHERE id = $1`, f.ID)
	must(t, err)
	pair := newPair(f.ID)
	must(t, w.RotateRefresh(t.Context(), f.refresh, f.ID, "", at, later, pair))
	must(t, revocation.Commit())
	for name, is := range live(t, w.Store,
		map[string]string{"access": f.access, "refresh": f.refresh, "new access": pair[0].Digest,
			"new refresh": pair[1].Digest}) {
		if is {
			t.Errorf("%s is still active", name)
		}
	}
}

// Only the first of many refreshes updates the row of the token family, because that
// row is in five indexes.
func TestRefreshSeldomWritesItsFamily(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		_, _, f := w.scene(t, "alice")
		digest, ends := f.refresh, map[int]bool{}
		for i := range int64(10) {
			pair := newPair(f.ID)
			must(t, w.RotateRefresh(t.Context(), digest, f.ID, "", at+i, later+i+1, pair))
			digest = pair[1].Digest
			ends[count(t, w.Store, `SELECT expires_at FROM grants WHERE id = $1 AND expires_at > $2`, f.ID, later+i)] = true
		}
		if len(ends) != 1 {
			t.Errorf("it was written %d times", len(ends))
		}
	})
}
