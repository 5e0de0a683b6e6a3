package provider

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mandate/provider/limits"
	"mandate/provider/oauth"
	"mandate/provider/passkey/passkeytest"
	"mandate/provider/people"
	"mandate/storage"
)

// authenticator returns one at a page of the server, without a passkey.
func authenticator() *passkeytest.Authenticator {
	return &passkeytest.Authenticator{Origin: "https://auth.example", Counter: 1}
}

// passkey adds a passkey of the person who is signed in.
func (f *fixture) passkey(s *storage.SignedIn) (*passkeytest.Authenticator, storage.Passkey) {
	f.t.Helper()
	by := authenticator()
	asked, err := f.Passkeys.NewPasskey(f.t.Context(), s)
	if err != nil {
		f.t.Fatal(err)
	}
	stored, in, err := f.Passkeys.Add(f.t.Context(), s,
		people.Response{Ticket: asked.Ticket, JSON: by.Create(asked.Options)}, "Phone")
	if err != nil {
		f.t.Fatal(err)
	}
	f.becomes(s, in)
	by.Counter++
	return by, stored
}

// becomes replaces a session by the stronger one.
func (f *fixture) becomes(s *storage.SignedIn, in *people.SignIn) {
	f.t.Helper()
	stronger, err := f.People.SignedIn(f.t.Context(), in.Session)
	if err != nil || stronger.Session.ID != s.Session.ID {
		f.t.Fatal(stronger, err)
	}
	*s = *stronger
}

func addError(_ storage.Passkey, _ *people.SignIn, err error) error { return err }

const chrome = "the name of this browser"

// answered returns a response to a new request of the login page in this browser.
func (f *fixture) answered(by *passkeytest.Authenticator) people.Response {
	f.t.Helper()
	asked, err := f.Passkeys.AskForPasskey(chrome)
	if err != nil {
		f.t.Fatal(err)
	}
	return people.Response{Ticket: asked.Ticket, JSON: by.Get(asked.Options)}
}

func (f *fixture) signInBy(by *passkeytest.Authenticator, b people.Browser) (*people.SignIn, error) {
	f.t.Helper()
	return f.Passkeys.SignIn(f.t.Context(), f.answered(by), chrome, b)
}

func wantMissing(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, oauth.ErrNotFound) {
		t.Errorf("got %v, want %v", err, oauth.ErrNotFound)
	}
}

const refusal = "400 invalid_grant"

func TestPasskeySignsIn(t *testing.T) {
	f := begin(t)
	alice := f.login("alice")
	by, stored := f.passkey(alice)
	in, err := f.signInBy(by, people.Browser{Address: "192.0.2.1", UserAgent: "agent"})
	if err != nil || in.User.ID != alice.User.ID || in.MaxAge <= 0 {
		t.Fatal(in, err)
	}
	s, err := f.People.SignedIn(t.Context(), in.Session)
	if err != nil || s.User.ID != alice.User.ID || s.Session.UserAgent != "agent" || s.Session.Address != "192.0.2.1" {
		t.Fatal(s, err)
	}
	got, err := f.Passkeys.One(t.Context(), alice.User.ID, stored.ID)
	if err != nil || got.SignCount != 2 || got.LastUsedAt == 0 || got.Name != "Phone" {
		t.Error(got, err)
	}
	t.Run("the next sign-in", func(t *testing.T) {
		by.Counter++
		wantError(t, second(f.signInBy(by, people.Browser{})), "no error")
	})
	t.Run("the browser is known from now on", func(t *testing.T) {
		wantError(t, second(f.People.Login(t.Context(), "alice", goodPassword, people.Browser{Device: in.Device})),
			"no error")
	})
	t.Run("CVE-2026-7507 a session that was planted ends", func(t *testing.T) {
		planted := f.login("mallory")
		cookie, err := f.People.Login(t.Context(), "mallory", goodPassword, people.Browser{})
		if err != nil {
			t.Fatal(err)
		}
		by.Counter++
		in, err := f.signInBy(by, people.Browser{Session: cookie.Session})
		if err != nil || in.Session == cookie.Session || in.User.ID == planted.User.ID {
			t.Fatal(in, err)
		}
		wantMissing(t, second(f.People.SignedIn(t.Context(), cookie.Session)))
	})
	t.Run("a second passkey signs in too", func(t *testing.T) {
		other, _ := f.passkey(alice)
		wantError(t, second(f.signInBy(other, people.Browser{})), "no error")
		by.Counter++
		wantError(t, second(f.signInBy(by, people.Browser{})), "no error")
	})
}

