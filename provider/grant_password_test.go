package provider

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mandate/provider/clients"
	"mandate/provider/limits"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/provider/tokens"
	"mandate/storage"
)

func TestPasswordGrant(t *testing.T) {
	f := begin(t)
	alice := f.person("alice")
	app, open, without := f.app(
		grants(policy.GrantPassword), func(r *clients.Registration) { r.RedirectURIs = nil },
	), f.app(public), f.app(grants(policy.GrantCode))
	ask := func(app *clients.Registered, pairs ...string) (*tokens.TokenResponse, error) {
		return f.token(app, append([]string{
			"grant_type",
			policy.GrantPassword,
			"username",
			"alice",
			"password",
			goodPassword,
		}, pairs...)...)
	}
	t.Run("RFC6749/4.3.3 the right password gives both tokens, for the person", func(t *testing.T) {
		for _, app := range []*clients.Registered{app, open} {
			answer := f.must(ask(app, "scope", "write read"))
			access, _ := f.Tokens.LiveToken(t.Context(), answer.AccessToken)
			if d := cmp.Diff(
				[]string{"write read", "write read", alice.ID}, []string{answer.Scope, access.Scope, oauth.Deref(access.UserID)},
			); d != "" {
				t.Error(d)
			}
			next := f.must(f.refresh(app, answer.RefreshToken, "scope", "read"))
			f.wantActive(true, answer.AccessToken, next.AccessToken, next.RefreshToken)
		}
	})
	t.Run("RFC6749/3.3 the default scopes", func(t *testing.T) {
		if d := cmp.Diff("read write groups", f.must(ask(app)).Scope); d != "" {
			t.Error(d)
		}
	})
	t.Run("the name is read as at the login", func(t *testing.T) {
		for _, name := range []string{"ALICE", " alice ", "ａｌｉｃｅ"} {
			f.must(ask(app, "username", name))
		}
	})
	for _, test := range []struct {
		rule string
		form []string
		want string
	}{
		{"RFC6749/5.2 a wrong password", []string{"password", goodPassword + "x"}, "400 invalid_grant"},
		{"RFC6749/5.2 nobody of that name", []string{"username", "nobody"}, "400 invalid_grant"},
		{"RFC6749/4.3.2 no password", []string{"password", "-"}, "400 invalid_request"},
		{"RFC6749/4.3.2 no username", []string{"username", "-"}, "400 invalid_request"},
		{"RFC6749/5.2 an unknown scope", []string{"scope", "unknown"}, "400 invalid_scope"},
		{"introspection is not allowed", []string{"scope", "introspection"}, "400 invalid_scope"},
	} {
		t.Run(test.rule, func(t *testing.T) {
			_, err := ask(app, test.form...)
			wantError(t, err, test.want)
		})
	}
	t.Run("CVE-2026-23511 nobody learns which names exist", func(t *testing.T) {
		_, wrong := ask(app, "password", "wrong")
		_, nobody := ask(app, "username", "nobody")
		if d := cmp.Diff(wrong.Error(), nobody.Error()); d != "" {
			t.Error(d)
		}
	})
	t.Run("an application that may not do this learns nothing", func(t *testing.T) {
		_, right := ask(without)
		_, wrong := ask(without, "password", "wrong")
		_, nobody := ask(without, "username", "nobody")
		_, empty := ask(without, "password", "-")
		for _, err := range []error{right, wrong, nobody, empty} {
			wantError(t, err, "400 unauthorized_client")
			if d := cmp.Diff(right.Error(), err.Error()); d != "" {
				t.Error(d)
			}
		}
	})
	t.Run("a scope that is refused says nothing about the password", func(t *testing.T) {
		_, right := ask(app, "scope", "unknown")
		_, wrong := ask(app, "scope", "unknown", "password", "wrong")
		if d := cmp.Diff(right.Error(), wrong.Error()); d != "" {
			t.Error(d)
		}
	})
	t.Run("who is disabled gets none, and looks like a wrong password", func(t *testing.T) {
		f.person("gone")
		answer := f.must(ask(app, "username", "gone"))
		err := f.People.DisableUser(t.Context(), "gone")
		if err != nil {
			t.Fatal(err)
		}
		_, err = ask(app, "username", "gone")
		_, wrong := ask(app, "password", "wrong")
		wantError(t, err, "400 invalid_grant")
		if d := cmp.Diff(wrong.Error(), err.Error()); d != "" {
			t.Error(d)
		}
		f.wantActive(false, answer.AccessToken, answer.RefreshToken)
	})
	t.Run("a new password ends what the old one gave", func(t *testing.T) {
		f.person("changes")
		answer := f.must(ask(app, "username", "changes"))
		err := f.People.ResetPassword(t.Context(), "changes", "another few words")
		if err != nil {
			t.Fatal(err)
		}
		f.wantActive(false, answer.AccessToken, answer.RefreshToken)
	})
}

