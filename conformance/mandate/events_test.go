package mandate

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// event is an event as mandate events prints it.
type event struct {
	ID, Time, Kind, Address, Detail string
	UserAgent                       string `json:"user_agent"`
	Actor, Person, Object           struct{ Kind, ID, Name string }
	Count                           int
}

// events reads the event log, the newest event first.
func (s *server) events(t testing.TB, flags ...string) []event {
	t.Helper()
	var list []event
	for line := range strings.Lines(s.mustCLI(t, "", append([]string{"events", "--limit", "0", "--json"}, flags...)...)) {
		var e event
		err := json.Unmarshal([]byte(line), &e)
		if err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		list = append(list, e)
	}
	return list
}

// refusedKind is stored some seconds after the response.
const refusedKind = "request.refused"

// witness compares the events that something stores with the expected ones.
type witness struct {
	*server
	seen  map[string]int
	kinds map[string]bool // that were seen
}

func (s *server) witness(t testing.TB) *witness {
	t.Helper()
	w := &witness{s, map[string]int{}, map[string]bool{}}
	w.fresh(t)
	return w
}

// fresh returns the events since the last call, the oldest first.
func (w *witness) fresh(t testing.TB) []event {
	t.Helper()
	var list []event
	for _, e := range w.events(t) {
		if w.seen[e.ID] != e.Count {
			w.seen[e.ID], w.kinds[e.Kind] = e.Count, true
			if e.Kind == refusedKind {
				continue
			}
			list = append(list, e)
		}
	}
	slices.Reverse(list)
	return list
}

// after checks the events that do stores, each as "kind: actor, person, object, detail", in any order.
func (w *witness) after(t *testing.T, what string, do func(), want ...string) {
	t.Helper()
	do()
	got := []string{}
	for _, e := range w.fresh(t) {
		object := strings.TrimSpace(e.Object.Kind + " " + e.Object.Name)
		if e.Actor.Kind != "person" && e.Actor.Kind != "nobody" {
			e.Actor.Name = strings.TrimSpace(e.Actor.Kind + " " + e.Actor.Name)
		}
		if e.Actor.Kind == "operator" {
			e.Actor.Name = "operator"
		}
		got = append(got, fmt.Sprintf("%s: %s, %s, %s, %s", e.Kind, e.Actor.Name, e.Person.Name, object, e.Detail))
	}
	slices.Sort(got)
	slices.Sort(want)
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s stores\n\t%s\nwant\n\t%s", what, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// Each kind of events is stored, on both databases, by the nodes and by commands. The harness checks that none has a
// secret.
func TestEvents(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		m := startMailing(t, db, "localhost")
		w := m.witness(t)
		for _, part := range []struct {
			name string
			run  func(t *testing.T, m *mailing, w *witness)
		}{
			{"sign-in", eventsOfSignIn}, {"factors", eventsOfFactors}, {"passkeys", eventsOfPasskeys},
			{"password", eventsOfPasswords}, {"consent", eventsOfConsent},
			{"tokens", eventsOfTokens}, {"sessions", eventsOfSessions}, {"people", eventsOfPeople},
			{"applications", eventsOfApplications},
			{"registration", eventsOfRegistration}, {"server", eventsOfServer},
		} {
			t.Run(part.name, func(t *testing.T) { part.run(t, m, w) })
		}
		var kinds []struct{ Kind string }
		err := json.Unmarshal([]byte(m.mustCLI(t, "", "events", "--kinds", "--json")), &kinds)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range kinds {
			if !w.kinds[k.Kind] {
				t.Errorf("nothing has stored %s", k.Kind)
			}
		}
		// The log survives its nodes.
		count := func() int {
			return len(slices.DeleteFunc(m.events(t), func(e event) bool { return e.Kind == refusedKind }))
		}
		before := count()
		m.stop(t)
		m.start(t)
		checkEqual(t, "events after a restart", count(), before)
	})
}

func eventsOfSignIn(t *testing.T, m *mailing, w *witness) {
	const address = "198.51.100.7"
	typed := m.secret("a password typed as the name")
	login := func(node *server, name, password string) {
		node.post(t, "/login/", func(r *http.Request, form url.Values) {
			fromAddress(address)(r, form)
			r.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0")
		}, params("username", name, "password", password))
	}
	w.after(t, "a wrong password", func() { login(m.server, "Alice", m.secret("not the password")) },
		"sign-in.failed: , alice, , password")
	w.after(t, "a wrong password at another node", func() { login(m.other, "alice", m.secret("not the password")) },
		"sign-in.failed: , alice, , password")
	w.after(t, "a name that nobody has", func() { login(m.server, typed, "not the password") },
		"sign-in.failed: , , , password")
	w.after(t, "the right one", func() { login(m.other, "alice", m.alice.Password) },
		"sign-in: alice, alice, session, pwd")
	failed := m.events(t, "--kind", "sign-in.failed", "--user", "alice")
	if len(failed) != 1 || failed[0].Count != 2 || failed[0].Address != address || failed[0].Actor.Kind != "nobody" {
		t.Errorf("%+v", failed)
	}
	in := m.events(t, "--kind", "sign-in", "--user", "alice")
	if len(in) != 1 || in[0].Address != address || !strings.Contains(in[0].UserAgent, "Firefox/140.0") ||
		in[0].Person.ID == "" || in[0].Person.ID != in[0].Actor.ID {
		t.Errorf("%+v", in)
	}
	checkEqual(t, "events from the address", len(m.events(t, "--address", address)), 3)
	var sessions int
	behind(t, m.database, `SELECT COUNT(*) FROM sessions WHERE id = '`+in[0].Object.ID+`'`, &sessions)
	checkEqual(t, "sessions with the ID of the event", sessions, 1)

	b := m.signedIn(t, m.bob)
	w.fresh(t)
	w.after(t, "a sign-in in a browser with a session", func() { b.open(t, "/login/"); b.logIn(t, m.bob) },
		"sign-in: bob, bob, session, pwd")
	again := m.events(t, "--kind", "sign-in", "--user", "bob")
	checkEqual(t, "the session that goes on", again[0].Object.ID, again[1].Object.ID)
	w.after(t, "a wrong password in that browser", func() {
		b.open(t, "/login/")
		b.logIn(t, person{"alice", "not the password"})
	}, "sign-in.failed: , alice, , password")
	w.after(t, "a sign-out", func() { b.open(t, "/logout/"); b.submit(t, "Sign out", nil) }, "sign-out: bob, bob, , ")
	w.after(t, "a token request with a wrong password", func() {
		m.post(t, "/o/token/", m.web.auth(),
			params("grant_type", "password", "username", "bob", "password", "not the password"))
	}, "sign-in.failed: , bob, application Web, password")
	w.after(t, "one with the right password", func() {
		m.post(t, "/o/token/", m.web.auth(), params("grant_type", "password", "username", "bob", "password", m.bob.Password))
	})
}

