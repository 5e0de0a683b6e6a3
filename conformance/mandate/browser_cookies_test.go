package mandate

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"
)

// withoutCookies returns a server that browsers reach through a proxy, which removes all cookies.
func withoutCookies(t *testing.T) *server {
	t.Helper()
	var to *url.URL
	front := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(to) },
		ModifyResponse: func(a *http.Response) error { a.Header.Del("Set-Cookie"); return nil },
	})
	t.Cleanup(front.Close)
	key := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32))
	s := newServer(t, options{database: newSQLite(t)}, front.URL, key, &vault{})
	s.start(t)
	to, _ = url.Parse(s.URL) // it is that of a server
	s.URL = front.URL
	return s
}

// A person whose browser refuses cookies saw the login page again after a sign-in, without a word. For the server it is
// the same if something on the way removes them.
func TestBrowserRefusesCookies(t *testing.T) {
	browser := chromium(t)
	s := withoutCookies(t)
	alice := s.person(t, "alice")
	b := s.window(t, browser)
	b.open("/account/")
	b.logIn(alice)
	b.expect(400, "Sign in")
	b.says("Your browser refuses the cookies of this site")
	b.look("login-without-cookies", "/login/cookies/?next=%2Faccount%2F")
}

// A person who is signed in sees so at the login page, can go on from it, and can use another account.
func TestBrowserLoginPageOfSomebodyWhoIsSignedIn(t *testing.T) {
	browser := chromium(t)
	s := startServer(t, options{})
	alice, bob := s.person(t, "alice"), s.person(t, "bob")
	b := s.window(t, browser)
	b.open("/account/")
	b.logIn(alice)
	b.expect(200, "Account")
	b.look("login-signed-in", "/login/?next=%2Faccount%2F")
	b.says("You are signed in as alice.")
	b.follow("Continue")
	b.expect(200, "Account")
	b.open("/login/?next=%2Faccount%2F")
	b.logIn(bob)
	b.expect(200, "Account")
	b.says("bob")
}
