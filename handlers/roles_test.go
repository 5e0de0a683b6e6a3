package handlers

import (
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/mux"

	"mandate/handlers/web"
	"mandate/provider"
	"mandate/provider/clients"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/provider/registration"
	"mandate/provider/resources"
	"mandate/provider/sites"
	"mandate/templates"
	"mandate/testkit"
)

// roles are the columns of the table in docs/roles.md. Each is also the username of its person.
var roles = []string{
	"anonymous", "person", "owner", "group administrator", "of another group", "auditor", "administrator",
}

// rolesSite is a site with a person of each role.
func rolesSite(t *testing.T, configure ...func(*provider.Config)) *site {
	t.Helper()
	settings := func(c *provider.Config) {
		mailing(c)
		for _, f := range configure {
			f(c)
		}
	}
	s := siteWith(t, "", settings, func(c *Config) { c.Registration, c.OpenID, c.RPLogout = true, true, true })
	for _, group := range []string{"choir", "band"} {
		err := s.provider.People.AddGroup(t.Context(), group)
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, role := range roles[1:] {
		u, err := s.provider.People.AddUser(t.Context(), policy.Operator(), people.Person{
			Username:      nameOf(role),
			Password:      goodPassword,
			Administrator: role == "administrator",
			Auditor:       role == "auditor",
		})
		if group := map[string]string{"group administrator": "choir", "of another group": "band"}[role]; group != "" {
			s.administers(t, u.ID, group)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func nameOf(role string) string { return strings.ReplaceAll(role, " ", "-") }

// administers makes a person the administrator of exactly these groups.
func (s *site) administers(t *testing.T, id string, groups ...string) {
	t.Helper()
	_, err := s.provider.People.ChangeUser(t.Context(), policy.Operator(), id, func(p *people.Person) {
		p.Administers = groups
	})
	if err != nil {
		t.Fatal(err)
	}
}

// routesOf returns the paths of a site, with the methods of each.
func routesOf(t *testing.T, s *site) map[string]string {
	t.Helper()
	pages, err := templates.New("", templates.Brand{})
	if err != nil {
		t.Fatal(err)
	}
	table, err := web.New(Config{
		BaseURL:      &url.URL{Scheme: "https", Host: "id.example.com"},
		Registration: true,
		OpenID:       true,
		RPLogout:     true,
	}, s.provider, pages)
	if err != nil {
		t.Fatal(err)
	}
	served := routes(table).(*router)
	paths := slices.Collect(maps.Keys(served.fixed))
	err = served.Walk(func(route *mux.Route, _ *mux.Router, _ []*mux.Route) error {
		path, err := route.GetPathTemplate()
		paths = append(paths, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	methods := map[string]string{}
	for _, path := range paths {
		if !strings.HasSuffix(path, "/") || strings.HasPrefix(path, "/static/") {
			continue
		}
		r := httptest.NewRequest("BREW", strings.NewReplacer("{", "", "}", "").Replace(path), nil)
		w := httptest.NewRecorder()
		served.ServeHTTP(w, r)
		methods[path] = w.Header().Get("Allow")
	}
	return methods
}

// ofNobody are the areas that know nobody by a session, or act for whoever signs in or has a link.
var ofNobody = []string{
	"/o/token/", "/o/rev", "/o/introspect/", "/o/device", "/o/par/", "/o/register/", "/o/userinfo/", "/o/authorize/",
	"/o/logout/", "/o/arrival/", "/.well-known/", "//.well-known/", "/o/.well-known/", "/o//.well-known/", "/errors/",
	"/logo/", "/healthz/", "/readyz/", "/login/", "/logout/", "/password/", "/sign-up/", "/setup/",
}

// fresh makes what a path is about: a person, an application and a group that nobody has changed yet.
func (s *site) fresh(t *testing.T, path, unique string) string {
	t.Helper()
	if !strings.Contains(path, "{") {
		return path
	}
	ctx := t.Context()
	id := "none"
	switch {
	case strings.HasPrefix(path, "/members/"):
		u, err := s.provider.People.AddUser(ctx, policy.Operator(), people.Person{
			Username: "of-" + unique,
			Password: goodPassword,
			Groups:   []string{"choir"},
			Email:    "of-" + unique + "@example.com",
		})
		if err != nil {
			t.Fatal(err)
		}
		return strings.NewReplacer("{name}", "choir", "{id}", u.ID).Replace(path)
	case strings.HasPrefix(path, "/admin/users/"):
		u, err := s.provider.People.AddUser(ctx, policy.Operator(), people.Person{
			Username: "of-" + unique,
			Password: goodPassword,
		})
		if err != nil {
			t.Fatal(err)
		}
		id = u.ID
	case strings.HasPrefix(path, "/o/applications/"), strings.HasPrefix(path, "/admin/applications/"):
		owner, err := s.provider.People.UserByName(ctx, "owner")
		if err != nil {
			t.Fatal(err)
		}
		made, err := s.provider.Clients.Register(ctx, policy.ByConfirmed(owner), clients.Registration{
			Name: "App", ClientType: policy.Confidential, GrantTypes: []string{policy.GrantClient},
		})
		if err != nil {
			t.Fatal(err)
		}
		id = made.Application.ID
	case strings.HasPrefix(path, "/admin/sites/"):
		id = s.guarded(t, sites.Registration{Name: "Site", Hosts: []string{"site-" + unique + ".example.org"}}).ClientID
	case strings.HasPrefix(path, "/admin/groups/"):
		err := s.provider.People.AddGroup(ctx, "group-"+unique)
		if err != nil {
			t.Fatal(err)
		}
	}
	return strings.NewReplacer("{id}", id, "{name}", "group-"+unique, "{", "", "}", "").Replace(path)
}

// answerTo says what a role got.
func answerTo(role, path string, got answer) string {
	at := got.Header.Get("Location")
	switch {
	case got.StatusCode >= http.StatusInternalServerError:
		return fmt.Sprint("failed with ", got.StatusCode)
	case got.StatusCode == http.StatusSeeOther && strings.HasPrefix(at, "/login/"):
		return "sign in"
	case got.StatusCode == http.StatusForbidden:
		return "no"
	case got.StatusCode == http.StatusNotFound && strings.HasPrefix(path, "/account/") && role != "anonymous":
		return "own"
	// Pages of administrators look for what they are about only for whoever may see it. The others do not say that there
	// is something of somebody else.
	case got.StatusCode == http.StatusNotFound && !strings.HasPrefix(path, "/admin/"):
		return "no"
	}
	return "yes"
}

// TestRolesDocs tries every page and form as every role on a running server.
func TestRolesDocs(t *testing.T) {
	s := rolesSite(t)
	served := routesOf(t, s)
	var table, everybody strings.Builder
	table.WriteString("| Path | | " + strings.Join(roles, " | ") + " |\n")
	table.WriteString("|---|---|" + strings.Repeat("---|", len(roles)) + "\n")
	cells := 0
	for _, path := range slices.Sorted(maps.Keys(served)) {
		if path != "/" && slices.ContainsFunc(ofNobody, func(area string) bool { return strings.HasPrefix(path, area) }) {
			everybody.WriteString("`" + path + "` ")
			continue
		}
		for _, method := range []string{get, post} {
			if !slices.Contains(strings.Split(served[path], ", "), method) {
				continue
			}
			answers := map[string]string{}
			row := "| `" + path + "` | " + map[string]string{get: "see", post: "send"}[method] + " |"
			for _, role := range roles {
				cells++
				v := s.visitor(t)
				if role != "anonymous" {
					v = s.aged(t, nameOf(role), 0)
				}
				at := s.fresh(t, path, fmt.Sprint(cells))
				var got answer
				if method == get {
					got = v.get(t, at)
				} else {
					got = v.post(t, at, "field", "value")
				}
				answers[role] = answerTo(role, path, got)
				row += " " + answers[role] + " |"
			}
			if method == post && answers["auditor"] != answers["person"] {
				t.Errorf("POST %s: an auditor gets %q, and a person %q", path, answers["auditor"], answers["person"])
			}
			for _, role := range roles[2:] {
				if answers["person"] == "yes" && answers[role] != "yes" ||
					answers[role] == "yes" && answers["administrator"] != "yes" && !strings.HasPrefix(path, "/members/") {
					t.Errorf("%s %s: %v", method, path, answers)
				}
			}
			table.WriteString(row + "\n")
		}
	}
	if cells < 300 {
		t.Errorf("only %d cells", cells)
	}
	table.WriteString("\nThese know nobody by a session, or act for whoever signs in or has a link:\n" +
		strings.TrimSpace(everybody.String()) + "\n")
	testkit.DocsBlock(t, "roles.md", "roles", table.String())
}

// An auditor's pages lead only to pages that an auditor may see, and have no form but those of every person.
func TestAuditorHasNoButtons(t *testing.T) {
	s := rolesSite(t)
	ctx := t.Context()
	operator := policy.Operator()
	u, err := s.provider.People.UserByName(ctx, "owner")
	if err != nil {
		t.Fatal(err)
	}
	admin, err := s.provider.People.UserByName(ctx, "administrator")
	if err != nil {
		t.Fatal(err)
	}
	application := s.fresh(t, "/o/applications/{id}/", "")
	s.fresh(t, "/admin/groups/{name}/delete/", "a")
	s.aged(t, "owner", 0)
	_, _, err = s.provider.Registrations.AddInitialToken(ctx, policy.ByConfirmed(admin), registration.NewInitialToken{
		Uses: 1, Lifetime: time.Hour, May: []string{policy.GrantCode}, Scopes: []string{"read"},
	})
	if err == nil {
		_, err = s.provider.Resources.Add(ctx, operator, resources.Registration{URI: "https://api.example/", Name: "API"})
	}
	if err != nil {
		t.Fatal(err)
	}
	v := s.aged(t, "auditor", 0)
	seen := map[string]bool{}
	waiting := []string{"/admin/users/", "/admin/users/" + u.ID + "/", application, "/admin/resources/",
		"/admin/registration-tokens/", "/admin/groups/", "/admin/sites/", "/admin/events/", "/admin/invitations/"}
	links := regexp.MustCompile(`(?:href|action)="([^"#]*)`)
	posts := regexp.MustCompile(`<form[^>]*method="post"[^>]*`)
	for len(waiting) > 0 && len(seen) < 200 {
		path := waiting[0]
		waiting = waiting[1:]
		if seen[path] {
			continue
		}
		seen[path] = true
		got := v.get(t, path)
		got.wants(t, 200)
		ofAdministrators := strings.HasPrefix(path, "/admin/") || path == application
		for _, form := range posts.FindAllString(got.body, -1) {
			if ofAdministrators && !strings.Contains(form, `action="/logout/"`) {
				t.Errorf("%s has %s", path, form)
			}
		}
		for _, found := range links.FindAllStringSubmatch(got.body, -1) {
			to := html.UnescapeString(found[1])
			if strings.HasPrefix(to, "?") {
				to = strings.SplitN(path, "?", 2)[0] + to
			}
			if ofAdministrators && len(to) > 1 && to[0] == '/' && to != "/logout/" && !strings.HasPrefix(to, "/static/") {
				waiting = append(waiting, to)
			}
		}
	}
	if len(seen) < 20 {
		t.Errorf("only %d pages: %v", len(seen), seen)
	}
}
