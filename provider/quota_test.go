package provider

import (
	"testing"
	"testing/synctest"
	"time"

	"mandate/provider/clients"
	"mandate/provider/framework"
	"mandate/provider/policy"
	"mandate/storage"
)

func TestQuotas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t, func(c *Config) {
			c.PersonQuota = policy.PersonQuota{Applications: 3, Sessions: 2, Approvals: 20, TokensPerMinute: 30, LiveTokens: 40}
		})
		alice := f.person("alice")
		r := clients.Registration{
			Name:             "Client",
			ClientType:       policy.Confidential,
			GrantTypes:       []string{policy.GrantClient, policy.GrantCode, policy.GrantPassword},
			RedirectURIs:     []string{callback},
			HashClientSecret: true,
		}
		var apps []*clients.Registered
		for range 3 {
			app, err := f.Clients.Register(t.Context(), policy.By(alice), r)
			if err != nil {
				t.Fatal(err)
			}
			apps = append(apps, app)
		}
		_, err := f.Clients.Register(t.Context(), policy.By(alice), r)
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
		refused := func(what string, app *clients.Registered, s *storage.SignedIn) {
			t.Helper()
			answer, err := f.Authorizations.Complete(t.Context(), f.authorize(app), s)
			if got := queryOf(
				t, answer.Location(),
			); err != nil || got.Get("error") != "temporarily_unavailable" || got.Has("code") {
				t.Error(what, err, got)
			}
		}
		approve := func(app *clients.Registered, s *storage.SignedIn, n int) {
			t.Helper()
			for range n {
				if f.code(app, s) == "" {
					t.Fatal("no code")
				}
			}
		}
		// One person may use a tenth of the quota that all people of an application share.
		approve(apps[0], s, 2)
		refused("a third authorization of one person", apps[0], s)
		for _, name := range []string{"c", "d", "e", "f", "g", "h"} {
			approve(apps[1], f.login(name), 2)
		}
		approve(apps[2], f.login("c"), 2)
		approve(apps[2], f.login("d"), 2)
		approve(apps[2], f.login("e"), 2)
		for range 100 { // a request without an authorization does not count
			f.authorize(apps[2])
		}
		refused("the twenty-first authorization", apps[2], s)
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

// An approval of a device counts like every other one.
func TestApprovalsOfDevicesAreCharged(t *testing.T) {
	f := begin(t, func(c *Config) { c.PersonQuota = policy.PersonQuota{Approvals: 20} })
	app, err := f.Clients.Register(t.Context(), policy.By(f.person("alice")), clients.Registration{
		Name:       "TV",
		ClientType: policy.Public,
		GrantTypes: []string{policy.GrantDevice},
	})
	if err != nil {
		t.Fatal(err)
	}
	bob := f.login("bob")
	for range 2 { // a tenth of the quota
		f.allow(f.asks(app), bob)
	}
	codes := f.asks(app)
	_, err = f.Devices.Approve(t.Context(), f.find(codes.UserCode, bob).Ticket, bob)
	wantError(t, err, "429 temporarily_unavailable")
	_, err = f.token(app, pollWith(codes)...)
	wantError(t, err, "400 authorization_pending")
}

// One person cannot use up the quota that all people of an application share.
func TestAPersonsShareOfAQuota(t *testing.T) {
	f := begin(t, func(c *Config) { c.PersonQuota = policy.PersonQuota{TokensPerMinute: 30} })
	alice, bob, carol := f.person("alice"), f.login("bob"), f.login("carol")
	app, err := f.Clients.Register(t.Context(), policy.By(alice), clients.Registration{
		Name:             "Client",
		ClientType:       policy.Confidential,
		GrantTypes:       []string{policy.GrantCode, policy.GrantClient, policy.GrantPassword},
		RedirectURIs:     []string{callback},
		HashClientSecret: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	answer := f.tokens(app, bob)
	answer = f.must(f.refresh(app, answer.RefreshToken))
	f.must(f.token(app, "grant_type", policy.GrantPassword, "username", "bob", "password", goodPassword))
	_, err = f.refresh(app, answer.RefreshToken)
	wantError(t, err, "429 temporarily_unavailable")
	f.wantActive(true, answer.RefreshToken) // the refused request did not invalidate the refresh token
	f.tokens(app, carol)
	f.must(f.token(app, "grant_type", policy.GrantClient))
}

// Both tokens of an authorization grant count in the quota, and so do both tokens of a refresh.
func TestEveryTokenIsCharged(t *testing.T) {
	f := begin(t)
	alice, bob := f.person("alice"), f.login("bob")
	app, err := f.Clients.Register(t.Context(), policy.By(alice), clients.Registration{
		Name:             "Client",
		ClientType:       policy.Confidential,
		GrantTypes:       []string{policy.GrantCode, policy.GrantPassword},
		RedirectURIs:     []string{callback},
		HashClientSecret: true,
	})
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
