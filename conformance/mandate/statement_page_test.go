package mandate

import (
	"strings"
	"testing"
)

// RFC 7591 §5: a software statement is no secret, so a page names its issuer only for what the
// issuer has signed: the name, and each address to which a code can go.
func TestStatementOnPages(t *testing.T) {
	t.Parallel()
	i := newStatementIssuer(t, directory)
	trusted := append([]string{"SCOPES: {read: Read}", "SOFTWARE_STATEMENT_ISSUERS: [" + i.setting(t) + "]"},
		openClients...)
	s := startServer(t, options{provider: trusted})
	admin := s.person(t, "admin", "--admin")
	b := s.signIn(t, admin, "/account/")
	const uri = "https://planner.example/cb"
	const vouched, unchecked = "Vouched for by <strong><bdi dir=\"ltr\">" + directory + "</bdi></strong>",
		"Nobody has checked this application"
	full := member{"client_name": "Planner", "redirect_uris": []string{uri}}
	whole := member{}
	for _, test := range []struct {
		name     string
		claims   member
		plain    member
		redirect string
		want     bool   // the consent page names the issuer
		facts    string // on the page of the application
	}{
		{"the name and the address", full, member{"client_name": "Bank", "redirect_uris": []string{"https://evil.example/"}},
			uri, true, "Vouched for by " + directory},
		{"a stolen statement without an address", member{"client_name": "Planner"},
			member{"redirect_uris": []string{"https://evil.example/cb"}}, "https://evil.example/cb", false, "Of " + directory +
				", which does not vouch"},
		{"a stolen statement without a name", member{"redirect_uris": []string{uri}}, member{"client_name": "Bank"}, uri,
			false, "Of " + directory + ", which does not vouch"},
		{"a program on this computer", member{"client_name": "Local", "redirect_uris": []string{"http://127.0.0.1/cb"}}, nil,
			"http://127.0.0.1:4711/cb", false, "Vouched for by " + directory},
		{"one of two addresses is on this computer",
			member{"client_name": "Both", "redirect_uris": []string{uri, "http://127.0.0.1/cb"}}, nil,
			"http://127.0.0.1:4711/cb", false, "Vouched for by " + directory},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := member{"software_statement": i.sign(t, test.claims, nil)}
			for name, value := range test.plain {
				m[name] = value
			}
			made := s.registers(t, nobody, m)
			if test.want {
				whole = made
			}
			address, _ := s.authorizeURL(asApplication(made, test.redirect))
			b.open(t, address)
			if !b.shows("decision") || strings.Contains(b.Body, "Vouched for") != test.want ||
				test.want != strings.Contains(b.Body, vouched) || test.want == strings.Contains(b.Body, unchecked) {
				t.Errorf("%d %s", b.Status, b.Body)
			}
			b.open(t, "/o/applications/"+s.applicationID(t, textOf(made, "client_id"))+"/")
			if !strings.Contains(b.Body, test.facts) {
				t.Errorf("the page of the application does not say %q:\n%s", test.facts, b.Body)
			}
		})
	}
	// Whom the operator does not trust any more, vouches for nothing.
	o := s.options
	o.provider = append([]string{"SCOPES: {read: Read}"}, openClients...)
	later := newServer(t, o, "", s.key, s.secrets)
	later.start(t)
	b = later.signIn(t, admin, "/account/")
	address, _ := later.authorizeURL(asApplication(whole, uri))
	b.open(t, address)
	if !b.shows("decision") || strings.Contains(b.Body, directory) || !strings.Contains(b.Body, unchecked) {
		t.Errorf("%d %s", b.Status, b.Body)
	}
}

// applicationID returns the ID of the application with a client id.
func (s *server) applicationID(t testing.TB, clientID string) string {
	t.Helper()
	var id string
	err := s.database.open(t).QueryRowContext(t.Context(), "SELECT id FROM applications WHERE client_id = '"+clientID+
		"'").Scan(&id)
	if err != nil {
		t.Fatal(err)
	}
	return id
}
