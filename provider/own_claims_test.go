package provider

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mandate/provider/attributes"
	rules "mandate/provider/claims"
	"mandate/provider/clients"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/provider/tokens"
)

// ruled gives an application these rules.
func ruled(list ...string) func(*clients.Registration) {
	return func(r *clients.Registration) { r.Claims = list }
}

const everywhere = `"in":["id_token","userinfo","access_token","introspection"]}`

// in returns the values of a claim at the four places: the ID token, UserInfo, the access token and introspection.
func (f *fixture) in(caller *clients.Registered, got *tokens.TokenResponse, name string) string {
	f.t.Helper()
	access, _ := f.claimsOf(got.AccessToken)
	shown := f.shown(caller, got.AccessToken)
	var values []string
	for _, place := range []map[string]any{claimsOf(f.t, got.IDToken), f.atUserInfo(got), access, shown.Own} {
		raw, err := json.Marshal(place[name])
		if err != nil {
			f.t.Fatal(err)
		}
		values = append(values, string(raw))
	}
	return strings.Join(values, " ")
}

// A claim has one value everywhere, and the value of the moment at a refresh.
func TestOwnClaimsInAllPlaces(t *testing.T) {
	f := begin(t, openID)
	s := f.wholePerson("alice")
	api := f.app(func(r *clients.Registration) { r.MayIntrospect = true })
	app := f.app(signed, ruled(
		`{"name":"role","from":"groups","map":{"staff":"editor"},"text":true,"default":"viewer",`+everywhere,
		`{"name":"one","from":"profile.email","in":["access_token"]}`,
		`{"name":"scoped","from":"value","value":7,"scope":"email",`+everywhere,
	))
	got := f.tokens(app, s, "scope", "openid")
	for name, want := range map[string]string{
		"role": `"editor" "editor" "editor" "editor"`, "one": `null null "alice@example.org" null`,
		"scoped": "null null null null",
	} {
		if values := f.in(api, got, name); values != want {
			t.Errorf("%s: %s, want %s", name, values, want)
		}
	}
	if values := f.in(api, f.tokens(app, s, "scope", "openid email"), "scoped"); values != "7 7 7 7" {
		t.Errorf("with its scope: %s", values)
	}
	err := f.People.RenameGroup(t.Context(), "staff", "crew")
	if err != nil {
		t.Fatal(err)
	}
	next := f.must(f.refresh(app, got.RefreshToken))
	if values := f.in(api, next, "role"); values != `"editor" "editor" "editor" "editor"` {
		t.Errorf("after the group was renamed: %s", values)
	}
	_, err = f.People.ChangeUser(t.Context(), policy.Operator(), s.User.ID, func(p *people.Person) { p.Groups = nil })
	if err != nil {
		t.Fatal(err)
	}
	next = f.must(f.refresh(app, next.RefreshToken))
	if values := f.in(api, next, "role"); values != `"viewer" "viewer" "viewer" "viewer"` {
		t.Errorf("after the person left the group: %s", values)
	}
}

// A membership that has ended by itself gives no role, also before the sweep has removed it.
func TestOwnClaimsWithoutAnEndedMembership(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t, openID)
		s := f.wholePerson("alice")
		api := f.app(func(r *clients.Registration) { r.MayIntrospect = true })
		app := f.app(signed, ruled(`{"name":"role","from":"groups",`+everywhere))
		err := f.People.SetMembership(t.Context(), policy.Operator(), s.User, "staff", oauth.Now()+30)
		if err != nil {
			t.Fatal(err)
		}
		got := f.tokens(app, s, "scope", "openid")
		time.Sleep(31 * time.Second)
		got = f.must(f.refresh(app, got.RefreshToken))
		if values := f.in(api, got, "role"); values != "[] [] [] []" {
			t.Error(values)
		}
	})
}

