package mandate

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
)

// asked returns a link that a person got by mail.
func (m *mailing) asked(t *testing.T, name string) string {
	t.Helper()
	address := name + "@example.com"
	n := len(m.to(t, address, resetSubject))
	m.forgot(t, m.server, name)
	return m.linkIn(t, m.waitTo(t, address, resetSubject, n+1))
}

// sets tries a link, and reports whether it sets the password.
func (m *mailing) sets(t *testing.T, node *server, link, password string) bool {
	t.Helper()
	answer, err := node.tryPost(link, ownForm, params("new_password", m.secret(password)))
	if err != nil {
		t.Fatal(err)
	}
	switch answer.Status {
	case http.StatusSeeOther:
		return true
	case http.StatusNotFound:
		return false
	}
	t.Fatalf("%d\n%s", answer.Status, answer.Body)
	return false
}

// ownForm makes a form one of the server's own pages.
func ownForm(r *http.Request, _ url.Values) { r.Header.Set("Sec-Fetch-Site", "same-origin") }

// A link is stolen from a mailbox, after the person has changed the address, or has been disabled.
func TestAttackResetLinkOutlivesItsReason(t *testing.T) {
	attack(t, "weak recovery of a forgotten password (CWE-640), persistence after a change (CWE-613)", "")
	onADatabase(t, func(t *testing.T, db database) {
		m := startMailing(t, db)
		admin := m.signedIn(t, m.admin)
		for name, end := range map[string]func(p person){
			"moved": func(p person) {
				admin.open(t, "/admin/users/"+m.userID(t, p.Name)+"/")
				admin.submit(t, "Save changes", params("email", "elsewhere@example.com"))
			},
			"disabled": func(p person) { m.mustCLI(t, "", "user", "disable", p.Name) },
			"restored": func(p person) {
				m.mustCLI(t, "", "user", "disable", p.Name)
				m.mustCLI(t, "", "user", "enable", p.Name)
			},
			"reset":    func(p person) { m.mustCLI(t, "the operator's words\n", "user", "passwd", p.Name, "--password-stdin") },
			"deleted":  func(p person) { m.mustCLI(t, "", "user", "delete", p.Name) },
			"too-late": func(person) { m.exec(t, `UPDATE links SET expires_at = $1`, time.Now().Unix()) },
			"changed":  func(p person) { m.changesPassword(t, p) },
		} {
			p := m.person(t, name, "--email", name+"@example.com")
			link := m.asked(t, name)
			end(p)
			for _, node := range []*server{m.server, m.other} {
				if got := node.get(t, link, nobody); got.Status != http.StatusNotFound {
					t.Errorf("%s: GET %d", name, got.Status)
				}
				if m.sets(t, node, link, "the thief's own words") {
					t.Errorf("%s: the link sets the password", name)
				}
			}
		}
	})
}

func (m *mailing) exec(t *testing.T, statement string, values ...any) {
	t.Helper()
	_, err := m.database.open(t).Exec(statement, values...)
	if err != nil {
		t.Fatal(err)
	}
}

// changesPassword changes the password of a person on the account page.
func (m *mailing) changesPassword(t *testing.T, p person) {
	t.Helper()
	b := m.signedIn(t, p)
	b.open(t, "/account/")
	b.submit(t, "Change password",
		params("current_password", p.Password, "new_password", m.secret("the person's own words")))
	if !strings.Contains(b.Body, "Your password was changed") {
		t.Fatalf("%d\n%s", b.Status, b.Body)
	}
}

// Several parties use one link at the same moment, at two nodes. One password is set, and one
// message says so.
func TestAttackResetLinkTwiceInParallel(t *testing.T) {
	attack(t, "one-time link used in parallel (CWE-367)", "")
	forEachDatabase(t, func(t *testing.T, db database) {
		m := startMailing(t, db)
		m.person(t, "carol", "--email", "carol@example.com")
		link, nodes := m.asked(t, "carol"), []*server{m.server, m.other}
		words := func(i int) string { return "the words of number " + string(rune('a'+i)) }
		winner := -1
		for i, got := range parallel(t, 6, func(i int) (answer, error) {
			return nodes[i%2].tryPost(link, ownForm, params("new_password", m.secret(words(i))))
		}) {
			switch {
			case got.Status == http.StatusSeeOther && winner < 0:
				winner = i
			case got.Status != http.StatusNotFound && got.Status != http.StatusTooManyRequests:
				t.Errorf("request %d: %d", i, got.Status)
			}
		}
		if winner < 0 {
			t.Fatal("no request has set the password")
		}
		m.signedIn(t, person{"carol", words(winner)})
		m.settled(t)
		if n := len(m.to(t, "carol@example.com", changedSubject)); n != 1 {
			t.Errorf("%d messages say that the password has changed", n)
		}
	})
}

// The link leads to this server, whatever the request says about its host.
func TestAttackResetHostHeader(t *testing.T) {
	t.Parallel()
	attack(t, "password reset poisoning by the Host header (CWE-640)", "")
	m := startMailing(t, newSQLite(t))
	m.person(t, "carol", "--email", "carol@example.com")
	evil := func(r *http.Request, _ url.Values) {
		r.Host = "evil.example"
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		for _, name := range []string{"X-Forwarded-Host", "X-Host", "X-Forwarded-Server", "X-Original-Host"} {
			r.Header.Set(name, "evil.example")
		}
		r.Header.Set("Forwarded", "host=evil.example")
	}
	if got := m.post(t, "/password/forgot/", evil, params("username", "carol")); got.Status != http.StatusSeeOther {
		t.Fatalf("%d", got.Status)
	}
	message := m.waitTo(t, "carol@example.com", resetSubject, 1)
	m.linkIn(t, message)
	if strings.Contains(message.Data, "evil.example") {
		t.Errorf("the message names the host of the request:\n%s", message.Data)
	}
}

