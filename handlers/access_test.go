package handlers

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"mandate/provider/clients"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/storage"
)

// restricted registers an application of the operator for the members of the group staff, of whom alice is one.
func (s *site) restricted(t *testing.T, name string) storage.Application {
	t.Helper()
	ctx := t.Context()
	_, err := s.provider.People.GroupNamed(ctx, "staff")
	if err != nil {
		err = s.provider.People.AddGroup(ctx, "staff")
	}
	if err != nil {
		t.Fatal(err)
	}
	u, err := s.provider.People.UserByName(ctx, "alice")
	if err != nil {
		t.Fatal(err)
	}
	err = s.provider.People.Join(ctx, policy.Operator(), u, "staff", 0)
	if err != nil {
		t.Fatal(err)
	}
	made, err := s.provider.Clients.Register(ctx, policy.Operator(), clients.Registration{
		Name: name, ClientType: policy.Confidential, GrantTypes: []string{policy.GrantCode},
		RedirectURIs: []string{"https://wiki.example/cb"}, AllowedGroups: []string{"staff"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return made.Application
}

func TestWhoMayUseAnApplicationOnPages(t *testing.T) {
	s := newSite(t, "")
	a := s.restricted(t, "=Wiki")
	alice, err := s.provider.People.UserByName(t.Context(), "alice")
	if err != nil {
		t.Fatal(err)
	}
	list, check := "/admin/applications/"+a.ID+"/people/", "/admin/applications/"+a.ID+"/check/"
	root := s.as(t, "root")
	root.get(t, "/o/applications/"+a.ID+"/").wants(t, http.StatusOK, "Allowed groups", "staff", list)

	got := root.get(t, list)
	got.wants(t, http.StatusOK, ">alice<", "Allowed groups", check+"?person=alice")
	if strings.Contains(got.body, "root</bdi> may use it") {
		t.Error("root may use it")
	}
	root.get(t, list+"?q=ALI").wants(t, http.StatusOK, ">alice<")
	root.get(t, list+"?q=zebra").wants(t, http.StatusOK, "Nobody who may use it matches")
	root.get(t, list+"?after=x").wants(t, http.StatusBadRequest)
	csv := root.get(t, list+"export/")
	csv.wants(t, http.StatusOK)
	if want := "username,client_id,application\nalice," + a.ClientID + ",'=Wiki\n"; csv.body != want {
		t.Errorf("got %q, want %q", csv.body, want)
	}

	root.get(t, check).wants(t, http.StatusOK, "Username of the person")
	root.get(t, check+"?person=nobody").wants(t, http.StatusUnprocessableEntity, "There is no person with this username.")
	root.get(t, check+"?person=alice").wants(t, http.StatusOK, "The person may use it", "a member of an allowed group")
	root.get(t, check+"?person=root").wants(t, http.StatusOK, "The person may not use it", "staff")

	usable := s.userPage(alice) + "access/"
	root.get(t, s.userPage(alice)).wants(t, http.StatusOK, usable)
	root.get(t, usable).wants(t, http.StatusOK, "=Wiki", check+"?person=alice")
	root.get(t, usable+"?q=zebra").wants(t, http.StatusOK, "No application that the person may use matches")
	csv = root.get(t, usable+"export/")
	if !strings.Contains(csv.body, "alice,"+a.ClientID+",'=Wiki\n") {
		t.Errorf("got %q", csv.body)
	}
	self, err := s.provider.People.UserByName(t.Context(), "root")
	if err != nil {
		t.Fatal(err)
	}
	csv = root.get(t, s.userPage(self)+"access/export/")
	if strings.Contains(csv.body, a.ClientID) {
		t.Errorf("root may use it: %q", csv.body)
	}
}

// A long list is cut into pages that have everybody once.
func TestWhoMayUseAnApplicationHasPages(t *testing.T) {
	s := newSite(t, "")
	made, err := s.provider.Clients.Register(t.Context(), policy.Operator(), clients.Registration{
		Name: "Open", ClientType: policy.Confidential, GrantTypes: []string{policy.GrantCode},
		RedirectURIs: []string{"https://open.example/cb"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 30 {
		_, err := s.provider.People.AddUser(t.Context(), policy.Operator(), people.Person{
			Username: "many-" + string(rune('a'+n%26)) + strings.Repeat("x", n/26), Password: goodPassword,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	root, list := s.as(t, "root"), "/admin/applications/"+made.Application.ID+"/people/"
	seen := map[string]int{}
	at := list + "?q=many"
	for range 3 {
		got := root.get(t, at)
		got.wants(t, http.StatusOK)
		for _, cell := range strings.Split(got.body, `<bdi class="brief">many-`)[1:] {
			name, _, _ := strings.Cut(cell, "<")
			seen[name]++
		}
		_, link, more := strings.Cut(got.body, `rel="next" href="`)
		if !more {
			break
		}
		link, _, _ = strings.Cut(link, `"`)
		query, err := url.ParseQuery(strings.ReplaceAll(strings.TrimPrefix(link, "?"), "&amp;", "&"))
		if err != nil {
			t.Fatal(err)
		}
		at = list + "?" + query.Encode()
	}
	if len(seen) != 30 {
		t.Errorf("%d people", len(seen))
	}
	for name, times := range seen {
		if times != 1 {
			t.Errorf("%s: %d times", name, times)
		}
	}
}

// Who is only the owner of an application sees which groups it is for, as everybody does who may not use it, and neither
// the people nor who is kept out.
func TestOwnerSeesNoPeople(t *testing.T) {
	s := newSite(t, "")
	ctx := t.Context()
	owner, err := s.provider.People.UserByName(ctx, "alice")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"members", "kept-out"} {
		err := s.provider.People.AddGroup(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
	}
	made, err := s.provider.Clients.Register(ctx, policy.ByConfirmed(owner), clients.Registration{
		Name: "Mine", ClientType: policy.Confidential, GrantTypes: []string{policy.GrantClient},
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.provider.Clients.Update(ctx, policy.Operator(), made.Application.ID, made.Application.Version,
		clients.Registration{Name: "Mine", ClientType: policy.Confidential, GrantTypes: []string{policy.GrantClient},
			HashClientSecret: made.Application.HashClientSecret, AllowedGroups: []string{"members"},
			DeniedGroups: []string{"kept-out"}})
	if err != nil {
		t.Fatal(err)
	}
	alice, list := s.as(t, "alice"), "/admin/applications/"+made.Application.ID+"/people/"
	got := alice.get(t, "/o/applications/"+made.Application.ID+"/")
	got.wants(t, http.StatusOK, "members")
	if strings.Contains(got.body, "kept-out") || strings.Contains(got.body, list) {
		t.Error("the owner sees more than the allowed groups")
	}
	check := "/admin/applications/" + made.Application.ID + "/check/?person=root"
	for _, path := range []string{list, list + "export/", check,
		s.userPage(owner) + "access/", s.userPage(owner) + "access/export/"} {
		alice.get(t, path).wants(t, http.StatusForbidden)
	}
}
