package mandate

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// OIDC Core §3.1.2.1: a person who has a session signs in again. The page says why, and for which account.
func TestOIDCCore3LoginAgainSaysWhy(t *testing.T) {
	s := openidServer(t, newSQLite(t))
	alice, bob, app := s.somebody(t, "alice"), s.somebody(t, "bob"), s.relyingParty(t)
	b := s.browser(t)
	mine := b.signsIn(t, app, alice).IDToken
	bobs := s.browser(t).signsIn(t, app, bob).IDToken
	const (
		again    = "<h1>Sign in again</h1>"
		requires = "The application requires that you sign in again."
		other    = "<h1>Sign in with another account</h1>"
	)
	inClaims := func(idToken string) string {
		claims := jwt.MapClaims{}
		_, _, err := jwt.NewParser().ParseUnverified(idToken, claims)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf(`{"id_token":{"sub":{"value":%q}}}`, claims["sub"])
	}
	waitFor(t, "the login is older than max_age", func() bool { return time.Now().Unix() > issuedAt(t, mine)+1 })
	for _, test := range []struct {
		name    string
		request []string
		heading string
		why     string
	}{
		{"prompt=login", []string{"prompt", "login"}, again, requires},
		{"prompt=login with a hint of this account", []string{"prompt", "login", "id_token_hint", mine}, again, requires},
		{"max_age=0", []string{"max_age", "0"}, again, requires},
		{"max_age has expired", []string{"max_age", "1"}, again, "Your last sign-in is older than the application allows."},
		{"prompt=select_account", []string{"prompt", "select_account"}, again,
			"The application asks you to choose an account."},
		{"a hint of another account", []string{"id_token_hint", bobs}, other, "The application asks for another account."},
		{"claims of another account", []string{"claims", inClaims(bobs)}, other, "The application asks for another account."},
		{"prompt=login with a hint of another account", []string{"prompt", "login", "id_token_hint", bobs}, other,
			"The application asks for another account."},
	} {
		t.Run(test.name, func(t *testing.T) {
			says := func(when string) {
				t.Helper()
				for _, text := range []string{test.heading, test.why, "You are signed in as", ">alice<"} {
					if !strings.Contains(b.Body, text) {
						t.Errorf("%s, the page does not say %q:\n%s", when, text, b.Body)
					}
				}
				// Whom the request names is known to the application only.
				if strings.Contains(b.Body, ">bob<") {
					t.Errorf("%s, the page names the account of the hint:\n%s", when, b.Body)
				}
			}
			b.asks(t, app, test.request...)
			says("at first")
			b.submit(t, "", params("username", alice.Name))
			says("when the password is missing")

			stranger := s.browser(t)
			stranger.asks(t, app, test.request...)
			if !strings.Contains(stranger.Body, "<h1>Sign in</h1>") || strings.Contains(stranger.Body, "The application") {
				t.Errorf("a person without a session is told of another sign-in:\n%s", stranger.Body)
			}
		})
	}

	// The person asked for this page: there is no reason to give.
	b.open(t, "/login/")
	if !strings.Contains(b.Body, "<h1>Sign in</h1>") || strings.Contains(b.Body, "The application") {
		t.Errorf("the page gives a reason of no request:\n%s", b.Body)
	}
	// Only a reason of this server's own is shown.
	b.open(t, "/login/?reason=Call+0900+and+say+your+password")
	if strings.Contains(b.Body, "0900") || !strings.Contains(b.Body, "<h1>Sign in</h1>") {
		t.Errorf("the page repeats what the address says:\n%s", b.Body)
	}
	// A login as somebody else than the request is about changes the account that the page names.
	b.asks(t, app, "id_token_hint", mine)
	b.sentBack(t, "the hint names alice", "code")
	b.asks(t, app, "id_token_hint", bobs)
	b.logIn(t, alice)
	if !strings.Contains(b.Body, other) {
		t.Errorf("alice signed in where another account was asked for:\n%s", b.Body)
	}
	b.logIn(t, bob)
	b.sentBack(t, "bob signed in", "code")
}

// OIDC RP-Logout §2: a person who is not sent on sees that the session has ended.
func TestOIDCLogoutSaysSignedOut(t *testing.T) {
	t.Parallel()
	s := openidServer(t, newSQLite(t))
	alice := s.somebody(t, "alice")
	b := s.browser(t)
	b.open(t, "/login/")
	b.logIn(t, alice)
	b.open(t, "/logout/")
	b.submit(t, "", nil)
	if !strings.Contains(b.Body, "<h1>You are signed out.</h1>") {
		t.Errorf("after the logout:\n%s", b.Body)
	}
	if strings.Count(b.Body, "You are signed out.") != 1 {
		t.Errorf("the page says it twice:\n%s", b.Body)
	}
	b.open(t, "/")
	if strings.Contains(b.Body, "signed out") {
		t.Errorf("a second visit still says so:\n%s", b.Body)
	}
}
