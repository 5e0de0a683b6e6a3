package mandate

import (
	"strings"
	"testing"
)

// A person adds and removes a passkey in a browser, and gets a message about each step.
func TestBrowserNotices(t *testing.T) {
	browser := chromium(t)
	m := startMailing(t, newSQLite(t), "localhost")
	carol := m.person(t, "carol", "--email", "carol@example.com")
	b := m.window(t, browser)
	b.authenticator()
	b.open("/login/")
	b.logIn(carol)
	if message := m.told(t, signInSubject, 1); !strings.Contains(message.Text, "\nBrowser: Chrome on Linux\n") {
		t.Errorf("%s", message.Text)
	}
	b.open("/account/passkeys/new/")
	b.press("Add a passkey")
	m.told(t, "A passkey was added to your account", 1)
	b.signOut()
	b.byPasskey("/login/")
	b.open("/account/")
	b.follow("Remove Chrome on Linux")
	b.press("Remove the passkey")
	m.told(t, "A passkey of your account was removed", 1)
	m.settled(t)
	checkEqual(t, "messages about a sign-in", len(m.to(t, "carol@example.com", signInSubject)), 1)
}
