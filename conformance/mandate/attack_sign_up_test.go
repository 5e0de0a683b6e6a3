package mandate

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"mandate/provider/passkey/passkeytest"
)

// knows reports whether somebody has an account with this username.
func (s *server) knows(t testing.TB, name string) bool {
	t.Helper()
	return slices.ContainsFunc(s.people(t), func(a account) bool { return a.Username == name })
}

// Several parties use one invitation at the same moment, at two nodes, with a password and with a passkey.
// One account is made.
func TestAttackInvitationTwiceInParallel(t *testing.T) {
	ownProcesses(t)
	attack(t, "one-time link used in parallel (CWE-367)", "")
	forEachDatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db, host: "localhost", settings: []string{"PASSWORD_HASH_CONCURRENCY: 2"}})
		nodes := []*server{s, s.node(t)}
		s.mustCLI(t, "", "group", "add", "staff")
		link := s.byHand(t, "ann@example.com", "--group", "staff")
		// Everybody with a passkey has made it already.
		var ceremonies []url.Values
		for i := range 4 {
			options, form := nodes[i%2].browser(t).begunPasskey(t, link, "username", fmt.Sprint("passkey-", i))
			a := &passkeytest.Authenticator{Origin: s.BaseURL, Counter: 1}
			form.Set("response", a.Create(options))
			ceremonies = append(ceremonies, form)
		}
		won := 0
		for i, got := range parallel(t, 8, func(i int) (answer, error) {
			if i < len(ceremonies) {
				return nodes[i%2].tryPost(link+"passkey/", ownForm, ceremonies[i])
			}
			return nodes[i%2].tryPost(link, ownForm,
				params("username", fmt.Sprint("password-", i), "password", s.secret(fmt.Sprint("the words of number ", i))))
		}) {
			switch {
			case got.Status == http.StatusSeeOther:
				won++
			// The second sees the used link, or the address of the first.
			case got.Status != http.StatusNotFound && got.Status != http.StatusConflict &&
				got.Status != http.StatusTooManyRequests:
				t.Errorf("request %d: %d\n%s", i, got.Status, got.Body)
			}
		}
		checkEqual(t, "accounts that were made", won, 1)
		var people, members, passkeys, invitations int
		behind(t, db, `SELECT COUNT(*) FROM users`, &people)
		behind(t, db, `SELECT COUNT(*) FROM memberships`, &members)
		behind(t, db, `SELECT COUNT(*) FROM passkeys`, &passkeys)
		behind(t, db, `SELECT COUNT(*) FROM invitations`, &invitations)
		if people != 1 || members != 1 || passkeys > 1 || invitations != 0 {
			t.Errorf("%d people, %d memberships, %d passkeys, %d invitations", people, members, passkeys, invitations)
		}
	})
}

