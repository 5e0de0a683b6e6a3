package mandate

import (
	"encoding/base64"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mandate/provider/passkey/passkeytest"
)

const (
	invitationSubject = "You are invited to Mandate"
	signUpSubject     = "Create your account"
	knownSubject      = "You have an account already"
)

// invites invites a person on the page, and returns the link in the message.
func (m *mailing) invites(t *testing.T, admin *browser, address string, groups ...string) string {
	t.Helper()
	n := len(m.to(t, address, invitationSubject))
	admin.open(t, "/admin/invitations/new/")
	form := params("recipient", address)
	if len(groups) > 0 {
		form["group"] = groups
	}
	admin.submit(t, "Invite", form)
	if admin.URL.Path != "/admin/invitations/" || !strings.Contains(admin.Body, "The person is invited.") {
		t.Fatalf("%d %s\n%s", admin.Status, admin.URL, admin.Body)
	}
	return m.linkIn(t, m.waitTo(t, address, invitationSubject, n+1))
}

// byHand invites a person by the command, and returns the path of the link.
func (s *server) byHand(t testing.TB, address string, more ...string) string {
	t.Helper()
	link := strings.TrimPrefix(
		strings.TrimSpace(s.mustCLI(t, "", append([]string{"invitation", "add", address, "--no-mail"}, more...)...)),
		s.BaseURL)
	s.secret(strings.Split(link, "/")[2])
	return link
}

// joins makes an account with a password.
func (b *browser) joins(t testing.TB, link string, form ...string) {
	t.Helper()
	b.open(t, link)
	b.submit(t, "Create the account", params(append([]string{"password", "words of a new person"}, form...)...))
}

// joinsByPasskey makes an account with a passkey.
func (b *browser) joinsByPasskey(t testing.TB, link string, form ...string) *passkeytest.Authenticator {
	t.Helper()
	options, ceremony := b.begunPasskey(t, link, form...)
	a := &passkeytest.Authenticator{Origin: b.server.BaseURL, Counter: 1}
	ceremony.Set("response", a.Create(options))
	b.send(t, link+"passkey/", ceremony)
	a.Counter++
	return a
}

// begunPasskey returns the request for the passkey of a new account, and the form of the page.
func (b *browser) begunPasskey(t testing.TB, link string, form ...string) (string, url.Values) {
	t.Helper()
	b.open(t, link)
	b.submit(t, "Continue with a passkey", params(form...))
	for _, f := range b.forms() {
		if has(f.node, "data-passkey") {
			return attribute(f.node, "data-options"), f.values()
		}
	}
	t.Fatalf("%s shows %d without a request for a passkey:\n%s", b.URL, b.Status, b.Body)
	return "", nil
}

// isPerson asserts who is signed in.
func (b *browser) isPerson(t testing.TB, name string) {
	t.Helper()
	b.open(t, "/account/")
	if b.URL.Path != "/account/" || !strings.Contains(b.Body, "<bdi>"+name+"</bdi>") {
		t.Fatalf("%s is not signed in: %d %s\n%s", name, b.Status, b.URL, b.Body)
	}
}

// dead asserts that a link makes no account any more, on any node.
func dead(t testing.TB, what, link string, nodes ...*server) {
	t.Helper()
	for _, node := range nodes {
		if got := node.get(t, link, nobody); got.Status != http.StatusNotFound {
			t.Errorf("%s: GET %d", what, got.Status)
		}
		for _, form := range []url.Values{params("username", "thief", "password", "words of a thief in a row"),
			params("username", "thief", "way", "passkey")} {
			if got := node.post(t, link, ownForm, form); got.Status != http.StatusNotFound {
				t.Errorf("%s: POST %d\n%s", what, got.Status, got.Body)
			}
		}
	}
}

