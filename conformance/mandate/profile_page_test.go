package mandate

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// The page of an application with a profile can be saved, with all the response modes that the
// profile has set.
func TestProfilePage(t *testing.T) {
	t.Parallel()
	s := startServer(t, options{provider: []string{"OIDC_ENABLED: true", openidScopes}})
	root, keys := s.person(t, "root", "--admin"), newStatementIssuer(t, "bank")
	app := s.application(t, fapiClient(t, keys, "--profile", "fapi2-message-signing")...)
	b := s.signIn(t, root, "/o/applications/")
	b.click(t, "Bank")
	at := b.URL.Path
	modes := func() string {
		t.Helper()
		var shown member
		err := json.Unmarshal([]byte(s.mustCLI(t, "", "application", "show", app.ClientID, "--json")), &shown)
		if err != nil {
			t.Fatal(err)
		}
		return listOf(shown, "response_modes")
	}
	before := modes()
	b.open(t, at+"update/")
	b.submit(t, "Save changes", params("name", "Bank 2"))
	if b.Status != http.StatusOK || !strings.Contains(b.Body, "Bank 2") {
		t.Fatalf("another name: %d %s", b.Status, b.Body)
	}
	if after := modes(); after != before {
		t.Errorf("the response modes were %s, and are %s", before, after)
	}
}

// Whoever clears a checkbox of a profile, or chooses a value that contradicts it, sees the mistake
// at the field. What nobody has chosen is set by the profile.
func TestProfilePageContradictions(t *testing.T) {
	t.Parallel()
	s := startServer(t, options{provider: []string{"OIDC_ENABLED: true", "ALLOWED_REDIRECT_URI_SCHEMES: [http, https]",
		openidScopes}})
	root, keys := s.person(t, "root", "--admin"), newStatementIssuer(t, "bank")
	b := s.signIn(t, root, "/o/applications/")
	page := func(name string, more ...string) string {
		s.application(t, append(fapiClient(t, keys, more...), "--name", name)...)
		b.open(t, "/o/applications/")
		b.click(t, name)
		return b.URL.Path
	}
	plain, lenient := page("Plain"), page("Lenient", "--assertion-audience-endpoints")
	fapi, signed := page("Fapi", "--profile", "fapi2"), page("Signed", "--profile", "fapi2-message-signing")
	const security, messages = "fapi2", "fapi2-message-signing"
	for _, c := range []struct {
		at, profile, field string
		values             []string // none: a browser sends no field for a cleared checkbox
	}{
		{plain, security, "client_type", []string{"public"}},
		{plain, security, "grant_type", []string{"authorization_code", "password"}},
		{plain, security, "auth_method", []string{""}},
		{plain, security, "auth_method", []string{"client_secret_basic"}},
		{plain, security, "pkce", []string{"if-sent"}},
		{plain, security, "redirect_uris", []string{"http://bank.example/back"}},
		{plain, security, "algorithm", []string{"HS256"}},
		{plain, security, "userinfo_algorithm", []string{"RS256"}},
		{plain, security, "auth_algorithm", []string{"RS256"}},
		{plain, security, "object_algorithm", []string{"RS256"}},
		{plain, security, "introspection_algorithm", []string{"RS256"}},
		{plain, security, "response_algorithm", []string{"RS256"}},
		{plain, messages, "response_modes", []string{"query"}},
		{plain, messages, "response_modes", []string{"jwt", "form_post"}},
		{fapi, security, "require_pushed", nil},
		{fapi, security, "sender_constraint", []string{""}},
		{fapi, security, "refresh_rotation", []string{"on"}},
		{fapi, security, "algorithm", []string{"RS256"}},
		{fapi, security, "response_algorithm", []string{""}},
		{fapi, security, "introspection_algorithm", []string{""}},
		{signed, messages, "require_pushed", nil},
		{signed, messages, "require_signed", nil},
		{signed, messages, "response_modes", nil},
		{signed, messages, "response_modes", []string{"query.jwt", "query"}},
		{signed, messages, "sender_constraint", []string{""}},
		{signed, messages, "object_algorithm", []string{"RS256"}},
		{signed, messages, "response_algorithm", []string{"RS256"}},
		{plain, "fapi3", "profile", []string{"fapi3"}},
		{lenient, security, "assertion_audience_endpoints", []string{"on"}},
	} {
		b.open(t, c.at+"update/")
		chosen := params("profile", c.profile)
		chosen[c.field] = c.values
		b.submit(t, "Save changes", chosen)
		b.wantMistake(t, c.field, "The profile ")
	}
	// The profile does not silently overrule what an administrator allowed the application.
	alice := s.person(t, "alice")
	exempt := page("Exempt", "--owner", alice.Name)
	b.open(t, exempt+"update/")
	b.submit(t, "Save changes", params("pkce", "if-sent"))
	hers := s.signIn(t, alice, "/o/applications/")
	hers.open(t, exempt+"update/")
	hers.submit(t, "Save changes", params("profile", security))
	hers.wantMistake(t, "pkce", "The profile fapi2 needs PKCE")
	for _, at := range []string{plain, fapi, signed} {
		b.open(t, at+"update/")
		b.submit(t, "Save changes", params("profile", messages))
		if b.Status != http.StatusOK || !strings.Contains(b.Body, "PS256") {
			t.Errorf("the profile: %d %s", b.Status, b.Body)
		}
	}
}