func TestPasskeyIsRefused(t *testing.T) {
	// Each rule breaks one thing of a sign-in that would succeed.
	for rule, breaks := range map[string]func(f *fixture, by *passkeytest.Authenticator, r *people.Response,
		browser *string){
		"in another browser": func(_ *fixture, _ *passkeytest.Authenticator, _ *people.Response, browser *string) {
			*browser = "another"
		},
		"in a browser without a name": func(_ *fixture, _ *passkeytest.Authenticator, _ *people.Response, browser *string) {
			*browser = ""
		},
		"with the ticket of another page": func(f *fixture, _ *passkeytest.Authenticator, r *people.Response, _ *string) {
			asked, err := f.Passkeys.AskForPasskey(chrome)
			if err != nil {
				f.t.Fatal(err)
			}
			r.Ticket = asked.Ticket
		},
		"with the ticket of a creation": func(f *fixture, by *passkeytest.Authenticator, r *people.Response, _ *string) {
			alice := f.signedIn(f.signInBy(by, people.Browser{}))
			by.Counter++
			asked, err := f.Passkeys.NewPasskey(f.t.Context(), alice)
			if err != nil {
				f.t.Fatal(err)
			}
			*r = people.Response{Ticket: asked.Ticket, JSON: by.Get(asked.Options)}
		},
		"without a ticket":   func(_ *fixture, _ *passkeytest.Authenticator, r *people.Response, _ *string) { r.Ticket = "" },
		"without a response": func(_ *fixture, _ *passkeytest.Authenticator, r *people.Response, _ *string) { r.JSON = "" },
		"at a page of another host": func(f *fixture, by *passkeytest.Authenticator, r *people.Response, _ *string) {
			by.Origin = "https://evil.example"
			*r = f.answered(by)
		},
		"with a passkey of another host": func(f *fixture, by *passkeytest.Authenticator, r *people.Response, _ *string) {
			by.Host = "evil.example"
			*r = f.answered(by)
		},
		"without user verification": func(f *fixture, by *passkeytest.Authenticator, r *people.Response, _ *string) {
			by.Unverified = true
			*r = f.answered(by)
		},
		"with the user handle of another person": func(f *fixture, by *passkeytest.Authenticator, r *people.Response,
			_ *string) {
			bob, _ := f.passkey(f.login("bob"))
			by.Handle = bob.Handle
			*r = f.answered(by)
		},
		"with the ID of another person's passkey": func(f *fixture, by *passkeytest.Authenticator, r *people.Response,
			_ *string) {
			bob, _ := f.passkey(f.login("bob"))
			by.ID, by.Handle = bob.ID, bob.Handle
			*r = f.answered(by)
		},
		"of a disabled account": func(f *fixture, _ *passkeytest.Authenticator, _ *people.Response, _ *string) {
			f.person("root")
			f.sql("UPDATE users SET administrator = TRUE WHERE username = 'root'")
			err := f.People.DisableUser(f.t.Context(), "alice")
			if err != nil {
				f.t.Fatal(err)
			}
		},
		"that was removed": func(f *fixture, _ *passkeytest.Authenticator, _ *people.Response, _ *string) {
			f.sql("DELETE FROM passkeys")
		},
	} {
		t.Run(rule, func(t *testing.T) {
			f := begin(t)
			by, _ := f.passkey(f.login("alice"))
			r, browser := f.answered(by), chrome
			breaks(f, by, &r, &browser)
			before := f.count("sessions")
			wantError(t, second(f.Passkeys.SignIn(t.Context(), r, browser, people.Browser{})), refusal)
			if n := f.count("sessions"); n != before {
				t.Errorf("%d sessions began", n-before)
			}
		})
	}
}

