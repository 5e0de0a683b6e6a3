package provider

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	rules "mandate/provider/claims"
	"mandate/provider/clients"
	"mandate/provider/tokens"
)

// technical are claims that say nothing about the person, and so are not predicted.
var technical = []string{"iss", "aud", "exp", "iat", "auth_time", "acr", "amr", "sid", "nonce", "at_hash", "jti",
	"client_id", "scope", "cnf"}

// about returns the claims about the person, as they arrive in JSON.
func (f *fixture) about(found map[string]any) map[string]any {
	f.t.Helper()
	raw, err := json.Marshal(found)
	if err != nil {
		f.t.Fatal(err)
	}
	read := map[string]any{}
	err = json.Unmarshal(raw, &read)
	if err != nil {
		f.t.Fatal(err)
	}
	maps.DeleteFunc(read, func(name string, _ any) bool { return slices.Contains(technical, name) })
	return read
}

// What the page and the command predict is what tokens and responses have, in each place.
func TestExpectedClaimsAreThoseOfTheTokens(t *testing.T) {
	f := begin(t, openID)
	s := f.wholePerson("alice")
	api := f.app(func(r *clients.Registration) { r.MayIntrospect = true })
	role := `{"name":"role","from":"groups","map":{"staff":"editor"},"text":true,` + everywhere
	for name, change := range map[string]func(*clients.Registration){
		"no rules":                 func(*clients.Registration) {},
		"signed, with a rule":      func(r *clients.Registration) { signed(r); r.Claims = []string{role} },
		"a rule for the groups":    ruled(`{"name":"groups","from":"groups","prefix":"x:","in":["userinfo"]}`),
		"a rule for one place":     ruled(`{"name":"one","from":"profile.email","in":["id_token"]}`),
		"a rule for another API":   ruled(`{"name":"far","from":"groups","in":["introspection"],"scope":"write"}`),
		"claims in the ID token":   func(r *clients.Registration) { r.ClaimsInIDToken = "on" },
		"no claims in the IDToken": func(r *clients.Registration) { r.ClaimsInIDToken = "off" },
		"pairwise":                 func(r *clients.Registration) { r.Pairwise = true },
		"without openid":           func(r *clients.Registration) { r.Scopes = []string{"read"}; signed(r) },
	} {
		app := f.app(change)
		would, err := f.WhatWouldHappen(t.Context(), app.Application, s.User)
		if err != nil || !would.Allowed() {
			t.Fatal(name, would, err)
		}
		got := f.tokens(app, s, "scope", strings.Join(would.Scopes, " "))
		shown := f.shown(api, got.AccessToken)
		want := map[string]map[string]any{rules.Introspection: {"sub": shown.Subject}}
		maps.Copy(want[rules.Introspection], shown.Own)
		if got.IDToken != "" {
			want[rules.IDToken], want[rules.UserInfo] = claimsOf(t, got.IDToken), f.atUserInfo(got)
			want[rules.UserInfo]["sub"] = shown.Subject // atUserInfo takes it away
		}
		if strings.Count(got.AccessToken, ".") == 2 {
			want[rules.AccessToken], _ = f.claimsOf(got.AccessToken)
		}
		expected := map[string]map[string]any{}
		for _, e := range would.Claims {
			if expected[e.Place] == nil {
				expected[e.Place] = map[string]any{}
			}
			expected[e.Place][e.Name] = e.Value
		}
		if len(expected) != len(want) {
			t.Errorf("%s: claims in %v, want %v", name, slices.Sorted(maps.Keys(expected)), slices.Sorted(maps.Keys(want)))
		}
		for place := range want {
			if d := cmp.Diff(f.about(want[place]), f.about(expected[place])); d != "" {
				t.Errorf("%s, %s: the tokens (-) and what was expected (+):\n%s", name, place, d)
			}
		}
	}
}

func TestExpectedClaimsHaveReasons(t *testing.T) {
	f := begin(t, openID)
	s := f.wholePerson("alice")
	rule := `{"name":"groups","from":"groups","prefix":"x:","in":["userinfo"]}`
	app := f.app(ruled(rule))
	would, err := f.WhatWouldHappen(t.Context(), app.Application, s.User)
	if err != nil {
		t.Fatal(err)
	}
	find := func(place, name string) tokens.Expected {
		at := slices.IndexFunc(would.Claims,
			func(e tokens.Expected) bool { return e.Place == place && e.Name == name })
		if at < 0 {
			t.Fatalf("no %s in %s: %v", name, place, would.Claims)
		}
		return would.Claims[at]
	}
	for _, test := range []struct{ place, name, value, reason string }{
		{rules.UserInfo, "sub", `"` + s.User.ID + `"`, "the subject of the person"},
		{rules.UserInfo, "email", `"alice@example.org"`, "the scope email"},
		{rules.UserInfo, "groups", `["x:staff"]`, "the rule " + rule},
	} {
		if e := find(test.place, test.name); e.Text() != test.value || e.Reason != test.reason {
			t.Errorf("%s: %s because of %s", test.name, e.Text(), e.Reason)
		}
	}
	// Whoever may not use it, and an application that acts for nobody, have no tokens about a person.
	f.groups(t, s.User)
	for name, change := range map[string]func(*clients.Registration){
		"not allowed": func(r *clients.Registration) { r.DeniedGroups = []string{"banned"} },
		"machine":     func(r *clients.Registration) { r.GrantTypes = []string{"client_credentials"} },
	} {
		if name == "not allowed" {
			f.groups(t, f.login("bob").User, "banned")
			_, err := f.store.SetMappedGroups(t.Context(), s.User.ID, []string{"banned"}, []string{"banned"}, 1)
			if err != nil {
				t.Fatal(err)
			}
		}
		would, err := f.WhatWouldHappen(t.Context(), f.app(change).Application, s.User)
		if err != nil || len(would.Scopes)+len(would.Claims) > 0 {
			t.Errorf("%s: %v, %v", name, would, err)
		}
	}
}