// An attribute of a person has one value everywhere, and the value of the moment at a refresh.
func TestOwnClaimsFromAnAttribute(t *testing.T) {
	f := begin(t, openID, func(c *Config) {
		c.People.Attributes = attributes.Set{
			{Name: "quota", Type: attributes.Number, Max: 500}, {Name: "teams", Type: attributes.List},
		}
	})
	s := f.wholePerson("alice")
	api := f.app(func(r *clients.Registration) { r.MayIntrospect = true })
	app := f.app(signed, ruled(
		`{"name":"quota","from":"attribute.quota","default":10,`+everywhere,
		`{"name":"teams","from":"attribute.teams","filter":"r",`+everywhere,
	))
	set := func(changes ...string) error {
		_, err := f.People.ChangeUser(t.Context(), policy.Operator(), s.User.ID, func(p *people.Person) {
			p.Attributes = changes
		})
		return err
	}
	check := func(got *tokens.TokenResponse, quota, teams string) {
		t.Helper()
		for name, value := range map[string]string{"quota": quota, "teams": teams} {
			want := strings.Join(slices.Repeat([]string{value}, 4), " ")
			if values := f.in(api, got, name); values != want {
				t.Errorf("%s: %s, want %s", name, values, want)
			}
		}
	}
	got := f.tokens(app, s, "scope", "openid")
	check(got, "10", "null")
	err := set("quota=50", "teams=red;blue")
	if err != nil {
		t.Fatal(err)
	}
	got = f.must(f.refresh(app, got.RefreshToken))
	check(got, "50", `["red"]`)
	wantInvalid(t, set("quota=501"), "attributes")
	wantInvalid(t, set("sub=root"), "attributes")
	err = set("quota=", "teams=blue")
	if err != nil {
		t.Fatal(err)
	}
	got = f.must(f.refresh(app, got.RefreshToken))
	check(got, "10", "[]")
	wantInvalid(t, f.change(app, ruled(`{"name":"x","from":"attribute.none","in":["id_token"]}`)), "claims")
	// Another page has not seen the change.
	shown := people.StateOf(s.User, []string{"staff"}, nil)
	_, err = f.People.ChangeUser(t.Context(), policy.Operator(), s.User.ID, func(p *people.Person) {
		p.Shown, p.LastName = shown, "Other"
	})
	wantInvalid(t, err, "shown")
	if found := f.storedEvents("person.changed"); len(found) != 2 || found[0].Detail != "attributes" {
		t.Errorf("events: %v", found)
	}
}

// A rule for groups decides about that claim also where a scope brings it.
func TestOwnClaimGroupsHasOneValue(t *testing.T) {
	f := begin(t, openID)
	s := f.wholePerson("alice")
	app := f.app(ruled(`{"name":"groups","from":"groups","prefix":"oidc:","in":["id_token"]}`))
	got := f.tokens(app, s, "scope", "openid groups")
	want := []any{"oidc:staff"}
	if d := cmp.Diff(want, claimsOf(t, got.IDToken)["groups"]) + cmp.Diff(want, f.atUserInfo(got)["groups"]); d != "" {
		t.Error(d)
	}
	// Without the scope, only the place that the rule names has the claim.
	got = f.tokens(app, s, "scope", "openid")
	if d := cmp.Diff(want, claimsOf(t, got.IDToken)["groups"]) + cmp.Diff(nil, f.atUserInfo(got)["groups"]); d != "" {
		t.Error(d)
	}
}

// RFC 8707 §2: a rule for one API tells another one nothing, neither in the token nor at introspection. A token for
// both goes to both.
func TestOwnClaimOfOneAPI(t *testing.T) {
	f := withResources(t)
	s, caller := f.wholePerson("alice"), f.app()
	other := "https://other.example/"
	f.resource(other, jwts, known(caller))
	rule := `{"name":"role","from":"groups","in":["access_token","introspection"],"resources":["` + signedAPI + `"]}`
	app := f.app(ruled(rule))
	for of, want := range map[string]bool{signedAPI: true, other: false, signedAPI + " " + other: false} {
		pairs := []string{"scope", "openid read"}
		for _, uri := range strings.Fields(of) {
			pairs = append(pairs, "resource", uri)
		}
		got := f.tokens(app, s, pairs...)
		access, _ := f.claimsFor(got.AccessToken, strings.Fields(of)[0])
		if _, has := access["role"]; has != want {
			t.Errorf("%s: the access token has it: %t", of, has)
		}
		if shown := f.shown(caller, got.AccessToken); len(shown.Own) > 0 {
			t.Errorf("%s: another API learns %v", of, shown.Own)
		}
	}
}

