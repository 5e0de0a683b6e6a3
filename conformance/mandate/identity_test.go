package mandate

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

const companyGroups = ", NEW_PEOPLE: domains, ALLOWED_DOMAINS: [company.example], SCOPES: [openid, profile, email, " +
	"groups], GROUPS_CLAIM: groups, GROUPS: {crew: staff, captains: admins}"

// A new person signs in at an application through the company's server, with the right groups.
func TestSignInWithAnotherServer(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s, c := withCompany(t, db, companyGroups)
		for _, name := range []string{"staff", "admins", "own"} {
			s.mustCLI(t, "", "group", "add", name)
		}
		c.employee(t, "ann", "crew", "something else")
		app := s.relyingParty(t)
		address, verifier := s.authorizeURL(app, "scope", "openid email profile")
		b := s.browser(t)
		b.signInWith(t, c, "ann", address)
		b.decide(t, "approve")
		got := s.redeem(t, app, b.Away.Query().Get("code"), verifier)
		claims := s.verified(t, app, "RS256", got.IDToken)
		if acrOf(claims) != "urn:mandate:acr:password <nil>" {
			t.Error(acrOf(claims))
		}
		about := s.userInfo(t, got.AccessToken)
		// This server was not told to trust the company for addresses.
		if about["email"] != "ann@company.example" || about["email_verified"] == true || about["given_name"] != "Given ann" ||
			about["preferred_username"] != "ann@company.example" {
			t.Error(about)
		}
		checkEqual(t, "groups at the first sign-in", s.groupsOf(t, "ann@company.example"), "staff")

		behind(t, db, `INSERT INTO memberships SELECT id, 'own' FROM users WHERE username = 'ann@company.example'`)
		// The address is another one now, and the person is the same.
		c.person(t, "ann", map[string]any{"email": "other@company.example", "email_verified": true,
			"groups": []string{"captains"}})
		again := s.browser(t)
		again.signInWith(t, c, "ann", "/login/?next=/account/")
		again.isAt(t, "the second sign-in", 200, "ann@company.example")
		checkEqual(t, "groups at the second sign-in", s.groupsOf(t, "ann@company.example"), "admins own")
		c.person(t, "ann", map[string]any{})
		s.browser(t).signInWith(t, c, "ann", "/login/")
		checkEqual(t, "groups without the claim", s.groupsOf(t, "ann@company.example"), "own")
		if n := len(s.people(t)); n != 1 {
			t.Errorf("%d people", n)
		}

		// Nobody else comes: not from another domain, and not with an address that nobody has verified.
		c.person(t, "bob", map[string]any{"email": "bob@company.example.evil.example", "email_verified": true})
		c.person(t, "cal", map[string]any{"email": "cal@company.example", "email_verified": false})
		c.person(t, "dan", map[string]any{})
		c.person(t, "fay", map[string]any{"email": "fay@evilcompany.example", "email_verified": true})
		c.person(t, "eve", map[string]any{"email": "ann@company.example", "email_verified": true})
		for name, says := range map[string]string{"bob": "is not known here", "cal": "is not known here",
			"dan": "is not known here", "fay": "is not known here", "eve": "There is an account with your address here " +
				"already."} {
			no := s.browser(t)
			no.signInWith(t, c, name, "/login/")
			no.isAt(t, name, 403, says)
			if no.isSignedIn(t) {
				t.Errorf("%s is signed in", name)
			}
		}

		// Disabled there, and refused here. Disabled here too.
		c.disable(t, "ann")
		gone := s.browser(t)
		gone.signInWith(t, c, "ann", "/login/")
		gone.isAt(t, "disabled there", 403, c.label()+" says that you may not sign in.")
		c.employee(t, "ann")
		s.mustCLI(t, "", "user", "disable", "ann@company.example")
		gone.signInWith(t, c, "ann", "/login/")
		gone.isAt(t, "disabled here", 403, "Your account here is disabled.")
		if gone.isSignedIn(t) {
			t.Error("a disabled person is signed in")
		}
		s.mustCLI(t, "", "user", "delete", "ann@company.example", "--applications", "take-over")
		s.browser(t).signInWith(t, c, "ann", "/login/")
		// A deleted person comes back as a new one, whom no application takes for the former one.
		list := s.people(t)
		back := list[slices.IndexFunc(list, func(u account) bool { return u.Email == "ann@company.example" })]
		if !strings.HasPrefix(back.Username, "person-") || len(back.Groups) > 0 {
			t.Errorf("a deleted person comes back as %+v", back)
		}
		// The event log says how people came, what the company has changed, and who was refused. Of a person who was not
		// added nothing is stored.
		account := "account " + c.label()
		var failed []string
		for _, why := range []string{"", " address-taken", " no-address", " not-verified", " other-domain"} {
			failed = append(failed, ", , "+account+", server"+why)
		}
		for kind, want := range map[string]string{
			"person.added": "ann@company.example, ann@company.example, " + account + ", server; " + back.Username + ", " +
				back.Username + ", " + account + ", server",
			"person.changed": "server, ann@company.example, " + account + ", groups",
			"sign-in.failed": strings.Join(failed, "; ") + "; , ann@company.example, " + account + ", server",
		} {
			checkEqual(t, "events "+kind, s.said(t, kind), want)
		}
		refused := map[string]bool{}
		for _, e := range s.events(t, "--kind", "sign-in.failed") {
			refused[e.Person.ID] = true
		}
		if len(refused) != 2 || !refused[""] { // nobody, and ann
			t.Errorf("the events of refused sign-ins are about %v", refused)
		}
	})
}

