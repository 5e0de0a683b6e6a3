package mandate

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"testing"

	"mandate/testkit/smtpd"
)

const signInSubject = "New sign-in to your account"

// told waits for the n-th message with a subject, and checks where its link leads.
func (m *mailing) told(t *testing.T, subject string, n int) smtpd.Message {
	t.Helper()
	message := m.waitTo(t, "carol@example.com", subject, n)
	account := m.BaseURL + "/account/"
	if !strings.Contains(message.Text, "\n"+account+"\n") || strings.Count(message.HTML, account) != 2 ||
		!strings.Contains(message.Text, "carol") {
		t.Errorf("%s:\n%s\n%s", subject, message.Text, message.HTML)
	}
	return message
}

// A person learns of a sign-in with a new browser, and of each change of what signs them in.
func TestNoticesByMail(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		m := startMailing(t, db)
		carol := m.person(t, "carol", "--email", "carol@example.com")
		app, b := m.withApp(t, carol)
		first := m.told(t, signInSubject, 1)
		if !strings.Contains(first.Text, "Browser: not known\nNetwork address: 127.0.0.1\n") {
			t.Errorf("%s", first.Text)
		}
		m.told(t, "An authenticator app was added to your account", 1)
		codes := b.recoveryCodes(t)
		m.told(t, "New recovery codes were made for your account", 1)
		for _, code := range codes {
			for _, message := range m.mail.Messages(t) {
				if strings.Contains(message.Text+message.HTML, code) {
					t.Error("a message contains a recovery code")
				}
			}
		}
		// The same browser again.
		b.open(t, "/account/")
		b.submit(t, "Sign out", nil)
		b.open(t, "/login/?next=%2Faccount%2F")
		b.logIn(t, carol)
		b.awaitsCode(t, "in the same browser")
		b.submit(t, "Continue", params("code", app.code(0)))
		checkEqual(t, "in the same browser", b.URL.Path, "/account/")
		m.settled(t)
		checkEqual(t, "messages about a sign-in with a known browser", len(m.to(t, "carol@example.com", signInSubject)), 1)
		// Another browser, with a recovery code. The name of the browser is not repeated as it is.
		stranger := m.other.browser(t)
		stranger.client.Transport = calledBy{stranger.client.Transport,
			"Call +41 44 333 44 55 https://evil.example/ Firefox/1"}
		stranger.open(t, "/login/?next=%2Faccount%2F")
		stranger.logIn(t, carol)
		stranger.submit(t, "Use the recovery code", params("code", codes[0]))
		checkEqual(t, "after a recovery code", stranger.URL.Path, "/account/")
		message := m.told(t, signInSubject, 2)
		if !strings.Contains(message.Text, "\nBrowser: Firefox\n") || strings.Contains(message.Data, "evil.example") {
			t.Errorf("%s", message.Text)
		}
		m.told(t, "A recovery code of your account was used", 1)
		stranger.open(t, "/account/factors/totp/remove/")
		stranger.submit(t, "Remove the app", nil)
		m.told(t, "The authenticator app of your account was removed", 1)
		m.mustCLI(t, "", "user", "reset-factors", "carol")
		m.told(t, "Your second factor was removed by an administrator", 1)
		m.settled(t)
		checkEqual(t, "messages in all", len(m.mail.Messages(t)), 7)
	})
}

// calledBy sends requests as a browser with this name.
type calledBy struct {
	http.RoundTripper
	agent string
}

func (c calledBy) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("User-Agent", c.agent)
	return cmp.Or[http.RoundTripper](c.RoundTripper, http.DefaultTransport).RoundTrip(r)
}

