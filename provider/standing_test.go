package provider

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mandate/provider/clients"
	"mandate/provider/logout"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/storage"
)

// A suspended application gets no tokens, no introspection and no login, and its old tokens are
// not active.
func TestSuspendedApplication(t *testing.T) {
	f := begin(t)
	alice, bob := f.person("alice"), f.login("bob")
	r := clients.Registration{
		Name:             "Client",
		ClientType:       policy.Confidential,
		GrantTypes:       []string{policy.GrantCode, policy.GrantClient},
		RedirectURIs:     []string{callback},
		HashClientSecret: true,
	}
	app, err := f.Clients.Register(t.Context(), policy.By(alice), r)
	if err != nil {
		t.Fatal(err)
	}
	r.ClientType, r.GrantTypes = policy.Public, []string{policy.GrantCode}
	open, err := f.Clients.Register(t.Context(), policy.By(alice), r)
	if err != nil {
		t.Fatal(err)
	}
	own, mine := f.must(f.token(app, "grant_type", policy.GrantClient)), f.tokens(app, bob)
	code := f.code(open, bob)
	ends := func(want bool) {
		t.Helper()
		f.wantActive(!want, own.AccessToken, mine.AccessToken, mine.RefreshToken)
		status, page := "no error", "no error"
		if want {
			status, page = "401 invalid_client", "400 unauthorized_client"
		}
		_, err := f.token(app, "grant_type", policy.GrantClient)
		wantError(t, err, status)
		_, err = f.Authorizations.Authorize(t.Context(), f.query(app))
		wantError(t, err, page)
		if want {
			_, err = f.exchange(open, code)
			wantError(t, err, status)
		}
		a, err := f.Clients.Application(t.Context(), policy.Operator(), app.Application.ID)
		if err != nil {
			t.Fatal(err)
		}
		a.PostLogoutURIs = callback
		wantError(t, f.Logouts.CheckLogoutURI(&logout.Request{Application: &a, RedirectURI: callback}), page)
		// Without the right secret, the error does not show that the owner is missing.
		_, err = f.token(&clients.Registered{Application: app.Application, Secret: "wrong"}, "grant_type", policy.GrantClient)
		if strings.Contains(err.Error(), "suspended") {
			t.Error(err)
		}
	}
	ends(false)
	if err := f.People.DisableUser(t.Context(), "alice"); err != nil {
		t.Fatal(err)
	}
	ends(true)
	if err := f.People.EnableUser(t.Context(), "alice"); err != nil {
		t.Fatal(err)
	}
	ends(false)
	f.must(f.exchange(open, code))
	if err := f.People.DeleteUser(t.Context(), policy.Operator(), alice.ID, people.TakeOver); err != nil {
		t.Fatal(err)
	}
	ends(false)
}

// version is that of an application as it stands now.
func (f *fixture) version(id string) int64 {
	f.t.Helper()
	a, err := f.Clients.Application(f.t.Context(), policy.Operator(), id)
	if err != nil {
		f.t.Fatal(err)
	}
	return a.Version
}

func TestOwnersOfApplications(t *testing.T) {
	f := begin(t)
	alice, root := f.person("alice"), f.person("root")
	root.Administrator = true
	f.sql("UPDATE users SET administrator = TRUE WHERE username = 'root'")
	r := clients.Registration{
		Name:             "Client",
		ClientType:       policy.Confidential,
		GrantTypes:       []string{policy.GrantClient},
		HashClientSecret: true,
	}
	app, err := f.Clients.Register(t.Context(), policy.By(alice), r)
	if err != nil {
		t.Fatal(err)
	}
	id := app.Application.ID
	r.MayIntrospect = true
	_, err = f.Clients.Update(t.Context(), policy.ByConfirmed(root), id, f.version(id), r)
	wantInvalid(t, err, "may_introspect")
	_, err = f.Clients.TakeOver(t.Context(), policy.By(alice), id, f.version(id))
	wantError(t, err, "403 access_denied")
	_, err = f.Clients.Assign(t.Context(), policy.By(alice), id, f.version(id), "root")
	wantError(t, err, "403 access_denied")
	taken, err := f.Clients.TakeOver(t.Context(), policy.ByConfirmed(root), id, f.version(id))
	if err != nil || policy.StandingOf(taken) != policy.StandingAdministrator || *taken.OwnerID != root.ID {
		t.Error(err, taken)
	}
	_, err = f.Clients.Update(t.Context(), policy.ByConfirmed(root), id, f.version(id), r)
	wantError(t, err, "no error")
	asks := func(want string) {
		t.Helper()
		_, _, err := f.Tokens.Introspect(t.Context(), by(app, "token", "any"), "192.0.2.1")
		wantError(t, err, want)
	}
	asks("no error")
	back, err := f.Clients.Assign(t.Context(), policy.ByConfirmed(root), id, f.version(id), "alice")
	if err != nil || policy.StandingOf(back) != policy.StandingPerson || back.MayIntrospect {
		t.Error(err, back)
	}
	asks("403 unauthorized_client")
	_ = f.People.DisableUser(t.Context(), "alice")
	_, err = f.Clients.Assign(t.Context(), policy.By(root), id, f.version(id), "alice")
	wantInvalid(t, err, "owner")
	_, err = f.Clients.Assign(t.Context(), policy.Operator(), id, f.version(id), "nobody")
	wantInvalid(t, err, "owner")
	_, err = f.Clients.TakeOver(t.Context(), policy.Operator(), id, f.version(id)-1)
	wantInvalid(t, err, "owner")
	operators, err := f.Clients.TakeOver(t.Context(), policy.Operator(), id, f.version(id))
	if err != nil || policy.StandingOf(operators) != policy.StandingAdministrator || operators.OwnerID != nil {
		t.Error(err, operators)
	}
	wantInvalid(t, f.People.DeleteUser(t.Context(), policy.By(root), root.ID, people.DeleteApplications), "username")
	for _, theirs := range []string{"", "keep"} {
		other, err := f.Clients.Register(t.Context(), policy.ByConfirmed(root), r)
		if err != nil {
			t.Fatal(err)
		}
		wantInvalid(t, f.People.DeleteUser(t.Context(), policy.Operator(), root.ID, theirs), "applications")
		wantError(t, f.Clients.Delete(t.Context(), policy.Operator(), other.Application.ID), "no error")
	}
}

