package mandate

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// A person whose browser refuses cookies saw the login page again after a sign-in, without a word.
func TestBrowserRefusesCookies(t *testing.T) {
	profile := t.TempDir()
	err := os.MkdirAll(filepath.Join(profile, "Default"), 0o700)
	if err == nil {
		// As under "Cookies" in the settings of the browser: 2 is to block all of them.
		err = os.WriteFile(filepath.Join(profile, "Default", "Preferences"), []byte(`{"profile":{"default_content_setting_values":{"cookies":2}}}`), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	browser := chromium(t, chromedp.UserDataDir(profile))
	s := startServer(t, options{})
	alice := s.person(t, "alice")
	b := s.window(t, browser)
	b.open("/account/")
	b.logIn(alice)
	b.expect(400, "Sign in")
	b.says("Your browser refuses the cookies of this site")
	b.look("login-without-cookies", "/login/cookies/?next=%2Faccount%2F")
}

// A person who is signed in sees so at the login page, can go on from it, and can use another account.
func TestBrowserLoginPageOfSomebodyWhoIsSignedIn(t *testing.T) {
	browser := chromium(t)
	s := startServer(t, options{})
	alice, bob := s.person(t, "alice"), s.person(t, "bob")
	b := s.window(t, browser)
	b.open("/account/")
	b.logIn(alice)
	b.expect(200, "Account")
	b.look("login-signed-in", "/login/?next=%2Faccount%2F")
	b.says("You are signed in as alice.")
	b.follow("Continue")
	b.expect(200, "Account")
	b.open("/login/?next=%2Faccount%2F")
	b.logIn(bob)
	b.expect(200, "Account")
	b.says("bob")
}
