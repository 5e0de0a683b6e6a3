package mandate

import (
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// boundToSession: only the session that got a consent page can answer it, with one of
// its two buttons.
func (v *fixture) boundToSession(t *testing.T) {
	alice, sameAlice, bob := v.signedIn(t, v.alice), v.signedIn(t, v.alice), v.signedIn(t, v.bob)
	for _, app := range []application{v.casual, v.phone} {
		ticket := alice.ticket(t, app, "state", "kept")
		approve := params("ticket", ticket, "decision", "approve")
		for _, c := range []struct {
			name string
			b    *browser
			form url.Values
		}{
			{"another person", bob, approve},
			{"another session of the same person", sameAlice, approve},
			{"nobody", v.browser(t), approve},
			{"a session that has ended", v.loggedOut(t), approve},
			{"no decision", alice, with(approve, "decision", "")},
			{"another decision", alice, with(approve, "decision", "Approve")},
			{"two decisions", alice, url.Values{"ticket": {ticket}, "decision": {"deny", "approve"}}},
			{"two tickets", alice, url.Values{"ticket": {ticket, ticket}, "decision": {"approve"}}},
			{"no ticket", alice, with(approve, "ticket", "")},
		} {
			t.Run(app.kind()+"/"+c.name, func(t *testing.T) {
				c.b.send(t, "/o/consent/", c.form)
				if c.b.Status != http.StatusBadRequest || c.b.Away != nil {
					t.Errorf("%d, away %v", c.b.Status, c.b.Away)
				}
			})
		}
		t.Run(app.kind()+"/a form of another site", func(t *testing.T) {
			request, err := http.NewRequest("POST", v.URL+"/o/consent/", strings.NewReader(approve.Encode()))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			request.Header.Set("Origin", "https://evil.example")
			request.Header.Set("Sec-Fetch-Site", "cross-site")
			alice.follow(t, request)
			if alice.Status != http.StatusForbidden || alice.Away != nil {
				t.Errorf("%d, away %v", alice.Status, alice.Away)
			}
		})
		t.Run(app.kind()+"/the right session", func(t *testing.T) {
			alice.send(t, "/o/consent/", approve)
			if alice.Away == nil || alice.Away.Query().Get("code") == "" || alice.Away.Query().Get("state") != "kept" {
				t.Errorf("%d, away %v", alice.Status, alice.Away)
			}
		})
	}
}

// loggedOut returns a browser that still sends the cookie of an ended session.
func (v *fixture) loggedOut(t testing.TB) *browser {
	t.Helper()
	b := v.signedIn(t, v.alice)
	session := b.cookie(t, "/", "mandate_session")
	b.send(t, "/logout/", nil)
	return v.carrying(t, "mandate_session", session)
}

// boundSessions: a session can see and end only sessions of its own person.
func (v *fixture) boundSessions(t *testing.T) {
	alice, bob := v.signedIn(t, v.alice), v.signedIn(t, v.bob)
	t.Run("fixation", func(t *testing.T) {
		// The session id changes at login, and a planted one is useless after it (session
		// fixation).
		b := v.signedIn(t, v.bob)
		planted := b.cookie(t, "/", "mandate_session")
		b.open(t, "/login/")
		b.logIn(t, v.alice)
		if b.cookie(t, "/", "mandate_session") == planted {
			t.Error("the session id is the same after the login")
		}
		old := v.carrying(t, "mandate_session", planted)
		old.open(t, "/account/")
		if old.URL.Path != "/login/" {
			t.Errorf("the old cookie still opens %s", old.URL)
		}
	})
	alice.open(t, "/account/")
	ends := regexp.MustCompile(`/account/sessions/[^/"]+/end/`).FindString(alice.Body)
	if ends == "" {
		t.Fatalf("the account page lists no other session:\n%s", alice.Body)
	}
	alice.issue(t, v.web, v.alice)
	alice.family(t, v.web, v.alice)
	alice.open(t, "/account/")
	revokes := regexp.MustCompile(`/account/applications/[^/"]+/revoke/`).FindString(alice.Body)
	if revokes == "" {
		t.Fatalf("the account page lists no application:\n%s", alice.Body)
	}
	bob.send(t, ends, nil)
	if bob.Status != http.StatusNotFound {
		t.Errorf("another person's session can be ended: %d", bob.Status)
	}
	t.Run("administration", func(t *testing.T) {
		for _, path := range []string{"/admin/users/", "/admin/users/new/", "/admin/groups/", "/admin/groups/x/delete/",
			"/admin/resources/", "/admin/resources/new/", "/admin/resources/change/?uri=x", "/admin/resources/delete/?uri=x"} {
			bob.open(t, path)
			if bob.Status != http.StatusForbidden {
				t.Errorf("GET %s by a person without rights: %d", path, bob.Status)
			}
		}
		for _, path := range []string{"", "update/", "rotate/", "revoke/", "delete/"} {
			bob.open(t, "/o/applications/"+v.web.ID+"/"+path)
			if bob.Status != http.StatusNotFound {
				t.Errorf("GET %s of another's application: %d", path, bob.Status)
			}
			if path != "" {
				bob.send(t, "/o/applications/"+v.web.ID+"/"+path, params("name", "Mine", "overlap", "0"))
				if bob.Status != http.StatusNotFound {
					t.Errorf("POST %s of another's application: %d", path, bob.Status)
				}
			}
		}
		for _, path := range []string{"/admin/users/new/", "/admin/users/x/", "/admin/users/x/delete/", "/admin/groups/",
			"/admin/resources/new/", "/admin/resources/change/?uri=x", "/admin/resources/delete/?uri=x"} {
			bob.send(t, path, params("username", "mallory", "name", "x", "password", "correct horse battery staple"))
			if bob.Status != http.StatusForbidden {
				t.Errorf("POST %s by a person without rights: %d", path, bob.Status)
			}
		}
	})
	v.mustToken(t, v.web.auth(), params("grant_type", "client_credentials"))
}

// boundDevices: password guessing slows the attacker. It does not slow the person in a
// browser in which they have signed in before. The cookie of that browser is for this
// person only.
func (v *fixture) boundDevices(t *testing.T) {
	alice, bob := v.signedIn(t, v.alice), v.signedIn(t, v.bob)
	own, others := alice.cookie(t, "/", "mandate_device"), bob.cookie(t, "/", "mandate_device")
	here := afar(nobody)
	// RFC 6749 §10.10: guessing is slowed. The answer says for how many seconds. Until
	// then, every login from here is refused without the cookie of this browser.
	var slowed time.Time
	login := func(t testing.TB, password string, as auth) answer {
		t.Helper()
		sent := time.Now()
		a := v.post(t, "/login/", func(r *http.Request, form url.Values) {
			here(r, form)
			as(r, form)
			r.Header.Set("Sec-Fetch-Site", "same-origin")
		}, params("username", v.alice.Name, "password", password))
		if a.Status == http.StatusTooManyRequests {
			seconds, _ := strconv.Atoi(a.Header.Get("Retry-After"))
			slowed = sent.Add(time.Duration(seconds-1) * time.Second) // the answer is rounded up
		}
		return a
	}
	slow := func() {
		waitFor(t, "guessing is slowed for some seconds", func() bool {
			a := login(t, "a wrong password of some length", nobody)
			return a.Status == http.StatusTooManyRequests && time.Until(slowed) > 4*time.Second
		})
	}
	slow()
	for _, cookie := range append([]string{others, alice.cookie(t, "/", "mandate_session")},
		printable(altered(own)[:40])...) {
		if time.Until(slowed) < 2*time.Second {
			slow()
		}
		until := slowed
		a := login(t, v.alice.Password, withCookie("mandate_device", cookie))
		if a.Status != http.StatusTooManyRequests && time.Now().Before(until) {
			t.Errorf("a device cookie that is not this person's is as good as one: %d", a.Status)
			break
		}
	}
	slow()
	if a := login(t, v.alice.Password, withCookie("mandate_device", own)); a.Status != http.StatusSeeOther {
		t.Errorf("somebody else's guesses keep the person out: %d %s", a.Status, a.Body)
	}
}

// boundSecrets: a new client secret is shown once, on the page of its application, in
// the session that created it.
func (v *fixture) boundSecrets(t *testing.T) {
	root, other := v.signedIn(t, v.admin), v.signedIn(t, v.admin)
	register := func(t testing.TB) (path, page string) {
		t.Helper()
		root.open(t, "/o/applications/register/")
		root.submit(t, "Register application", url.Values{"name": {"Made here"}, "grant_type": {"client_credentials"}})
		if root.Status != http.StatusOK || len(root.Hops) != 1 {
			t.Fatalf("registration shows %d %s", root.Status, root.URL)
		}
		return root.URL.Path, root.Body
	}
	secret := func(page string) string {
		found := regexp.MustCompile(`id="client_secret"[^>]* value="([A-Za-z0-9_-]{43})"`).FindStringSubmatch(page)
		if found == nil {
			return ""
		}
		return v.secret(found[1])
	}
	path, page := register(t)
	shown := secret(page)
	if shown == "" {
		t.Fatalf("no secret after the registration:\n%s", page)
	}
	root.open(t, path)
	if secret(root.Body) != "" {
		t.Error("the secret is shown a second time")
	}
	// The cookie that carries the secret to that page, intercepted on its way.
	answer := v.post(t, path+"rotate/", func(r *http.Request, _ url.Values) {
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		r.AddCookie(&http.Cookie{Name: "mandate_session", Value: root.cookie(t, "/", "mandate_session")})
	}, params("overlap", "0"))
	sealed := ""
	for _, line := range answer.Header.Values("Set-Cookie") {
		if c, err := http.ParseSetCookie(line); err == nil && c.Name == "mandate_secret" {
			sealed = c.Value
			if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path == "/" || c.MaxAge <= 0 {
				t.Errorf("the cookie with the secret: %s", line[strings.Index(line, ";"):])
			}
		}
	}
	if sealed == "" {
		t.Fatalf("no cookie carries the secret: %d", answer.Status)
	}
	elsewhere, _ := register(t)
	view := func(path string, b *browser, sealed string) string {
		return secret(v.get(t, path, func(r *http.Request, _ url.Values) {
			r.AddCookie(&http.Cookie{Name: "mandate_session", Value: b.cookie(t, "/", "mandate_session")})
			r.AddCookie(&http.Cookie{Name: "mandate_secret", Value: sealed})
		}).Body)
	}
	if view(path, other, sealed) != "" {
		t.Error("another session sees the secret")
	}
	if view(elsewhere, root, sealed) != "" {
		t.Error("the page of another application shows the secret")
	}
	for _, text := range append(printable(altered(sealed)), root.cookie(t, "/", "mandate_device")) {
		if view(path, root, text) != "" {
			t.Errorf("an altered cookie shows a secret")
		}
	}
	if got := view(path, root, sealed); got == "" || got == shown {
		t.Errorf("the right cookie does not show the new secret")
	}
}

// boundSetup: the first administrator's link works only complete, and once.
func boundSetup(t *testing.T, kind string) {
	db := newSQLite(t)
	if kind == "postgres" {
		db = newPostgres(t)
	}
	s := startServer(t, options{database: db})
	link := s.firstLink(t)
	for _, text := range printable(altered(link)) {
		if strings.ContainsAny(text, "/%?#.") {
			continue // a completely different path
		}
		if a := s.get(t, "/setup/"+text+"/", nobody); a.Status != http.StatusNotFound {
			t.Errorf("%q: %d", text, a.Status)
		}
	}
	b := s.browser(t)
	password := s.secret("correct horse battery staple")
	b.send(t, "/setup/"+link[1:]+"/", params("username", "mallory", "password", password))
	if b.Status != http.StatusNotFound {
		t.Errorf("a part of the link makes an administrator: %d", b.Status)
	}
	b.open(t, "/setup/"+link+"/")
	b.submit(t, "", params("username", "root", "password", "short"))
	if b.Status != http.StatusUnprocessableEntity {
		t.Errorf("a short password: %d", b.Status)
	}
	b.submit(t, "", params("username", "root", "password", password))
	if b.URL.Path != "/login/" || b.Status != http.StatusOK {
		t.Fatalf("the link does not work: %d %s\n%s", b.Status, b.URL, b.Body)
	}
	for _, method := range []func(){
		func() { b.open(t, "/setup/"+link+"/") },
		func() { b.send(t, "/setup/"+link+"/", params("username", "mallory", "password", password)) },
	} {
		method()
		if b.Status != http.StatusNotFound {
			t.Errorf("the link works twice: %d", b.Status)
		}
	}
	root := s.signedIn(t, person{"root", password})
	root.open(t, "/admin/users/")
	if root.Status != http.StatusOK || strings.Contains(root.Body, "mallory") {
		t.Errorf("the first person is no administrator, or not alone: %d\n%s", root.Status, root.Body)
	}
}

// firstLink returns the secret part of the link that the server prints at its first
// start.
func (s *server) firstLink(t testing.TB) string {
	t.Helper()
	var found []string
	waitFor(t, "the first start prints its link", func() bool {
		found = regexp.MustCompile(`/setup/([A-Za-z0-9_-]+)/`).FindStringSubmatch(s.log.String())
		return found != nil
	})
	return found[1]
}
