package mandate

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Account takeover before sign-up, and takeover by an address that nobody has verified (CVE-2026-15611,
// CVE-2026-15612): an address leads to an account only if both servers have verified it, only one person
// has it, and the operator trusts the other server.
func TestAttackTakeoverByAddress(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		trusted, untrusted := newCompany(t, "trusted"), newCompany(t, "untrusted")
		const join = ", NEW_PEOPLE: domains, ALLOWED_DOMAINS: [company.example]"
		s := startServer(t, options{database: db,
			settings: []string{privateNetworks, "SIGN_IN_SERVERS: [" + trusted.setting(join+", TRUSTED_FOR_EMAIL: true") + ", " +
				untrusted.setting(join) + "]"}})
		trusted.start(t, s)
		untrusted.start(t, s)
		// Before the victims come, somebody registers their addresses here.
		for name, flags := range map[string][]string{
			"squatter": {"--email", "victim@company.example"},
			"proven":   {"--email", "Proven@Company.example", "--email-verified"},
			"one":      {"--email", "twice@company.example", "--email-verified"},
			"two":      {"--email", "TWICE@company.example", "--email-verified"},
			"locked":   {"--email", "locked@company.example", "--email-verified"},
			"kelvin":   {"--email", "kelvin@company.example", "--email-verified"}, // the sign for kelvin is k in lower case
		} {
			s.person(t, name, flags...)
		}
		s.mustCLI(t, "", "user", "disable", "locked")
		before := len(s.people(t))
		for _, c := range []struct {
			what     string
			at       *company
			email    string
			verified any
			says     string
		}{
			{"an address that is not verified here", trusted, "victim@company.example", true,
				"There is an account with your address here already."},
			{"the same at a server that is not trusted", untrusted, "victim@company.example", true,
				"There is an account with your address here already."},
			{"a verified address, at a server that is not trusted", untrusted, "proven@company.example", true,
				"There is an account with your address here already."},
			{"an address that is not verified there", trusted, "proven@company.example", false, "is not known here"},
			{"one that is verified there by a text", trusted, "proven@company.example", "false", "is not known here"},
			{"an address without a word about it", trusted, "proven@company.example", nil, "is not known here"},
			{"an address that two people have", trusted, "twice@company.example", true,
				"There is an account with your address here already."},
			{"the address of a disabled person", trusted, "locked@company.example", true,
				"There is an account with your address here already."},
			{"an address that becomes another one in lower case", trusted, "\u212Aelvin@company.example", true,
				"is not known here"},
			{"an empty address", trusted, "", true, "is not known here"},
			{"two addresses in one", trusted, "proven@company.example, x@company.example", true, "is not known here"},
			{"an address with a NUL", trusted, "proven@company.example\x00", true, "is not known here"},
		} {
			claims := map[string]any{"email": c.email}
			if c.verified != nil {
				claims["email_verified"] = c.verified
			}
			c.at.person(t, "attacker", claims)
			b := s.browser(t)
			b.signInWith(t, c.at, "attacker", "/login/")
			b.isAt(t, c.what, 403, c.says)
			if b.isSignedIn(t) {
				t.Errorf("%s: signed in", c.what)
			}
		}
		if n := len(s.people(t)); n != before {
			t.Errorf("%d people are there, before %d", n, before)
		}
		trusted.person(t, "owner", map[string]any{"email": "proven@company.example", "email_verified": true})
		b := s.browser(t)
		b.signInWith(t, trusted, "owner", "/login/?next=/account/")
		b.isAt(t, "a verified address at a trusted server", 200, "<bdi>proven</bdi>")
		// From now on the subject decides: somebody who gets the address there later is somebody else.
		trusted.person(t, "successor", map[string]any{"email": "proven@company.example", "email_verified": true})
		trusted.person(t, "owner", map[string]any{"email": "new@company.example", "email_verified": true})
		b.signInWith(t, trusted, "owner", "/login/?next=/account/")
		b.isAt(t, "the same person with another address", 200, "<bdi>proven</bdi>")
	})
}

