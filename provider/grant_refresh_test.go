package provider

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mandate/provider/clients"
	"mandate/provider/dpop"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/provider/tokens"
	"mandate/storage"
)

const day = 24 * time.Hour

func grace(c *Config)    { c.RefreshGrace, c.OpenRefreshGrace = 10*time.Second, 30*time.Second }
func keepThem(c *Config) { c.Grant.RotateRefreshTokens = false }

func TestRefresh(t *testing.T) {
	f := begin(t)
	app, other, open, s := f.app(), f.app(), f.app(public), f.login("alice")
	t.Run("RFC9700/4.14.2 each refresh gives a new refresh token, and the old one is spent", func(t *testing.T) {
		for _, app := range []*clients.Registered{app, open} {
			first := f.tokens(app, s)
			second := f.must(f.refresh(app, first.RefreshToken))
			if second.RefreshToken == first.RefreshToken || second.AccessToken == first.AccessToken {
				t.Error("a token is given twice")
			}
			f.wantActive(true, first.AccessToken, second.AccessToken, second.RefreshToken)
			f.wantActive(false, first.RefreshToken)
		}
	})
	t.Run("RFC6749/6 the scope can be narrowed, and the refresh token keeps all of it", func(t *testing.T) {
		answer := f.tokens(app, s, "scope", "read write groups")
		for _, test := range [][2]string{
			{"read", "read"},
			{"groups write", "groups write"},
			{"-", "read write groups"},
			{"", "read write groups"},
			{"write", "write"},
			{"read write groups", "read write groups"},
		} {
			answer = f.must(f.refresh(app, answer.RefreshToken, "scope", test[0]))
			access, _ := f.Tokens.LiveToken(t.Context(), answer.AccessToken)
			refresh, _ := f.Tokens.LiveToken(t.Context(), answer.RefreshToken)
			if d := cmp.Diff(
				[]string{test[1], test[1], "read write groups"}, []string{answer.Scope, access.Scope, refresh.Scope},
			); d != "" {
				t.Errorf("scope %q: %s", test[0], d)
			}
		}
	})
	t.Run("RFC6749/6 the scope cannot be widened, and asking spends nothing", func(t *testing.T) {
		answer := f.tokens(app, s, "scope", "read")
		for _, scope := range []string{"write", "read write", "unknown", "introspection", "READ", "read  write", `"`} {
			_, err := f.refresh(app, answer.RefreshToken, "scope", scope)
			wantError(t, err, "400 invalid_scope")
		}
		f.must(f.refresh(app, answer.RefreshToken))
	})
	t.Run("RFC6749/6 a refresh token is bound to its client", func(t *testing.T) {
		answer := f.tokens(app, s)
		for _, thief := range []*clients.Registered{other, open} {
			_, err := f.refresh(thief, answer.RefreshToken)
			wantError(t, err, "400 invalid_grant")
		}
		_, _, err := f.Grants.Token(t.Context(), post(values(
			"grant_type", policy.GrantRefresh, "refresh_token", answer.RefreshToken,
		)), "")
		wantError(t, err, "401 invalid_client")
		_, _, err = f.Grants.Token(t.Context(), post(values(
			"grant_type", policy.GrantRefresh, "refresh_token", answer.RefreshToken, "client_id", app.Application.ClientID,
		)), "")
		wantError(t, err, "401 invalid_client")
		f.wantActive(true, answer.AccessToken, answer.RefreshToken)
	})
	t.Run("RFC6749/6 an access token refreshes nothing", func(t *testing.T) {
		machine := f.must(f.token(app, "grant_type", policy.GrantClient))
		answer := f.tokens(app, s)
		for _, token := range []string{machine.AccessToken, answer.AccessToken} {
			_, err := f.refresh(app, token)
			wantError(t, err, "400 invalid_grant")
		}
		f.wantActive(true, machine.AccessToken, answer.AccessToken, answer.RefreshToken)
	})
	t.Run("RFC9700/4.14.2 reuse ends the family, and no other", func(t *testing.T) {
		for _, app := range []*clients.Registered{app, open} {
			bystander := f.tokens(app, s)
			first := f.tokens(app, s)
			second := f.must(f.refresh(app, first.RefreshToken))
			third := f.must(f.refresh(app, second.RefreshToken))
			_, err := f.refresh(app, first.RefreshToken)
			wantError(t, err, "400 invalid_grant")
			f.wantActive(
				false, first.AccessToken, second.AccessToken, third.AccessToken, second.RefreshToken, third.RefreshToken,
			)
			_, err = f.refresh(app, third.RefreshToken)
			wantError(t, err, "400 invalid_grant")
			f.wantActive(true, bystander.AccessToken, bystander.RefreshToken)
		}
	})
	t.Run("reuse by another client ends nothing", func(t *testing.T) {
		first := f.tokens(app, s)
		second := f.must(f.refresh(app, first.RefreshToken))
		_, err := f.refresh(other, first.RefreshToken)
		wantError(t, err, "400 invalid_grant")
		f.wantActive(true, second.AccessToken, second.RefreshToken)
	})
	t.Run("CVE-2026-1035 of many at once at most one wins", func(t *testing.T) {
		for range 5 {
			first := f.tokens(open, s)
			won := f.race(t, open, first.RefreshToken)
			if len(won) != 1 {
				t.Fatal(len(won), "refreshes of one token")
			}
			f.wantActive(false, first.AccessToken, won[0].AccessToken, won[0].RefreshToken)
		}
	})
}

