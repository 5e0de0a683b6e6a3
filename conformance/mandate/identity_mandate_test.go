package mandate

import (
	"strings"
	"testing"
)

// The other server is a Mandate too.
func TestSignInWithAnotherMandate(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		other := startServer(t, options{provider: []string{"OIDC_ENABLED: true", openidScopes}})
		other.mustCLI(t, "", "group", "add", "crew")
		p := other.person(t, "ann", "--email", "ann@company.example", "--email-verified", "--group", "crew",
			"--first-name", "Ann")
		secret := other.secret("the secret of Mandate at Mandate")
		setting := "{NAME: mandate, ISSUER: " + quote(other.Issuer) + ", CLIENT_ID: mandate, CLIENT_SECRET: " +
			quote(secret) +
			", SCOPES: [openid, profile, email, groups], NEW_PEOPLE: domains, ALLOWED_DOMAINS: [company.example], " +
			"GROUPS_CLAIM: groups, GROUPS: {crew: staff}, ACR: {\"urn:mandate:acr:mfa\": urn:mandate:acr:mfa}, LOGOUT: true}"
		s := startServer(t, options{database: db,
			settings: []string{privateNetworks, "SIGN_IN_SERVERS: [" + setting + "]", "SECOND_FACTOR: everybody",
				"SECOND_FACTOR_GRACE_DAYS: 0"}, provider: []string{"OIDC_ENABLED: true", openidScopes}})
		s.secret(secret)
		other.mustCLI(t, secret+"\n", "application", "add", "--name", "Mandate", "--client-id", "mandate",
			"--client-secret-stdin", "--grant", "authorization_code", "--algorithm", "EdDSA",
			"--redirect-uri", s.BaseURL+"/login/with/mandate/callback/", "--post-logout-redirect-uri", s.BaseURL+"/")
		s.mustCLI(t, "", "group", "add", "staff")

		there := other.browser(t)
		arrives := func(b *browser, address string) {
			t.Helper()
			b.open(t, address)
			b.submit(t, "Sign in with mandate", nil)
			there.open(t, b.Away.String())
			if there.Away == nil && there.shows("password") {
				there.logIn(t, p)
			}
			if there.Away == nil && there.shows("decision") {
				there.decide(t, "approve")
			}
			if there.Away == nil || !strings.HasPrefix(there.Away.String(), s.BaseURL) {
				t.Fatalf("%d %s, sent to %v\n%s", there.Status, there.URL, there.Away, there.Body)
			}
			b.open(t, there.Away.String())
		}
		// The login there is one by password, so this server demands its own second factor.
		b := s.browser(t)
		arrives(b, "/login/?next=/account/")
		b.isAt(t, "without a second factor there", 200, "Add an authenticator app")
		checkEqual(t, "groups", s.groupsOf(t, "ann@company.example"), "staff")

		// With a second factor there, it demands none.
		there.open(t, "/account/factors/totp/")
		app := there.addsApp(t)
		arrives(b, "/login/?next=/account/")
		b.isAt(t, "with a second factor there", 200, "Accounts of other servers")
		rp := s.relyingParty(t)
		address, verifier := s.authorizeURL(rp, "scope", "openid", "acr_values", "urn:mandate:acr:mfa")
		b.open(t, address)
		b.decide(t, "approve")
		got := s.redeem(t, rp, b.Away.Query().Get("code"), verifier)
		checkEqual(t, "the login", acrOf(s.verified(t, rp, "RS256", got.IDToken)), "urn:mandate:acr:mfa [mfa]")

		// A new login is really one there, and the keys there may be others by now.
		other.mustCLI(t, "", "keys", "rotate", "--now")
		b.open(t, "/login/?next=/account/&reason=confirm")
		b.submit(t, "Sign in with mandate", nil)
		there.open(t, b.Away.String())
		if !there.shows("password") {
			t.Fatalf("the other server does not ask for a new login: %d %s", there.Status, there.URL)
		}
		there.logIn(t, p)
		other.newStep(t)
		there.answers(t, "totp", app.code(0))
		b.open(t, there.Away.String())
		b.isAt(t, "after a new login", 200, "Accounts of other servers")

		b.submit(t, "Sign out", nil)
		b.open(t, "/logout/with/mandate/")
		there.open(t, b.Away.String())
		there.isAt(t, "the sign-out there", 200, "Sign out")

		other.mustCLI(t, "", "user", "disable", "ann")
		b.open(t, "/login/")
		b.submit(t, "Sign in with mandate", nil)
		there.open(t, b.Away.String())
		there.logIn(t, p)
		there.isAt(t, "disabled there", 422, "The username or the password is wrong.")
	})
}
