package handlers

import (
	"fmt"
	"strings"
	"testing"

	"mandate/provider"
	"mandate/provider/clients"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/storage"
)

// opens registers an application of the operator that the start page lists.
func (s *site) opens(t *testing.T, name, address string) *clients.Registered {
	t.Helper()
	a, err := s.provider.Clients.Register(t.Context(), policy.Operator(), clients.Registration{Name: name,
		ClientType: policy.Confidential, GrantTypes: []string{policy.GrantCode},
		RedirectURIs: []string{"https://app.example.com/cb"}, LaunchURL: address})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestStartPageOpensApplications(t *testing.T) {
	s := newSite(t, "/auth")
	alice, root := s.as(t, "alice"), s.as(t, "root")
	alice.get(t, "/").wants(t, 200, "There is nothing to open yet.")
	root.get(t, "/").wants(t, 200, "There is nothing to open yet.", "launch address", "Your applications")
	for n := range 60 {
		s.opens(t, fmt.Sprintf("App %02d <b>", n), fmt.Sprintf("https://app%d.example.com/?a=1&b=2", n))
	}
	page := alice.get(t, "/")
	page.wants(t, 200, "App 00 &lt;b&gt;", `href="https://app59.example.com/?a=1&amp;b=2"`, `type="search"`)
	got := strings.Count(page.body, `<li class="tile">`)
	if got != 60 || strings.Contains(page.body, "Your applications") {
		t.Errorf("%d tiles", got)
	}
	// No application learns from which page its visitor came.
	if got := page.Header.Get("Referrer-Policy"); got != "same-origin" ||
		strings.Count(page.body, `rel="noopener noreferrer nofollow"`) != 60 {
		t.Errorf("Referrer-Policy: %s", got)
	}
	// No picture comes from somebody else.
	if csp := page.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "img-src 'self' data:;") ||
		strings.Contains(csp, "script-src") {
		t.Errorf("Content-Security-Policy: %s", csp)
	}
	found := alice.get(t, "/?q=app+07")
	found.wants(t, 200, "App 07")
	if got := strings.Count(found.body, `<li class="tile">`); got != 1 {
		t.Errorf("%d tiles", got)
	}
	alice.get(t, "/?q=%3Cscript%3E").wants(t, 200, "No application matches", "&lt;script&gt;", `href="/auth/"`)
	alice.get(t, "/?q="+strings.Repeat("x", 201)).wants(t, 400)
	root.get(t, "/").wants(t, 200, "App 59", "Your applications")
}

// Only the named groups register applications. The forms refuse what the pages do not offer.
func TestRegistrationIsForSomeGroups(t *testing.T) {
	const refused = "Only some groups may register applications"
	s := siteWith(t, "", func(c *provider.Config) {
		c.People.RegistrationGroups = []string{"developers", "no such group"}
	})
	s.addPeople(t)
	alice, root := s.as(t, "alice"), s.as(t, "root")
	form := []string{"name", "Ledger", "client_type", "confidential", "grant_type", "client_credentials", "scope", "read"}
	tried := func(status int) {
		t.Helper()
		for _, path := range []string{"/o/applications/register/", "/o/applications/register/?kind=website",
			"/o/applications/programs/", "/o/applications/programs/?for=grafana"} {
			if got := alice.get(t, path); (got.StatusCode == 403) != (status == 403) {
				t.Errorf("GET %s: %d", path, got.StatusCode)
			}
		}
		alice.post(t, "/o/applications/register/", form...).wants(t, status)
		if got := alice.post(t, "/o/applications/programs/", "for", "grafana", "url", "https://g.example"); status == 403 {
			got.wants(t, 403, refused)
		}
	}
	tried(403)
	alice.get(t, "/o/applications/").wants(t, 200, refused)
	if page := alice.get(t, "/account/"); strings.Contains(page.body, `href="/o/applications/"`) {
		t.Error("the menu has applications")
	}
	if page := s.visitor(t).get(t, "/"); strings.Contains(page.body, "/o/applications/register/") {
		t.Error("a visitor is told to register applications")
	}
	root.post(t, "/o/applications/register/", form...).wants(t, 303)
	u, err := s.provider.People.UserByName(t.Context(), "alice")
	if err != nil {
		t.Fatal(err)
	}
	join := func(groups ...string) {
		t.Helper()
		_, err := s.provider.People.ChangeUser(t.Context(), policy.Operator(), u.ID,
			func(p *people.Person) { p.Groups = groups })
		if err != nil {
			t.Fatal(err)
		}
	}
	err = s.provider.People.AddGroup(t.Context(), "developers")
	if err != nil {
		t.Fatal(err)
	}
	join("developers")
	tried(303)
	path, _ := registered(t, alice)
	join()
	alice.get(t, "/o/applications/").wants(t, 200, "Ledger")
	alice.get(t, "/").wants(t, 200, "Your applications")
	alice.post(t, path+"delete/").wants(t, 303)
	tried(403)
}

// An address that an earlier release stored, or somebody wrote into the database, leads nowhere.
func TestAttackStoredLaunchAddress(t *testing.T) {
	s := newSite(t, "")
	v := s.as(t, "root")
	path, _ := registered(t, v)
	for _, at := range []string{"javascript:alert(1)", "https://u:p@app.example.com/", "http://app.example.com/"} {
		s.behind(t, path, func(a *storage.Application) { a.LaunchURL = at })
		if page := v.get(t, "/"); strings.Contains(page.body, `class="tile"`) {
			t.Errorf("%s is on the start page", at)
		}
	}
	s.behind(t, path, func(a *storage.Application) { a.LaunchURL = "https://app.example.com/" })
	v.get(t, "/").wants(t, 200, `href="https://app.example.com/"`)
}

// A person registers an application with a name of their choice: only they see it, until others have used it.
func TestAttackStartPageOfOthers(t *testing.T) {
	s := newSite(t, "")
	alice, bob := s.as(t, "alice"), s.as(t, "root")
	registered(t, alice, "launch_url", "https://app.example.com/phish")
	alice.get(t, "/").wants(t, 200, "https://app.example.com/phish")
	if strings.Contains(bob.get(t, "/").body, "/phish") {
		t.Error("the application of a person is on the start page of somebody else")
	}
	alice.post(t, "/o/applications/register/", "name", "Bank", "client_type", "confidential", "grant_type",
		"authorization_code", "redirect_uris", "https://app.example.com/cb", "launch_url", "https://bank.example/").wants(
		t, 422, "must have the host of a redirect URI")
}
