package mandate

import (
	"strings"
	"testing"
)

// OpenID Connect RP-Initiated Logout in a real browser. The browser does not send all
// cookies with forms of other sites, and applies the policy of a page to its forms.
func TestBrowserLogout(t *testing.T) {
	browser := chromium(t)
	s := logoutServer(t, newSQLite(t))
	alice := s.person(t, "alice")
	client := newSite(t, "https", "shop.example")
	bye := client.page("/bye", "<h1>See you</h1>")
	app := s.application(t, "--name", "Holiday Planner", "--grant", "authorization_code", "--redirect-uri",
		client.URL+"/back", "--post-logout-redirect-uri", bye)
	b := s.window(t, browser, client.Host)
	signIn := func() tokens {
		t.Helper()
		address, verifier := s.authorizeURL(app, "scope", "openid")
		b.open(address)
		b.logIn(alice)
		if b.URL().Host != client.Host {
			b.press("Allow")
		}
		return s.redeem(t, app, b.URL().Query().Get("code"), verifier)
	}
	isBack := func(how string) {
		t.Helper()
		b.until(`location.pathname == "/bye"`)
		if to := b.URL(); to.Path != "/bye" || to.Query().Get("state") != "s 1" {
			t.Errorf("%s: the browser is at %s", how, to)
		}
		b.open("/account/")
		b.expect(200, "Sign in")
	}

	proven := params("id_token_hint", signIn().IDToken, "post_logout_redirect_uri", bye, "state", "s 1")
	b.open(s.URL + "/o/logout/?" + proven.Encode())
	isBack("by a link")

	proven.Set("id_token_hint", signIn().IDToken)
	b.open(client.page("/leave", formTo(s.URL+"/o/logout/", proven)))
	b.do(b.click(b.find("button", "Win a prize")))
	isBack("by a form")

	signIn()
	asked := params("client_id", app.ClientID, "post_logout_redirect_uri", bye, "state", "s 1")
	b.look("logout-asked", s.URL+"/o/logout/?"+asked.Encode())
	b.expect(200, "Sign out?")
	b.says("Holiday Planner", "You are signed in as alice")
	b.do(b.click(b.find("button", "Sign out")))
	isBack("by hand")

	signIn()
	b.look("register-openid", "/o/applications/register/")
	b.look("account-openid", "/account/")
	b.look("consent-offline", first(s.authorizeURL(app, "scope", "openid offline_access", "prompt", "consent")))
	b.says("It keeps this access after you sign out")
	asked.Set("post_logout_redirect_uri", bye+"/other")
	b.look("logout-error", s.URL+"/o/logout/?"+asked.Encode())
	b.expect(400, "The application’s logout request is not valid")
	b.follow("Sign out here")
	b.press("Sign out")
	b.says("You are signed out.")
	b.look("signed-out", "/login/", func() {
		b.logIn(alice)
		b.open("/logout/")
		b.press("Sign out")
		b.expect(200, "You are signed out.")
	})
}

// OIDC Core §3.1.2.1 in a real browser: the page that asks for another login fits a phone, whoever is signed in.
func TestBrowserLoginAgain(t *testing.T) {
	browser := chromium(t)
	s := openidServer(t, newSQLite(t))
	app := s.relyingParty(t)
	for name, who := range map[string]string{"short": "alice", "long": strings.Repeat("bartholomew", 13),
		"persian": "مریم"} {
		somebody := s.person(t, who)
		b := s.window(t, browser)
		b.open("/login/")
		b.logIn(somebody)
		b.look("login-again-"+name, first(s.authorizeURL(app, "scope", "openid", "prompt", "login")))
		b.expect(200, "Sign in again")
		b.says("You are signed in as", who)
		if b.focused() != "username" {
			t.Errorf("the focus is at %s, not at the username", b.focused())
		}
		b.press("Sign in")
		b.expect(422, "Sign in again")
		b.look("login-other-"+name,
			first(s.authorizeURL(app, "scope", "openid", "prompt", "select_account", "login_hint", "bob")))
		if b.focused() != "password" {
			t.Errorf("the focus is at %s, not at the password", b.focused())
		}
		b.look("login-age-"+name, "/login/?reason=age")
	}
}
