package mandate

import (
	"fmt"
	"strings"
	"testing"
)

// cameByItself makes an application that no person registered, as a registration or a
// metadata document would.
func (g *register) cameByItself(t testing.TB, origin, redirectURI string) application {
	t.Helper()
	app := g.tabs["owner"].registered(t, "grant_type", "authorization_code", "redirect_uris", "https://own.example/cb",
		"scope", "read", "client_type", "public")
	g.set(t, app.ID, "responsible = 'nobody', owner_id = NULL, origin = '"+origin+"', redirect_uris = '"+redirectURI+
		"', version = version + 1")
	app.RedirectURI = redirectURI
	return app
}

// What an application of OPEN_CLIENTS may and may not do, whichever way it came.
func TestOpenApplications(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		g := newRegister(t, db)
		t.Run("registration", g.opens)
		t.Run("use", g.noted)
		t.Run("unused", g.unused)
	})
}

func (g *register) opens(t *testing.T) {
	p := g.person(t, "ann")
	app := g.cameByItself(t, "registration", "http://localhost/callback")
	// RFC 8252 §8.6: the person is asked each time.
	for range 2 {
		tab := g.signedIn(t, p)
		app.RedirectURI = "http://localhost:49152/callback"
		address, verifier := g.authorizeURL(app)
		tab.open(t, address)
		if !strings.Contains(tab.URL.Path, "/o/authorize") || tab.Status != 200 {
			t.Fatalf("no consent page: %d %s", tab.Status, tab.URL)
		}
		answered := tab.authorize(t, address, p, "approve")
		issued := g.redeem(t, app, answered.Query().Get("code"), verifier)
		if issued.ExpiresIn > 3600 {
			t.Errorf("the access token is valid for %d s", issued.ExpiresIn)
		}
	}
	if g.field(t, app.ID, "last_used_at") == "0" {
		t.Error("the use was not noted")
	}
	// Another registration with the same URI has a fixed port.
	own := g.cameByItself(t, "page", "http://localhost/callback")
	own.RedirectURI = "http://localhost:49152/callback"
	address, _ := g.authorizeURL(own)
	tab := g.signedIn(t, p)
	tab.open(t, address)
	if tab.Status != 400 {
		t.Errorf("an application of a page may use every port: %d %s", tab.Status, tab.URL)
	}
	// An administrator who takes it over cannot let it skip consent.
	g.does(t, "take it over", "root", app)
	if got := g.does(t, "let it skip consent", "root", app); got != "no" {
		t.Errorf("it may skip consent: %s", got)
	}
	// Nor does its approval count for the next request, although it is confidential now.
	g.set(t, app.ID, "client_type = 'confidential', skip_consent = TRUE, version = version + 1")
	address, _ = g.authorizeURL(app)
	for range 2 {
		tab.open(t, address)
		if !strings.Contains(tab.URL.Path, "/o/authorize") || tab.Status != 200 {
			t.Fatalf("consent was skipped: %d %s", tab.Status, tab.URL)
		}
		tab.decide(t, "approve")
	}
}

// The time of the last use is stored for tokens without a person too.
func (g *register) noted(t *testing.T) {
	robot := g.application(t, "--name", "robot", "--grant", "client_credentials")
	g.mustToken(t, robot.auth(), params("grant_type", "client_credentials"))
	var used int64
	err := g.pool.QueryRowContext(t.Context(), "SELECT last_used_at FROM applications WHERE client_id = '"+robot.ClientID+
		"'").Scan(&used)
	if err != nil || used == 0 {
		t.Errorf("the use was not noted: %d, %v", used, err)
	}
}

// Applications that nobody uses are deleted.
func (g *register) unused(t *testing.T) {
	never, forgotten := g.cameByItself(t, "registration", "https://a.example/"),
		g.cameByItself(t, "document", "https://b.example/")
	fresh, mine := g.cameByItself(t, "registration", "https://c.example/"), g.made(t, "person")
	day, idle := fmt.Sprintf("created_at = created_at - %d", 24*3600),
		fmt.Sprintf("created_at = 1, last_used_at = created_at - %d", 90*24*3600)
	g.set(t, never.ID, day)
	g.set(t, mine.ID, day)
	g.set(t, fresh.ID, fmt.Sprintf("created_at = created_at - %d", 24*3600-60))
	g.set(t, forgotten.ID, idle)
	waitFor(t, "the clean-up",
		func() bool { return g.field(t, never.ID, "id") == "" && g.field(t, forgotten.ID, "id") == "" })
	if g.field(t, fresh.ID, "id") == "" || g.field(t, mine.ID, "id") == "" {
		t.Error("an application was deleted that is new, or that has an owner")
	}
}
