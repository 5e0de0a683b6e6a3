package mandate

import (
	"encoding/base32"
	"strings"
	"testing"
)

// addsApp scans the code of the page with a new phone.
func (b *tab) addsApp(s *server) authenticator {
	b.Helper()
	key := s.secret(strings.ReplaceAll(evaluate[string](b, `document.querySelector(".key").innerText`), " ", ""))
	raw, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(key)
	if err != nil {
		b.Fatal(key, err)
	}
	app := authenticator{raw}
	b.fill("Code", app.code(0))
	b.press("Add the app")
	return app
}

// recoveryCodes makes recovery codes on the page that the tab shows.
func (b *tab) recoveryCodes(s *server) []string {
	b.Helper()
	b.press("Make ten recovery codes")
	codes := strings.Fields(evaluate[string](b, `document.querySelector(".codes").innerText`))
	if len(codes) != 10 {
		b.Fatalf("%d codes", len(codes))
	}
	for _, code := range codes {
		s.secret(code)
	}
	return codes
}

// A person signs in at an application with password and app. The phone is lost: a recovery code signs
// in, and a new phone takes the place of the old one.
func TestBrowserStoryLostPhone(t *testing.T) {
	browser := chromium(t)
	s := startServer(t, options{provider: []string{"OIDC_ENABLED: true", openidScopes}})
	alice, site := s.person(t, "alice"), newSite(t, "http", "127.0.0.1")
	shop := s.application(t, "--name", "Shop", "--grant", "authorization_code", "--redirect-uri", site.URL+"/back")
	// shops signs in at the application in another browser, by these steps after the password.
	shops := func(steps func(b *tab)) *tab {
		t.Helper()
		b := s.window(t, browser, site.Host)
		address, verifier := s.authorizeURL(shop, "scope", "openid")
		b.open(address)
		b.logIn(alice)
		b.expect(200, "Second step")
		steps(b)
		if len(b.all("button", "Allow")) > 0 {
			b.press("Allow")
		}
		b.expect(200, "Back at the client")
		got := s.redeem(t, shop, b.URL().Query().Get("code"), verifier)
		checkEqual(t, "the ID token says", acrOf(s.verified(t, shop, "RS256", got.IDToken)), mfa+" [pwd otp mfa]")
		return b
	}
	code := func(text string) func(*tab) {
		return func(b *tab) {
			s.newStep(t)
			b.fill("Code", text)
			b.press("Continue")
		}
	}
	recovery := func(b *tab, text string) {
		b.unfold("I do not have my app here")
		b.fill("Recovery code", text)
		b.press("Use the recovery code")
	}

	b := s.window(t, browser)
	b.open("/login/?next=/account/")
	b.logIn(alice)
	b.follow("Add an authenticator app")
	phone := b.addsApp(s)
	b.expect(200, "Recovery codes")
	codes := b.recoveryCodes(s)
	shops(code(phone.code(0)))

	b = shops(func(b *tab) { recovery(b, codes[0]) })
	b.open("/account/")
	b.says("9 left.")
	b.follow("Remove the authenticator app")
	b.press("Remove the app")
	b.says("Your authenticator app was removed.")
	b.follow("Add an authenticator app")
	renewed := b.addsApp(s)
	b.expect(200, "Recovery codes")
	b.says("You have no recovery codes yet.")
	b.recoveryCodes(s)

	shops(func(b *tab) {
		// Whoever has found the old phone, or the old list, does not get in.
		code(phone.code(0))(b)
		b.expect(422, "Second step")
		recovery(b, codes[1])
		b.expect(422, "Second step")
		code(renewed.code(0))(b)
	})
}

// A person adds an authenticator app, signs in with it, and makes recovery codes.
func TestBrowserFactor(t *testing.T) {
	browser := chromium(t)
	s := startServer(t, options{settings: []string{"SECOND_FACTOR: everybody"},
		provider: []string{"OIDC_ENABLED: true", openidScopes}})
	alice, root := s.person(t, "alice.with.a.rather.long.name@department.example.org"), s.person(t, "root", "--admin")
	b := s.window(t, browser)
	b.open("/login/")
	b.logIn(alice)
	b.look("account-factor-demanded", "/account/", func() { b.says("This server requires a second factor from ") })
	b.follow("Add an authenticator app")
	b.expect(200, "Add an authenticator app")
	if width := evaluate[float64](b,
		`document.querySelector(".qr").naturalWidth && document.querySelector(".qr").getBoundingClientRect().width`); width < 200 {
		t.Errorf("the QR code is %v pixels wide", width)
	}
	b.fill("Code", "000000")
	b.press("Add the app")
	b.expect(422, "Add an authenticator app")
	if b.focused() != "code" {
		t.Errorf("the focus is at %s", b.focused())
	}
	app := b.addsApp(s)
	b.expect(200, "Recovery codes")
	b.says("Your authenticator app was added.", "You have no recovery codes yet.")
	b.recoveryCodes(s)
	b.says("This page shows the codes only once.")
	b.look("account-factor", "/account/", func() { b.says("10 left.") })
	b.look("recovery-codes", "/account/factors/codes/")
	b.look("remove-totp", "/account/factors/totp/remove/")
	b.look("recovery-codes-new", "/account/factors/codes/", func() { b.press("Make ten recovery codes") })

	s.newStep(t)
	other := s.window(t, browser)
	other.open("/login/?next=/account/")
	other.logIn(alice)
	other.expect(200, "Second step")
	if other.focused() != "code" {
		t.Errorf("the focus is at %s", other.focused())
	}
	other.look("factor", "/login/factor/?next=/account/")
	other.look("factor-wrong", "/login/factor/?next=/account/", func() {
		other.fill("Code", "1")
		other.press("Continue")
	})
	other.unfold("I do not have my app here")
	other.look("factor-recovery-wrong", "/login/factor/?next=/account/", func() {
		other.unfold("I do not have my app here")
		other.fill("Recovery code", "abcd")
		other.press("Use the recovery code")
	})
	s.newStep(t)
	other.open("/login/factor/?next=/account/")
	other.fill("Code", app.code(0))
	other.press("Continue")
	other.expect(200, "Account")

	behind(t, s.database, `UPDATE users SET factor_due_at = 1`)
	admin := s.window(t, browser)
	admin.open("/login/?next=/admin/users/")
	admin.logIn(root)
	admin.expect(200, "Add an authenticator app")
	admin.look("factor-required", "/login/factor/?next=/admin/users/")
	admin.addsApp(s)
	admin.follow(alice.Name)
	admin.look("user-factor", admin.URL().Path)
	admin.follow("Remove the second factor")
	admin.look("reset-factors", admin.URL().Path)
	admin.press("Remove the second factor")
	admin.says("The second factor was removed")
}