// A person is invited by mail, and makes an account with a passkey and without a password.
func TestInvitationByMail(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		m := startMailing(t, db, "localhost")
		m.mustCLI(t, "", "group", "add", "staff")
		m.mustCLI(t, "", "group", "add", "night shift")
		admin := m.signedIn(t, m.admin)
		link := m.invites(t, admin, "ann@example.com", "staff", "night shift")
		message := m.to(t, "ann@example.com", invitationSubject)[0]
		if !strings.Contains(message.Text, "root has invited you to create an account at Mandate.") {
			t.Errorf("%s", message.Text)
		}
		for range 3 { // a mail scanner opens the link first
			answer := m.get(t, link, nobody)
			if answer.Status != http.StatusOK || answer.Header.Get("Referrer-Policy") != "strict-origin" ||
				answer.Header.Get("Cache-Control") != "no-store" {
				t.Fatalf("GET: %d %v", answer.Status, answer.Header)
			}
		}
		b := m.other.browser(t)
		options, form := b.begunPasskey(t, link, "username", "ann", "first_name", "Ann", "last_name", "Example")
		// Nothing is stored before the passkey is made.
		if people := m.people(t); slices.ContainsFunc(people, func(a account) bool { return a.Username == "ann" }) {
			t.Errorf("%+v", people)
		}
		a := &passkeytest.Authenticator{Origin: m.BaseURL, Counter: 1}
		form.Set("response", a.Create(options))
		b.send(t, link+"passkey/", form)
		if b.URL.Path != "/" || !strings.Contains(b.Body, "Your account is created, and you are signed in.") {
			t.Fatalf("%d %s\n%s", b.Status, b.URL, b.Body)
		}
		b.isPerson(t, "ann")
		for _, text := range []string{"Ann Example", "ann@example.com", "Passkeys"} {
			if !strings.Contains(b.Body, text) {
				t.Errorf("the account page lacks %q", text)
			}
		}
		if strings.Contains(b.Body, "Not confirmed") || b.shows("current_password") {
			t.Errorf("the address is not confirmed, or there is a password:\n%s", b.Body)
		}
		checkEqual(t, "groups", m.groupsOf(t, "ann"), "night shift staff")
		dead(t, "after its use", link, m.server, m.other)
		again := m.browser(t)
		request, signIn := again.asked(t, "/login/?next=/account/")
		a.Counter++
		signIn.Set("response", a.Get(request))
		again.send(t, "/login/passkey/", signIn)
		again.isPerson(t, "ann")
		admin.open(t, "/admin/invitations/")
		if strings.Contains(admin.Body, "ann@example.com") {
			t.Error("the invitation is still listed")
		}
		m.settled(t)
		// the second browser's
		checkEqual(t, "messages of a sign-in with a new browser", len(m.to(t, "ann@example.com", signInSubject)), 1)
	})
}