func eventsOfFactors(t *testing.T, m *mailing, w *witness) {
	dave := m.person(t, "dave")
	b := m.signedIn(t, dave)
	w.fresh(t)
	var app authenticator
	var codes []string
	w.after(t, "adding an app", func() { b.open(t, "/account/factors/totp/"); app = b.addsApp(t) },
		"factor.added: dave, dave, totp, ", "session.strengthened: dave, dave, session, pwd otp")
	w.after(t, "making recovery codes", func() { codes = b.recoveryCodes(t) }, "recovery-codes.made: dave, dave, , ")
	b.open(t, "/account/") // what only accompanies another event is left out there
	if strings.Contains(b.Body, "An action as an administrator.") ||
		!strings.Contains(b.Body, "An authenticator app was added.") {
		t.Errorf("the activity of dave:\n%s", b.Body)
	}
	other := m.other.browser(t)
	other.open(t, "/login/")
	w.after(t, "the right password", func() { other.logIn(t, dave) })
	w.after(t, "a wrong code", func() { other.answers(t, "totp", "000000") }, "factor.failed: , dave, , totp")
	w.after(t, "a way that does not exist", func() { other.answers(t, m.secret("typed in another field"), "000000") },
		"factor.failed: , dave, , ")
	w.after(t, "a recovery code", func() { other.answers(t, "recovery", codes[0]) }, "recovery-code.used: dave, dave, , ",
		"sign-in: dave, dave, session, pwd otp")
	other = m.other.browser(t)
	other.open(t, "/login/")
	other.logIn(t, dave)
	w.after(t, "a right code", func() { other.answers(t, "totp", app.code(0)) }, "sign-in: dave, dave, session, pwd otp")
	w.after(t, "removing the app", func() {
		other.open(t, "/account/factors/totp/remove/")
		other.submit(t, "Remove the app", nil)
	}, "factor.removed: dave, dave, totp, ")
	other.open(t, "/account/factors/totp/")
	other.addsApp(t)
	admin := m.signedIn(t, m.admin)
	w.fresh(t)
	w.after(t, "an administrator", func() {
		admin.open(t, m.userPage(t, "dave")+"factors/")
		admin.submit(t, "Remove the second factor", nil)
	}, "factors.reset: root, dave, , ")
	w.after(t, "a command", func() { m.mustCLI(t, "", "user", "reset-factors", "dave") },
		"factors.reset: operator, dave, , ")
}

// userPage returns the path of the page of a person, for administrators.
func (s *server) userPage(t testing.TB, name string) string {
	t.Helper()
	for _, u := range s.people(t) {
		if u.Username == name {
			return "/admin/users/" + u.ID + "/"
		}
	}
	t.Fatalf("there is no person %s", name)
	return ""
}

func eventsOfPasskeys(t *testing.T, m *mailing, w *witness) {
	erin := m.person(t, "erin")
	b := m.signedIn(t, erin)
	w.fresh(t)
	w.after(t, "adding a passkey", func() { b.newPasskey(t) }, "factor.added: erin, erin, passkey Unknown browser, ",
		"session.strengthened: erin, erin, session, pwd pop user verified")
	path := regexpSubmatch(t, `"(/account/passkeys/[^"/]+/)"`, func() string { b.open(t, "/account/"); return b.Body }())
	w.after(t, "renaming it", func() { b.send(t, path, params("name", "Work laptop")) },
		"factor.renamed: erin, erin, passkey Work laptop, ")
	w.after(t, "removing it", func() { b.send(t, path+"remove/", nil) },
		"factor.removed: erin, erin, passkey Work laptop, ")
	a := b.newPasskey(t)
	w.fresh(t)
	other := m.other.browser(t)
	options, form := other.asked(t, "/login/")
	form.Set("response", a.Get(options))
	w.after(t, "a sign-in", func() { other.send(t, "/login/passkey/", form) },
		"sign-in: erin, erin, session, pop user verified")
	w.after(t, "the same response again", func() { m.browser(t).send(t, "/login/passkey/", form) })
	_, own := other.asked(t, "/login/")
	own.Set("response", form.Get("response"))
	w.after(t, "it in another ceremony", func() { other.send(t, "/login/passkey/", own) },
		"sign-in.failed: , erin, , passkey")
}

