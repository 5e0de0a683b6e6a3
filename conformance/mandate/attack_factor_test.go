package mandate

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"mandate/provider/passkey/passkeytest"
)

const mfa = "urn:mandate:acr:mfa"

// RFC 6238 §5.2: a code is accepted once, and a recovery code works once, also if several nodes get it
// at the same moment.
func TestAttackFactorIsUsedTwice(t *testing.T) {
	ownProcesses(t)
	attack(t, "one-time code used in parallel", "")
	forEachDatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db, settings: []string{ours}})
		alice := s.person(t, "alice")
		app, b := s.withApp(t, alice)
		codes := b.recoveryCodes(t)
		servers := []*server{s, s.node(t)}
		for _, one := range []struct{ by, code string }{{"totp", app.code(0)}, {"recovery", codes[0]}} {
			browsers := make([]*browser, 6)
			for i := range browsers {
				browsers[i] = servers[i%len(servers)].browser(t)
				browsers[i].open(t, "/login/")
				browsers[i].logIn(t, alice)
				browsers[i].awaitsCode(t, one.by)
			}
			var all sync.WaitGroup
			for _, b := range browsers {
				all.Go(func() { b.answers(t, one.by, one.code) })
			}
			all.Wait()
			in := 0
			for _, b := range browsers {
				if b.isSignedIn(t) {
					in++
				}
			}
			checkEqual(t, "sign-ins by one "+one.by+" code", in, 1)
		}
	})
}

// The first step of a sign-in is not a session: whoever knows only the password reaches nothing.
func TestAttackSecondStepIsSkipped(t *testing.T) {
	attack(t, "second factor bypassed", "CVE-2025-64103")
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db, provider: []string{"OIDC_ENABLED: true", openidScopes}})
		alice, shop := s.person(t, "alice"), s.relyingParty(t, "--grant", "password")
		app, own := s.withApp(t, alice)
		b := s.browser(t)
		b.open(t, "/login/")
		b.logIn(t, alice)
		b.awaitsCode(t, "after the password")
		ticket := b.cookie(t, "/login/factor/", "mandate_signin")
		t.Run("pages", func(t *testing.T) {
			address, _ := s.authorizeURL(shop, "scope", "openid")
			for _, path := range []string{address, "/account/", "/account/factors/totp/", "/account/factors/codes/", "/device/",
				"/o/applications/", "/admin/users/"} {
				b.open(t, path)
				b.awaitsLogin(t, path)
			}
			b.send(t, "/account/password/", params("current_password", alice.Password, "new_password", "another row of words"))
			checkEqual(t, "changing the password leads to", b.URL.Path, "/login/")
			b.send(t, "/account/factors/totp/remove/", nil)
			checkEqual(t, "removing the factor leads to", b.URL.Path, "/login/")
		})
		t.Run("the ticket as another cookie", func(t *testing.T) {
			for _, name := range []string{"mandate_session", "mandate_device", "mandate_browser", "mandate_login"} {
				other := s.carrying(t, name, ticket)
				checkEqual(t, name+" signs in", other.isSignedIn(t), false)
			}
			// A session cookie is no ticket either.
			other := s.carrying(t, "mandate_signin", own.cookie(t, "/", "mandate_session"))
			other.open(t, "/login/factor/?next=%2Faccount%2F")
			other.awaitsLogin(t, "a session as a ticket")
		})
		t.Run("another browser", func(t *testing.T) {
			other := s.browser(t)
			other.send(t, "/login/factor/", params("by", "totp", "code", app.code(0), "next", "/account/"))
			other.awaitsLogin(t, "without the ticket")
			other.send(t, "/login/factor/?ticket="+url.QueryEscape(ticket)+"&signin="+url.QueryEscape(ticket),
				params("by", "totp", "code", app.code(0), "next", "/account/", "signin", ticket, "ticket", ticket))
			other.awaitsLogin(t, "with the ticket as a parameter")
			bob := s.person(t, "bob")
			other = s.browser(t)
			other.open(t, "/login/")
			other.logIn(t, bob)
			other.send(t, "/login/factor/", params("by", "totp", "code", app.code(0), "next", "/account/", "acr", mfa))
			if strings.Contains(other.Body, "alice") {
				t.Error("a browser of somebody else is signed in as alice")
			}
		})
		t.Run("another app in place of the own one", func(t *testing.T) {
			b.open(t, "/login/factor/?next=%2Faccount%2F")
			b.answers(t, "new-totp", "000000")
			checkEqual(t, "status", b.Status, http.StatusUnprocessableEntity)
			if strings.Contains(b.Body, `class="key"`) {
				t.Error("the page offers a new app to somebody who knows only the password")
			}
		})
		t.Run("the password grant", func(t *testing.T) {
			_, a := s.token(t, shop.auth(), params("grant_type", "password", "username", alice.Name, "password", alice.Password))
			checkEqual(t, "status", a.Status, http.StatusBadRequest)
			if !strings.Contains(string(a.Body), "invalid_grant") || !strings.Contains(string(a.Body), "second factor") {
				t.Errorf("%s", a.Body)
			}
			_, wrong := s.token(t, shop.auth(),
				params("grant_type", "password", "username", alice.Name, "password", "wrong "+alice.Password))
			_, nobody := s.token(t, shop.auth(),
				params("grant_type", "password", "username", "nobody", "password", "wrong "+alice.Password))
			checkEqual(t, "a wrong password tells of the second factor", string(wrong.Body), string(nobody.Body))
		})
		t.Run("after the password was changed", func(t *testing.T) {
			s.mustCLI(t, "another row of words\n", "user", "passwd", alice.Name, "--password-stdin")
			b.open(t, "/login/factor/?next=%2Faccount%2F")
			b.awaitsLogin(t, "the ticket of the old password")
			b.send(t, "/login/factor/", params("by", "totp", "code", app.code(0), "next", "/account/"))
			b.awaitsLogin(t, "a code with the ticket of the old password")
			checkEqual(t, "signed in", b.isSignedIn(t), false)
		})
	})
}

