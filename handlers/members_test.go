package handlers

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"mandate/provider"
	"mandate/provider/clients"
	"mandate/provider/events"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/storage"
)

// enrol adds somebody, who may be in groups.
func (s *site) enrol(t *testing.T, p people.Person) string {
	t.Helper()
	p.Password, p.Email = goodPassword, p.Username+"@example.com"
	u, err := s.provider.People.AddUser(t.Context(), policy.Operator(), p)
	if err != nil {
		t.Fatal(err)
	}
	return u.ID
}

// held is what an act on a member could change.
func (s *site) held(t *testing.T, id string) storage.Holder {
	t.Helper()
	h, err := s.store.HolderOf(t.Context(), id, oauth.Now())
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// The administrator of a group tries each act on people with more rights, and on strangers. Nothing changes, and no
// answer has an address.
func TestAttackByAdministratorOfAGroup(t *testing.T) {
	s := rolesSite(t)
	in := []string{"choir"}
	targets := map[string]string{
		"administrator":       s.enrol(t, people.Person{Username: "boss", Groups: in, Administrator: true}),
		"auditor":             s.enrol(t, people.Person{Username: "watcher", Groups: in, Auditor: true}),
		"in a stronger group": s.enrol(t, people.Person{Username: "both", Groups: []string{"choir", "band"}}),
		"of another group":    s.enrol(t, people.Person{Username: "player", Groups: []string{"band"}}),
		"stranger":            s.enrol(t, people.Person{Username: "stranger"}),
		"other delegate":      s.enrol(t, people.Person{Username: "leader", Groups: in}),
		"owner":               s.enrol(t, people.Person{Username: "maker", Groups: in}),
	}
	s.administers(t, targets["other delegate"], "band")
	maker, err := s.provider.People.User(t.Context(), targets["owner"])
	if err == nil {
		_, err = s.provider.Clients.Register(t.Context(), policy.ByConfirmed(maker), clients.Registration{
			Name: "App", ClientType: policy.Confidential, GrantTypes: []string{policy.GrantClient},
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	herself, err := s.provider.People.UserByName(t.Context(), "group-administrator")
	if err == nil {
		err = s.provider.People.Join(t.Context(), policy.Operator(), herself, "choir", 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	targets["herself"] = herself.ID
	v := s.aged(t, "group-administrator", 0)
	for who, id := range targets {
		for _, group := range []string{"choir", "band", "nothing"} {
			at := "/members/" + group + "/people/" + id + "/"
			if got := v.get(t, at); strings.Contains(got.body, "@example.com") {
				t.Errorf("the page of %s in %s shows an address", who, group)
			}
			for _, act := range []string{"disable", "enable", "factors", "link", "remove"} {
				if act == "remove" && group == "choir" && (who == "in a stronger group" || who == "owner") {
					continue // it takes nothing but the own group
				}
				before := s.held(t, id)
				got := v.post(t, at+act+"/")
				if got.StatusCode != http.StatusForbidden && got.StatusCode != http.StatusNotFound {
					t.Errorf("%s of %s in %s: %d", act, who, group, got.StatusCode)
				}
				after := s.held(t, id)
				if before.Active != after.Active || !slices.Equal(before.Groups, after.Groups) ||
					strings.Contains(got.body, "@example.com") {
					t.Errorf("%s of %s in %s changed %+v, or the answer has an address", act, who, group, after)
				}
			}
		}
	}
	// Invitations lead to no other group, also with a list of fields, and say nothing of who has an account.
	v.post(t, "/members/band/invite/", "recipient", "new@example.org").wants(t, http.StatusNotFound)
	for _, address := range []string{"new@example.org", "boss@example.com", "new@example.org"} {
		got := v.post(t, "/members/choir/invite/", "recipient", address, "group", "band")
		if got.StatusCode != http.StatusSeeOther || got.cookies()["mandate_notice"] == nil ||
			got.cookies()["mandate_notice"].Value != "member-invited" {
			t.Errorf("%s: %d %v", address, got.StatusCode, got.cookies())
		}
	}
	found, _, err := s.provider.Invitations.List(t.Context(), "", 10, 0)
	if err != nil || len(found) != 1 || found[0].Groups != "choir" || !found[0].Mailed {
		t.Errorf("%+v, %v", found, err)
	}
	for _, path := range []string{"/admin/users/", "/admin/invitations/new/", "/admin/invitations/list/"} {
		v.get(t, path).wants(t, http.StatusForbidden)
	}
}

// What an administrator has disabled stays disabled, also if the administrator of the group says that they disable it.
func TestAttackByAdministratorOfAGroupOnDisabledAccount(t *testing.T) {
	s := rolesSite(t)
	id := s.enrol(t, people.Person{Username: "bob", Groups: []string{"choir"}})
	v := s.aged(t, "group-administrator", 0)
	at := "/members/choir/people/" + id + "/"
	enabled := func() bool {
		t.Helper()
		v.post(t, at+"disable/")
		v.post(t, at+"enable/")
		return s.held(t, id).Active
	}
	if !enabled() {
		t.Error("the administrator of the group cannot enable whom they have disabled")
	}
	for name, disable := range map[string]func() error{
		"disabled": func() error { return s.provider.People.DisableUser(t.Context(), "bob") },
		"changed": func() error {
			stop := func(p *people.Person) { p.Inactive = true }
			_, err := s.provider.People.ChangeUser(t.Context(), policy.Operator(), id, stop)
			return err
		},
		"disabled after the administrator of the group": func() error {
			v.post(t, at+"disable/").wants(t, http.StatusSeeOther)
			return s.provider.People.DisableUser(t.Context(), "bob")
		},
	} {
		err := disable()
		if err != nil {
			t.Fatal(err)
		}
		if enabled() {
			t.Errorf("%s: enabled", name)
		}
		v.get(t, at).wants(t, http.StatusOK, "An administrator has disabled this account.")
		err = s.provider.People.EnableUser(t.Context(), "bob")
		if err != nil {
			t.Fatal(err)
		}
		if !enabled() {
			t.Errorf("%s: the next one cannot be enabled", name)
		}
	}
}

// What was decided when the page was opened counts for nothing: the act is refused if somebody has changed meanwhile.
func TestActOfADemotedAdministratorOfAGroup(t *testing.T) {
	s := rolesSite(t)
	u, err := s.provider.People.UserByName(t.Context(), "group-administrator")
	if err != nil {
		t.Fatal(err)
	}
	id := s.enrol(t, people.Person{Username: "bob", Groups: []string{"choir"}})
	v := s.aged(t, "group-administrator", 0)
	at := "/members/choir/people/" + id + "/"
	v.get(t, at).wants(t, http.StatusOK, "bob@example.com", at+"disable/")
	v.post(t, at+"disable/").wants(t, http.StatusSeeOther)
	if s.held(t, id).Active {
		t.Error("the member is not disabled")
	}
	found, err := s.provider.Events.List(t.Context(), policy.Operator(), events.Filter{PersonID: id}, 1)
	if err != nil || len(found) != 1 || found[0].Kind != string(events.PersonDisabled) || found[0].ActorID != u.ID ||
		found[0].ObjectID != "choir" {
		t.Errorf("%+v, %v", found, err)
	}
	v.post(t, at+"enable/").wants(t, http.StatusSeeOther)
	v.post(t, at+"link/").wants(t, http.StatusSeeOther)
	v.post(t, at+"factors/").wants(t, http.StatusSeeOther)

	// The rule is asked in the transaction: the person of the page has got more rights since it was read.
	by := s.held(t, u.ID)
	err = s.store.Delegate(t.Context(), storage.Delegated{By: u.ID, Of: id, Group: "choir", Act: storage.ActDisable,
		May: func(now, of storage.Holder) error {
			if !slices.Equal(now.Administers, by.Administers) || of.ID != id || !slices.Equal(of.Groups, []string{"choir"}) {
				t.Errorf("asked about %+v and %+v", now, of)
			}
			return storage.ErrConflict
		}})
	if err != storage.ErrConflict || !s.held(t, id).Active {
		t.Errorf("%v, %+v", err, s.held(t, id))
	}
	err = s.provider.People.RenameGroup(t.Context(), "choir", "singers")
	if err != nil {
		t.Fatal(err)
	}
	v.get(t, at).wants(t, http.StatusNotFound)
	bob, err := s.provider.People.User(t.Context(), id)
	if err == nil {
		err = s.provider.People.SetMembership(t.Context(), policy.Operator(), bob, "singers",
			time.Date(2999, 1, 31, 0, 0, 0, 0, time.UTC).Unix())
	}
	if err != nil {
		t.Fatal(err)
	}
	v.get(t, "/members/singers/").wants(t, http.StatusOK, "bob", "Member until 2999-01-31.")
	s.enrol(t, people.Person{Username: "zoe", Groups: []string{"singers"}})
	v.post(t, "/members/singers/invite/", "recipient", "new@example.org").wants(t, http.StatusSeeOther)

	s.administers(t, u.ID, "band")
	if _, total, err := s.provider.Invitations.List(t.Context(), "", 10, 0); err != nil || total != 0 {
		t.Errorf("%d invitations wait after the inviter has lost the group, %v", total, err)
	}
	v = s.aged(t, "group-administrator", 0)
	for _, act := range []string{"disable", "remove", "factors"} {
		v.post(t, "/members/singers/people/"+id+"/"+act+"/").wants(t, http.StatusNotFound)
	}
	if h := s.held(t, id); !h.Active || len(h.Groups) != 1 {
		t.Errorf("%+v", h)
	}
}

// The pages of administrators let nobody change a member by another way: no name, address, group, right, list of people
// or invitation of somebody else.
func TestAttackByAdministratorOfAGroupOnPagesOfAdministrators(t *testing.T) {
	s := rolesSite(t)
	id := s.enrol(t, people.Person{Username: "bob", Groups: []string{"choir"}})
	made, err := s.provider.Invitations.Invite(t.Context(), policy.Operator(),
		[]people.Invite{{Email: "new@example.org", Groups: []string{"choir"}}}, people.Inviting{})
	if err != nil || len(made) != 1 {
		t.Fatalf("%d invitations, %v", len(made), err)
	}
	before, err := s.provider.People.User(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	v := s.aged(t, "group-administrator", 0)
	for _, try := range [][]string{
		{"/admin/users/" + id + "/", "username", "eve"},
		{"/admin/users/" + id + "/", "username", "bob", "email", "eve@example.com"},
		{"/admin/users/" + id + "/", "username", "bob", "active", "on", "group", "band"},
		{"/admin/users/" + id + "/", "username", "bob", "active", "on", "administers", "band"},
		{"/admin/users/" + id + "/", "username", "bob", "active", "on", "administrator", "on"},
		{"/admin/users/" + id + "/", "username", "bob", "active", "on", "password", "another fine password of hers"},
		{"/admin/users/" + id + "/reset-link/"},
		{"/admin/users/" + id + "/factors/"},
		{"/admin/users/" + id + "/delete/", "applications", "delete"},
		{"/admin/users/new/", "username", "eve", "password", goodPassword, "group", "choir"},
		{"/admin/invitations/new/", "recipients", "eve@example.com", "group", "choir"},
		{"/admin/invitations/" + made[0].ID + "/renew/"},
		{"/admin/invitations/" + made[0].ID + "/withdraw/"},
		{"/admin/groups/", "name", "more"},
		{"/admin/groups/choir/delete/"},
	} {
		v.post(t, try[0], try[1:]...).wants(t, http.StatusForbidden)
	}
	after, err := s.provider.People.User(t.Context(), id)
	if err != nil || after != before || !slices.Equal(s.held(t, id).Groups, []string{"choir"}) {
		t.Errorf("%+v, %v", after, err)
	}
	if _, total, err := s.provider.Invitations.List(t.Context(), "", 10, 0); err != nil || total != 1 {
		t.Errorf("%d invitations, %v", total, err)
	}
}

// Where the policy demands a second factor of administrators, it demands it of everybody who has more rights than
// others: the pages of these rights are shown to no session without one.
func TestSecondFactorOfEachRoleWithRights(t *testing.T) {
	s := rolesSite(t, func(c *provider.Config) { c.People.SecondFactor = people.SecondFactorAdministrators })
	for role, path := range map[string]string{
		"group-administrator": "/members/", "auditor": "/admin/users/", "administrator": "/admin/users/",
		"person": "/account/",
	} {
		want := http.StatusSeeOther
		if role == "person" {
			want = http.StatusOK
		}
		got := s.aged(t, role, 0).get(t, path)
		if got.StatusCode != want || want != http.StatusOK && !strings.HasPrefix(got.Header.Get("Location"), "/login/") {
			t.Errorf("%s at %s: %d, to %q", role, path, got.StatusCode, got.Header.Get("Location"))
		}
	}
}