func eventsOfPasswords(t *testing.T, m *mailing, w *witness) {
	frank := m.person(t, "frank", "--email", "frank@example.com")
	b := m.signedIn(t, frank)
	w.fresh(t)
	next := m.secret("the next row of words")
	w.after(t, "a change with the wrong password", func() {
		b.send(t, "/account/password/", params("current_password", "not the password", "new_password", next))
	}, "password.failed: frank, frank, , ")
	w.after(t, "a change", func() {
		b.send(t, "/account/password/", params("current_password", frank.Password, "new_password", next))
	}, "password.changed: frank, frank, , ")
	w.after(t, "a forgotten password", func() { m.forgot(t, m.other, "frank"); m.settled(t) },
		"password.link: , frank, , mail")
	w.after(t, "somebody else's", func() { m.forgot(t, m.other, "nobody at all"); m.settled(t) })
	link := m.linkIn(t, m.waitTo(t, "frank@example.com", "Set a new password", 1))
	w.after(t, "a reset", func() { m.sets(t, m.server, link, m.secret("another row of words")) },
		"password.reset: frank, frank, , link")
	w.after(t, "a link by a command", func() { m.secret(m.mustCLI(t, "", "user", "reset-password-link", "frank")) },
		"password.link: operator, frank, , ")
	w.after(t, "a command", func() {
		m.mustCLI(t, m.secret("a third row of words")+"\n", "user", "passwd", "frank", "--password-stdin")
	}, "password.reset: operator, frank, , ")
	b = m.signedIn(t, person{"frank", "a third row of words"})
	m.settled(t)
	w.fresh(t)
	w.after(t, "asking to confirm the address", func() { b.send(t, "/account/address/", nil) },
		"address.link: frank, frank, , ")
	link = m.linkIn(t, m.waitTo(t, "frank@example.com", "Confirm your email address", 1))
	w.after(t, "confirming it", func() { b.open(t, link); b.send(t, link, nil) }, "address.verified: frank, frank, , ")
}

func eventsOfConsent(t *testing.T, m *mailing, w *witness) {
	b := m.signedIn(t, m.alice)
	w.fresh(t)
	address, _ := m.authorizeURL(m.casual, "scope", "read write")
	w.after(t, "allowing", func() { b.open(t, address); b.decide(t, "approve") },
		"consent.given: alice, alice, application Casual, read write")
	w.after(t, "the same request again", func() { b.open(t, address) })
	address, _ = m.authorizeURL(m.phone, "scope", "read")
	w.after(t, "not allowing", func() { b.open(t, address); b.decide(t, "deny") },
		"consent.denied: alice, alice, application Phone, ")
	address, _ = m.pushed(t, m.phone, "scope", "read")
	w.after(t, "not allowing a pushed request", func() { b.open(t, address); b.decide(t, "deny") },
		"consent.denied: alice, alice, application Phone, ")
	w.after(t, "revoking", func() { b.send(t, "/account/applications/"+m.casual.ID+"/revoke/", nil) },
		"consent.revoked: alice, alice, application Casual, ")
	w.after(t, "a device", func() { b.approvedDevice(t, m.tv, "scope", "read") },
		"device.approved: alice, alice, application Television, read")
	codes := m.askDevice(t, m.tv, "scope", "read")
	w.after(t, "not a device", func() { b.enter(t, codes.UserCode); b.decide(t, "deny") },
		"device.denied: alice, alice, application Television, ")
}

func eventsOfTokens(t *testing.T, m *mailing, w *witness) {
	b := m.signedIn(t, m.alice)
	w.fresh(t)
	form := b.issue(t, m.web, m.alice)
	w.after(t, "a code", func() { m.mustToken(t, m.web.auth(), form) })
	w.after(t, "the code again", func() { m.post(t, "/o/token/", m.web.auth(), form) },
		"token.reused: application Web, alice, application Web, code")
	w.after(t, "the code a third time", func() { m.post(t, "/o/token/", m.web.auth(), form) })
	first := b.family(t, m.web, m.alice)
	var next tokens
	w.after(t, "a refresh", func() { next = m.mustToken(t, m.web.auth(), refreshForm(first.RefreshToken)) })
	w.after(t, "it again", func() { m.mustToken(t, m.web.auth(), refreshForm(first.RefreshToken)) },
		"token.repeated: application Web, alice, application Web, refresh")
	w.after(t, "it a third time", func() { m.other.mustToken(t, m.web.auth(), refreshForm(first.RefreshToken)) },
		"token.repeated: application Web, alice, application Web, refresh")
	checkEqual(t, "rows of what is counted", len(m.events(t, "--kind", "token.repeated")), 1)
	w.after(t, "the next one", func() { m.mustToken(t, m.web.auth(), refreshForm(next.RefreshToken)) })
	w.after(t, "the first one after that",
		func() { m.post(t, "/o/token/", m.web.auth(), refreshForm(first.RefreshToken)) },
		"token.reused: application Web, alice, application Web, refresh")
	second := b.family(t, m.web, m.alice)
	w.after(t, "the application revokes",
		func() { m.post(t, "/o/revoke/", m.web.auth(), params("token", second.RefreshToken)) })
	third := b.family(t, m.web, m.alice)
	w.after(t, "the operator revokes", func() { m.mustCLI(t, third.AccessToken, "token", "revoke") },
		"token.revoked: operator, alice, application Web, ")
}

func eventsOfSessions(t *testing.T, m *mailing, w *witness) {
	b, admin := m.signedIn(t, m.bob), m.signedIn(t, m.admin)
	m.signedIn(t, m.bob)
	w.fresh(t)
	ending := func(page string, b *browser) string {
		b.open(t, page)
		return regexpSubmatch(t, `"([^"]+/sessions/[^"/]+/end/)"`, b.Body)
	}
	path := ending("/account/", b)
	w.after(t, "another browser", func() { b.send(t, path, nil) }, "session.ended: bob, bob, session, ")
	w.after(t, "all", func() { b.send(t, "/account/sessions/end/", nil) }, "sessions.ended: bob, bob, , ")
	m.signedIn(t, m.bob)
	w.fresh(t)
	page := m.userPage(t, "bob")
	path = ending(page, admin)
	w.after(t, "an administrator ends one", func() { admin.send(t, path, nil) }, "session.ended: root, bob, session, ")
	w.after(t, "and all", func() { admin.send(t, page+"sessions/end/", nil) }, "sessions.ended: root, bob, , ")
	w.after(t, "a command", func() { m.mustCLI(t, "", "user", "logout", "bob") }, "sessions.ended: operator, bob, , ")
}