// wantMistake checks that the page shows a mistake at a field, and in its summary with the name of
// the field. The text begins so.
func (b *browser) wantMistake(t testing.TB, field, begins string) {
	t.Helper()
	page, err := html.Parse(strings.NewReader(b.Body))
	if err != nil {
		t.Fatal(err)
	}
	described, summary, text := false, "", ""
	for node := range page.Descendants() {
		switch {
		case node.Type != html.ElementNode:
		case slices.Contains(strings.Fields(attribute(node, "aria-describedby")), field+"-error"):
			described = true
		case attribute(node, "href") == "#"+field:
			summary = textIn(node)
		case attribute(node, "id") == field+"-error":
			text = strings.TrimPrefix(textIn(node), "Error: ")
		}
	}
	name, named := strings.CutSuffix(summary, ": "+text)
	if b.Status != http.StatusUnprocessableEntity || !described || !strings.HasPrefix(text, begins) || !named ||
		name == "" {
		t.Errorf("%s: %d, described %t, in the summary %q, text %q, want %q", field, b.Status, described, summary,
			text, begins)
	}
}

// textIn returns the text of an element.
func textIn(node *html.Node) string {
	text := ""
	for part := range node.Descendants() {
		if part.Type == html.TextNode {
			text += part.Data
		}
	}
	return text
}

// A privilege that an administrator has given contradicts a profile. An administrator sees this at
// the field of the privilege, and switches it off there. The owner, who has no such field, sees it at
// the profile.
func TestProfilePagePrivileges(t *testing.T) {
	t.Parallel()
	s := startServer(t, options{provider: []string{"OIDC_ENABLED: true", openidScopes}})
	alice, root, keys := s.person(t, "alice"), s.person(t, "root", "--admin"), newStatementIssuer(t, "bank")
	a := keyHolder{s.application(t, fapiClient(t, keys, "--owner", "alice", "--assertion-audience-endpoints")...), keys}
	toEndpoint := func() auth { return asserting(s.assert(t, a, member{"aud": s.Issuer + "/token/"}, nil)) }
	s.mustToken(t, toEndpoint(), forItself)
	owner, admin := s.signIn(t, alice, "/o/applications/"), s.signIn(t, root, "/o/applications/")
	owner.click(t, "Bank")
	at := owner.URL.Path
	for field, by := range map[string]*browser{"profile": owner, "assertion_audience_endpoints": admin} {
		by.open(t, at+"update/")
		by.submit(t, "Save changes", params("profile", "fapi2"))
		by.wantMistake(t, field, "The profile fapi2 accepts client assertions for the issuer only")
	}
	// Another change of the owner leaves the privilege as it is.
	owner.open(t, at+"update/")
	owner.submit(t, "Save changes", params("name", "Bank 2"))
	if owner.Status != http.StatusOK || !strings.Contains(owner.Body, "Its assertions may name an endpoint") {
		t.Errorf("another name: %d %.300s", owner.Status, owner.Body)
	}
	s.mustToken(t, toEndpoint(), forItself)
	admin.open(t, at+"update/")
	admin.submit(t, "Save changes", url.Values{"assertion_audience_endpoints": nil})
	if admin.Status != http.StatusOK || strings.Contains(admin.Body, "Its assertions may name an endpoint") {
		t.Errorf("switched off: %d %.300s", admin.Status, admin.Body)
	}
	s.refusedAssertion(t, "an assertion for the endpoint", toEndpoint())
	s.mustToken(t, asserting(s.assert(t, a, nil, nil)), forItself)
}

// Whoever was given the application by an administrator has not the privileges of it (RFC 10070 §4).
func TestAssertionForAnEndpointOfAnotherOwner(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db})
		s.person(t, "alice")
		a := s.keyHolder(t, "old", "--assertion-audience-endpoints")
		toEndpoint := func() auth { return asserting(s.assert(t, a, member{"aud": s.Issuer + "/token/"}, nil)) }
		s.mustToken(t, toEndpoint(), forItself)
		s.mustCLI(t, "", "application", "assign", a.ClientID, "alice")
		waitFor(t, "the server knows the new owner", func() bool {
			got, _ := s.token(t, toEndpoint(), forItself)
			return got.Error == "invalid_client"
		})
		s.mustToken(t, asserting(s.assert(t, a, nil, nil)), forItself)
	})
}
