package mandate

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// Somebody plants a cookie in a browser, and waits until its person signs in, in whatever way.
func TestAttackSessionFixation(t *testing.T) {
	attack(t, "session fixation (CWE-384)", "CVE-2026-7507 (Keycloak)")
	onADatabase(t, func(t *testing.T, db database) {
		c := newCompany(t, "company")
		s := startServer(t, options{database: db, host: "localhost",
			settings: []string{privateNetworks, "SIGN_IN_SERVERS: [" + c.setting("") + "]"}})
		c.start(t, s)
		c.person(t, "plain", map[string]any{})
		plain, strong, mallory := s.person(t, "plain"), s.person(t, "strong"), s.person(t, "mallory")
		s.signedIn(t, plain).addsAccountOf(t, c, "plain")
		app, own := s.withApp(t, strong)
		codes := own.recoveryCodes(t)
		key := own.newPasskey(t)
		passkey := func(b *browser, path string) {
			options, form := b.asked(t, path)
			form.Set("response", key.Get(options))
			key.Counter++
			target, _, _ := strings.Cut(path, "?")
			b.send(t, target, form)
		}
		password := func(b *browser) {
			b.open(t, "/login/?next=%2Faccount%2F")
			b.logIn(t, strong)
			b.awaitsCode(t, "after the password")
		}
		for way, signIn := range map[string]func(*browser){
			"a password": func(b *browser) { b.open(t, "/login/?next=%2Faccount%2F"); b.logIn(t, plain) },
			"a code": func(b *browser) {
				password(b)
				s.newStep(t)
				b.submit(t, "Continue", params("code", app.code(0)))
			},
			"a recovery code": func(b *browser) {
				password(b)
				b.submit(t, "Use the recovery code", params("code", codes[0]))
				codes = codes[1:]
			},
			"a passkey after the password": func(b *browser) { password(b); passkey(b, b.URL.RequestURI()) },
			"a passkey": func(b *browser) {
				options, form := b.asked(t, "/login/?next=%2Faccount%2F")
				form.Set("response", key.Get(options))
				key.Counter++
				b.send(t, "/login/passkey/", form)
			},
			"another server": func(b *browser) { b.signInWith(t, c, "plain", "/login/?next=%2Faccount%2F") },
		} {
			for what, planted := range map[string]string{"a session of the attacker": s.signedIn(t, mallory).cookie(t, "/",
				"mandate_session"), "an invented one": strings.Repeat("A", 43)} {
				b := s.carrying(t, "mandate_session", planted)
				signIn(b)
				if b.URL.Path != "/account/" || strings.Contains(b.Body, "mallory") {
					t.Errorf("%s, %s: %d %s", way, what, b.Status, b.URL)
				}
				if b.cookie(t, "/", "mandate_session") == planted || s.carrying(t, "mandate_session", planted).isSignedIn(t) {
					t.Errorf("%s, %s: the planted cookie is a session", way, what)
				}
			}
		}
		// A session that becomes stronger gets another cookie: a copy of the former one does not become
		// stronger with it.
		b := s.browser(t)
		password(b)
		s.newStep(t)
		b.submit(t, "Continue", params("code", app.code(0)))
		copied := s.carrying(t, "mandate_session", b.cookie(t, "/", "mandate_session"))
		checkEqual(t, "the copy is a session", copied.isSignedIn(t), true)
		passkey(b, "/login/factor/?next=%2Faccount%2F&acr=urn%3Amandate%3Aacr%3Apasskey")
		checkEqual(t, "after the passkey", b.isSignedIn(t), true)
		checkEqual(t, "the copy is a session after the passkey", copied.isSignedIn(t), false)
	})
}

// addsAccountOf adds the account of somebody at a company to that of the person who is signed in.
func (b *browser) addsAccountOf(t testing.TB, c *company, name string) {
	t.Helper()
	b.open(t, "/account/identities/new/"+c.name+"/")
	b.submit(t, "Continue to "+c.label(), nil)
	back, _ := newTraveller(t).signIn(t, b.Away, name)
	b.open(t, back.String())
	b.isAt(t, "an account of the company", http.StatusOK, "The account is added.")
}

