package provider

import (
	"testing"
	"testing/synctest"
	"time"

	"mandate/provider/access"
	"mandate/provider/clients"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/storage"
)

func forGroups(names ...string) func(*clients.Registration) {
	return func(r *clients.Registration) { r.AllowedGroups = names }
}

// groups makes a person a member of exactly these of the groups staff and board, and adds groups that do not exist.
func (f *fixture) groups(t *testing.T, u storage.User, names ...string) {
	t.Helper()
	for _, name := range names {
		_, err := f.People.GroupNamed(t.Context(), name)
		if err != nil {
			err = f.People.AddGroup(t.Context(), name)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := f.store.SetMappedGroups(t.Context(), u.ID, []string{"staff", "board"}, names, oauth.Now())
	if err != nil {
		t.Fatal(err)
	}
}

// excludes reports whether an authorization request of a person ends at the page that says so.
func (f *fixture) excludes(t *testing.T, app *clients.Registered, s *storage.SignedIn, pairs ...string) bool {
	t.Helper()
	asked, err := f.Authorizations.RequiredInteraction(t.Context(), f.authorize(app, pairs...), s)
	if err != nil {
		t.Fatal(err)
	}
	return asked != nil && asked.Excluded != nil
}

// Class: a decision that is made at the sign-in alone, CWE-613. Who loses the group keeps neither a code, nor tokens,
// nor an approval that waits.
func TestAttackWhoLostTheGroupGoesOn(t *testing.T) {
	f := begin(t)
	s := f.login("alice")
	f.groups(t, s.User, "staff")
	app, tv := f.app(forGroups("staff")), f.television(forGroups("staff"))
	if f.excludes(t, app, s) {
		t.Fatal("a member may not use it")
	}
	held := f.tokens(app, s)
	unused := f.code(app, s)
	waits := f.ask(t, app, s, "scope", "read write groups", "prompt", "consent")
	codes, pending := f.asks(tv), f.asks(tv)
	f.allow(codes, s)
	asked := f.find(pending.UserCode, s)
	f.wantActive(true, held.AccessToken)

	f.groups(t, s.User)

	f.wantActive(false, held.AccessToken)
	_, err := f.refresh(app, held.RefreshToken)
	wantError(t, err, "400 invalid_grant")
	_, err = f.exchange(app, unused)
	wantError(t, err, "400 invalid_grant")
	_, err = f.token(tv, pollWith(codes)...)
	wantError(t, err, "400 invalid_grant")
	_, err = f.Devices.Approve(t.Context(), asked.Ticket, s)
	wantError(t, err, "400 access_denied")
	_, err = f.token(app, "grant_type", policy.GrantPassword, "username", "alice", "password", goodPassword)
	wantError(t, err, "400 invalid_grant")
	a, err := f.Authorizations.Resume(t.Context(), waits.Ticket, s)
	if err != nil {
		t.Fatal(err)
	}
	response, err := f.Authorizations.Approve(t.Context(), a, s)
	if err != nil || queryOf(t, response.Location()).Get("error") != "access_denied" {
		t.Errorf("the consent page that was open leads to %s, %v", response.Location(), err)
	}
	if !f.excludes(t, app, s) {
		t.Error("a new request is not refused")
	}
	if _, err = f.Authorizations.Complete(t.Context(), f.authorize(app), s); kind(err) != "400 access_denied" {
		t.Errorf("a request that was checked before gets %v", err)
	}

	// The group again does not bring anything back.
	f.groups(t, s.User, "staff")
	f.wantActive(false, held.AccessToken)
	_, err = f.refresh(app, held.RefreshToken)
	wantError(t, err, "400 invalid_grant")
	_, err = f.exchange(app, unused)
	wantError(t, err, "400 invalid_grant")
}

// A change of the lists refuses at once, on each node, what the clean-up ends later.
func TestNarrowedApplicationRefusesAtOnce(t *testing.T) {
	f := begin(t, func(c *Config) { c.SweepBatch = 10 })
	alice, bob := f.login("alice"), f.login("bob")
	f.groups(t, alice.User, "staff")
	app := f.app()
	ofAlice, ofBob := f.tokens(app, alice), f.tokens(app, bob)
	f.wantActive(true, ofAlice.AccessToken, ofBob.AccessToken)
	err := f.change(app, forGroups("staff"))
	if err != nil {
		t.Fatal(err)
	}
	f.wantActive(true, ofAlice.AccessToken)
	f.wantActive(false, ofBob.AccessToken)
	_, err = f.refresh(app, ofBob.RefreshToken)
	wantError(t, err, "400 invalid_grant")
	f.sweep(t.Context())
	err = f.change(app, forGroups("staff"), func(r *clients.Registration) { r.AllowedGroups = nil })
	if err != nil {
		t.Fatal(err)
	}
	f.wantActive(true, ofAlice.AccessToken)
	f.wantActive(false, ofBob.AccessToken)
}

// The copy of a token ends with the membership: nothing tells this node that the time has come.
func TestAttackCopyOutlivesAMembership(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t, func(c *Config) { c.SweepBatch = 10 })
		s := f.login("alice")
		f.groups(t, s.User, "staff")
		app := f.app(forGroups("staff"))
		err := f.People.SetMembership(t.Context(), policy.Operator(), s.User, "staff", oauth.Now()+30)
		if err != nil {
			t.Fatal(err)
		}
		held := f.tokens(app, s)
		f.changes.ReceivedUpTo(time.Now().Add(time.Hour))
		f.wantActive(true, held.AccessToken)
		time.Sleep(31 * time.Second)
		f.wantActive(false, held.AccessToken)
		wantInvalid(t, f.People.SetMembership(t.Context(), policy.Operator(), s.User, "staff", oauth.Now()), "until")
		f.sweep(t.Context())
		if found := f.storedEvents("membership.ended"); len(found) != 1 || found[0].PersonName != "alice" ||
			found[0].ObjectName != "staff" {
			t.Errorf("events: %v", found)
		}
	})
}

