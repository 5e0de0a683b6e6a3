package provider

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mandate/provider/mail"
	"mandate/provider/notices"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/provider/seal"
	"mandate/storage"
	"mandate/testkit/smtpd"
)

// plain writes messages without templates.
func plain(_ string, message any) (mail.Letter, error) {
	switch m := message.(type) {
	case notices.Reset:
		return mail.Letter{Subject: "reset", Text: m.Username + " " + m.Link, HTML: m.Link}, nil
	case notices.Address:
		return mail.Letter{Subject: "address", Text: m.Username + " " + m.Link, HTML: m.Link}, nil
	case notices.PasswordChanged:
		return mail.Letter{Subject: "changed", Text: m.Username + " " + strconv.FormatInt(m.At, 10) + " " + m.Link,
			HTML: m.Link}, nil
	case notices.SignIn:
		return mail.Letter{Subject: "sign-in", Text: m.Username + " " + strconv.FormatInt(m.At, 10) + " " + m.UserAgent +
			" " + m.Address + " " + m.Link, HTML: m.Link}, nil
	case notices.Factor:
		return mail.Letter{Subject: string(m.Change), Text: m.Username + " " + strconv.FormatInt(m.At, 10) + " " + m.Link,
			HTML: m.Link}, nil
	}
	return mail.Letter{}, fmt.Errorf("an unknown message %T", message)
}

// mailsTo sets the mail server.
func mailsTo(address string) func(*Config) {
	return func(c *Config) {
		c.Mail.URL, c.Mail.From, c.Letters = "smtp://"+address, "noreply@auth.example", plain
	}
}

// nowhere is an address at which no mail server answers.
const nowhere = "127.0.0.1:1"

// addressed adds a person with an address.
func (f *fixture) addressed(name string) storage.User {
	f.t.Helper()
	u, err := f.People.AddUser(f.t.Context(), policy.Operator(),
		people.Person{Username: name, Email: name + "@example.com", Password: goodPassword})
	if err != nil {
		f.t.Fatal(err)
	}
	return u
}

// made returns the secret of a link that an administrator makes.
func (f *fixture) made(u storage.User) string {
	f.t.Helper()
	link, expires, err := f.People.MakeResetLink(f.t.Context(), policy.Operator(), u.ID)
	if err != nil || expires <= oauth.Now() {
		f.t.Fatal(expires, err)
	}
	secret := regexp.MustCompile(`^https://auth\.example/password/reset/([A-Za-z0-9_-]{43})/$`).FindStringSubmatch(link)
	if secret == nil {
		f.t.Fatal(link)
	}
	return secret[1]
}

