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
		{"own pages", `{"client_name":"Own","redirect_uris":["https://own.example/cb"],"client_uri":"https://own.example/","policy_uri":"https://own.example/policy","tos_uri":"https://OWN.example/terms","logo_uri":"https://own.example/logo.png"}`,
			"https://own.example/cb", []string{`href="https://own.example/"`, `href="https://own.example/policy"`, `href="https://OWN.example/terms"`}, []string{"logo.png"}},
		{"pages of others", `{"client_name":"Bank","redirect_uris":["https://evil.example/cb"],"client_uri":"https://bank.example/","policy_uri":"https://bank.example.evil.example/policy","tos_uri":"http://evil.example/terms"}`,
			"https://evil.example/cb", nil, []string{"bank.example", "/terms"}},
		{"a program on this computer", `{"client_name":"Local","redirect_uris":["http://localhost/cb"],"policy_uri":"https://localhost/policy","tos_uri":"https://bank.example/terms"}`,
			"http://localhost:4711/cb", nil, []string{"/policy", "/terms"}},
		{"markup", `{"client_name":"<b>Markup</b>","redirect_uris":["https://own.example/markup"],"tos_uri":"https://own.example/?a=1&b='onclick=alert(1)"}`,
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