// The link is stolen from a mailbox after its reason is gone.
func TestAttackInvitationOutlivesItsReason(t *testing.T) {
	attack(t, "persistence after a change (CWE-613)", "")
	onADatabase(t, func(t *testing.T, db database) {
		m := startMailing(t, db, "localhost")
		m.person(t, "keeper", "--admin")
		for name, end := range map[string]func(admin person, b *browser, id string){
			"withdrawn": func(_ person, b *browser, id string) { b.send(t, "/admin/invitations/"+id+"/withdraw/", nil) },
			"withdrawn-by-command": func(_ person, _ *browser, id string) {
				m.mustCLI(t, "", "invitation", "withdraw", id)
			},
			"renewed": func(_ person, b *browser, id string) {
				b.send(t, "/admin/invitations/"+id+"/renew/", params("how", "mail"))
			},
			"too-late": func(_ person, _ *browser, id string) {
				m.exec(t, `UPDATE invitations SET expires_at = $1 WHERE id = $2`, time.Now().Unix(), id)
			},
			"disabled": func(p person, _ *browser, _ string) { m.mustCLI(t, "", "user", "disable", p.Name) },
			"restored": func(p person, _ *browser, _ string) {
				m.mustCLI(t, "", "user", "disable", p.Name)
				m.mustCLI(t, "", "user", "enable", p.Name)
			},
			"deleted": func(p person, _ *browser, _ string) { m.mustCLI(t, "", "user", "delete", p.Name) },
			"demoted": func(p person, _ *browser, _ string) {
				b := m.signedIn(t, m.admin)
				b.open(t, "/admin/users/"+m.userID(t, p.Name)+"/")
				b.submit(t, "Save changes", url.Values{"administrator": nil})
			},
		} {
			t.Run(name, func(t *testing.T) {
				inviter := m.person(t, "inviter-"+name, "--admin")
				b := m.signedIn(t, inviter)
				link := m.invites(t, b, name+"@example.com")
				options, form := m.other.browser(t).begunPasskey(t, link)
				a := &passkeytest.Authenticator{Origin: m.BaseURL, Counter: 1}
				form.Set("response", a.Create(options))
				var id string
				behind(t, db, `SELECT id FROM invitations WHERE email = '`+name+`@example.com'`, &id)
				end(inviter, b, id)
				dead(t, name, link, m.server, m.other)
				if got := m.post(t, link+"passkey/", ownForm, form); got.Status != http.StatusNotFound {
					t.Errorf("the passkey that was begun before: %d", got.Status)
				}
			})
		}
		for _, name := range []string{"thief", "withdrawn@example.com", "demoted@example.com"} {
			if m.knows(t, name) {
				t.Errorf("there is an account %s", name)
			}
		}
	})
}

// Somebody gets the address of the invitation first. Nobody gets a second account with it.
func TestAttackInvitationOfATakenAddress(t *testing.T) {
	attack(t, "account takeover before sign-up (CWE-287)", "")
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db, host: "localhost"})
		link := s.byHand(t, "Ann@example.com")
		options, form := s.browser(t).begunPasskey(t, link)
		a := &passkeytest.Authenticator{Origin: s.BaseURL, Counter: 1}
		form.Set("response", a.Create(options))
		s.person(t, "first", "--email", "ann@EXAMPLE.com")
		for what, got := range map[string]answer{
			"the page":             s.get(t, link, nobody),
			"with a password":      s.post(t, link, ownForm, params("username", "second", "password", "words of a new person")),
			"begun with a passkey": s.post(t, link, ownForm, params("username", "second", "way", "passkey")),
			"with a passkey":       s.post(t, link+"passkey/", ownForm, form),
		} {
			if got.Status != http.StatusConflict ||
				!strings.Contains(got.Body, "There is an account with your address already") {
				t.Errorf("%s: %d\n%s", what, got.Status, got.Body)
			}
		}
		checkEqual(t, "people", len(s.people(t)), 1)
	})
}

