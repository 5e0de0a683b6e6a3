package provider

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mandate/provider/events"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/provider/seal"
)

// inviting lets everybody make an account, with a mail server that does not answer.
func inviting(c *Config) {
	mailsTo(nowhere)(c)
	c.People.SignUp, c.People.SignUpDomains, c.People.InvitationLifetime, c.People.Languages = people.SignUpOpen,
		[]string{"example.com"}, 7*24*time.Hour, []string{"en", "de"}
}

// invited invites one person, as the operator.
func (f *fixture) invited(t *testing.T, how people.Inviting, email string, groups ...string) people.Invited {
	t.Helper()
	made, err := f.Invitations.Invite(t.Context(), policy.Operator(), []people.Invite{{Email: email, Groups: groups}}, how)
	if err != nil {
		t.Fatal(err)
	}
	return made[0]
}

var signUpLink = regexp.MustCompile(`^https://auth\.example/sign-up/([A-Za-z0-9_-]{43})/$`)

// secretOf returns the secret of a link that is passed on by hand.
func secretOf(t *testing.T, one people.Invited) string {
	t.Helper()
	found := signUpLink.FindStringSubmatch(one.Link)
	if found == nil {
		t.Fatalf("the link is %q", one.Link)
	}
	return found[1]
}

// asksToJoin lets somebody ask for an account, and returns the secrets of all links that wait in messages.
func (f *fixture) asksToJoin(t *testing.T, email string, from people.Browser) []string {
	t.Helper()
	err := f.Invitations.Ask(t.Context(), email, from)
	if err != nil {
		t.Fatal(err)
	}
	var secrets []string
	for range 2 { // what the answer makes is due too
		due, err := f.store.DueMails(t.Context(), "strangers", oauth.Now(), 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range due {
			text, err := f.sealers.mails.Open(m.Body, m.Kind+" "+m.ID)
			var content struct {
				SignUp struct{ Link string } `json:"sign_up"`
			}
			if err == nil {
				err = json.Unmarshal(text, &content)
			}
			if err == nil && m.Kind == "asked-sign-up" {
				m, err = f.store.LeaseMail(t.Context(), m, oauth.Now()+60)
				if err == nil {
					err = f.Invitations.Answer(t.Context(), m, email, "")
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			if found := signUpLink.FindStringSubmatch(content.SignUp.Link); found != nil && !slices.Contains(secrets, found[1]) {
				secrets = append(secrets, found[1])
			}
		}
	}
	return secrets
}

// joins makes an account with a password.
func (f *fixture) joins(t *testing.T, secret, username string) error {
	t.Helper()
	_, err := f.Invitations.WithPassword(t.Context(), secret,
		people.NewAccount{Username: username, Password: goodPassword}, home)
	return err
}

// The database knows a link by its digest alone, and so does a message that waits.
func TestInvitationIsStoredAsADigest(t *testing.T) {
	f := begin(t, inviting)
	secrets := append(f.asksToJoin(t, "bob@example.com", home),
		secretOf(t, f.invited(t, people.Inviting{ByHand: true}, "ann@example.com")))
	if len(secrets) != 2 {
		t.Fatalf("%d links", len(secrets))
	}
	for _, secret := range secrets {
		if f.contains(secret) || !f.contains(seal.Digest(secret)) || f.contains("/sign-up/") {
			t.Error("a link can be read in the database")
		}
	}
}

// An invitation works as long as the inviter says, and a new link as long again, with the same groups.
func TestInvitationLifetime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t, inviting)
		err := f.People.AddGroup(t.Context(), "staff")
		if err != nil {
			t.Fatal(err)
		}
		works := func(what, secret string, life time.Duration) {
			t.Helper()
			time.Sleep(life - time.Second)
			_, err := f.Invitations.ByLink(t.Context(), secret)
			isError(t, what+", a second before", err, nil)
			time.Sleep(time.Second)
			_, err = f.Invitations.ByLink(t.Context(), secret)
			isError(t, what, err, oauth.ErrNotFound)
			isError(t, what+", used", f.joins(t, secret, "ann"), oauth.ErrNotFound)
		}
		one := f.invited(t, people.Inviting{Lifetime: time.Hour}, "ann@example.com", "staff")
		if one.Link != "" || f.count("mails") != 1 {
			t.Errorf("the link is %q, %d messages", one.Link, f.count("mails"))
		}
		time.Sleep(30 * time.Minute)
		again, err := f.Invitations.Renew(t.Context(), policy.Operator(), one.ID, true)
		if err != nil || again.Mailed || f.count("mails") != 0 {
			t.Fatalf("a new link by hand: %+v, %d messages, %v", again, f.count("mails"), err)
		}
		works("the new link", secretOf(t, again), time.Hour)
		works("the usual time", secretOf(t, f.invited(t, people.Inviting{ByHand: true}, "ann@example.com")), 7*24*time.Hour)
		f.invited(t, people.Inviting{Lifetime: 365 * 24 * time.Hour}, "bob@example.com")
		for _, life := range []time.Duration{time.Minute - time.Second, 365*24*time.Hour + time.Second, -time.Hour} {
			_, err := f.Invitations.Invite(t.Context(), policy.Operator(), []people.Invite{{Email: "eve@example.com"}},
				people.Inviting{Lifetime: life})
			wantInvalid(t, err, "expires")
		}
		// Whoever was invited may be invited again after that time.
		again, err = f.Invitations.Renew(t.Context(), policy.Operator(),
			f.invited(t, people.Inviting{ByHand: true}, "ann@example.com", "staff").ID, true)
		if err == nil {
			err = f.joins(t, secretOf(t, again), "ann")
		}
		if err != nil {
			t.Fatal(err)
		}
		u, err := f.People.UserByName(t.Context(), "ann")
		groups, groupsErr := f.People.GroupsOf(t.Context(), u.ID)
		if err = errors.Join(err, groupsErr); err != nil || !slices.Equal(groups, []string{"staff"}) {
			t.Errorf("groups %v, %v", groups, err)
		}
	})
}