// A server that the operator does not trust for addresses claims the address of somebody who was invited. Its
// NEW_PEOPLE: domains makes an account, and does not give away the groups of the invitation.
func TestAttackInvitationTakenByAnUntrustedServer(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		trusted, untrusted := newCompany(t, "trusted"), newCompany(t, "untrusted")
		const join = ", NEW_PEOPLE: domains, ALLOWED_DOMAINS: [company.example]"
		s := startServer(t, options{database: db,
			settings: []string{privateNetworks, "SIGN_IN_SERVERS: [" + trusted.setting(join+", TRUSTED_FOR_EMAIL: true") + ", " +
				untrusted.setting(join) + "]"}})
		trusted.start(t, s)
		untrusted.start(t, s)
		s.mustCLI(t, "", "group", "add", "admins")
		for at, want := range map[*company]string{untrusted: "", trusted: "admins"} {
			address := at.name + "@company.example"
			s.secret(strings.TrimSpace(s.mustCLI(t, "", "invitation", "add", address, "--group", "admins", "--no-mail")))
			at.person(t, "somebody", map[string]any{"email": address, "email_verified": true})
			b := s.browser(t)
			b.signInWith(t, at, "somebody", "/login/?next=/account/")
			b.isAt(t, at.name, 200, address)
			checkEqual(t, "the groups of a person who comes from the server "+at.name, s.groupsOf(t, address), want)
		}
	})
}

// Login CSRF at the other server (RFC 9700 §4.7): the browser of the person is still signed in there as somebody else,
// whose account would sign in as the person from then on. Whoever adds an account has signed in there just now, and a
// server that ignores prompt=login and names the time of an earlier login adds none.
func TestAttackOldLoginAddsAnAccount(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s, c := withCompany(t, db, "")
		b := s.signedIn(t, s.person(t, "ann"))
		adds := func(name string, at any, change func(url.Values)) {
			t.Helper()
			c.step(t, "person", map[string]any{"name": name, "claims": map[string]any{}, "ts": at})
			b.open(t, "/account/identities/new/company/")
			b.submit(t, "Continue to "+c.label(), nil)
			address := *b.Away
			query := address.Query()
			change(query)
			address.RawQuery = query.Encode()
			back, _ := newTraveller(t).signIn(t, &address, name)
			b.open(t, back.String())
		}
		signsIn := func(name string, status int, says string) {
			t.Helper()
			other := s.browser(t)
			other.signInWith(t, c, name, "/login/?next=/account/")
			other.isAt(t, name+" signs in", status, says)
		}
		unchanged := func(url.Values) {}
		adds("thief", time.Now().Unix()-3600, unchanged)
		b.isAt(t, "an old login", 403, "says that you did not sign in there just now. Sign out there, then add the account "+
			"again.")
		if n := rows(t, db, "identities"); n != 0 {
			t.Errorf("%d accounts were added", n)
		}
		signsIn("thief", 403, "is not known here")
		adds("earlier", time.Now().Unix()-61, unchanged)
		b.isAt(t, "a login of just before", 403, "did not sign in there just now")
		adds("behind", time.Now().Unix()-20, unchanged)
		b.isAt(t, "a clock that differs a little", 200, "The account is added.")
		signsIn("behind", 200, "ann")
		// A server that ignores both parameters need not say the time (OIDC Core §2).
		adds("untold", time.Now().Unix()-3600, func(q url.Values) {
			q.Del("max_age")
			q.Del("prompt")
		})
		b.isAt(t, "a login of an unknown time", 200, "The account is added.")
		signsIn("untold", 200, "ann")
	})
}