func TestPasskeyResponseWorksOnce(t *testing.T) {
	f := begin(t)
	by, _ := f.passkey(f.login("alice"))
	by.Counter = 0 // without a counter, only the challenge shows that the response is an old one
	f.sql("UPDATE passkeys SET sign_count = 0")
	other, err := New(t.Context(), f.config, f.store, f.log)
	if err != nil {
		t.Fatal(err)
	}
	r := f.answered(by)
	results := make(chan error, 8)
	for i := range 8 {
		node := []*Provider{f.Provider, other}[i%2]
		go func() { results <- second(node.Passkeys.SignIn(t.Context(), r, chrome, people.Browser{})) }()
	}
	signedIn := 0
	for range 8 {
		err := <-results
		if err == nil {
			signedIn++
			continue
		}
		wantError(t, err, refusal)
	}
	if signedIn != 1 {
		t.Errorf("%d of 8 signed in", signedIn)
	}
}

func TestCopiedAuthenticatorIsRefusedAndLogged(t *testing.T) {
	f := begin(t)
	by, stored := f.passkey(f.login("alice"))
	by.Counter = 9
	copied := by.Copy()
	wantError(t, second(f.signInBy(by, people.Browser{})), "no error")
	if strings.Contains(f.logged.String(), "copy") {
		t.Error("the log has:", f.logged)
	}
	wantError(t, second(f.signInBy(copied, people.Browser{})), refusal)
	if log := f.logged.String(); !strings.Contains(log, "there may be a copy of its authenticator") ||
		!strings.Contains(log, stored.ID) || !strings.Contains(log, stored.UserID) {
		t.Error("the log has:", log)
	}
	by.Counter++
	wantError(t, second(f.signInBy(by, people.Browser{})), "no error")
}