func TestForgottenPassword(t *testing.T) {
	t.Run("the same is stored for every name", func(t *testing.T) {
		f := begin(t, mailsTo(nowhere))
		f.addressed("alice")
		f.person("bob")
		for i, name := range []string{"alice", "ALICE", "bob", "nobody", "alice@example.com", "nobody@example.com"} {
			err := f.People.AskReset(t.Context(), name, people.Browser{Address: "192.0.2.1"})
			if err != nil || f.count("mails") != i+1 || f.count("links") != 0 {
				t.Errorf("%s: %v, %d notes, %d links", name, err, f.count("mails"), f.count("links"))
			}
		}
		if f.contains("nobody@example.com") {
			t.Error("the database contains a name that somebody typed")
		}
	})
	t.Run("what is no name is refused at the field", func(t *testing.T) {
		f := begin(t, mailsTo(nowhere))
		for _, name := range []string{"", "  ", strings.Repeat("a", 601), "\xff"} {
			wantInvalid(t, f.People.AskReset(t.Context(), name, people.Browser{Address: "192.0.2.1"}), "username")
		}
	})
	t.Run("without a mail server nothing is stored", func(t *testing.T) {
		f := begin(t)
		u := f.addressed("alice")
		if err := f.People.AskReset(t.Context(), "alice", people.Browser{Address: "192.0.2.1"}); !errors.Is(err,
			oauth.ErrNotFound) {
			t.Error(err)
		}
		err := f.People.ResetPassword(t.Context(), "alice", "another few words")
		if err != nil || f.count("mails") != 0 || f.People.SendsMail() {
			t.Error(err)
		}
		if may, err := f.People.MayVerify(u); may || err != nil {
			t.Error(may, err)
		}
	})
	t.Run("a name, and a network, are limited apart", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := begin(t, mailsTo(nowhere))
			for range 5 {
				f.forgets(t, "alice", "192.0.2.1", "")
			}
			f.forgets(t, "Alice", "192.0.2.1", "429 temporarily_unavailable")
			f.forgets(t, "alice", "198.51.100.1", "") // a stranger elsewhere does not lock a person out
			f.forgets(t, "bob", "192.0.2.1", "")
			for i := range 54 {
				f.forgets(t, "n"+strings.Repeat("a", i), "192.0.2.1", "")
			}
			f.forgets(t, "carol", "192.0.2.1", "429 temporarily_unavailable")
			time.Sleep(5*time.Minute + time.Second)
			f.forgets(t, "alice", "192.0.2.1", "")
		})
	})
	t.Run("people with one address get a link each", func(t *testing.T) {
		f := begin(t, mailsTo(nowhere))
		for _, name := range []string{"a", "b", "c", "d"} {
			_, err := f.People.AddUser(t.Context(), policy.Operator(),
				people.Person{Username: name, Email: "Shared@example.com", Password: goodPassword, Inactive: name == "a"})
			if err != nil {
				t.Fatal(err)
			}
		}
		f.answers(t, "shared@EXAMPLE.com")
		if f.count("links") != 3 || f.count("mails") != 3 {
			t.Errorf("%d links, %d messages", f.count("links"), f.count("mails"))
		}
		f.answers(t, "b")
		if f.count("links") != 3 {
			t.Errorf("%d links: one site has used up its share", f.count("links"))
		}
		f.answersAt(t, "b", "198.51.100.1")
		if f.count("links") != 4 {
			t.Errorf("%d links", f.count("links"))
		}
	})
}

// A stranger whose user name is the address of a person does not keep the link from that person.
func TestForgottenPasswordOfANamesake(t *testing.T) {
	f := begin(t, mailsTo(nowhere))
	alice := f.addressed("alice")
	_, err := f.People.AddUser(t.Context(), policy.Operator(),
		people.Person{Username: "alice@example.com", Email: "stranger@example.com", Password: goodPassword})
	if err != nil {
		t.Fatal(err)
	}
	f.answers(t, "Alice@Example.com")
	for _, u := range []string{alice.ID, ""} {
		var n int
		err := f.backDoor().QueryRowContext(t.Context(), `SELECT COUNT(*) FROM links WHERE user_id = $1 OR $1 = ''`,
			u).Scan(&n)
		if want := map[string]int{alice.ID: 1, "": 2}[u]; err != nil || n != want {
			t.Errorf("%d links of %q, want %d: %v", n, u, want, err)
		}
	}
	// A person whose user name is their own address gets one.
	_, err = f.People.AddUser(t.Context(), policy.Operator(),
		people.Person{Username: "carol@example.com", Email: "carol@example.com", Password: goodPassword})
	if err != nil {
		t.Fatal(err)
	}
	f.answers(t, "carol@example.com")
	if f.count("links") != 3 {
		t.Errorf("%d links, want 3", f.count("links"))
	}
}

// However many requests come from however many networks, the number of stored notes is bounded. A request
// beyond it learns that it has to wait, whatever its name is.
func TestForgottenPasswordFlood(t *testing.T) {
	f := begin(t, mailsTo(nowhere))
	f.addressed("alice")
	f.sql(`INSERT INTO mails (id, kind, body, attempts, created_at, due_at, expires_at, network)
		WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9999) SELECT 'n' || i, 'asked', '', 0, 0, 0,
			99999999999, 'n' || i FROM n`)
	f.forgets(t, "alice", "192.0.2.1", "")
	for i, name := range []string{"alice", "nobody"} {
		f.forgets(t, name, "198.51.100."+strconv.Itoa(i+1), "503 temporarily_unavailable")
	}
	if n := f.count("mails"); n != 10_000 {
		t.Errorf("%d notes are stored", n)
	}
	// The message about a change has its own share.
	err := f.People.ResetPassword(t.Context(), "alice", "another few words")
	if err != nil || f.count("mails") != 10_001 {
		t.Errorf("%d messages, %v", f.count("mails"), err)
	}
}

