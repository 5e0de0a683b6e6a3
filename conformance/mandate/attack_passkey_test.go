package mandate

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"mandate/provider/passkey/passkeytest"
)

// asked returns the form that the script of a page uses, with the request to an authenticator.
func (b *browser) asked(t testing.TB, path string) (options string, form url.Values) {
	t.Helper()
	b.open(t, path)
	for _, f := range b.forms() {
		if has(f.node, "data-passkey") {
			return attribute(f.node, "data-options"), f.values()
		}
	}
	t.Fatalf("%s shows %d without a request for a passkey:\n%s", b.URL, b.Status, b.Body)
	return "", nil
}

// newPasskey adds a passkey of the person who is signed in.
func (b *browser) newPasskey(t testing.TB) *passkeytest.Authenticator {
	t.Helper()
	a := &passkeytest.Authenticator{Origin: b.server.BaseURL, Counter: 1}
	options, form := b.asked(t, "/account/passkeys/new/")
	form.Set("response", a.Create(options))
	b.send(t, "/account/passkeys/new/", form)
	if b.Status != http.StatusOK || !strings.Contains(b.Body, "The passkey is added.") {
		t.Fatalf("the browser shows %d:\n%s", b.Status, b.Body)
	}
	a.Counter++
	return a
}

// refusedPasskey fails unless the login page refuses a response.
func (b *browser) refusedPasskey(t testing.TB, what string, form url.Values) {
	t.Helper()
	b.send(t, "/login/passkey/", form)
	if b.Status != http.StatusUnprocessableEntity || b.shows("current_password") {
		t.Errorf("%s: the browser shows %d %s", what, b.Status, b.URL)
	}
	b.open(t, "/account/")
	if !strings.HasSuffix(b.URL.Path, "/login/") {
		t.Errorf("%s: somebody is signed in", what)
	}
}

// The response of an authenticator reaches somebody else: another site that relays it, a log, or a
// browser in which the person did not ask for it.
func TestAttackPasskeyResponseOfAnotherBrowser(t *testing.T) {
	ownProcesses(t)
	attack(t, "replay and relay of authentication (CWE-294), login CSRF (CWE-352)", "")
	forEachDatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db, host: "localhost"})
		other := s.node(t)
		alice := s.signedIn(t, s.person(t, "alice"))
		a := alice.newPasskey(t)
		a.Counter = 0 // the challenge alone shows that a response is an old one
		_, err := db.open(t).Exec(`UPDATE passkeys SET sign_count = 0`)
		if err != nil {
			t.Fatal(err)
		}

		victim, mallory := s.browser(t), s.browser(t)
		options, form := victim.asked(t, "/login/?next=/account/")
		form.Set("response", a.Get(options))
		mallory.open(t, "/login/")
		mallory.refusedPasskey(t, "the form of another browser", form)
		_, own := mallory.asked(t, "/login/")
		own.Set("response", form.Get("response"))
		mallory.refusedPasskey(t, "the response of another browser with a ticket of this one", own)

		victim.send(t, "/login/passkey/", form)
		if victim.Status != http.StatusOK || victim.URL.Path != "/account/" {
			t.Fatalf("the browser shows %d %s:\n%s", victim.Status, victim.URL, victim.Body)
		}
		name := victim.cookie(t, "/", "mandate_browser")
		for _, node := range []*server{s, other} {
			node.carrying(t, "mandate_browser", name).refusedPasskey(t, "the same form again", form)
		}
	})
}

// The pages with passkeys have the same policy as the others, and one script of this server.
func TestPasskeyPagesKeepTheirPolicy(t *testing.T) {
	t.Parallel()
	s := startServer(t, options{host: "localhost"})
	b := s.signedIn(t, s.person(t, "alice"))
	for _, path := range []string{"/login/", "/account/", "/account/passkeys/new/"} {
		b.open(t, path)
		policy := b.Header.Get("Content-Security-Policy")
		rest := strings.ReplaceAll(policy, "; form-action 'self'", "")
		if rest != "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'; "+
			"script-src 'self'" {
			t.Errorf("%s has the policy %q", path, policy)
		}
		page, err := html.Parse(strings.NewReader(b.Body))
		if err != nil {
			t.Fatal(err)
		}
		scripts := 0
		for node := range page.Descendants() {
			if node.Type == html.ElementNode && node.Data == "script" {
				scripts++
				if !regexp.MustCompile(`^/static/passkey\.[0-9a-f]{8}\.js$`).MatchString(attribute(node, "src")) ||
					attribute(node, "integrity") == "" || text(node) != "" {
					t.Errorf("%s has the script %v", path, node.Attr)
				}
			}
		}
		if scripts != 1 {
			t.Errorf("%s has %d scripts", path, scripts)
		}
	}
}

// Browsers have no passkeys at an IP address, so the pages offer none there.
func TestPasskeysAreNotOfferedAtAnAddress(t *testing.T) {
	t.Parallel()
	s := startServer(t, options{})
	b := s.signedIn(t, s.person(t, "alice"))
	for _, path := range []string{"/login/", "/account/"} {
		b.open(t, path)
		if b.Status != http.StatusOK || strings.Contains(strings.ToLower(b.Body), "passkey") ||
			strings.Contains(b.Body, "<script") {
			t.Errorf("%s shows %d:\n%s", path, b.Status, b.Body)
		}
	}
	b.open(t, "/account/passkeys/new/")
	if b.Status != http.StatusNotFound {
		t.Errorf("adding shows %d", b.Status)
	}
	b.send(t, "/login/passkey/", params("ticket", "x", "response", "{}"))
	if b.Status != http.StatusNotFound {
		t.Errorf("signing in shows %d", b.Status)
	}
}
