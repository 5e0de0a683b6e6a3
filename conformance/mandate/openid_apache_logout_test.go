package mandate

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// left is a public page of Apache.
var left = []string{"<Location /left>", "Require all granted", "</Location>"}

// OIDC RP-Logout §2: a person who logs out at Apache is also logged out at the server,
// and is redirected to the registered page.
func TestOIDCRPLogout2Apache(t *testing.T) {
	ownProcesses(t)
	t.Parallel()
	s := openidServer(t, newSQLite(t))
	alice := s.visitor(t, "alice")
	for _, test := range []struct {
		name              string
		flags, directives []string
	}{
		{"RS256", nil, nil},
		{"HS256", []string{"--algorithm", "HS256", "--no-hash-client-secret"},
			[]string{"OIDCIDTokenSignedResponseAlg HS256"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := s.apache(t, append(test.flags, "--post-logout-redirect-uri", "/left"), append(test.directives, left...)...)
			b := s.browser(t)
			a.visit(t, b, "/", alice.person, "approve")
			a.checkTold(t, b, alice)
			session := b.cookie(t, "/", "mandate_session")
			b.open(t, a.URL+"/callback?"+params("logout", a.URL+"/left").Encode())
			a.follow(t, b)
			if told := a.told(b); told == nil || !strings.HasPrefix(b.URL.String(), a.URL+"/left") {
				t.Fatalf("the browser shows %d %s:\n%s", b.Status, b.URL, b.Body)
			}
			b.open(t, a.URL+"/")
			a.follow(t, b)
			if !b.shows("password") {
				t.Errorf("after the logout Apache leads to %d %s:\n%s", b.Status, b.URL, b.Body)
			}
			// The session has ended, not only its cookie.
			if page := s.get(t, "/account/", withCookie("mandate_session", session)); page.Status != http.StatusSeeOther {
				t.Errorf("the account page answers the old cookie with %d", page.Status)
			}
		})
	}
}

// OIDC RP-Logout §3: the browser is not redirected to an unregistered address, and a
// logout that needs confirmation does not happen before it.
func TestOIDCRPLogout3Apache(t *testing.T) {
	ownProcesses(t)
	t.Parallel()
	s := openidServer(t, newSQLite(t))
	alice := s.visitor(t, "alice")
	a := s.apache(t, []string{"--post-logout-redirect-uri", "/other"}, left...)
	b := s.browser(t)
	a.visit(t, b, "/", alice.person, "approve")
	a.checkTold(t, b, alice)
	b.open(t, a.URL+"/callback?"+params("logout", a.URL+"/left").Encode())
	if b.Away != nil || b.Status != http.StatusBadRequest || a.serves(b.URL.String()) {
		t.Errorf("the browser shows %d %s, %v:\n%s", b.Status, b.URL, b.Away, b.Body)
	}
	b.open(t, "/account/")
	if b.Status != http.StatusOK || b.URL.Path != "/account/" {
		t.Errorf("the session has ended: %d %s", b.Status, b.URL)
	}
}

// OIDC Back-Channel §2.5: a session that ends at the server also ends at Apache. The
// server notifies Apache without the browser. At an application without notifications
// the session continues.
func TestOIDCBackChannel2Apache(t *testing.T) {
	ownProcesses(t)
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db, settings: []string{"OUTBOUND_ALLOWED_NETWORKS: [127.0.0.0/8]"},
			provider: []string{"OIDC_ENABLED: true", openidScopes}})
		alice, bob := s.visitor(t, "alice"), s.visitor(t, "bob")
		for _, test := range []struct {
			name string
			end  func(t *testing.T, b *browser)
		}{
			{"from the account page of another browser", func(t *testing.T, b *browser) {
				other := s.signIn(t, alice.person, "/account/")
				for _, path := range regexp.MustCompile(`/account/sessions/[^/"]+/end/`).FindAllString(other.Body, -1) {
					other.send(t, path, nil)
				}
			}},
			{"by logging out at the server", func(t *testing.T, b *browser) {
				b.open(t, "/logout/")
				b.submit(t, "Sign out", nil)
			}},
			{"by a new password", func(t *testing.T, b *browser) {
				s.mustCLI(t, s.secret("another long password")+"\n", "user", "passwd", "alice", "--password-stdin")
			}},
		} {
			t.Run(test.name, func(t *testing.T) {
				told := s.apache(t, []string{"--backchannel-logout-uri", "/callback?logout=backchannel"},
					"OIDCProviderBackChannelLogoutSupported On")
				untold := s.apache(t, nil, "OIDCCookie untold") // the browser keeps both cookies for one host
				b, others := s.browser(t), s.browser(t)
				for _, a := range []*apache{told, untold} {
					a.visit(t, b, "/", alice.person, "approve")
					a.checkTold(t, b, alice)
				}
				told.visit(t, others, "/", bob.person, "approve")
				test.end(t, b)
				waitFor(t, "the session has ended at Apache", func() bool {
					b.open(t, told.URL+"/")
					return told.told(b) == nil
				})
				told.follow(t, b)
				if !b.shows("password") {
					t.Errorf("Apache leads to %d %s:\n%s", b.Status, b.URL, b.Body)
				}
				b.open(t, untold.URL+"/")
				untold.checkTold(t, b, alice)
				others.open(t, told.URL+"/")
				told.checkTold(t, others, bob)
			})
		}
	})
}
