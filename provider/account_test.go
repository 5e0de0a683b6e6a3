package provider

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mandate/provider/clients"
	"mandate/provider/limits"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/provider/throttle"
	"mandate/storage"
)

func TestAuthorizedApplications(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t)
		alice, bob := f.login("alice"), f.login("bob")
		named := func(name string) func(*clients.Registration) { return func(r *clients.Registration) { r.Name = name } }
		app, other, unused := f.app(named("one")), f.app(named("Two")), f.app(named("three"))
		f.tokens(app, bob)
		since := oauth.Now()
		f.approve(t, app, alice, "scope", "read")
		time.Sleep(time.Minute)
		answer, second := f.tokens(app, alice, "scope", "write"), f.tokens(app, alice, "scope", "read")
		f.tokens(other, alice, "scope", "groups")
		f.code(unused, alice) // the code is not exchanged, so the application has no tokens
		list := func(s *storage.SignedIn) []people.Authorized {
			apps, err := f.People.Authorized(t.Context(), s.User.ID)
			if err != nil {
				t.Fatal(err)
			}
			return apps
		}
		shown := func(made *clients.Registered, name string) storage.Application {
			return storage.Application{
				ClientID:    made.Application.ClientID,
				Name:        name,
				Origin:      storage.FromCommand,
				Responsible: storage.ByOperator,
			}
		}
		want := []people.Authorized{
			{
				ApplicationID: app.Application.ID,
				Application:   shown(app, "one"),
				Scopes:        []string{"read", "write"},
				Since:         since,
				Standing:      policy.StandingAdministrator,
				LastUsedAt:    since,
			},
			{
				ApplicationID: other.Application.ID,
				Application:   shown(other, "Two"),
				Scopes:        []string{"groups"},
				Since:         since + 60,
				Standing:      policy.StandingAdministrator,
				LastUsedAt:    since + 60,
			},
		}
		if d := cmp.Diff(want, list(alice)); d != "" {
			t.Error(d)
		}
		err := f.People.Revoke(t.Context(), alice.User.ID, app.Application.ID)
		if err != nil {
			t.Fatal(err)
		}
		f.wantActive(false, answer.AccessToken, answer.RefreshToken, second.AccessToken, second.RefreshToken)
		if d := cmp.Diff(want[1:], list(alice)); d != "" {
			t.Error("revoked:", d)
		}
		if n := len(list(bob)); n != 1 {
			t.Error("somebody else's consent is gone")
		}
		err = f.People.Revoke(t.Context(), alice.User.ID, app.Application.ID)
		if !errors.Is(err, oauth.ErrNotFound) {
			t.Error("twice:", err)
		}
	})
}

func TestSessions(t *testing.T) {
	f := begin(t)
	alice, again, bob := f.login("alice"), f.login("alice"), f.login("bob")
	sessions, err := f.People.Sessions(t.Context(), alice.User.ID)
	if err != nil || len(sessions) != 2 {
		t.Fatal(sessions, err)
	}
	err = f.People.EndSession(t.Context(), alice.User.ID, bob.Session.ID)
	if !errors.Is(err, oauth.ErrNotFound) {
		t.Error("somebody else's session:", err)
	}
	err = f.People.EndSession(t.Context(), alice.User.ID, again.Session.ID)
	if err != nil {
		t.Error(err)
	}
	sessions, err = f.People.Sessions(t.Context(), alice.User.ID)
	if err != nil || len(sessions) != 1 || sessions[0].ID != alice.Session.ID {
		t.Error(sessions, err)
	}
}