func eventsOfPeople(t *testing.T, m *mailing, w *witness) {
	admin := m.signedIn(t, m.admin)
	w.fresh(t)
	password := m.secret("the words of grace")
	w.after(t, "a group", func() { admin.send(t, "/admin/groups/", params("name", "staff")) },
		"group.added: root, root, group staff, ")
	w.after(t, "a person", func() {
		admin.send(t, "/admin/users/new/",
			params("username", "grace", "password", password, "active", "on", "email", "grace@example.com"))
	}, "person.added: root, grace, , ")
	page := m.userPage(t, "grace")
	change := func(fields url.Values) func() {
		return func() { admin.open(t, page); admin.submit(t, "Save changes", fields) }
	}
	w.after(t, "no change", change(nil))
	w.after(t, "a change", change(params("email", "grace@example.org", "group", "staff", "nickname", "Gracie")),
		"person.changed: root, grace, , email profile groups")
	w.after(t, "a promotion", change(params("administrator", "on")), "person.promoted: root, grace, , ")
	w.after(t, "a new password and no rights",
		change(url.Values{"administrator": nil, "password": {m.secret("other words of grace")}}),
		"person.demoted: root, grace, , ", "password.reset: root, grace, , ")
	w.after(t, "a disabled account", change(url.Values{"active": nil}), "person.disabled: root, grace, , ")
	w.after(t, "a sign-in at it",
		func() { m.post(t, "/login/", nobody, params("username", "grace", "password", "other words of grace")) },
		"sign-in.failed: , grace, , disabled")
	w.after(t, "an enabled account", change(params("active", "on")), "person.enabled: root, grace, , ")
	w.after(t, "a link", func() { admin.open(t, page); admin.submit(t, "Make a link", nil) },
		"password.link: root, grace, , ")
	w.after(t, "commands", func() {
		m.mustCLI(t, "", "user", "disable", "grace")
		m.mustCLI(t, "", "user", "enable", "grace")
	},
		"person.disabled: operator, grace, , ", "person.enabled: operator, grace, , ")
	w.after(t, "an auditor", func() {
		m.mustCLI(t, "", "user", "update", "grace", "--auditor")
		m.mustCLI(t, "", "user", "update", "grace", "--auditor=false")
	},
		"auditor.added: operator, grace, , ", "auditor.removed: operator, grace, , ")
	w.after(t, "an administrator of a group", func() {
		m.mustCLI(t, "", "user", "update", "grace", "--administers", "staff")
		m.mustCLI(t, "", "user", "update", "grace", "--administers", "")
	},
		"delegate.added: operator, grace, group staff, ", "delegate.removed: operator, grace, group staff, ")
	w.after(t, "a membership that ends", func() {
		m.mustCLI(t, "", "group", "add-member", "staff", "grace", "--until", "1s")
		waitFor(t, "the membership ends", func() bool { return len(m.events(t, "--kind", "membership.ended")) > 0 })
	},
		"person.changed: operator, grace, , groups", "membership.ended: server, grace, group staff, ")
	his := m.signedIn(t, person{"grace", "other words of grace"})
	his.registered(t, "name", "Of Grace")
	w.fresh(t)
	w.after(t, "a person who is deleted", func() { admin.send(t, page+"delete/", params("applications", "delete")) },
		"person.deleted: root, grace, , delete", "application.deleted: root, root, application Of Grace, ")
	w.after(t, "a group that is renamed", func() {
		m.mustCLI(t, "", "group", "rename", "staff", "crew")
		m.mustCLI(t, "", "group", "rename", "crew", "staff")
	},
		"group.renamed: operator, , group crew, staff", "group.renamed: operator, , group staff, crew")
	w.after(t, "a group that is deleted", func() { admin.send(t, "/admin/groups/staff/delete/", nil) },
		"group.deleted: root, root, group staff, ")
	token := m.mustToken(t, m.web.auth(), params("grant_type", "client_credentials", "scope", "write"))
	w.after(t, "the sample API", func() {
		m.post(t, "/users/", bearer(token.AccessToken),
			params("username", "heidi", "password", m.secret("the words of heidi")))
	},
		"person.added: application "+m.web.ClientID+", heidi, , ")
	if got := m.events(t, "--user", m.events(t, "--kind", "person.deleted")[0].Person.ID, "--kind",
		"person.promoted"); len(got) != 1 || got[0].Person.Name != "grace" {
		t.Errorf("the events of somebody who was deleted: %+v", got)
	}
}

func eventsOfApplications(t *testing.T, m *mailing, w *witness) {
	b, admin := m.signedIn(t, m.alice), m.signedIn(t, m.admin)
	w.fresh(t)
	var mine application
	w.after(t, "registering", func() { mine = b.registered(t, "name", "Mine") },
		"application.added: alice, alice, application Mine, page")
	at := "/o/applications/" + mine.ID + "/"
	w.after(t, "saving without a change", func() { b.open(t, at+"update/"); b.submit(t, "Save changes", nil) })
	w.after(t, "changing", func() {
		b.open(t, at+"update/")
		b.submit(t, "Save changes", params("name", "Still mine", "redirect_uris", "https://mine.example/other"))
	},
		"application.changed: alice, alice, application Still mine, name redirect_uris")
	w.after(t, "another secret", func() { b.send(t, at+"rotate/", params("overlap", "0")); m.secret(b.shownSecret()) },
		"secret.rotated: alice, alice, application Still mine, ")
	w.after(t, "a stranger", func() { m.signedIn(t, m.bob).send(t, at+"rotate/", params("overlap", "0")) },
		"sign-in: bob, bob, session, pwd")
	w.after(t, "revoking everything", func() { b.send(t, at+"revoke/", nil) },
		"application.revoked: alice, alice, application Still mine, ")
	w.after(t, "another owner", func() { admin.open(t, at+"owner/"); admin.submit(t, "Assign", params("owner", "bob")) },
		"application.assigned: root, alice, application Still mine, owner", "application.assigned: root, bob, application "+
			"Still mine, owner")
	w.after(t, "taking it over", func() { m.mustCLI(t, "", "application", "take-over", mine.ClientID) },
		"application.assigned: operator, bob, application Still mine, operator")
	w.after(t, "deleting", func() { admin.send(t, at+"delete/", nil) },
		"application.deleted: root, root, application Still mine, ")
}