// said returns the different events of a kind, each as "actor, person, object, detail".
func (s *server) said(t *testing.T, kind string) string {
	t.Helper()
	said := []string{}
	for _, e := range s.events(t, "--kind", kind) {
		actor := e.Actor.Name
		if e.Actor.Kind == "server" || e.Actor.Kind == "operator" {
			actor = e.Actor.Kind
		}
		said = append(said, fmt.Sprintf("%s, %s, %s, %s", actor, e.Person.Name,
			strings.TrimSpace(e.Object.Kind+" "+e.Object.Name), e.Detail))
	}
	slices.Sort(said)
	return strings.Join(slices.Compact(said), "; ")
}

// The second factor of this server follows, unless the operator says what the other server has checked.
func TestSecondFactorAfterAnotherServer(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s, c := withCompany(t, db, ", TRUSTED_FOR_EMAIL: true, ACR: {gold: urn:mandate:acr:mfa, silver: "+
			"urn:mandate:acr:password}")
		p := s.person(t, "ann", "--email", "ann@company.example", "--email-verified")
		app, _ := s.withApp(t, p)
		person := func(acr string) {
			c.person(t, "ann", map[string]any{"email": "ann@company.example", "email_verified": true, "acr": acr})
		}
		rp := s.relyingParty(t)
		for _, acr := range []string{"silver", "bronze", "urn:mandate:acr:mfa"} {
			person(acr)
			b := s.browser(t)
			address, verifier := s.authorizeURL(rp, "scope", "openid")
			b.signInWith(t, c, "ann", address)
			b.awaitsCode(t, "acr "+acr)
			if b.isSignedIn(t) {
				t.Error("there is a session before the code")
			}
			b.open(t, "/login/factor/?next="+url.QueryEscape(address))
			s.newStep(t)
			b.answers(t, "totp", app.code(0))
			if b.Away == nil && b.shows("decision") {
				b.decide(t, "approve")
			}
			if b.Away == nil {
				t.Fatalf("%d %s\n%s", b.Status, b.URL, b.Body)
			}
			got := s.redeem(t, rp, b.Away.Query().Get("code"), verifier)
			checkEqual(t, "the login", acrOf(s.verified(t, rp, "RS256", got.IDToken)), "urn:mandate:acr:mfa [otp mfa]")
		}
		person("gold")
		b := s.browser(t)
		address, verifier := s.authorizeURL(rp, "scope", "openid", "acr_values", "urn:mandate:acr:mfa")
		b.signInWith(t, c, "ann", address)
		if b.Away == nil {
			t.Fatalf("%d %s\n%s", b.Status, b.URL, b.Body)
		}
		got := s.redeem(t, rp, b.Away.Query().Get("code"), verifier)
		checkEqual(t, "the mapped login", acrOf(s.verified(t, rp, "RS256", got.IDToken)), "urn:mandate:acr:mfa [mfa]")

		// The ticket of the second step ends with the identity.
		person("silver")
		b = s.browser(t)
		b.signInWith(t, c, "ann", "/login/")
		b.awaitsCode(t, "once more")
		checkEqual(t, "the event of an account that the address has linked", s.said(t, "factor.added"),
			"ann, ann, account "+c.label()+", address; ann, ann, totp, ")
		behind(t, db, `DELETE FROM identities`)
		s.newStep(t)
		b.answers(t, "totp", app.code(0))
		if b.isSignedIn(t) {
			t.Error("an identity that was removed has begun a session")
		}
	})
}

