package mandate

import (
	"crypto/rand"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
)

// An application requires a passkey. A person who has none is led to the page that adds one, and back to
// exactly the same request. From then on the passkey is the second step after the password.
func TestBrowserStoryPasskeyRequired(t *testing.T) {
	browser := chromium(t)
	s := startServer(t, options{host: "localhost", provider: []string{"OIDC_ENABLED: true", openidScopes}})
	alice, bob := s.person(t, "alice"), s.person(t, "bob")
	client := newSite(t, "http", "127.0.0.1")
	app := s.application(t, "--name", "Safe", "--owner", bob.Name, "--grant", "authorization_code", "--redirect-uri",
		client.URL+"/back", "--required-acr", "urn:mandate:acr:passkey")
	b := s.window(t, browser, client.Host)
	b.authenticator()
	// acr signs in at the application, by these steps, and returns acr and amr of the ID token.
	acr := func(steps func()) string {
		t.Helper()
		nonce := rand.Text()
		address, verifier := s.authorizeURL(app, "scope", "openid", "state", "x y", "nonce", nonce)
		b.open(address)
		steps()
		if len(b.all("button", "Allow")) > 0 {
			b.press("Allow")
		}
		b.expect(200, "Back at the client")
		got := b.URL().Query()
		claims := s.verified(t, app, "RS256", s.redeem(t, app, got.Get("code"), verifier).IDToken)
		if got.Get("state") != "x y" || claims["nonce"] != nonce {
			t.Errorf("the client got %v and %v", got, claims)
		}
		return acrOf(claims)
	}
	typed := func() { b.fill("Password", alice.Password); b.press("Sign in") }

	got := acr(func() {
		b.logIn(alice)
		b.expect(200, "Add a passkey")
		b.says("What you want to do requires a passkey, and you have none yet.")
		b.look("passkey-new-required", b.URL().RequestURI())
		b.press("Add a passkey")
	})
	checkEqual(t, "a new passkey", got, "urn:mandate:acr:passkey [pwd pop user mfa]")
	checkEqual(t, "in the same session", acr(func() {}), "urn:mandate:acr:passkey [pwd pop user mfa]")
	b.signOut()
	got = acr(func() {
		b.fill("Username", alice.Name)
		typed()
		b.expect(200, "Second step")
		b.press("Use your passkey")
	})
	checkEqual(t, "the second step", got, "urn:mandate:acr:passkey [pwd pop user mfa]")

	// Recovery codes replace the passkey, but do not reach its acr.
	b.open("/account/factors/codes/")
	b.press("Make ten recovery codes")
	code := s.secret(strings.Fields(evaluate[string](b, `document.querySelector(".codes").innerText`))[0])
	b.signOut()
	b.open("/login/?next=/account/")
	b.fill("Username", alice.Name)
	typed()
	b.look("factor-passkey", "/login/factor/?next=/account/", func() { b.says("Use your passkey") })
	b.unfold("I do not have my passkey here")
	b.fill("Recovery code", code)
	b.press("Use the recovery code")
	b.expect(200, "Account")
	got = acr(func() {
		b.expect(200, "Confirm with your second factor")
		b.says("What you want to do requires your passkey.")
		if strings.Contains(b.text(), "Recovery code") {
			t.Error("a recovery code is offered, although it does not suffice")
		}
		b.press("Use your passkey")
	})
	checkEqual(t, "after a recovery code", got, "urn:mandate:acr:passkey [pwd otp pop user mfa]")

	// Without scripts there is no passkey, and the page says so.
	other := s.window(t, browser)
	call(other, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	other.open("/login/?next=/account/")
	other.logIn(alice)
	other.expect(http.StatusOK, "Second step")
	other.says("This browser cannot use a passkey here")
}