func TestPasswordGrantIsSlowed(t *testing.T) {
	f := begin(t)
	f.person("alice")
	f.person("bob")
	app, other, open := f.app(), f.app(), f.app(public)
	guess := func(app *clients.Registered, name, password, address string) string {
		_, _, err := f.Grants.Token(t.Context(), by(
			app, "grant_type", policy.GrantPassword, "username", name, "password", password,
		), address)
		return kind(err)
	}
	runOut := func(t *testing.T, app *clients.Registered, address string) {
		t.Helper()
		for n := 0; guess(app, "alice", "wrong", address) == "400 invalid_grant"; n++ {
			if n > int(limits.Of(limits.OfPair).Tries) {
				t.Fatal("still not slowed")
			}
		}
		if got := guess(app, "alice", goodPassword, address); got != "429 temporarily_unavailable" {
			t.Error("the right password:", got)
		}
	}
	t.Run("at a confidential application per person, from wherever", func(t *testing.T) {
		runOut(t, app, "192.0.2.1")
		for _, test := range []struct {
			app                 *clients.Registered
			name, address, want string
		}{
			{app, "alice", "192.0.2.2", "429 temporarily_unavailable"},
			{app, "bob", "192.0.2.1", "no error"},
			{other, "alice", "192.0.2.1", "no error"},
			{open, "alice", "192.0.2.1", "no error"},
		} {
			if got := guess(test.app, test.name, goodPassword, test.address); got != test.want {
				t.Errorf("%s from %s: %s, want %s", test.name, test.address, got, test.want)
			}
		}
	})
	t.Run("at a public application per person and address", func(t *testing.T) {
		runOut(t, open, "198.51.100.1")
		for _, test := range []struct{ name, address, want string }{{
			"alice",
			"198.51.100.2",
			"no error",
		}, {"bob", "198.51.100.1", "no error"}} {
			if got := guess(open, test.name, goodPassword, test.address); got != test.want {
				t.Errorf("%s from %s: %s, want %s", test.name, test.address, got, test.want)
			}
		}
	})
}