// A message is sent after all nodes have stopped and one has started again.
func TestMailSurvivesARestart(t *testing.T) {
	ownProcesses(t)
	forEachDatabase(t, func(t *testing.T, db database) {
		m := startMailing(t, db)
		m.mail.Stop()
		m.signedIn(t, m.person(t, "carol", "--email", "carol@example.com"))
		m.forgot(t, m.server, "carol")
		m.other.stop(t)
		m.server.kill(t)
		m.mail.Restart(t)
		m.exec(t, `UPDATE mails SET due_at = 1`) // nobody waits for the pauses, nor for what the killed node has reserved
		m.server.start(t)
		m.linkIn(t, m.waitTo(t, "carol@example.com", resetSubject, 1))
		m.waitTo(t, "carol@example.com", signInSubject, 1)
	})
}

// The mail server never answers. The message is given up after its time, and the log has neither the
// link nor the address.
func TestMailIsGivenUp(t *testing.T) {
	t.Parallel()
	m := startMailing(t, newSQLite(t))
	m.mail.Stop()
	m.person(t, "carol", "--email", "carol@example.com")
	m.secret("carol@example.com")
	m.forgot(t, m.server, "carol")
	waitFor(t, "an attempt fails", func() bool {
		return strings.Contains(m.log.String()+m.other.log.String(), "a message was not sent; the server will try again")
	})
	// The thirty minutes are nearly over, and the next pause is longer than what is left.
	m.exec(t, `UPDATE mails SET due_at = 1, attempts = 9, expires_at = CAST(strftime('%s', 'now') AS INTEGER) + 600`)
	waitFor(t, "the message is given up", func() bool {
		return strings.Contains(m.log.String()+m.other.log.String(), "mail was not sent; no more attempts")
	})
	m.settled(t)
	if log := m.log.String() + m.other.log.String(); strings.Contains(log, "/password/reset/") {
		t.Errorf("the log contains a link:\n%s", log)
	}
}

// After a sign-in at another server and a wrong code, the message said that somebody knows the password, and sent the
// person to the wrong place. The message, the account page and the event name what was really shown.
func TestRefusedFactorNamesTheFirstStep(t *testing.T) {
	c := newCompany(t, "company")
	m := startMailingWith(t, newSQLite(t), "", privateNetworks,
		"SIGN_IN_SERVERS: ["+c.setting(", TRUSTED_FOR_EMAIL: true")+"]")
	c.start(t, m.server)
	c.person(t, "carol", map[string]any{"email": "carol@example.com", "email_verified": true})
	carol := m.person(t, "carol", "--email", "carol@example.com", "--email-verified")
	app, account := m.withApp(t, carol)
	const refused = "A wrong second factor was entered for your account"
	byPassword := m.browser(t)
	byPassword.open(t, "/login/")
	byPassword.logIn(t, carol)
	byServer := m.browser(t)
	byServer.signInWith(t, c, "carol", "/login/")
	for _, b := range []*browser{byServer, byPassword, byServer, byPassword} {
		b.awaitsCode(t, "after the first step")
		b.answers(t, "totp", "000000")
	}
	// One message about either does not suppress one about the other.
	messages := []smtpd.Message{m.told(t, refused, 1), m.told(t, refused, 2)}
	m.settled(t)
	checkEqual(t, "messages", len(m.to(t, "carol@example.com", refused)), 2)
	if strings.Contains(messages[0].Text, "password") { // they are sent in any order
		slices.Reverse(messages)
	}
	for i, says := range []string{"Somebody signed in with your account of " + c.label() + ", and then entered a wrong " +
		"second factor here.", "Somebody entered your password, and then a wrong second factor."} {
		text := strings.Join(strings.Fields(messages[i].Text), " ")
		if !strings.Contains(text, says) || strings.Contains(text, "password") != (i == 1) {
			t.Errorf("message %d:\n%s", i, messages[i].Text)
		}
	}
	account.open(t, "/account/")
	for _, says := range []string{"A sign-in with another server was right, and a wrong second factor was refused.",
		"The password was right, and a wrong second factor was refused."} {
		account.isAt(t, "the account page", 200, says)
	}
	checkEqual(t, "events", m.said(t, "factor.failed"), ", carol, , totp; , carol, account "+c.label()+", totp")
	byServer.answers(t, "totp", app.code(1))
}
