package policy

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mandate/provider/oauth"
	"mandate/storage"
)

func owned(by string, active, administrator bool) storage.Application {
	return storage.Application{
		Responsible:        by,
		OwnerID:            new("alice"),
		OwnerActive:        &active,
		OwnerAdministrator: &administrator,
	}
}

func TestStandingOf(t *testing.T) {
	for _, test := range []struct {
		rule      string
		app       storage.Application
		standing  Standing
		suspended bool
		charged   string
	}{
		{"the operator's", storage.Application{Responsible: storage.ByOperator}, StandingAdministrator, false, ""},
		{"the operator's, with an owner", owned(storage.ByOperator, true, false), StandingAdministrator, false, ""},
		{
			"the operator's, with an owner who is disabled",
			owned(storage.ByOperator, false, false),
			StandingAdministrator,
			false,
			"",
		},
		{"an administrator's", owned(storage.ByOwner, true, true), StandingAdministrator, false, ""},
		{"a person's", owned(storage.ByOwner, true, false), StandingPerson, false, "alice"},
		{"an administrator's who is disabled", owned(storage.ByOwner, false, true), StandingPerson, true, "alice"},
		{"a person's who is disabled", owned(storage.ByOwner, false, false), StandingPerson, true, "alice"},
		{"of an owner who is gone", storage.Application{Responsible: storage.ByOwner}, StandingPerson, true, ""},
		{"nobody's", storage.Application{Responsible: storage.ByNobody}, StandingOpen, false, openApplications},
		{
			"nobody's, with an owner who was an administrator",
			owned(storage.ByNobody, true, true),
			StandingOpen,
			false,
			openApplications,
		},
		{"of a program that said nothing", storage.Application{}, StandingPerson, false, ""},
	} {
		got := []any{StandingOf(test.app), Suspended(test.app), oauth.Deref(ChargedTo(test.app))}
		if d := cmp.Diff([]any{test.standing, test.suspended, test.charged}, got); d != "" {
			t.Error(test.rule, d)
		}
	}
}

// settings are those of a server with four scopes.
func settings() Settings {
	return Settings{
		Scopes: []Scope{{
			Name:        "read",
			Description: "Read",
		}, {
			Name:        "write",
			Description: "Write",
		}, {Name: "groups", Description: "Groups"}, {Name: "introspection", Description: "Introspect"}},
		AccessTokenLifetime:      10 * time.Hour,
		AccessTokenMax:           365 * 24 * time.Hour,
		JWTAccessTokenMax:        365 * 24 * time.Hour,
		RefreshTokenLifetime:     30 * 24 * time.Hour,
		RefreshTokenMaxLifetime:  365 * 24 * time.Hour,
		OpenAccessTokenLifetime:  time.Hour,
		OpenRefreshTokenLifetime: 20 * 24 * time.Hour,
		RefreshGrace:             10 * time.Second,
		OpenRefreshGrace:         30 * time.Second,
		KeyMethods:               []string{"private_key_jwt", "self_signed_tls_client_auth"},
	}
}

// restricted sets one setting of each kind on which the allowances depend.
func restricted(c *Settings) {
	c.GrantsByAdministrator, c.ScopesByAdministrator = []string{GrantPassword}, []string{"groups"}
	c.DefaultScopes = []string{"read", "groups"}
	c.AccessTokenLifetime, c.JWTAccessTokenLifetime = 2*time.Hour, 90*time.Minute
	c.AccessTokenMax, c.JWTAccessTokenMax = 3*time.Hour, 4*time.Hour
}

