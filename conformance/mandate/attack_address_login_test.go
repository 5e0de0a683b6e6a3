package mandate

import (
	"net/http"
	"strings"
	"testing"
)

// hasVerified says that the address of a person is verified.
func (s *server) hasVerified(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		behind(t, s.database, `UPDATE users SET profile = '{"email_verified":true}' WHERE username = '`+name+`'`)
	}
}

// reaches tries to sign in with a name, and returns who is signed in then: "" for nobody.
func (s *server) reaches(t testing.TB, name, password string) string {
	t.Helper()
	b := s.browser(t)
	b.open(t, "/login/?next=%2Faccount%2F")
	b.submit(t, "", params("username", name, "password", password))
	if b.URL.Path != "/account/" {
		checkEqual(t, "the sign-in of "+name+" is refused with", b.Status, http.StatusUnprocessableEntity)
		return ""
	}
	_, rest, _ := strings.Cut(b.Body, `Signed in as </span><bdi>`)
	who, _, _ := strings.Cut(rest, "<")
	return who
}

// Who has verified an address signs in with it. An address that somebody has only typed never works, and nobody
// loses the username to an address.
func TestAttackSignInByAddress(t *testing.T) {
	attack(t, "account shadowed by an address (CWE-290)", "")
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db})
		alice := s.person(t, "alice", "--email", "Alice@Example.org")
		try := func(what, name, password, want string) {
			t.Helper()
			if got := s.reaches(t, name, password); got != want {
				t.Errorf("%s: %s signs in %q, want %q", what, name, got, want)
			}
		}
		try("not verified", "alice@example.org", alice.Password, "")
		s.hasVerified(t, "alice")
		try("verified", "Alice@Example.org", alice.Password, "alice")
		try("in another case", " ALICE@EXAMPLE.ORG ", alice.Password, "alice")
		try("a wrong password", "alice@example.org", "words of a stranger", "")
		try("in letters that only look alike", "alice@exampLe.org\u200b", alice.Password, "")
		try("in letters that fold", "alıce@example.org", alice.Password, "")
		// Somebody types the address, and does not verify it.
		mallory := s.person(t, "mallory", "--email", "alice@example.org")
		try("typed by another", "alice@example.org", mallory.Password, "")
		try("typed by another", "alice@example.org", alice.Password, "alice")
		// Two people have verified it: nobody signs in with it, and both do with their names.
		s.hasVerified(t, "mallory")
		try("two people", "alice@example.org", alice.Password, "")
		try("two people", "alice@example.org", mallory.Password, "")
		try("by the name", "alice", alice.Password, "alice")
		// Only enabled accounts count.
		s.mustCLI(t, "", "user", "disable", "mallory")
		try("the other one is disabled", "alice@example.org", mallory.Password, "")
		try("the other one is disabled", "alice@example.org", alice.Password, "alice")
		// Of the failures the event log names the account, and of unknown names nothing.
		failed := s.mustCLI(t, "", "events", "--kind", "sign-in.failed")
		if !strings.Contains(failed, "alice") || strings.Contains(failed, "example.org") {
			t.Errorf("the failures: %s", failed)
		}
		// A username wins over an address, also that of a disabled account.
		eve := s.person(t, "alice@example.org", "--email", "eve@example.org")
		try("a username of this form", "alice@example.org", eve.Password, "alice@example.org")
		try("a username of this form", "alice@example.org", alice.Password, "")
		s.mustCLI(t, "", "user", "disable", "alice@example.org")
		try("a disabled username", "alice@example.org", alice.Password, "")
		try("the name", "alice", alice.Password, "alice")
		// The password grant knows usernames only.
		app := s.application(t, "--name", "Old", "--grant", "password")
		bob := s.person(t, "bob", "--email", "bob@example.org")
		s.hasVerified(t, "bob")
		_, a := s.token(t, app.auth(),
			params("grant_type", "password", "username", "bob@example.org", "password", bob.Password))
		checkEqual(t, "the password grant by address", a.Status, http.StatusBadRequest)
	})
}