func eventsOfRegistration(t *testing.T, m *mailing, w *witness) {
	admin := m.signedIn(t, m.admin)
	w.fresh(t)
	w.after(t, "an initial access token", func() {
		admin.send(t, "/admin/registration-tokens/",
			params("uses", "2", "expires", "86400", "may", "client_credentials", "scopes", "read"))
		m.secret(regexpSubmatch(t, `(mit_[A-Za-z0-9_-]+)`, admin.Body))
	}, "registration-token.added: root, root, registration-token, ")
	token := regexpSubmatch(t, `(mit_[A-Za-z0-9_-]+)`, admin.Body)
	var made member
	w.after(t, "a registration", func() {
		made = m.registers(t, bearer(token),
			map[string]any{"client_name": "Robot", "grant_types": []string{"client_credentials"}})
	}, "application.added: , root, application Robot, registration")
	at := "/o/register/" + textOf(made, "client_id") + "/"
	own := bearer(textOf(made, "registration_access_token"))
	w.after(t, "a change", func() {
		m.send(t, "PUT", at, own, map[string]any{"client_id": textOf(made, "client_id"), "client_name": "Machine",
			"grant_types": []string{"client_credentials"}})
	}, "application.changed: application Robot, root, application Machine, name")
	w.after(t, "the end", func() { m.send(t, "DELETE", at, own, nil) },
		"application.deleted: application Machine, root, application Machine, ")
	admin.open(t, "/admin/registration-tokens/")
	path := regexpSubmatch(t, `"([^"]+/registration-tokens/[^"/]+/delete/)"`, admin.Body)
	w.after(t, "deleting the token", func() { admin.send(t, path, nil) },
		"registration-token.deleted: root, root, registration-token, ")
}

func eventsOfServer(t *testing.T, m *mailing, w *witness) {
	admin := m.signedIn(t, m.admin)
	w.fresh(t)
	w.after(t, "a resource", func() { m.mustCLI(t, "", "resource", "add", "https://films.example/", "--name", "Films") },
		"resource.added: operator, , resource Films, ")
	w.after(t, "a change of it", func() {
		admin.open(t, "/admin/resources/change/?uri="+url.QueryEscape("https://films.example/"))
		admin.submit(t, "Save changes", params("name", "Movies"))
	}, "resource.changed: root, root, resource Movies, name")
	w.after(t, "its end", func() { m.mustCLI(t, "", "resource", "delete", "https://films.example/") },
		"resource.deleted: operator, , resource Movies, ")
	w.after(t, "an export", func() { admin.open(t, "/admin/events/?kind=sign-in"); admin.submit(t, "Export as CSV", nil) },
		"events.exported: root, root, , kind")
	newest := "-" // which would begin a flag
	for strings.HasPrefix(newest, "-") {
		w.after(t, "a new key", func() { m.mustCLI(t, "", "keys", "rotate", "--kind", "EC") },
			"key.added: operator, , key, EC")
		newest = m.events(t, "--kind", "key.added")[0].Object.ID
	}
	w.after(t, "its end", func() { m.mustCLI(t, "", "keys", "retire", newest) }, "key.retired: operator, , key, ",
		"key.added: operator, , key, EC")
	w.after(t, "an invitation", func() { m.secret(m.mustCLI(t, "", "invitation", "add", "ivan@example.com")) },
		"invitation.added: operator, ivan@example.com, invitation ivan@example.com, ")
	one := m.events(t, "--kind", "invitation.added")[0].Object.ID
	w.after(t, "a new link", func() { m.secret(m.mustCLI(t, "", "invitation", "renew", one)) },
		"invitation.renewed: operator, ivan@example.com, invitation ivan@example.com, ")
	one = m.events(t, "--kind", "invitation.renewed")[0].Object.ID
	w.after(t, "its end", func() { m.mustCLI(t, "", "invitation", "withdraw", one) },
		"invitation.withdrawn: operator, ivan@example.com, invitation ivan@example.com, ")
}

// A change whose event cannot be stored does not happen, and a failure that cannot be stored is an error of the server.
func TestEventsCannotBeAvoided(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db})
		alice := s.person(t, "alice")
		b, link := s.signedIn(t, alice), s.byHand(t, "ann@example.com")
		behind(t, db, `ALTER TABLE events RENAME TO hidden`)
		if a := s.post(t, link, ownForm,
			params("username", "ann", "password", "words of a new person")); a.Status != http.StatusServiceUnavailable ||
			a.Header.Get("Set-Cookie") != "" {
			t.Errorf("a new account: %d %v", a.Status, a.Header)
		}
		for name, password := range map[string]string{"a wrong password": "not the password",
			"the right password": alice.Password} {
			a := s.post(t, "/login/", nobody, params("username", "alice", "password", password))
			if a.Status != http.StatusServiceUnavailable || a.Header.Get("Set-Cookie") != "" {
				t.Errorf("%s: %d %v", name, a.Status, a.Header)
			}
		}
		b.send(t, "/account/password/", params("current_password", alice.Password, "new_password", "the next row of words"))
		if b.Status != http.StatusServiceUnavailable {
			t.Errorf("a change of the password: %d %s", b.Status, b.Body)
		}
		behind(t, db, `ALTER TABLE hidden RENAME TO events`)
		s.signedIn(t, alice)
		checkEqual(t, "changes of the password", len(s.events(t, "--kind", "password.changed")), 0)
		s.browser(t).joins(t, link, "username", "ann")
		checkEqual(t, "people who were added", len(s.events(t, "--kind", "person.added")), 2)
	})
}