func TestAllowance(t *testing.T) {
	c := settings()
	restricted(&c)
	c.PersonQuota, c.OpenQuota = PersonQuota{
		Applications:    1,
		Sessions:        2,
		Approvals:       3,
		TokensPerMinute: 4,
		LiveTokens:      5,
	}, OpenQuota{Applications: 6, Sessions: 0, Approvals: 7, TokensPerMinute: 8, LiveTokens: 9}
	year, month := int64(365*24*3600), int64(30*24*3600)
	for standing, want := range map[Standing]Allowance{
		StandingAdministrator: {
			Grants:              []string{GrantCode, GrantClient, GrantPassword, GrantDevice},
			Scopes:              []string{"read", "write", "groups"},
			AccessMax:           3 * 3600,
			JWTMax:              4 * 3600,
			RefreshMax:          year,
			RefreshGrace:        10,
			OwnLifetime:         true,
			AdministratorRights: true,
		},
		StandingPerson: {Grants: []string{GrantCode, GrantClient, GrantDevice}, Scopes: []string{"read", "write"},
			AccessMax: 2 * 3600, JWTMax: 5400, RefreshMax: month, RefreshGrace: 10, OwnLifetime: true,
			Quota: Quota(c.PersonQuota)},
		StandingOpen: {
			Grants:       []string{GrantCode},
			PublicOnly:   true,
			KeyMethods:   settings().KeyMethods,
			Scopes:       []string{"read"},
			AccessMax:    3600,
			JWTMax:       3600,
			RefreshMax:   20 * 24 * 3600,
			RefreshGrace: 30,
			Quota:        Quota(c.OpenQuota),
		},
		"unheard of": {
			Grants:       []string{GrantCode},
			PublicOnly:   true,
			KeyMethods:   settings().KeyMethods,
			Scopes:       []string{"read"},
			AccessMax:    3600,
			JWTMax:       3600,
			RefreshMax:   20 * 24 * 3600,
			RefreshGrace: 30,
			Quota:        Quota(c.OpenQuota),
		},
	} {
		if d := cmp.Diff(want, New(c).Allowance(standing)); d != "" {
			t.Error(standing, d)
		}
	}
	// OpenID Connect clients request openid and offline_access, which are never default scopes.
	openID := c
	openID.OpenID, openID.Scopes = true, append(openID.Scopes, Scope{Name: "openid"}, Scope{Name: "offline_access"})
	if d := cmp.Diff([]string{"read", "openid", "offline_access"}, New(openID).Allowance(StandingOpen).Scopes); d != "" {
		t.Error(d)
	}
	openID.OpenID = false
	if d := cmp.Diff([]string{"read"}, New(openID).Allowance(StandingOpen).Scopes); d != "" {
		t.Error("without OpenID Connect these are scopes like any other", d)
	}
	openID.OpenID = true
	openID.ScopesByAdministrator = append(openID.ScopesByAdministrator, "openid")
	if d := cmp.Diff([]string{"read", "offline_access"}, New(openID).Allowance(StandingOpen).Scopes); d != "" {
		t.Error(d)
	}
	// The server's own lifetimes are limits too.
	c.OpenAccessTokenLifetime, c.OpenRefreshTokenLifetime = time.Hour*1000, time.Hour*24*1000
	if got := New(c).Allowance(StandingOpen); got.AccessMax != 2*3600 || got.JWTMax != 5400 || got.RefreshMax != month {
		t.Error(got.AccessMax, got.JWTMax, got.RefreshMax)
	}
	// A maximum below the server's own lifetime has no effect.
	c.AccessTokenMax, c.JWTAccessTokenMax = time.Second, time.Second
	if got := New(c).Allowance(StandingAdministrator); got.AccessMax != 2*3600 || got.JWTMax != 5400 {
		t.Error(got.AccessMax, got.JWTMax)
	}
}