// Without mail, the administrator passes the link on. It shows nothing about the address.
func TestInvitationByHand(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db, provider: []string{"OIDC_ENABLED: true", openidScopes}})
		admin := s.signedIn(t, s.person(t, "root", "--admin"))
		shown := regexp.MustCompile(`>` + regexp.QuoteMeta(s.BaseURL) + `(/sign-up/([A-Za-z0-9_-]{43})/)<`)
		link := func() string {
			t.Helper()
			found := shown.FindStringSubmatch(admin.Body)
			if admin.Status != http.StatusOK || found == nil {
				t.Fatalf("%d: no link\n%s", admin.Status, admin.Body)
			}
			s.secret(found[2])
			return found[1]
		}
		admin.open(t, "/admin/users/")
		admin.open(t, "/admin/invitations/")
		admin.open(t, "/admin/invitations/new/")
		admin.submit(t, "Invite", params("recipient", "nowhere"))
		admin.isAt(t, "a wrong address", http.StatusUnprocessableEntity, "This is not an email address")
		admin.submit(t, "Invite", params("recipient", "ann@example.com"))
		first := link()
		admin.open(t, "/admin/invitations/new/")
		admin.submit(t, "Invite", params("recipient", "Ann@example.com"))
		admin.isAt(t, "invited twice", http.StatusUnprocessableEntity, "There is an invitation for this address already.")
		admin.open(t, "/admin/invitations/?q=ANN")
		page := regexpSubmatch(t, `href="(/admin/invitations/[a-z0-9]{26}/)"`, admin.Body)
		admin.open(t, page)
		admin.submit(t, "Show a new link", nil)
		second := link()
		dead(t, "the old link", first, s)
		b := s.browser(t)
		b.open(t, second)
		b.submit(t, "Create the account", params("password", "short"))
		b.isAt(t, "a short password", http.StatusUnprocessableEntity, "Use at least 15 characters")
		b.submit(t, "Create the account", params("password", "words of a new person", "username", "root"))
		b.isAt(t, "somebody's username", http.StatusUnprocessableEntity, "A person with that username already exists.")
		b.submit(t, "Create the account", params("password", "words of a new person", "username", "Root@example.com"))
		b.isAt(t, "somebody's address", http.StatusUnprocessableEntity, "Use your own email address, or a name without @.")
		b.submit(t, "Create the account",
			params("password", "words of a new person", "username", "ann@example.com", "first_name", strings.Repeat("x", 151)))
		b.isAt(t, "a long name", http.StatusUnprocessableEntity, "Use at most 150 characters.")
		b.submit(t, "Create the account", params("password", "words of a new person", "first_name", "Ann"))
		b.isPerson(t, "ann@example.com")
		if !strings.Contains(b.Body, "ann@example.com") {
			t.Errorf("the account page lacks the address:\n%s", b.Body)
		}
		s.signedIn(t, person{"ann@example.com", "words of a new person"})
		dead(t, "after its use", second, s)
		var profile string
		behind(t, db, `SELECT profile FROM users WHERE username = 'ann@example.com'`, &profile)
		if strings.Contains(profile, "email_verified") {
			t.Errorf("the address counts as verified: %s", profile)
		}
		for _, address := range []string{"ann@example.com", "bob@example.com"} {
			admin.open(t, "/admin/invitations/new/")
			admin.submit(t, "Invite", params("recipient", address))
			if address == "ann@example.com" {
				admin.isAt(t, "somebody's address", http.StatusUnprocessableEntity, "Somebody here has this address already.")
			}
		}
		withdrawn := link()
		admin.open(t, "/admin/invitations/")
		page = regexpSubmatch(t, `href="(/admin/invitations/[a-z0-9]{26}/)"`, admin.Body)
		admin.open(t, page+"withdraw/")
		admin.submit(t, "Withdraw the invitation", nil)
		admin.isAt(t, "withdrawn", http.StatusOK, "There is no invitation.")
		dead(t, "withdrawn", withdrawn, s)
		for _, path := range []string{page, page + "withdraw/"} {
			admin.open(t, path)
			checkEqual(t, path, admin.Status, http.StatusNotFound)
		}
		// Nobody else sees or makes invitations.
		bob := s.signedIn(t, s.person(t, "bob"))
		for _, path := range []string{"/admin/invitations/", "/admin/invitations/new/", "/admin/invitations/list/", page,
			page + "renew/", page + "withdraw/"} {
			bob.open(t, path)
			checkEqual(t, path, bob.Status, http.StatusForbidden)
		}
		bob.send(t, "/admin/invitations/new/", params("recipient", "eve@example.com"))
		checkEqual(t, "an invitation by somebody who is no administrator", bob.Status, http.StatusForbidden)
	})
}

