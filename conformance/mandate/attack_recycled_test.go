package mandate

import (
	"strings"
	"testing"
)

// Another server gives the address of a former employee to a new one, or the person here has removed the account there.
// The address then leads to nobody's account.
func TestAttackRecycledAddress(t *testing.T) {
	attack(t, "account linked by a recycled address (CWE-289)", "")
	onADatabase(t, func(t *testing.T, db database) {
		c := newCompany(t, "company")
		s := startServer(t, options{database: db, host: "localhost",
			settings: []string{privateNetworks, "SIGN_IN_SERVERS: [" + c.setting(", TRUSTED_FOR_EMAIL: true") + "]"}})
		c.start(t, s)
		claims := map[string]any{"email": "nina@company.example", "email_verified": true}
		c.person(t, "first", claims)
		c.person(t, "second", claims)
		nina := s.person(t, "nina", "--email", "nina@company.example", "--email-verified")
		b := s.browser(t)
		b.signInWith(t, c, "first", "/account/")
		checkEqual(t, "the first one is signed in", b.isSignedIn(t), true)
		checkEqual(t, "identities", rows(t, db, "identities"), 1)
		stranger := func(what, name string) {
			t.Helper()
			thief := s.browser(t)
			thief.signInWith(t, c, name, "/account/")
			checkEqual(t, what+" is signed in", thief.isSignedIn(t), false)
		}
		stranger("the next one with the address", "second")
		checkEqual(t, "identities", rows(t, db, "identities"), 1)
		// The person removes the account: it does not come back by itself.
		owner := s.signedIn(t, nina)
		owner.open(t, "/account/")
		owner.open(t, regexpSubmatch(t, `href="(/account/identities/[^/]+/remove/)"`, owner.Body))
		owner.submit(t, "Remove the account", nil)
		stranger("the removed one", "first")
		stranger("another one after the removal", "second")
		checkEqual(t, "identities", rows(t, db, "identities"), 0)

		// Nothing is linked before the second factor.
		olga := s.person(t, "olga", "--email", "olga@company.example", "--email-verified")
		app, _ := s.withApp(t, olga)
		c.person(t, "third", map[string]any{"email": "olga@company.example", "email_verified": true})
		thief := s.browser(t)
		thief.signInWith(t, c, "third", "/account/")
		thief.awaitsCode(t, "the thief")
		thief.answers(t, "totp", "000000")
		checkEqual(t, "identities before the second step", rows(t, db, "identities"), 0)
		owner = s.browser(t)
		owner.signInWith(t, c, "third", "/account/")
		owner.awaitsCode(t, "the person")
		owner.submit(t, "Continue", params("code", app.code(0)))
		if !strings.HasPrefix(owner.URL.Path, "/account/") {
			t.Errorf("%d %s", owner.Status, owner.URL)
		}
		checkEqual(t, "identities after it", rows(t, db, "identities"), 1)
	})
}
