package provider

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mandate/provider/clients"
	"mandate/provider/framework"
	"mandate/provider/logout"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/provider/policy"
)

// A suspended application gets no tokens, no introspection and no login, and its old tokens are
// not active.
func TestSuspendedApplication(t *testing.T) {
	f := begin(t)
	alice, bob := f.person("alice"), f.login("bob")
	r := clients.Registration{Name: "Client", ClientType: policy.Confidential, GrantTypes: []string{policy.GrantCode, policy.GrantClient}, RedirectURIs: []string{callback}, HashClientSecret: true}
	app, err := f.Register(t.Context(), &alice, r)
	if err != nil {
		t.Fatal(err)
	}
	r.ClientType, r.GrantTypes = policy.Public, []string{policy.GrantCode}
	open, err := f.Register(t.Context(), &alice, r)
	if err != nil {
		t.Fatal(err)
	}
	own, mine := f.must(f.token(app, "grant_type", policy.GrantClient)), f.tokens(app, bob)
	code := f.code(open, bob)
	ends := func(want bool) {
		t.Helper()
		f.wantActive(!want, own.AccessToken, mine.AccessToken, mine.RefreshToken)
		status, page := "no error", "no error"
		if want {
			status, page = "401 invalid_client", "400 unauthorized_client"
		}
		_, err := f.token(app, "grant_type", policy.GrantClient)
		wantError(t, err, status)
		_, err = f.Authorize(t.Context(), f.query(app))
		wantError(t, err, page)
		if want {
			_, err = f.exchange(open, code)
			wantError(t, err, status)
		}
		a, err := f.Application(t.Context(), nil, app.Application.ID)
		if err != nil {
			t.Fatal(err)
		}
		a.PostLogoutURIs = callback
		wantError(t, f.CheckLogoutURI(&logout.LogoutRequest{Application: &a, RedirectURI: callback}), page)
		// Without the right secret, the error does not show that the owner is missing.
		_, err = f.token(&clients.Registered{Application: app.Application, Secret: "wrong"}, "grant_type", policy.GrantClient)
		if strings.Contains(err.Error(), "suspended") {
			t.Error(err)
		}
	}
	ends(false)
	if err := f.DisableUser(t.Context(), "alice"); err != nil {
		t.Fatal(err)
	}
	ends(true)
	if err := f.EnableUser(t.Context(), "alice"); err != nil {
		t.Fatal(err)
	}
	ends(false)
	f.must(f.exchange(open, code))
	if err := f.DeleteUser(t.Context(), nil, alice.ID, people.TakeOver); err != nil {
		t.Fatal(err)
	}
	ends(false)
}

func TestOwnersOfApplications(t *testing.T) {
	f := begin(t)
	alice, root := f.person("alice"), f.person("root")
	root.Administrator = true
	f.sql("UPDATE users SET administrator = TRUE WHERE username = 'root'")
	r := clients.Registration{Name: "Client", ClientType: policy.Confidential, GrantTypes: []string{policy.GrantClient}, HashClientSecret: true}
	app, err := f.Register(t.Context(), &alice, r)
	if err != nil {
		t.Fatal(err)
	}
	id := app.Application.ID
	r.MayIntrospect = true
	_, err = f.UpdateApplication(t.Context(), &root, id, r)
	wantInvalid(t, err, "may_introspect")
	_, err = f.TakeOver(t.Context(), &alice, id)
	wantError(t, err, "403 access_denied")
	_, err = f.Assign(t.Context(), &alice, id, "root")
	wantError(t, err, "403 access_denied")
	taken, err := f.TakeOver(t.Context(), &root, id)
	if err != nil || policy.StandingOf(taken) != policy.StandingAdministrator || *taken.OwnerID != root.ID {
		t.Error(err, taken)
	}
	_, err = f.UpdateApplication(t.Context(), &root, id, r)
	wantError(t, err, "no error")
	asks := func(want string) {
		t.Helper()
		_, _, err := f.Introspect(t.Context(), by(app, "token", "any"), "192.0.2.1")
		wantError(t, err, want)
	}
	asks("no error")
	back, err := f.Assign(t.Context(), &root, id, "alice")
	if err != nil || policy.StandingOf(back) != policy.StandingPerson || back.MayIntrospect {
		t.Error(err, back)
	}
	asks("403 unauthorized_client")
	_ = f.DisableUser(t.Context(), "alice")
	_, err = f.Assign(t.Context(), &root, id, "alice")
	wantInvalid(t, err, "owner")
	_, err = f.Assign(t.Context(), nil, id, "nobody")
	wantInvalid(t, err, "owner")
	operators, err := f.TakeOver(t.Context(), nil, id)
	if err != nil || policy.StandingOf(operators) != policy.StandingAdministrator || operators.OwnerID != nil {
		t.Error(err, operators)
	}
	wantInvalid(t, f.DeleteUser(t.Context(), &root, root.ID, people.DeleteApplications), "username")
	for _, theirs := range []string{"", "keep"} {
		other, err := f.Register(t.Context(), &root, r)
		if err != nil {
			t.Fatal(err)
		}
		wantInvalid(t, f.DeleteUser(t.Context(), nil, root.ID, theirs), "applications")
		wantError(t, f.DeleteApplication(t.Context(), nil, other.Application.ID), "no error")
	}
}