// A person adds the account of the company to their own, and removes it again.
func TestAddAndRemoveAnIdentity(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s, c := withCompany(t, db, "")
		ann, bob := s.person(t, "ann"), s.person(t, "bob")
		c.person(t, "a1", map[string]any{})
		no := s.browser(t)
		no.signInWith(t, c, "a1", "/login/?next=/device/")
		no.isAt(t, "before", 403, "is not known here")
		if !strings.Contains(no.Body, "/login/?next=%2Fdevice%2F") {
			t.Error("the page does not lead back to where the person wanted to go")
		}

		b, v := s.signedIn(t, ann), newTraveller(t)
		adds := func(b *browser, name string) {
			t.Helper()
			b.open(t, "/account/identities/new/company/")
			b.submit(t, "Continue to "+c.label(), nil)
			back, asked := v.signIn(t, b.Away, name)
			checkEqual(t, "the company has asked for a new login", asked, true)
			b.open(t, back.String())
		}
		adds(b, "a1")
		b.isAt(t, "added", 200, "The account is added.")
		adds(b, "a1")
		b.isAt(t, "added twice", 200, "The account is added.")
		other := s.browser(t)
		other.signInWith(t, c, "a1", "/login/?next=/account/")
		other.isAt(t, "signed in with it", 200, "ann")
		his := s.signedIn(t, bob)
		adds(his, "a1")
		his.isAt(t, "added by somebody else", 403, "Another person here signs in with this account")

		// A stolen session adds and removes nothing: the sign-in is too old.
		behind(t, db, `UPDATE sessions SET auth_time = auth_time - 301`)
		b.open(t, "/account/")
		remove := regexpSubmatch(t, `href="(/account/identities/[^/]+/remove/)"`, b.Body)
		for _, path := range []string{"/account/identities/new/company/", remove} {
			b.open(t, path)
			if b.URL.Path != "/login/" {
				t.Errorf("%s: %d %s", path, b.Status, b.URL)
			}
			b.send(t, path, nil)
			if b.URL.Path != "/login/" {
				t.Errorf("POST %s: %d %s", path, b.Status, b.URL)
			}
		}
		b.logIn(t, ann)
		his.open(t, remove)
		his.isAt(t, "the identity of another person", 404, "")
		b.open(t, remove)
		b.submit(t, "Remove the account", nil)
		b.isAt(t, "removed", 200, "The account is removed")
		no.signInWith(t, c, "a1", "/login/")
		no.isAt(t, "after that", 403, "is not known here")
		for _, kind := range []string{"factor.added", "factor.removed"} {
			checkEqual(t, "events "+kind, s.said(t, kind), "ann, ann, account "+c.label()+", ")
		}
	})
}

