package provider

import (
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/provider/seal"
	"mandate/storage"
)

// movable is a server on which people change their address, and where alice has confirmed hers.
func movable(t *testing.T) (*fixture, *storage.SignedIn) {
	t.Helper()
	f := begin(t, inviting, func(c *Config) { c.People.Editable = people.OwnFields() })
	_, err := f.People.AddUser(t.Context(), policy.Operator(), people.Person{Username: "alice", Email: "alice@example.com",
		Password: goodPassword, Profile: &people.Profile{EmailVerified: true}})
	if err != nil {
		t.Fatal(err)
	}
	s := f.login("alice")
	f.told()
	return f, s
}

var ownLink = regexp.MustCompile(`/account/email/(?:back/)?([A-Za-z0-9_-]{43})/"`)

// letter returns to whom the only waiting message goes, and the secret of the link in it.
func (f *fixture) letter(t *testing.T) (to, secret string) {
	t.Helper()
	due, err := f.store.DueMails(t.Context(), "", oauth.Now(), 100)
	if err != nil || len(due) != 1 {
		t.Fatalf("%d messages, %v", len(due), err)
	}
	text, err := f.sealers.mails.Open(due[0].Body, due[0].Kind+" "+due[0].ID)
	var said struct{ To string }
	if err == nil {
		err = json.Unmarshal(text, &said)
	}
	if err == nil {
		err = f.store.ForgetMail(t.Context(), due[0])
	}
	if err != nil {
		t.Fatal(err)
	}
	if found := ownLink.FindSubmatch(text); found != nil {
		secret = string(found[1])
	}
	return said.To, secret
}

func (f *fixture) asksFor(t *testing.T, s *storage.SignedIn, email string) (secret string) {
	t.Helper()
	err := f.People.AskNewAddress(t.Context(), s, email, people.Browser{Address: "192.0.2.1"})
	if err != nil {
		t.Fatal(err)
	}
	to, secret := f.letter(t)
	if to != email {
		t.Errorf("the link went to %s", to)
	}
	return secret
}

// moves changes the address of a person, and returns the session and the way back.
func (f *fixture) moves(t *testing.T, s *storage.SignedIn, email string) (*storage.SignedIn, string) {
	t.Helper()
	was := s.User.Email
	in, err := f.People.ConfirmNewAddress(t.Context(), s, f.asksFor(t, s, email))
	s = f.signedIn(in, err)
	f.addressIs(t, email)
	to, back := f.letter(t)
	if to != was {
		t.Errorf("the notice went to %s", to)
	}
	return s, back
}

func (f *fixture) addressIs(t *testing.T, email string) {
	t.Helper()
	u, err := f.People.UserByName(t.Context(), "alice")
	if err != nil {
		t.Fatal(err)
	}
	profile, err := people.ProfileOf(u)
	if err != nil || u.Email != email || !profile.EmailVerified {
		t.Errorf("the address is %s (confirmed %t), not %s; %v", u.Email, profile.EmailVerified, email, err)
	}
}

func TestOwnAddressChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, s := movable(t)
		secret := f.asksFor(t, s, "new@example.com")
		f.addressIs(t, "alice@example.com")
		// The link is for the account and the session that asked for it.
		other, again := f.login("bob"), f.login("alice")
		f.told()
		for who, in := range map[string]*storage.SignedIn{"somebody else": other, "another session": again} {
			_, err := f.People.NewAddressLink(t.Context(), in, secret)
			isError(t, who+" opens it", err, oauth.ErrNotFound)
			_, err = f.People.ConfirmNewAddress(t.Context(), in, secret)
			isError(t, who+" uses it", err, oauth.ErrNotFound)
			r := storage.Renewal{ID: in.Session.ID, Was: in.Session.Digest, Session: in.Session}
			same := func(profile string) (string, error) { return profile, nil }
			err = storage.AddressChanges{Store: f.store}.Confirm(t.Context(), seal.Digest(secret), r, oauth.Now(),
				storage.AddressChange{Profile: same})
			if !errors.Is(err, storage.ErrSpent) {
				t.Errorf("the store lets %s use it: %v", who, err)
			}
		}
		email, err := f.People.NewAddressLink(t.Context(), s, secret)
		if err != nil || email != "new@example.com" {
			t.Errorf("the link gives %s, %v", email, err)
		}
		in, err := f.People.ConfirmNewAddress(t.Context(), s, secret)
		s = f.signedIn(in, err)
		f.addressIs(t, "new@example.com")
		if to, back := f.letter(t); to != "alice@example.com" || back == "" {
			t.Errorf("the notice went to %s, with the way back %q", to, back)
		}
		_, err = f.People.ConfirmNewAddress(t.Context(), s, secret)
		isError(t, "a second use", err, oauth.ErrNotFound)
		late := f.asksFor(t, s, "late@example.com")
		time.Sleep(24*time.Hour + time.Second)
		_, err = f.People.ConfirmNewAddress(t.Context(), s, late)
		isError(t, "a day later", err, oauth.ErrNotFound)
		err = f.People.AskNewAddress(t.Context(), s, "old@example.com", people.Browser{})
		isError(t, "an old sign-in", err, people.ErrConfirm)
		if got := f.storedEvents("person.changed"); len(got) != 1 || got[0].Detail != "email" {
			t.Errorf("events: %+v", got)
		}
		if got := f.storedEvents("address.link"); len(got) != 2 || got[0].Detail != "new" {
			t.Errorf("events: %+v", got)
		}
	})
}

