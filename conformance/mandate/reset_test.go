package mandate

import (
	"mime"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"mandate/testkit/smtpd"
)

// mailing is a server of two nodes, and the mail server that both use.
type mailing struct {
	*fixture
	other *server
	mail  *smtpd.Server
}

// startMailing starts two nodes that send mail over TLS, with a password. host is the name of this
// machine in their address, if it is not 127.0.0.1.
func startMailing(t *testing.T, db database, host ...string) *mailing {
	t.Helper()
	return startMailingWith(t, db, strings.Join(host, ""))
}

// startMailingWith is startMailing with more settings.
func startMailingWith(t *testing.T, db database, host string, more ...string) *mailing {
	t.Helper()
	ownProcesses(t)
	mail := smtpd.Start(t, smtpd.Options{TLS: true, User: "mandate", Password: "the password of the mail server"})
	v := newFixture(t, options{database: db, host: host, provider: []string{"OIDC_ENABLED: true"},
		settings: append(more, "SMTP_URL: smtp://mandate:the%20password%20of%20the%20mail%20server@"+mail.Address,
			"MAIL_FROM: Example <noreply@example.org>")})
	v.secret("the password of the mail server")
	return &mailing{v, v.node(t), mail}
}

// forgot asks for a new password, as a person does.
func (m *mailing) forgot(t *testing.T, node *server, name string) {
	t.Helper()
	b := node.browser(t)
	b.open(t, "/login/")
	b.open(t, "/password/forgot/")
	b.submit(t, "Send the link", params("username", name))
	if b.URL.Path != "/login/" || !strings.Contains(b.Body, "If we know this account") {
		t.Fatalf("%d %s\n%s", b.Status, b.URL, b.Body)
	}
}

var links = regexp.MustCompile(`(?m)^https?://.*/(?:password/reset|account/address|sign-up)/([A-Za-z0-9_-]+)/$`)

// linkIn returns the path of the link in a message. The log must not contain its secret.
func (m *mailing) linkIn(t *testing.T, message smtpd.Message) string {
	t.Helper()
	found := links.FindStringSubmatch(message.Text)
	if found == nil || strings.Count(message.HTML, found[0]) != 2 {
		t.Fatalf("there is no link in both forms:\n%s\n%s", message.Text, message.HTML)
	}
	if !strings.HasPrefix(found[0], m.BaseURL+"/") {
		t.Errorf("the link leads to %s", found[0])
	}
	m.secret(found[1])
	return strings.TrimPrefix(found[0], m.BaseURL)
}

// to returns the messages to an address with a subject.
func (m *mailing) to(t *testing.T, address, subject string) []smtpd.Message {
	t.Helper()
	var found []smtpd.Message
	for _, message := range m.mail.Messages(t) {
		// RFC 2047: a subject that is not ASCII is encoded.
		read, err := new(mime.WordDecoder).DecodeHeader(message.Header.Get("Subject"))
		if err != nil {
			t.Errorf("the subject is %q: %v", message.Header.Get("Subject"), err)
		}
		if strings.Join(message.To, ",") == address && read == subject {
			found = append(found, message)
		}
	}
	return found
}

// waitTo waits for the n-th such message.
func (m *mailing) waitTo(t *testing.T, address, subject string, n int) smtpd.Message {
	t.Helper()
	waitFor(t, "a message "+subject+" for "+address, func() bool { return len(m.to(t, address, subject)) >= n })
	return m.to(t, address, subject)[n-1]
}

// settled waits until no message waits.
func (m *mailing) settled(t *testing.T) {
	t.Helper()
	pool := m.database.open(t)
	waitFor(t, "the queue is empty", func() bool {
		var n int
		err := pool.QueryRow(`SELECT COUNT(*) FROM mails`).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		return n == 0
	})
}

const (
	resetSubject   = "Set a new password"
	changedSubject = "Your password was changed"
	addressSubject = "Confirm your email address"
)

