package storage

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTokenIsReadWithWhatStandsBehindIt(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, a, f := w.scene(t, "Alice")
		w.scene(t, "bob")
		created, none, outlives := int64(at), "", int64(0)
		want := LiveToken{
			Token:       Token{Digest: f.access, GrantID: &f.ID, Scope: "read", IssuedAt: at, ExpiresAt: later},
			Application: a.ID, ClientID: a.ClientID, UserID: &alice.ID, Username: &alice.Username,
			GrantType: &f.GrantType, GrantCreatedAt: &created, SessionID: &f.SessionID, SessionEndsAt: &outlives, Sector: &none, AuthTime: &f.AuthTime, Claims: &none, AMR: &f.AMR, ACR: &f.ACR,
			Scopes: a.Scopes, Responsible: ByOperator,
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
		is(t, "AddToken twice", w.AddToken(t.Context(), token), nil)
		got, err := w.TokenByDigest(t.Context(), "own")
		must(t, err)
		if diff := cmp.Diff(LiveToken{Token: token, Application: a.ID, ClientID: a.ClientID, Scopes: a.Scopes, Responsible: ByOperator}, got); diff != "" {
			t.Error(diff)
		}
		must(t, w.DeleteApplication(t.Context(), a.ID))
		_, err = w.TokenByDigest(t.Context(), "own")
		is(t, "once the application is deleted", err, ErrNotFound)
	})
}

func TestTokenWithNothingBehindItIsNoToken(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		raw := func(statement, id string) error { return second(w.exec(t.Context(), statement, id)) }
		for name, end := range map[string]func(userID, applicationID, grantID string) error{
			"grant revoked":       func(_, _, g string) error { return w.RevokeGrant(t.Context(), g) },
			"application deleted": func(_, a, _ string) error { return w.DeleteApplication(t.Context(), a) },
			"person disabled":     func(u, _, _ string) error { return w.DisableUser(t.Context(), u, at) },
			"person deleted":      func(u, _, _ string) error { return w.DeleteUser(t.Context(), u, at, Handover{Responsible: ByOperator}) },
			// A concurrent transaction may have added the grant after the deletion.
			"application gone, grant left": func(_, a, _ string) error { return raw(`DELETE FROM applications WHERE id = $1`, a) },
			"person gone, grant left":      func(u, _, _ string) error { return raw(`DELETE FROM users WHERE id = $1`, u) },
			"person inactive, grant left":  func(u, _, _ string) error { return raw(`UPDATE users SET active = FALSE WHERE id = $1`, u) },
		} {
			alice, a, f := w.scene(t, name)
			// A token may name its application in addition to its grant.
			must(t, w.AddToken(t.Context(), Token{Digest: "both " + name, GrantID: &f.ID, ApplicationID: &a.ID, ExpiresAt: later}))
			_, _, other := w.scene(t, "not "+name)
			must(t, end(alice.ID, a.ID, f.ID))
			got := live(t, w.Store, map[string]string{"access": f.access, "refresh": f.refresh, "both": "both " + name, "other": other.access})
			want := map[string]bool{"access": false, "refresh": false, "both": false, "other": true}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	})
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
