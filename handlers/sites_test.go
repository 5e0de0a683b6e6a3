package handlers

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"mandate/provider/acr"
	"mandate/provider/policy"
	"mandate/storage"
)

func (s *site) onlySite(t *testing.T) storage.Site {
	t.Helper()
	all, err := s.provider.Sites.Sites(t.Context(), policy.Operator())
	if err != nil || len(all) != 1 {
		t.Fatalf("%d sites, %v", len(all), err)
	}
	return all[0]
}

// An administrator adds a site, changes all of it, suspends it and deletes it. The page has the configuration of each
// proxy with the hosts of the site.
func TestSitePages(t *testing.T) {
	s := newSite(t, "/auth", trusting)
	err := s.provider.People.AddGroup(t.Context(), "staff")
	if err != nil {
		t.Fatal(err)
	}
	v := s.as(t, "root")
	v.get(t, "/admin/sites/").wants(t, http.StatusOK, "There is no site yet.")
	v.get(t, "/admin/sites/new/").wants(t, http.StatusOK, "Add a site")
	got := v.post(t, "/admin/sites/new/", "name", "", "hosts", "https://wiki.example.org", "public_paths", "/",
		"required_acr", "")
	got.wants(t, http.StatusUnprocessableEntity, "is not a host: write it as in", "It cannot be the whole site.",
		`value=""`, "https://wiki.example.org")
	made := v.post(t, "/admin/sites/new/", "name", "Wiki", "hosts", "WIKI.example.org:443\nwiki.example.net",
		"public_paths", "/static/", "allowed_groups", "staff", "required_acr", acr.MFA, "assertion", "on")
	n := s.onlySite(t)
	page := "/admin/sites/" + n.ClientID + "/"
	shown := v.follow(t, made)
	shown.wants(t, http.StatusOK, "The site is added.", "server_name wiki.example.net wiki.example.org;",
		"/auth/authz/request", "wiki.example.net, wiki.example.org {", "staff</textarea>", "/static/</textarea>")
	a, err := s.store.Application(t.Context(), n.ApplicationID)
	if err != nil || a.RequiredACR != acr.MFA || a.AllowedGroups != "staff" || a.OwnerID != nil ||
		a.Responsible != storage.ByOperator || a.Origin != storage.FromPage || !n.Assertion {
		t.Errorf("%+v %+v, %v", a, n, err)
	}
	v.post(t, "/admin/sites/new/", "name", "Other", "hosts", "wiki.example.org", "required_acr", "").wants(t,
		http.StatusUnprocessableEntity, "belongs to another site")

	all := []string{"name", "Wiki 2", "hosts", "new.example.org:8443", "required_acr", "", "denied_groups", "staff",
		"suspended", "on"}
	for _, version := range []string{"", "-1", "99", "1x", fmt.Sprint(a.Version - 1)} {
		v.post(t, page, append(all, "version", version)...).wants(t, http.StatusUnprocessableEntity,
			"Somebody changed or deleted", "Open the site as it is now")
	}
	v.follow(t, v.post(t, page, append(all, "version", fmt.Sprint(a.Version))...)).wants(t, http.StatusOK, "Wiki 2",
		"new.example.org:8443", "Suspended")
	n = s.onlySite(t)
	a, err = s.store.Application(t.Context(), n.ApplicationID)
	if err != nil || !n.Suspended || n.Assertion || n.PublicPaths != "" || a.RequiredACR != "" || a.AllowedGroups != "" ||
		a.DeniedGroups != "staff" || a.RedirectURIs != "https://new.example.org:8443/.mandate/callback" {
		t.Errorf("%+v %+v, %v", n, a, err)
	}
	events := v.get(t, "/admin/events/").body
	for _, name := range []string{"site_hosts", "public_paths", "assertion", "suspended", "denied_groups"} {
		if !strings.Contains(events, name) {
			t.Errorf("no event names %s", name)
		}
	}
	v.get(t, page+"delete/").wants(t, http.StatusOK, "Delete the site “Wiki 2”?", "new.example.org:8443")
	v.follow(t, v.post(t, page+"delete/")).wants(t, http.StatusOK, "The site is deleted.", "There is no site yet.")
	v.get(t, page).wants(t, http.StatusNotFound)
}

// Nobody but a confirmed administrator changes a site, and an auditor only sees it.
func TestAttackSitePages(t *testing.T) {
	s := rolesSite(t)
	path := s.fresh(t, "/admin/sites/{id}/", "a")
	form := []string{"name", "Site", "hosts", "evil.example.org", "required_acr", "", "version", "0"}
	for _, role := range []string{"person", "owner", "auditor"} {
		v := s.aged(t, role, 0)
		for _, at := range []string{path, "/admin/sites/new/", path + "delete/"} {
			v.post(t, at, form...).wants(t, http.StatusForbidden)
		}
	}
	s.aged(t, "auditor", 0).get(t, path).wants(t, http.StatusOK, "site-a.example.org",
		"<fieldset class=\"sheet\" disabled>")
	old := s.aged(t, "administrator", 301)
	for _, at := range []string{path, "/admin/sites/new/", path + "delete/"} {
		if got := old.post(t, at, form...); !strings.Contains(got.Header.Get("Location"), "reason=confirm") {
			t.Errorf("%s without a fresh sign-in: %d", at, got.StatusCode)
		}
	}
	if n := s.onlySite(t); n.Hosts[0] != "site-a.example.org" {
		t.Errorf("%+v", n)
	}
}
