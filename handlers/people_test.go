package handlers

import (
	"regexp"
	"strings"
	"testing"
)

func TestSetup(t *testing.T) {
	s := emptySite(t, "")
	link, err := s.provider.People.SetupLink(t.Context())
	if err != nil || link == "" {
		t.Fatal(link, err)
	}
	v := s.visitor(t)
	const nobody = "There is no account yet."
	v.get(t, "/").wants(t, 200, nobody, "in the output of the server")
	v.get(t, "/setup/"+link+"x/").wants(t, 404)
	v.get(t, "/setup/"+link+"/").wants(t, 200, "Set up this server")
	got := v.post(t, "/setup/"+link, "username", "boss", "email", "no", "password", "short",
		"first_name", "Bo\u202e", "last_name", strings.Repeat("x", 151))
	got.wants(
		t,
		422,
		`value="boss"`,
		`value="no"`,
		`href="#email"`,
		`href="#password"`,
		`href="#first_name"`,
		`href="#last_name"`,
		`value="`+strings.Repeat("x", 151),
	)
	if strings.Contains(got.body, `"short"`) {
		t.Error("the page contains the password")
	}
	v.follow(t, v.post(t, "/setup/"+link+"/", "username", "boss", "email", "boss@example.com", "first_name", " Bo ",
		"last_name", "Ssy", "password", goodPassword)).wants(t, 200, "Your account was created.")
	// Programs greet a person by the claim name: without one, it is "Hello undefined".
	boss, err := s.provider.People.UserByName(t.Context(), "boss")
	if err != nil || boss.FirstName != "Bo" || boss.LastName != "Ssy" || boss.Email != "boss@example.com" {
		t.Errorf("the first administrator is %+v, %v", boss, err)
	}
	const used, advice = "<h1>This link is no longer valid</h1>", "mandate user add NAME --admin --password-stdin"
	v.get(t, "/setup/"+link+"/").wants(t, 404, used, advice)
	v.post(t, "/setup/"+link+"/", "username", "second", "password", goodPassword).wants(t, 404, used, advice)
	s.as(t, "boss").get(t, "/admin/users/").wants(t, 200, "boss")
	if start := s.visitor(t).get(t, "/"); strings.Contains(start.body, nobody) ||
		!strings.Contains(start.body, "Sign in") {
		t.Errorf("the start page with an account:\n%s", start.body)
	}
}

func TestAccount(t *testing.T) {
	s := newSite(t, "")
	v, other := s.as(t, "alice"), s.as(t, "alice")
	page := v.get(t, "/account/")
	end := regexp.MustCompile(`action="(/account/sessions/[^/"]+/end/)"`).FindAllStringSubmatch(page.body, -1)
	if len(end) != 1 {
		t.Fatalf("%d other sessions\n%s", len(end), page.body)
	}
	s.as(t, "root").post(t, end[0][1]).wants(t, 404)
	v.follow(t, v.post(t, end[0][1])).wants(t, 200, "That browser is signed out.")
	other.get(t, "/account/").wants(t, 303)
	third := s.as(t, "alice")
	v.follow(t, v.post(t, "/account/sessions/end/")).wants(t, 200, "You are signed out.")
	for _, browser := range []*visitor{v, third} {
		browser.get(t, "/account/").wants(t, 303)
	}
	v = s.as(t, "alice")

	other = s.as(t, "alice")
	got := v.post(t, "/account/password/", "current_password", "wrong", "new_password", "short")
	got.wants(t, 422, "not your current password", `href="#new_password"`)
	const fresh = "another horse entirely"
	got.wants(t, 422, `name="end_approvals" type="checkbox" value="on" checked`)
	got = v.post(t, "/account/password/", "current_password", "wrong", "new_password", fresh, "approvals", "asked")
	got.wants(t, 422, `name="end_approvals" type="checkbox" value="on" aria-`) // cleared, as the person left it
	v.follow(t, v.post(t, "/account/password/", "current_password", goodPassword, "new_password", fresh)).wants(t, 200,
		"Your password was changed.", "had has ended")
	other.get(t, "/account/").wants(t, 303)
	for fields, ends := range map[string]bool{"approvals=asked": false, "approvals=asked&end_approvals=on": true,
		"end_approvals=on": true, "approvals=": true} {
		s := newSite(t, "")
		v := s.as(t, "alice")
		form := []string{"current_password", goodPassword, "new_password", fresh}
		for field := range strings.SplitSeq(fields, "&") {
			name, value, _ := strings.Cut(field, "=")
			form = append(form, name, value)
		}
		page := v.follow(t, v.post(t, "/account/password/", form...))
		page.wants(t, 200, "Your password was changed.")
		if got := strings.Contains(page.body, "had has ended"); got != ends {
			t.Errorf("%s: the page says that access has ended: %t, want %t", fields, got, ends)
		}
	}
	for range 20 {
		got = v.post(t, "/account/password/", "current_password", "wrong", "new_password", fresh)
		if got.StatusCode == 429 {
			break
		}
	}
	got.wants(t, 429, "Wait a little")
	// Whoever is no longer signed in comes back to a page, not to a form.
	got = other.post(t, "/account/password/", "current_password", "a", "new_password", "b")
	got.wants(t, 303)
	if to := got.Header.Get("Location"); to != "/login/?next=%2Faccount%2Fpassword%2F" {
		t.Errorf("sent to %s", to)
	}
	v.get(t, "/account/password/").wants(t, 303)
}

