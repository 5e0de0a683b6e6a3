package mandate

import (
	"encoding/json"
	"fmt"
	"net/url"
	"testing"
)

// OIDC Registration §2: default_acr_values holds for the requests of a client that name no acr. They are
// voluntary (OIDC Core §5.5.1.1): the person is led through the missing step, but a silent request gets
// the actual acr. acr_values and the claim acr replace them.
func TestOIDCRegistration2DefaultACRValues(t *testing.T) {
	const weak = "urn:mandate:acr:password"
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db, provider: []string{"OIDC_ENABLED: true", openidScopes}})
		shop, asker := s.relyingParty(t, "--skip-consent", "--default-acr-values", mfa+" "+weak), s.introspector(t)
		s.mustCLI(t, "", "application", "update", shop.ClientID, "--default-acr-values", " "+mfa+"  ")
		checkEqual(t, "application show", fmt.Sprint(s.shown(t, shop)["default_acr_values"]), "["+mfa+"]")
		alice := s.person(t, "alice")
		b := s.signedIn(t, alice)
		claims := func(what string, more ...string) string {
			t.Helper()
			address, verifier := s.authorizeURL(shop, append([]string{"scope", "openid", "state", "s&1"}, more...)...)
			b.open(t, address)
			got := s.redeem(t, shop, b.sentBack(t, what, "code").Get("code"), verifier)
			return acrOf(s.verified(t, shop, "RS256", got.IDToken))
		}
		// The login is too weak.
		address, _ := s.authorizeURL(shop, "scope", "openid")
		b.open(t, address)
		checkEqual(t, "a request that says nothing", b.URL.Path, "/login/factor/")
		essential := `{"id_token":{"acr":{"essential":true,"values":["` + weak + `"]}}}`
		for what, more := range map[string][]string{
			"prompt=none":                     {"prompt", "none"},
			"acr_values":                      {"acr_values", weak},
			"acr_values that nobody knows":    {"acr_values", "urn:example:other"},
			"the claim acr":                   {"claims", essential},
			"the claim with an unknown value": {"claims", `{"id_token":{"acr":{"value":"urn:example:other"}}}`},
		} {
			checkEqual(t, what, claims(what, more...), weak+" [pwd]")
		}
		// A request for the claim alone names no value.
		address, verifier := s.authorizeURL(shop, "scope", "openid", "state", "s&1", "claims",
			`{"id_token":{"acr":{"essential":true}}}`)
		b.open(t, address)
		checkEqual(t, "the claim without a value", b.URL.Path, "/login/factor/")
		b.addsApp(t)
		got := s.redeem(t, shop, b.sentBack(t, "after the step", "code").Get("code"), verifier)
		checkEqual(t, "after the step", acrOf(s.verified(t, shop, "RS256", got.IDToken)), mfa+" [pwd otp mfa]")
		checkEqual(t, "from now on", claims("from now on"), mfa+" [pwd otp mfa]")
		// Of several values, the first one that the login satisfies is in the ID token.
		s.mustCLI(t, "", "application", "update", shop.ClientID, "--default-acr-values", weak+" "+mfa)
		checkEqual(t, "several values", claims("several values"), weak+" [pwd otp mfa]")

		// Without OpenID Connect too, and never as a demand.
		s.mustCLI(t, "", "application", "update", shop.ClientID, "--default-acr-values", mfa)
		behind(t, db, `UPDATE sessions SET amr = 'pwd'`)
		address, verifier = s.authorizeURL(shop, "scope", "read", "state", "s&1", "prompt", "none")
		b.open(t, address)
		got = s.redeem(t, shop, b.sentBack(t, "without openid", "code").Get("code"), verifier)
		checkEqual(t, "introspection says", acrOf(s.introspect(t, asker.auth(), got.AccessToken)), weak+" [pwd]")
		// What the application requires is not replaced by anything.
		s.mustCLI(t, "", "application", "update", shop.ClientID, "--required-acr", mfa, "--default-acr-values", "")
		for _, more := range [][]string{{"scope", "openid"}, {"scope", "openid", "acr_values", weak}} {
			address, _ := s.authorizeURL(shop, more...)
			b.open(t, address)
			b.awaitsCode(t, "what the application requires")
		}
	})
}

// The page of an application sets the login and keeps what it does not offer. An owner does not lift what
// an administrator has set.
func TestDefaultACRValuesOnThePage(t *testing.T) {
	t.Parallel()
	s := startServer(t, options{provider: []string{"OIDC_ENABLED: true", openidScopes}})
	alice := s.person(t, "alice")
	b := s.signedIn(t, alice)
	app := b.registered(t, "grant_type", "authorization_code", "redirect_uris", "https://own.example/cb")
	page := "/o/applications/" + app.ID + "/update/"
	for _, value := range []string{mfa, "", mfa} {
		b.open(t, page)
		b.submit(t, "Save changes", url.Values{"default_acr_values": {value}})
		want := "[]"
		if value != "" {
			want = "[" + value + "]"
			b.isAt(t, "the page", 200, "Two factors")
		}
		checkEqual(t, "stored", fmt.Sprint(s.shown(t, app)["default_acr_values"]), want)
	}
	both := mfa + " urn:mandate:acr:password"
	s.mustCLI(t, "", "application", "update", app.ClientID, "--default-acr-values", both)
	b.open(t, page)
	b.isAt(t, "several values", 200, "As it has registered")
	b.submit(t, "Save changes", params("name", "Another name"))
	checkEqual(t, "after another change", fmt.Sprint(s.shown(t, app)["default_acr_values"]), "["+both+"]")
	b.open(t, page)
	b.submit(t, "Save changes", url.Values{"default_acr_values": {"urn:example:other"}})
	b.isAt(t, "a value that nobody knows", 422, "is not supported")
	s.mustCLI(t, "", "application", "take-over", app.ClientID)
	behind(t, s.database, `UPDATE applications SET owner_id = (SELECT id FROM users WHERE username = 'alice'),
		version = version + 1`)
	b.open(t, page)
	b.submit(t, "Save changes", url.Values{"default_acr_values": {""}})
	b.isAt(t, "the owner of an application of the operator", 422, "only an administrator may change this")
}

// An application with a metadata document has what the document says, before its first approval and
// after it.
func TestDefaultACRValuesOfADocument(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		h := newDocumentHost(t)
		s := startServer(t, h.options(options{database: db, provider: []string{"OIDC_ENABLED: true", openidScopes}}))
		alice := s.person(t, "alice")
		app := h.client("/c", "http://127.0.0.1/callback",
			map[string]any{"default_acr_values": []string{"urn:example:other", mfa}})
		b := s.signedIn(t, alice)
		address, verifier := s.authorizeURL(app, "scope", "openid", "state", "s&1")
		b.open(t, address)
		checkEqual(t, "before the first approval", b.URL.Path, "/login/factor/")
		b.addsApp(t)
		b.decide(t, "approve")
		got := s.redeem(t, app, b.sentBack(t, "after the step", "code").Get("code"), verifier)
		checkEqual(t, "the ID token says", acrOf(s.verified(t, app, "RS256", got.IDToken)), mfa+" [pwd otp mfa]")
		checkEqual(t, "stored", fmt.Sprint(s.shown(t, app)["default_acr_values"]), "["+mfa+"]")
	})
}

// shown returns what the command shows about an application.
func (s *server) shown(t testing.TB, app application) map[string]any {
	t.Helper()
	var found map[string]any
	err := json.Unmarshal([]byte(s.mustCLI(t, "", "application", "show", "--json", app.ClientID)), &found)
	if err != nil {
		t.Fatal(err)
	}
	return found
}