func (f *fixture) forgets(t *testing.T, name, address, want string) {
	t.Helper()
	err := f.People.AskReset(t.Context(), name, people.Browser{Address: address})
	if got := kind(err); err != nil && got != want || err == nil && want != "" {
		t.Errorf("%s from %s: %v, want %q", name, address, err, want)
	}
}

// answers asks for a new password, and answers at once.
func (f *fixture) answers(t *testing.T, name string) {
	t.Helper()
	f.answersAt(t, name, "192.0.2.1")
}

// answersAt is answers for somebody at an address.
func (f *fixture) answersAt(t *testing.T, name, address string) {
	t.Helper()
	f.forgets(t, name, address, "")
	due, err := f.store.DueMails(t.Context(), "", oauth.Now(), 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range due {
		if m.Kind != "asked" {
			continue
		}
		m, err = f.store.LeaseMail(t.Context(), m, oauth.Now()+60)
		if err == nil {
			err = f.People.AnswerReset(t.Context(), m, name, "")
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestResetLink(t *testing.T) {
	t.Run("the database contains no secret", func(t *testing.T) {
		f := begin(t, mailsTo(nowhere))
		f.addressed("alice")
		secret := f.made(f.addressed("bob"))
		f.answers(t, "alice")
		if f.contains(secret) || !f.contains(seal.Digest(secret)) || f.contains("/password/reset/") {
			t.Error("a link can be read in the database")
		}
	})
	t.Run("it works for thirty minutes", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := begin(t)
			u := f.person("alice")
			early, late := f.made(u), f.made(u)
			time.Sleep(30*time.Minute - time.Second)
			found, err := f.People.ResetLink(t.Context(), early)
			if err != nil || found.ID != u.ID {
				t.Error(err)
			}
			time.Sleep(time.Second)
			for _, err := range []error{second(f.People.ResetLink(t.Context(), late)),
				f.People.ResetByLink(t.Context(), late, "another few words")} {
				if !errors.Is(err, oauth.ErrNotFound) {
					t.Error(err)
				}
			}
		})
	})
	t.Run("a password that breaks the rules does not use it", func(t *testing.T) {
		f := begin(t)
		secret := f.made(f.person("alice"))
		for _, password := range []string{"", "short", "\xff but long enough for the rules", strings.Repeat("a", 1025)} {
			wantInvalid(t, f.People.ResetByLink(t.Context(), secret, password), "new_password")
		}
		err := f.People.ResetByLink(t.Context(), secret, "another few words")
		if err != nil {
			t.Error(err)
		}
		_, err = f.People.Login(t.Context(), "alice", "another few words", people.Browser{Address: "192.0.2.1"})
		if err != nil {
			t.Error(err)
		}
	})
	t.Run("its hashes wait in a queue of their own", func(t *testing.T) {
		f := begin(t)
		u := f.person("alice")
		secret := f.made(u)
		var places []func()
		for {
			leave, err := f.limits.People.Enter("reset " + u.ID)
			if err != nil {
				break
			}
			places = append(places, leave)
		}
		wantError(t, f.People.ResetByLink(t.Context(), secret, "another few words"), "429 temporarily_unavailable")
		for _, leave := range places {
			leave()
		}
		if err := f.People.ResetByLink(t.Context(), secret, "another few words"); err != nil {
			t.Error(err)
		}
	})
	t.Run("it replaces no second factor", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := begin(t)
			app, s := f.enrol(f.login("alice"))
			codes, renewed, err := f.People.NewRecoveryCodes(t.Context(), s)
			s = f.signedIn(renewed, err)
			key, _ := f.passkey(s)
			before, err := f.People.Factors(t.Context(), s.User.ID)
			if err != nil {
				t.Fatal(err)
			}
			ticket := f.first("alice")
			waiting, err := f.People.SecondStep(t.Context(), ticket)
			if err != nil {
				t.Fatal(err)
			}
			request := f.answered(key)
			err = f.People.ResetByLink(t.Context(), f.made(s.User), "another few words")
			if err != nil || f.count("sessions") != 0 {
				t.Fatal(f.count("sessions"), err)
			}
			after, err := f.People.Factors(t.Context(), s.User.ID)
			if err != nil || after != before || after.TOTPSince == 0 || after.Passkeys != 1 || after.RecoveryCodes != 10 {
				t.Errorf("%+v became %+v, %v", before, after, err)
			}
			// A sign-in that has begun with the old password cannot be finished.
			isError(t, "the old ticket", second(f.People.SecondStep(t.Context(), ticket)), oauth.ErrNotFound)
			for by, code := range map[string]string{people.ByTOTP: app.now(), people.ByRecovery: codes[0]} {
				_, err = f.People.Answer(t.Context(), waiting, people.Answer{By: by, Code: code}, home)
				isError(t, "an answer with the old ticket by "+by, err, oauth.ErrNotFound)
			}
			in, err := f.People.Login(t.Context(), "alice", "another few words", home)
			if err != nil || in.Session != "" || in.Ticket == "" {
				t.Fatalf("the new password alone gives %+v, %v", in, err)
			}
			if _, err = f.second(in.Ticket, people.ByNewTOTP, app.now()); kind(err) != "400 invalid_grant" {
				t.Error("another app:", kind(err))
			}
			if got := f.signedIn(f.second(in.Ticket, people.ByTOTP, app.now())).Session.AMR; got != "pwd otp" {
				t.Error(got)
			}
			f.signedIn(f.second(in.Ticket, people.ByRecovery, codes[0])) // it was not used up
			f.signedIn(f.Passkeys.SignIn(t.Context(), request, chrome, home))
		})
	})
	t.Run("only an administrator makes one, and only for an enabled account", func(t *testing.T) {
		f := begin(t)
		u, other := f.person("alice"), f.person("bob")
		_, _, err := f.People.MakeResetLink(t.Context(), policy.By(other), u.ID)
		wantError(t, err, "403 access_denied")
		_, _, err = f.People.MakeResetLink(t.Context(), policy.Operator(), "nobody")
		if !errors.Is(err, oauth.ErrNotFound) {
			t.Error(err)
		}
		err = f.People.DisableUser(t.Context(), "alice")
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = f.People.MakeResetLink(t.Context(), policy.Operator(), u.ID)
		wantInvalid(t, err, "username")
	})
}