// The operator changes SIGN_UP. Links of before make no account that the setting does not allow any more.
func TestInvitationAfterTheSettingHasChanged(t *testing.T) {
	f := begin(t, inviting)
	asked, invited := f.asksToJoin(t, "bob@example.com", home)[0],
		secretOf(t, f.invited(t, people.Inviting{ByHand: true}, "ann@example.com"))
	for _, test := range []struct {
		setting       string
		domain        string
		asked, invite error
	}{
		{people.SignUpOpen, "example.com", nil, nil}, {people.SignUpOpen, "example.org", oauth.ErrNotFound, nil},
		{people.SignUpInvited, "example.com", oauth.ErrNotFound, nil},
		{people.SignUpOff, "example.com", oauth.ErrNotFound, oauth.ErrNotFound},
	} {
		config := f.config
		config.People.SignUp, config.People.SignUpDomains = test.setting, []string{test.domain}
		now, err := New(t.Context(), config, f.store, f.log)
		if err != nil {
			t.Fatal(err)
		}
		for what, c := range map[string]struct {
			secret string
			want   error
		}{"a link that was asked for": {asked, test.asked}, "an invitation": {invited, test.invite}} {
			_, err = now.Invitations.ByLink(t.Context(), c.secret)
			isError(t, test.setting+": "+what, err, c.want)
		}
	}
}

// Only an address of exactly these domains may ask for an account. Each spelling of an address counts as the same one.
func TestWhoMayAskForAnAccount(t *testing.T) {
	f := begin(t, inviting)
	for _, address := range []string{"eve@evilexample.com", "eve@sub.example.com", "eve@example.com.evil.example",
		"eve@example.co", "example.com"} {
		wantInvalid(t, f.Invitations.Ask(t.Context(), address, home), "email")
	}
	for i, address := range []string{"ann@example.com", "ANN@example.com", "Ann@EXAMPLE.com", "aNn@example.com",
		"anN@example.com"} {
		if err := f.Invitations.Ask(t.Context(), address, home); err != nil {
			t.Errorf("request %d: %v", i, err)
		}
	}
	wantError(t, f.Invitations.Ask(t.Context(), "ann@Example.com", home), "429 temporarily_unavailable")
	f.sql(`DELETE FROM mails`)
	spelled := []string{"ann@example.com", "Ann@example.com", "ANN@example.com", "ann@EXAMPLE.com"}
	for i := range 8 { // each from another network
		f.asksToJoin(t, spelled[i%len(spelled)], people.Browser{Address: fmt.Sprintf("198.51.%d.1", i)})
	}
	if n := f.count("invitations"); n < 5 || n > 6 { // the hour may change in between
		t.Errorf("%d links for one address, want 5", n)
	}
}

