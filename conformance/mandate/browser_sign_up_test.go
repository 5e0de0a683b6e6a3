package mandate

import (
	"strings"
	"testing"
)

// A person is invited, creates a passkey, and signs in at an application without ever having a password.
func TestBrowserStoryInvited(t *testing.T) {
	browser := chromium(t)
	m := startMailing(t, newSQLite(t), "localhost")
	m.mustCLI(t, "", "group", "add", "staff")
	client := newSite(t, "http", "127.0.0.1")
	app := m.application(t, "--name", "Holiday Planner", "--grant", "authorization_code", "--redirect-uri",
		client.URL+"/back")

	admin := m.window(t, browser)
	admin.open("/login/")
	admin.logIn(m.admin)
	admin.open("/admin/users/")
	admin.follow("Invitations")
	admin.expect(200, "Invitations")
	admin.follow("Invite a person")
	admin.fill("Email address", "ann@example.com")
	admin.tick("checkbox", "staff")
	admin.press("Invite")
	admin.expect(200, "Invitations")
	admin.says("The person is invited.", "ann@example.com", "staff")

	b := m.window(t, browser, client.Host)
	a := b.authenticator()
	link := m.linkIn(t, m.waitTo(t, "ann@example.com", invitationSubject, 1))
	b.open(link)
	b.expect(200, "Create your account")
	b.fill("Username", "ann")
	b.fill("First name (optional)", "Ann")
	b.press("Continue with a passkey")
	b.expect(200, "Create your passkey")
	b.says("It is for the account ann.")
	if len(a.keys()) != 0 {
		t.Errorf("the authenticator has %+v", a.keys())
	}
	// The person hesitates, and comes back by the link: nothing has happened.
	b.open(link)
	b.fill("Username", "ann")
	b.press("Continue with a passkey")
	b.press("Create the passkey")
	b.says("Your account is created, and you are signed in.")
	b.expect(200, "Hello, ann")
	if keys := a.keys(); len(keys) != 1 || !keys[0].IsResidentCredential || keys[0].RpID != "localhost" {
		t.Errorf("the authenticator has %+v", keys)
	}
	b.open("/account/")
	b.says("ann@example.com", "Passkeys")
	if strings.Contains(b.text(), "Not confirmed") || len(b.all("textbox", "Current password")) > 0 {
		t.Errorf("the account page says:\n%s", b.text())
	}

	// In another session, the passkey alone signs in at the application.
	b.signOut()
	address, verifier := m.authorizeURL(app, "scope", "read", "state", "xyz")
	b.byPasskey(address)
	b.expect(200, "Allow access to your account?")
	b.says("ann")
	b.press("Allow")
	b.expect(200, "Back at the client")
	got := b.URL().Query()
	if got.Get("state") != "xyz" {
		t.Errorf("the client got %v", got)
	}
	m.redeem(t, app, got.Get("code"), verifier)
	checkEqual(t, "groups", m.groupsOf(t, "ann"), "staff")
	b.open(link)
	b.expect(404, "This link does not work any more")
	admin.open("/admin/invitations/")
	admin.says("There is no invitation.")
}