func (f *fixture) race(t *testing.T, app *clients.Registered, token string) []*tokens.TokenResponse {
	start := make(chan struct{})
	var wg sync.WaitGroup
	var mu sync.Mutex
	var won []*tokens.TokenResponse
	for range 8 {
		wg.Go(func() {
			<-start
			answer, err := f.refresh(app, token)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won = append(won, answer)
			} else if kind(err) != "400 invalid_grant" {
				t.Error(err)
			}
		})
	}
	close(start)
	wg.Wait()
	return won
}

// CVE-2026-43983: a change of the person, the application or the consent affects the refresh
// token.
func TestRefreshMeanwhile(t *testing.T) {
	for _, test := range []struct {
		rule   string
		change func(*testing.T, *fixture, *clients.Registered, *storage.SignedIn) error
		want   string
		dead   bool // the tokens are inactive at once
	}{
		{"the account is disabled", func(t *testing.T, f *fixture, _ *clients.Registered, s *storage.SignedIn) error {
			return f.People.DisableUser(t.Context(), s.User.Username)
		}, "400 invalid_grant", true},
		{
			"the account is disabled by an administrator's form",
			func(t *testing.T, f *fixture, _ *clients.Registered, s *storage.SignedIn) error {
				return f.People.UpdateUser(t.Context(), policy.Operator(), s.User.ID, people.Person{
					Username: s.User.Username,
					Inactive: true,
				})
			},
			"400 invalid_grant",
			true,
		},
		{
			"the account is disabled behind our back",
			func(_ *testing.T, f *fixture, _ *clients.Registered, _ *storage.SignedIn) error {
				f.sql("UPDATE users SET active = FALSE")
				return nil
			},
			"400 invalid_grant",
			true,
		},
		{
			"the account is disabled and enabled again",
			func(t *testing.T, f *fixture, _ *clients.Registered, s *storage.SignedIn) error {
				_ = f.People.DisableUser(t.Context(), s.User.Username)
				return f.People.UpdateUser(t.Context(), policy.Operator(), s.User.ID, people.Person{Username: s.User.Username})
			},
			"400 invalid_grant",
			true,
		},
		{"the person is deleted", func(t *testing.T, f *fixture, _ *clients.Registered, s *storage.SignedIn) error {
			return f.People.DeleteUser(t.Context(), policy.Operator(), s.User.ID, "")
		}, "400 invalid_grant", true},
		{"the consent is revoked", func(t *testing.T, f *fixture, app *clients.Registered, s *storage.SignedIn) error {
			return f.People.Revoke(t.Context(), s.User.ID, app.Application.ID)
		}, "400 invalid_grant", true},
		{"the application is deleted", func(t *testing.T, f *fixture, app *clients.Registered, _ *storage.SignedIn) error {
			return f.Clients.Delete(t.Context(), policy.Operator(), app.Application.ID)
		}, "401 invalid_client", true},
		{
			"the application loses its grants",
			func(t *testing.T, f *fixture, app *clients.Registered, _ *storage.SignedIn) error {
				return f.change(app, grants(policy.GrantClient))
			},
			"400 unauthorized_client",
			false,
		},
		{
			"the application loses the grant by which the family began, and keeps another",
			func(t *testing.T, f *fixture, app *clients.Registered, _ *storage.SignedIn) error {
				return f.change(app, grants(policy.GrantPassword))
			},
			"400 invalid_grant",
			false,
		},
		{
			"the application loses every scope of the grant",
			func(t *testing.T, f *fixture, app *clients.Registered, _ *storage.SignedIn) error {
				return f.change(app, func(r *clients.Registration) { r.Scopes = []string{"groups"} })
			},
			"400 invalid_grant",
			true,
		},
		{"the person signs out", func(t *testing.T, f *fixture, _ *clients.Registered, s *storage.SignedIn) error {
			return f.Logouts.Logout(t.Context(), s)
		}, "no error", false},
		{
			"the person changes the password, and keeps what was allowed",
			func(t *testing.T, f *fixture, _ *clients.Registered, s *storage.SignedIn) error {
				return second(f.People.ChangePassword(t.Context(), s, people.Passwords{
					Current:       goodPassword,
					Next:          "another few words",
					KeepApprovals: true,
				}))
			},
			"no error",
			false,
		},
	} {
		t.Run(test.rule, func(t *testing.T) {
			f := begin(t)
			app, s := f.app(), f.login("alice")
			answer := f.tokens(app, s, "scope", "read write")
			err := test.change(t, f, app, s)
			if err != nil {
				t.Fatal(err)
			}
			f.wantActive(!test.dead, answer.AccessToken, answer.RefreshToken)
			_, err = f.refresh(app, answer.RefreshToken)
			wantError(t, err, test.want)
		})
	}
	t.Run("a scope that is taken away is not in the next token, and comes back with the right to it", func(t *testing.T) {
		f := begin(t)
		app := f.app()
		answer := f.tokens(app, f.login("alice"), "scope", "read write")
		for _, test := range []struct{ scopes, want string }{{"write groups", "write"}, {"read write groups", "read write"}} {
			err := f.change(app, func(r *clients.Registration) { r.Scopes = strings.Fields(test.scopes) })
			if err != nil {
				t.Fatal(err)
			}
			answer = f.must(f.refresh(app, answer.RefreshToken))
			if d := cmp.Diff(test.want, answer.Scope); d != "" {
				t.Error(d)
			}
		}
	})
}

