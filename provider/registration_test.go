package provider

import (
	"testing"
	"testing/synctest"
	"time"

	"mandate/provider/clients"
	"mandate/provider/policy"
)

// restricted sets one setting of each kind on which the allowances depend.
func restricted(c *Config) {
	c.GrantsByAdministrator, c.ScopesByAdministrator = []string{policy.GrantPassword}, []string{"groups"}
	c.DefaultScopes = []string{"read", "groups"}
	c.AccessTokenLifetime, c.JWTAccessTokenLifetime = 2*time.Hour, 90*time.Minute
	c.AccessTokenMax, c.JWTAccessTokenMax = 3*time.Hour, 4*time.Hour
}

// What may be registered depends on who is responsible for the application.
func TestRegistrationByStanding(t *testing.T) {
	f := begin(t, restricted)
	alice, root := f.person("alice"), f.person("root")
	root.Administrator = true
	plain := clients.Registration{Name: "Client", ClientType: policy.Confidential,
		GrantTypes: []string{policy.GrantClient}, HashClientSecret: true}
	open := f.app(public)
	f.sql("UPDATE applications SET responsible = 'nobody', grant_types = 'authorization_code'")
	for name, test := range map[string]struct {
		field         string
		change        func(*clients.Registration)
		administrator bool // whether it is permitted if an administrator is responsible
	}{
		"nothing special": {"", func(*clients.Registration) {}, true},
		"a shorter life": {"",
			func(r *clients.Registration) { r.AccessTokenLifetime, r.RefreshTokenLifetime = 60, 60 }, true},
		"a life as long as the server's": {"",
			func(r *clients.Registration) { r.AccessTokenLifetime = 2 * 3600 }, true},
		"a longer life": {"access_token_lifetime",
			func(r *clients.Registration) { r.AccessTokenLifetime = 2*3600 + 1 }, true},
		"a life that nobody may have": {"access_token_lifetime",
			func(r *clients.Registration) { r.AccessTokenLifetime = 3*3600 + 1 }, false},
		"a longer life of signed tokens": {"access_token_lifetime",
			func(r *clients.Registration) { r.AccessTokenFormat, r.AccessTokenLifetime = policy.FormatJWT, 5401 }, true},
		"a life of signed tokens that nobody may have": {"access_token_lifetime",
			func(r *clients.Registration) { r.AccessTokenFormat, r.AccessTokenLifetime = policy.FormatJWT, 4*3600+1 }, false},
		"a life below zero": {"access_token_lifetime",
			func(r *clients.Registration) { r.AccessTokenLifetime = -1 }, false},
		"a longer refresh": {"refresh_token_lifetime",
			func(r *clients.Registration) { r.RefreshTokenLifetime = 30*24*3600 + 1 }, true},
		"an administrators' grant": {"grant_type", grants(policy.GrantPassword), true},
		"an administrators' scope": {"scope",
			func(r *clients.Registration) { r.Scopes = []string{"groups"} }, true},
		"introspection": {"may_introspect", introspects, true},
		"no PKCE":       {"pkce", exempt, true},
		"no consent": {"skip_consent",
			func(r *clients.Registration) { r.SkipConsent = true }, true},
	} {
		r := plain
		test.change(&r)
		_, err := f.Clients.Register(t.Context(), policy.By(alice), r)
		if test.field == "" {
			wantError(t, err, "no error")
		} else {
			wantInvalid(t, err, test.field)
		}
		_, err = f.Clients.Register(t.Context(), policy.ByConfirmed(root), r)
		if (err == nil) != test.administrator {
			t.Errorf("%s, by an administrator: %v", name, err)
		}
	}
	r := clients.Registration{Name: "Client", ClientType: policy.Public, GrantTypes: []string{policy.GrantCode},
		RedirectURIs: []string{callback}, HashClientSecret: true}
	for field, change := range map[string]func(*clients.Registration){
		"":                      func(r *clients.Registration) { r.Name = "New" },
		"access_token_lifetime": func(r *clients.Registration) { r.AccessTokenLifetime = 60 },
		"client_type":           func(r *clients.Registration) { r.ClientType = policy.Confidential },
		"grant_type":            grants(policy.GrantCode, policy.GrantPassword),
		"scope":                 func(r *clients.Registration) { r.Scopes = []string{"write"} },
	} {
		r := r
		change(&r)
		_, err := f.Clients.Update(t.Context(), policy.By(root), open.Application.ID, f.version(open.Application.ID), r)
		if field == "" {
			wantError(t, err, "no error")
		} else {
			wantInvalid(t, err, field)
		}
	}
}

