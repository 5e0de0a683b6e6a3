package provider

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mandate/provider/events"
	"mandate/provider/origin"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/storage"
)

// failed stores that somebody has failed to sign in.
func (f *fixture) failed(kind events.Kind, u storage.User, address, why string, at ...events.Object) {
	f.t.Helper()
	e := events.Event{Kind: kind, Person: u, By: events.Nobody(), Detail: why}
	if len(at) > 0 {
		e.Object = at[0]
	}
	err := events.Failed(origin.With(f.t.Context(), &origin.Origin{
		Actor:   origin.Actor{Kind: origin.Nobody},
		Address: address,
	}), f.store, e)
	if err != nil {
		f.t.Fatal(err)
	}
}

// stored returns what the event log has of a kind, in any order.
func (f *fixture) storedEvents(kind events.Kind) []storage.Event {
	f.t.Helper()
	found, err := f.Events.List(f.t.Context(), policy.Operator(), events.Filter{Kind: string(kind)}, 10_000)
	if err != nil {
		f.t.Fatal(err)
	}
	return found
}

// The events of one change are listed in their order, although they have the same time.
func TestEventsOfOneChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t)
		for n := range 20 {
			_, err := f.People.AddUser(t.Context(), policy.Operator(), people.Person{
				Username:      fmt.Sprint("root-", n),
				Password:      goodPassword,
				Administrator: true,
			})
			if err != nil {
				t.Fatal(err)
			}
			found, err := f.Events.List(t.Context(), policy.Operator(), events.Filter{}, 2)
			if err != nil || found[0].Kind != string(events.PersonPromoted) || found[1].Kind != string(events.PersonAdded) {
				t.Fatalf("%v %v", found, err)
			}
			time.Sleep(time.Millisecond)
		}
	})
}

// Failures share a row if they have the same hour, person, network, reason and application, and no other ones do.
func TestFailuresShareARow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the time begins with a full hour
		f := begin(t)
		alice, bob := f.person("alice"), f.person("bob")
		f.failed(events.SignInFailed, alice, "2001:db8::1", "password")
		time.Sleep(time.Hour - time.Second)
		f.failed(events.SignInFailed, alice, "2001:db8:0:7::2", "password") // the same site
		f.failed(events.SignInFailed, alice, "2001:db8::1", "disabled")
		f.failed(events.SignInFailed, bob, "64:ff9b::192.0.2.1", "password") // a translator (RFC 6052)
		f.failed(events.SignInFailed, storage.User{}, "2001:db8::1", "password")
		for _, id := range []string{"one", "two", "one"} {
			f.failed(events.SignInFailed, alice, "2001:db8::1", "password", events.Object{Kind: "application", ID: id})
		}
		time.Sleep(time.Second)
		f.failed(events.SignInFailed, alice, "2001:db8::1", "password") // another hour
		got := []string{}
		for _, e := range f.storedEvents(events.SignInFailed) {
			got = append(got, strings.TrimSpace(fmt.Sprint(
				e.PersonName, " ", e.Detail, " ", e.ObjectID, " ", e.Address, " ", e.Times,
			)))
		}
		slices.Sort(got)
		want := []string{
			"alice disabled  2001:db8::/48 1",
			"alice password  2001:db8::/48 1",
			"alice password  2001:db8::/48 2",
			"alice password one 2001:db8::/48 2",
			"alice password two 2001:db8::/48 1",
			"bob password  192.0.2.1 1",
			"password  2001:db8::/48 1",
		}
		if !slices.Equal(got, want) {
			t.Errorf("the rows are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// A stranger in many networks makes a bounded number of rows about one person in an hour. Failures of another kind and
// of another hour do not count for it, and names that nobody has share a larger bound.
func TestFailuresFromManyNetworks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t)
		alice := f.person("alice")
		everywhere := func(kind events.Kind, u storage.User, networks int) {
			for n := range networks {
				f.failed(kind, u, fmt.Sprintf("192.0.%d.%d", n/200, n%200), "password")
			}
		}
		rows := func(what string, kind events.Kind, want int, rest int64) {
			t.Helper()
			found := f.storedEvents(kind)
			shared := int64(0)
			for _, e := range found {
				if e.Address == "" {
					shared = e.Times
				}
			}
			if len(found) != want || shared != rest {
				t.Errorf(
					"%s: %d rows, and %d failures in the one without a network; want %d and %d", what, len(found), shared, want,
					rest,
				)
			}
		}
		everywhere(events.FactorFailed, alice, 49)
		everywhere(events.SignInFailed, alice, 55)
		rows("about one person", events.SignInFailed, 51, 5)
		rows("of another kind", events.FactorFailed, 49, 0)
		time.Sleep(time.Hour)
		f.failed(events.SignInFailed, alice, "198.51.100.1", "password")
		rows("an hour later", events.SignInFailed, 52, 5)
		if newest := f.storedEvents(events.SignInFailed)[0]; newest.Address != "198.51.100.1" {
			t.Errorf("the row of another hour is %+v", newest)
		}
		for n := range 60 { // one customer
			f.failed(events.PasswordFailed, alice, fmt.Sprintf("2001:db8:7:%x::1", n), "")
		}
		rows("of one customer with an IPv6 /48", events.PasswordFailed, 1, 0)
		time.Sleep(time.Hour)
		everywhere(events.PasswordFailed, storage.User{}, 60)
		rows("of names that nobody has", events.PasswordFailed, 61, 0)
	})
}

