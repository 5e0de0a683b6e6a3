package mandate

import (
	"net/http"
	"strings"
	"testing"
)

// NIST SP 800-63B-4 §3.1.1.2: no way of setting a password accepts one that is commonly used or expected. Each
// way says what to change, and how long a password must be. Who has such a password already can sign in.
func TestExpectedPasswordsAreRefused(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db, settings: []string{"BRAND_NAME: Hearth Bakery"}})
		const known, row, own = "Many people use this password", "The password repeats characters",
			"The password is made of your name"
		refused := map[string]string{"manchesterunited": known, "Passw0rd!Passw0rd!": known, "qwertyuiop123456": row,
			strings.Repeat("z", 20): row, "Hearth Bakery 2026": own}
		const good, hint = "a row of many words", "Use 15 to 1024 characters."
		// all tries every refused password, and that of its person, and then a good one.
		all := func(way, person, good string, set func(password string) (page string, done bool)) {
			t.Helper()
			mine := map[string]string{person + " " + person + " " + person + "!!": own}
			for _, list := range []map[string]string{refused, mine} {
				for password, why := range list {
					page, done := set(s.secret(password))
					if done || !strings.Contains(page, why) {
						t.Errorf("%s: %q is set: %t, want %q\n%s", way, password, done, why, page)
					}
				}
			}
			page, done := set(good)
			if !done {
				t.Errorf("%s: a good password is refused:\n%s", way, page)
			}
		}
		b := s.browser(t)
		// form tries a form of a page.
		form := func(way, person, path, button, field string, fields ...string) {
			t.Helper()
			b.open(t, path)
			if !strings.Contains(b.Body, hint) {
				t.Errorf("%s: the page does not say how long a password must be:\n%s", way, b.Body)
			}
			chosen := good
			if way == "the account page" {
				chosen = "another row of words"
			}
			all(way, person, chosen, func(password string) (string, bool) {
				b.submit(t, button, params(append([]string{field, password}, fields...)...))
				if strings.Contains(b.Body, password) && password != chosen {
					t.Errorf("%s: the page has the password", way)
				}
				return b.Body, b.Status == http.StatusOK
			})
		}
		form("setup", "rosalind", strings.TrimPrefix(s.setupLink(t), s.BaseURL), "", "password", "username", "rosalind")
		b.open(t, "/login/")
		b.logIn(t, person{"rosalind", good})
		form("an administrator, for a new person", "friedrich", "/admin/users/new/", "Add person", "password", "username",
			"friedrich")
		b.open(t, "/admin/users/")
		page := regexpSubmatch(t, `href="(/admin/users/[^/"]+/)"><bdi class="brief">friedrich<`, b.Body)
		form("an administrator, for somebody", "friedrich", page, "Save changes", "password")
		form("the account page", "rosalind", "/account/", "Change password", "new_password", "current_password", good)
		link := strings.TrimSpace(s.mustCLI(t, "", "user", "reset-password-link", "friedrich"))
		b = s.browser(t)
		form("a link", "friedrich", strings.TrimPrefix(strings.Fields(link)[0], s.BaseURL), "", "new_password")
		b = s.browser(t)
		form("an invitation", "wilhelmina", s.byHand(t, "w@example.org"), "Create the account", "password", "username",
			"wilhelmina")
		all("user add", "konstantin", good, func(password string) (string, bool) {
			r := s.cli(t, password+"\n", "user", "add", "konstantin", "--password-stdin")
			return r.stdout + r.stderr, r.code == 0
		})
		all("user passwd", "konstantin", good, func(password string) (string, bool) {
			r := s.cli(t, password+"\n", "user", "passwd", "konstantin", "--password-stdin")
			return r.stdout + r.stderr, r.code == 0
		})
		// In another language the message is complete.
		german := s.reading(t, "de")
		german.open(t, s.byHand(t, "v@example.org"))
		german.submit(t, "", params("username", "valentina", "password", "manchesterunited"))
		if !strings.Contains(german.Body, "Viele Menschen benutzen dieses Passwort") {
			t.Error("the message is not in German")
		}
		// A password that was set before this rule still works.
		behind(t, db, `UPDATE users SET password = '`+s.secret(hashOfKnown)+`' WHERE username = 'konstantin'`)
		s.signedIn(t, person{"konstantin", s.secret("manchesterunited")})
	})
}

// hashOfKnown is a bcrypt hash of manchesterunited.
const hashOfKnown = "$2a$04$cHrHSbdAGeJ0Dn9MZ0Uwe.NVot1KBuRvYY7kCccshlPULBQXw9rzK"