// A lifetime that needs an administrator is reduced when no administrator is responsible any
// more.
func TestLifetimesEndWithTheStanding(t *testing.T) {
	f := begin(t, shortJWT)
	root := f.person("root")
	f.sql("UPDATE users SET administrator = TRUE")
	root.Administrator = true
	asker := f.app(introspects)
	for _, test := range []struct {
		format string
		want   int64
	}{{policy.FormatOpaque, 36000}, {policy.FormatJWT, 600}} {
		app, err := f.Clients.Register(t.Context(), policy.ByConfirmed(root),
			clients.Registration{Name: "Client", ClientType: policy.Confidential, GrantTypes: []string{policy.GrantClient},
				HashClientSecret:  true,
				AccessTokenFormat: test.format, AccessTokenLifetime: 40000})
		if err != nil {
			t.Fatal(err)
		}
		token := f.must(f.token(app, "grant_type", policy.GrantClient)).AccessToken
		lives := func(want int64) {
			t.Helper()
			got, _, err := f.Tokens.Introspect(t.Context(), by(asker, "token", token), "192.0.2.1")
			if err != nil || got.ExpiresAt-got.IssuedAt != want {
				t.Errorf("%s: lives %d s, want %d (%v)", test.format, got.ExpiresAt-got.IssuedAt, want, err)
			}
		}
		lives(40000)
		f.sql("UPDATE users SET administrator = FALSE")
		lives(test.want)
		f.sql("UPDATE users SET administrator = TRUE")
	}
}

// The same holds for a refresh token, with rotation and without. A refresh token that is kept
// expires when it is unused for its lifetime, so each use counts.
func TestRefreshLifetimeEndsWithTheStanding(t *testing.T) {
	for name, setting := range map[string]func(*Config){"rotated": func(*Config) {}, "kept": keepThem} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := begin(t, setting) // a person's application has 30 days
				root := f.person("root")
				f.sql("UPDATE users SET administrator = TRUE WHERE username = 'root'")
				root.Administrator = true
				app, err := f.Clients.Register(t.Context(), policy.ByConfirmed(root),
					clients.Registration{Name: "Client", ClientType: policy.Confidential, GrantTypes: []string{policy.GrantCode},
						RedirectURIs:     []string{callback},
						HashClientSecret: true, RefreshTokenLifetime: 100 * 24 * 3600})
				if err != nil {
					t.Fatal(err)
				}
				alice := f.login("alice")
				idle, busy := f.tokens(app, alice).RefreshToken, f.tokens(app, alice).RefreshToken
				time.Sleep(40 * day)
				busy = f.must(f.refresh(app, busy)).RefreshToken
				f.wantActive(true, idle, busy)
				f.sql("UPDATE users SET administrator = FALSE")
				f.wantActive(false, idle)
				f.wantActive(true, busy)
				_, err = f.refresh(app, idle)
				wantError(t, err, "400 invalid_grant")
				for range 2 {
					time.Sleep(20 * day)
					busy = f.must(f.refresh(app, busy)).RefreshToken
					f.wantActive(true, busy)
				}
				f.sql("UPDATE users SET administrator = TRUE WHERE username = 'root'")
				f.wantActive(true, idle)
			})
		})
	}
}
