package provider

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mandate/provider/clients"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/provider/tokens"
	"mandate/storage"
)

// wholePerson signs in a person who has a value for a claim of each scope.
func (f *fixture) wholePerson(name string) *storage.SignedIn {
	f.t.Helper()
	err := f.People.AddGroup(f.t.Context(), "staff")
	if err == nil {
		_, err = f.People.AddUser(f.t.Context(), policy.Operator(), people.Person{
			Username:  name,
			Password:  goodPassword,
			Email:     name + "@example.org",
			FirstName: "Alice",
			LastName:  "Liddell",
			Groups:    []string{"staff"},
			Profile:   &people.Profile{EmailVerified: true},
		})
	}
	if err != nil {
		f.t.Fatal(err)
	}
	return f.login(name)
}

// aboutPerson returns those claims of an ID token that are about the person.
func (f *fixture) aboutPerson(got *tokens.TokenResponse) map[string]any {
	f.t.Helper()
	about := map[string]any{}
	for name, value := range claimsOf(f.t, got.IDToken) {
		if !slices.Contains(
			[]string{"iss", "sub", "aud", "exp", "iat", "auth_time", "nonce", "at_hash", "acr", "amr", "sid"}, name,
		) {
			about[name] = value
		}
	}
	return about
}

// atUserInfo returns the claims of the UserInfo endpoint, as JSON, without sub.
func (f *fixture) atUserInfo(got *tokens.TokenResponse) map[string]any {
	f.t.Helper()
	r := post(nil)
	r.Header.Set("Authorization", "Bearer "+got.AccessToken)
	info, _, err := f.Tokens.UserInfo(f.t.Context(), r, "192.0.2.1")
	if err != nil {
		f.t.Fatal(err)
	}
	raw, err := json.Marshal(info.Claims)
	claims := map[string]any{}
	if err == nil {
		err = json.Unmarshal(raw, &claims)
	}
	if err != nil {
		f.t.Fatal(err)
	}
	delete(claims, "sub")
	return claims
}

func claims(value string) func(*clients.Registration) {
	return func(r *clients.Registration) { r.ClaimsInIDToken = value }
}

const everyClaim = "openid profile email groups"

// OIDC Core §2, §5.4: the ID token has the claims of the granted scopes exactly as UserInfo returns them, or none of
// them.
func TestIDTokenHasTheClaimsOfTheScopes(t *testing.T) {
	f := begin(t, openID)
	s := f.wholePerson("alice")
	usual, public := f.app(), f.app(public)
	for name, test := range map[string]struct {
		app *clients.Registered
		in  bool
	}{
		"confidential":     {usual, true},
		"confidential on":  {f.app(claims("on")), true},
		"confidential off": {f.app(claims("off")), false},
		"public":           {public, false},
		"public on": {f.app(func(r *clients.Registration) {
			r.ClientType, r.GrantTypes, r.ClaimsInIDToken = policy.Public, []string{policy.GrantCode}, "on"
		}), true},
	} {
		t.Run(name, func(t *testing.T) {
			for scope, want := range map[string]string{
				"openid":         "",
				"openid email":   "email email_verified",
				"openid groups":  "groups",
				"openid profile": "family_name given_name name preferred_username updated_at",
				everyClaim:       "email email_verified family_name given_name groups name preferred_username updated_at",
			} {
				got := f.tokens(test.app, s, "scope", scope)
				info, about := f.atUserInfo(got), f.aboutPerson(got)
				if names := strings.Join(keysOf(info), " "); names != want {
					t.Fatalf("%s: UserInfo has %s, want %s", scope, names, want)
				}
				if !test.in {
					info = map[string]any{}
				}
				if d := cmp.Diff(info, about); d != "" {
					t.Errorf("%s: the ID token %s", scope, d)
				}
				// OIDC Core §12.2: the ID token of a refresh too.
				next := f.must(f.refresh(test.app, got.RefreshToken))
				if d := cmp.Diff(info, f.aboutPerson(next)); d != "" {
					t.Errorf("%s: the refreshed ID token %s", scope, d)
				}
			}
		})
	}
	t.Run("a refresh for fewer scopes", func(t *testing.T) {
		got := f.must(f.refresh(usual, f.tokens(usual, s, "scope", everyClaim).RefreshToken, "scope", "openid email"))
		if names := keysOf(f.aboutPerson(got)); !slices.Equal(names, []string{"email", "email_verified"}) {
			t.Error(names)
		}
	})
	t.Run("what the parameter claims requests comes in addition", func(t *testing.T) {
		for _, app := range []*clients.Registered{usual, public} {
			want := []string{"email", "email_verified", "name"}
			if app == public {
				want = []string{"name"}
			}
			got := f.aboutPerson(f.tokens(
				app, s, "scope", "openid email", "claims", `{"id_token":{"name":null,"groups":{"value":["other"]}}}`,
			))
			if names := keysOf(got); !slices.Equal(names, want) {
				t.Error(names)
			}
		}
	})
	t.Run("a scope that it lost", func(t *testing.T) {
		app := f.app()
		got := f.tokens(app, s, "scope", everyClaim)
		err := f.change(app, func(r *clients.Registration) { r.Scopes = []string{"openid", "email"} })
		if err != nil {
			t.Fatal(err)
		}
		if names := keysOf(f.aboutPerson(f.must(f.refresh(
			app, got.RefreshToken,
		)))); !slices.Equal(names, []string{"email", "email_verified"}) {
			t.Error(names)
		}
	})
}