// All people of a list are invited, or none.
func TestInvitationList(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		m := startMailing(t, db)
		m.mustCLI(t, "", "group", "add", "staff")
		admin := m.signedIn(t, m.admin)
		admin.open(t, "/admin/invitations/list/")
		admin.submit(t, "Invite",
			params("list", "email,groups\nann@example.com,staff\nnowhere,nobody\nbob@example.com,\nANN@example.com"))
		for _, text := range []string{"Line 3, email: This is not an email address",
			`Line 3, groups: There is no group "nobody".`, "Line 5, email: The address is in line 2 already.",
			"Nobody was invited."} {
			admin.isAt(t, "mistakes", http.StatusUnprocessableEntity, text)
		}
		if !strings.Contains(admin.Body, "bob@example.com,") {
			t.Error("the form does not keep the list")
		}
		admin.submit(t, "Invite", params("list", "email,groups\nann@example.com,staff\nbob@example.com,"))
		admin.isAt(t, "a list", http.StatusOK, "All people of the list are invited.")
		admin.open(t, "/admin/invitations/list/")
		admin.submit(t, "Invite", params("file", "\ufeffcarol@example.com\r\ndora@example.com\r\n", "by_hand", "on"))
		links := regexp.MustCompile(`/sign-up/([A-Za-z0-9_-]{43})/`).FindAllStringSubmatch(admin.Body, -1)
		if admin.Status != http.StatusOK || len(links) != 4 { // beside each address, and all together
			t.Fatalf("%d: %v", admin.Status, links)
		}
		for _, link := range links {
			m.secret(link[1])
		}
		lines := html.UnescapeString(regexpSubmatch(t, `(?s)<pre data-copy[^>]*>(.*?)</pre>`, admin.Body))
		if want := "email,link\ncarol@example.com," + m.BaseURL + links[0][0] + "\ndora@example.com," + m.BaseURL +
			links[1][0] + "\n"; lines != want {
			t.Errorf("all links: %q, want %q", lines, want)
		}
		admin.open(t, "/admin/invitations/list/")
		admin.submit(t, "Invite", params("list", "erin@example.com", "file", "frank@example.com\n"))
		admin.isAt(t, "a text and a file", http.StatusUnprocessableEntity, "There are people in the field and in the file.")
		admin.submit(t, "Invite", params("list", ""))
		admin.isAt(t, "nothing", http.StatusUnprocessableEntity, "The list is empty.")
		for _, name := range []string{"ann", "bob"} {
			link := m.linkIn(t, m.waitTo(t, name+"@example.com", invitationSubject, 1))
			b := m.other.browser(t)
			b.joins(t, link)
			b.isPerson(t, name+"@example.com")
		}
		checkEqual(t, "groups of ann", m.groupsOf(t, "ann@example.com"), "staff")
		checkEqual(t, "groups of bob", m.groupsOf(t, "bob@example.com"), "")
		m.settled(t)
		checkEqual(t, "messages to carol", len(m.to(t, "carol@example.com", invitationSubject)), 0)
	})
}