func TestPasskeyTicketExpires(t *testing.T) {
	for _, c := range []struct {
		after time.Duration
		want  string
	}{{5 * time.Minute, "no error"}, {5*time.Minute + time.Second, refusal}} {
		synctest.Test(t, func(t *testing.T) {
			f := begin(t)
			s := f.login("alice")
			by, _ := f.passkey(s)
			r := f.answered(by)
			next := authenticator()
			asked, err := f.Passkeys.NewPasskey(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(c.after)
			wantError(t, second(f.Passkeys.SignIn(t.Context(), r, chrome, people.Browser{})), c.want)
			wantError(t, addError(f.Passkeys.Add(t.Context(), s,
				people.Response{Ticket: asked.Ticket, JSON: next.Create(asked.Options)}, "")), c.want)
		})
	}
}

// Whoever has the cookie of a session, but cannot sign in, does not change how the person signs in.
func TestPasskeysChangeOnlySoonAfterASignIn(t *testing.T) {
	for _, c := range []struct {
		after time.Duration
		want  error
	}{{5 * time.Minute, nil}, {5*time.Minute + time.Second, people.ErrConfirm}} {
		synctest.Test(t, func(t *testing.T) {
			f := begin(t)
			s := f.login("alice")
			_, stored := f.passkey(s)
			time.Sleep(c.after)
			_, err := f.Passkeys.NewPasskey(t.Context(), s)
			if !errors.Is(err, c.want) {
				t.Error("add:", err)
			}
			err = f.Passkeys.Rename(t.Context(), s.User.ID, stored.ID, "Laptop")
			if err != nil {
				t.Error("rename:", err)
			}
			err = second(f.Passkeys.Remove(t.Context(), s, stored.ID))
			if !errors.Is(err, c.want) {
				t.Error("remove:", err)
			}
		})
	}
}

func TestPasskeyIsAddedInItsSessionOnly(t *testing.T) {
	f := begin(t)
	s, again, bob := f.login("alice"), f.login("alice"), f.login("bob")
	by := authenticator()
	asked, err := f.Passkeys.NewPasskey(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	r := people.Response{Ticket: asked.Ticket, JSON: by.Create(asked.Options)}
	wantError(t, addError(f.Passkeys.Add(t.Context(), again, r, "")), refusal)
	wantError(t, addError(f.Passkeys.Add(t.Context(), bob, r, "")), refusal)
	signIn := f.answered(by)
	wantError(t, addError(f.Passkeys.Add(t.Context(), s, people.Response{Ticket: signIn.Ticket, JSON: r.JSON}, "")),
		refusal)
	stored, in, err := f.Passkeys.Add(t.Context(), s, r, "a name with \u202e inside")
	if err != nil || stored.Name != "Passkey" {
		t.Fatal(stored, err)
	}
	f.becomes(s, in)
	wantError(t, addError(f.Passkeys.Add(t.Context(), s, r, "")), refusal) // the response is used

	// Somebody who has seen the ID of a passkey makes another one with this ID.
	taken := authenticator()
	taken.ID = by.ID
	asked, err = f.Passkeys.NewPasskey(t.Context(), bob)
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, addError(f.Passkeys.Add(t.Context(), bob,
		people.Response{Ticket: asked.Ticket, JSON: taken.Create(asked.Options)}, "")), refusal)
	wantMissing(t, second(f.Passkeys.One(t.Context(), bob.User.ID, stored.ID)))
	wantMissing(t, f.Passkeys.Rename(t.Context(), bob.User.ID, stored.ID, "x"))
	wantMissing(t, second(f.Passkeys.Remove(t.Context(), bob, stored.ID)))

	// The session ends while the authenticator waits for the person.
	asked, err = f.Passkeys.NewPasskey(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.People.EndSessions(t.Context(), s.User.ID)
	if err != nil {
		t.Fatal(err)
	}
	isError(t, "after the session",
		addError(f.Passkeys.Add(t.Context(), s,
			people.Response{Ticket: asked.Ticket, JSON: authenticator().Create(asked.Options)}, "")), people.ErrNotSignedIn)
}

func TestPasskeyNames(t *testing.T) {
	f := begin(t)
	s := f.login("alice")
	_, stored := f.passkey(s)
	for name, want := range map[string]bool{"Phone": true, "Téléphone 📱": true, strings.Repeat("x", 150): true, "": false,
		"  ": false, strings.Repeat("x", 151): false, "a\nb": false, "a\u202eb": false, "\u2800": false} {
		err := f.Passkeys.Rename(t.Context(), s.User.ID, stored.ID, name)
		_, invalid := errors.AsType[*oauth.Invalid](err)
		if want && err != nil || !want && !invalid {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestPersonHasAtMostTwentyPasskeys(t *testing.T) {
	f := begin(t)
	s := f.login("alice")
	asked, err := f.Passkeys.NewPasskey(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	for range people.MaxPasskeys {
		f.passkey(s)
	}
	_, err = f.Passkeys.NewPasskey(t.Context(), s)
	if !errors.Is(err, people.ErrTooManyPasskeys) {
		t.Error("a request:", err)
	}
	_, _, err = f.Passkeys.Add(t.Context(), s,
		people.Response{Ticket: asked.Ticket, JSON: authenticator().Create(asked.Options)}, "")
	if !errors.Is(err, people.ErrTooManyPasskeys) {
		t.Error("a response to an earlier request:", err)
	}
	if n := f.count("passkeys"); n != people.MaxPasskeys {
		t.Error(n, "are stored")
	}
}

func TestPasskeysAreThrottledPerNetwork(t *testing.T) {
	f := begin(t)
	by, _ := f.passkey(f.login("alice"))
	by.Unverified = true
	r := f.answered(by)
	tries := int(limits.Of(limits.OfAddress).Tries)
	var kinds []string
	for range 3 * tries { // on a busy machine, tries come back meanwhile
		kinds = append(kinds, kind(second(f.Passkeys.SignIn(t.Context(), r, chrome, people.Browser{Address: "192.0.2.1"}))))
	}
	if n := slices.Index(kinds, "429 temporarily_unavailable"); n < tries {
		t.Errorf("refused after %d tries", n)
	}
	by.Unverified = false
	wantError(t, second(f.signInBy(by, people.Browser{Address: "198.51.100.1"})), "no error")
	wantError(t, second(f.People.Login(t.Context(), "alice", goodPassword, people.Browser{Address: "192.0.2.1"})),
		"no error")
}

func TestSuccessfulPasskeysAreNotThrottled(t *testing.T) {
	f := begin(t)
	by, _ := f.passkey(f.login("alice"))
	for range int(limits.Of(limits.OfAddress).Tries) + 5 {
		wantError(t, second(f.signInBy(by, people.Browser{Address: "192.0.2.1"})), "no error")
		by.Counter++
	}
}

func TestPasskeysAreOfferedWhereBrowsersHaveThem(t *testing.T) {
	for issuer, want := range map[string]bool{"https://auth.example/o": true, "http://localhost:8000/o": true,
		"http://auth.example/o": false, "https://192.0.2.1/o": false, "http://127.0.0.1:8000/auth/o": false} {
		f := begin(t, func(c *Config) { c.Issuer = issuer })
		if f.Passkeys.Offered() != want {
			t.Errorf("%s: %v", issuer, !want)
		}
	}
}

// If the database fails, the status is 5xx. The error never says that a passkey does not exist or is
// not accepted.
func TestDatabaseFailsUnderPasskeys(t *testing.T) {
	f := begin(t)
	s := f.login("alice")
	by, stored := f.passkey(s)
	by.Counter = 0 // a sign-in that fails halfway changes nothing, so the next one is as the first
	f.sql("UPDATE passkeys SET sign_count = 0")
	made := func() people.Response {
		asked, err := f.Passkeys.NewPasskey(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		return people.Response{Ticket: asked.Ticket, JSON: authenticator().Create(asked.Options)}
	}
	for _, test := range []struct {
		name, tables string // the tables that the call needs
		call         func(made people.Response) error
	}{
		{"sign in", "passkeys users seen sessions",
			func(people.Response) error { return second(f.signInBy(by, people.Browser{})) }},
		{"list", "passkeys", func(people.Response) error { return second(f.Passkeys.Of(t.Context(), s.User.ID)) }},
		{"read", "passkeys",
			func(people.Response) error { return second(f.Passkeys.One(t.Context(), s.User.ID, stored.ID)) }},
		{"ask for a new one", "passkeys",
			func(people.Response) error { return second(f.Passkeys.NewPasskey(t.Context(), s)) }},
		{"add", "seen users sessions passkeys",
			func(made people.Response) error { return addError(f.Passkeys.Add(t.Context(), s, made, "x")) }},
		{"rename", "passkeys", func(people.Response) error {
			return f.Passkeys.Rename(t.Context(), s.User.ID, stored.ID, "x")
		}},
		{"remove", "passkeys", func(people.Response) error { return second(f.Passkeys.Remove(t.Context(), s, stored.ID)) }},
	} {
		for table := range strings.FieldsSeq(test.tables) {
			t.Run(test.name+", "+table+" cannot be read", func(t *testing.T) {
				response := made()
				f.sql("ALTER TABLE " + table + " RENAME TO away")
				wantError(t, test.call(response), "503 temporarily_unavailable")
				f.sql("ALTER TABLE away RENAME TO " + table)
			})
		}
	}
	t.Run("what failed has changed nothing", func(t *testing.T) {
		if n := f.count("passkeys"); n != 1 {
			t.Error(n, "passkeys are stored")
		}
		wantError(t, second(f.signInBy(by, people.Browser{})), "no error")
	})
}

// A form that is refused does not count, so it must not store a row either: an authenticator can make the same passkey
// again and again.
//
// Class: CWE-770.
func TestAttackPasskeyIsAddedAgainAndAgain(t *testing.T) {
	f := begin(t)
	alice := f.login("alice")
	by, before := authenticator(), 0
	for i := range 6 {
		asked, err := f.Passkeys.NewPasskey(t.Context(), alice)
		if err != nil {
			t.Fatal(err)
		}
		_, in, err := f.Passkeys.Add(t.Context(), alice,
			people.Response{Ticket: asked.Ticket, JSON: by.Create(asked.Options)}, "Phone")
		if i == 0 {
			f.becomes(alice, in)
			before = f.count("seen")
			continue
		}
		wantError(t, err, refusal)
	}
	if n := f.count("seen"); n > before {
		t.Error(n-before, "rows of passkeys that were not added")
	}
}
