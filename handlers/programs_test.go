package handlers

import (
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"mandate/provider/policy"
	"mandate/storage"
)

func withOpenID(c *Config) { c.OpenID = true }

// settingsOn returns the settings of a program that a page shows, or "".
func settingsOn(page string) string {
	of := regexp.MustCompile(`(?s)aria-labelledby="settings" data-copy>(.*?)</pre>`).FindStringSubmatch(page)
	if of == nil {
		return ""
	}
	return html.UnescapeString(of[1])
}

// registeredProgram returns the record that a form has made, and the path of its page.
func (s *site) registeredProgram(t *testing.T, got answer) (storage.Application, string) {
	t.Helper()
	got.wants(t, 303)
	path := strings.TrimPrefix(got.Header.Get("Location"), "/auth")
	parts := strings.Split(path, "/")
	a, err := s.provider.Clients.Application(t.Context(), policy.Operator(), parts[len(parts)-2])
	if err != nil {
		t.Fatal(err)
	}
	return a, path
}

// The list leads to the form, the form makes the record of the program, and its settings show the secret once.
func TestProgramIsRegisteredFromTheList(t *testing.T) {
	s := newSite(t, "/auth", withOpenID)
	root := s.as(t, "root")
	root.get(t, "/o/applications/register/").wants(t, 200, `href="/auth/o/applications/programs/"`)
	root.get(t, "/o/applications/programs/").wants(t, 200, "Grafana", "Quarkus", "?program=grafana", "?program=website")
	list := root.get(t, "/o/applications/programs/").body
	if strings.Index(list, "Apache Superset") > strings.Index(list, "Argo CD") {
		t.Error("the list is not in the order of what it shows")
	}
	found := root.get(t, "/o/applications/programs/?q=GRAFA")
	found.wants(t, 200, "Grafana")
	if strings.Contains(found.body, "Nextcloud") || strings.Contains(found.body, "Quarkus") {
		t.Error("the search finds others too")
	}
	root.get(t, "/o/applications/programs/?q=zzzzzzz<b>").wants(t, 200, "No program matches", "zzzzzzz&lt;b&gt;",
		"?program=website")
	form := root.get(t, "/o/applications/programs/?program=grafana&name=Bank&url=https://evil.example")
	form.wants(t, 200, `value="Grafana"`, `name="url"`)
	if strings.Contains(form.body, "Bank") || strings.Contains(form.body, "evil") {
		t.Error("a link fills in the form")
	}
	a, path := s.registeredProgram(t, root.post(
		t, "/o/applications/programs/", "program", "grafana", "name", "Dashboards", "url", "https://Grafana.example.org/",
	))
	if a.Name != "Dashboards" || a.RedirectURIs != "https://grafana.example.org/login/generic_oauth" ||
		a.PKCE != policy.PKCERequired ||
		a.ClaimsInIDToken != policy.ClaimsOn || a.Program != "grafana" || a.ClientType != policy.Confidential ||
		a.SkipConsent || a.Origin != "page" {
		t.Errorf("%+v", a)
	}
	first := settingsOn(root.get(t, path).body)
	secret := regexp.MustCompile(`(?m)^client_secret = ([A-Za-z0-9_-]{43})$`).FindStringSubmatch(first)
	if secret == nil || !strings.Contains(
		first, "client_id = "+a.ClientID+"\n",
	) || !strings.Contains(first, "root_url = https://grafana.example.org/\n") {
		t.Fatalf("the settings are %s", first)
	}
	again := root.get(t, path)
	if strings.Contains(
		again.body, secret[1],
	) || settingsOn(again.body) != strings.ReplaceAll(first, secret[1], "CLIENT_SECRET") {
		t.Errorf("a second time, the settings are %s", settingsOn(again.body))
	}
	again.wants(t, 200, "The client secret is not shown again")
	if strings.Contains(again.body, "Working code") {
		t.Error("a program that somebody else has written is shown code in place of its settings")
	}
	root.post(t, path+"rotate/", "overlap", "0").wants(t, 303)
	if rotated := settingsOn(root.get(
		t, path,
	).body); strings.Contains(rotated, secret[1]) || strings.Contains(rotated, "CLIENT_SECRET") {
		t.Errorf("after a rotation, the settings are %s", rotated)
	}
	if strings.Contains(s.log.String(), secret[1]) {
		t.Error("the log has the secret")
	}
}

// What only an administrator may set is neither asked of others nor taken from them.
func TestAttackProgramsOfPersonsHaveNoRightsOfAdministrators(t *testing.T) {
	s := newSite(t, "", withOpenID)
	alice := s.as(t, "alice")
	// Gitea sends no PKCE in all versions, and its row reads the ID token where an administrator registers it.
	for _, program := range []string{"gitea", "forgejo"} {
		a, path := s.registeredProgram(t, alice.post(
			t, "/o/applications/programs/", "program", program, "name", "Git", "url", "https://git.example.org",
			"pkce", "if-sent",
			"claims_in_id_token", "on", "skip_consent", "on", "may_introspect", "on", "redirect_uris",
			"https://evil.example/cb", "owner", "root", "client_id", "chosen",
		))
		if a.PKCE == policy.PKCEIfSent || a.ClaimsInIDToken == policy.ClaimsOn || a.SkipConsent || a.MayIntrospect ||
			strings.Contains(
				a.RedirectURIs, "evil",
			) ||
			a.Owner == nil || *a.Owner != "alice" || a.ClientID == "chosen" {
			t.Errorf("%+v", a)
		}
		alice.get(t, path).wants(t, 200, "An administrator can let this application come without.")
	}
	form := alice.get(t, "/o/applications/programs/?program=website")
	form.wants(t, 200, `name="redirect_uris"`, `name="groups"`)
	for _, field := range []string{`name="pkce"`, `name="claims_in_id_token"`, "skip_consent"} {
		if strings.Contains(form.body, field) {
			t.Errorf("alice is asked %s", field)
		}
	}
	refused := alice.post(
		t, "/o/applications/programs/", "program", "website", "name", "Shop", "redirect_uris",
		"https://shop.example.org/cb", "pkce",
		"if-sent", "claims_in_id_token", "on",
	)
	refused.wants(t, 422, "Only an administrator may let an application come without PKCE.")
	// to the login
	s.visitor(t).post(t, "/o/applications/programs/", "program", "gitea", "url", "https://git.example.org").wants(t, 303)
	if s.visitor(t).get(t, "/o/applications/programs/").StatusCode != http.StatusSeeOther {
		t.Error("a stranger sees the list")
	}
}

