package app

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"mandate/app/config"
	"mandate/provider/policy"
	"mandate/storage"
	"mandate/testkit"
)

// TestStandingDocs compares the table of standings in docs/register-applications.md with provider.Config.Allowance.
func TestStandingDocs(t *testing.T) {
	testkit.DocsBlock(t, "register-applications.md", "standing", standingTable(t))
}

// marked is a configuration in which each setting that the table depends on has a value of its own.
var marked = config.Config{Provider: config.Provider{Settings: policy.Settings{
	Scopes: []policy.Scope{
		{Name: "default"},
		{Name: "other"},
		{Name: "kept"},
		{Name: "openid"},
		{Name: "offline_access"},
		{Name: "introspection"},
	},
	DefaultScopes:           []string{"default", "kept"},
	AccessTokenLifetime:     7200 * time.Second,
	JWTAccessTokenLifetime:  5400 * time.Second,
	RefreshTokenLifetime:    11 * time.Second,
	RefreshTokenMaxLifetime: 12 * time.Second,
	AccessTokenMax:          8001 * time.Second,
	JWTAccessTokenMax:       8002 * time.Second,
	GrantsByAdministrator:   []string{policy.GrantPassword},
	ScopesByAdministrator:   []string{"kept"},
	PersonQuota: policy.PersonQuota{
		Applications: 21, Sessions: 22, Approvals: 23, TokensPerMinute: 24, LiveTokens: 25,
	},
	OpenQuota:                policy.OpenQuota{Applications: 31, Approvals: 32, TokensPerMinute: 33, LiveTokens: 34},
	OpenID:                   true,
	OpenAccessTokenLifetime:  1801 * time.Second,
	OpenRefreshTokenLifetime: 10 * time.Second,
	RefreshGrace:             41 * time.Second,
	OpenRefreshGrace:         42 * time.Second,
}}}

// setting names the setting that has a number in the marked configuration.
func setting(t *testing.T, n int64) string {
	t.Helper()
	rules := marked.Provider.Settings
	for _, settings := range []any{rules, rules.PersonQuota, rules.OpenQuota} {
		of := reflect.ValueOf(settings)
		for i := range of.NumField() {
			key := of.Type().Field(i).Tag.Get("key")
			switch value := of.Field(i).Interface().(type) {
			case time.Duration:
				if value == time.Duration(n)*time.Second {
					return "`" + key + "`"
				}
			case int:
				if int64(value) == n {
					return "`" + key + "`"
				}
			}
		}
	}
	t.Fatalf("no setting has the value %d", n)
	return ""
}

func standingTable(t *testing.T) string {
	c := providerConfig(&marked, nil)
	var b strings.Builder
	row := func(name string, cell func(policy.Allowance) string) {
		b.WriteString("| " + name + " |")
		for _, standing := range policy.Standings() {
			b.WriteString(" " + cell(c.Allowance(standing)) + " |")
		}
		b.WriteString("\n")
	}
	bound := func(n int) string {
		if n == 0 {
			return "no limit"
		}
		return setting(t, int64(n))
	}
	b.WriteString("| |")
	for _, standing := range policy.Standings() {
		fmt.Fprintf(&b, " `%s` |", standing)
	}
	b.WriteString("\n|---|---|---|---|\n")
	row("grants", func(a policy.Allowance) string {
		if slices.Contains(a.Grants, policy.GrantPassword) {
			return "all"
		}
		if slices.Contains(a.Grants, policy.GrantClient) {
			return "all but `GRANTS_BY_ADMINISTRATOR`"
		}
		return "`" + strings.Join(a.Grants, "`, `") + "`; no client secret"
	})
	row("scopes", func(a policy.Allowance) string {
		const builtIn = " profile email groups phone address"
		text := map[string]string{
			"default other kept openid offline_access" + builtIn: "all",
			"default other openid offline_access" + builtIn:      "all but `SCOPES_BY_ADMINISTRATOR` and `introspection`",
			"default openid offline_access": "`DEFAULT_SCOPES`, `openid` and `offline_access` but " +
				"`SCOPES_BY_ADMINISTRATOR`",
		}[strings.Join(a.Scopes, " ")]
		if text == "" {
			t.Fatal("no words for the scopes ", a.Scopes)
		}
		return text
	})
	row("longest lifetime of an access token", func(a policy.Allowance) string { return setting(t, a.AccessMax) })
	row("longest lifetime of a JWT access token", func(a policy.Allowance) string { return setting(t, a.JWTMax) })
	row("longest lifetime of a refresh token, unused", func(a policy.Allowance) string { return setting(t, a.RefreshMax) })
	row(
		"[grace period](#two-refreshes-at-the-same-time) of a replaced refresh token",
		func(a policy.Allowance) string { return setting(t, a.RefreshGrace) },
	)
	row("may have lifetimes of its own", func(a policy.Allowance) string {
		if a.OwnLifetime {
			return "yes"
		}
		return "no"
	})
	row(
		"skip consent, introspect, have [PKCE](#pkce) *used if it is sent*, keep refresh tokens, accept assertions for an "+
			"endpoint",
		func(a policy.Allowance) string {
			if a.AdministratorRights {
				return "if an administrator allowed it"
			}
			return "no"
		},
	)
	row("[weak redirect URIs](#redirect-uris-that-only-an-administrator-registers)", func(a policy.Allowance) string {
		if a.AdministratorRights {
			return "if an administrator registered them"
		}
		return "no"
	})
	row(
		"what describes a client with a [metadata document](#clients-that-bring-their-own-metadata-document)",
		func(a policy.Allowance) string {
			of := storage.Application{
				Origin:             storage.FromDocument,
				Responsible:        "owner",
				OwnerActive:        new(true),
				OwnerAdministrator: new(a.AdministratorRights),
			}
			if a.PublicOnly {
				of.Responsible = "nobody"
			}
			if c.Allowance(policy.StandingOf(of)).PublicOnly != a.PublicOnly {
				t.Fatal("the application has another standing")
			}
			if policy.FollowsDocument(of) {
				return "the document"
			}
			return "its registration"
		},
	)
	row("applications", func(a policy.Allowance) string { return bound(a.Quota.Applications) })
	row("sessions of the owner", func(a policy.Allowance) string { return bound(a.Quota.Sessions) })
	row(
		"live approvals (authorization codes and token families)",
		func(a policy.Allowance) string { return bound(a.Quota.Approvals) },
	)
	row(
		"token responses per minute, at each node",
		func(a policy.Allowance) string { return bound(a.Quota.TokensPerMinute) },
	)
	row("live tokens", func(a policy.Allowance) string { return bound(a.Quota.LiveTokens) })
	return b.String()
}