// Forged, replayed and confused responses of another server (CVE-2026-105215): the response belongs to a
// request of this browser, comes at the redirect URI of its server, and works once.
func TestAttackForgedResponseOfAnotherServer(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		var called atomic.Int64
		silent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			called.Add(1)
			w.WriteHeader(http.StatusServiceUnavailable)
		}))
		t.Cleanup(silent.Close)
		c, evil := newCompany(t, "company"), newCompany(t, "evil")
		quiet := &company{name: "quiet", issuer: silent.URL}
		s := startServer(t, options{database: db,
			settings: []string{privateNetworks, "SIGN_IN_SERVERS: [" + c.setting(companyGroups) + ", " +
				evil.setting(companyGroups) + ", " + quiet.setting("") + "]"}})
		c.start(t, s)
		evil.start(t, s)
		c.employee(t, "ann")
		evil.employee(t, "ann")
		const notBegun = "This sign-in was not begun in this browser"

		// Nobody reaches the other server without a sign-in that this browser began.
		b := s.browser(t)
		for _, query := range []string{"?code=x&state=y", "?code=x", "?error=access_denied&state=y", "", "?state=&code=x"} {
			b.open(t, "/login/with/quiet/callback/"+query)
			b.isAt(t, "a forged response "+query, 400, notBegun)
			planted := s.carrying(t, "mandate_leaving", strings.Repeat("A", 80))
			planted.open(t, "/login/with/quiet/callback/"+query)
			planted.isAt(t, "with a cookie that this server did not make", 400, notBegun)
		}
		b.open(t, "/login/with/quiet/callback/?code=x&code=y&state=z")
		b.isAt(t, "two codes", 400, "")
		b.open(t, "/login/with/nobody/callback/?code=x&state=y")
		b.isAt(t, "an unknown server", 404, "")
		if called.Load() != 0 {
			t.Errorf("the other server was called %d times", called.Load())
		}
		b.open(t, "/login/")
		b.submit(t, quiet.button(), nil)
		b.isAt(t, "a server that does not answer", 503, "does not answer right now")
		if b.Header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}

		// The response of one browser in another one: the attacker's code would sign the victim in as the attacker.
		attacker, victim := s.browser(t), s.browser(t)
		back, _ := newTraveller(t).signIn(t, attacker.goTo(t, c, "/login/?next=/account/"), "ann")
		victim.open(t, back.String())
		victim.isAt(t, "a response of another browser", 400, notBegun)
		victim.goTo(t, c, "/login/")
		victim.open(t, back.String())
		victim.isAt(t, "the same in a browser with a request of its own", 400, notBegun)
		stolen := attacker.cookie(t, "/", "mandate_leaving")

		// A response that names another server, or none (RFC 9207).
		for what, change := range map[string]func(url.Values){
			"another issuer": func(q url.Values) { q.Set("iss", evil.issuer) },
			"no issuer":      func(q url.Values) { q.Del("iss") },
			"an error of another issuer": func(q url.Values) {
				q.Set("iss", evil.issuer)
				q.Set("error", "access_denied")
				q.Del("code")
			},
		} {
			other := s.browser(t)
			changed, _ := newTraveller(t).signIn(t, other.goTo(t, c, "/login/"), "ann")
			query := changed.Query()
			change(query)
			changed.RawQuery = query.Encode()
			other.open(t, changed.String())
			other.isAt(t, what, 400, "was not accepted")
			if other.isSignedIn(t) {
				t.Errorf("%s: signed in", what)
			}
		}
		// The response of one server at the redirect URI of another one: the code would go to the other server.
		mixed := s.browser(t)
		at, _ := newTraveller(t).signIn(t, mixed.goTo(t, c, "/login/"), "ann")
		at.Path = "/login/with/evil/callback/"
		mixed.open(t, at.String())
		mixed.isAt(t, "the redirect URI of another server", 400, notBegun)

		// Once: with the response, and with the cookie, which somebody may have copied.
		attacker.open(t, back.String())
		attacker.isAt(t, "the right browser", 200, "ann@company.example")
		attacker.open(t, back.String())
		attacker.isAt(t, "a second time", 400, notBegun)
		again := s.carrying(t, "mandate_leaving", stolen)
		again.open(t, back.String())
		again.isAt(t, "a second time with the cookie", 400, notBegun)

		// The same person at another server is another one here.
		other := s.browser(t)
		other.signInWith(t, evil, "ann", "/login/")
		other.isAt(t, "the same subject at another server", 403, "There is an account with your address here already.")
	})
}