// A message is not sent after its link has ended.
func TestMessageEndsWithItsLink(t *testing.T) {
	f := begin(t, inviting)
	one := f.invited(t, people.Inviting{}, "ann@example.com")
	err := f.Invitations.Withdraw(t.Context(), policy.Operator(), one.ID)
	if err != nil || f.count("mails") != 0 {
		t.Errorf("withdrawn: %d messages, %v", f.count("mails"), err)
	}
	f.asksToJoin(t, "bob@example.com", home)
	secrets := f.asksToJoin(t, "bob@example.com", home)
	if len(secrets) != 2 || f.count("mails") != 2 {
		t.Fatalf("%d links, %d messages", len(secrets), f.count("mails"))
	}
	err = f.joins(t, secrets[0], "bob")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range f.told() {
		if strings.HasSuffix(m, "sign-up") {
			t.Errorf("the account is made, and this message waits: %s", m)
		}
	}
	f.answers(t, "bob")
	waiting := f.count("mails")
	err = f.People.DisableUser(t.Context(), "bob")
	if err != nil || waiting != 1 || f.count("mails") != 0 {
		t.Errorf("disabled: %d messages, %d before, %v", f.count("mails"), waiting, err)
	}
}

// Each account says in the event log how it came, and each invitation of a list has its event.
func TestEventsOfInvitations(t *testing.T) {
	f := begin(t, inviting)
	list := []people.Invite{{Email: "ann@example.com", Line: 1}, {Email: "bob@example.com", Line: 2},
		{Email: "carol@example.com", Line: 3}}
	made, err := f.Invitations.Invite(t.Context(), policy.Operator(), list, people.Inviting{ByHand: true})
	if err != nil {
		t.Fatal(err)
	}
	of := func(kind events.Kind) string {
		var said []string
		for _, e := range f.storedEvents(kind) {
			said = append(said, strings.Join(strings.Fields(cmp.Or(e.ActorName, e.ActorKind)+" "+e.PersonName+" "+e.ObjectKind+
				" "+e.ObjectName+" "+e.Detail), " "))
		}
		slices.Sort(said)
		return strings.Join(said, ", ")
	}
	if got, want := of(events.InvitationAdded), "server ann@example.com invitation ann@example.com, server "+
		"bob@example.com invitation bob@example.com, server carol@example.com invitation carol@example.com"; got != want {
		t.Errorf("a list: %s, want %s", got, want)
	}
	err = f.joins(t, secretOf(t, made[0]), "ann")
	if err == nil {
		err = f.joins(t, f.asksToJoin(t, "dora@example.com", home)[0], "dora")
	}
	if err != nil {
		t.Fatal(err)
	}
	secret := secretOf(t, made[1])
	asked, err := f.Invitations.AskForPasskey(t.Context(), secret, people.NewAccount{Username: "bob"}, home)
	if err == nil {
		_, err = f.Invitations.WithPasskey(t.Context(), secret,
			people.Response{Ticket: asked.Ticket, JSON: authenticator().Create(asked.Options)}, "Phone", home)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got, want := of(events.PersonAdded), "ann ann invitation ann@example.com invitation, bob bob invitation "+
		"bob@example.com invitation, dora dora invitation dora@example.com sign-up"; got != want {
		t.Errorf("accounts: %s, want %s", got, want)
	}
	if got, want := of(events.FactorAdded), "bob bob passkey Phone"; got != want {
		t.Errorf("passkeys: %s, want %s", got, want)
	}
}

// The request for the passkey of a new account works for five minutes, and tries out no usernames.
func TestPasskeyOfANewAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t, inviting)
		f.person("alice")
		secret := secretOf(t, f.invited(t, people.Inviting{ByHand: true}, "ann@example.com"))
		makes := func(wait time.Duration) error {
			asked, err := f.Invitations.AskForPasskey(t.Context(), secret, people.NewAccount{Username: "ann"}, home)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(wait)
			_, err = f.Invitations.WithPasskey(t.Context(), secret,
				people.Response{Ticket: asked.Ticket, JSON: authenticator().Create(asked.Options)}, "Phone", home)
			return err
		}
		wantError(t, makes(5*time.Minute+time.Second), refusal)
		limited := 0
		for range 130 {
			_, err := f.Invitations.AskForPasskey(t.Context(), secret, people.NewAccount{Username: "Alice"},
				people.Browser{Address: "198.51.100.7"})
			if kind(err) == "429 temporarily_unavailable" {
				limited++
			} else {
				wantInvalid(t, err, "username")
			}
		}
		if limited < 20 {
			t.Errorf("%d of 130 tries were refused", limited)
		}
		if err := makes(5 * time.Minute); err != nil {
			t.Error(err)
		}
	})
}

