package mandate

import (
	"strings"
	"testing"
)

// A person finds the program by its name, types where it is, and copies its settings. The pages fit each screen.
func TestBrowserProgram(t *testing.T) {
	browser := chromium(t)
	s := openidServer(t, newSQLite(t))
	root := s.person(t, "root", "--admin")
	b := s.window(t, browser)
	b.open("/login/")
	b.logIn(root)
	b.look("register-openid-programs", "/o/applications/register/")
	b.look("programs", "/o/applications/programs/")
	b.look("programs-none", "/o/applications/programs/?q=zebrafish")
	b.look("program-website", "/o/applications/programs/?program=website")
	b.look("program-wrong", "/o/applications/programs/?program=grafana", func() {
		b.fill("Address of the program", "grafana.example.org/"+strings.Repeat("long", 30))
		b.press("Register")
	})
	b.says("It must begin with https://")
	b.complaints() // the browser reports the 422
	b.look("program-registered", "/o/applications/register/", func() {
		evaluate[bool](b, `(document.getElementById("q").value = "graf") === "graf"`)
		b.press("Search")
		b.follow("Grafana")
		b.fill("Address of the program", "https://grafana.example.org/")
		b.press("Register")
		b.says("Settings of Grafana", "root_url = https://grafana.example.org/", "You will not see it again")
	})
	text := evaluate[string](b, `document.querySelector('pre[data-copy]').textContent`)
	_, after, _ := strings.Cut(text, "client_secret = ")
	secret, _, _ := strings.Cut(after, "\n")
	if len(s.secret(secret)) < 40 {
		t.Errorf("the settings have no secret: %s", text)
	}
	page := evaluate[string](b, `location.pathname`)
	b.look("program-again", page)
	if again := evaluate[string](b, `document.body.textContent`); strings.Contains(again, secret) ||
		!strings.Contains(again, "client_secret = CLIENT_SECRET") {
		t.Error("the page shows the secret again, or no settings")
	}
}