// A sign-in with another server ends at this server, and only its own pages begin one.
func TestAttackSignInAddresses(t *testing.T) {
	t.Parallel()
	s, c := withCompany(t, newSQLite(t), companyGroups)
	c.employee(t, "ann")
	for _, next := range []string{"https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:alert(1)",
		"/login/../../evil", "http://127.0.0.1@evil.example/"} {
		b := s.browser(t)
		b.open(t, "/login/")
		b.send(t, "/login/with/company/", params("next", next))
		back, _ := newTraveller(t).signIn(t, b.Away, "ann")
		b.open(t, back.String())
		if b.Away != nil || b.URL.Path != "/" {
			t.Errorf("%s leads to %s, %v", next, b.URL, b.Away)
		}
	}
	as := func(r *http.Request, _ url.Values) {
		r.Header.Set("Origin", "https://evil.example")
		r.Header.Set("Sec-Fetch-Site", "cross-site")
	}
	for _, path := range []string{"/login/with/company/", "/account/identities/new/company/"} {
		if a := s.post(t, path, as, params("next", "/")); a.Status != http.StatusForbidden {
			t.Errorf("a form of another site at %s: %d", path, a.Status)
		}
	}
	if a := s.get(t, "/login/with/company/", nobody); a.Status != http.StatusSeeOther ||
		a.Header.Get("Location") != "/login/" || a.Header.Get("Set-Cookie") != "" {
		t.Error("a link begins a sign-in:", a.Status, a.Header)
	}
	// The operator has not said that people sign out there too.
	if a := s.get(t, "/logout/with/company/", nobody); a.Status != http.StatusNotFound {
		t.Errorf("signing out there: %d %s", a.Status, a.Header.Get("Location"))
	}
	if a := s.post(t, "/login/with/nobody/", nobody, params("next", "/")); a.Status != http.StatusNotFound {
		t.Errorf("an unknown server: %d", a.Status)
	}
	// A long request is carried to the other server and back, and one that is too long is refused at once.
	app := s.relyingParty(t)
	for _, size := range []int{1000, 4000} {
		address, _ := s.authorizeURL(app, "scope", "openid", "state", randomText(size))
		b := s.browser(t)
		if size == 4000 {
			b.open(t, address)
			b.submit(t, c.button(), nil)
			b.isAt(t, "a request that is too long", 400, "too long for signing in with another server")
			continue
		}
		b.signInWith(t, c, "ann", address)
		if !b.shows("decision") {
			t.Errorf("a request with %d bytes of state: %d %s", size, b.Status, b.URL)
		}
	}
}

// An identity is added for the session that asked for it, and for nobody else in the same browser.
func TestAttackIdentityOfAnotherPersonInTheSameBrowser(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s, c := withCompany(t, db, "")
		mallory, victim := s.person(t, "mallory"), s.person(t, "victim")
		c.person(t, "m", map[string]any{})
		b := s.signedIn(t, mallory)
		b.open(t, "/account/identities/new/company/")
		b.submit(t, "Continue to "+c.label(), nil)
		back, _ := newTraveller(t).signIn(t, b.Away, "m")
		b.open(t, "/account/")
		b.submit(t, "Sign out", nil)
		b.open(t, "/login/")
		b.logIn(t, victim)
		b.open(t, back.String())
		b.isAt(t, "in the session of somebody else", 400, "This sign-in was not begun in this browser")
		other := s.browser(t)
		other.signInWith(t, c, "m", "/login/")
		other.isAt(t, "signing in with it", 403, "is not known here")
	})
}

// A stranger who can begin sign-ins does not reach the other server without end, and does not stop others.
func TestAttackFloodOfResponses(t *testing.T) {
	s, c := withCompany(t, newSQLite(t), companyGroups, "TRUSTED_PROXIES: [127.0.0.1]")
	c.employee(t, "ann")
	limited := 0
	for range 130 {
		b := s.browser(t)
		b.open(t, "/login/")
		b.submit(t, c.button(), nil)
		state := b.Away.Query().Get("state")
		b.open(t, "/login/with/company/callback/?code=invented&state="+state+"&iss="+url.QueryEscape(c.issuer))
		switch b.Status {
		case http.StatusBadRequest:
		case http.StatusTooManyRequests:
			limited++
		default:
			t.Fatalf("%d\n%s", b.Status, b.Body)
		}
	}
	if limited == 0 {
		t.Error("nothing limits invented codes")
	}
	p := s.person(t, "bob")
	s.signedIn(t, p)
}