// A name cannot add a header, a recipient or a line to a message.
func TestAttackMailInjection(t *testing.T) {
	t.Parallel()
	attack(t, "header injection into mail (CWE-93)", "")
	m := startMailing(t, newSQLite(t))
	m.person(t, "carol", "--email", "carol@example.com")
	for _, name := range []string{"carol@example.com\r\nBcc: eve@example.com", "carol@example.com,eve@example.com",
		"carol@example.com, eve@example.com", "Carol <carol@example.com>",
		"carol\r\n", "carol@example.com%0d%0aBcc:eve@example.com", "eve@example.com", "%", "carol%",
		strings.Repeat("é", 300)} {
		got := m.post(t, "/password/forgot/", ownForm, params("username", name))
		if got.Status != http.StatusSeeOther {
			t.Errorf("%q: %d", name, got.Status)
		}
	}
	m.settled(t)
	for _, message := range m.mail.Messages(t) {
		if len(message.To) != 1 || message.To[0] != "carol@example.com" || message.Header.Get("Bcc") != "" ||
			strings.Contains(message.Data, "eve@example.com") {
			t.Errorf("%v\n%s", message.To, message.Data)
		}
	}
	for _, name := range []string{"eve\r\nBcc: x", "eve\n"} {
		if r := m.cli(t, "some words in a row\n", "user", "add", name, "--password-stdin"); r.code != 1 {
			t.Errorf("a person named %q is added", name)
		}
	}
	if r := m.cli(t, "some words in a row\n", "user", "add", "eve", "--password-stdin", "--email",
		"eve@example.com\r\nBcc: x@example.com"); r.code != 1 {
		t.Error("an address with two lines is stored")
	}
}

// Whether an account exists is not in the response, nor in what the database stores for it.
func TestAttackResetEnumeration(t *testing.T) {
	attack(t, "user enumeration (CWE-204)", "CVE-2026-23511")
	onADatabase(t, func(t *testing.T, db database) {
		m := startMailing(t, db)
		m.person(t, "carol", "--email", "carol@example.com")
		m.person(t, "dora") // without an address
		m.person(t, "evan", "--email", "evan@example.com")
		m.mustCLI(t, "", "user", "disable", "evan")
		m.mail.Stop() // so that the notes of unknown names are not the only ones that go quickly
		date := regexp.MustCompile(`(?m)^(Date|X-Request-Id): .*$`)
		seen := map[string][]string{}
		for i, name := range []string{"carol", "dora", "evan", "nobody", "carol@example.com", "nobody@example.com", "Carol"} {
			node := []*server{m.server, m.other}[i%2]
			var header strings.Builder
			got := node.post(t, "/password/forgot/", ownForm, params("username", name))
			got.Header.Write(&header)
			text := date.ReplaceAllString(header.String(), "$1") + got.Body
			seen[text] = append(seen[text], name)
			if got.Status != http.StatusSeeOther {
				t.Errorf("%s: %d", name, got.Status)
			}
		}
		if len(seen) != 1 {
			t.Errorf("the responses differ: %v", seen)
		}
		m.mail.Restart(t)
		m.exec(t, `UPDATE mails SET due_at = 1 WHERE due_at < $1`, time.Now().Unix()+60) // nobody waits for the pauses
		m.waitTo(t, "carol@example.com", resetSubject, 3)
		m.settled(t)
		if n := len(m.mail.Messages(t)); n != 3 {
			t.Errorf("%d messages were sent, want 3", n)
		}
	})
}

// A flood of requests sends few messages to one person, from one network as from many, and does not
// suppress the message that the password has changed.
func TestAttackResetFlood(t *testing.T) {
	attack(t, "messages without a limit (CWE-770)", "")
	onADatabase(t, func(t *testing.T, db database) {
		m := startMailing(t, db)
		m.person(t, "carol", "--email", "carol@example.com")
		refused := 0
		for i := range 20 {
			got := m.post(t, "/password/forgot/", from("198.51.100.7"), params("username", "carol"))
			switch got.Status {
			case http.StatusTooManyRequests:
				refused++
				if got.Header.Get("Retry-After") == "" {
					t.Error("429 without Retry-After")
				}
			case http.StatusSeeOther:
			default:
				t.Fatalf("request %d: %d", i, got.Status)
			}
		}
		if refused != 15 {
			t.Errorf("%d of 20 requests from one network were refused, want 15", refused)
		}
		for i := range 40 { // each from another network
			got := m.other.post(t, "/password/forgot/", from(fmt.Sprintf("203.0.%d.1", i+1)),
				params("username", "carol@example.com"))
			if got.Status != http.StatusSeeOther {
				t.Fatalf("network %d: %d", i, got.Status)
			}
		}
		m.settled(t)
		messages := m.to(t, "carol@example.com", resetSubject)
		if len(messages) == 0 || len(messages) > 10 { // the hour may change in between
			t.Errorf("%d messages were sent, want 5", len(messages))
		}
		for _, message := range messages {
			m.linkIn(t, message)
		}
		if !m.sets(t, m.server, m.linkIn(t, messages[0]), "some new words in a row") {
			t.Error("the first link does not work any more")
		}
		m.waitTo(t, "carol@example.com", changedSubject, 1)
	})
}

// from sends a form of the server's own page from an address.
func from(address string) auth {
	return func(r *http.Request, form url.Values) {
		fromAddress(address)(r, form)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
}