// Programs find people by the username. Whoever makes an account gets neither that of somebody who was deleted or has
// another one now, whose accounts there it would open, nor that of a role, whose account there is the first
// administrator's (CWE-289).
func TestAttackUsernameOfADeletedPerson(t *testing.T) {
	f := begin(t, inviting)
	alice, bob := f.person("Alice"), f.person("bob")
	err := f.People.DeleteUser(t.Context(), policy.Operator(), alice.ID, "")
	if err == nil {
		err = f.People.UpdateUser(t.Context(), policy.Operator(), bob.ID, people.Person{Username: "robert"})
	}
	if err != nil {
		t.Fatal(err)
	}
	secrets := map[string]string{
		"invited":    secretOf(t, f.invited(t, people.Inviting{ByHand: true}, "ann@example.com")),
		"by sign-up": f.asksToJoin(t, "mallory@example.com", home)[0],
	}
	for how, secret := range secrets {
		for name, why := range map[string]string{"alice": "Somebody else has had", "ＡＬＩＣＥ": "Somebody else has had",
			"bob": "Somebody else has had", "Admin": "is reserved", "ro.ot": "is reserved"} {
			_, err := f.Invitations.AskForPasskey(t.Context(), secret, people.NewAccount{Username: name}, home)
			for what, err := range map[string]error{"password": f.joins(t, secret, name), "passkey": err} {
				if found, ok := err.(*oauth.Invalid); !ok || !strings.Contains(found.At("username"), why) {
					t.Errorf("%s, %s, %s: %v", how, name, what, err)
				}
			}
		}
	}
	wantError(t, f.joins(t, secrets["invited"], "carol"), "no error")
	// An administrator may give such a name.
	f.person("alice")
	f.person("root")
}

// The address and the groups come from the link, so what one link began does not end with another.
func TestDraftOfOneLinkIsRefusedForAnother(t *testing.T) {
	f := begin(t, inviting)
	one := secretOf(t, f.invited(t, people.Inviting{ByHand: true}, "ann@example.com"))
	other := secretOf(t, f.invited(t, people.Inviting{ByHand: true}, "bob@example.com"))
	asked, err := f.Invitations.AskForPasskey(t.Context(), one, people.NewAccount{Username: "ann"}, home)
	if err != nil {
		t.Fatal(err)
	}
	response := people.Response{Ticket: asked.Ticket, JSON: authenticator().Create(asked.Options)}
	_, err = f.Invitations.WithPasskey(t.Context(), other, response, "Phone", home)
	wantError(t, err, refusal)
	_, err = f.Invitations.WithPasskey(t.Context(), one, response, "Phone", home)
	wantError(t, err, "no error")
}