func TestQuotas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t, func(c *Config) {
			c.PersonQuota = policy.Quota{Applications: 3, Sessions: 2, Approvals: 20, TokensPerMinute: 30, LiveTokens: 40}
		})
		alice := f.person("alice")
		r := clients.Registration{Name: "Client", ClientType: policy.Confidential, GrantTypes: []string{policy.GrantClient, policy.GrantCode, policy.GrantPassword}, RedirectURIs: []string{callback}, HashClientSecret: true}
		var apps []*clients.Registered
		for range 3 {
			app, err := f.Register(t.Context(), &alice, r)
			if err != nil {
				t.Fatal(err)
			}
			apps = append(apps, app)
		}
		_, err := f.Register(t.Context(), &alice, r)
		wantInvalid(t, err, "name")
		issue := func(most int) int {
			given := 0
			for i := range most {
				if _, err := f.token(apps[i%3], "grant_type", policy.GrantClient); err != nil {
					wantError(t, err, "429 temporarily_unavailable")
					if e := framework.Failed(err); e.RetryAfter != 2 {
						t.Errorf("wait for %d s, want 2", e.RetryAfter)
					}
					break
				}
				given++
			}
			return given
		}
		if n := issue(50); n != 30 {
			t.Errorf("%d tokens in a minute, want 30", n)
		}
		time.Sleep(time.Minute)
		if n := issue(50); n != 10 {
			t.Errorf("%d more tokens live, want 10", n)
		}
		f.must(f.token(f.app(), "grant_type", policy.GrantClient)) // an application of the operator
		// A second request right after the first needs no other count in the database.
		f.sql("DELETE FROM tokens")
		if n := issue(1); n != 0 {
			t.Error("it was counted again at once")
		}
		time.Sleep(3 * time.Second)
		if n := issue(1); n != 1 {
			t.Error("it was not counted again")
		}
		time.Sleep(10 * time.Hour)
		s := f.login("bob")
		refused := func(what string, app *clients.Registered, s *SignedIn) {
			t.Helper()
			answer, err := f.Complete(t.Context(), f.authorize(app), s)
			if got := queryOf(t, answer.Location()); err != nil || got.Get("error") != "temporarily_unavailable" || got.Has("code") {
				t.Error(what, err, got)
			}
		}
		approve := func(app *clients.Registered, s *SignedIn, n int) {
			t.Helper()
			for range n {
				if f.code(app, s) == "" {
					t.Fatal("no code")
				}
			}
		}
		// One person may use a tenth of the quota that all users of an application share.
		approve(apps[0], s, 2)
		refused("a third approval of one person", apps[0], s)
		for _, name := range []string{"c", "d", "e", "f", "g", "h"} {
			approve(apps[1], f.login(name), 2)
		}
		approve(apps[2], f.login("c"), 2)
		approve(apps[2], f.login("d"), 2)
		approve(apps[2], f.login("e"), 2)
		for range 100 { // a request without an approval does not count
			f.authorize(apps[2])
		}
		refused("the twenty-first approval", apps[2], s)
		_, err = f.token(apps[0], "grant_type", policy.GrantPassword, "username", "bob", "password", goodPassword)
		wantError(t, err, "429 temporarily_unavailable")
		time.Sleep(time.Minute)
		f.code(apps[1], s)
		for range 4 {
			f.login("bob")
		}
		if n := f.count("sessions WHERE user_id = '" + s.User.ID + "'"); n != 2 {
			t.Errorf("%d sessions, want 2", n)
		}
		f.sql("UPDATE users SET administrator = TRUE WHERE username = 'bob'")
		for range 4 {
			f.login("bob")
		}
		if n := f.count("sessions WHERE user_id = '" + s.User.ID + "'"); n != 6 {
			t.Errorf("%d sessions of an administrator, want 6", n)
		}
	})
}

