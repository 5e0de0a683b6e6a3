package policy

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mandate/provider/oauth/oauthtest"
	"mandate/storage"
)

func TestScopeResolution(t *testing.T) {
	c := Settings{Scopes: []Scope{{Name: "write", Description: ""}, {Name: "openid", Description: ""},
		{Name: "read", Description: ""}, {Name: "introspection", Description: ""}, {Name: "groups", Description: ""}}}
	chosen := c
	chosen.DefaultScopes = []string{"groups", "read", "introspection", "openid", "gone"}
	strict := c
	strict.StrictScopes = true
	all, few, none := storage.Application{Responsible: storage.ByOperator},
		storage.Application{Responsible: storage.ByOperator, Scopes: "read groups"},
		storage.Application{Responsible: storage.ByOperator, Scopes: "introspection"}
	may := storage.Application{Responsible: storage.ByOperator, MayIntrospect: true}
	for _, test := range []struct {
		rule   string
		config Settings
		app    storage.Application
		asked  string
		want   string
		err    string
	}{
		{"the default is every scope but introspection and openid, in the operator's order", c, all, "", "write read groups",
			"no error"},
		{"the default is cut to what the application may have", c, few, "", "read groups", "no error"},
		{"the default is as configured, without introspection, openid and what is not a scope", chosen, all, "",
			"groups read", "no error"},
		{"a configured default is cut too", chosen, storage.Application{Responsible: storage.ByOperator, Scopes: "read"}, "",
			"read", "no error"},
		{"introspection is no default, even if it is allowed", c, may, "", "write read groups", "no error"},
		{"introspection is no default, also where it is configured as one", chosen, may, "", "groups read", "no error"},
		{"RFC6749/3.3 without a default the request fails", c, none, "", "", "400 invalid_scope"},
		{"RFC6749/3.3 without a common default the request fails", chosen,
			storage.Application{Responsible: storage.ByOperator, Scopes: "write"}, "", "", "400 invalid_scope"},
		{"what is asked for is given, in its order", c, all, "groups write", "groups write", "no error"},
		{"openid is given where it is asked for", c, all, "openid read", "openid read", "no error"},
		{"an unknown scope is refused if no other remains", c, all, "delete", "", "400 invalid_scope"},
		{"a scope of another case is refused", c, all, "READ", "", "400 invalid_scope"},
		{"a part of a name is refused", c, all, "rea", "", "400 invalid_scope"},
		{"there are no wildcards", c, all, "*", "", "400 invalid_scope"},
		{"there are no hierarchies", c, all, "read.all", "", "400 invalid_scope"},
		{"RFC6749/3.3 an unknown scope is left out", c, all, "delete read remove", "read", "no error"},
		{"RFC6749/3.3 a scope that the application may not have is left out", c, few, "write read", "read", "no error"},
		{"introspection is left out where it is not allowed", c, all, "introspection read", "read", "no error"},
		{"what remains are not the default scopes", c, few, "write delete", "", "400 invalid_scope"},
		{"STRICT_SCOPES refuses an unknown scope", strict, all, "read delete", "", "400 invalid_scope"},
		{"STRICT_SCOPES refuses a scope that the application may not have", strict, few, "read write", "",
			"400 invalid_scope"},
		{"STRICT_SCOPES gives the default scopes", strict, few, "", "read groups", "no error"},
		{"FAPI refuses an unknown scope", c, storage.Application{Responsible: storage.ByOperator, Profile: ProfileFAPI},
			"read delete", "", "400 invalid_scope"},
		{"FAPI with signed messages refuses it too", c,
			storage.Application{Responsible: storage.ByOperator, Profile: ProfileMessages}, "read delete", "",
			"400 invalid_scope"},
		{"openid is never left out", c, few, "openid read", "", "400 invalid_scope"},
		{"openid is never left out, also if it is unknown", Settings{Scopes: []Scope{{Name: "read"}}}, all, "read openid", "",
			"400 invalid_scope"},
		{"introspection must be allowed", c, all, "introspection", "", "400 invalid_scope"},
		{"introspection must be allowed, even if it is listed", c, none, "introspection", "", "400 invalid_scope"},
		{"introspection is allowed", c, may, "introspection", "introspection", "no error"},
		{"introspection is allowed, although it is not listed", c,
			storage.Application{Responsible: storage.ByOperator, Scopes: "read", MayIntrospect: true}, "introspection read",
			"introspection read", "no error"},
		{"a malformed scope is refused", c, all, "read \"", "", "400 invalid_scope"},
	} {
		t.Run(test.rule, func(t *testing.T) {
			got, err := New(test.config).ScopesWithoutLogin(test.app, test.asked, anyAudience{})
			oauthtest.Want(t, err, test.err)
			if d := cmp.Diff(test.want, strings.Join(got.Names, " ")); d != "" {
				t.Error(d)
			}
		})
	}
	t.Run("a scope has its description, also one that is gone", func(t *testing.T) {
		got := New(Settings{Scopes: []Scope{{Name: "read", Description: "Read things"}}}).Describe([]string{"gone", "read"})
		if d := cmp.Diff([]Scope{{Name: "gone", Description: ""}, {Name: "read", Description: "Read things"}}, got); d != "" {
			t.Error(d)
		}
	})
}