// A person comes from an application, makes an account, and returns to the application.
func TestOpenSignUp(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		m := startMailingWith(t, db, "", "SIGN_UP: open", "SIGN_UP_ALLOWED_DOMAINS: [example.com, example.org]")
		address, verifier := m.authorizeURL(m.web, "scope", "read", "state", "of the application")
		b := m.browser(t)
		b.open(t, address)
		b.open(t, regexpSubmatch(t, `href="(/sign-up/\?next=[^"]*)"`, b.Body))
		b.submit(t, "Send the link", params("email", "ann@elsewhere.example"))
		b.isAt(t, "another domain", http.StatusUnprocessableEntity, "Use an address that ends in @example.com, @example.org.")
		b.submit(t, "Send the link", params("email", "ann@EXAMPLE.com"))
		b.isAt(t, "asked", http.StatusOK, "A message is on its way to the address that you entered.")
		checkEqual(t, "after that", b.URL.Path, "/sign-up/asked/")
		again := regexpSubmatch(t, `href="(/sign-up/\?next=[^"]*)"`, b.Body)
		if next := regexpSubmatch(t, `href="(/login/\?next=[^"]*)"`, b.Body); !strings.Contains(next, "authorize") ||
			!strings.Contains(again, "authorize") {
			t.Errorf("the request of the application is lost: %s, %s", next, again)
		}
		link := m.linkIn(t, m.waitTo(t, "ann@EXAMPLE.com", signUpSubject, 1))
		b.joins(t, link, "username", "ann")
		if b.Away == nil || b.Away.Query().Get("state") != "of the application" {
			t.Fatalf("%d %s, sent to %v\n%s", b.Status, b.URL, b.Away, b.Body)
		}
		m.redeem(t, m.web, b.Away.Query().Get("code"), verifier)
		b.isPerson(t, "ann")
		if strings.Contains(b.Body, "Not confirmed") {
			t.Error("the address is not confirmed")
		}
		checkEqual(t, "groups", m.groupsOf(t, "ann"), "")
		dead(t, "after its use", link, m.server, m.other)
		// In another browser, the person goes on at the start page: nobody else decides where.
		m.asksForAccount(t, m.other, "bob@example.org")
		// planted
		phone := m.carrying(t, "mandate_joining", base64.RawURLEncoding.EncodeToString([]byte("https://evil.example/")))
		phone.joins(t, m.linkIn(t, m.waitTo(t, "bob@example.org", signUpSubject, 1)), "username", "bobby")
		if phone.Away != nil || phone.URL.Path != "/" {
			t.Errorf("the page after the sign-up is %s, sent to %v", phone.URL, phone.Away)
		}
		// Neither the next person in a browser nor a very long address is led on.
		at, err := url.Parse(m.URL)
		if err != nil {
			t.Fatal(err)
		}
		b.open(t, "/sign-up/?next="+url.QueryEscape("/device/?x="+strings.Repeat("x", 1200)))
		b.submit(t, "Send the link", params("email", "carl@example.org"))
		for _, c := range b.client.Jar.Cookies(at) {
			if c.Name == "mandate_joining" {
				t.Errorf("the browser keeps %d bytes", len(c.Value))
			}
		}
		m.linkIn(t, m.waitTo(t, "carl@example.org", signUpSubject, 1))
		// Somebody who has an account learns it by mail, also by the address in another case.
		m.asksForAccount(t, m.server, "Ann@Example.com")
		known := m.waitTo(t, "ann@EXAMPLE.com", knownSubject, 1)
		if !strings.Contains(known.Text, "There is one already: ann\n") || links.MatchString(known.Text) {
			t.Errorf("%s", known.Text)
		}
	})
}

// asksForAccount asks for an account on the page.
func (m *mailing) asksForAccount(t *testing.T, node *server, address string) {
	t.Helper()
	b := node.browser(t)
	b.open(t, "/sign-up/?next=/device/")
	b.submit(t, "Send the link", params("email", address))
	if b.URL.Path != "/sign-up/asked/" ||
		!strings.Contains(b.Body, "A message is on its way to the address that you entered.") {
		t.Fatalf("%d %s\n%s", b.Status, b.URL, b.Body)
	}
}

// Which pages there are depends on SIGN_UP.
func TestSignUpPolicies(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string][2]int{"off": {http.StatusNotFound, http.StatusNotFound},
		"invited": {http.StatusNotFound, http.StatusOK}} {
		s := startServer(t, options{settings: []string{"SIGN_UP: " + setting}})
		admin := s.signedIn(t, s.person(t, "root", "--admin"))
		if got := s.get(t, "/sign-up/", nobody); got.Status != want[0] {
			t.Errorf("%s: the page for strangers is %d", setting, got.Status)
		}
		if got := s.post(t, "/sign-up/", ownForm, params("email", "ann@example.com")); got.Status != want[0] {
			t.Errorf("%s: a request of a stranger is %d", setting, got.Status)
		}
		admin.open(t, "/admin/invitations/new/")
		checkEqual(t, setting+": inviting", admin.Status, want[1])
		admin.open(t, "/login/")
		if strings.Contains(admin.Body, "/sign-up/") {
			t.Errorf("%s: the login page leads to the sign-up", setting)
		}
	}
}