// A scope that the application may no longer have is removed from its valid tokens of both formats. It returns when the
// application may have it again.
func TestRemovedScopeLeavesLiveTokens(t *testing.T) {
	f := begin(t, shortJWT)
	asker := f.app(introspects)
	for name, format := range map[string]func(*clients.Registration){policy.FormatOpaque: func(*clients.Registration) {}, policy.FormatJWT: signed} {
		app := f.app(format, func(r *clients.Registration) { r.Scopes = []string{"read", "write"} })
		token := f.must(f.token(app, "grant_type", policy.GrantClient)).AccessToken
		for _, scopes := range [][]string{{"read", "write"}, {"write"}, {"groups"}, {"write", "read", "groups"}} {
			err := f.change(app, format, func(r *clients.Registration) { r.Scopes = scopes })
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := f.Introspect(t.Context(), by(asker, "token", token), "192.0.2.1")
			if err != nil {
				t.Fatal(err)
			}
			want := strings.Join(oauth.Narrow([]string{"read", "write"}, scopes), " ")
			if got.Active != (want != "") || got.Scope != want {
				t.Errorf("%s, with %q: active %t, scope %q", name, scopes, got.Active, got.Scope)
			}
		}
	}
}

// A signed token is valid for its permitted lifetime, and the key that verifies it is published
// for as long.
func TestRetiredKeysStayAsLongAsSignedTokensLive(t *testing.T) {
	f := begin(t, shortJWT, func(c *Config) { c.JWTAccessTokenMax = 24 * time.Hour })
	f.app(signed)
	f.sql("UPDATE applications SET access_token_lifetime = 31536000")
	wantError(t, f.RotateKey(t.Context(), "EC", 0), "no error")
	states, err := f.KeyStates(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	retired := 0
	for _, k := range states {
		if k.RetiredAt == 0 {
			continue
		}
		retired++
		if lives := k.ExpiresAt - oauth.Now(); lives > 26*3600 || lives < 24*3600 {
			t.Errorf("a retired key is published for %d s more, want a day and an hour", lives)
		}
	}
	if retired != 1 {
		t.Errorf("%d keys are retired", retired)
	}
}

// Both tokens of an approval count in the quota, and so do both tokens of a refresh.
func TestEveryTokenIsCharged(t *testing.T) {
	f := begin(t)
	alice, bob := f.person("alice"), f.login("bob")
	app, err := f.Register(t.Context(), &alice, clients.Registration{Name: "Client", ClientType: policy.Confidential, GrantTypes: []string{policy.GrantCode, policy.GrantPassword}, RedirectURIs: []string{callback}, HashClientSecret: true})
	if err != nil {
		t.Fatal(err)
	}
	charged := func(want int) {
		t.Helper()
		if n := f.count("tokens WHERE charged_to = '" + alice.ID + "'"); n != want {
			t.Errorf("%d tokens are charged, want %d", n, want)
		}
	}
	answer := f.tokens(app, bob)
	charged(2)
	f.must(f.refresh(app, answer.RefreshToken))
	charged(3) // the used refresh token no longer counts
	f.must(f.token(app, "grant_type", policy.GrantPassword, "username", "bob", "password", goodPassword))
	charged(5)
	if n := f.count("grants WHERE charged_to = '" + alice.ID + "'"); n != 2 {
		t.Errorf("%d grants are charged, want 2", n)
	}
	f.tokens(f.app(), bob) // an application of the operator
	charged(5)
}