func FuzzScope(f *testing.F) {
	for _, text := range []string{"", " ", "read", "read write", " read", "read  write", `"`, `\`, "read\x00",
		"introspection", "ü", "*", "openid"} {
		f.Add(text, "read groups", true)
		f.Add(text, "", false)
	}
	c := New(settings())
	f.Fuzz(func(t *testing.T, text, listed string, may bool) {
		app := storage.Application{Responsible: storage.ByOperator, Scopes: listed, MayIntrospect: may}
		requested, err := c.ScopesWithoutLogin(app, text, anyAudience{})
		names := requested.Names
		asked := strings.Trim(text, " ") // spaces alone name no scope
		if err != nil {
			if oauthtest.Kind(err) != "400 invalid_scope" {
				t.Fatal(err)
			}
			return
		}
		if len(names) == 0 {
			t.Fatal("nothing is granted, and nothing refused")
		}
		for i, name := range names {
			if !slices.Contains(c.ScopeNames(), name) || slices.Contains(names[:i], name) {
				t.Fatalf("%q gives %q", text, names)
			}
			if name == Introspection && (!may || asked == "") {
				t.Fatalf("%q gives introspection", text)
			}
			if name != Introspection && len(strings.Fields(listed)) > 0 && !slices.Contains(strings.Fields(listed), name) {
				t.Fatalf("%q gives %q to an application that may have %q", text, name, listed)
			}
			if asked != "" && !slices.Contains(strings.Split(asked, " "), name) {
				t.Fatalf("%q gives %q, which was not asked for", text, name)
			}
		}
		for _, omitted := range requested.LeftOut {
			if slices.Contains(names, omitted.Name) {
				t.Fatalf("%q gives %q, and says that it leaves out %s", text, names, requested.LeftOut)
			}
		}
		again, err := c.ScopesWithoutLogin(app, strings.Join(names, " "), anyAudience{})
		if err != nil || !slices.Equal(again.Names, names) || again.LeftOut != nil {
			t.Fatalf("%q gives %q, and that gives %v, %v", text, names, again, err)
		}
	})
}

// anyAudience is an audience whose tokens may have every scope.
type anyAudience struct{}

func (anyAudience) HasScope(string) bool    { return true }
func (anyAudience) SharesScope(string) bool { return true }
func (anyAudience) HasServer() bool         { return true }

// OIDC Core §11: the access of a login ends with it, unless the person approved offline_access.
func TestOutlivesSession(t *testing.T) {
	for scopes, want := range map[string]bool{"openid": false, "openid read": false, "openid offline_access": true,
		"read": true, "": true} {
		if got := New(Settings{OpenID: true}).OutlivesSession(strings.Fields(scopes)); got != want {
			t.Errorf("%q: %t", scopes, got)
		}
		if !New(Settings{}).OutlivesSession(strings.Fields(scopes)) {
			t.Errorf("%q without OpenID Connect ends with the session", scopes)
		}
	}
}