// A stolen session changes nothing about how the person signs in: it adds and removes no authenticator
// app, no passkey, no recovery codes and no account of another server.
func TestAttackFactorIsRemovedWithAStolenSession(t *testing.T) {
	attack(t, "factor changed without reauthentication (CWE-306)", "")
	onADatabase(t, func(t *testing.T, db database) {
		c := newCompany(t, "company")
		s := startServer(t, options{database: db, host: "localhost",
			settings: []string{privateNetworks, "SIGN_IN_SERVERS: [" + c.setting("") + "]"}})
		c.start(t, s)
		c.person(t, "a1", map[string]any{})
		alice := s.person(t, "alice")
		app, b := s.withApp(t, alice)
		b.recoveryCodes(t)
		b.addsAccountOf(t, c, "a1")
		b.open(t, "/account/")
		account := regexpSubmatch(t, `href="(/account/identities/[^/]+/remove/)"`, b.Body)
		b.newPasskey(t)
		key := b.URL.Path

		s.earlier(t, 301)
		thief := s.carrying(t, "mandate_session", b.cookie(t, "/", "mandate_session"))
		checkEqual(t, "the session works", thief.isSignedIn(t), true)
		for _, path := range []string{"/account/factors/totp/remove/", "/account/factors/codes/", "/account/passkeys/new/",
			key + "remove/", "/account/identities/new/company/", account} {
			thief.open(t, path)
			thief.awaitsLogin(t, "GET "+path)
			if path != "/account/passkeys/new/" {
				thief.send(t, path, url.Values{})
				thief.awaitsLogin(t, "POST "+path)
			}
		}
		made := (&passkeytest.Authenticator{Origin: s.BaseURL}).Create("{}")
		thief.send(t, "/account/passkeys/new/", params("ticket", "made up", "response", made))
		// A step-up needs a factor, and even then the sign-in stays old.
		thief.open(t, "/login/factor/?acr="+mfa+"&next=%2Faccount%2Ffactors%2Ftotp%2Fremove%2F")
		thief.awaitsLogin(t, "after a step-up that was not needed")
		for table, n := range map[string]int{"totps": 1, "recovery_codes": 10, "passkeys": 1, "identities": 1} {
			checkEqual(t, table, rows(t, db, table), n)
		}
		// Nor does a stolen session of somebody without a factor get one.
		other := s.signedIn(t, s.person(t, "bob"))
		s.earlier(t, 301)
		thief = s.carrying(t, "mandate_session", other.cookie(t, "/", "mandate_session"))
		for _, path := range []string{"/account/factors/totp/", "/account/passkeys/new/", "/account/identities/new/company/",
			"/login/factor/?acr=" + mfa + "&next=%2Faccount%2F",
			"/login/factor/?acr=urn:mandate:acr:passkey&next=%2Faccount%2F"} {
			thief.open(t, path)
			thief.awaitsLogin(t, path)
		}
		// The owner signs in again, in both steps, and comes back.
		for path, button := range map[string]string{"/account/factors/totp/remove/": "Remove the app",
			key + "remove/": "Remove the passkey", account: "Remove the account"} {
			b.open(t, path)
			if !b.shows("password") {
				b.submit(t, button, nil)
				continue
			}
			b.logIn(t, alice)
			b.awaitsCode(t, "the owner")
			b.submit(t, "Continue", params("code", app.code(0)))
			b.submit(t, button, nil)
			checkEqual(t, "the page after "+button, b.URL.Path, "/account/")
		}
		for _, table := range []string{"totps", "recovery_codes", "passkeys", "identities"} {
			checkEqual(t, table+" after all", rows(t, db, table), 0)
		}
	})
}

