package provider

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/storage"
)

func TestScopeParsing(t *testing.T) {
	for _, test := range []struct {
		rule, text string
		want       []string
		err        string
	}{
		{"RFC6749/3.1 without a value it counts as left out", "", nil, "no error"},
		{"one name", "read", []string{"read"}, "no error"},
		{"RFC6749/3.3 the order is kept", "write read", []string{"write", "read"}, "no error"},
		{"RFC6749/3.3 a repetition means nothing", "read write read", []string{"read", "write"}, "no error"},
		{"RFC6749/3.3 names are compared with their case", "read Read", []string{"read", "Read"}, "no error"},
		{"RFC6749/3.3 every printable character", "!#$%&'()*+,-./:;<=>?@[]^_`{|}~", []string{"!#$%&'()*+,-./:;<=>?@[]^_`{|}~"}, "no error"},
		{"RFC6749/3.3 a space before", " read", nil, "400 invalid_scope"},
		{"RFC6749/3.3 a space after", "read ", nil, "400 invalid_scope"},
		{"RFC6749/3.3 two spaces", "read  write", nil, "400 invalid_scope"},
		{"RFC6749/3.3 only a space", " ", nil, "400 invalid_scope"},
		{"RFC6749/3.3 a tab", "read\twrite", nil, "400 invalid_scope"},
		{"RFC6749/3.3 a line feed", "read\nwrite", nil, "400 invalid_scope"},
		{"RFC6749/3.3 a quote", `re"ad`, nil, "400 invalid_scope"},
		{"RFC6749/3.3 a backslash", `re\ad`, nil, "400 invalid_scope"},
		{"RFC6749/3.3 a control character", "read\x7f", nil, "400 invalid_scope"},
		{"RFC6749/3.3 beyond ASCII", "lesen-ü", nil, "400 invalid_scope"},
		{"RFC6749/3.3 a no-break space", "read\u00a0write", nil, "400 invalid_scope"},
	} {
		t.Run(test.rule, func(t *testing.T) {
			got, err := oauth.ParseScope(test.text)
			wantError(t, err, test.err)
			if d := cmp.Diff(test.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestScopeResolution(t *testing.T) {
	c := Config{Scopes: []policy.Scope{{Name: "write", Description: ""}, {Name: "openid", Description: ""}, {Name: "read", Description: ""}, {Name: "introspection", Description: ""}, {Name: "groups", Description: ""}}}
	chosen := c
	chosen.DefaultScopes = []string{"groups", "read", "introspection", "openid", "gone"}
	all, few, none := Application{Responsible: storage.ByOperator}, Application{Responsible: storage.ByOperator, Scopes: "read groups"}, Application{Responsible: storage.ByOperator, Scopes: "introspection"}
	may := Application{Responsible: storage.ByOperator, MayIntrospect: true}
	for _, test := range []struct {
		rule   string
		config Config
		app    Application
		asked  string
		want   string
		err    string
	}{
		{"the default is every scope but introspection and openid, in the operator's order", c, all, "", "write read groups", "no error"},
		{"the default is cut to what the application may have", c, few, "", "read groups", "no error"},
		{"the default is as configured, without introspection, openid and what is not a scope", chosen, all, "", "groups read", "no error"},
		{"a configured default is cut too", chosen, Application{Responsible: storage.ByOperator, Scopes: "read"}, "", "read", "no error"},
		{"introspection is no default, also with the switch", c, may, "", "write read groups", "no error"},
		{"introspection is no default, also where it is configured as one", chosen, may, "", "groups read", "no error"},
		{"RFC6749/3.3 without a default the request fails", c, none, "", "", "400 invalid_scope"},
		{"RFC6749/3.3 without a common default the request fails", chosen, Application{Responsible: storage.ByOperator, Scopes: "write"}, "", "", "400 invalid_scope"},
		{"what is asked for is given, in its order", c, all, "groups write", "groups write", "no error"},
		{"openid is given where it is asked for", c, all, "openid read", "openid read", "no error"},
		{"an unknown scope is refused", c, all, "read delete", "", "400 invalid_scope"},
		{"a scope of another case is refused", c, all, "READ", "", "400 invalid_scope"},
		{"a part of a name is refused", c, all, "rea", "", "400 invalid_scope"},
		{"there are no wildcards", c, all, "*", "", "400 invalid_scope"},
		{"there are no hierarchies", c, all, "read.all", "", "400 invalid_scope"},
		{"a scope that the application may not have is refused, and not left out", c, few, "read write", "", "400 invalid_scope"},
		{"introspection takes the switch", c, all, "introspection", "", "400 invalid_scope"},
		{"introspection takes the switch, although it is listed", c, none, "introspection", "", "400 invalid_scope"},
		{"introspection with the switch", c, may, "introspection", "introspection", "no error"},
		{"introspection with the switch, although it is not listed", c, Application{Responsible: storage.ByOperator, Scopes: "read", MayIntrospect: true}, "introspection read", "introspection read", "no error"},
		{"a malformed scope is refused", c, all, "read  write", "", "400 invalid_scope"},
	} {
		t.Run(test.rule, func(t *testing.T) {
			got, err := test.config.rules().Resolve(test.app, test.asked)
			wantError(t, err, test.err)
			if d := cmp.Diff(test.want, strings.Join(got, " ")); d != "" {
				t.Error(d)
			}
		})
	}
	t.Run("a scope has its description, also one that is gone", func(t *testing.T) {
		got := Config{Scopes: []policy.Scope{{Name: "read", Description: "Read things"}}}.rules().Describe([]string{"gone", "read"})
		if d := cmp.Diff([]policy.Scope{{Name: "gone", Description: ""}, {Name: "read", Description: "Read things"}}, got); d != "" {
			t.Error(d)
		}
	})
}

func TestScopeSets(t *testing.T) {
	names := []string{"a", "b", "c"}
	for _, test := range []struct {
		wanted string
		want   bool
	}{{"", true}, {"a", true}, {"c a", true}, {"a b c", true}, {"d", false}, {"a d", false}, {"A", false}} {
		if got := oauth.Covers(names, strings.Fields(test.wanted)); got != test.want {
			t.Errorf("a b c covers %q: %t", test.wanted, got)
		}
	}
	if d := cmp.Diff([]string{"c", "a"}, oauth.Narrow([]string{"c", "d", "a"}, names)); d != "" {
		t.Error("narrow:", d)
	}
	if d := cmp.Diff([]string{"b", "a", "c"}, oauth.Union([]string{"b"}, names)); d != "" {
		t.Error("union:", d)
	}
}

func FuzzScope(f *testing.F) {
	for _, text := range []string{"", "read", "read write", " read", "read  write", `"`, `\`, "read\x00", "introspection", "ü", "*", "openid"} {
		f.Add(text, "read groups", true)
		f.Add(text, "", false)
	}
	c := testConfig()
	f.Fuzz(func(t *testing.T, text, listed string, may bool) {
		app := Application{Responsible: storage.ByOperator, Scopes: listed, MayIntrospect: may}
		names, err := c.rules().Resolve(app, text)
		if err != nil {
			if kind(err) != "400 invalid_scope" {
				t.Fatal(err)
			}
			return
		}
		if len(names) == 0 {
			t.Fatal("nothing is granted, and nothing refused")
		}
		for i, name := range names {
			if !slices.Contains(c.rules().ScopeNames(), name) || slices.Contains(names[:i], name) {
				t.Fatalf("%q gives %q", text, names)
			}
			if name == policy.Introspection && (!may || text == "") {
				t.Fatalf("%q gives introspection", text)
			}
			if name != policy.Introspection && len(strings.Fields(listed)) > 0 && !slices.Contains(strings.Fields(listed), name) {
				t.Fatalf("%q gives %q to an application that may have %q", text, name, listed)
			}
			if text != "" && !slices.Contains(strings.Split(text, " "), name) {
				t.Fatalf("%q gives %q, which was not asked for", text, name)
			}
		}
		again, err := c.rules().Resolve(app, strings.Join(names, " "))
		if err != nil || !slices.Equal(again, names) {
			t.Fatalf("%q gives %q, and that gives %q, %v", text, names, again, err)
		}
	})
}
