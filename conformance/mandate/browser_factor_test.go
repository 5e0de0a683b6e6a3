package mandate

import (
	"encoding/base32"
	"strings"
	"testing"
)

// A person adds an authenticator app, signs in with it, and makes recovery codes.
func TestBrowserFactor(t *testing.T) {
	browser := chromium(t)
	s := startServer(t, options{settings: []string{"SECOND_FACTOR: everybody"}, provider: []string{"OIDC_ENABLED: true", openidScopes}})
	alice, root := s.person(t, "alice.with.a.rather.long.name@department.example.org"), s.person(t, "root", "--admin")
	b := s.window(t, browser)
	b.open("/login/")
	b.logIn(alice)
	b.look("account-factor-demanded", "/account/", func() { b.says("This server requires a second factor from ") })
	b.follow("Add an authenticator app")
	b.expect(200, "Add an authenticator app")
	if width := evaluate[float64](b, `document.querySelector(".qr").naturalWidth && document.querySelector(".qr").getBoundingClientRect().width`); width < 200 {
		t.Errorf("the QR code is %v pixels wide", width)
	}
	b.fill("Code", "000000")
	b.press("Add the app")
	b.expect(422, "Add an authenticator app")
	if b.focused() != "code" {
		t.Errorf("the focus is at %s", b.focused())
	}
	key := s.secret(strings.ReplaceAll(evaluate[string](b, `document.querySelector(".key").innerText`), " ", ""))
	raw, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(key)
	if err != nil {
		t.Fatal(key, err)
	}
	app := authenticator{raw}
	b.fill("Code", app.code(0))
	b.press("Add the app")
	b.expect(200, "Recovery codes")
	b.says("Your authenticator app was added.", "You have no recovery codes yet.")
	b.press("Make ten recovery codes")
	b.says("This page shows the codes only once.")
	codes := strings.Fields(evaluate[string](b, `document.querySelector(".codes").innerText`))
	if len(codes) != 10 {
		t.Fatalf("%d codes", len(codes))
	}
	for _, code := range codes {
		s.secret(code)
	}
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
	other.look("factor-wrong", "/login/factor/?next=/account/", func() { other.fill("Code", "1"); other.press("Continue") })
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
	key = s.secret(strings.ReplaceAll(evaluate[string](admin, `document.querySelector(".key").innerText`), " ", ""))
	raw, err = base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(key)
	if err != nil {
		t.Fatal(key, err)
	}
	admin.fill("Code", authenticator{raw}.code(0))
	admin.press("Add the app")
	admin.follow(alice.Name)
	admin.look("user-factor", admin.URL().Path)
	admin.follow("Remove the second factor")
	admin.look("reset-factors", admin.URL().Path)
	admin.press("Remove the second factor")
	admin.says("The second factor was removed")
}