// The page says what an address needs, whoever has it. Who must sign in with the same account again is offered no other
// one.
func TestSignInPageNamesTheAddress(t *testing.T) {
	const unconfirmed = "An email address works here only after you have confirmed it. Until then, enter your username."
	onADatabase(t, func(t *testing.T, db database) {
		m := startMailingWith(t, db, "", "SIGN_UP: open")
		dora := m.person(t, "dora", "--email", "dora@example.org")
		m.hasVerified(t, "dora")
		b := m.browser(t)
		b.open(t, "/login/")
		b.isAt(t, "the sign-in page", http.StatusOK, "Create an account")
		b.submit(t, "Sign in", params("username", "", "password", ""))
		b.isAt(t, "no name", http.StatusUnprocessableEntity, "Enter your username or your email address.")
		for _, name := range []string{"dora@example.org", "nobody@example.org"} {
			b.submit(t, "Sign in", params("username", name, "password", "words of a stranger"))
			b.isAt(t, name, http.StatusUnprocessableEntity, "The username or the password is wrong. "+unconfirmed)
		}
		b.submit(t, "Sign in", params("username", "dora", "password", "words of a stranger"))
		if b.Status != http.StatusUnprocessableEntity || strings.Contains(b.Body, unconfirmed) {
			t.Errorf("a username: %d\n%s", b.Status, b.Body)
		}
		in := m.signedIn(t, dora)
		for reason, offered := range map[string]bool{"confirm": false, "account": true} {
			in.open(t, "/login/?reason="+reason)
			checkEqual(t, "an account is offered with the reason "+reason, strings.Contains(in.Body, "Create an account"),
				offered)
		}
	})
}

// Attempts at an account are counted together, whichever name is typed: two names do not double them. The page does not
// tell that the other name has used them up.
func TestAttackTwoNamesDoubleNoAttempts(t *testing.T) {
	attack(t, "guesses doubled by two names (CWE-307)", "")
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db})
		alice := s.person(t, "alice", "--email", "alice@example.org")
		s.hasVerified(t, "alice")
		names := []string{"alice", "alice@example.org", "ALICE", "Alice@EXAMPLE.org", " alice@example.org"}
		b := s.browser(t)
		b.open(t, "/login/")
		for i := range 10 {
			b.send(t, "/login/", params("username", names[i%len(names)], "password", "words of a stranger"))
			checkEqual(t, "status of a wrong password", b.Status, http.StatusUnprocessableEntity)
		}
		for _, name := range names[:2] {
			b.send(t, "/login/", params("username", name, "password", alice.Password))
			checkEqual(t, "status of "+name+" after ten wrong passwords", b.Status, http.StatusUnprocessableEntity)
			if !strings.Contains(b.Body, "The username or the password is wrong.") {
				t.Errorf("the page tells the limit of the account:\n%s", b.Body)
			}
		}
	})
}

// A person who is signed in stores a bounded number of events, and can sign out whatever happens.
func TestAttackEndlessEvents(t *testing.T) {
	attack(t, "event log flooded by a person who is signed in (CWE-770)", "")
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db})
		alice, app := s.person(t, "alice"),
			s.application(t, "--name", "web", "--grant", "authorization_code", "--redirect-uri", webURI)
		b := s.signedIn(t, alice)
		address, _ := s.authorizeURL(app)
		b.open(t, address)
		ticket := b.ticketOfPage(t)
		refused := 0
		for range 1060 {
			b.send(t, "/o/consent/", params("ticket", ticket, "decision", "deny"))
			if b.Away == nil {
				refused++
				checkEqual(t, "status", b.Status, http.StatusTooManyRequests)
				if !strings.Contains(b.Body, "Sign out and sign in again, then send the form once more.") {
					t.Fatalf("%s", b.Body)
				}
			}
		}
		if refused < 20 {
			t.Errorf("%d of 1060 forms were refused", refused)
		}
		if n := rows(t, db, "events WHERE kind = 'consent.denied'"); n > 1040 {
			t.Errorf("%d events", n)
		}
		b.send(t, "/account/sessions/end/", nil)
		checkEqual(t, "signed in after all", b.isSignedIn(t), false)
	})
}

// UTS 39 §5.2: a username of several scripts could look like that of somebody else.
func TestAttackUsernameOfTwoScripts(t *testing.T) {
	attack(t, "confusable username (CWE-1007)", "")
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db})
		b := s.browser(t)
		link := s.byHand(t, "new@example.org")
		for _, name := range []string{"аlice", "adminіstrator", "αdmin"} {
			b.joins(t, link, "username", name)
			checkEqual(t, name, b.Status, http.StatusUnprocessableEntity)
			if !strings.Contains(b.Body, "Use letters of one script only.") {
				t.Errorf("%s: the page does not say why:\n%s", name, b.Body)
			}
		}
		b.joins(t, link, "username", "алиса2026")
		checkEqual(t, "a name of one script", b.Status, http.StatusOK)
	})
}
