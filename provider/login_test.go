package provider

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mandate/provider/clients"
	"mandate/provider/events"
	"mandate/provider/limits"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/storage"
)

func TestLogin(t *testing.T) {
	f := begin(t)
	alice := f.person("Alice")
	f.person("gone")
	err := f.People.DisableUser(t.Context(), "gone")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ rule, name, password, want string }{
		{"the right password", "Alice", goodPassword, "no error"},
		{"a name has no case", "aLICE", goodPassword, "no error"},
		{"a name has no spaces around it", " alice\t", goodPassword, "no error"},
		{"a wrong password", "Alice", goodPassword + ".", "400 invalid_grant"},
		{"no password", "Alice", "", "400 invalid_grant"},
		{"a password has its case", "Alice", "A few words in a row", "400 invalid_grant"},
		{"nobody of that name", "nobody", goodPassword, "400 invalid_grant"},
		{"no name", "", goodPassword, "400 invalid_grant"},
		{"somebody whose account is disabled", "gone", goodPassword, "400 invalid_grant"},
		{"the stored hash is no password", "Alice", alice.Password, "400 invalid_grant"},
	} {
		t.Run(test.rule, func(t *testing.T) {
			in, err := f.People.Login(t.Context(), test.name, test.password, people.Browser{
				Address:   test.rule,
				UserAgent: "agent",
			})
			wantError(t, err, test.want)
			if err != nil && err.Error() != people.WrongPassword().Error() {
				t.Error("it says more than that it was wrong:", err)
			}
			if err == nil && in.User.ID != alice.ID {
				t.Error(in.User)
			}
		})
	}
	t.Run("a password of another cost is hashed anew at the login", func(t *testing.T) {
		p, err := New(t.Context(), func() Config { c := testConfig(); c.Hashing.Iterations = 2; return c }(), f.store, f.log)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			_, err = p.People.Login(t.Context(), "alice", goodPassword, people.Browser{})
			wantError(t, err, "no error")
		}
		u, err := f.People.UserByName(t.Context(), "alice")
		if err != nil || u.Password == alice.Password {
			t.Error("it is not", err)
		}
		if !strings.HasPrefix(u.Password, "$argon2id$v=19$m=64,t=2,p=1$") {
			t.Error(u.Password)
		}
	})
	t.Run("CVE-2026-7507 a session that was planted ends, and no id is used twice", func(t *testing.T) {
		planted, err := f.People.Login(t.Context(), "alice", goodPassword, people.Browser{})
		if err != nil {
			t.Fatal(err)
		}
		in, err := f.People.Login(t.Context(), "alice", goodPassword, people.Browser{Session: planted.Session})
		if err != nil || in.Session == planted.Session {
			t.Fatal(err)
		}
		_, err = f.People.SignedIn(t.Context(), planted.Session)
		if !errors.Is(err, oauth.ErrNotFound) {
			t.Error("the planted session is alive:", err)
		}
		unknown, err := f.People.Login(t.Context(), "alice", goodPassword, people.Browser{Session: "chosen by somebody"})
		if err != nil || unknown.Session == "chosen by somebody" {
			t.Error(unknown, err)
		}
		_, err = f.People.SignedIn(t.Context(), "chosen by somebody")
		if !errors.Is(err, oauth.ErrNotFound) {
			t.Error("the chosen session is alive:", err)
		}
	})
}