// SECOND_FACTOR demands a second factor of a new person too. A passkey is one.
func TestSignUpWithSecondFactor(t *testing.T) {
	t.Parallel()
	s := startServer(t, options{host: "localhost",
		settings: []string{"SECOND_FACTOR: everybody", "SECOND_FACTOR_GRACE_DAYS: 0"}})
	b := s.browser(t)
	b.joins(t, s.byHand(t, "ann@example.com"))
	if b.URL.Path != "/login/factor/" || strings.Contains(b.Body, "you are signed in") {
		t.Fatalf("%d %s\n%s", b.Status, b.URL, b.Body)
	}
	b.open(t, "/account/")
	b.awaitsLogin(t, "the account page before the second factor")
	b = s.browser(t)
	b.joinsByPasskey(t, s.byHand(t, "bob@example.com"))
	b.isPerson(t, "bob@example.com")
}

// A person of another server needs an invitation for the verified address there.
func TestIdentityOfAnInvitedPerson(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s, c := withCompany(t, db, ", SCOPES: [openid, profile, email, groups], NEW_PEOPLE: invited, GROUPS_CLAIM: groups, "+
			"GROUPS: {it: admins}", "SIGN_UP: off")
		for _, group := range []string{"staff", "admins"} {
			s.mustCLI(t, "", "group", "add", group)
		}
		admin := s.signedIn(t, s.person(t, "root", "--admin"))
		c.employee(t, "ann", "it")
		c.employee(t, "eve")
		c.person(t, "mallory", map[string]any{"email": "bob@company.example", "email_verified": false})
		admin.open(t, "/admin/invitations/list/")
		admin.submit(t, "Invite", params("list", "email,groups\nAnn@company.example,staff\nbob@company.example,staff"))
		if admin.Status != http.StatusOK {
			t.Fatalf("%d\n%s", admin.Status, admin.Body)
		}
		link := regexpSubmatch(t, `(/sign-up/[A-Za-z0-9_-]{43}/)`, admin.Body)
		for _, name := range []string{"eve", "mallory"} {
			b := s.browser(t)
			b.signInWith(t, c, name, "/login/?next=/account/")
			b.isAt(t, name, http.StatusForbidden, "is not known here")
		}
		// The page of the link leads to the other server, and to nothing else.
		b := s.browser(t)
		b.open(t, link)
		if b.Status != http.StatusOK || b.shows("password") || b.shows("username") {
			t.Errorf("%d\n%s", b.Status, b.Body)
		}
		if got := s.post(t, link, ownForm,
			params("username", "ann", "password", "words of a new person")); got.Status != http.StatusNotFound {
			t.Errorf("an account on the page: %d", got.Status)
		}
		b.submit(t, "Continue with "+c.label(), nil)
		if b.Away == nil {
			t.Fatalf("%d %s\n%s", b.Status, b.URL, b.Body)
		}
		back, _ := newTraveller(t).signIn(t, b.Away, "ann")
		s.secret(back.Query().Get("code"))
		b.open(t, back.String())
		b.isPerson(t, "ann@company.example")
		checkEqual(t, "groups", s.groupsOf(t, "ann@company.example"), "admins staff")
		checkEqual(t, "the page of the link", s.get(t, link, nobody).Status, http.StatusNotFound)
		admin.open(t, "/admin/invitations/")
		if strings.Contains(strings.ToLower(admin.Body), "ann@company.example") ||
			!strings.Contains(admin.Body, "bob@company.example") {
			t.Errorf("the wrong invitation was used:\n%s", admin.Body)
		}
	})
}

