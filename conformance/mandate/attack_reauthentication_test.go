package mandate

import (
	"net/url"
	"strings"
	"testing"
)

// awaitsLogin returns the address to which the login page returns.
func (b *browser) awaitsLogin(t testing.TB, what string) url.Values {
	t.Helper()
	if b.Away != nil || !b.shows("password") {
		t.Fatalf("%s: nobody has to sign in: %d %s, sent to %v", what, b.Status, b.URL, b.Away)
	}
	next, err := url.Parse(b.URL.Query().Get("next"))
	if err != nil {
		t.Fatal(err)
	}
	return next.Query()
}

// OIDC Core §3.1.2.1: prompt=login requires a login, whatever other parameters the
// address has.
func TestAttackPromptLoginIsNotBypassed(t *testing.T) {
	t.Parallel()
	attack(t, "authentication bypass", "")
	s := openidServer(t, newSQLite(t))
	alice, bob, app, other := s.somebody(t, "alice"), s.somebody(t, "bob"), s.relyingParty(t), s.relyingParty(t)
	for _, prompt := range [][]string{{"prompt", "login"}, {"prompt", "select_account"}, {"max_age", "0"}} {
		b, stranger := s.browser(t), s.browser(t)
		b.signsIn(t, other, alice)
		request := func(app application, state string) string {
			return s.mustAuthorize(app, append([]string{"scope", "openid", "state", state}, prompt...)...)
		}
		// Anyone can make the server redirect them to the login. The parameter that they
		// bring back is not valid for another request.
		address := request(app, "s&1")
		stranger.open(t, address)
		fetched := stranger.awaitsLogin(t, "a stranger")
		b.open(t, "/login/")
		b.logIn(t, alice)
		b.open(t, s.URL+"/o/authorize/?"+fetched.Encode())
		b.awaitsLogin(t, "with what a stranger fetched")
		b.open(t, address)
		own := b.awaitsLogin(t, "after a login for nothing")
		b.open(t, "/login/")
		b.logIn(t, alice)
		b.open(t, s.URL+"/o/authorize/?"+own.Encode())
		b.awaitsLogin(t, "after a login for something else")
		b.logIn(t, alice)
		if b.shows("decision") {
			b.decide(t, "approve")
		}
		b.sentBack(t, "after the login", "code")
		b.open(t, address)
		b.awaitsLogin(t, "the same request a second time")
		b.open(t, request(app, "s&2"))
		b.awaitsLogin(t, "another request")
		b.logIn(t, alice)
		b.open(t, request(other, "s&1"))
		b.awaitsLogin(t, "another application's request")
		// On the way back, too, another request cannot replace the waiting one.
		waiting, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		b.send(t, "/login/", params("username", alice.Name, "password", alice.Password, "next", "/account/"))
		b.open(t, waiting.RequestURI())
		b.awaitsLogin(t, "after a login that led elsewhere")
		// Two tabs: each login is valid only for the request of its own page.
		first, second := request(app, "s&1"), request(app, "s&1")
		b.open(t, first)
		next := b.URL.Query().Get("next")
		b.open(t, second)
		b.logIn(t, alice)
		b.sentBack(t, "the second tab", "code")
		b.send(t, "/login/", params("username", alice.Name, "password", alice.Password, "next", next))
		b.sentBack(t, "the first tab", "code")
	}
	// A person who changes the account on the consent page has signed in for the
	// request.
	b := s.browser(t)
	b.open(t, s.mustAuthorize(app, "scope", "openid email", "state", "s&1", "prompt", "login consent"))
	b.logIn(t, alice)
	b.click(t, "Use another account")
	b.awaitsLogin(t, "another account")
	b.logIn(t, bob)
	if !strings.Contains(b.Body, "bob") {
		t.Errorf("the page is not bob's:\n%s", b.Body)
	}
	b.decide(t, "approve")
	b.sentBack(t, "as somebody else", "code")
}