// An application that no administrator answers for does not learn from prompt=none who is in which group.
func TestAttackSilentRequestTellsTheGroups(t *testing.T) {
	f := withResources(t)
	alice, bob := f.login("alice"), f.login("bob")
	f.groups(t, alice.User, "staff")
	owner := f.login("owner")
	app := f.owned(owner.User)
	err := f.change(app, forGroups("staff"), func(r *clients.Registration) {
		r.RedirectURIs, r.GrantTypes = []string{callback}, []string{policy.GrantCode}
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*storage.SignedIn{alice, bob} {
		if got := f.silently(app, s); got != mustAsk {
			t.Errorf("%s: %s", s.User.Username, got)
		}
	}
	trusted := f.app(forGroups("staff"))
	if got := f.silently(trusted, bob); got != "400 access_denied" {
		t.Errorf("an application of the operator: %s", got)
	}
	if got := f.silently(trusted, alice); got != mustAsk {
		t.Errorf("an application of the operator, for a member: %s", got)
	}
}

func TestWhoMayChangeWhoMayUseIt(t *testing.T) {
	f := begin(t)
	owner := f.login("owner")
	f.groups(t, owner.User, "staff")
	app := f.owned(owner.User)
	update := func(actor policy.Actor, change func(*clients.Registration)) error {
		a, err := f.store.Application(t.Context(), app.Application.ID)
		if err != nil {
			t.Fatal(err)
		}
		r := clients.Registration{Name: "Client", ClientType: a.ClientType, GrantTypes: []string{policy.GrantCode},
			RedirectURIs: []string{callback}, HashClientSecret: true, AllowedGroups: oauth.Lines(a.AllowedGroups)}
		change(&r)
		_, err = f.Clients.Update(t.Context(), actor, a.ID, a.Version, r)
		return err
	}
	wantInvalid(t, update(policy.By(owner.User), forGroups("staff")), "allowed_groups")
	wantInvalid(t, update(policy.Operator(), forGroups("nothing")), "allowed_groups")
	if err := update(policy.Operator(), forGroups("staff")); err != nil {
		t.Fatal(err)
	}
	wantInvalid(t, update(policy.By(owner.User), forGroups()), "allowed_groups")
	if err := update(policy.By(owner.User), func(r *clients.Registration) { r.Name = "Other" }); err != nil {
		t.Error(err)
	}
	wantInvalid(t, f.People.DeleteGroup(t.Context(), "staff"), "name")
	wantInvalid(t, update(policy.Operator(), func(r *clients.Registration) { r.NobodyNew, r.SkipConsent = true, true }),
		"nobody_new")
}

func TestVerdictNamesEachCondition(t *testing.T) {
	f := begin(t)
	s := f.login("alice")
	f.groups(t, s.User, "staff")
	for _, test := range []struct {
		change func(*clients.Registration)
		want   access.Kind
	}{
		{func(*clients.Registration) {}, ""},
		{forGroups("staff"), ""},
		{func(r *clients.Registration) { r.DeniedGroups = []string{"staff"} }, access.Denied},
		{func(r *clients.Registration) { r.NobodyNew = true }, access.Known},
	} {
		app := f.app(test.change)
		v, err := f.Access.Check(t.Context(), app.Application, s.User)
		if err != nil || v.Missing() != test.want || v.Allowed() != (test.want == "") || len(v.Conditions) != 6 {
			t.Errorf("%v, %v, want %q", v.Conditions, err, test.want)
		}
		usable, _, err := f.Access.UsableBy(t.Context(), s.User.ID, "", 100, 0)
		if err != nil {
			t.Fatal(err)
		}
		listed := false
		for _, a := range usable {
			listed = listed || a.ID == app.Application.ID
		}
		if listed != v.Allowed() {
			t.Errorf("%q: listed %v", test.want, listed)
		}
	}
}