// A person forgets the password, sets another one by mail, and other sessions end.
func TestResetByMail(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		m := startMailing(t, db)
		carol := m.person(t, "carol", "--email", "carol@example.com")
		before := m.signedIn(t, carol)
		held := before.family(t, m.web, carol, "scope", "read")
		m.forgot(t, m.other, "Carol")
		message := m.waitTo(t, "carol@example.com", resetSubject, 1)
		if message.From != "noreply@example.org" || !message.TLS || message.Login != "mandate" {
			t.Errorf("%+v", message)
		}
		path := m.linkIn(t, message)
		for range 3 { // a mail scanner opens the link first
			answer := m.get(t, path, nobody)
			if answer.Status != http.StatusOK || answer.Header.Get("Referrer-Policy") != "strict-origin" ||
				answer.Header.Get("Cache-Control") != "no-store" {
				t.Fatalf("GET: %d %v", answer.Status, answer.Header)
			}
		}
		b := m.other.browser(t)
		b.open(t, path)
		b.submit(t, "Set the password", params("new_password", "short"))
		if b.Status != http.StatusUnprocessableEntity || !strings.Contains(b.Body, "Use at least 15 characters") {
			t.Errorf("a short password: %d", b.Status)
		}
		next := m.secret("some new words in a row")
		b.submit(t, "Set the password", params("new_password", next))
		if b.URL.Path != "/login/" || !strings.Contains(b.Body, "Sign in with the new one") {
			t.Fatalf("%d %s\n%s", b.Status, b.URL, b.Body)
		}
		b.open(t, "/account/")
		if b.URL.Path != "/login/" {
			t.Error("the link has signed in")
		}
		m.signedIn(t, person{"carol", next})
		before.open(t, "/account/")
		if before.URL.Path != "/login/" {
			t.Error("the other session is still valid")
		}
		waitFor(t, "the access token ends at both nodes", func() bool {
			return !m.active(t, m.asker.auth(), held.AccessToken) && !m.other.active(t, m.asker.auth(), held.AccessToken)
		})
		if again := m.get(t, path, nobody); again.Status != http.StatusNotFound {
			t.Errorf("the link after its use: %d", again.Status)
		}
		notice := m.waitTo(t, "carol@example.com", changedSubject, 1)
		if !strings.Contains(notice.Text, "carol") || links.MatchString(notice.Text) {
			t.Errorf("the notice: %s", notice.Text)
		}
		m.settled(t)
		for subject, want := range map[string]int{resetSubject: 1, changedSubject: 1, signInSubject: 2} {
			checkEqual(t, "messages "+subject, len(m.to(t, "carol@example.com", subject)), want)
		}
		checkEqual(t, "messages in all", len(m.mail.Messages(t)), 4)
	})
}

// A link from mail replaces the password and nothing else: a person with an authenticator app is still
// asked for the code.
func TestResetByMailKeepsTheSecondFactor(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		m := startMailing(t, db)
		carol := m.person(t, "carol", "--email", "carol@example.com")
		app, own := m.withApp(t, carol)
		codes := own.recoveryCodes(t)
		begun := m.other.browser(t)
		begun.open(t, "/login/?next=%2Faccount%2F")
		begun.logIn(t, carol)
		begun.awaitsCode(t, "after the old password")
		if !m.sets(t, m.other, m.asked(t, "carol"), "some new words in a row") {
			t.Fatal("the link does not work")
		}
		checkEqual(t, "the session of before is valid", own.isSignedIn(t), false)
		begun.answers(t, "totp", app.code(0))
		begun.awaitsLogin(t, "a code after the old password")
		m.newStep(t)
		b := m.browser(t)
		b.open(t, "/login/?next=%2Faccount%2F")
		b.logIn(t, person{"carol", "some new words in a row"})
		b.awaitsCode(t, "after the new password")
		if strings.Contains(b.Body, `class="key"`) {
			t.Error("the page offers a new app")
		}
		b.answers(t, "new-totp", "000000")
		checkEqual(t, "another app", b.Status, http.StatusUnprocessableEntity)
		for _, path := range []string{"/account/", "/account/factors/totp/remove/", "/account/factors/codes/"} {
			b.open(t, path)
			b.awaitsLogin(t, path+" before the code")
		}
		b.open(t, "/login/factor/?next=%2Faccount%2F")
		b.submit(t, "Continue", params("code", app.code(0)))
		checkEqual(t, "after the code", b.URL.Path, "/account/")
		// The recovery codes are still valid too.
		b = m.other.browser(t)
		b.open(t, "/login/?next=%2Faccount%2F")
		b.logIn(t, person{"carol", "some new words in a row"})
		b.submit(t, "Use the recovery code", params("code", codes[0]))
		checkEqual(t, "after a recovery code", b.URL.Path, "/account/")
	})
}