// A failure of the database is one of the server, and never looks like success.
func TestDatabaseFailsWhilePeopleAsk(t *testing.T) {
	f := begin(t, inviting)
	f.addressed("alice")
	s := f.login("alice")
	secret := secretOf(t, f.invited(t, people.Inviting{ByHand: true}, "ann@example.com"))
	list := []people.Newcomer{{Person: people.Person{Username: "imported"}, Line: 2}}
	for table, calls := range map[string]map[string]func() error{
		"mails": {
			"asking for an account": func() error { return f.Invitations.Ask(t.Context(), "bob@example.com", home) },
			"asking for a password": func() error { return f.People.AskReset(t.Context(), "alice", home) },
			"asking to confirm":     func() error { return f.People.AskAddress(t.Context(), s) },
			"inviting": func() error {
				return second(f.Invitations.Invite(t.Context(), policy.Operator(), []people.Invite{{Email: "carol@example.com"}},
					people.Inviting{}))
			},
			"the message of a reset": func() error {
				return f.People.ResetPassword(t.Context(), "alice", "another few words")
			},
			"the message about a factor": func() error { return f.People.ResetFactors(t.Context(), "alice") },
		},
		"users": {
			"opening a link":        func() error { return second(f.Invitations.ByLink(t.Context(), secret)) },
			"making an account":     func() error { return f.joins(t, secret, "ann") },
			"importing":             func() error { return second(f.People.Import(t.Context(), list, false)) },
			"importing for a trial": func() error { return second(f.People.Import(t.Context(), list, true)) },
			"signing in":            func() error { return second(f.People.Login(t.Context(), "alice", goodPassword, home)) },
		},
		"events": {
			"a wrong password": func() error {
				return second(f.People.Login(t.Context(), "alice", "not the password", home))
			},
			"a name that is wrong": func() error {
				return second(f.People.Login(t.Context(), "nobody", "not the password", home))
			},
			"the right password": func() error { return second(f.People.Login(t.Context(), "alice", goodPassword, home)) },
			"listing events": func() error {
				return second(f.Events.List(t.Context(), policy.Operator(), events.Filter{}, 1))
			},
			"exporting events": func() error { return f.Events.Export(t.Context(), policy.Operator(), events.Filter{}) },
		},
	} {
		f.sql(`ALTER TABLE ` + table + ` RENAME TO hidden`)
		for what, call := range calls {
			if err := call(); kind(err) != "503 temporarily_unavailable" {
				t.Errorf("%s without %s: %v", what, table, err)
			}
		}
		f.sql(`ALTER TABLE hidden RENAME TO ` + table)
	}
	if err := f.joins(t, secret, "ann"); err != nil {
		t.Errorf("the link after all that: %v", err)
	}
}

// A person asks often to confirm an address, or has confirmed it already.
func TestAskingToConfirmAnAddress(t *testing.T) {
	f := begin(t, inviting)
	f.addressed("alice")
	s := f.login("alice")
	limited := 0
	for range 12 {
		err := f.People.AskAddress(t.Context(), s)
		if err != nil {
			wantError(t, err, "429 temporarily_unavailable")
			limited++
		}
	}
	if limited < 2 || limited > 7 { // the hour may change in between
		t.Errorf("%d of 12 requests were refused, want 7", limited)
	}
	s.User.Profile = `{"email_verified":true}`
	wantMissing(t, f.People.AskAddress(t.Context(), s))
}

// A list of people has several batches. Each person gets the groups of their own line, and an event.
func TestImportInBatches(t *testing.T) {
	f := begin(t)
	for _, group := range []string{"even", "odd"} {
		err := f.People.AddGroup(t.Context(), group)
		if err != nil {
			t.Fatal(err)
		}
	}
	const many = 403
	var list []people.Newcomer
	for n := range many {
		list = append(list, people.Newcomer{Person: people.Person{Username: fmt.Sprint("person-", n),
			Groups: []string{[]string{"even", "odd"}[(n+n/200)%2]}}, Line: n + 2})
	}
	for _, trial := range []bool{true, false} {
		done, err := f.People.Import(t.Context(), list, trial)
		if want := map[bool]int{true: 0, false: many}[trial]; err != nil || done.Added != many || f.count("users") != want {
			t.Errorf("%+v, %d people, %v", done, f.count("users"), err)
		}
	}
	for n := range many {
		u, err := f.People.UserByName(t.Context(), fmt.Sprint("person-", n))
		var groups []string
		if err == nil {
			groups, err = f.People.GroupsOf(t.Context(), u.ID)
		}
		if err != nil || !slices.Equal(groups, list[n].Groups) {
			t.Fatalf("person %d has the groups %v, want %v: %v", n, groups, list[n].Groups, err)
		}
	}
	if got := len(f.storedEvents(events.PersonAdded)); got != many {
		t.Errorf("%d events", got)
	}
}