func TestLoginIsSlowed(t *testing.T) {
	f := begin(t)
	f.person("alice")
	f.person("bob")
	try := func(name, password string, b people.Browser) string {
		_, err := f.People.Login(t.Context(), name, password, b)
		return kind(err)
	}
	here, there := people.Browser{Address: "192.0.2.1"}, people.Browser{Address: "198.51.100.1"}
	known, err := f.People.Login(t.Context(), "alice", goodPassword, there)
	if err != nil {
		t.Fatal(err)
	}
	his, err := f.People.Login(t.Context(), "bob", goodPassword, there)
	if err != nil {
		t.Fatal(err)
	}
	for range int(limits.Of(limits.OfPair).Tries) {
		if got := try("alice", "wrong", here); got != "400 invalid_grant" {
			t.Fatal(got)
		}
	}
	for _, test := range []struct {
		rule, name string
		b          people.Browser
		want       string
	}{
		{"the pair of name and address waits, also with the right password", "alice", here, "429 temporarily_unavailable"},
		{"the name in another case is the same name", "ALICE", here, "429 temporarily_unavailable"},
		{"another name at the address does not", "bob", here, "no error"},
		{"the name from another address does not", "alice", there, "no error"},
		{"a browser that is known does not", "alice", people.Browser{
			Address: here.Address,
			Device:  known.Device,
		}, "no error"},
		{"a browser that is known for somebody else waits", "alice", people.Browser{
			Address: here.Address,
			Device:  his.Device,
		}, "429 temporarily_unavailable"},
		{"a device that is forged waits", "alice", people.Browser{
			Address: here.Address,
			Device:  known.Device + "A",
		}, "429 temporarily_unavailable"},
		{"a device sealed for another purpose waits", "alice", people.Browser{
			Address: here.Address,
			Device:  f.sealers.tickets.Seal([]byte("alice"), "device"),
		}, "429 temporarily_unavailable"},
	} {
		t.Run(test.rule, func(t *testing.T) {
			if got := try(test.name, goodPassword, test.b); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
	t.Run("a stolen device cookie has few tries too", func(t *testing.T) {
		b := people.Browser{Device: known.Device}
		for range int(limits.Of(limits.OfPair).Tries) {
			if got := try("alice", "wrong", b); got != "400 invalid_grant" {
				t.Fatal(got)
			}
		}
		if got := try("alice", goodPassword, b); got != "429 temporarily_unavailable" {
			t.Error(got)
		}
	})
	t.Run(
		"guesses at one account from many addresses are counted together, and spare a known browser",
		func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := begin(t)
				f.person("carol")
				in, err := f.People.Login(t.Context(), "carol", goodPassword, people.Browser{Address: "home"})
				if err != nil {
					t.Fatal(err)
				}
				at := func(i int) people.Browser {
					return people.Browser{Address: string(rune('a'+i%26)) + string(rune('a'+i/26))}
				}
				for i := range int(limits.Of(limits.OfAccount).Tries) {
					_, err = f.People.Login(t.Context(), "carol", "wrong", at(i))
					wantError(t, err, "400 invalid_grant")
				}
				_, err = f.People.Login(t.Context(), "carol", goodPassword, people.Browser{Address: "new"})
				wantError(t, err, "429 temporarily_unavailable")
				_, err = f.People.Login(t.Context(), "carol", goodPassword, people.Browser{Address: "home", Device: in.Device})
				wantError(t, err, "no error")
				time.Sleep(limits.Of(limits.OfAccount).Refill)
				_, err = f.People.Login(t.Context(), "carol", goodPassword, people.Browser{Address: "new"})
				wantError(t, err, "no error")
			})
		},
	)
	t.Run("guesses at many accounts from one address are counted together", func(t *testing.T) {
		f := begin(t)
		n := 0
		for ; n <= int(limits.Of(limits.OfAddress).Tries)+5; n++ {
			_, err := f.People.Login(t.Context(), "nobody"+string(rune('a'+n%26))+string(rune('a'+n/26)), "wrong", here)
			if kind(err) == "429 temporarily_unavailable" {
				break
			}
		}
		if n < int(limits.Of(limits.OfAddress).Tries) || n > int(limits.Of(limits.OfAddress).Tries)+5 {
			t.Error(n, "guesses")
		}
	})
}

// Whoever uses up the attempts of an address must not learn which user name it belongs to, by the refusal of that name
// (CWE-204), and two names do not double the attempts at one account (CWE-307).
func TestAttackLimitTellsWhoseAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t)
		_, err := f.People.AddUser(t.Context(), policy.Operator(), people.Person{
			Username: "alice",
			Email:    "a@example.org",
			Password: goodPassword,
			Profile:  &people.Profile{EmailVerified: true},
		})
		if err != nil {
			t.Fatal(err)
		}
		f.person("bob")
		here, there := people.Browser{Address: "192.0.2.1"}, people.Browser{Address: "198.51.100.1"}
		try := func(name, password string, b people.Browser) string {
			return kind(second(f.People.Login(t.Context(), name, password, b)))
		}
		const wrong, limited = "400 invalid_grant", "429 temporarily_unavailable"
		for _, names := range [][2]string{{"a@example.org", "alice"}, {"alice", "a@example.org"}} {
			if got := try(names[1], goodPassword, here); got != "no error" {
				t.Fatal(names[1], got)
			}
			for range limits.Of(limits.OfPair).Tries {
				if got := try(names[0], "wrong", here); got != wrong {
					t.Fatal(names[0], got)
				}
			}
			if got := try(names[0], goodPassword, here); got != limited {
				t.Error("the typed name:", got)
			}
			for _, name := range []string{names[1], "bob", "nobody", "nobody@example.org"} {
				password := "wrong"
				if name == names[1] {
					password = goodPassword // the account has no attempt left, and nobody may see that
				}
				for n := range limits.Of(limits.OfPair).Tries {
					if got := try(name, password, here); got != wrong {
						t.Fatalf("%s after %s, attempt %d: %s", name, names[0], n+1, got)
					}
				}
				if got := try(name, password, here); got != limited {
					t.Errorf("%s has more attempts than its own: %s", name, got)
				}
			}
			if got := try("alice", goodPassword, there); got != "no error" {
				t.Error("another network waits too:", got)
			}
			time.Sleep(time.Duration(limits.Of(limits.OfPair).Tries*5) * limits.Of(limits.OfPair).Refill)
		}
		for i := range limits.Of(limits.OfAccount).Tries {
			b := people.Browser{Address: fmt.Sprintf("203.0.%d.1", i)}
			if got := try([]string{"alice", "a@example.org"}[i%2], "wrong", b); got != wrong {
				t.Fatal(i, got)
			}
		}
		if got := try("alice", goodPassword, there); got != wrong {
			t.Error("two names double the attempts from all networks:", got)
		}
		if !slices.ContainsFunc(
			f.storedEvents(events.SignInFailed),
			func(e storage.Event) bool { return e.PersonName == "alice" && e.Detail == "limit" },
		) {
			t.Error("no event tells the operator of the limit")
		}
	})
}

