package mandate

import (
	"strings"
	"testing"
)

// RFC 7591 §5: whoever registers itself chooses its name and its pages. People see the
// pages only if they are at the host to which the answer goes, and the browser never gets the
// address of a logo.
func TestRegistrationPagesAtConsent(t *testing.T) {
	t.Parallel()
	s := startServer(t, options{provider: append([]string{"SCOPES: {read: Read}"}, openClients...)})
	alice := s.person(t, "alice")
	b := s.signIn(t, alice, "/account/")
	for _, test := range []struct {
		name, metadata, redirect string
		shown, hidden            []string
	}{
		{"own pages",
			`{"client_name":"Own","redirect_uris":["https://own.example/cb"],"client_uri":"https://own.example/","policy_uri":"https://own.example/policy","tos_uri":"https://OWN.example/terms","logo_uri":"https://own.example/logo.png"}`,
			"https://own.example/cb",
			[]string{`href="https://own.example/"`, `href="https://own.example/policy"`, `href="https://OWN.example/terms"`},
			[]string{"logo.png"}},
		{"pages of others",
			`{"client_name":"Bank","redirect_uris":["https://evil.example/cb"],"client_uri":"https://bank.example/","policy_uri":"https://bank.example.evil.example/policy","tos_uri":"http://evil.example/terms"}`,
			"https://evil.example/cb", nil, []string{"bank.example", "/terms"}},
		{"a program on this computer",
			`{"client_name":"Local","redirect_uris":["http://localhost/cb"],"policy_uri":"https://localhost/policy","tos_uri":"https://bank.example/terms"}`,
			"http://localhost:4711/cb", nil, []string{"/policy", "/terms"}},
		{"markup",
			`{"client_name":"<b>Markup</b>","redirect_uris":["https://own.example/markup"],"tos_uri":"https://own.example/?a=1&b='onclick=alert(1)"}`,
			"https://own.example/markup", []string{"&lt;b&gt;Markup"}, []string{"<b>Markup", " onclick"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			app := asApplication(s.registers(t, nobody, test.metadata), test.redirect)
			address, _ := s.authorizeURL(app)
			b.open(t, address)
			if !b.shows("decision") {
				t.Fatalf("no consent page: %d", b.Status)
			}
			for _, text := range test.shown {
				if !strings.Contains(b.Body, text) {
					t.Errorf("the page lacks %s:\n%s", text, b.Body)
				}
			}
			for _, text := range test.hidden {
				if strings.Contains(b.Body, text) {
					t.Errorf("the page has %s", text)
				}
			}
		})
	}
}

// OIDC Registration §2.1: a person reads the name and the description of a scope in the language of the page.
func TestConsentInTheLanguageOfThePerson(t *testing.T) {
	s := startServer(t, options{
		provider: append([]string{"SCOPES: {read: {en: Read your data, de: Ihre Daten lesen}, write: Write them}"},
			openClients...)})
	alice := s.person(t, "alice")
	app := asApplication(s.registers(t, nobody,
		`{"client_name":"Holiday Planner","client_name#de":"Ferienplaner","policy_uri":"https://own.example/policy","policy_uri#de":"https://own.example/datenschutz","redirect_uris":["https://own.example/cb"]}`), "https://own.example/cb")
	for language, want := range map[string][4]string{
		"de": {"Ferienplaner", "Ihre Daten lesen", "Write them", "https://own.example/datenschutz"},
		"fr": {"Holiday Planner", "Read your data", "Write them", "https://own.example/policy"},
	} {
		b := s.reading(t, language)
		b.open(t, "/login/")
		b.logIn(t, alice)
		address, _ := s.authorizeURL(app, "scope", "read write", "prompt", "consent")
		b.open(t, address)
		for _, text := range want {
			if !b.shows("decision") || !strings.Contains(b.Body, text) {
				t.Errorf("%s: the consent page lacks %s: %d\n%s", language, text, b.Status, b.Body)
			}
		}
		b.decide(t, "approve")
		b.open(t, "/account/")
		if !strings.Contains(b.Body, `<p class="claimed"><bdi>`+want[0]+"</bdi>") {
			t.Errorf("%s: the account page lacks %s\n%s", language, want[0], b.Body)
		}
	}
}