func keysOf(claims map[string]any) []string {
	names := []string{}
	for name := range claims {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// RFC 8628 §3.5: a device gets its tokens by another grant, and its ID token has the same claims.
func TestIDTokenOfADeviceHasTheClaimsOfTheScopes(t *testing.T) {
	f := begin(t, openID)
	s := f.wholePerson("alice")
	server := func(r *clients.Registration) { r.ClientType = policy.Confidential }
	for name, test := range map[string]struct {
		app *clients.Registered
		in  bool
	}{
		"confidential": {f.television(server), true},
		"off":          {f.television(server, claims("off")), false},
		"public":       {f.television(), false},
	} {
		codes := f.asks(test.app, "scope", everyClaim)
		f.allow(codes, s)
		got := f.must(f.token(test.app, pollWith(codes)...))
		want := map[string]any{}
		if test.in {
			want = f.atUserInfo(got)
		}
		if d := cmp.Diff(want, f.aboutPerson(got)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// RFC 8707 §2: with the scope groups, a person may have approved that an API reads the groups. UserInfo does not accept
// the token for that API, and the ID token does not have what was approved there only.
func TestIDTokenHasNoClaimsThatWereApprovedForAnAPI(t *testing.T) {
	f := withResources(t)
	s, app := f.wholePerson("alice"), f.app()
	at := f.ask(t, app, s, "scope", "openid email groups", "resource", mailbox)
	if at == nil {
		t.Fatal("nobody is asked")
	}
	for of, want := range map[string]string{mailbox: "email email_verified", server: "email email_verified groups"} {
		if got := keysOf(f.aboutPerson(f.tokens(
			app, s, "scope", "openid email groups", "resource", of,
		))); strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", of, got, want)
		}
	}
	both := f.tokens(app, s, "scope", "openid email groups", "resource", mailbox, "resource", server)
	if got := keysOf(f.aboutPerson(both)); !slices.Contains(got, "groups") {
		t.Errorf("for both: %v", got)
	}
	if got := keysOf(f.aboutPerson(f.must(f.refresh(
		app, both.RefreshToken, "resource", mailbox,
	)))); slices.Contains(got, "groups") {
		t.Errorf("for both, refreshed for the API: %v", got)
	}
}

// The consent page asks for what the ID token will have: each scope whose claims it has, and nothing that the person
// does not approve.
func TestConsentCoversTheClaimsOfTheIDToken(t *testing.T) {
	f := begin(t, openID)
	s, app := f.wholePerson("alice"), f.app()
	asked := f.ask(t, app, s, "scope", everyClaim)
	a, err := f.Authorizations.Resume(t.Context(), asked.Ticket, s)
	if err != nil {
		t.Fatal(err)
	}
	var shown []string
	for _, scope := range a.Scopes {
		shown = append(shown, scope.Name)
	}
	slices.Sort(shown)
	if want := []string{"email", "groups", "openid", "profile"}; !slices.Equal(shown, want) {
		t.Errorf("the page asks for %v, want %v", shown, want)
	}
}

// An application that has no claims in its ID tokens costs no statement more than one that does not ask for them. The
// claims cost what UserInfo reads for them: the person, and the groups if they are granted.
func TestClaimsInIDTokenCostWhatTheyRead(t *testing.T) {
	f := begin(t, openID)
	s := f.wholePerson("alice")
	count := func(app *clients.Registered, scope string) [2]int {
		f.tokens(app, s, "scope", scope) // the copies of the keys and of the application
		code := f.code(app, s, "scope", scope)
		var got *tokens.TokenResponse
		n := func(work func()) (ran int) {
			f.store.Trace(func(ctx context.Context, statement string) (context.Context, func(error)) {
				ran++
				return ctx, func(error) {}
			})
			defer f.store.Trace(nil)
			work()
			return ran
		}
		exchange := n(func() { got = f.must(f.exchange(app, code)) })
		return [2]int{exchange, n(func() { f.must(f.refresh(app, got.RefreshToken)) })}
	}
	off, on := f.app(claims("off")), f.app()
	base := count(off, "openid")
	for _, test := range []struct {
		app   *clients.Registered
		scope string
		more  int
	}{
		{off, everyClaim, 0},
		{on, "openid", 0},
		{on, "openid read", 0},
		{on, "openid profile email", 1},
		{on, "openid groups", 2},
		{on, everyClaim, 2},
	} {
		got := count(test.app, test.scope)
		if want := [2]int{base[0] + test.more, base[1] + test.more}; got != want {
			t.Errorf(
				"%q, %s: an exchange and a refresh cost %v statements, want %v", test.app.Application.ClaimsInIDToken,
				test.scope, got, want,
			)
		}
	}
	t.Logf("with the scope openid alone, an exchange and a refresh cost %v statements", base)
}

// Whoever registers an application can only narrow what the server does. Only an administrator puts claims into the ID
// token where they are not by themselves.
func TestAttackClaimsInTheIDTokenOfAStranger(t *testing.T) {
	f := begin(t, openID)
	alice, root := f.person("alice"), f.person("root")
	f.sql("UPDATE users SET administrator = TRUE WHERE username = 'root'")
	root.Administrator = true
	register := func(actor policy.Actor, change func(*clients.Registration)) (*clients.Registered, error) {
		r := clients.Registration{
			Name:             "Client",
			ClientType:       policy.Confidential,
			GrantTypes:       []string{policy.GrantCode},
			RedirectURIs:     []string{callback},
			HashClientSecret: true,
		}
		change(&r)
		return f.Clients.Register(t.Context(), actor, r)
	}
	for value, want := range map[string]string{
		"":    "",
		"off": "",
		"on":  "claims_in_id_token",
		"yes": "claims_in_id_token",
		"ON":  "claims_in_id_token",
	} {
		_, err := register(policy.By(alice), claims(value))
		if want == "" {
			wantError(t, err, "no error")
		} else {
			wantInvalid(t, err, want)
		}
	}
	theirs, err := register(policy.ByConfirmed(root), claims("on"))
	wantError(t, err, "no error")
	// The profile says what its ID tokens have.
	secured := func(r *clients.Registration) {
		r.Profile, r.ClaimsInIDToken, r.Said = policy.ProfileFAPI, "on", []string{"claims_in_id_token"}
	}
	_, err = register(policy.ByConfirmed(root), secured)
	wantInvalid(t, err, "claims_in_id_token")

	// A person who owns it may switch them off, and not on again.
	f.sql("UPDATE applications SET responsible = 'operator', owner_id = '" + alice.ID + "' WHERE id = '" +
		theirs.Application.ID + "'")
	change := func(by policy.Actor, value string) error {
		_, err := f.Clients.Change(
			t.Context(), by, theirs.Application.ID,
			func(r *clients.Registration) error { r.ClaimsInIDToken = value; return nil },
		)
		return err
	}
	wantError(t, change(policy.By(alice), "on"), "no error") // as it is
	wantError(t, change(policy.By(alice), "off"), "no error")
	wantInvalid(t, change(policy.By(alice), "on"), "claims_in_id_token")
	wantInvalid(t, change(policy.By(alice), ""), "claims_in_id_token")
	wantError(t, change(policy.ByConfirmed(root), "on"), "no error")
	// A person becomes responsible: what only an administrator may decide ends, and what narrows stays.
	for value, want := range map[string]string{"on": "", "off": "off"} {
		wantError(t, change(policy.ByConfirmed(root), value), "no error")
		given, err := f.Clients.Assign(
			t.Context(), policy.ByConfirmed(root), theirs.Application.ID, f.version(theirs.Application.ID), "alice",
		)
		if err != nil || given.ClaimsInIDToken != want {
			t.Errorf("%s: %q %v", value, given.ClaimsInIDToken, err)
		}
		_, err = f.Clients.TakeOver(
			t.Context(), policy.ByConfirmed(root), theirs.Application.ID, f.version(theirs.Application.ID),
		)
		wantError(t, err, "no error")
	}
}