// RFC 8252 §8.6: people are asked wherever another program could receive the response. One such redirect URI is enough.
func TestNeverSkipsConsent(t *testing.T) {
	const host, native = "https://app.example/back", "com.example.app:/back"
	for name, test := range map[string]struct {
		app   storage.Application
		skips bool
		names string
	}{
		"confidential": {storage.Application{
			ClientType:   Confidential,
			RedirectURIs: native,
		}, true, ""},
		"public at a host": {storage.Application{ClientType: Public, RedirectURIs: host}, true, ""},
		"public at two hosts": {storage.Application{
			ClientType:   Public,
			RedirectURIs: host + "\nhttps://app.example.org:8443/",
		}, true, ""},
		"public at a loopback address": {storage.Application{
			ClientType:   Public,
			RedirectURIs: "http://127.0.0.1/",
		}, false, "http://127.0.0.1/"},
		"public at https on this computer": {storage.Application{
			ClientType:   Public,
			RedirectURIs: "https://localhost/",
		}, false, "https://localhost/"},
		"public at a host and natively": {storage.Application{
			ClientType:   Public,
			RedirectURIs: host + "\n" + native,
		}, false, native},
		"public without a redirect URI": {storage.Application{ClientType: Public}, false, "redirect URI"},
		"registered itself, at a host": {storage.Application{
			ClientType:   Public,
			RedirectURIs: host,
			Origin:       storage.FromRegistration,
		}, false, "by itself"},
		"registered itself, and confidential": {storage.Application{
			ClientType:   Confidential,
			RedirectURIs: host,
			Origin:       storage.FromRegistration,
		}, false, "by itself"},
		"by a document": {storage.Application{
			ClientType:   Public,
			RedirectURIs: host,
			Origin:       storage.FromDocument,
		}, false, "by itself"},
	} {
		why := NeverSkipsConsent(test.app)
		if (why == "") != test.skips || !strings.Contains(why, test.names) {
			t.Errorf("%s: %q", name, why)
		}
		test.app.Responsible, test.app.SkipConsent = storage.ByOperator, true
		now, unusable := New(settings()).EffectiveRights(test.app)
		if now.SkipConsent != test.skips || unusable == test.skips {
			t.Errorf("%s: skips %t, unusable %t", name, now.SkipConsent, unusable)
		}
	}
}

func TestEffectiveRights(t *testing.T) {
	c := settings()
	restricted(&c)
	everything := func(a storage.Application) storage.Application {
		a.ClientType, a.GrantTypes = Confidential, "authorization_code client_credentials password"
		a.MayIntrospect, a.SkipConsent, a.PKCE, a.EndpointAudience = true, true, PKCEIfSent, true
		a.AccessTokenLifetime, a.RefreshTokenLifetime, a.RefreshRotation = 1<<40, 1<<40, RotationOff
		a.ClaimsInIDToken, a.Claims = ClaimsOn, "{}"
		return a
	}
	nobodys := everything(storage.Application{Responsible: storage.ByNobody})
	public := nobodys
	public.ClientType = Public
	for name, test := range map[string]struct {
		app    storage.Application
		grants string
		flags  bool
		access int64
		scopes string
	}{
		"administrator": {
			everything(owned(storage.ByOwner, true, true)),
			"authorization_code client_credentials password",
			true,
			3 * 3600,
			"read write groups introspection",
		},
		"came by itself": {func() storage.Application {
			a := everything(owned(storage.ByOwner, true, true))
			a.Origin = storage.FromRegistration
			return a
		}(), "authorization_code client_credentials password", true, 3 * 3600, "read write groups introspection"},
		"person": {
			everything(owned(storage.ByOwner, true, false)),
			"authorization_code client_credentials",
			false,
			2 * 3600,
			"read write",
		},
		"open":               {public, "authorization_code", false, 3600, "read"},
		"open, confidential": {nobodys, "", false, 3600, "read"},
	} {
		got := New(c).Effective(test.app)
		if got.SkipConsent != (test.flags && name != "came by itself") {
			t.Errorf("%s: skips consent: %t", name, got.SkipConsent)
		}
		for _, flag := range []bool{
			got.MayIntrospect,
			got.PKCE == PKCEIfSent,
			got.EndpointAudience,
			got.RefreshRotation == RotationOff,
			got.ClaimsInIDToken == ClaimsOn,
			got.Claims != "",
		} {
			if flag != test.flags {
				t.Errorf("%s: a privilege is %t", name, flag)
			}
		}
		line := []any{got.GrantTypes, New(c).AccessLifetime(got), strings.Join(New(c).AllowedScopes(test.app), " ")}
		if d := cmp.Diff([]any{test.grants, test.access, test.scopes}, line); d != "" {
			t.Error(name, d)
		}
		if New(c).AccessLifetime(test.app) != test.access {
			t.Errorf("%s: what is not in force has a lifetime of %d", name, New(c).AccessLifetime(test.app))
		}
	}
}