// The page of an invitation says what became of its message and of its time.
func TestInvitationSaysWhatBecameOfIt(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		m := startMailing(t, db)
		m.mustCLI(t, m.secret("the words of root")+"\n", "user", "add", "chief", "--first-name", "Clara", "--last-name",
			"Chief", "--admin", "--password-stdin")
		admin := m.signedIn(t, person{"chief", "the words of root"})
		m.mail.Stop()
		admin.open(t, "/admin/invitations/new/")
		admin.submit(t, "Invite", params("recipient", "ann@example.com"))
		page := regexpSubmatch(t, `href="(/admin/invitations/([a-z0-9]{26})/)"`, admin.Body)
		id := strings.Split(page, "/")[3]
		admin.open(t, page)
		admin.isAt(t, "while the mail server does not answer", http.StatusOK, "The message waits to be sent")
		named := func(text string) func() bool {
			return func() bool {
				for line := range strings.Lines(m.log.String() + m.other.log.String()) {
					if strings.Contains(line, text) && strings.Contains(line, "kind=invitation") &&
						strings.Contains(line, "invitation="+id) {
						return true
					}
				}
				return false
			}
		}
		waitFor(t, "an attempt fails", named("a message was not sent; the server will try again"))
		m.exec(t, `UPDATE mails SET due_at = 1, attempts = 9, expires_at = created_at + 600`)
		waitFor(t, "the message is given up", named("mail was not sent; no more attempts"))
		waitFor(t, "the page says so", func() bool {
			admin.open(t, page)
			return strings.Contains(admin.Body, "The message could not be sent")
		})
		if log := m.log.String() + m.other.log.String(); strings.Contains(log, "ann@example.com") {
			t.Errorf("the log contains the address:\n%s", log)
		}
		m.mail.Restart(t)
		admin.submit(t, "Send a new link", nil)
		first := m.linkIn(t, m.waitTo(t, "ann@example.com", invitationSubject, 1))
		if text := m.to(t, "ann@example.com", invitationSubject)[0].Text; !strings.Contains(text,
			"Clara Chief has invited you to create an account at Mandate.") {
			t.Errorf("%s", text)
		}
		m.settled(t)
		page = regexpSubmatch(t, `href="(/admin/invitations/[a-z0-9]{26}/)"`, admin.Body)
		admin.open(t, page)
		admin.isAt(t, "after that", http.StatusOK, "The mail server has taken the message")
		m.exec(t, `UPDATE invitations SET created_at = created_at - 1000000, expires_at = expires_at - 1000000`)
		admin.open(t, "/admin/invitations/")
		admin.isAt(t, "the list after its time", http.StatusOK, `<span class="tag">Expired</span>`)
		got := m.get(t, first, nobody)
		if got.Status != http.StatusNotFound ||
			!strings.Contains(got.Body, "Otherwise ask the person who invited you for a new invitation.") ||
			!strings.Contains(got.Body, `href="/login/"`) {
			t.Errorf("the link after its time: %d\n%s", got.Status, got.Body)
		}
		stranger := m.person(t, "stranger", "--email", "ann@example.com")
		admin.open(t, page)
		admin.submit(t, "Invite again by mail", nil)
		admin.isAt(t, "the address of somebody", http.StatusUnprocessableEntity, "Somebody here has this address already.")
		m.mustCLI(t, "", "user", "delete", stranger.Name)
		admin.submit(t, "Invite again by mail", nil)
		m.waitTo(t, "ann@example.com", invitationSubject, 2)
		m.mustCLI(t, "", "invitation", "withdraw", "ann@example.com")
		var kinds []string
		for _, e := range m.events(t) {
			if e.Object.Kind == "invitation" {
				kinds = append(kinds, e.Kind+" "+e.Person.Name)
			}
		}
		checkEqual(t, "events", strings.Join(kinds, ", "), "invitation.withdrawn ann@example.com, invitation.renewed "+
			"ann@example.com, invitation.renewed ann@example.com, invitation.added ann@example.com")
	})
}
