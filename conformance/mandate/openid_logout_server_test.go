package mandate

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// serverLogout sends a logout request of the server of an application: without cookies, and without any header of a
// browser.
func (s *server) serverLogout(t testing.TB, method string, as auth, pairs ...string) answer {
	t.Helper()
	if method == http.MethodPost {
		return s.post(t, "/o/logout/", as, params(pairs...))
	}
	return s.get(t, "/o/logout/?"+params(pairs...).Encode(), as)
}

// OIDC RP-Logout §2, §6: the server of an application ends the session of an ID token as oauth2-proxy does it, with the
// credentials of the application in the address. Nobody else does, and the answer says what is missing.
func TestRPLogout_6_the_server_of_an_application_proves_who_it_is(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := logoutServer(t, db)
		alice, at := s.person(t, "alice"), listen(t, http.StatusOK)
		told := s.relyingParty(t, "--backchannel-logout-uri", at.URL)
		for name, app := range map[string]application{"public subjects": s.relyingParty(t),
			"pairwise subjects": s.relyingParty(t, "--pairwise")} {
			for _, method := range []string{http.MethodGet, http.MethodPost} {
				b, elsewhere := s.browser(t), s.browser(t)
				b.signsIn(t, told, alice)
				own := b.signsIn(t, app, alice)
				elsewhere.signsIn(t, app, alice)
				for _, as := range []auth{nobody, basic(app.ClientID, "wrong"), told.auth()} {
					a := s.serverLogout(t, method, as, "id_token_hint", own.IDToken)
					if a.Status != http.StatusUnauthorized && a.Status != http.StatusBadRequest ||
						a.JSON(t)["error_description"] == nil || len(a.Header.Values("Set-Cookie")) > 0 {
						t.Errorf("%s, %s: %d %v %s", name, method, a.Status, a.Header, a.Body)
					}
				}
				a := s.serverLogout(t, method, nobody, "id_token_hint", own.IDToken)
				if a.Status != http.StatusUnauthorized ||
					!strings.HasPrefix(textOf(a.JSON(t), "error_description"), "Nobody was signed out.") ||
					!strings.HasPrefix(a.Header.Get("WWW-Authenticate"), "Basic") {
					t.Errorf("%s, %s, without credentials: %d %v %s", name, method, a.Status, a.Header, a.Body)
				}
				if b.signedOut(t) {
					t.Fatalf("%s, %s: signed out", name, method)
				}
				w := s.witness(t)
				w.after(t, "a logout by the server", func() {
					a := s.serverLogout(t, method, app.auth(), "id_token_hint", own.IDToken, "post_logout_redirect_uri",
						"https://evil.example/")
					if a.Status != http.StatusOK || a.Body != "" || a.Header.Get("Location") != "" ||
						len(a.Header.Values("Set-Cookie")) > 0 {
						t.Errorf("%s, %s: %d %v %s", name, method, a.Status, a.Header, a.Body)
					}
				}, "sign-out: application shop, alice, application shop, ")
				if sub := at.next(t).form.Get("logout_token"); sub == "" {
					t.Error("the other application was told nothing")
				}
				if !b.signedOut(t) || elsewhere.signedOut(t) {
					t.Errorf("%s, %s: the session of the ID token lives, or another one does not", name, method)
				}
				if s.userInfoStatus(t, own.AccessToken) != http.StatusUnauthorized {
					t.Errorf("%s, %s: the access token still works", name, method)
				}
			}
		}
		// Go, in which oauth2-proxy is written, sends the user information of an address by HTTP Basic.
		app, b := s.relyingParty(t), s.browser(t)
		own := b.signsIn(t, app, alice)
		address, err := url.Parse(s.endSession("id_token_hint", own.IDToken))
		if err != nil {
			t.Fatal(err)
		}
		address.User = url.UserPassword(app.ClientID, app.ClientSecret)
		response, err := http.Get(address.String())
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != http.StatusOK || !b.signedOut(t) {
			t.Errorf("credentials in the address: %d", response.StatusCode)
		}
	})
}
