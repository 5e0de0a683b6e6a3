package mandate

import (
	"strings"
	"testing"
)

// TestAttackChangeBeforeTakeover: a client that registered itself changes its redirect URI
// while an administrator looks at the page on which it is taken over.
func TestAttackChangeBeforeTakeover(t *testing.T) {
	t.Parallel()
	attack(t, "rights for something else than what was shown", "")
	s := startServer(t, options{provider: openClients})
	root := s.signIn(t, s.person(t, "root", "--admin"), "/account/")
	made := s.registers(t, nobody, `{"client_name":"Good","redirect_uris":["https://good.example/cb"]}`)
	id := textOf(made, "client_id")
	var path string
	behind(t, s.database, "SELECT id FROM applications", &path)
	root.open(t, "/o/applications/"+path+"/owner/")
	if !strings.Contains(root.Body, "https://good.example/cb") {
		t.Errorf("the page does not show the redirect URI: %d", root.Status)
	}
	page := *root
	changed := s.send(t, "PUT", textOf(made, "registration_client_uri"), bearer(textOf(made, "registration_access_token")),
		member{"client_id": id, "client_name": "Good", "redirect_uris": []string{"https://evil.example/cb"}})
	if changed.Status != 200 {
		t.Fatalf("%d %s", changed.Status, changed.Body)
	}
	page.submit(t, "Take it over", nil)
	if page.Status != 422 || !strings.Contains(page.Body, "has changed since") ||
		!strings.Contains(page.Body, "https://evil.example/cb") {
		t.Errorf("the administrator is responsible for what nobody showed: %d %s", page.Status, page.URL)
	}
	// A form that does not say what the page showed takes nothing over.
	for _, version := range []string{"", "x", "0"} {
		without := *root
		without.send(t, "/o/applications/"+path+"/owner/", params("take_over", "on", "version", version))
		if without.Status != 422 || !strings.Contains(without.Body, "has changed since") {
			t.Errorf("with the version %q: %d", version, without.Status)
		}
	}
	without := *root
	without.send(t, "/o/applications/"+path+"/owner/", params("owner", "root"))
	if without.Status != 422 || !strings.Contains(without.Body, "has changed since") {
		t.Errorf("without a version: %d", without.Status)
	}
	page.submit(t, "Take it over", nil)
	if page.Status != 200 || !strings.Contains(page.Body, "You are now responsible") {
		t.Errorf("after a second look: %d", page.Status)
	}
}

// An administrator takes over a client whose name is harmless in the language of the page. People who read another
// language must not see another name, for which the administrator now stands.
func TestAttackNameInAnotherLanguage(t *testing.T) {
	attack(t, "a name that nobody has seen (CWE-451)", "")
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db, provider: openClients})
		root, alice := s.signIn(t, s.person(t, "root", "--admin"), "/account/"), s.person(t, "alice")
		const tool = "https://tool.example/cb"
		made := s.registers(t, nobody, `{"client_name":"Notes","client_name#de":"Kontrolle der Hausbank","redirect_uris":["`+
			tool+`"],"token_endpoint_auth_method":"none"}`)
		app := application{ClientID: textOf(made, "client_id"), RedirectURI: tool}
		address, _ := s.authorizeURL(app)
		german := s.reading(t, "de")
		german.open(t, address)
		german.logIn(t, alice)
		if !strings.Contains(german.Body, "Kontrolle der Hausbank") || !german.shows("decision") {
			t.Fatalf("the consent page does not name the client as it names itself: %d", german.Status)
		}
		german.decide(t, "approve")
		var path string
		behind(t, db, "SELECT id FROM applications", &path)
		root.open(t, "/o/applications/"+path+"/owner/")
		root.submit(t, "Take it over", nil)
		address, _ = s.authorizeURL(app)
		german.open(t, address)
		if strings.Contains(german.Body, "Hausbank") || !strings.Contains(german.Body, "Notes") {
			t.Error("the consent page has the name that the administrator has not seen")
		}
		german.decide(t, "approve")
		german.open(t, "/account/")
		if strings.Contains(german.Body, "Hausbank") {
			t.Error("the account page has the name that the administrator has not seen")
		}
	})
}