// A person who has no password keeps a way to sign in.
func TestLastIdentityStays(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s, c := withCompany(t, db, companyGroups)
		c.employee(t, "ann")
		b := s.browser(t)
		b.signInWith(t, c, "ann", "/login/?next=/account/")
		if strings.Contains(b.Body, "Change your password") {
			t.Error("the page changes a password that does not exist")
		}
		b.open(t, regexpSubmatch(t, `href="(/account/identities/[^/]+/remove/)"`, b.Body))
		b.submit(t, "Remove the account", nil)
		b.isAt(t, "the last way", 409, "This is the only way in which you can sign in here.")
		no := s.browser(t)
		for _, password := range []string{"", " ", "x"} {
			no.send(t, "/login/", params("username", "ann@company.example", "password", password))
			if no.isSignedIn(t) {
				t.Errorf("the password %q is right", password)
			}
		}
		app := s.application(t, "--name", "Old", "--grant", "password", "--may-introspect")
		for _, password := range []string{"", "x"} {
			_, a := s.token(t, app.auth(),
				params("grant_type", "password", "username", "ann@company.example", "password", password))
			if a.Status != 400 {
				t.Errorf("the password grant: %d %s", a.Status, a.Body)
			}
		}
	})
}

// After signing out here, the person can sign out there.
func TestSignOutAtAnotherServer(t *testing.T) {
	t.Parallel()
	s, c := withCompany(t, newSQLite(t), companyGroups+", LOGOUT: true")
	c.employee(t, "ann")
	b := s.browser(t)
	v := newTraveller(t)
	back, _ := v.signIn(t, b.goTo(t, c, "/login/"), "ann")
	b.open(t, back.String())
	b.submit(t, "Sign out", nil)
	b.isAt(t, "signed out", 200, "You may still be signed in at ")
	b.open(t, regexpSubmatch(t, `href="(/logout/with/company/)"`, b.Body))
	if b.Away == nil || "http://"+b.Away.Host != c.issuer || b.Away.Query().Get("post_logout_redirect_uri") != s.BaseURL+
		"/" || b.Away.Query().Get("client_id") != "mandate" {
		t.Fatalf("sent to %v", b.Away)
	}
	answer, err := v.client.Get(b.Away.String())
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK { // it asks the person
		t.Errorf("the company answers with %d", answer.StatusCode)
	}
	b.open(t, "/logout/with/nobody/")
	b.isAt(t, "an unknown server", 404, "")

	p := s.person(t, "bob")
	other := s.signedIn(t, p)
	other.submit(t, "Sign out", nil)
	if strings.Contains(other.Body, "You may still be signed in at ") {
		t.Error("somebody who signed in with a password is offered to sign out there")
	}
}