// Another address is not a verified one, unless the form itself says so.
func TestAddressIsVerifiedAnew(t *testing.T) {
	f := begin(t)
	for _, test := range []struct {
		name         string
		before, form bool // verified
		noForm       bool // the form has no claims, because OpenID Connect is off
		same         bool // the same address
		want         bool
	}{
		{"the box as it was", true, true, false, false, false},
		{"a form without the box", true, false, true, false, false},
		{"ticked now", false, true, false, false, true},
		{"not ticked", false, false, false, false, false},
		{"the same address", true, true, false, true, true},
		{"the same address, without the box", true, false, true, true, true},
		{"cleared", true, false, false, true, false},
	} {
		address := "a@example.com"
		u, err := f.People.AddUser(t.Context(), policy.Operator(),
			people.Person{Username: strings.ReplaceAll(strings.ReplaceAll(test.name, " ", "-"), ",", ""), Email: address,
				Password: goodPassword,
				Profile:  &people.Profile{EmailVerified: test.before, Nickname: "al"}})
		if err != nil {
			t.Fatal(err)
		}
		if !test.same {
			address = "b@example.com"
		}
		form := people.Person{Username: u.Username, Email: address}
		if !test.noForm {
			form.Profile = &people.Profile{EmailVerified: test.form, Nickname: "al"}
		}
		err = f.People.UpdateUser(t.Context(), policy.Operator(), u.ID, form)
		if err != nil {
			t.Fatal(err)
		}
		u, err = f.People.User(t.Context(), u.ID)
		if err != nil {
			t.Fatal(err)
		}
		profile, err := people.ProfileOf(u)
		if err != nil || profile.EmailVerified != test.want || profile.Nickname != "al" {
			t.Errorf("%s: %+v, %v", test.name, profile, err)
		}
	}
}

