package mandate

import (
	"net/http"
	"strings"
	"testing"
)

// The phone is lost: a recovery code, and then a new phone.
func TestFactorLostPhone(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db})
		alice := s.person(t, "alice")
		app, b := s.withApp(t, alice)
		codes := b.recoveryCodes(t)
		b.open(t, "/account/factors/codes/")
		if shownCode.MatchString(b.Body) {
			t.Error("the recovery codes are shown twice")
		}
		b = s.browser(t)
		b.open(t, "/login/?next=%2Faccount%2F")
		b.logIn(t, alice)
		b.awaitsCode(t, "after the password")
		b.submit(t, "Use the recovery code", params("code", strings.ToUpper(codes[0])))
		checkEqual(t, "after the recovery code", b.URL.Path, "/account/")
		if !strings.Contains(b.Body, "9 left.") {
			t.Error("the account page does not say how many codes are left")
		}
		b.open(t, "/account/factors/totp/remove/")
		b.submit(t, "Remove the app", nil)
		b.open(t, "/account/factors/totp/")
		renewed := b.addsApp(t)
		old := s.browser(t)
		old.open(t, "/login/")
		old.logIn(t, alice)
		for what, answer := range map[string][2]string{"the code of the old phone": {"totp", app.code(0)},
			"an old recovery code": {"recovery", codes[1]}} {
			old.answers(t, answer[0], answer[1])
			checkEqual(t, what, old.Status, http.StatusUnprocessableEntity)
		}
		old.submit(t, "Continue", params("code", renewed.code(0)))
		checkEqual(t, "after the code of the new phone", old.URL.Path, "/")
	})
}

// SECOND_FACTOR: a person who must have a second factor adds it at the sign-in, and returns to the
// same request.
func TestFactorIsDemanded(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db,
			settings: []string{"SECOND_FACTOR: everybody", "SECOND_FACTOR_GRACE_DAYS: 0"},
			provider: []string{"OIDC_ENABLED: true", openidScopes}})
		alice, shop := s.person(t, "alice"), s.relyingParty(t)
		b := s.browser(t)
		address, verifier := s.authorizeURL(shop, "scope", "openid", "state", "s&1", "prompt", "login")
		b.open(t, address)
		b.logIn(t, alice)
		checkEqual(t, "after the password", b.URL.Path, "/login/factor/")
		b.addsApp(t)
		if b.shows("decision") {
			b.decide(t, "approve")
		}
		got := s.redeem(t, shop, b.sentBack(t, "after the app was added", "code").Get("code"), verifier)
		checkEqual(t, "the ID token says", acrOf(s.verified(t, shop, "RS256", got.IDToken)), mfa+" [pwd otp mfa]")
	})
}

// RFC 9470 §5: a person whose login is too weak adds or shows a second factor, and returns to exactly the
// same request, also if it requires a new sign-in.
func TestFactorStepUp(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db, provider: []string{"OIDC_ENABLED: true", openidScopes}})
		alice, shop, asker := s.person(t, "alice"), s.relyingParty(t), s.introspector(t)
		b := s.signedIn(t, alice)
		for _, test := range []struct {
			name  string
			pairs []string
		}{
			{"without OpenID Connect", []string{"scope", "read", "acr_values", mfa}},
			{"prompt=login", []string{"scope", "openid", "prompt", "login", "acr_values", mfa}},
			{"essential", []string{"scope", "openid", "claims", `{"id_token":{"acr":{"essential":true,"values":["` +
				mfa + `"]}}}`}},
		} {
			behind(t, s.database, `DELETE FROM totps`)
			behind(t, s.database, `UPDATE sessions SET amr = 'pwd'`)
			address, verifier := s.authorizeURL(shop, append(test.pairs, "state", "s&1")...)
			b.open(t, address)
			if b.URL.Path == "/login/" {
				b.logIn(t, alice)
			}
			checkEqual(t, test.name+": the page", b.URL.Path, "/login/factor/")
			app := b.addsApp(t)
			if b.shows("decision") {
				b.decide(t, "approve")
			}
			got := s.redeem(t, shop, b.sentBack(t, test.name, "code").Get("code"), verifier)
			found := s.introspect(t, asker.auth(), got.AccessToken)
			checkEqual(t, test.name+": introspection says", acrOf(found), mfa+" [pwd otp mfa]")
			// In another session the app exists.
			behind(t, s.database, `UPDATE sessions SET amr = 'pwd'`)
			b.open(t, address)
			if b.URL.Path == "/login/" {
				b.logIn(t, alice)
				b.submit(t, "Continue", params("code", app.code(0)))
			} else {
				b.awaitsCode(t, test.name)
				b.submit(t, "Continue", params("code", app.code(0)))
			}
			if b.shows("decision") {
				b.decide(t, "approve")
			}
			b.sentBack(t, test.name+", with an app", "code")
		}
	})
}

// An administrator helps a person who has lost everything.
func TestFactorIsReset(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db})
		root, alice := s.person(t, "root", "--admin"), s.person(t, "alice")
		_, b := s.withApp(t, alice)
		admin := s.signedIn(t, root)
		l := &life{fixture: &fixture{server: s, admin: root}, root: admin, person: alice}
		path := l.userPath(t) + "factors/"
		s.earlier(t, 301)
		admin.open(t, path)
		admin.awaitsLogin(t, "an administrator who signed in long ago")
		admin.send(t, path, nil)
		admin.awaitsLogin(t, "the form of an administrator who signed in long ago")
		admin.open(t, path)
		admin.logIn(t, root)
		checkEqual(t, "alice is signed in before", b.isSignedIn(t), true)
		admin.submit(t, "Remove the second factor", nil)
		checkEqual(t, "alice is signed in", b.isSignedIn(t), false)
		s.signedIn(t, alice) // the password suffices
		admin.open(t, l.userPath(t))
		if strings.Contains(admin.Body, "Remove the second factor") {
			t.Error("the page offers to remove a factor that is gone")
		}
		admin.send(t, (&life{fixture: l.fixture, person: root}).userPath(t)+"factors/", nil)
		checkEqual(t, "their own factors", admin.Status, http.StatusBadRequest)
		// The command does the same.
		_, b = s.withApp(t, alice)
		s.mustCLI(t, "", "user", "reset-factors", alice.Name)
		checkEqual(t, "alice is signed in after the command", b.isSignedIn(t), false)
		other := s.signedIn(t, alice)
		other.send(t, path, nil)
		checkEqual(t, "somebody who is no administrator", other.Status, http.StatusForbidden)
	})
}