// The page has filters and pages, and an administrator exports what it selects. Nobody else reads it.
func TestEventsPage(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db})
		alice, root := s.person(t, "alice"), s.person(t, "root", "--admin")
		b := s.signedIn(t, alice)
		const formula = `=cmd|' /C calc'!A0`
		b.registered(t, "name", formula)
		for _, path := range []string{"/admin/events/", "/admin/events/export/"} {
			form := params()
			b.send(t, path, form)
			if path == "/admin/events/" {
				b.open(t, path)
			}
			checkEqual(t, "another person at "+path, b.Status, http.StatusForbidden)
			anonymous := s.browser(t)
			anonymous.open(t, path)
			checkEqual(t, "nobody at "+path, anonymous.URL.Path, "/login/")
		}
		checkEqual(t, "exports by others", len(s.events(t, "--kind", "events.exported")), 0)

		admin := s.signedIn(t, root)
		const rows = 60 // of one kind, so three pages
		day := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -1)
		first := day.Unix() + 12*60*60
		for i := range rows {
			behind(t, db, fmt.Sprintf(`INSERT INTO events SELECT 'many %02d', %d, 1000, 1, 'group.added', 'person', 'x',
				'somebody', '192.0.2.9', '', 'x', 'somebody', 'group', 'many', 'many', '' FROM users WHERE username = 'alice'`, i,
				first+int64(i/2)))
		}
		admin.open(t, "/admin/events/?kind=group.added&since=2026-01-01&until=2999-12-31")
		listed, visited := 0, 0
		for ; visited < 10; visited++ {
			listed += strings.Count(admin.Body, `class="first"`)
			next := regexp.MustCompile(`rel="next" href="([^"]+)"`).FindStringSubmatch(admin.Body)
			if next == nil {
				break
			}
			admin.open(t, "/admin/events/"+html.UnescapeString(next[1]))
		}
		if listed != rows || visited != 2 {
			t.Errorf("%d rows on %d pages", listed, visited+1)
		}
		admin.submit(t, "Export as CSV", nil)
		export := func() [][]string {
			t.Helper()
			if admin.Status != http.StatusOK || admin.Header.Get("Content-Type") != "text/csv; charset=utf-8" ||
				!strings.HasPrefix(admin.Header.Get("Content-Disposition"), `attachment; filename="events-`) ||
				admin.Header.Get("Cache-Control") != "no-store" {
				t.Fatalf("%d %v", admin.Status, admin.Header)
			}
			all, err := csv.NewReader(strings.NewReader(admin.Body)).ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			return all
		}
		if all := export(); len(all) != rows+1 || all[0][0] != "time" ||
			all[1][0] != time.Unix(first+29, 0).UTC().Format(time.RFC3339) || all[1][2] != "somebody" || all[1][10] != "group" {
			t.Errorf("the export of one kind: %d rows, %v", len(all), all[:2])
		}
		for _, test := range []struct {
			filter string
			want   int
		}{{"since=" + day.Format(time.DateOnly) + "&until=" + day.Format(time.DateOnly), 25},
			{"kind=group.added&until=" + day.AddDate(0, 0, -1).Format(time.DateOnly), 0}, {"person=alice&kind=sign-in", 1},
			{"by=root", 2}, {"object=many", 25}, {"address=192.0.2.9&kind=group.added", 25}, {"until=1969-12-31", 0}} {
			admin.open(t, "/admin/events/?"+test.filter)
			checkEqual(t, "rows with "+test.filter, strings.Count(admin.Body, `class="first"`), test.want)
		}
		for wrong, want := range map[string]string{"kind=none": "There is no such kind of events.",
			"since=yesterday": "Write a date", "until=2026-13-01": "Write a date",
			"person=nobody": "There is no person with this username",
			"by=nobody":     "There is no person with this username, no application",
			"address=here":  "This is not a network address"} {
			admin.open(t, "/admin/events/?"+wrong)
			admin.isAt(t, wrong, http.StatusUnprocessableEntity, want)
			checkEqual(t, "rows with "+wrong, strings.Count(admin.Body, `class="first"`), 0)
			field, value, _ := strings.Cut(wrong, "=")
			admin.send(t, "/admin/events/export/", params(field, value))
			admin.isAt(t, "the export with "+wrong, http.StatusUnprocessableEntity, want)
		}
		admin.open(t, "/admin/events/?since=2026-11-30&until=2026-11-29")
		admin.isAt(t, "the end before the beginning", http.StatusUnprocessableEntity,
			"Until: Choose the day of Since, or a later one.")
		admin.send(t, "/admin/events/export/", params("since", "2026-11-30", "until", "2026-11-29"))
		admin.isAt(t, "the export with the end before the beginning", http.StatusUnprocessableEntity,
			"Until: Choose the day of Since, or a later one.")
		for _, wrong := range []string{"before=x", "before=-1-x"} {
			admin.open(t, "/admin/events/?"+wrong)
			checkEqual(t, wrong, admin.Status, http.StatusBadRequest)
		}
		admin.open(t, "/admin/events/?by=x")
		admin.isAt(t, "somebody who was deleted", http.StatusOK, "somebody")
		admin.open(t, "/admin/events/?kind=person.added")
		admin.isAt(t, "what a command did", http.StatusOK, "<bdi class=\"brief\">(operator ")
		admin.open(t, "/admin/events/?person=alice")
		if strings.Contains(admin.Body, "<script>") || !strings.Contains(html.UnescapeString(admin.Body), formula) {
			t.Error("the page does not show the name of the application")
		}
		admin.submit(t, "Export as CSV", nil)
		cell := ""
		for _, row := range export() {
			if row[1] == "application.added" {
				cell = row[12]
			}
		}
		// A spreadsheet must not run it.
		checkEqual(t, "the cell", cell, "'"+formula)
		exported := s.events(t, "--kind", "events.exported")
		if len(exported) != 2 || exported[0].Actor.Name != "root" || exported[0].Detail != "person" ||
			exported[1].Detail != "kind since until" {
			t.Errorf("%+v", exported)
		}

		// A long export and a long list have every event once, the newest first. Many are of one second.
		const many = 2300
		behind(t, db, fmt.Sprintf(`INSERT INTO events WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n
			WHERE i < %d)
			SELECT 'step ' || (10000 + i), %d + i / 700, 1000, 1, 'group.deleted', 'person', 'x', 'somebody', '192.0.2.9', '',
				'x', 'somebody', 'group', 'the group', 'many', '' FROM n`, many, day.Unix()))
		admin.send(t, "/admin/events/export/", params("kind", "group.deleted"))
		all := export()
		checkEqual(t, "the size of a long export", len(all), many+1)
		id, person, object := slices.Index(all[0], "id"), slices.Index(all[0], "person_id"), slices.Index(all[0], "object_id")
		for i, row := range all[1:] {
			if want := fmt.Sprint("step ", 10000+many-i); row[id] != want || row[person] != "x" || row[object] != "the group" {
				t.Fatalf("row %d is %v, want %s", i, row, want)
			}
		}
		checkEqual(t, "the size of a long list", len(s.events(t, "--kind", "group.deleted")), many)
		s.follows(t, admin, []string{fmt.Sprint("step ", 10000+many-1), fmt.Sprint("step ", 10000+many)})
		if db.name != "sqlite" {
			return // a database with strict types has no row that cannot be read
		}
		// Nobody takes a part for the whole: an export that fails in the middle is cut off.
		behind(t, db, `UPDATE events SET times = 'not a number' WHERE id = 'step 10001'`)
		cookie := withCookie("mandate_session", admin.cookie(t, "/", "mandate_session"))
		_, err := s.tryPost("/admin/events/export/", func(r *http.Request, form url.Values) {
			cookie(r, form)
			sameSite(r, form)
		}, params("kind", "group.deleted"))
		if err == nil {
			t.Error("a part of the events looks like all of them")
		}
	})
}