// The queue of one node, with a real mail server.
func TestMailQueue(t *testing.T) {
	server := smtpd.Start(t, smtpd.Options{})
	f := begin(t, mailsTo(server.Address))
	u := f.addressed("alice")
	gone := f.addressed("gone")
	runs := func(done func() bool) {
		t.Helper()
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { f.Notices.Run(ctx, f.clock.Right, notices.Answers{Reset: f.People.AnswerReset}) })
		for end := time.Now().Add(time.Minute); !done() && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
		}
		stop()
		running.Wait()
	}
	store := func(u storage.User) storage.Mail {
		t.Helper()
		m := f.Notices.PasswordChanged(u)
		err := f.store.AddMail(t.Context(), m[0])
		if err != nil {
			t.Fatal(err)
		}
		return m[0].Mail
	}
	t.Run("a message of a deleted person is not sent", func(t *testing.T) {
		store(gone)
		err := f.People.DeleteUser(t.Context(), policy.Operator(), gone.ID, people.DeleteApplications)
		if err != nil {
			t.Fatal(err)
		}
		sent := store(u)
		runs(func() bool { return f.count("mails") == 0 })
		got := server.Messages(t)
		if len(got) != 1 || got[0].To[0] != "alice@example.com" || got[0].Header.Get("Message-ID") != "<"+sent.ID+
			"@auth.example>" {
			t.Errorf("%+v", got)
		}
	})
	t.Run("a message that cannot be opened is given up", func(t *testing.T) {
		f.sql(`INSERT INTO mails (id, kind, body, attempts, created_at, due_at, expires_at) VALUES ('x', 'password',
			'altered', 0, 0, 0, 99999999999)`)
		m := store(u)
		f.sql(`UPDATE mails SET kind = 'address' WHERE id = '` + m.ID + `'`) // it is bound to its kind
		runs(func() bool { return f.count("mails") == 0 })
		if _, _, givenUp := f.Notices.Counts(); givenUp != 2 || len(server.Messages(t)) != 1 {
			t.Errorf("%d given up, %d messages", givenUp, len(server.Messages(t)))
		}
	})
	t.Run("a failed attempt is repeated later, and at last given up", func(t *testing.T) {
		server.Stop()
		defer server.Restart(t)
		m := store(u)
		failures := func() int64 { _, n, _ := f.Notices.Counts(); return n }
		runs(func() bool { return failures() == 1 })
		due, err := f.store.DueMails(t.Context(), "", oauth.Now()+11, 10)
		if err != nil || len(due) != 1 || due[0].Attempts != 1 || due[0].DueAt < m.DueAt+10 {
			t.Errorf("%+v, %v", due, err)
		}
		f.sql(`UPDATE mails SET due_at = 0, attempts = 20, expires_at = ` + "9999999999")
		runs(func() bool { return failures() == 2 })
		due, err = f.store.DueMails(t.Context(), "", oauth.Now()+3601, 10)
		if err != nil || len(due) != 1 || due[0].DueAt < oauth.Now()+3500 {
			t.Errorf("%+v, %v", due, err)
		}
		f.sql(`UPDATE mails SET due_at = 0, expires_at = CAST(strftime('%s', 'now') AS INTEGER) + 600`)
		runs(func() bool { return f.count("mails") == 0 })
		if f.count("mails") != 0 {
			t.Error("the message is not given up")
		}
	})
	t.Run("what an answer makes is sent", func(t *testing.T) {
		before := len(server.Messages(t))
		f.forgets(t, "alice", "192.0.2.1", "")
		runs(func() bool { return f.count("mails") == 0 })
		got := server.Messages(t)
		if len(got) != before+1 || !strings.Contains(got[len(got)-1].Text, "alice https://auth.example/password/reset/") {
			t.Errorf("%d messages, %d before", len(got), before)
		}
	})
	for _, secret := range []string{"alice@example.com", "/password/reset/"} {
		if strings.Contains(f.logged.String(), secret) {
			t.Errorf("the log contains %s", secret)
		}
	}
}
