package provider

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mandate/provider/notices"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/provider/policy"
)

// waitingMail is a message in the queue.
type waitingMail struct {
	Kind   string `json:"-"`
	To     string
	SignIn *notices.SignIn `json:"sign_in"`
	Factor *notices.Factor `json:"factor"`
}

// waiting returns the waiting messages, and removes them.
func (f *fixture) waiting() []waitingMail {
	f.t.Helper()
	due, err := f.store.DueMails(f.t.Context(), "", oauth.Now(), 100)
	if err != nil {
		f.t.Fatal(err)
	}
	var found []waitingMail
	for _, m := range due {
		text, err := f.sealers.mails.Open(m.Body, m.Kind+" "+m.ID)
		content := waitingMail{Kind: m.Kind}
		if err == nil {
			err = json.Unmarshal(text, &content)
		}
		if err == nil {
			err = f.store.ForgetMail(f.t.Context(), m)
		}
		if err != nil {
			f.t.Fatal(err)
		}
		found = append(found, content)
	}
	return found
}

// told returns what the waiting messages say, and removes them.
func (f *fixture) told() []string {
	f.t.Helper()
	said := []string{}
	for _, content := range f.waiting() {
		what := content.To + " "
		switch {
		case content.SignIn != nil:
			what += "sign-in " + content.SignIn.UserAgent + " " + content.SignIn.Address + " " + content.SignIn.Link
		case content.Factor != nil:
			what += string(content.Factor.Change) + " " + content.Factor.Link
		default:
			what += content.Kind
		}
		said = append(said, what)
	}
	slices.Sort(said)
	return said
}

// says requires that exactly this was said to alice.
func (f *fixture) says(t *testing.T, when string, want ...string) {
	t.Helper()
	for i, what := range want {
		want[i] = strings.TrimSpace("alice@example.com " + what + " https://auth.example/account/")
	}
	slices.Sort(want)
	if got := f.told(); !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", when, got, want)
	}
}

// A person with an address learns of a sign-in with a new browser, and of each change of what
// signs them in.
func TestNotices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t, mailsTo(nowhere))
		alice := f.addressed("alice")
		f.says(t, "an account was added")
		s := f.login("alice")
		f.says(t, "the first sign-in", "sign-in  192.0.2.1")
		app, s := f.enrol(s)
		f.says(t, "an app was added", "totp-added")
		codes, in, err := f.People.NewRecoveryCodes(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		f.says(t, "recovery codes", "codes-made")
		s = f.signedIn(in, nil)
		key, stored := f.passkey(s)
		f.says(t, "a passkey was added", "passkey-added")

		ticket := f.first("alice")
		f.says(t, "the password alone")
		if _, err := f.second(ticket, people.ByTOTP, "000000"); err == nil {
			t.Fatal("a wrong code was accepted")
		}
		f.says(t, "a wrong code", "factor-refused")
		in, err = f.second(ticket, people.ByTOTP, app.now())
		f.signedIn(in, err)
		f.says(t, "both steps", "sign-in  192.0.2.1")
		known := people.Browser{Address: "198.51.100.9", UserAgent: "Firefox", Device: in.Device}
		in, err = f.signInBy(key, known)
		f.signedIn(in, err)
		f.says(t, "a known browser")
		key.Counter++
		in, err = f.signInBy(key, people.Browser{Address: "198.51.100.9", UserAgent: "Firefox"})
		f.signedIn(in, err)
		f.says(t, "a new browser with a passkey", "sign-in Firefox 198.51.100.9")
		f.person("bob")
		other, err := f.People.Login(t.Context(), "bob", goodPassword, home)
		if err != nil {
			t.Fatal(err)
		}
		f.says(t, "a person without an address")
		known.Device = other.Device
		key.Counter++
		in, err = f.signInBy(key, known)
		f.signedIn(in, err)
		f.says(t, "a browser of somebody else", "sign-in Firefox 198.51.100.9")
		s = f.signedIn(f.second(f.first("alice"), people.ByRecovery, codes[0]))
		f.says(t, "a recovery code", "code-used", "sign-in  192.0.2.1")

		in, err = f.Passkeys.Remove(t.Context(), s, stored.ID)
		s = f.signedIn(in, err)
		f.says(t, "a passkey was removed", "passkey-removed")
		if err = second(f.Passkeys.Remove(t.Context(), s, stored.ID)); err == nil {
			t.Error("a passkey was removed twice")
		}
		f.says(t, "nothing was removed")
		in, err = f.People.RemoveTOTP(t.Context(), s)
		s = f.signedIn(in, err)
		f.says(t, "the app was removed", "totp-removed")
		f.enrol(s)
		f.says(t, "an app again", "totp-added")
		err = f.People.ResetFactors(t.Context(), "alice")
		if err != nil {
			t.Fatal(err)
		}
		f.says(t, "everything was removed", "factors-reset")
		err = f.People.ResetByLink(t.Context(), f.made(alice), "another few words")
		if err != nil {
			t.Fatal(err)
		}
		if got := f.told(); !slices.Equal(got, []string{"alice@example.com password"}) {
			t.Errorf("a new password: %q", got)
		}
	})
}