// follows checks what mandate events --follow prints of deleted groups: the last two events, the oldest first, and then
// those that come, each once.
func (s *server) follows(t *testing.T, admin *browser, before []string) {
	t.Helper()
	path := built(t, binary)
	cmd := exec.Command(path, "events", "--follow", "--json", "--limit", "2", "--kind", "group.deleted",
		"--config", s.config)
	cmd.Dir, cmd.Env = s.dir, append(environment(), s.options.env...)
	var printed logBuffer
	p, err := launch(cmd, &printed)
	if err != nil {
		t.Fatal(err)
	}
	lines := func() []string { return strings.Split(strings.TrimSuffix(printed.String(), "\n"), "\n") }
	waitFor(t, "the last events are printed", func() bool { return len(lines()) >= 2 })
	names := []string{"following", "further"}
	for i, name := range names { // two rounds: what was printed in the first is there in the second
		admin.send(t, "/admin/groups/", params("name", name))
		admin.send(t, "/admin/groups/"+name+"/delete/", nil)
		waitFor(t, "the event that comes is printed", func() bool { return len(lines()) >= 3+i })
	}
	_ = p.cmd.Process.Signal(syscall.SIGINT)
	<-p.exited
	got := []string{}
	for _, line := range lines() {
		var e event
		err := json.Unmarshal([]byte(line), &e)
		if err != nil {
			t.Fatalf("%v: %q", err, line)
		}
		got = append(got, map[bool]string{true: e.ID, false: e.Object.Name}[e.Object.Name == "many"])
	}
	if want := append(slices.Clone(before), names...); !slices.Equal(got, want) || p.cmd.ProcessState.ExitCode() != 0 {
		t.Errorf("--follow prints %v and ends with %d, want %v", got, p.cmd.ProcessState.ExitCode(), want)
	}
}

