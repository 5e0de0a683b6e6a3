package policy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mandate/storage"
)

// With OpenID Connect, its scopes exist without configuration. None of them becomes a default scope by that, or a scope
// of an application for which nobody is responsible, except for those with which it signs people in.
func TestBuiltInScopes(t *testing.T) {
	const api = "read write"
	plain := Settings{Scopes: []Scope{{Name: "read"}, {Name: "write"}}}
	on := Settings{Scopes: plain.Scopes, OpenID: true}
	grouped := Settings{Scopes: []Scope{{Name: "groups", Description: "Your groups"}, {Name: "read"},
		{Name: "email", Description: "Your address"}, {Name: "introspection"}}, OpenID: true}
	chosen := grouped
	chosen.DefaultScopes = []string{"read", "profile"}
	every := Settings{Scopes: grouped.Scopes, OpenID: true, ScopesByAdministrator: []string{"phone", "email"}}
	for _, test := range []struct {
		name                           string
		settings                       Settings
		names, defaults, person, selfs string
	}{
		{"off", plain, api, api, api, api},
		{"on", on, "read write openid profile email groups phone address offline_access", api,
			"read write openid profile email groups phone address offline_access", "read write openid offline_access"},
		{"some are configured", grouped, "groups read email introspection openid profile phone address offline_access",
			"groups read",
			"groups read email openid profile phone address offline_access", "groups read email openid offline_access"},
		{"the defaults are configured", chosen, "groups read email introspection openid profile phone address offline_access",
			"read profile",
			"groups read email openid profile phone address offline_access", "read openid profile offline_access"},
		{"some are for administrators", every, "groups read email introspection openid profile phone address offline_access",
			"groups read",
			"groups read openid profile address offline_access", "groups read openid offline_access"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := New(test.settings)
			requested, err := c.RequestedScopes(storage.Application{Responsible: storage.ByOperator}, "", anyAudience{})
			if err != nil {
				t.Fatal(err)
			}
			got := []string{strings.Join(c.ScopeNames(), " "), strings.Join(requested.Names, " "),
				strings.Join(c.Allowance(StandingPerson).Scopes, " "), strings.Join(c.Allowance(StandingOpen).Scopes, " ")}
			if d := cmp.Diff([]string{test.names, test.defaults, test.person, test.selfs}, got); d != "" {
				t.Error(d)
			}
		})
	}
	t.Run("each has a description, and a configured one its own", func(t *testing.T) {
		for _, scope := range New(grouped).Describe(BuiltInScopes()) {
			configured := scope.Name == "groups" || scope.Name == "email"
			if scope.Description == "" || scope.BuiltIn == configured ||
				configured && !strings.HasPrefix(scope.Description, "Your ") {
				t.Errorf("%+v", scope)
			}
		}
	})
	t.Run("an application keeps to the scopes that it is registered for", func(t *testing.T) {
		got := New(on).AllowedScopes(storage.Application{Responsible: storage.ByOperator, Scopes: "read profile"})
		if d := cmp.Diff([]string{"read", "profile"}, got); d != "" {
			t.Error(d)
		}
	})
}