// What a person may not have is refused, and the operator may keep all addresses.
func TestOwnAddressRefused(t *testing.T) {
	f, s := movable(t)
	for _, email := range []string{"", "alice", "ALICE@example.com", "alice@elsewhere.example", "a\u200db@example.com"} {
		err := f.People.AskNewAddress(t.Context(), s, email, people.Browser{Address: "192.0.2.1"})
		if _, invalid := errors.AsType[*oauth.Invalid](err); !invalid {
			t.Errorf("%q: %v", email, err)
		}
	}
	closed := begin(t, inviting, func(c *Config) { c.People.Editable = []string{people.OwnName} })
	err := closed.People.AskNewAddress(t.Context(), closed.login("bob"), "bob@example.com", people.Browser{})
	isError(t, "addresses of the operator", err, oauth.ErrNotFound)
}

// A person who is signed in must not learn which addresses have an account, nor send mail to any number of them
// (CWE-204, CWE-208, CWE-770).
func TestAttackNewAddressOfSomebodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, s := movable(t)
		f.addressed("carol")
		var ran []string
		for _, email := range []string{"free@example.com", "Carol@example.com"} {
			ran = append(ran, f.statements(func() {
				err := f.People.AskNewAddress(t.Context(), s, email, people.Browser{Address: "192.0.2.1"})
				if err != nil {
					t.Fatal(err)
				}
			}))
			to, secret := f.letter(t)
			if to != email || (secret == "") != (email != "free@example.com") {
				t.Errorf("the message to %s has the link %q", to, secret)
			}
		}
		if ran[0] != ran[1] || ran[0] == "" {
			t.Errorf("the statements differ:\n%s\n\n%s", ran[0], ran[1])
		}
		// Of two people who ask for one address, one gets it.
		secret := f.asksFor(t, s, "both@example.com")
		f.sql(`UPDATE users SET email = 'BOTH@example.com' WHERE username = 'carol'`)
		f.forgetCopies()
		_, err := f.People.ConfirmNewAddress(t.Context(), s, secret)
		isError(t, "an address that is taken by now", err, oauth.ErrNotFound)
		f.addressIs(t, "alice@example.com")
		sent := 0
		for n := range 60 {
			err := f.People.AskNewAddress(t.Context(), s, "victim"+strings.Repeat("x", n)+"@example.com",
				people.Browser{Address: "2001:db8:0:" + string(rune('a'+n%6)) + "::1"})
			if err == nil {
				sent++
			} else if got := kind(err); got != "429 temporarily_unavailable" {
				t.Fatal(err)
			}
		}
		if sent == 0 || sent > 17 { // 20 in one hour, of which three were sent before
			t.Errorf("%d messages in one hour", sent)
		}
	})
}

// Somebody with a stolen account gives it other addresses and another password: the owner of the first address gets
// the account back (CWE-640).
func TestAttackWayBackToAnAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, s := movable(t)
		s, back := f.moves(t, s, "thief@example.com")
		s, second := f.moves(t, s, "thief2@example.com")
		in, err := f.People.ChangePassword(t.Context(), s, people.Passwords{Current: goodPassword,
			Next: "the words of a thief"})
		s = f.signedIn(in, err)
		in, err = f.People.ChangeOwn(t.Context(), s, people.Own{FirstName: "Thief"})
		s = f.signedIn(in, err)
		f.told()
		u, email, err := f.People.FormerAddressLink(t.Context(), back)
		if err != nil || u.Username != "alice" || email != "alice@example.com" {
			t.Fatalf("the way back leads to %s of %s: %v", email, u.Username, err)
		}
		err = f.People.ReturnAddress(t.Context(), back)
		if err != nil {
			t.Fatal(err)
		}
		f.addressIs(t, "alice@example.com")
		sessions, err := f.People.Sessions(t.Context(), s.User.ID)
		if err != nil || len(sessions) != 0 {
			t.Errorf("%d sessions, %v", len(sessions), err)
		}
		if got := f.told(); !slices.Equal(got, []string{"thief2@example.com former"}) {
			t.Errorf("messages: %q", got)
		}
		wantMissing(t, f.People.ReturnAddress(t.Context(), back))
		wantMissing(t, f.People.ReturnAddress(t.Context(), second)) // the thief has no way back
		if len(f.storedEvents("sessions.ended")) != 1 {
			t.Error("there is no event of the sessions")
		}
	})
}

// The way back ends by time, by an administrator, and where nobody has confirmed the former address.
func TestWayBackEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, s := movable(t)
		s, back := f.moves(t, s, "two@example.com")
		_, err := f.People.ChangeUser(t.Context(), policy.Operator(), s.User.ID, func(p *people.Person) {
			p.Email = "three@example.com"
		})
		if err != nil {
			t.Fatal(err)
		}
		wantMissing(t, f.People.ReturnAddress(t.Context(), back))
		f.told()
		s = f.login("alice") // nobody has confirmed the address of the administrator
		f.told()
		s, back = f.moves(t, s, "four@example.com")
		if back != "" {
			t.Error("an address that nobody has confirmed gets a way back")
		}
		_, back = f.moves(t, s, "five@example.com")
		time.Sleep(3*24*time.Hour + time.Second)
		wantMissing(t, f.People.ReturnAddress(t.Context(), back))
		f.addressIs(t, "five@example.com")
	})
}