// Each of many messages is sent once, although two nodes look for them all the time, and although
// the mail server is down at first.
func TestMailIsSentOnce(t *testing.T) {
	forEachDatabase(t, func(t *testing.T, db database) {
		m := startMailing(t, db)
		pool := db.open(t)
		m.mail.Stop()
		var names []string
		for _, letter := range "abcdefghijkl" {
			name := "person-" + string(letter)
			m.person(t, name, "--email", name+"@example.com")
			names = append(names, name)
		}
		var all sync.WaitGroup
		for i, name := range names {
			all.Go(func() { m.forgot(t, []*server{m.server, m.other}[i%2], name) })
		}
		all.Wait()
		waitFor(t, "attempts fail", func() bool {
			return strings.Contains(m.log.String()+m.other.log.String(), "a message was not sent; the server will try again")
		})
		m.mail.Restart(t)
		// Nobody waits for the pauses.
		waitFor(t, "the queue is empty", func() bool {
			_, err := pool.Exec(`UPDATE mails SET due_at = due_at - 60 WHERE due_at > $1 AND due_at < $2`, time.Now().Unix(),
				time.Now().Unix()+60)
			var n int
			if err == nil {
				err = pool.QueryRow(`SELECT COUNT(*) FROM mails`).Scan(&n)
			}
			if err != nil {
				t.Fatal(err)
			}
			return n == 0
		})
		for _, name := range names {
			if n := len(m.to(t, name+"@example.com", resetSubject)); n != 1 {
				t.Errorf("%s got %d messages", name, n)
			}
		}
	})
}

// What the mail server refuses is given up, and the log does not contain the address.
func TestMailThatIsRefused(t *testing.T) {
	t.Parallel()
	m := startMailing(t, newSQLite(t))
	m.person(t, "carol", "--email", "refused-address@example.com")
	m.secret("refused-address@example.com")
	m.forgot(t, m.server, "carol")
	m.settled(t)
	waitFor(t, "the log", func() bool {
		return strings.Contains(m.log.String()+m.other.log.String(), "mail was not sent; no more attempts")
	})
	if len(m.mail.Messages(t)) != 0 {
		t.Error("the mail server has a message")
	}
}

