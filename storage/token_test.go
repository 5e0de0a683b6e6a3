package storage

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTokenIsReadWithWhatStandsBehindIt(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, a, f := w.scene(t, "Alice")
		w.scene(t, "bob")
		created := int64(at)
		want := LiveToken{
			Token:       Token{Digest: f.access, GrantID: &f.ID, Scope: "read", IssuedAt: at, ExpiresAt: later},
			Application: a.ID, ClientID: a.ClientID, UserID: &alice.ID, Username: &alice.Username,
			GrantScope: &f.Scope, GrantCreatedAt: &created, SessionID: &f.SessionID,
		}
		got, err := w.TokenByDigest(t.Context(), f.access)
		must(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		want.Token = Token{Digest: f.refresh, Refresh: true, GrantID: &f.ID, Scope: "read", IssuedAt: at, ExpiresAt: later + 1}
		got, err = w.TokenByDigest(t.Context(), f.refresh)
		must(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestTokenWithoutAGrantIsItsApplications(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		a := w.application(t, "App")
		token := Token{Digest: "own", ApplicationID: &a.ID, Scope: "read", IssuedAt: at, ExpiresAt: later}
		must(t, w.AddToken(t.Context(), token))
		is(t, "AddToken twice", w.AddToken(t.Context(), token), ErrConflict)
		got, err := w.TokenByDigest(t.Context(), "own")
		must(t, err)
		if diff := cmp.Diff(LiveToken{Token: token, Application: a.ID, ClientID: a.ClientID}, got); diff != "" {
			t.Error(diff)
		}
		must(t, w.DeleteApplication(t.Context(), a.ID))
		_, err = w.TokenByDigest(t.Context(), "own")
		is(t, "once the application is deleted", err, ErrNotFound)
	})
}

func TestTokenWithNothingBehindItIsNoToken(t *testing.T) {
	for name, end := range map[string]func(w world, u User, a Application, f family) error{
		"grant revoked":       func(w world, _ User, _ Application, f family) error { return w.RevokeGrant(t.Context(), f.ID) },
		"application deleted": func(w world, _ User, a Application, _ family) error { return w.DeleteApplication(t.Context(), a.ID) },
		"person disabled":     func(w world, u User, _ Application, _ family) error { return w.DisableUser(t.Context(), u.ID) },
		"person deleted":      func(w world, u User, _ Application, _ family) error { return w.DeleteUser(t.Context(), u.ID) },
		// The grant may have slipped in behind the one who deletes.
		"application gone, grant left": func(w world, _ User, a Application, _ family) error {
			_, err := w.exec(t.Context(), `DELETE FROM applications WHERE id = $1`, a.ID)
			return err
		},
		"person gone, grant left": func(w world, u User, _ Application, _ family) error {
			_, err := w.exec(t.Context(), `DELETE FROM users WHERE id = $1`, u.ID)
			return err
		},
		"person inactive, grant left": func(w world, u User, _ Application, _ family) error {
			_, err := w.exec(t.Context(), `UPDATE users SET active = FALSE WHERE id = $1`, u.ID)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, w world) {
				alice, a, f := w.scene(t, "alice")
				// A token may name its application beside its grant.
				both := Token{Digest: "both", GrantID: &f.ID, ApplicationID: &a.ID, ExpiresAt: later}
				must(t, w.AddToken(t.Context(), both))
				_, _, other := w.scene(t, "bob")
				must(t, end(w, alice, a, f))
				got := live(t, w.Store, map[string]string{"access": f.access, "refresh": f.refresh, "both": "both", "other": other.access})
				want := map[string]bool{"access": false, "refresh": false, "both": false, "other": true}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

func TestTokenThatNamesNothingIsNoToken(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		must(t, w.AddToken(t.Context(), Token{Digest: "names nothing", ExpiresAt: later}))
		for _, digest := range []string{"names nothing", "unknown", ""} {
			_, err := w.TokenByDigest(t.Context(), digest)
			is(t, digest, err, ErrNotFound)
		}
	})
}

func TestRevokedTokenIsGoneAndItsFamilyIsNot(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		_, _, f := w.scene(t, "alice")
		must(t, w.RevokeToken(t.Context(), f.access))
		got := live(t, w.Store, map[string]string{"access": f.access, "refresh": f.refresh})
		if diff := cmp.Diff(map[string]bool{"access": false, "refresh": true}, got); diff != "" {
			t.Error(diff)
		}
		is(t, "RevokeToken twice", w.RevokeToken(t.Context(), f.access), nil)
	})
}
