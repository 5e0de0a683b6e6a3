package handlers

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

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
	root.get(t, check+"?person=alice").wants(t, http.StatusOK, "The person may use it", "a member of an allowed group",
		"What the application would learn", "the subject of the person")
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

// Who is only the owner of an application sees which groups it is for, as everybody does who may not use it. They see
// neither the people nor who is kept out.
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

// asksFor is an authorization request of an application.
func asksFor(a storage.Application, pairs ...string) string {
	query := url.Values{"client_id": {a.ClientID}, "response_type": {"code"}, "state": {"s"},
		"redirect_uri": {"https://wiki.example/cb"}, "scope": {"read"},
		"code_challenge": {"E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"}, "code_challenge_method": {"S256"}}
	for n := 0; n < len(pairs); n += 2 {
		query.Set(pairs[n], pairs[n+1])
	}
	return "/o/authorize/?" + query.Encode()
}

// The page for somebody who may not use an application says why, leads to another account and back to the application,
// and leads nowhere by itself: an application that begins again would send the person here for ever.
func TestPageOfAnExcludedPerson(t *testing.T) {
	s := newSite(t, "", func(c *Config) { c.OpenID = true })
	a := s.restricted(t, "Wiki")
	alice, root := s.as(t, "alice"), s.as(t, "root")
	alice.get(t, asksFor(a)).wants(t, http.StatusOK, "Allow")
	root.get(t, asksFor(a)).wants(t, http.StatusForbidden, "is for the members of these groups", "staff",
		"You are signed in as", "root", "Use another account", "https://wiki.example/cb?error=access_denied")
	root.get(t, asksFor(a, "response_mode", "form_post")).wants(t, http.StatusForbidden,
		`action="https://wiki.example/cb"`, `value="access_denied"`)
	german := root.request(t, "GET", asksFor(a), "")
	german.Header.Set("Accept-Language", "de")
	root.do(t, german).wants(t, http.StatusForbidden, "Sie dürfen diese Anwendung nicht benutzen")

	silent := root.get(t, asksFor(a, "prompt", "none"))
	silent.wants(t, http.StatusSeeOther)
	if to := silent.Header.Get("Location"); !strings.Contains(to, "error=access_denied") {
		t.Errorf("prompt=none leads to %s", to)
	}

	was := a
	var err error
	_, err = s.provider.Clients.Update(t.Context(), policy.Operator(), a.ID, a.Version, clients.Registration{Name: "Wiki",
		ClientType: policy.Confidential, GrantTypes: []string{policy.GrantCode}, HashClientSecret: was.HashClientSecret,
		RedirectURIs: []string{"https://wiki.example/cb"}, NobodyNew: true})
	if err != nil {
		t.Fatal(err)
	}
	got := root.get(t, asksFor(a))
	got.wants(t, http.StatusForbidden, "takes nobody new")
	if strings.Contains(got.body, "staff") {
		t.Error("the page names a group that does not decide")
	}
}

// The page for a user code refuses in the same way, and before the person approves anything.
func TestDevicePageOfAnExcludedPerson(t *testing.T) {
	s := newSite(t, "")
	s.restricted(t, "Wiki")
	tv, err := s.provider.Clients.Register(t.Context(), policy.Operator(), clients.Registration{Name: "Television",
		ClientType: policy.Public, GrantTypes: []string{policy.GrantDevice}, AllowedGroups: []string{"staff"}})
	if err != nil {
		t.Fatal(err)
	}
	asked := s.visitor(t).post(t, "/o/device_authorization/", "client_id", tv.Application.ClientID, "scope", "read")
	asked.wants(t, http.StatusOK, "user_code")
	var device struct {
		UserCode string `json:"user_code"`
	}
	err = json.Unmarshal([]byte(asked.body), &device)
	if err != nil {
		t.Fatal(err)
	}
	s.as(t, "root").post(t, "/device/", "user_code", device.UserCode).wants(t, http.StatusForbidden,
		"is for the members of these groups", "staff", "Use another account")
	s.as(t, "alice").post(t, "/device/", "user_code", device.UserCode).wants(t, http.StatusOK, "Television")
}

// A membership for a time is made and shown on pages.
func TestMembershipForATimeOnPages(t *testing.T) {
	s := newSite(t, "")
	s.restricted(t, "Wiki")
	u, err := s.provider.People.UserByName(t.Context(), "alice")
	if err != nil {
		t.Fatal(err)
	}
	root, path := s.as(t, "root"), s.userPage(u)+"membership/"
	root.get(t, s.userPage(u)).wants(t, http.StatusOK, "Memberships that end by themselves", path)
	root.get(t, path).wants(t, http.StatusOK, "Member for a time", "staff")
	root.post(t, path).wants(t, http.StatusUnprocessableEntity, "Choose a group.", "Choose the day")
	root.post(t, path, "membership", "nothing", "until", "2999-01-31").wants(t, http.StatusUnprocessableEntity,
		"Choose a group.")
	root.post(t, path, "membership", "staff", "until", "soon").wants(t, http.StatusUnprocessableEntity, "Write a date")
	root.post(t, path, "membership", "staff", "until", "2001-01-31").wants(t, http.StatusUnprocessableEntity,
		"The time is over already")
	root.follow(t, root.post(t, path, "membership", "staff", "until", "2999-01-31")).wants(t, http.StatusOK,
		"Until 2999-01-31.")
	left, err := s.provider.People.Temporary(t.Context(), "staff", "")
	if err != nil || len(left) != 1 || left[0].ExpiresAt != time.Date(2999, 1, 31, 0, 0, 0, 0, time.UTC).Unix() {
		t.Errorf("%v, %v", left, err)
	}
	s.as(t, "alice").post(t, path, "membership", "staff", "until", "2999-01-31").wants(t, http.StatusForbidden)
}