// When an account is disabled or deleted, the copies of the person's tokens are removed. This
// includes token families without a session: those of the password grant, and those whose
// session has ended.
func TestEndOfAPersonReachesCopiesOfTokensWithoutASession(t *testing.T) {
	ctx := t.Context()
	for name, end := range map[string]func(f *fixture, s *storage.SignedIn) error{
		"DisableUser": func(f *fixture, s *storage.SignedIn) error { return f.People.DisableUser(ctx, s.User.Username) },
		"DeleteUser": func(f *fixture, s *storage.SignedIn) error {
			return f.People.DeleteUser(ctx, policy.Operator(), s.User.ID, "")
		},
		"ResetPassword": func(f *fixture, s *storage.SignedIn) error {
			return f.People.ResetPassword(ctx, s.User.Username, "another few words")
		},
		"UpdateUser, inactive": func(f *fixture, s *storage.SignedIn) error {
			return f.People.UpdateUser(ctx, policy.Operator(), s.User.ID, people.Person{
				Username: s.User.Username,
				Inactive: true,
			})
		},
		"ChangePassword": func(f *fixture, s *storage.SignedIn) error {
			return second(f.People.ChangePassword(ctx, s, people.Passwords{Current: goodPassword, Next: "another few words"}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := begin(t)
			app, there := f.app(), f.login("alice")
			outlived := f.tokens(app, there)
			err := f.Logouts.Logout(ctx, there)
			if err != nil {
				t.Fatal(err)
			}
			typed := f.must(f.token(app, "grant_type", policy.GrantPassword, "username", "alice", "password", goodPassword))
			here := f.login("alice")
			f.wantActive(true, outlived.AccessToken, typed.AccessToken) // this also makes the copies
			err = end(f, here)
			if err != nil {
				t.Fatal(err)
			}
			f.wantActive(false, outlived.AccessToken, outlived.RefreshToken, typed.AccessToken, typed.RefreshToken)
		})
	}
}

// Each change is an event and a message. Whoever does not know the password uses nothing of the limit up.
// CWE-645, an overly strict lockout: somebody at a browser that the person has left unlocked, or with a copy of the
// cookie, guesses the password, and the person must still be able to change it, after another sign-in.
func TestAttackCopiedSessionLocksThePasswordChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t)
		guess := func(s *storage.SignedIn) string {
			_, err := f.People.ChangePassword(t.Context(), s, people.Passwords{
				Current: "wrong",
				Next:    "a quite different phrase",
			})
			if _, invalid := errors.AsType[*oauth.Invalid](err); invalid {
				return "wrong"
			}
			return kind(err)
		}
		// most guesses until the limit, and returns their number.
		most := func(s *storage.SignedIn) (n int) {
			for guess(s) == "wrong" {
				n++
			}
			return n
		}
		copied := f.login("alice")
		if n := most(copied); n != 10 || guess(copied) != "429 temporarily_unavailable" {
			t.Errorf("%d guesses with one session", n)
		}
		own := f.login("alice")
		_, err := f.People.ChangePassword(t.Context(), own, people.Passwords{
			Current: goodPassword,
			Next:    "a quite different phrase",
		})
		if err != nil {
			t.Errorf("the person, in another session: %v", err)
		}
		// A sign-in in the same browser gives the session another cookie, and keeps its ID.
		f.person("carol")
		in, err := f.People.Login(t.Context(), "carol", goodPassword, home)
		most(f.signedIn(in, err))
		again := people.Browser{Address: home.Address, Session: in.Session}
		if n := most(f.signedIn(f.People.Login(t.Context(), "carol", goodPassword, again))); n != 10 {
			t.Errorf("%d guesses after a sign-in in the same browser", n)
		}
		// Whoever begins sessions all the time has a bound too.
		f.person("bob")
		sum := 0
		for range 20 {
			sum += most(f.login("bob"))
		}
		if sum != 100 {
			t.Errorf("%d guesses with 20 sessions", sum)
		}
	})
}

func TestEndlessPasswordChanges(t *testing.T) {
	f := begin(t)
	here := f.login("alice")
	change := func(current string) error {
		return second(f.People.ChangePassword(t.Context(), here, people.Passwords{
			Current: current,
			Next:    "another few words",
		}))
	}
	try := throttle.Try{Kind: limits.OfOwnChange, Key: "password " + here.User.ID}
	for range limits.Of(limits.OfOwnChange).Tries - 1 {
		f.limits.Tries.Take(try)
	}
	wantInvalid(t, change("wrong"), "current_password")
	wantError(t, change(goodPassword), "no error")
	here = f.login("bob")
	try.Key = "password " + here.User.ID
	for range limits.Of(limits.OfOwnChange).Tries {
		f.limits.Tries.Take(try)
	}
	wantError(t, change(goodPassword), "429 temporarily_unavailable")
	_, err := f.People.Login(t.Context(), "bob", goodPassword, people.Browser{})
	wantError(t, err, "no error")
}