// No rule can replace what this server says in a token or in a response.
func TestOwnClaimsHaveNoNameOfThisServer(t *testing.T) {
	f := begin(t, openID)
	s := f.wholePerson("alice")
	got := f.tokens(f.app(signed), s, "scope", everyClaim)
	access, _ := f.claimsOf(got.AccessToken)
	names := slices.Concat(
		slices.Collect(maps.Keys(access)), slices.Collect(maps.Keys(claimsOf(t, got.IDToken))),
		slices.Collect(maps.Keys(f.atUserInfo(got))), tokens.ClaimsSupported(f.Rules.ScopeNames()),
	)
	for field := range reflect.TypeFor[tokens.Introspection]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		names = append(names, name)
	}
	for _, name := range names {
		if name != "-" && name != "groups" && rules.Reserved(name) == "" {
			t.Errorf("a rule can have the name %s", name)
		}
	}
}

// Only an administrator sets rules, and only for an application for which an administrator is responsible.
func TestOwnClaimsAreAnAdministrators(t *testing.T) {
	f := begin(t, openID)
	alice, s := f.person("alice"), f.wholePerson("bob")
	rule := `{"name":"role","from":"value","value":"x","in":["id_token"]}`
	app := f.app(ruled(rule))
	id := app.Application.ID
	f.sql("UPDATE applications SET responsible = 'owner', owner_id = '" + alice.ID + "' WHERE id = '" + id + "'")
	f.forgetCopies()
	if _, has := claimsOf(t, f.tokens(app, s, "scope", "openid").IDToken)["role"]; has {
		t.Error("the application of a person has a claim of its own")
	}
	other := `{"name":"role","from":"groups","in":["id_token"]}`
	_, err := f.Clients.Change(t.Context(), policy.By(alice), id, func(r *clients.Registration) error {
		r.Claims = []string{other}
		return nil
	})
	wantInvalid(t, err, "claims")
	err = f.change(app, ruled(rule, `{"name":"SUB","from":"groups","in":["id_token"]}`))
	wantInvalid(t, err, "claims")
}

// A person is told what an application learns beyond its scopes, and asked again if that becomes more.
func TestOwnClaimsAreApproved(t *testing.T) {
	f := begin(t, openID)
	s, app := f.wholePerson("alice"), f.app()
	approve := func(list ...string) bool {
		err := f.change(app, ruled(list...))
		if err != nil {
			t.Fatal(err)
		}
		asked, err := f.Authorizations.RequiredInteraction(t.Context(), f.authorize(app, "scope", "openid"), s)
		if err != nil {
			t.Fatal(err)
		}
		if asked != nil {
			f.approve(t, app, s, "scope", "openid")
		}
		return asked != nil
	}
	rule := func(name, from, more string) string {
		return `{"name":"` + name + `","from":"` + from + `","in":["id_token"]` + more + `}`
	}
	role := rule("role", "groups", "")
	for n, test := range []struct {
		rules []string
		asked bool
	}{
		{nil, true},
		{nil, false},
		{[]string{role}, true},
		{[]string{role}, false},
		{[]string{role, rule("fixed", "value", `,"value":1`)}, false},
		{[]string{role, rule("scoped", "profile.email", `,"scope":"email"`)}, false},
		{[]string{role, rule("mail", "profile.email", "")}, true},
		{[]string{rule("mail", "profile.email", "")}, false},
	} {
		if asked := approve(test.rules...); asked != test.asked {
			t.Errorf("%d: asked %t", n, asked)
		}
	}
}

// A claim that makes a signed access token too long for a header is refused, and never cut.
func TestOwnClaimsInAnAccessTokenAreLimited(t *testing.T) {
	f := begin(t, openID)
	s := f.wholePerson("alice")
	app := f.app(signed, ruled(`{"name":"all","from":"groups","in":["access_token"]}`))
	var names []string
	for n := range 100 {
		name := strings.Repeat("x", 40) + string(rune('A'+n%26)) + string(rune('a'+n/26))
		if err := f.People.AddGroup(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	for most, want := range map[int]string{80: "no error", 100: "400 invalid_request"} {
		_, err := f.People.ChangeUser(t.Context(), policy.Operator(), s.User.ID, func(p *people.Person) {
			p.Groups = names[:most]
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.exchange(app, f.code(app, s, "scope", "openid"))
		wantError(t, err, want)
	}
}