// An application that asks for a new login gets one, and changes of how a person signs in need one.
func TestNewLoginAtAnotherServer(t *testing.T) {
	s, c := withCompany(t, newSQLite(t), companyGroups)
	c.employee(t, "ann")
	app := s.relyingParty(t)
	v := newTraveller(t)
	arrives := func(b *browser, address *url.URL, wantAsked bool) {
		t.Helper()
		back, asked := v.signIn(t, address, "ann")
		if asked != wantAsked {
			t.Errorf("the company has asked: %v", asked)
		}
		b.open(t, back.String())
	}
	b := s.browser(t)
	arrives(b, b.goTo(t, c, "/login/?next=/account/"), true)
	b.isAt(t, "signed in", 200, "Account")
	second := s.browser(t)
	arrives(second, second.goTo(t, c, "/login/?next=/account/"), false)
	second.isAt(t, "single sign-on", 200, "Account")
	for _, parameter := range []string{"prompt=login", "max_age=0"} {
		name, value, _ := strings.Cut(parameter, "=")
		address, verifier := s.authorizeURL(app, "scope", "openid", name, value)
		before := time.Now().Unix()
		arrives(second, second.goTo(t, c, address), true)
		if second.shows("decision") {
			second.decide(t, "approve")
		}
		claims := s.verified(t, app, "RS256", s.redeem(t, app, second.Away.Query().Get("code"), verifier).IDToken)
		if number(t, claims, "auth_time") < before {
			t.Errorf("%s: the login was at %v, before %d", parameter, claims["auth_time"], before)
		}
	}

	// The company says that the person signed in there an hour ago, although it was asked for a new login.
	c.step(t, "person", map[string]any{"name": "ann", "claims": map[string]any{}, "ts": time.Now().Unix() - 3600})
	v = newTraveller(t)
	old := s.browser(t)
	arrives(old, old.goTo(t, c, "/login/?next=/account/factors/totp/"), true)
	old.isAt(t, "a change after an old login", 200, "Confirm that it is you")
	arrives(old, old.goTo(t, c, "/login/?next=/account/factors/totp/&reason=confirm"), true)
	old.isAt(t, "an old login again", 403, "does not confirm that you have signed in there just now")
	address, _ := s.authorizeURL(app, "scope", "openid", "prompt", "login")
	arrives(old, old.goTo(t, c, address), true)
	old.isAt(t, "an old login for an application", 403, "does not confirm that you have signed in there just now")
	// Somebody at an open browser removes from the form that the login must be new.
	old.open(t, "/login/?next="+url.QueryEscape(strings.TrimPrefix(address, s.BaseURL))+"&reason=request")
	old.send(t, "/login/with/company/", params("next", "/account/factors/totp/"))
	arrives(old, old.Away, false)
	old.isAt(t, "a change without a new login", 200, "Confirm that it is you")

	// The clock of the company is ahead: the login is not one of tomorrow, which would stay a new one.
	c.step(t, "person", map[string]any{"name": "ann", "claims": map[string]any{}, "ts": time.Now().Unix() + 24*3600})
	v = newTraveller(t)
	ahead := s.browser(t)
	arrives(ahead, ahead.goTo(t, c, "/login/?next=/account/"), true)
	var tomorrow int
	behind(t, s.database, fmt.Sprintf(`SELECT COUNT(*) FROM sessions WHERE auth_time > %d`, time.Now().Unix()), &tomorrow)
	if !ahead.isSignedIn(t) || tomorrow != 0 {
		t.Errorf("a login of tomorrow: %d sessions", tomorrow)
	}

	// A server that does not say the time: without max_age it need not (OIDC Core §2).
	c.employee(t, "ann")
	v = newTraveller(t)
	untold := *old.goTo(t, c, "/login/?next=/account/factors/totp/")
	query := untold.Query()
	query.Del("max_age")
	untold.RawQuery = query.Encode()
	arrives(old, &untold, true)
	old.isAt(t, "a change after a login of an unknown time", 200, "Confirm that it is you")
	if !old.isSignedIn(t) {
		t.Error("a login of an unknown time does not sign in")
	}

	// The login page cannot see that a pushed request asks for a new login. An old one does not count.
	c.step(t, "person", map[string]any{"name": "ann", "claims": map[string]any{}, "ts": time.Now().Unix() - 3600})
	v = newTraveller(t)
	hidden := s.browser(t)
	pushed, _ := s.pushed(t, app, "scope", "openid", "prompt", "login")
	arrives(hidden, hidden.goTo(t, c, pushed), true)
	hidden.isAt(t, "an old login for a pushed request", 200, "The application requires that you sign in again.")

	// A second factor here does not make the login a new one.
	hidden.open(t, "/account/")
	behind(t, s.database, `UPDATE sessions SET auth_time = `+fmt.Sprint(time.Now().Unix()))
	hidden.open(t, "/account/factors/totp/")
	phone := hidden.addsApp(t)
	step := s.browser(t)
	pushed, _ = s.pushed(t, app, "scope", "openid", "prompt", "login")
	arrives(step, step.goTo(t, c, pushed), false)
	step.awaitsCode(t, "after an old login")
	step.answers(t, "totp", phone.code(0))
	step.isAt(t, "an old login and a code", 200, "The application requires that you sign in again.")

	// Afterwards the person does sign in there.
	behind(t, s.database, `DELETE FROM totps`)
	c.employee(t, "ann")
	v = newTraveller(t)
	arrives(old, old.goTo(t, c, "/login/?next=/account/factors/totp/&reason=confirm"), true)
	old.isAt(t, "a new login", 200, "Add an authenticator app")
}