func TestChangePassword(t *testing.T) {
	const next = "another few words"
	f := begin(t)
	here, there := f.login("alice"), f.login("alice")
	app := f.app()
	byCode, elsewhere := f.tokens(app, here), f.tokens(app, there)
	byPassword := f.must(f.token(app, "grant_type", policy.GrantPassword, "username", "alice", "password", goodPassword))
	for field, passwords := range map[string][][2]string{
		"current_password": {{"wrong", next}, {"", next}, {here.User.Password, next}},
		"new_password": {
			{goodPassword, "short"},
			{goodPassword, ""},
			{goodPassword, goodPassword},
			{goodPassword, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"},
		},
	} {
		for _, p := range passwords {
			wantInvalid(t, second(f.People.ChangePassword(t.Context(), here, people.Passwords{
				Current: p[0],
				Next:    p[1],
			})), field)
		}
	}
	f.wantActive(true, byCode.AccessToken, byPassword.AccessToken, elsewhere.AccessToken)
	err := second(f.People.ChangePassword(t.Context(), here, people.Passwords{Current: goodPassword, Next: next}))
	if err != nil {
		t.Fatal(err)
	}
	sessions, err := f.People.Sessions(t.Context(), here.User.ID)
	if err != nil || len(sessions) != 1 || sessions[0].ID == here.Session.ID {
		t.Error("every other session ends, this one stays under another ID:", sessions, err)
	}
	_, err = f.People.Login(t.Context(), "alice", goodPassword, people.Browser{})
	wantError(t, err, "400 invalid_grant")
	_, err = f.People.Login(t.Context(), "alice", next, people.Browser{})
	wantError(t, err, "no error")
	f.wantActive(false, byCode.AccessToken, byCode.RefreshToken)
	f.wantActive(false, byPassword.AccessToken, byPassword.RefreshToken, elsewhere.AccessToken, elsewhere.RefreshToken)
	for _, keep := range []bool{true, false} {
		t.Run(fmt.Sprintf("what was allowed elsewhere goes on: %t", keep), func(t *testing.T) {
			name := fmt.Sprint("carol-", keep)
			here, there := f.login(name), f.login(name)
			f.approve(t, app, there, "scope", "read")
			elsewhere := f.tokens(app, there)
			err := second(f.People.ChangePassword(t.Context(), here, people.Passwords{
				Current:       goodPassword,
				Next:          next,
				KeepApprovals: keep,
			}))
			wantError(t, err, "no error")
			f.wantActive(keep, elsewhere.AccessToken, elsewhere.RefreshToken)
			ask, err := f.Authorizations.RequiredInteraction(t.Context(), f.authorize(app, "scope", "read"), here)
			if err != nil || (ask == nil) != keep {
				t.Error("consent:", ask, err)
			}
		})
	}
	t.Run("guessing at the current password is slowed", func(t *testing.T) {
		s := f.login("bob")
		for range int(limits.Of(limits.OfPair).Tries) {
			wantInvalid(t, second(f.People.ChangePassword(t.Context(), s, people.Passwords{
				Current: "wrong",
				Next:    next,
			})), "current_password")
		}
		wantError(t, second(f.People.ChangePassword(t.Context(), s, people.Passwords{
			Current: goodPassword,
			Next:    next,
		})), "429 temporarily_unavailable")
	})
}

// CWE-645, an overly strict lockout: whoever has a copy of a session uses up what may be sent in it, and nothing else.
// Only an administrator who has signed in a moment ago has no limit.
func TestAttackFormsOfACopiedSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t)
		most := limits.Of(limits.OfOwnChange).Tries
		sent := func(s *storage.SignedIn) (n int) {
			for range 5 * most {
				_, err := f.People.MaySend(s)
				if err != nil {
					wantError(t, err, "429 temporarily_unavailable")
					return n
				}
				n++
			}
			return n
		}
		copied, own := f.login("alice"), f.login("alice")
		if n := sent(copied); n != most {
			t.Errorf("%d forms of one session", n)
		}
		_, err := f.People.MaySend(own)
		wantError(t, err, "no error")
		again := *copied
		again.Session.AuthTime++
		_, err = f.People.MaySend(&again)
		wantError(t, err, "no error")
		sum := most + 2
		for range 10 {
			sum += sent(f.login("alice"))
		}
		if want := limits.Of(limits.OfOwnChange).OfSite().Tries; sum != want {
			t.Errorf("%d forms of all sessions, want %d", sum, want)
		}
		root := *own
		root.User.ID, root.User.Administrator, root.Session.ID = "root", true, "of root"
		if n := sent(&root); n != 5*most {
			t.Errorf("%d forms of an administrator who has just signed in", n)
		}
		time.Sleep(6 * time.Minute)
		if n := sent(&root); n != most {
			t.Errorf("%d forms of an old session of an administrator", n)
		}
	})
}
