package mandate

import (
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

func TestBrowserPeople(t *testing.T) {
	browser := chromium(t)
	s := startServer(t, options{})
	admin := person{"root", s.secret("a long enough first password")}

	t.Run("the first administrator comes by a link that works once", func(t *testing.T) {
		link := s.setupLink(t)
		b := s.window(t, browser)
		b.open(link)
		b.expect(200, "Set up this server")
		b.fill("Username", admin.Name)
		b.fill("First name (optional)", "Ruth")
		b.fill("Email address (optional)", "root@example.org")
		b.fill("Password", "short")
		b.press("Create this account")
		b.expect(422, "Set up this server")
		if b.value("Username") != admin.Name || b.value("Email address (optional)") != "root@example.org" ||
			b.value("First name (optional)") != "Ruth" || b.value("Password") != "" {
			t.Error("the name or the address was lost, or the password was sent back")
		}
		b.fill("Password", admin.Password)
		b.press("Create this account")
		b.says("Your account was created.")
		b.logIn(admin)
		b.expect(200, "Hello, root")
		b.open(link)
		b.expect(404, "This link is no longer valid")
	})

	alice := s.person(t, "alice")
	t.Run("a wrong password is told, keeps the name, and the right one leads on", func(t *testing.T) {
		b := s.window(t, browser)
		b.open("/account/")
		if b.focused() != "username" {
			t.Errorf("the focus is at %s, not at the username", b.focused())
		}
		b.fill("Username", alice.Name)
		b.fill("Password", "not the password")
		b.press("Sign in")
		b.expect(422, "Sign in")
		if b.focused() != "password" || b.value("Username") != alice.Name || b.value("Password") != "" {
			t.Errorf("the focus is at %s, the username is %q", b.focused(), b.value("Username"))
		}
		if len(b.all("alert", "")) != 1 {
			t.Error("nothing tells a screen reader that the form came back")
		}
		b.fill("Password", alice.Password)
		b.press("Sign in")
		b.expect(200, "Account")
	})

	t.Run("the keyboard alone is enough", func(t *testing.T) {
		b := s.window(t, browser)
		b.open("/o/applications/")
		b.do(chromedp.KeyEvent(alice.Name + "\t" + alice.Password))
		b.leave(chromedp.KeyEvent("\r"))
		b.expect(200, "Applications")
		// The first Tab stop is the link that skips the navigation. The next ones are all
		// elements that can be used.
		b.do(chromedp.KeyEvent("\t"))
		if got := evaluate[string](b, "document.activeElement.innerText"); got != "Skip to the content" {
			t.Errorf("the first stop of the Tab key is %q", got)
		}
		b.do(chromedp.KeyEvent("\r\t"))
		if got := evaluate[string](b, "document.activeElement.innerText"); got != "Register an application" {
			t.Errorf("behind the link to the content, the Tab key stops at %q", got)
		}
		if evaluate[string](b, "getComputedStyle(document.activeElement).outlineStyle") == "none" {
			t.Error("nobody sees where the focus is")
		}
		b.leave(chromedp.KeyEvent("\r"))
		b.expect(200, "Register an application")
	})

	t.Run("an administrator adds a group and a user, and keeps the user out", func(t *testing.T) {
		b := s.window(t, browser)
		b.open("/admin/groups/")
		b.logIn(admin)
		b.says("There is no group yet.")
		b.press("Add group")
		b.expect(422, "Groups")
		b.fill("Name", "night shift")
		b.press("Add group")
		b.says("The group is added.", "night shift", "No members")

		b.follow("People")
		b.follow("Add a person")
		b.fill("Username", "alice")
		b.fill("First name (optional)", "Bob")
		b.fill("Password", "x")
		b.tick("checkbox", "night shift")
		b.press("Add person")
		b.expect(422, "Add a person")
		if b.focused() != "problem" || b.value("First name (optional)") != "Bob" ||
			!evaluate[bool](b, `document.querySelector("[name=group]").checked`) {
			t.Error("the focus is not at the summary, or what was typed or ticked is lost")
		}
		bob := person{"bob", s.secret("a long enough password for bob")}
		b.fill("Username", bob.Name)
		b.fill("Password", bob.Password)
		b.press("Add person")
		b.says("The person is added.", "night shift")

		his := s.window(t, browser)
		his.open("/account/")
		his.logIn(bob)
		his.expect(200, "Account")
		his.open("/admin/users/")
		his.expect(403, "You may not do this")

		b.follow("bob")
		b.expect(200, "Change a person")
		b.tick("checkbox", "Enabled")
		b.press("Save changes")
		b.says("Your changes are saved.", "Disabled")
		his.open("/account/")
		his.logIn(bob)
		his.expect(422, "Sign in")

		b.follow("bob")
		b.follow("Delete this person")
		b.expect(200, "Delete “bob”?")
		b.press("Delete the person")
		b.says("The person is deleted.")
		if strings.Contains(b.text(), "night shift") {
			t.Error("the list still shows bob")
		}
		b.follow("Groups")
		b.follow("Delete the group night shift")
		b.press("Delete the group")
		b.says("The group is deleted.")
	})

	t.Run("a person ends a session, changes the password and logs out", func(t *testing.T) {
		carol := s.person(t, "carol")
		here, there := s.window(t, browser), s.window(t, browser)
		for _, b := range []*tab{here, there} {
			b.open("/account/")
			b.logIn(carol)
		}
		here.reload()
		here.says("This browser", "Chrome on Linux")
		here.press("Sign out of Chrome on Linux")
		here.says("That browser is signed out.")
		there.open("/account/")
		there.logIn(carol)

		here.fill("Current password", "not it")
		here.fill("New password", "another good password")
		here.press("Change password")
		here.expect(422, "Account")
		next := person{carol.Name, s.secret("another good password")}
		here.fill("Current password", carol.Password)
		here.fill("New password", next.Password)
		here.press("Change password")
		here.expect(200, "Account")
		here.says("Your password was changed.")
		there.open("/account/")
		there.logIn(next)
		there.expect(200, "Account")

		here.press("Sign out")
		here.says("You are signed out.")
		here.back()
		here.expect(200, "Sign in")
		here.open("/account/")
		here.expect(200, "Sign in")
		there.open("/logout/")
		there.expect(200, "Sign out?")
		there.press("Sign out")
		there.says("You are signed out.")
	})
}

// setupLink returns the link that the server prints at its first start.
func (s *server) setupLink(t testing.TB) string {
	t.Helper()
	var link string
	waitFor(t, "the link to the first administrator", func() bool {
		link = regexp.MustCompile(`http://\S+/setup/\S+/`).FindString(s.log.String())
		return link != ""
	})
	return link
}
