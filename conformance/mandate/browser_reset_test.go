package mandate

import (
	"strings"
	"testing"
)

// A person forgets the password, and sets a new one by a link from mail. What was signed in before is signed out.
func TestBrowserStoryForgottenPassword(t *testing.T) {
	browser := chromium(t)
	m := startMailing(t, newSQLite(t))
	carol := m.person(t, "carol", "--email", "carol@example.com")
	elsewhere := m.window(t, browser)
	elsewhere.open("/login/")
	elsewhere.logIn(carol)
	elsewhere.expect(200, "Hello, carol")
	b := m.window(t, browser)
	b.look("forgot", "/password/forgot/")
	b.look("forgot-wrong", "/password/forgot/", func() { b.press("Send the link") })
	b.expect(422, "Forgot your password?")
	b.fill("Username or email address", "carol@example.com")
	b.press("Send the link")
	b.says("If we know this account, a message with a link is on its way")
	b.look("login-forgot", "/login/")
	b.open(m.linkIn(t, m.waitTo(t, "carol@example.com", resetSubject, 1)))
	b.fill("New password", m.secret("some new words in a row"))
	b.press("Set the password")
	elsewhere.open("/account/")
	elsewhere.logIn(carol)
	elsewhere.expect(422, "Sign in") // the old password
	b.logIn(person{"carol", "some new words in a row"})
	b.look("account-unverified", "/account/")
	b.press("Send a link to confirm the email address")
	b.says("A message with a link is on its way to your email address.")
	link := m.linkIn(t, m.waitTo(t, "carol@example.com", addressSubject, 1))
	b.look("address", link)
	b.press("Confirm the address")
	b.says("Your email address is confirmed.")
}

// A person who forgot the password where the server sends no mail.
func TestBrowserResetWithoutMail(t *testing.T) {
	browser := chromium(t)
	s := startServer(t, options{})
	admin := s.person(t, "root", "--admin")
	long := "annemarie-josephine.von-der-muehlenbrock@operations.example.com"
	s.person(t, long)
	b := s.window(t, browser)
	b.open("/login/")
	b.follow("Forgot your password?")
	b.expect(200, "Forgot your password?")
	b.says("Ask an administrator of this server")
	b.look("forgot-no-mail", "/password/forgot/")
	b.follow("Back to the sign-in page")
	b.logIn(admin)
	page := "/admin/users/" + s.userID(t, long) + "/"
	b.look("user-reset", page)
	b.open(page)
	b.press("Make a link")
	b.says("Give this link to the person")
	link := evaluate[string](b, "document.querySelector('[data-copy]').textContent")
	s.secret(strings.Split(strings.TrimPrefix(link, s.BaseURL), "/")[3])
	// What the administrator sees, and what the person sees.
	visitor := s.window(t, browser)
	visitor.look("reset", link)
	visitor.look("reset-wrong", link, func() { visitor.press("Set the password") })
	visitor.expect(422, "Choose a new password")
	if visitor.focused() != "problem" {
		t.Errorf("the focus is at %s", visitor.focused())
	}
	visitor.fill("New password", s.secret("some new words in a row"))
	visitor.press("Set the password")
	visitor.says("Your password was changed. Sign in with the new one.")
	visitor.fill("Username", long)
	visitor.fill("Password", "some new words in a row")
	visitor.press("Sign in")
	visitor.expect(200, "Hello, "+long)
	visitor.open(link)
	visitor.expect(404, "This link does not work any more")
	visitor.look("reset-used", link)
}