// A person goes away before the passkey is made. Nothing is stored, and the link still works.
func TestAttackAbandonedPasskeyLocksNobodyOut(t *testing.T) {
	attack(t, "denial of service by an account without a way to sign in (CWE-840)", "")
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db, host: "localhost"})
		link, other := s.byHand(t, "ann@example.com"), s.byHand(t, "bob@example.com")
		mallory := s.browser(t)
		options, form := mallory.begunPasskey(t, link)
		a := &passkeytest.Authenticator{Origin: s.BaseURL, Counter: 1}
		good := a.Create(options)
		for what, try := range map[string]func(form url.Values) string{
			"no response":                  func(form url.Values) string { form.Set("response", ""); return link },
			"not JSON":                     func(form url.Values) string { form.Set("response", "{"); return link },
			"the response to another link": func(form url.Values) string { form.Set("response", good); return other },
			"no ticket": func(form url.Values) string {
				form.Set("response", good)
				form.Set("ticket", "")
				return link
			},
			"another host": func(form url.Values) string {
				form.Set("response",
					(&passkeytest.Authenticator{Origin: "http://localhost.evil.example", Counter: 1}).Create(options))
				return link
			},
			"the person was not verified": func(form url.Values) string {
				form.Set("response", (&passkeytest.Authenticator{Origin: s.BaseURL, Counter: 1, Unverified: true}).Create(options))
				return link
			},
		} {
			sent := url.Values{}
			for name, values := range form {
				sent[name] = slices.Clone(values)
			}
			path := try(sent)
			got := s.post(t, path+"passkey/", ownForm, sent)
			if got.Status != http.StatusUnprocessableEntity || len(got.Header["Set-Cookie"]) > 0 &&
				strings.Contains(strings.Join(got.Header["Set-Cookie"], " "), "mandate_session=") {
				t.Errorf("%s: %d %v\n%s", what, got.Status, got.Header, got.Body)
			}
		}
		checkEqual(t, "people", len(s.people(t)), 0)
		b := s.browser(t)
		b.joinsByPasskey(t, link, "username", "ann")
		b.isPerson(t, "ann")
		// The first ceremony is finished after the link was used.
		form.Set("response", good)
		if got := s.post(t, link+"passkey/", ownForm, form); got.Status != http.StatusNotFound &&
			got.Status != http.StatusConflict {
			t.Errorf("the abandoned one: %d", got.Status)
		}
		// A passkey belongs to one account: Bob does not sign in as Ann, nor the reverse.
		bob := s.browser(t)
		key := bob.joinsByPasskey(t, other, "username", "bob")
		again := s.browser(t)
		request, signIn := again.asked(t, "/login/?next=/account/")
		signIn.Set("response", key.Get(request))
		again.send(t, "/login/passkey/", signIn)
		again.isPerson(t, "bob")
	})
}

// An invitation is opened in the browser of somebody who is signed in, or into which a session was planted.
func TestAttackInvitationInAnotherPersonsBrowser(t *testing.T) {
	attack(t, "session fixation (CWE-384)", "CVE-2026-7507")
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db, host: "localhost"})
		alice := s.person(t, "alice")
		b := s.signedIn(t, alice)
		cookie := b.cookie(t, "/", "mandate_session")
		link := s.byHand(t, "ann@example.com")
		b.open(t, link)
		b.isAt(t, "the page", http.StatusOK, "You are signed in as")
		b.isPerson(t, "alice") // opening the link changes nothing
		b.joins(t, link, "username", "ann")
		b.isPerson(t, "ann")
		if b.cookie(t, "/", "mandate_session") == cookie {
			t.Error("the session has the cookie of the other person")
		}
		if s.carrying(t, "mandate_session", cookie).isSignedIn(t) {
			t.Error("the session of the other person goes on in this browser")
		}
		// Another site cannot send the form.
		other := s.byHand(t, "bob@example.com")
		foreign := func(r *http.Request, _ url.Values) {
			r.Header.Set("Origin", "https://evil.example")
			r.Header.Set("Sec-Fetch-Site", "cross-site")
		}
		if got := s.post(t, other, foreign,
			params("username", "bob", "password", "words of a stranger here")); got.Status != http.StatusForbidden {
			t.Errorf("a form of another site: %d", got.Status)
		}
		checkEqual(t, "people", len(s.people(t)), 2)
	})
}