// The answers about another website become its registration.
func TestAnotherWebsiteIsAskedWhatMatters(t *testing.T) {
	s := newSite(t, "", withOpenID)
	root := s.as(t, "root")
	root.get(t, "/o/applications/programs/?program=website").wants(
		t, 200, `name="redirect_uris"`, `name="pkce"`, `name="claims_in_id_token"`, `name="groups"`,
	)
	for _, test := range []struct{ pkce, claims, groups string }{
		{"", "", "no"},
		{"required", "off", "yes"},
		{"if-sent", "on", "no"},
	} {
		a, path := s.registeredProgram(t, root.post(
			t, "/o/applications/programs/", "program", "website", "name", "Shop", "redirect_uris",
			"https://shop.example.org/cb", "pkce",
			test.pkce, "claims_in_id_token", test.claims, "groups", test.groups,
		))
		if a.PKCE != test.pkce || a.ClaimsInIDToken != test.claims || strings.Contains(
			" "+a.Scopes+" ", " groups ",
		) != (test.groups == "yes") || a.RedirectURIs != "https://shop.example.org/cb" {
			t.Errorf("%+v: %+v", test, a)
		}
		root.get(t, path).wants(t, 200, "Working code")
		if text := settingsOn(root.get(
			t, path,
		).body); !strings.Contains(
			text, "Redirect URI: https://shop.example.org/cb\n",
		) || !strings.Contains(text, "Scopes: "+a.Scopes+"\n") {
			t.Errorf("%+v: %s", test, text)
		}
	}
	root.post(t, "/o/applications/programs/", "program", "website", "name", "", "redirect_uris", "").wants(
		t, 422, `href="#name"`, `href="#redirect_uris"`,
	)
}

// A mistake keeps what was typed, says what is wrong at the field that the form has, and registers nothing.
func TestProgramFormSaysWhatIsWrong(t *testing.T) {
	s := newSite(t, "", withOpenID)
	root := s.as(t, "root")
	for _, test := range []struct{ url, says string }{
		{"", "Type the address at which people open the program."},
		{"grafana.example.org", "It must begin with https://, or with http:// on this computer or in a private network."},
		{"https://grafana.example.org/'\"", "without quoting"},
		{"http://grafana.example.com", "must use https"},
		{"https://me:x@grafana.example.org", "name or a password"},
	} {
		got := root.post(t, "/o/applications/programs/", "program", "grafana", "name", "Dashboards", "url", test.url)
		got.wants(
			t, 422, html.EscapeString(test.says), `href="#url"`, `value="Dashboards"`,
			`value="`+html.EscapeString(test.url)+`"`,
		)
	}
	for _, bad := range []string{"", "none", "spa", "../x"} {
		root.post(t, "/o/applications/programs/", "program", bad, "url", "https://a.example").wants(t, 400)
		root.get(t, "/o/applications/programs/?program="+bad).wants(t, 400)
	}
	list := root.get(t, "/o/applications/")
	list.wants(t, 200, "No application is registered yet.")
	german := root.get(t, "/o/applications/programs/?program=grafana&ui_locales=de")
	german.wants(t, 200)
}

// Without OpenID Connect no program can sign people in: the page does not lead there, and the form says what is
// missing.
func TestProgramsNeedOpenIDConnect(t *testing.T) {
	s := newSite(t, "")
	root := s.as(t, "root")
	if strings.Contains(root.get(t, "/o/applications/register/").body, "/o/applications/programs/") {
		t.Error("the page leads to programs that cannot work")
	}
	root.post(
		t, "/o/applications/programs/", "program", "grafana", "name", "G", "url", "https://grafana.example.org",
	).wants(t, 422, "OIDC_ENABLED")
}

// The settings follow a change of the application, and disappear with the redirect URI that they name.
func TestSettingsFollowTheApplication(t *testing.T) {
	s := newSite(t, "", withOpenID)
	root := s.as(t, "root")
	_, path := s.registeredProgram(t, root.post(
		t, "/o/applications/programs/", "program", "miniflux", "name", "News", "url", "https://news.example.org",
	))
	change := func(redirect string) string {
		t.Helper()
		root.save(
			t, path, "name", "News", "client_type", "confidential", "grant_type", "authorization_code", "redirect_uris",
			redirect, "scope", "openid", "hash_client_secret", "on",
		).wants(t, 303)
		return settingsOn(root.get(t, path).body)
	}
	if text := change("https://other.example.org/oauth2/oidc/callback"); !strings.Contains(
		text, "OAUTH2_REDIRECT_URL=https://other.example.org/oauth2/oidc/callback\n",
	) {
		t.Errorf("the settings are %s", text)
	}
	if text := change("https://other.example.org/else"); text != "" {
		t.Errorf("the settings are still %s", text)
	}
}