// Without a mail server, an administrator makes a link on the page of a person and by the command.
func TestResetLinkWithoutMail(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		v := newFixture(t, options{database: db})
		b := v.browser(t)
		b.open(t, "/password/forgot/")
		if b.Status != http.StatusOK || !strings.Contains(b.Body, "Ask an administrator") || b.shows("username") {
			t.Errorf("%d\n%s", b.Status, b.Body)
		}
		if got := v.post(t, "/password/forgot/", nobody, params("username", "alice")); got.Status != http.StatusNotFound {
			t.Errorf("POST: %d", got.Status)
		}
		admin, page := v.signedIn(t, v.admin), "/admin/users/"+v.userID(t, "alice")+"/"
		admin.open(t, page)
		admin.submit(t, "Make a link", nil)
		shown := regexp.MustCompile(regexp.QuoteMeta(v.BaseURL) + `(/password/reset/([A-Za-z0-9_-]+)/)`).FindStringSubmatch(
			admin.Body)
		if shown == nil {
			t.Fatalf("no link:\n%s", admin.Body)
		}
		v.secret(shown[2])
		admin.open(t, page)
		if strings.Contains(admin.Body, shown[2]) {
			t.Error("the link is shown twice")
		}
		printed := strings.TrimPrefix(strings.TrimSpace(v.mustCLI(t, "", "user", "reset-password-link", "alice")), v.BaseURL)
		v.secret(strings.Split(printed, "/")[3])
		b.open(t, shown[1])
		b.submit(t, "Set the password", params("new_password", v.secret("some new words in a row")))
		if b.URL.Path != "/login/" {
			t.Fatalf("%d %s\n%s", b.Status, b.URL, b.Body)
		}
		b.logIn(t, v.alice)
		if b.URL.Path != "/login/" {
			t.Error("the old password still signs in")
		}
		// The password has changed, so the other link has ended.
		if got := v.get(t, printed, nobody); got.Status != http.StatusNotFound {
			t.Errorf("the other link: %d", got.Status)
		}
		bob := v.signedIn(t, v.bob)
		bob.send(t, page+"reset-link/", nil)
		if bob.Status != http.StatusForbidden {
			t.Errorf("somebody who is no administrator: %d", bob.Status)
		}
		// A link of the command works too, also for a person without an address.
		printed = strings.TrimPrefix(strings.TrimSpace(v.mustCLI(t, "", "user", "reset-password-link", "bob")), v.BaseURL)
		v.secret(strings.Split(printed, "/")[3])
		b.open(t, printed)
		b.submit(t, "Set the password", params("new_password", v.secret("other new words in a row")))
		v.signedIn(t, person{"bob", "other new words in a row"})
	})
}

// A person confirms the address. Another address is not confirmed.
func TestAddressIsConfirmedByMail(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		m := startMailing(t, db)
		carol := m.person(t, "carol", "--email", "carol@example.com")
		b := m.signedIn(t, carol)
		b.open(t, "/account/")
		b.submit(t, "Send a link to confirm the email address", nil)
		path := m.linkIn(t, m.waitTo(t, "carol@example.com", addressSubject, 1))
		// The link works only for this person, and only after a decision.
		stranger := m.other.signedIn(t, m.bob)
		stranger.open(t, path)
		if stranger.Status != http.StatusNotFound {
			t.Errorf("another person: %d", stranger.Status)
		}
		stranger.send(t, path, nil)
		if stranger.Status != http.StatusNotFound {
			t.Errorf("another person confirms: %d", stranger.Status)
		}
		if got := m.get(t, path, nobody); got.Status != http.StatusSeeOther ||
			!strings.HasPrefix(got.Header.Get("Location"), "/login/") {
			t.Errorf("nobody: %d", got.Status)
		}
		b.open(t, path)
		b.open(t, "/account/")
		if !strings.Contains(b.Body, "Not confirmed") {
			t.Error("opening the link has confirmed the address")
		}
		b.open(t, path)
		b.submit(t, "Confirm the address", nil)
		if b.URL.Path != "/account/" || !strings.Contains(b.Body, "Your email address is confirmed") ||
			strings.Contains(b.Body, "Not confirmed") {
			t.Errorf("%d %s\n%s", b.Status, b.URL, b.Body)
		}
		b.open(t, path)
		if b.Status != http.StatusNotFound {
			t.Errorf("the link after its use: %d", b.Status)
		}
		// An administrator replaces the address, with the box as it was.
		admin, page := m.signedIn(t, m.admin), "/admin/users/"+m.userID(t, "carol")+"/"
		admin.open(t, page)
		admin.submit(t, "Save changes", params("email", "new@example.com"))
		b.open(t, "/account/")
		if !strings.Contains(b.Body, "new@example.com") || !strings.Contains(b.Body, "Not confirmed") {
			t.Errorf("the new address counts as confirmed:\n%s", b.Body)
		}
	})
}