// Whether there is an account with an address is not in the response, nor in what the database stores for it.
func TestAttackSignUpEnumeration(t *testing.T) {
	attack(t, "user enumeration (CWE-204)", "CVE-2026-23511")
	onADatabase(t, func(t *testing.T, db database) {
		m := startMailingWith(t, db, "", "SIGN_UP: open")
		m.person(t, "carol", "--email", "carol@example.com")
		m.person(t, "evan", "--email", "evan@example.com")
		m.mustCLI(t, "", "user", "disable", "evan")
		m.byHand(t, "ivy@example.com")
		m.mail.Stop()
		date, typed := regexp.MustCompile(`(?m)^(Date|X-Request-Id): .*$`), regexp.MustCompile(`[a-z]+@example\.com`)
		seen := map[string][]string{}
		for i, name := range []string{"carol", "evan", "ivy", "nobody", "Carol"} {
			node := []*server{m.server, m.other}[i%2]
			var header strings.Builder
			got := node.post(t, "/sign-up/", ownForm, params("email", name+"@example.com"))
			got.Header.Write(&header)
			text := typed.ReplaceAllString(date.ReplaceAllString(header.String(), "$1")+got.Body, "")
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
		for address, subject := range map[string]string{"carol@example.com": knownSubject, "ivy@example.com": signUpSubject,
			"nobody@example.com": signUpSubject} {
			message := m.waitTo(t, address, subject, 1)
			if subject == signUpSubject {
				m.linkIn(t, message)
			}
		}
		m.settled(t)
		for _, message := range m.mail.Messages(t) {
			if message.To[0] == "evan@example.com" {
				t.Errorf("a message to somebody who is disabled: %s", message.Data)
			}
		}
	})
}

// With a link, somebody tries out which usernames exist.
func TestAttackSignUpTriesUsernames(t *testing.T) {
	t.Parallel()
	attack(t, "user enumeration (CWE-204)", "")
	s := startServer(t, options{settings: []string{"TRUSTED_PROXIES: [127.0.0.1]"}})
	s.person(t, "alice")
	link := s.byHand(t, "ann@example.com")
	refused := 0
	for i := range 130 {
		got := s.post(t, link, from("198.51.100.7"), params("username", "alice", "password", "words of a new person"))
		switch got.Status {
		case http.StatusTooManyRequests:
			refused++
		case http.StatusUnprocessableEntity:
		default:
			t.Fatalf("request %d: %d", i, got.Status)
		}
	}
	if refused < 20 {
		t.Errorf("%d of 130 tries were refused", refused)
	}
	// The link itself, and people in other networks, are not affected.
	if got := s.post(t, link, from("203.0.113.9"),
		params("username", "ann", "password", "words of a new person")); got.Status != http.StatusSeeOther {
		t.Errorf("the person: %d\n%s", got.Status, got.Body)
	}
}

// A flood of requests sends few messages to one address, and does not end the invitation of its person.
func TestAttackSignUpFlood(t *testing.T) {
	attack(t, "messages without a limit (CWE-770)", "")
	onADatabase(t, func(t *testing.T, db database) {
		m := startMailingWith(t, db, "", "SIGN_UP: open")
		invited := m.invites(t, m.signedIn(t, m.admin), "ann@example.com")
		refused := 0
		for i := range 20 {
			got := m.post(t, "/sign-up/", from("198.51.100.7"), params("email", "ann@example.com"))
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
			got := m.other.post(t, "/sign-up/", from(fmt.Sprintf("203.0.%d.1", i+1)), params("email", "ANN@example.com"))
			if got.Status != http.StatusSeeOther {
				t.Fatalf("network %d: %d", i, got.Status)
			}
		}
		m.settled(t)
		messages := append(m.to(t, "ann@example.com", signUpSubject), m.to(t, "ANN@example.com", signUpSubject)...)
		if len(messages) == 0 || len(messages) > 10 { // the hour may change in between
			t.Errorf("%d messages were sent, want 5", len(messages))
		}
		var kept int
		behind(t, db, `SELECT COUNT(*) FROM invitations`, &kept)
		checkEqual(t, "links that are stored", kept, len(messages)+1)
		for _, message := range messages {
			m.linkIn(t, message)
		}
		b := m.browser(t)
		b.joins(t, invited, "username", "ann")
		b.isPerson(t, "ann")
		dead(t, "a link that a stranger asked for", m.linkIn(t, messages[0]), m.server)
	})
}

// The link leads to this server, whatever the request says about its host.
func TestAttackSignUpHostHeader(t *testing.T) {
	t.Parallel()
	attack(t, "poisoning of a link by the Host header (CWE-640)", "")
	m := startMailingWith(t, newSQLite(t), "", "SIGN_UP: open")
	evil := func(r *http.Request, _ url.Values) {
		r.Host = "evil.example"
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		r.Header.Set("X-Forwarded-Host", "evil.example")
		r.Header.Set("Forwarded", "host=evil.example")
	}
	if got := m.post(t, "/sign-up/", evil,
		params("email", "ann@example.com", "next", "https://evil.example/")); got.Status != http.StatusSeeOther ||
		strings.Contains(got.Header.Get("Location"), "evil") {
		t.Fatalf("%d %s", got.Status, got.Header.Get("Location"))
	}
	message := m.waitTo(t, "ann@example.com", signUpSubject, 1)
	m.linkIn(t, message)
	if strings.Contains(message.Data, "evil.example") {
		t.Errorf("the message names the host of the request:\n%s", message.Data)
	}
}

// An address cannot add a header, a recipient or a line to a message, and it is the only recipient.
func TestAttackSignUpMailInjection(t *testing.T) {
	t.Parallel()
	attack(t, "header injection into mail (CWE-93)", "")
	m := startMailingWith(t, newSQLite(t), "", "SIGN_UP: open", "SIGN_UP_ALLOWED_DOMAINS: [example.com]")
	admin := m.signedIn(t, m.admin)
	for _, address := range []string{"ann@example.com\r\nBcc: eve@evil.example", "ann@example.com,eve@evil.example",
		"eve@evil.example", "Ann <ann@example.com>", "ann@example.com@evil.example", "\"eve@evil.example\"@",
		"eve@evil.example,@example.com",
		"ann@example.com.", "ann@EXAMPLE.com.evil.example", "ann@examp\u200ble.com", "@example.com", "ann@", "",
		strings.Repeat("a", 300) + "@example.com", "ann@example.com%0d%0aBcc:eve"} {
		if got := m.post(t, "/sign-up/", ownForm, params("email", address)); got.Status != http.StatusUnprocessableEntity &&
			got.Status != http.StatusBadRequest {
			t.Errorf("%q: %d", address, got.Status)
		}
		if address == "eve@evil.example" {
			continue // an administrator may invite anybody
		}
		admin.send(t, "/admin/invitations/new/", params("recipient", address, "by_hand", "on"))
		if admin.Status != http.StatusUnprocessableEntity && admin.Status != http.StatusBadRequest &&
			!strings.HasSuffix(address, "evil.example") && address != "ann@example.com%0d%0aBcc:eve" {
			t.Errorf("%q is invited: %d", address, admin.Status)
		}
		for _, link := range regexp.MustCompile(`/sign-up/([A-Za-z0-9_-]{43})/`).FindAllStringSubmatch(admin.Body, -1) {
			m.secret(link[1])
		}
	}
	m.settled(t)
	checkEqual(t, "messages", len(m.mail.Messages(t)), len(m.to(t, "root@example.com", signInSubject)))
}

// A list wants to exhaust the server, or to break its page.
func TestAttackHostileList(t *testing.T) {
	t.Parallel()
	attack(t, "resource exhaustion and injection by a file (CWE-400, CWE-1236)", "")
	s := startServer(t, options{})
	admin := s.signedIn(t, s.person(t, "root", "--admin"))
	for what, list := range map[string]string{
		"too many":             strings.Repeat("a@b.c\n", 1001),
		"an endless cell":      "email,groups\na@b.c,\"" + strings.Repeat("x", 30_000),
		"many mistakes":        strings.Repeat("<script>alert(1)</script>\n", 1500),
		"many columns":         "email" + strings.Repeat(",groups", 5000),
		"not text":             "email\n\xff\xfe\x00",
		"a NUL":                "email\na\x00@b.c",
		"a formula":            "email,groups\na@b.c,=HYPERLINK(\"https://evil.example\")",
		"markup as an address": "email\n\"<img src=x onerror=alert(1)>\"@example.com",
		"markup as a group":    "email,groups\na@b.c,<img src=x onerror=alert(1)>",
		"markup as a column":   "email,<img src=x onerror=alert(1)>\na@b.c,x",
	} {
		admin.open(t, "/admin/invitations/list/")
		admin.submit(t, "Invite", params("file", list))
		if admin.Status != http.StatusUnprocessableEntity && admin.Status != http.StatusBadRequest ||
			strings.Contains(admin.Body, "<img src=x") || strings.Contains(admin.Body, "<script>alert") ||
			len(admin.Body) > 100_000 {
			t.Errorf("%s: %d, %d bytes", what, admin.Status, len(admin.Body))
		}
	}
	admin.open(t, "/admin/invitations/list/")
	admin.submit(t, "Invite", params("file", strings.Repeat("x", 70_000)))
	checkEqual(t, "a large file", admin.Status, http.StatusRequestEntityTooLarge)
	admin.send(t, "/admin/invitations/list/", params("list", "a@b.c"))
	checkEqual(t, "another content type", admin.Status, http.StatusUnsupportedMediaType)
	admin.open(t, "/admin/invitations/")
	admin.isAt(t, "after all that", http.StatusOK, "There is no invitation.")
}

// A link that somebody asked for is no invitation: it does not let a person of another server in.
func TestAttackAskedLinkIsNoInvitation(t *testing.T) {
	t.Parallel()
	attack(t, "privilege escalation by one's own request (CWE-269)", "")
	mail := startMailingWith(t, newSQLite(t), "", "SIGN_UP: open",
		"SIGN_IN_SERVERS: [{NAME: company, LABEL: Example Company, ISSUER: https://login.example.com, CLIENT_ID: mandate, "+
			"CLIENT_SECRET: of the company, NEW_PEOPLE: invited}]")
	mail.asksForAccount(t, mail.server, "eve@company.example")
	mail.linkIn(t, mail.waitTo(t, "eve@company.example", signUpSubject, 1))
	if r := mail.cli(t, "", "invitation", "list", "--json"); strings.TrimSpace(r.stdout) != "[]" {
		t.Errorf("%s", r.stdout)
	}
	// The link makes no administrator, whatever the form says.
	b := mail.browser(t)
	link := mail.linkIn(t, mail.to(t, "eve@company.example", signUpSubject)[0])
	b.open(t, link)
	if strings.Contains(b.Body, "Example Company") {
		t.Error("the page of the link offers the other server")
	}
	b.send(t, link, params("username", "eve", "password", "words of eve in a row", "administrator", "on", "active", "on",
		"group", "staff", "email", "root@example.com"))
	b.isPerson(t, "eve")
	for _, a := range mail.people(t) {
		if a.Username == "eve" && (a.Administrator || a.Email != "eve@company.example" || len(a.Groups) > 0) {
			t.Errorf("%+v", a)
		}
	}
}

// Somebody who has many links sends all the forms at once. The hashes of one network form one queue, so that
// people at other addresses can sign in.
func TestAttackSignUpFillsTheQueueOfHashes(t *testing.T) {
	attack(t, "resource exhaustion by password hashing", "")
	s := startServer(t, options{settings: append(slices.Clone(oneByOne), "SIGN_UP: invited")})
	alice := s.person(t, "alice")
	var links []string
	for i := range 60 {
		links = append(links, s.byHand(t, fmt.Sprintf("new-%d@example.com", i)))
	}
	from := afar(ownForm)
	rest := atOnce(t, len(links), func(i int) (answer, error) {
		return s.tryPost(links[i], from, params("username", fmt.Sprint("new-", i), "password", "words of a new person"))
	})
	login, err := s.tryPost("/login/", afar(ownForm), params("username", alice.Name, "password", alice.Password))
	if err != nil {
		t.Fatal(err)
	}
	checkEqual(t, "status of another person's login", login.Status, http.StatusSeeOther)
	wantRefused(t, rest(), len(links))
}