func TestAdministration(t *testing.T) {
	s := newSite(t, "")
	for _, path := range []string{"/admin/users/", "/admin/users/new/", "/admin/users/x/", "/admin/users/x/delete/",
		"/admin/groups/", "/admin/groups/x/delete/"} {
		s.visitor(t).get(t, path).wants(t, 303)
		s.as(t, "alice").get(t, path).wants(t, 403, "for administrators")
	}
	for _, path := range []string{"/admin/users/new/", "/admin/users/x/", "/admin/users/x/delete/", "/admin/groups/",
		"/admin/groups/x/delete/"} {
		s.visitor(t).post(t, path).wants(t, 303)
		s.as(t, "alice").post(t, path).wants(t, 403)
	}
	root := s.as(t, "root")
	for _, path := range []string{"/admin/users/x/", "/admin/users/x/delete/", "/admin/groups/x/delete/"} {
		root.get(t, path).wants(t, 404)
		root.post(t, path).wants(t, 404)
	}

	root.follow(t, root.post(t, "/admin/groups/", "name", " night / shift ")).wants(t, 200, "night / shift",
		"The group is added.", "/admin/groups/night%20%2F%20shift/delete/")
	root.post(t, "/admin/groups/", "name", "night / shift").wants(t, 422, "already exists")
	root.post(t, "/admin/groups/", "name", "..").wants(t, 422)

	got := root.post(t, "/admin/users/new/", "username", "bo b", "email", "x", "first_name", "Bob", "password", "short",
		"group", "night / shift", "administrator", "on")
	got.wants(t, 422, `value="bo b"`, `value="Bob"`, `href="#username"`, `href="#email"`, `href="#password"`,
		`value="night / shift" checked`)
	root.post(t, "/admin/users/new/", "username", "alice", "password", goodPassword).wants(t, 422, "already exists")
	root.follow(t, root.post(t, "/admin/users/new/", "username", "bob", "email", "bob@example.com", "password",
		goodPassword, "group", "night / shift", "active", "on")).
		wants(t, 200, "bob@example.com", "night / shift", "The person is added.")
	bob, elsewhere := s.as(t, "bob"), s.as(t, "bob")
	u, err := s.provider.People.UserByName(t.Context(), "bob")
	if err != nil {
		t.Fatal(err)
	}
	path := "/admin/users/" + u.ID + "/"
	signedIn := root.get(t, path)
	signedIn.wants(t, 200, `value="bob"`, `value="night / shift" checked`, "Where they are signed in")
	end := regexp.MustCompile(`action="(/admin/users/[^"]+/sessions/[^/"]+/end/)"`).FindAllStringSubmatch(signedIn.body,
		-1)
	if len(end) != 2 {
		t.Fatalf("%d sessions of bob\n%s", len(end), signedIn.body)
	}
	bob.post(t, end[0][1]).wants(t, 403)
	root.follow(t, root.post(t, end[0][1])).wants(t, 200, "That browser is signed out.")
	root.post(t, end[0][1]).wants(t, 404)
	root.follow(t, root.post(t, path+"sessions/end/")).wants(t, 200, "The person is signed out everywhere.", "Nowhere.")
	for _, browser := range []*visitor{bob, elsewhere} {
		browser.get(t, "/account/").wants(t, 303)
	}
	bob = s.as(t, "bob")
	root.follow(t, root.post(t, path, "username", "bob", "first_name", "Bobby")).wants(t, 200, "Bobby", "Disabled")
	bob.get(t, "/account/").wants(t, 303)
	root.post(t, path, "username", "", "group", "none").wants(t, 422)
	root.get(t, path+"delete/").wants(t, 200, "Delete “bob”?")
	root.follow(t, root.post(t, path+"delete/")).wants(t, 200, "The person is deleted.")

	// Nobody locks themselves out.
	self, err := s.provider.People.UserByName(t.Context(), "root")
	if err != nil {
		t.Fatal(err)
	}
	path = "/admin/users/" + self.ID + "/"
	root.post(t, path, "username", "root").wants(t, 422, "your own account")
	root.post(t, path+"delete/").wants(t, 422, "yourself")
	root.get(t, "/admin/users/?q=ROOT").wants(t, 200, "root")

	group := "/admin/groups/night%20%2F%20shift/delete/"
	root.get(t, group).wants(t, 200, "night / shift")
	root.follow(t, root.post(t, group)).wants(t, 200, "The group is deleted.")
	// Whoever is added with a disabled account cannot sign in.
	root.post(t, "/admin/users/new/", "username", "eve", "password", goodPassword).wants(t, 303)
	s.visitor(t).post(t, "/login/", "username", "eve", "password", goodPassword).wants(t, 422)
}
