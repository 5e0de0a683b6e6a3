package mandate

import (
	"testing"
)

// The pages that docs/administer.md shows. With MANDATE_TEST_SCREENSHOTS the pictures of the docs are the files
// administer-*-desktop-light.png.
func TestBrowserAdministratorsGuide(t *testing.T) {
	browser := chromium(t)
	s := startServer(t, options{})
	admin := s.person(t, "root", "--admin", "--email", "root@example.org", "--first-name", "Robin", "--last-name", "Ode")
	app := s.application(t, "--name", "Company wiki", "--grant", "authorization_code", "--redirect-uri",
		"https://wiki.example.org/callback", "--pkce", "required")
	for range 3 {
		s.push(t, app, params("response_type", "code", "redirect_uri", app.RedirectURI))
	}
	s.person(t, "ann", "--email", "ann@example.org", "--email-verified", "--first-name", "Ann", "--last-name",
		"Hargreaves")
	b := s.window(t, browser)
	b.open("/login/")
	b.logIn(admin)
	b.look("administer-refused", "/o/applications/"+app.ID+"/")
	b.says("Last refused requests", "code_challenge is missing", "3 times")
	b.look("administer-events", "/admin/events/")
	b.open("/admin/users/")
	b.follow("ann")
	b.says("At a glance", "If they forgot their password")
	b.look("administer-person", b.URL().Path)
}
