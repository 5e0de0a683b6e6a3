package mandate

import (
	"strings"
	"testing"
)

// The list of refused requests fits each screen, with long descriptions, and its links lead to the field of the form.
// So does the error page that a person sees before.
func TestBrowserRefusedRequests(t *testing.T) {
	browser := chromium(t)
	s := startServer(t, options{})
	alice := s.person(t, "alice")
	app := s.application(t, "--name", "Holiday Planner", "--owner", alice.Name, "--grant", "authorization_code",
		"--redirect-uri", "https://planner.example/back", "--pkce", "required")
	b := s.window(t, browser)
	b.open("/login/")
	b.logIn(alice)
	page := "/o/applications/" + app.ID + "/"
	b.look("application-nothing-refused", page)
	for range 3 {
		s.post(t, "/o/token/", basic(app.ClientID, s.secret("another secret")), params("grant_type", "authorization_code"))
	}
	s.post(t, "/o/token/", app.auth(), params("grant_type", "client_credentials"))
	s.push(t, app, params("response_type", "code", "redirect_uri", app.RedirectURI))
	form, _ := s.requestFor(t, app, "scope", strings.Repeat("x", 60))
	s.push(t, app, form)
	address, _ := s.authorizeURL(app, "redirect_uri", "https://other.example/"+strings.Repeat("callback", 20))
	b.look("error-whom-to-tell", address)
	b.complaints() // the browser reports the 400
	b.look("application-refused", page)
	b.says("code_challenge is missing", "Sender unknown", "3 times")
	fields := evaluate[[]string](b,
		`[...document.querySelectorAll('section a[href*="update/#"]')].map(a => new URL(a.href).hash)`)
	b.open(page + "update/")
	for _, field := range fields {
		if !evaluate[bool](b, `document.querySelector(`+quote(field)+`) !== null`) {
			t.Errorf("the form has no field %s", field)
		}
	}
	if len(fields) == 0 {
		t.Error("no remedy leads to the form")
	}
}