// EVENT_LOG is a copy of the log as lines, of each node and of commands. A program rotates the file by renaming it.
func TestEventsAsLines(t *testing.T) {
	ownProcesses(t)
	forEachDatabase(t, func(t *testing.T, db database) {
		file := filepath.Join(t.TempDir(), "events.json")
		s := startServer(t, options{database: db, settings: []string{"EVENT_LOG: " + quote(file)}})
		read := func(path string) []event {
			t.Helper()
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var list []event
			for line := range strings.Lines(string(text)) {
				var e event
				err = json.Unmarshal([]byte(line), &e)
				if err != nil {
					t.Fatalf("%v: %q", err, line)
				}
				list = append(list, e)
			}
			return list
		}
		alice := s.person(t, "alice")
		if first := read(file); first[len(first)-1].Kind != "person.added" || first[len(first)-1].Actor.Kind != "operator" {
			t.Errorf("a command wrote %+v", first)
		}
		err := os.Rename(file, file+".1")
		if err != nil {
			t.Fatal(err)
		}
		s.signedIn(t, alice)
		for range 5 {
			s.post(t, "/login/", nobody, params("username", "alice", "password", "not the password"))
		}
		other := s.node(t)
		other.signedIn(t, alice)
		s.stop(t) // all lines are written
		other.stop(t)
		var kinds []string
		for _, e := range read(file) {
			kinds = append(kinds, fmt.Sprint(e.Kind, " ", e.Count))
		}
		checkEqual(t, "the lines after the file was renamed", strings.Join(kinds, ", "),
			"sign-in 1, sign-in.failed 1, sign-in.failed 2, sign-in.failed 4, sign-in 1")
		// They are what the database has, but for the count.
		stored := map[string]event{}
		for _, e := range s.events(t) {
			stored[e.ID] = e
		}
		for _, e := range append(read(file+".1"), read(file)...) {
			got := stored[e.ID]
			got.Count, got.Time = e.Count, e.Time
			checkEqual(t, "the stored event "+e.Kind, got, e)
		}
		if at, err := os.Stat(file); err != nil || at.Mode().Perm()&0o007 != 0 {
			t.Errorf("others can read the file: %v, %v", at.Mode(), err)
		}
	})
	t.Run("standard output", func(t *testing.T) {
		s := startServer(t, options{settings: []string{"EVENT_LOG: stdout"}})
		out := s.mustCLI(t, "the words of alice\n", "user", "add", "alice", "--password-stdin")
		checkEqual(t, "what a command prints", out, "Added alice.\n")
		s.signedIn(t, person{"alice", "the words of alice"})
		s.stop(t)
		if !strings.Contains(s.log.String(), `"kind":"sign-in","actor":{"kind":"person"`) {
			t.Errorf("no line in %s", s.log.String())
		}
	})
	t.Run("no folder", func(t *testing.T) {
		s := startServer(t, options{})
		s.stop(t)
		r := run(t, s.dir, append(s.options.env, "MANDATE_EVENT_LOG=none/events.json"), "", "serve", "--config", s.config)
		if r.code != 1 || !strings.Contains(r.stderr, "EVENT_LOG: open none/events.json") {
			t.Errorf("%d %s", r.code, r.stderr)
		}
	})
}

// A person sees what has happened to the account, and what others may have tried. Nobody sees where an administrator
// was. An administrator sees the state of a person at a glance.
func TestEventsOnTheAccountPage(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db, settings: []string{ours}})
		alice, root := s.person(t, "alice", "--email", "alice@example.com"), s.person(t, "root", "--admin")
		for _, address := range []string{"198.51.100.7", "198.51.100.7", "2001:db8:1:2:3::4"} {
			s.post(t, "/login/", fromAddress(address), params("username", "alice", "password", "not the password"))
		}
		s.post(t, "/login/", fromAddress("203.0.113.5"), params("username", "root", "password", root.Password))
		admin, b := s.signedIn(t, root), s.signedIn(t, alice)
		page := s.userPage(t, "alice")
		admin.open(t, page)
		admin.submit(t, "Save changes", params("first_name", "Alice"))
		address, _ := s.authorizeURL(s.application(t, "--name", "Planner", "--grant", "authorization_code",
			"--redirect-uri", webURI))
		b.open(t, address)
		b.decide(t, "approve")
		b.open(t, "/account/")
		activity := func(page string) []string {
			t.Helper()
			var rows []string
			for _, item := range strings.Split(sectionOf(t, page, "activity"), "<li>")[1:] {
				text := html.UnescapeString(regexp.MustCompile("<[^>]*>").ReplaceAllString(item, ""))
				rows = append(rows, strings.Join(
					strings.Fields(regexp.MustCompile(`\d+ \w+ \d{4}, \d\d:\d\d UTC`).ReplaceAllString(text, "NOW")), " "))
			}
			return rows
		}
		want := []string{
			"An application was allowed access. Planner NOW. 127.0.0.1. Unknown browser",
			"The account was changed. NOW. By an administrator.",
			"Signed in. NOW. 127.0.0.1. Unknown browser",
			"A wrong password was refused. Refused NOW. 2001:db8:1::/48. Unknown browser",
			"A wrong password was refused. 2 times NOW. 198.51.100.7. Unknown browser",
			"The account was created. NOW. By the operator of this server.",
		}
		own := activity(b.Body)
		slices.Sort(own)
		slices.Sort(want)
		checkEqual(t, "the activity on the account page", strings.Join(own, "\n"), strings.Join(want, "\n"))
		if strings.Contains(b.Body, "203.0.113.5") {
			t.Error("the page shows the address of the administrator")
		}
		german, err := http.NewRequest("GET", s.URL+"/account/", nil)
		if err != nil {
			t.Fatal(err)
		}
		german.Header.Set("Accept-Language", "de")
		b.follow(t, german)
		if !strings.Contains(b.Body, "Letzte Aktivitäten") ||
			!strings.Contains(b.Body, "Ein falsches Passwort wurde abgelehnt.") || !strings.Contains(b.Body, "2-mal") {
			t.Error("the activity is not in German")
		}
		admin.open(t, page)
		text := strings.Join(strings.Fields(regexp.MustCompile("<[^>]*>").ReplaceAllString(admin.Body, " ")), " ")
		for _, part := range []string{"Account Enabled", "Signed in In one browser", "Second factor None",
			"Email address Not confirmed", "Refused in 24 hours 3 wrong passwords"} {
			if !strings.Contains(text, part) {
				t.Errorf("the page of a person does not say %q: %s", part, text)
			}
		}
		checkEqual(t, "events on the page of a person", len(activity(admin.Body)), len(want))
		admin.click(t, "All their events")
		checkEqual(t, "all their events", strings.Count(admin.Body, `class="first"`), len(want))
		behind(t, db, fmt.Sprintf(`INSERT INTO events WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n
			WHERE i < 40)
			SELECT 'many ' || i, %d, 1000, 1, 'sign-out', 'person', id, 'alice', '192.0.2.9', '', id, 'alice', '', '', '', ''
				FROM n, users WHERE username = 'alice'`, time.Now().Unix()-24*3600))
		b.open(t, "/account/")
		checkEqual(t, "events on the account page: those of two strangers beside 15", len(activity(b.Body)), 17)
	})
}