func TestPasswordGrantIsSlowedInAll(t *testing.T) {
	guess := func(f *fixture, app *clients.Registered, name, password string) string {
		return kind(second(f.token(app, "grant_type", policy.GrantPassword, "username", name, "password", password)))
	}
	const looked, refused = "400 invalid_grant", "429 temporarily_unavailable"
	// spray guesses passwords, at different names or at one name. It returns how many guesses were checked.
	spray := func(f *fixture, app func(i int) *clients.Registered, name, address func(i int) string) int {
		n := 0
		for i := range 3 * limits.Of(limits.OfOwner).Tries {
			_, _, err := f.Grants.Token(f.t.Context(), by(
				app(i), "grant_type", policy.GrantPassword, "username", name(i), "password", "wrong",
			), address(i))
			switch got := kind(err); got {
			case looked:
				n++
			case refused:
			default:
				f.t.Fatal(i, got)
			}
		}
		return n
	}
	always := func(text string) func(int) string { return func(int) string { return text } }
	each := func(text string) func(int) string { return func(i int) string { return fmt.Sprint(text, i) } }
	for _, test := range []struct {
		rule          string
		name, address func(int) string
		want          int
	}{
		{"many names from one address", each("name"), always("a"), limits.Of(limits.OfAddress).Tries},
		{"many names from many addresses", each("name"), each("a"), limits.Of(limits.OfOwner).Tries},
		{"one name from one address", always("alice"), always("a"), limits.Of(limits.OfPair).Tries},
		{"one name from many addresses", always("alice"), each("a"), limits.Of(limits.OfPair).Tries},
	} {
		t.Run("whoever may register applications has no more tries for it: "+test.rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := begin(t)
				f.t = t
				f.person("alice")
				mallory, root := f.person("mallory"), f.person("root")
				root.Administrator = true
				var apps []*clients.Registered
				for range 10 {
					apps = append(apps, f.owned(mallory))
				}
				n := spray(f, func(i int) *clients.Registered { return apps[i%10] }, test.name, test.address)
				if n != test.want {
					t.Errorf("%d guesses, want %d", n, test.want)
				}
				for _, app := range []*clients.Registered{f.owned(root), f.app()} {
					if got := guess(f, app, "alice", goodPassword); got != "no error" {
						t.Error("an application that an administrator answers for:", got)
					}
				}
				_, err := f.People.Login(t.Context(), "alice", goodPassword, people.Browser{Address: "a"})
				wantError(t, err, "no error")
			})
		})
	}
	t.Run(
		"an application that an administrator's session may have made has no guesses of its own at an account",
		func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := begin(t)
				f.t = t
				f.person("alice")
				root, err := f.People.AddUser(t.Context(), policy.Operator(), people.Person{
					Username:      "root",
					Password:      goodPassword,
					Administrator: true,
				})
				if err != nil {
					t.Fatal(err)
				}
				tool, operators := f.owned(root), f.app()
				n := 0
				for ; n < 2*limits.Of(limits.OfAccount).Tries; n++ {
					_, _, err = f.Grants.Token(t.Context(), by(
						tool, "grant_type", policy.GrantPassword, "username", "alice", "password", "wrong",
					), fmt.Sprint("a", n))
					if kind(err) != looked {
						break
					}
					if n%(limits.Of(limits.OfPair).Tries-1) == limits.Of(limits.OfPair).Tries-2 {
						tool = f.owned(root) // another one has its own limit of the pair
					}
				}
				if n != limits.Of(limits.OfAccount).Tries {
					t.Errorf("%d guesses, want %d", n, limits.Of(limits.OfAccount).Tries)
				}
				if got := guess(f, operators, "alice", goodPassword); got != "no error" {
					t.Error("an application of the operator:", got)
				}
			})
		},
	)
	t.Run("one address has so many tries over all owners", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := begin(t)
			f.t = t
			mallory, trent := f.owned(f.person("mallory")), f.owned(f.person("trent"))
			n := spray(
				f, func(i int) *clients.Registered { return []*clients.Registered{mallory, trent}[i%2] }, each("name"),
				always("a"),
			)
			if n != limits.Of(limits.OfAddress).Tries {
				t.Errorf("%d guesses, want %d", n, limits.Of(limits.OfAddress).Tries)
			}
		})
	})
	t.Run("guesses at the login page and by programs are counted apart", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := begin(t)
			f.t = t
			f.person("alice")
			phone := f.app(public)
			at := func(i int) string { return fmt.Sprint("a", i/limits.Of(limits.OfPair).Tries) }
			for i := range limits.Of(limits.OfAccount).Tries {
				_, _, err := f.Grants.Token(t.Context(), by(
					phone, "grant_type", policy.GrantPassword, "username", "alice", "password", "wrong",
				), at(i))
				wantError(t, err, looked)
			}
			if got := guess(f, phone, "alice", goodPassword); got != refused {
				t.Error("the account at a program:", got)
			}
			for i := range limits.Of(limits.OfAccount).Tries {
				_, err := f.People.Login(t.Context(), "alice", "wrong", people.Browser{Address: at(i)})
				wantError(t, err, looked)
			}
			_, err := f.People.Login(t.Context(), "alice", goodPassword, people.Browser{Address: "home"})
			wantError(t, err, refused)
			time.Sleep(limits.Of(limits.OfAccount).Refill)
			if got := guess(f, phone, "alice", goodPassword); got != "no error" {
				t.Error("after a while:", got)
			}
		})
	})
	t.Run("one application has so many tries for everybody", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := begin(t)
			f.person("alice")
			app, other := f.app(), f.app()
			for i := range int(limits.Of(limits.OfAddress).Tries) {
				if got := guess(f, app, fmt.Sprint("nobody", i), "wrong"); got != "400 invalid_grant" {
					t.Fatal(i, got)
				}
			}
			if got := guess(f, app, "alice", goodPassword); got != "429 temporarily_unavailable" {
				t.Error(got)
			}
			if got := guess(f, other, "alice", goodPassword); got != "no error" {
				t.Error("another application:", got)
			}
			time.Sleep(limits.Of(limits.OfAddress).Refill)
			for range 10 {
				if got := guess(f, app, "alice", goodPassword); got != "no error" {
					t.Fatal("who is right spends none:", got)
				}
			}
		})
	})
}

// owned returns an application that a person has registered.
func (f *fixture) owned(by storage.User) *clients.Registered {
	f.t.Helper()
	made, err := f.Clients.Register(f.t.Context(), policy.By(by), clients.Registration{
		Name:             "Client",
		ClientType:       policy.Confidential,
		GrantTypes:       []string{policy.GrantPassword},
		HashClientSecret: true,
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return made
}

func TestPasswordGrantIsWarnedOf(t *testing.T) {
	f := begin(t)
	f.person("alice")
	log := f.logged
	app := f.app()
	for range 3 {
		_, _ = f.token(app, "grant_type", policy.GrantPassword, "username", "alice", "password", goodPassword)
	}
	if n := strings.Count(log.String(), "RFC 9700"); n != 1 {
		t.Errorf("RFC9700/2.4 warned %d times:\n%s", n, log)
	}
	if strings.Contains(log.String(), goodPassword) || strings.Contains(log.String(), app.Secret) {
		t.Error("a secret is in the log")
	}
}
