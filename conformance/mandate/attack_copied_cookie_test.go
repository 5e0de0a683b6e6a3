package mandate

import (
	"net/url"
	"strings"
	"testing"
)

// Somebody has a copy of the very cookie with which the person is signed in. Each change of how the person signs in
// makes the copy worthless, and the person stays signed in.
func TestAttackCopiedCookieOutlivesAChange(t *testing.T) {
	attack(t, "session identifier kept after a change of credentials (CWE-613, CWE-384)", "")
	onADatabase(t, func(t *testing.T, db database) {
		c := newCompany(t, "company")
		s := startMailingWith(t, db, "localhost", privateNetworks, "SIGN_IN_SERVERS: ["+c.setting("")+"]")
		c.start(t, s.server)
		c.person(t, "a1", map[string]any{})
		alice := s.person(t, "hanna", "--admin", "--email", "hanna@example.org")
		b := s.signedIn(t, alice)
		var passkey, account string
		changes := func(next string, fields url.Values) func() {
			return func() {
				fields := with(fields, "current_password", alice.Password, "new_password", s.secret(next))
				b.open(t, "/account/")
				b.submit(t, "Change password", fields)
				alice.Password = next
			}
		}
		for _, one := range []struct {
			what   string
			change func()
		}{
			{"an app is added", func() { b.open(t, "/account/factors/totp/"); b.addsApp(t) }},
			{"recovery codes are made", func() { b.open(t, "/account/factors/codes/"); b.recoveryCodes(t) }},
			{"an account of another server is added", func() {
				b.addsAccountOf(t, c, "a1")
				account = regexpSubmatch(t, `href="(/account/identities/[^/]+/remove/)"`, b.Body)
			}},
			{"a passkey is added", func() { b.newPasskey(t); passkey = b.URL.Path }},
			{"the passkey is removed", func() { b.open(t, passkey+"remove/"); b.submit(t, "Remove the passkey", nil) }},
			{"the account is removed", func() { b.open(t, account); b.submit(t, "Remove the account", nil) }},
			{"the app is removed", func() { b.open(t, "/account/factors/totp/remove/"); b.submit(t, "Remove the app", nil) }},
			{"the address is confirmed", func() {
				b.open(t, "/account/")
				b.submit(t, "Send a link to confirm the email address", nil)
				b.open(t, s.linkIn(t, s.waitTo(t, "hanna@example.org", addressSubject, 1)))
				b.submit(t, "Confirm the address", nil)
			}},
			{"an administrator changes their own username", func() {
				b.open(t, "/admin/users/"+s.userID(t, "hanna")+"/")
				b.submit(t, "Save changes", params("username", "hanna2"))
				alice.Name = "hanna2"
			}},
			{"the password changes", changes("some other words", url.Values{})},
			{"the password changes, and what was allowed stays", changes("some more words", url.Values{"end_approvals": nil})},
		} {
			t.Run(one.what, func(t *testing.T) {
				copied := s.carrying(t, "mandate_session", b.cookie(t, "/", "mandate_session"))
				checkEqual(t, "the copy works before", copied.isSignedIn(t), true)
				one.change()
				if strings.HasPrefix(b.URL.Path, "/login/") || b.Status != 200 {
					t.Fatalf("%d %s\n%s", b.Status, b.URL, b.Body)
				}
				checkEqual(t, "the copy works afterwards", copied.isSignedIn(t), false)
				checkEqual(t, "the person is signed in", b.isSignedIn(t), true)
			})
		}
	})
}

// The thief has allowed an application in the very session of the person. "Also end the access" ends that too, and the
// application hears that the session has ended.
func TestAttackApprovalInTheCopiedSessionOutlivesAPasswordChange(t *testing.T) {
	attack(t, "persistence after account recovery (CWE-613)", "")
	onADatabase(t, func(t *testing.T, db database) {
		v := newFixture(t, options{database: db})
		alice := v.person(t, "carol")
		b := v.signedIn(t, alice)
		thief := v.carrying(t, "mandate_session", b.cookie(t, "/", "mandate_session"))
		got := thief.family(t, v.casual, alice, "scope", "read write")
		code := thief.issue(t, v.web, alice, "scope", "read")
		b.open(t, "/account/")
		b.submit(t, "Change password",
			params("current_password", alice.Password, "new_password", v.secret("some other words")))
		checkEqual(t, "the thief's token", v.active(t, v.asker.auth(), got.AccessToken), false)
		checkEqual(t, "the refresh", v.post(t, "/o/token/", v.casual.auth(), refreshForm(got.RefreshToken)).Status, 400)
		checkEqual(t, "the code", v.post(t, "/o/token/", v.web.auth(), code).Status, 400)
		checkEqual(t, "the thief's cookie", thief.isSignedIn(t), false)
	})
}
