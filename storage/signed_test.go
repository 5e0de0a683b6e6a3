package storage

import (
	"slices"
	"testing"
)

// A signed access token is not stored. Its token family has only the row of the refresh
// token, and codes and refresh tokens are used like any others.
func TestSignedTokensHaveNoRow(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, a := w.person(t, "alice"), w.application(t, "App")
		g := newGrant(alice.ID, a.ID)
		w.addGrant(t, g)
		first, next := newPair(g.ID)[1:], newPair(g.ID)[1:]
		must(t, w.RedeemCode(t.Context(), g.ID, at, later, first))
		is(t, "RedeemCode again", w.RedeemCode(t.Context(), g.ID, at, later, newPair(g.ID)[1:]), ErrSpent)
		onlyTheseTokens(t, w.Store, first[0].Digest)
		must(t, w.KeepRefresh(t.Context(), first[0].Digest, g.ID, at+1, later+50, later+60))
		kept, err := w.TokenByDigest(t.Context(), first[0].Digest, at)
		must(t, err)
		if kept.ExpiresAt != later+50 || kept.UsedAt != nil {
			t.Errorf("kept: %+v", kept.Token)
		}
		must(t, w.RotateRefresh(t.Context(), first[0].Digest, g.ID, "", at+2, later, next))
		is(t, "RotateRefresh again", w.RotateRefresh(t.Context(), first[0].Digest, g.ID, "", at+2, later, newPair(g.ID)[1:]),
			ErrSpent)
		is(t, "KeepRefresh of a used token", w.KeepRefresh(t.Context(), first[0].Digest, g.ID, at+2, later, later), ErrSpent)
		both := []string{first[0].Digest, next[0].Digest}
		slices.Sort(both)
		onlyTheseTokens(t, w.Store, both...)
	})
}

// A signed token is valid only if its grant, application and person exist.
func TestSignedTokenIsReadByWhatStandsBehindIt(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, a, f := w.scene(t, "alice")
		found, err := w.TokenOfGrant(t.Context(), f.ID, at)
		must(t, err)
		if found.ClientID != a.ClientID || *found.UserID != alice.ID || *found.GrantID != f.ID || *found.Username != "alice" {
			t.Errorf("%+v", found)
		}
		own, err := w.TokenOfApplication(t.Context(), a.ID, "jti", 0)
		must(t, err)
		if own.Application != a.ID || own.ClientID != a.ClientID || own.UserID != nil || own.GrantID != nil {
			t.Errorf("%+v", own)
		}
		revoked := Token{Digest: "jti", ApplicationID: &a.ID, ExpiresAt: later}
		earlier := revoked
		earlier.ExpiresAt = later - 1
		for _, token := range []Token{earlier, revoked, earlier} { // the latest expiry is kept
			must(t, w.RevokeSigned(t.Context(), token, at))
		}
		is(t, "a revoked one", second(w.TokenOfApplication(t.Context(), a.ID, "jti", 0)), ErrNotFound)
		is(t, "another one", second(w.TokenOfApplication(t.Context(), a.ID, "other", 0)), nil)
		_, err = w.Sweep(t.Context(), later-1, 10)
		must(t, err)
		is(t, "until its end", second(w.TokenOfApplication(t.Context(), a.ID, "jti", 0)), ErrNotFound)
		_, err = w.Sweep(t.Context(), later, 10)
		must(t, err)
		is(t, "after its end", second(w.TokenOfApplication(t.Context(), a.ID, "jti", 0)), nil)
		must(t, w.RevokeGrant(t.Context(), f.ID))
		is(t, "without its family", second(w.TokenOfGrant(t.Context(), f.ID, at)), ErrNotFound)
		other := w.family(t, alice.ID, a.ID)
		_, err = w.write.ExecContext(t.Context(), `UPDATE users SET active = FALSE`)
		must(t, err)
		is(t, "of a disabled person", second(w.TokenOfGrant(t.Context(), other.ID, at)), ErrNotFound)
		must(t, w.DeleteApplication(t.Context(), a.ID))
		is(t, "of a deleted application", second(w.TokenOfApplication(t.Context(), a.ID, "other", 0)), ErrNotFound)
	})
}

// The longest lifetime decides how long a key stays published.
func TestLongestSigned(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		for _, step := range []struct {
			format, introspection string
			lifetime, want        int64
		}{{"opaque", "", 900, -1}, {"opaque", "ES256", 900, 0}, {"jwt", "", 0, 0}, {"jwt", "", 300, 300},
			{"jwt", "", 60, 300}} {
			a := w.application(t, "App")
			was := a
			a.AccessTokenFormat, a.AccessTokenLifetime, a.IntrospectionAlg = step.format, step.lifetime, step.introspection
			must(t, w.UpdateApplication(t.Context(), a, was))
			longest, err := w.LongestSigned(t.Context())
			must(t, err)
			if longest != step.want {
				t.Errorf("after %s, %d: %d, want %d", step.format, step.lifetime, longest, step.want)
			}
		}
	})
	each(t, func(t *testing.T, w world) {
		a := w.application(t, "App")
		was := a
		a.ResponseAlgorithm = "ES256"
		must(t, w.UpdateApplication(t.Context(), a, was))
		longest, err := w.LongestSigned(t.Context())
		must(t, err)
		if longest != 0 {
			t.Errorf("with signed responses: %d", longest)
		}
	})
}
