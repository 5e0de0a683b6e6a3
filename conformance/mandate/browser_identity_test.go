package mandate

import (
	"fmt"
	"strings"
	"testing"
)

// signsInAt presses the button of a company on the login page, and signs in there.
func (b *tab) signsInAt(c *company, name string) {
	b.Helper()
	b.press(c.button())
	b.fill("Name", name)
	b.press("Sign in there")
}

// A person signs in at an application through the company's server with the right groups, is disabled
// there, and is refused here.
func TestBrowserStoryCompany(t *testing.T) {
	browser := chromium(t)
	s, c := withCompany(t, newSQLite(t), companyGroups+", LOGOUT: true")
	for _, name := range []string{"staff", "admins"} {
		s.mustCLI(t, "", "group", "add", name)
	}
	c.employee(t, "ann", "crew")
	site := newSite(t, "http", "127.0.0.1")
	app := s.application(t, "--name", "Intranet", "--grant", "authorization_code", "--redirect-uri", site.URL+"/back")
	address, verifier := s.authorizeURL(app, "scope", "openid groups")
	b := s.window(t, browser, site.Host, strings.TrimPrefix(c.issuer, "http://"))
	b.open(address)
	b.expect(200, "Sign in")
	b.signsInAt(c, "ann")
	b.expect(200, "Allow access to your account?")
	b.press("Allow")
	b.until("location.href.startsWith(" + quote(site.URL) + ")")
	got := s.redeem(t, app, b.URL().Query().Get("code"), verifier)
	checkEqual(t, "what the application learns", fmt.Sprint(s.userInfo(t, got.AccessToken)["groups"]), "[staff]")
	checkEqual(t, "groups", s.groupsOf(t, "ann@company.example"), "staff")
	b.look("identity-account", "/account/", func() { b.says("Accounts of other servers", c.label()) })

	// Her sign-out here leads to the sign-out there.
	b.signOut()
	b.expect(200, "You are signed out.")
	b.says("You may still be signed in at")
	b.follow("Sign out of " + c.label())
	b.press("Sign out there")
	b.until("location.href.startsWith(" + quote(s.URL) + ")")

	// The company disables her.
	c.disable(t, "ann")
	b.open("/login/")
	b.signsInAt(c, "ann")
	b.expect(403, "You could not be signed in")
	b.says(c.label() + " says that you may not sign in.")
	b.follow("Back to the sign-in page")
	b.expect(200, "Sign in")
	b.open("/account/")
	b.expect(200, "Sign in")
}

// The pages at typical sizes, with a long name of a server, and with none.
func TestBrowserIdentityPages(t *testing.T) {
	browser := chromium(t)
	c, long := newCompany(t, "company"), &company{name: "long", issuer: "http://127.0.0.1:1"}
	long.shown = strings.Repeat("Extraordinarily ", 3) + "long name"
	s := startServer(t, options{settings: []string{privateNetworks,
		"SIGN_IN_SERVERS: [" + c.setting("") + ", " + long.setting("") + "]"}})
	c.start(t, s)
	c.employee(t, "ann")
	ann, root := s.person(t, "ann", "--email", "ann@company.example"), s.person(t, "root", "--admin")
	b := s.window(t, browser, strings.TrimPrefix(c.issuer, "http://"))
	b.look("identity-login", "/login/?next=/account/", func() { b.says(c.button(), long.button()) })
	b.open("/login/")
	b.press(long.button())
	b.expect(503, "You could not be signed in")
	b.open("/login/?next=/account/")
	b.logIn(ann)
	b.look("identity-none", "/account/", func() { b.says("None. If you add an account of another server") })
	b.follow("Add " + c.label())
	b.expect(200, "Sign in with "+c.label()+" from now on?")
	b.look("identity-add", b.URL().Path)
	b.look("identity-add-long", "/account/identities/new/long/")
	b.open("/account/identities/new/company/")
	b.press("Continue to " + c.label())
	b.fill("Name", "ann")
	b.press("Sign in there")
	b.expect(200, "Account")
	b.says("The account is added.")
	b.look("identity-one", "/account/")
	b.follow("Remove " + c.label())
	b.look("identity-remove", b.URL().Path)

	admin := s.window(t, browser)
	admin.open("/login/?next=/admin/users/")
	admin.logIn(root)
	admin.follow("ann")
	admin.look("identity-admin", admin.URL().Path, func() { admin.says("Account of " + c.label()) })

	behind(t, s.database, `DELETE FROM identities`)
	other := s.window(t, browser, strings.TrimPrefix(c.issuer, "http://"))
	other.open("/login/?next=/device/")
	other.signsInAt(c, "ann")
	other.expect(403, "You could not be signed in")
	other.look("identity-forged", "/login/with/company/callback/?code=x&state=y",
		func() { other.expect(400, "You could not be signed in") })
}