// Whoever knows something about a session, but not its cookie, has no session.
func TestAttackForgedSession(t *testing.T) {
	attack(t, "session cookies that can be made or changed (CWE-345)", "CVE-2026-109373 (zitadel)")
	onADatabase(t, func(t *testing.T, db database) {
		v := newFixture(t, options{database: db})
		b := v.signedIn(t, v.alice)
		cookie := b.cookie(t, "/", "mandate_session")
		var id, digest string
		behind(t, db, `SELECT s.id, s.digest FROM sessions s JOIN users u ON u.id = s.user_id WHERE u.username = 'alice'`,
			&id, &digest)
		family := b.family(t, v.web, v.alice)
		forged := map[string]string{
			"nothing": "", "the id of the session": id, "what the database has": digest, "the person": v.userID(t, "alice"),
			"an access token": family.AccessToken, "a refresh token": family.RefreshToken,
			"the cookie of the browser": b.cookie(t, "/", "mandate_device"),
			"the cookie twice":          cookie + cookie, "the cookie, and something": cookie + "A", "padding": cookie + "=",
			"a space":  cookie + "%20",
			"capitals": strings.ToUpper(cookie), "a cookie in quotes, and something": `"` + cookie + `"A`,
		}
		for i := range cookie {
			forged["the first "+string(rune('A'+i))] = cookie[:i]
			other := byte('A')
			if cookie[i] == other {
				other = 'B'
			}
			forged["another character at "+string(rune('A'+i))] = cookie[:i] + string(other) + cookie[i+1:]
		}
		for what, value := range forged {
			a := v.get(t, "/account/", func(r *http.Request, _ url.Values) { r.Header.Set("Cookie", "mandate_session="+value) })
			if a.Status != http.StatusSeeOther {
				t.Errorf("%s is a session: %d", what, a.Status)
			}
		}
		checkEqual(t, "the cookie itself", v.get(t, "/account/", withCookie("mandate_session", cookie)).Status, http.StatusOK)
	})
}

// A passkey is bound to the host of BASE_URL: what somebody shows to another host, or what a page of
// another host asks for, is worth nothing here.
func TestAttackPasskeyOfAnotherHost(t *testing.T) {
	attack(t, "phishing by a page of another host, and passkeys that are used at another host", "")
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db, host: "localhost"})
		alice := s.person(t, "alice")
		own := s.signedIn(t, alice)
		key := own.newPasskey(t)
		begun := s.browser(t)
		begun.open(t, "/login/?next=%2Faccount%2F")
		begun.logIn(t, alice)
		checkEqual(t, "after the password", begun.URL.Path, "/login/factor/")
		for what, other := range map[string]struct{ origin, host string }{
			"a page of another host that relays the request": {"https://evil.example", ""},
			"a page of a host below ours": {strings.Replace(s.BaseURL, "localhost", "evil.localhost", 1),
				""},
			"a page at another port":                           {"http://localhost:1", ""},
			"a page with another scheme":                       {strings.Replace(s.BaseURL, "http:", "https:", 1), ""},
			"an origin that begins like ours":                  {s.BaseURL + ".evil.example", ""},
			"a passkey of another host":                        {s.BaseURL, "evil.example"},
			"a passkey of a host below ours":                   {s.BaseURL, "evil.localhost"},
			"a passkey of another host, shown at another host": {"https://evil.example", "evil.example"},
		} {
			wrong := key.Copy()
			wrong.Origin, wrong.Host = other.origin, other.host
			b := s.browser(t)
			options, form := b.asked(t, "/login/?next=%2Faccount%2F")
			form.Set("response", wrong.Get(options))
			b.refusedPasskey(t, what, form)
			options, form = begun.asked(t, "/login/factor/?next=%2Faccount%2F")
			form.Set("response", wrong.Get(options))
			begun.send(t, "/login/factor/", form)
			checkEqual(t, what+", as the second step", begun.Status, http.StatusUnprocessableEntity)
			options, form = own.asked(t, "/account/passkeys/new/")
			made := *wrong
			made.ID = nil
			form.Set("response", made.Create(options))
			own.send(t, "/account/passkeys/new/", form)
			checkEqual(t, what+", as a new passkey", own.Status, http.StatusUnprocessableEntity)
		}
		checkEqual(t, "passkeys", rows(t, db, "passkeys"), 1)
		// The right one still works, in the sign-in that began before.
		options, form := begun.asked(t, "/login/factor/?next=%2Faccount%2F")
		form.Set("response", key.Get(options))
		begun.send(t, "/login/factor/", form)
		checkEqual(t, "after the right passkey", begun.URL.Path, "/account/")
	})
}