// A scope that the application may no longer have is removed from its valid tokens of both formats. It returns when the
// application may have it again.
func TestRemovedScopeLeavesLiveTokens(t *testing.T) {
	f := begin(t, shortJWT)
	asker := f.app(introspects)
	for name, format := range map[string]func(*clients.Registration){
		policy.FormatOpaque: func(*clients.Registration) {},
		policy.FormatJWT:    signed,
	} {
		app := f.app(format, func(r *clients.Registration) { r.Scopes = []string{"read", "write"} })
		token := f.must(f.token(app, "grant_type", policy.GrantClient)).AccessToken
		for _, scopes := range [][]string{{"read", "write"}, {"write"}, {"groups"}, {"write", "read", "groups"}} {
			err := f.change(app, format, func(r *clients.Registration) { r.Scopes = scopes })
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := f.Tokens.Introspect(t.Context(), by(asker, "token", token), "192.0.2.1")
			if err != nil {
				t.Fatal(err)
			}
			want := strings.Join(oauth.Narrow([]string{"read", "write"}, scopes), " ")
			if got.Active != (want != "") || got.Scope != want {
				t.Errorf("%s, with %q: active %t, scope %q", name, scopes, got.Active, got.Scope)
			}
		}
	}
}

// A signed token is valid for its permitted lifetime, and the key that verifies it is published
// for as long.
func TestRetiredKeysStayAsLongAsSignedTokensLive(t *testing.T) {
	f := begin(t, shortJWT, func(c *Config) { c.JWTAccessTokenMax = 24 * time.Hour })
	f.app(signed)
	f.sql("UPDATE applications SET access_token_lifetime = 31536000")
	wantError(t, f.Keys.RotateNow(t.Context(), "EC", 0), "no error")
	states, err := f.Keys.States(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	retired := 0
	for _, k := range states {
		if k.RetiredAt == 0 {
			continue
		}
		retired++
		if lives := k.ExpiresAt - oauth.Now(); lives > 26*3600 || lives < 24*3600 {
			t.Errorf("a retired key is published for %d s more, want a day and an hour", lives)
		}
	}
	if retired != 1 {
		t.Errorf("%d keys are retired", retired)
	}
}

// The list of applications selects by the same standing as every decision, whatever may come by
// itself.
func TestApplicationsAreSelectedByTheirStanding(t *testing.T) {
	for _, come := range [][]string{nil, {clients.OpenDocuments}, {clients.OpenRegistration},
		{clients.OpenDocuments, clients.OpenRegistration}} {
		t.Run(fmt.Sprint(come), func(t *testing.T) {
			selectedByStanding(t, clients.OpenConfig{Clients: come, LocalhostLoopback: true})
		})
	}
}

func selectedByStanding(t *testing.T, open clients.OpenConfig) {
	f := begin(t, func(c *Config) { c.Open = open })
	f.person("plain")
	f.person("disabled")
	f.person("root")
	f.person("formerroot")
	f.sql(
		"UPDATE users SET administrator = TRUE WHERE username LIKE '%root'",
		"UPDATE users SET active = FALSE WHERE username IN ('disabled', 'formerroot')",
	)
	for _, responsible := range []string{storage.ByOperator, storage.ByOwner, storage.ByNobody} {
		for _, owner := range []string{"plain", "disabled", "root", "formerroot", ""} {
			app := f.app().Application
			f.sql("UPDATE applications SET responsible = '" + responsible + "', owner_id = (SELECT id FROM users WHERE " +
				"username = '" + owner + "') WHERE id = '" + app.ID + "'")
		}
	}
	f.sql(
		"UPDATE applications SET origin = 'registration' WHERE owner_id = (SELECT id FROM users WHERE username = 'plain')",
		"UPDATE applications SET origin = 'document', client_id = 'https://agent.example/' || id WHERE owner_id = (SELECT "+
			"id FROM users WHERE username = 'root')",
	)
	all, total, err := f.Clients.Applications(t.Context(), policy.Operator(), storage.Selection{}, 100, 0)
	if err != nil || total != 15 {
		t.Fatal(err, total)
	}
	for standing, matches := range map[string]func(storage.Application) bool{
		"administrator": func(a storage.Application) bool { return policy.StandingOf(a) == policy.StandingAdministrator },
		"person":        func(a storage.Application) bool { return policy.StandingOf(a) == policy.StandingPerson },
		"open":          func(a storage.Application) bool { return policy.StandingOf(a) == policy.StandingOpen },
		"suspended":     func(a storage.Application) bool { return f.Rules.WhySuspended(a) != "" },
	} {
		found, _, err := f.Clients.Applications(t.Context(), policy.Operator(), storage.Selection{Standing: standing}, 100, 0)
		want := slices.DeleteFunc(slices.Clone(all), func(a storage.Application) bool { return !matches(a) })
		if diff := cmp.Diff(want, found); err != nil || diff != "" || len(want) == 0 {
			t.Errorf("%s: %v %s", standing, err, diff)
		}
	}
}