// RFC 6749 §10.10: whoever knows the password guesses codes slowly.
func TestAttackCodesAreGuessed(t *testing.T) {
	attack(t, "brute force of a one-time code", "")
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db, settings: []string{ours}})
		alice := s.person(t, "alice")
		app, _ := s.withApp(t, alice)
		b := s.browser(t)
		b.open(t, "/login/")
		b.logIn(t, alice)
		for i := range 10 {
			by := "totp"
			if i%2 == 1 {
				by = "recovery"
			}
			b.answers(t, by, fmt.Sprintf("%06d", i))
			checkEqual(t, "status of a wrong code", b.Status, http.StatusUnprocessableEntity)
		}
		b.answers(t, "totp", app.code(0))
		checkEqual(t, "status of a right code after ten wrong ones", b.Status, http.StatusTooManyRequests)
		if b.Header.Get("Retry-After") == "" {
			t.Error("there is no Retry-After")
		}
		// Another sign-in gives no new tries.
		other := s.browser(t)
		other.open(t, "/login/")
		other.logIn(t, alice)
		other.answers(t, "totp", app.code(0))
		checkEqual(t, "status in another browser", other.Status, http.StatusTooManyRequests)
		if strings.Contains(s.log.String(), app.code(0)) {
			t.Error("the log has a code")
		}
	})
}

// RFC 9470 §5, OIDC Core §5.5.1.1: nobody gets a code, an approval of a device or a token for an
// application that requires a second factor.
func TestAttackRequiredLoginIsBypassed(t *testing.T) {
	attack(t, "weak login accepted", "")
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db, provider: []string{"OIDC_ENABLED: true", openidScopes}})
		alice, vault := s.person(t, "alice"), s.relyingParty(t, "--grant", "urn:ietf:params:oauth:grant-type:device_code")
		s.mustCLI(t, "", "application", "update", vault.ClientID, "--required-acr", mfa)
		app, _ := s.withApp(t, alice)
		weak := s.browser(t)
		weak.open(t, "/login/")
		weak.logIn(t, alice)
		weak.answers(t, "totp", app.code(0))
		s.newStep(t)
		behind(t, s.database, `UPDATE sessions SET amr = 'pwd'`)
		address, verifier := s.authorizeURL(vault, "scope", "openid", "state", "s&1", "acr_values",
			"urn:mandate:acr:password")
		weak.open(t, address)
		weak.awaitsCode(t, "an application that requires two factors")
		silent, _ := s.authorizeURL(vault, "scope", "openid", "state", "s&1", "prompt", "none")
		weak.open(t, silent)
		if weak.Away == nil || weak.Away.Query().Get("code") != "" {
			t.Errorf("prompt=none: %s %v", weak.URL, weak.Away)
		}
		weak.open(t, address)
		weak.submit(t, "Continue", params("code", app.code(0)))
		if weak.shows("decision") {
			weak.decide(t, "approve")
		}
		got := s.redeem(t, vault, weak.sentBack(t, "after the second factor", "code").Get("code"), verifier)
		checkEqual(t, "the ID token says", acrOf(s.verified(t, vault, "RS256", got.IDToken)),
			"urn:mandate:acr:password [pwd otp mfa]")
	})
}