// The check of a password takes time. If the password is changed during the check, the check
// must not succeed.
func TestPasswordChangesWhileItIsChecked(t *testing.T) {
	for rule, open := range map[string]func(*testing.T, *fixture, *clients.Registered) error{
		"at the login": func(t *testing.T, f *fixture, _ *clients.Registered) error {
			_, err := f.People.Login(t.Context(), "alice", goodPassword, people.Browser{})
			return err
		},
		"at the token endpoint": func(_ *testing.T, f *fixture, app *clients.Registered) error {
			_, err := f.token(app, "grant_type", policy.GrantPassword, "username", "alice", "password", goodPassword)
			return err
		},
	} {
		t.Run(rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := begin(t, func(c *Config) { c.Hashing.Concurrency = 1 })
				f.person("alice")
				app, result := f.app(), make(chan error, 1)
				take(t, f.limits.Programs)
				take(t, f.limits.People)
				go func() { result <- open(t, f, app) }()
				synctest.Wait()
				f.sql("UPDATE users SET password = 'another'")
				f.limits.Programs.Release()
				f.limits.People.Release()
				wantError(t, <-result, "400 invalid_grant")
				for _, table := range []string{"sessions", "grants", "tokens"} {
					if n := f.count(table); n != 0 {
						t.Errorf("%d %s", n, table)
					}
				}
			})
		})
	}
}

func TestManyLoginsWhoseHashIsStaleAtOnce(t *testing.T) {
	f := begin(t)
	alice := f.person("alice")
	f.limits.People.Cost.Iterations = 2
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			<-start
			_, err := f.People.Login(t.Context(), "alice", goodPassword, people.Browser{Address: string(rune('a' + i))})
			if err != nil {
				t.Error(err)
			}
		})
	}
	close(start)
	wg.Wait()
	u, err := f.People.User(t.Context(), alice.ID)
	if err != nil || u.Password == alice.Password {
		t.Error("it is not hashed anew", err)
	}
}

// Programs can send any number of passwords at once. People at the login page do not wait for
// programs, and programs do not wait for people.
func TestPeopleAndProgramsDoNotWaitForEachOther(t *testing.T) {
	byPassword := func(_ *testing.T, f *fixture, app *clients.Registered) error {
		return second(f.token(app, "grant_type", policy.GrantPassword, "username", "alice", "password", goodPassword))
	}
	for _, test := range []struct {
		rule   string
		person bool
		call   func(*testing.T, *fixture, *clients.Registered) error
		want   string
	}{
		{"a login", true, func(t *testing.T, f *fixture, _ *clients.Registered) error {
			return second(f.People.Login(t.Context(), "alice", goodPassword, people.Browser{}))
		}, "no error"},
		{"a login as nobody", true, func(t *testing.T, f *fixture, _ *clients.Registered) error {
			return second(f.People.Login(t.Context(), "nobody", goodPassword, people.Browser{}))
		}, "400 invalid_grant"},
		{"a new password", true, func(t *testing.T, f *fixture, _ *clients.Registered) error {
			return f.People.ResetPassword(t.Context(), "alice", goodPassword)
		}, "no error"},
		{"a password at the token endpoint", false, byPassword, "no error"},
		{"a password whose hash is stale", false, func(t *testing.T, f *fixture, app *clients.Registered) error {
			f.limits.Programs.Cost.Iterations = 2
			return byPassword(t, f, app)
		}, "no error"},
		{"a client secret that was chosen", false, func(_ *testing.T, f *fixture, app *clients.Registered) error {
			return second(f.token(&clients.Registered{
				Application: app.Application,
				Secret:      "chosen by a person",
			}, "grant_type", policy.GrantClient))
		}, "no error"},
	} {
		for _, peopleAreMany := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, with many people %t", test.rule, peopleAreMany), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := begin(t, func(c *Config) { c.Hashing.Concurrency = 1 })
					f.person("alice")
					app := f.app()
					if test.rule == "a client secret that was chosen" {
						app = f.app(func(r *clients.Registration) { r.ClientSecret = "chosen by a person" })
					}
					want, wait, busy := test.want, time.Duration(0), f.limits.Programs
					if peopleAreMany {
						busy = f.limits.People
					}
					if peopleAreMany == test.person {
						want, wait = "503 temporarily_unavailable", 10*time.Second
					}
					take(t, busy)
					start := time.Now()
					wantError(t, test.call(t, f, app), want)
					if waited := time.Since(start); waited != wait {
						t.Errorf("waited %s, want %s", waited, wait)
					}
				})
			})
		}
	}
}