// A log that an attacker scrolls away (CWE-778): a customer with an IPv6 /48 or an IPv4 /24, and many customers, leave
// on the page of a person what has happened to the account.
func TestAttackFailuresScrollActivityAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t)
		alice := f.person("alice")
		time.Sleep(time.Second)
		f.login("alice")
		shown := func() (list []string) {
			found, err := f.Events.OfPerson(t.Context(), alice.ID, 15, 5)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range found {
				list = append(list, strings.TrimSpace(fmt.Sprint(e.Kind, " ", e.Times, " ", e.Address)))
			}
			return list
		}
		time.Sleep(time.Second)
		for n := range 40 {
			f.failed(events.SignInFailed, alice, fmt.Sprintf("2001:db8:7:%x::1", n), "password")
			f.failed(events.PasswordFailed, alice, fmt.Sprintf("192.0.2.%d", n), "")
		}
		f.failed(events.SignInFailed, alice, "203.0.113.9", "password")
		got, want := shown(), []string{
			"password.failed 40 192.0.2.0/24",
			"sign-in.failed 40 2001:db8:7::/48",
			"sign-in.failed 1 203.0.113.9",
			"sign-in 1",
			"person.added 1",
		}
		at := []int{}
		for _, one := range want {
			at = append(at, slices.IndexFunc(got, func(has string) bool { return has == one || has == one+" 192.0.2.1" }))
		}
		if len(got) != len(want) || slices.Contains(at, -1) || at[3] != 3 || at[4] != 4 {
			t.Errorf("one customer: %q, want %q", got, want)
		}
		time.Sleep(time.Second)
		for n := range 48 {
			f.failed(events.FactorFailed, alice, fmt.Sprintf("198.51.%d.1", n), "totp")
		}
		got = shown()
		if len(got) != 7 || strings.Count(strings.Join(got[:5], " "), "factor.failed 1 ") != 5 || got[6] != "person.added 1" {
			t.Errorf("many customers: %q", got)
		}
	})
}

// An administrator sees when a person has last signed in, and how often somebody has failed within a day.
func TestSignInsOfAPerson(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t)
		s := f.login("alice")
		at := time.Now().Unix()
		for range 3 {
			f.failed(events.SignInFailed, s.User, "192.0.2.1", "password")
		}
		f.failed(events.FactorFailed, s.User, "192.0.2.1", "totp")
		f.failed(events.PasswordFailed, s.User, "192.0.2.1", "")
		f.failed(events.SignInFailed, f.person("bob"), "192.0.2.1", "password")
		check := func(want int64) {
			t.Helper()
			last, failures, err := f.Events.SignInsOf(t.Context(), s.User.ID)
			if err != nil || last != at || failures != want {
				t.Errorf("the last sign-in is %d and %d have failed, want %d and %d: %v", last, failures, at, want, err)
			}
		}
		check(4)
		time.Sleep(24 * time.Hour)
		check(4)
		time.Sleep(time.Second)
		check(0)
	})
}