func TestRefreshLifetime(t *testing.T) {
	short := func(c *Config) { c.RefreshTokenLifetime, c.RefreshTokenMaxLifetime = 10*day, 25*day }
	for name, setting := range map[string]func(*Config){"rotated": func(*Config) {}, "kept": keepThem} {
		t.Run(name+": it ends after disuse", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := begin(t, short, setting)
				app, s := f.app(), f.login("alice")
				first, second := f.tokens(app, s), f.tokens(app, s)
				time.Sleep(10*day - time.Second)
				f.must(f.refresh(app, first.RefreshToken))
				time.Sleep(time.Second)
				_, err := f.refresh(app, second.RefreshToken)
				wantError(t, err, "400 invalid_grant")
				f.wantActive(false, second.RefreshToken)
			})
		})
		t.Run(name+": it ends with its family, however busy", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := begin(t, short, setting)
				app := f.app()
				answer := f.tokens(app, f.login("alice"))
				for range 4 {
					time.Sleep(6 * day)
					answer = f.must(f.refresh(app, answer.RefreshToken))
				}
				time.Sleep(day - time.Second)
				answer = f.must(f.refresh(app, answer.RefreshToken))
				time.Sleep(time.Second)
				_, err := f.refresh(app, answer.RefreshToken)
				wantError(t, err, "400 invalid_grant")
				f.wantActive(true, answer.AccessToken) // the access token has its own lifetime
				_, err = f.store.Sweep(t.Context(), oauth.Now(), 1000)
				if err != nil {
					t.Fatal(err)
				}
				f.wantActive(true, answer.AccessToken)
				time.Sleep(10 * time.Hour)
				f.wantActive(false, answer.AccessToken)
			})
		})
	}
	t.Run("without rotation a confidential client keeps its token, and a public one does not", func(t *testing.T) {
		f := begin(t, keepThem)
		s := f.login("alice")
		app, open := f.app(), f.app(public)
		first := f.tokens(app, s, "scope", "read write")
		second := f.must(f.refresh(app, first.RefreshToken, "scope", "read"))
		third := f.must(f.refresh(app, first.RefreshToken))
		if second.RefreshToken != first.RefreshToken || third.RefreshToken != first.RefreshToken || second.Scope != "read" ||
			third.Scope != "read write" {
			t.Error(second, third)
		}
		f.wantActive(true, first.AccessToken, second.AccessToken, third.AccessToken, first.RefreshToken)
		if won := f.race(t, app, first.RefreshToken); len(won) != 8 {
			t.Error(len(won), "of 8 refreshes at once")
		}
		first = f.tokens(open, s)
		second = f.must(f.refresh(open, first.RefreshToken))
		_, err := f.refresh(open, first.RefreshToken)
		wantError(t, err, "400 invalid_grant")
		f.wantActive(false, second.AccessToken, second.RefreshToken)
	})
}

// RFC 9449 §5: the refresh token of a public client is bound to its key. That of a client that
// authenticates needs a proof by any key. The client becomes public, and so the token would be
// useful to anybody.
func TestRefreshOfAClientThatBecamePublic(t *testing.T) {
	f := begin(t)
	app, s := f.app(), f.login("alice")
	proven := func(r *http.Request) (*tokens.TokenResponse, error) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		proof, err := dpop.Make("ES256", key, map[string]any{"htm": http.MethodPost, "htu": f.config.Issuer + "/token"})
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("DPoP", proof)
		answer, _, err := f.Grants.Token(t.Context(), r, "192.0.2.1")
		return answer, err
	}
	first := f.must(proven(by(
		app, "grant_type", policy.GrantCode, "code", f.code(app, s), "redirect_uri", callback, "code_verifier", verifier,
	)))
	again := f.must(proven(by(app, "grant_type", policy.GrantRefresh, "refresh_token", first.RefreshToken)))
	f.sql(`UPDATE applications SET client_type = 'public', secret = ''`)
	f.forgetCopies()
	app.Application.ClientType = policy.Public
	_, err := proven(by(app, "grant_type", policy.GrantRefresh, "refresh_token", again.RefreshToken))
	wantError(t, err, "400 invalid_grant")
}
