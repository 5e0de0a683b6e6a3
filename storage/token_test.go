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
			GrantType: &f.GrantType, GrantCreatedAt: &created, SessionID: &f.SessionID, SessionEndsAt: &outlives, Sector: &none,
			AuthTime: &f.AuthTime, Claims: &none, AMR: &f.AMR, ACR: &f.ACR,
			Scopes: a.Scopes, Responsible: ByOperator,
		}
		got, err := w.TokenByDigest(t.Context(), f.access, at)
		must(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		want.Token = Token{Digest: f.refresh, Refresh: true, GrantID: &f.ID, Scope: "read", IssuedAt: at,
			ExpiresAt: later + 1}
		got, err = w.TokenByDigest(t.Context(), f.refresh, at)
		must(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestRefreshTokenIsReadWithItsGrant(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, a := w.person(t, "Alice"), w.application(t, "App")
		w.scene(t, "bob")
		g := newGrant(alice.ID, a.ID)
		g.SessionEndsAt, g.Sector, g.Claims = later, "sector.example", `{"id_token":{}}`
		pair := newPair(g.ID)
		pair[1].Resource, pair[1].CNF = "https://api.example/", "jkt:thumbprint"
		w.addGrant(t, g)
		must(t, w.RedeemCode(t.Context(), g.ID, at, later, pair))
		want := RefreshToken{Token: pair[1], Username: alice.Username,
			Grant: Grant{ID: g.ID, GrantType: g.GrantType, ApplicationID: a.ID, UserID: alice.ID, SessionID: g.SessionID,
				SessionEndsAt: later, CreatedAt: at, AuthTime: g.AuthTime, Claims: g.Claims, AMR: g.AMR, ACR: g.ACR,
				Sector: g.Sector}}
		want.GrantID = nil // it is that of Grant
		got, err := w.RefreshTokenByDigest(t.Context(), pair[1].Digest, at)
		must(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		used, successor := int64(at+1), "sealed"
		want.UsedAt, want.Successor = &used, &successor
		must(t, w.RotateRefresh(t.Context(), pair[1].Digest, g.ID, successor, used, later, newPair(g.ID)))
		got, err = w.RefreshTokenByDigest(t.Context(), pair[1].Digest, at)
		must(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("once used: %s", diff)
		}
	})
}

// A password grant of an older release has no sector of its own.
func TestSectorOfAnOldPasswordGrant(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, a, f := w.scene(t, "alice")
		_, err := w.exec(t.Context(), `UPDATE applications SET sector = 'sector.example' WHERE id = $1`, a.ID)
		must(t, err)
		for grantType, want := range map[string]string{"password": "sector.example", "authorization_code": ""} {
			_, err = w.exec(t.Context(), `UPDATE grants SET grant_type = $1 WHERE user_id = $2`, grantType, alice.ID)
			must(t, err)
			token, err := w.TokenByDigest(t.Context(), f.refresh, at)
			must(t, err)
			refresh, err := w.RefreshTokenByDigest(t.Context(), f.refresh, at)
			must(t, err)
			if *token.Sector != want || refresh.Grant.Sector != want {
				t.Errorf("%s: the sector is %q and %q, want %q", grantType, *token.Sector, refresh.Grant.Sector, want)
			}
		}
	})
}

func TestTokenWithoutAGrantIsItsApplications(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		a := w.application(t, "App")
		token := Token{Digest: "own", ApplicationID: &a.ID, Scope: "read", IssuedAt: at, ExpiresAt: later}
		must(t, w.AddToken(t.Context(), token))
		is(t, "AddToken twice", w.AddToken(t.Context(), token), nil)
		got, err := w.TokenByDigest(t.Context(), "own", at)
		must(t, err)
		if diff := cmp.Diff(LiveToken{Token: token, Application: a.ID, ClientID: a.ClientID, Scopes: a.Scopes,
			Responsible: ByOperator}, got); diff != "" {
			t.Error(diff)
		}
		must(t, w.DeleteApplication(t.Context(), a.ID))
		_, err = w.TokenByDigest(t.Context(), "own", at)
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
			"person deleted": func(u, _, _ string) error {
				return w.DeleteUser(t.Context(), u, at, Handover{Responsible: ByOperator})
			},
			// A concurrent transaction may have added the grant after the deletion.
			"application gone, grant left": func(_, a, _ string) error {
				return raw(`DELETE FROM applications WHERE id = $1`, a)
			},
			"person gone, grant left": func(u, _, _ string) error { return raw(`DELETE FROM users WHERE id = $1`, u) },
			"person inactive, grant left": func(u, _, _ string) error {
				return raw(`UPDATE users SET active = FALSE WHERE id = $1`, u)
			},
		} {
			alice, a, f := w.scene(t, name)
			// A token may name its application in addition to its grant.
			must(t, w.AddToken(t.Context(),
				Token{Digest: "both " + name, GrantID: &f.ID, ApplicationID: &a.ID, ExpiresAt: later}))
			_, _, other := w.scene(t, "not "+name)
			must(t, end(alice.ID, a.ID, f.ID))
			got := live(t, w.Store, map[string]string{"access": f.access, "refresh": f.refresh, "both": "both " + name,
				"other": other.access})
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
			_, err := w.TokenByDigest(t.Context(), digest, at)
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
