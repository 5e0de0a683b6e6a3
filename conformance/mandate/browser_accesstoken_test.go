package mandate

import (
	"net/url"
	"strings"
	"testing"
)

// A developer selects signed access tokens in the form, sees the choice on the
// application's page, and reverts it.
func TestBrowserSignedAccessTokens(t *testing.T) {
	browser := chromium(t)
	s := startServer(t, options{provider: []string{"OIDC_ENABLED: true", openidScopes}})
	alice := s.person(t, "alice")
	b := s.window(t, browser)
	b.open("/login/")
	b.logIn(alice)
	b.look("register-signed", "/o/applications/register/")
	b.open("/o/applications/register/")
	b.unfold("All fields at once")
	b.fill("Name", "Robot")
	b.tick("checkbox", "Authorization code")
	b.tick("checkbox", "Client credentials")
	b.tick("radio", "JWT")
	b.press("Register application")
	b.says("JWT, signed with RS256", "600 seconds (10 minutes)")
	robot := application{ClientID: evaluate[string](b, `document.querySelector("code[data-copy]").innerText`),
		ClientSecret: b.value("Client secret")}
	s.secret(robot.ClientSecret)
	page := b.URL().Path
	b.look("application-signed", page)
	if got := s.machine(t, robot); strings.Count(got.AccessToken, ".") != 2 || got.ExpiresIn != 600 {
		t.Errorf("%.10s... for %d s", got.AccessToken, got.ExpiresIn)
	}
	b.open(page + "update/")
	b.tick("radio", "Opaque")
	b.press("Save changes")
	b.expect(200, "Robot")
	if strings.Contains(b.text(), "JWT") {
		t.Errorf("the page still says\n%s", b.text())
	}
	if got := s.machine(t, robot); !strings.HasPrefix(got.AccessToken, "mat_") {
		t.Errorf("%.10s...", got.AccessToken)
	}
	// A form of an older release does not send the choice.
	raw := s.signIn(t, alice, page+"update/")
	raw.submit(t, "Save changes", url.Values{"access_token_format": nil})
	if got := s.machine(t, robot); !strings.HasPrefix(got.AccessToken, "mat_") {
		t.Errorf("without a choice: %.10s...", got.AccessToken)
	}
}