// Whoever acts with a stolen session of an administrator replaces the address, and then the password by a link: the
// person hears of it where they read their mail, and does not hear where somebody else does.
//
// CWE-640: in many takeovers, the address is what is changed first, and nobody is told.
func TestAttackTakeoverByAnotherAddress(t *testing.T) {
	account := " https://auth.example/account/"
	address, username := "alice@example.com address-changed"+account, "alice@example.com username-changed"+account
	const password = "alice@example.com password"
	for what, test := range map[string]struct {
		change func(*people.Person)
		want   []string
	}{
		"another address":  {func(p *people.Person) { p.Email = "thief@example.com" }, []string{address}},
		"no address":       {func(p *people.Person) { p.Email = "" }, []string{address}},
		"another username": {func(p *people.Person) { p.Username = "thief" }, []string{username}},
		"another password": {func(p *people.Person) { p.Password = "another few words" }, []string{password}},
		"everything": {func(p *people.Person) {
			*p = people.Person{Username: "thief", Email: "thief@example.com", Password: "another few words"}
		}, []string{address, password, username}},
		"another name": {func(p *people.Person) { p.FirstName = "Alice" }, []string{}},
		"nothing":      {func(*people.Person) {}, []string{}},
		"disabled":     {func(p *people.Person) { p.Inactive = true }, []string{}},
		"another address of a disabled person": {func(p *people.Person) {
			p.Inactive, p.Email = true, "thief@example.com"
		}, []string{address}},
	} {
		t.Run(what, func(t *testing.T) {
			f := begin(t, mailsTo(nowhere))
			u := f.addressed("alice")
			form := people.Person{Username: "alice", Email: "alice@example.com"}
			test.change(&form)
			err := f.People.UpdateUser(t.Context(), policy.Operator(), u.ID, form)
			if got := f.told(); err != nil || !slices.Equal(got, test.want) {
				t.Errorf("%q, want %q; %v", got, test.want, err)
			}
		})
	}
	t.Run("a person without an address", func(t *testing.T) {
		f := begin(t, mailsTo(nowhere))
		u := f.person("alice")
		err := f.People.UpdateUser(t.Context(), policy.Operator(), u.ID, people.Person{
			Username: "alice",
			Email:    "alice@example.com",
		})
		if got := f.told(); err != nil || len(got) != 0 {
			t.Errorf("%q, %v", got, err)
		}
	})
	t.Run("many other changes before", func(t *testing.T) {
		f := begin(t, mailsTo(nowhere))
		u := f.addressed("alice")
		for range 30 {
			if err := f.People.ResetFactors(t.Context(), "alice"); err != nil {
				t.Fatal(err)
			}
		}
		f.told()
		err := f.People.UpdateUser(t.Context(), policy.Operator(), u.ID, people.Person{
			Username: "alice",
			Email:    "thief@example.com",
		})
		if got := f.told(); err != nil || !slices.Equal(got, []string{address}) {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// The message about a new username has it: the person signs in with it. The one to the former address says neither of
// the new ones.
func TestNoticeOfAnotherUsernameHasIt(t *testing.T) {
	f := begin(t, mailsTo(nowhere))
	u := f.addressed("alice")
	for _, test := range []struct {
		form people.Person
		want string
	}{
		{people.Person{Username: "alice.b", Email: "alice@example.com"}, "alice.b"},
		{people.Person{Username: "alice.b", Email: "new@example.com"}, "alice.b"},
	} {
		err := f.People.UpdateUser(t.Context(), policy.Operator(), u.ID, test.form)
		if err != nil {
			t.Fatal(err)
		}
		waiting := f.waiting()
		if len(waiting) != 1 || waiting[0].Factor.Username != test.want || waiting[0].To != "alice@example.com" {
			t.Errorf("%+v", waiting)
		}
	}
}

// What a person does is not refused because too many messages wait, and a person gets few of one kind.
func TestNoticesAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t, mailsTo(nowhere))
		f.addressed("alice")
		for range 25 {
			f.login("alice")
		}
		if got := len(f.told()); got != 20 {
			t.Errorf("%d messages about 25 sign-ins in one hour, want 20", got)
		}
		app, s := f.enrol(f.login("alice"))
		f.says(t, "another kind", "totp-added")
		time.Sleep(time.Hour)
		isError(t, "recovery codes after an old sign-in", third(f.People.NewRecoveryCodes(t.Context(), s)), people.ErrConfirm)
		s = f.signedIn(f.second(f.first("alice"), people.ByTOTP, app.now()))
		if _, _, err := f.People.NewRecoveryCodes(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if got := len(f.told()); got != 2 {
			t.Errorf("%d messages an hour later, want 2", got)
		}
	})
}

// If the message cannot be stored, nothing has changed, and the error is one of the server.
func TestNoticesAreStoredWithTheChange(t *testing.T) {
	f := begin(t, mailsTo(nowhere))
	f.addressed("alice")
	s := f.login("alice")
	f.sql(`ALTER TABLE mail_counts RENAME TO gone`)
	sessions := f.count("sessions")
	for name, err := range map[string]error{
		"a sign-in": second(f.People.Login(t.Context(), "alice", goodPassword, home)),
		"a password": second(f.People.ChangePassword(t.Context(), s, people.Passwords{
			Current: goodPassword,
			Next:    "another few words",
		})),
		"a reset": f.People.ResetFactors(t.Context(), "alice"),
		"an address": f.People.UpdateUser(t.Context(), policy.Operator(), s.User.ID, people.Person{
			Username: "alice",
			Email:    "new@example.com",
		}),
	} {
		if got := kind(err); got != "503 temporarily_unavailable" {
			t.Errorf("%s: %v", name, err)
		}
	}
	f.sql(`ALTER TABLE gone RENAME TO mail_counts`)
	if f.count("sessions") != sessions {
		t.Errorf("%d sessions, %d before", f.count("sessions"), sessions)
	}
	f.login("alice") // with the password of before
}