// The pages of sign-up and of invitations, in a browser.
func TestBrowserSignUp(t *testing.T) {
	browser := chromium(t)
	const long = "annemarie-josephine.von-der-muehlenbrock@operations.department.example.com"
	t.Run("without mail, and with another server", func(t *testing.T) {
		s := startServer(t, options{host: "localhost",
			settings: []string{"SIGN_IN_SERVERS: [{NAME: company, LABEL: Example Company, ISSUER: https://login.example.com, " +
				"CLIENT_ID: mandate, CLIENT_SECRET: of the company, NEW_PEOPLE: invited}]"}})
		admin := s.person(t, "root", "--admin")
		s.mustCLI(t, "", "group", "add", "staff")
		s.mustCLI(t, "", "group", "add", "Département fédéral de l’économie – grenzüberschreitende Angelegenheiten")
		b := s.window(t, browser)
		b.open("/login/")
		b.logIn(admin)
		b.look("invitations-empty", "/admin/invitations/")
		b.look("invite", "/admin/invitations/new/")
		b.look("invite-wrong", "/admin/invitations/new/", func() {
			b.fill("Email address", "nowhere")
			b.press("Invite")
		})
		if b.focused() != "problem" {
			t.Errorf("the focus is at %s", b.focused())
		}
		b.look("invite-list", "/admin/invitations/list/")
		b.look("invite-list-wrong", "/admin/invitations/list/", func() {
			b.fill("People (optional)", "email,groups\nnowhere,staff\nann@example.com,nobody;night shift\n"+long+",\n"+
				long+",staff")
			b.press("Invite")
		})
		b.says("Line 2, email: This is not an email address", "Line 5, email: The address is in line 4 already.",
			"Nobody was invited.")
		b.fill("People (optional)", "email,groups\nann@example.com,staff\n"+long+",staff;Département fédéral de l’économie "+
			"– grenzüberschreitende Angelegenheiten")
		b.press("Invite")
		b.expect(200, "Pass the links on")
		links := evaluate[[]string](b, "[...document.querySelectorAll('dd [data-copy]')].map((one) => one.textContent)")
		if len(links) != 2 {
			t.Fatalf("%v", links)
		}
		for _, link := range links {
			s.secret(strings.Split(strings.TrimPrefix(link, s.BaseURL), "/")[2])
		}
		b.look("invitations", "/admin/invitations/")
		b.follow(long)
		b.expect(200, "Invitation")
		page := b.URL().Path
		b.look("invitation", page)
		b.look("invitation-withdraw", page+"withdraw/")
		b.look("invited", "/admin/invitations/", func() { // the invitation has another address after it
			b.follow(long)
			b.press("Show a new link")
		})
		link := evaluate[string](b, "document.querySelector('[data-copy]').textContent")
		s.secret(strings.Split(strings.TrimPrefix(link, s.BaseURL), "/")[2])
		// What the administrator sees who tries the link, and what the person sees.
		b.look("sign-up-signed-in", links[0])
		b.says("You are signed in as root.")
		visitor := s.window(t, browser)
		visitor.look("sign-up", links[0])
		visitor.says("Continue with Example Company", "Continue with a passkey")
		visitor.look("sign-up-wrong", links[0], func() {
			visitor.fill("Username", "root")
			visitor.press("Create the account")
		})
		visitor.expect(422, "Create your account")
		visitor.says("Use at least 15 characters.")
		if visitor.focused() != "problem" {
			t.Errorf("the focus is at %s", visitor.focused())
		}
		visitor.look("sign-up-passkey", links[0], func() { visitor.press("Continue with a passkey") })
		visitor.follow("Back")
		visitor.fill("Username", "ann")
		visitor.fill("Password", s.secret("words of a new person"))
		visitor.press("Create the account")
		visitor.expect(200, "Hello, ann")
		visitor.look("sign-up-used", links[0])
	})
	t.Run("open", func(t *testing.T) {
		m := startMailingWith(t, newSQLite(t), "localhost", "SIGN_UP: open",
			"SIGN_UP_ALLOWED_DOMAINS: [example.com, operations.department.example.com]")
		b := m.window(t, browser)
		b.look("login-sign-up", "/login/")
		b.follow("Create an account")
		b.expect(200, "Create an account")
		b.look("sign-up-ask", "/sign-up/")
		b.look("sign-up-ask-wrong", "/sign-up/", func() {
			b.fill("Email address", "ann@example.net")
			b.press("Send the link")
		})
		b.expect(422, "Create an account")
		b.says("Use an address that ends in @example.com, @operations.department.example.com.")
		b.fill("Email address", long)
		b.press("Send the link")
		b.expect(200, "Look at your mail")
		b.says("Nothing arrives?")
		b.look("sign-up-asked", "/sign-up/asked/")
		link := m.linkIn(t, m.waitTo(t, long, signUpSubject, 1))
		b.look("sign-up-long", link)
		m.person(t, "ann", "--email", long)
		b.look("sign-up-taken", link)
		b.expect(409, "There is an account with your address already")
		admin := m.window(t, browser)
		admin.open("/login/")
		admin.logIn(m.admin)
		admin.look("invite-mail", "/admin/invitations/new/")
	})
}