// Nobody but an administrator reads, exports or invites, whatever a page has checked before.
func TestAdministrationIsForAdministrators(t *testing.T) {
	f := begin(t, inviting)
	bob := policy.By(f.person("bob"))
	one := f.invited(t, people.Inviting{ByHand: true}, "ann@example.com")
	_, list := f.Events.List(t.Context(), bob, events.Filter{}, 10)
	_, invite := f.Invitations.Invite(t.Context(), bob, []people.Invite{{Email: "eve@example.com"}}, people.Inviting{})
	_, renew := f.Invitations.Renew(t.Context(), bob, one.ID, true)
	for what, err := range map[string]error{
		"list":     list,
		"export":   f.Events.Export(t.Context(), bob, events.Filter{}),
		"invite":   invite,
		"renew":    renew,
		"withdraw": f.Invitations.Withdraw(t.Context(), bob, one.ID),
	} {
		if kind(err) != "403 access_denied" {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := f.Invitations.ByLink(
		t.Context(), secretOf(t, one),
	); err != nil || f.count("invitations") != 1 || len(f.storedEvents(events.EventsExported)) != 0 {
		t.Errorf("the link: %v, %d invitations, %v", err, f.count("invitations"), f.storedEvents(events.EventsExported))
	}
}

// The event of an export says by what it was filtered, without a value.
func TestExportIsStored(t *testing.T) {
	f := begin(t)
	all := events.Filter{
		Kind:     "sign-in",
		PersonID: "the person",
		ActorID:  "the actor",
		ObjectID: "the object",
		Address:  "192.0.2.1",
		Since:    1,
		Until:    2,
	}
	for _, of := range []events.Filter{all, {}} {
		err := f.Events.Export(t.Context(), policy.Operator(), of)
		if err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, e := range f.storedEvents(events.EventsExported) {
		got = append(got, e.Detail)
	}
	slices.Sort(got)
	if want := []string{"", "kind person actor object address since until"}; !slices.Equal(got, want) {
		t.Errorf("the events say %q, want %q", got, want)
	}
}

// The clean-up deletes an event when the time is over that the operator has set, and never if there is none.
func TestEventsAreKept(t *testing.T) {
	for _, days := range []int{0, 2} {
		synctest.Test(t, func(t *testing.T) {
			f := begin(t, func(c *Config) {
				c.EventRetention, c.SweepInterval, c.SweepBatch = time.Duration(days)*24*time.Hour, time.Minute, 10
			})
			f.login("alice")
			time.Sleep(48 * time.Hour)
			f.sweep(t.Context())
			if got := len(f.storedEvents(events.SignIn)); got != 1 {
				t.Errorf("%d days: %d events after two days", days, got)
			}
			time.Sleep(time.Second)
			f.sweep(t.Context())
			if got, want := len(f.storedEvents(events.SignIn)), map[int]int{0: 1, 2: 0}[days]; got != want {
				t.Errorf("%d days: %d events after more than two days, want %d", days, got, want)
			}
		})
	}
}

// Pages name people and applications in the event log by their IDs. Whoever chooses such an ID as a username does not
// put their own events in the place of those of somebody else.
//
// Class: CWE-694, two names for which one identifier is used.
func TestAttackUsernameIsTheIDOfSomebodyElse(t *testing.T) {
	f := begin(t)
	victim, gone, app := f.person("victim"), f.person("gone"), f.app()
	wantError(t, f.People.DeleteUser(t.Context(), policy.Operator(), gone.ID, ""), "no error")
	for what, id := range map[string]string{
		"a person":                 victim.ID,
		"a person who was deleted": gone.ID,
		"an application":           app.Application.ClientID,
	} {
		f.person(id)
		find := f.People.PersonInEvents
		if what == "an application" {
			find = f.People.ActorInEvents
		}
		got, err := find(t.Context(), id)
		if err != nil || got != id {
			t.Errorf("the events of %s are those of %s, %v", what, got, err)
		}
	}
	got, err := f.People.PersonInEvents(t.Context(), "Victim")
	if err != nil || got != victim.ID {
		t.Error("a username:", got, err)
	}
	wantMissing(t, second(f.People.PersonInEvents(t.Context(), "nobody")))
}
