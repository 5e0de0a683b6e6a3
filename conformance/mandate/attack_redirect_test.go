package mandate

import (
	"html"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// TestAttackStrangerRedirects: a stranger registers a redirect URI, and gives people links to
// this server that lead there without a question.
func TestAttackStrangerRedirects(t *testing.T) {
	t.Parallel()
	attack(t, "open redirect", "django-oauth-toolkit 3.4.0 (prompt=none)")
	s := startServer(t, options{provider: append([]string{"SCOPES: {read: Read, openid: Sign in}", "OIDC_ENABLED: true"},
		openClients...)})
	redirects := map[string]string{"https://evil.example/cb?a=b": "https://evil.example/cb?a=b",
		"http://127.0.0.1/api/v1/do?what=x":              "http://127.0.0.1:40123/api/v1/do?what=x",
		"cursor://anysphere.cursor-deeplink/mcp/install": "cursor://anysphere.cursor-deeplink/mcp/install"}
	made := s.registers(t, nobody, `{"redirect_uris":["`+strings.Join(slices.Collect(maps.Keys(redirects)), `","`)+`"]}`)
	alice, stranger := s.signIn(t, s.person(t, "alice"), "/account/"), s.browser(t)
	for what, test := range map[string]struct {
		b    *browser
		more []string
	}{
		"silent, nobody signed in":           {stranger, []string{"scope", "openid", "prompt", "none"}},
		"silent and wrong, nobody signed in": {stranger, []string{"scope", "bogus", "prompt", "none"}},
		"silent, in a form, nobody signed in": {stranger,
			[]string{"scope", "openid", "prompt", "none", "response_mode", "form_post"}},
		"silent":                   {alice, []string{"scope", "openid", "prompt", "none"}},
		"a wrong scope":            {alice, []string{"scope", "bogus"}},
		"a wrong scope, in a form": {alice, []string{"scope", "bogus", "response_mode", "form_post"}},
	} {
		for _, sent := range redirects {
			if strings.HasPrefix(sent, "cursor:") && slices.Contains(test.more, "form_post") {
				continue // refused before (OIDC Form Post §2)
			}
			address, _ := s.authorizeURL(asApplication(made, sent), test.more...)
			test.b.open(t, address)
			if test.b.Away != nil || strings.Contains(test.b.Body, "data-submit") {
				t.Errorf("%s, %s: the browser goes away by itself", what, sent)
			}
			reason := "which prompt=none forbids."
			if strings.Contains(what, "wrong") {
				reason = "There is no scope"
			}
			for _, text := range []string{"The request ended with an error, so nothing was allowed. You can close this page.",
				"Nobody has checked this application",
				">" + html.EscapeString(sent) + "</code>", "For the developer of the application", reason} {
				if !strings.Contains(test.b.Body, text) {
					t.Errorf("%s, %s: the page does not say %q: %s", what, sent, text, test.b.Body)
				}
			}
		}
	}
	// A command for an application on the device is not registered.
	answer := s.registration(t, nobody,
		`{"redirect_uris":["cursor://anysphere.cursor-deeplink/mcp/install?name=x","com.example.app:/do?what=x"]}`)
	if answer.Status != http.StatusBadRequest || !strings.Contains(answer.Body, "must not have a query") {
		t.Errorf("commands: %d %s", answer.Status, answer.Body)
	}
	// As soon as an administrator is responsible, the redirect URI is trusted.
	s.mustCLI(t, "", "application", "take-over", textOf(made, "client_id"))
	address, _ := s.authorizeURL(asApplication(made, "https://evil.example/cb?a=b"), "scope", "openid", "prompt", "none")
	stranger.open(t, address)
	if stranger.Away == nil || stranger.Away.Query().Get("error") != "login_required" {
		t.Errorf("%d %v", stranger.Status, stranger.Away)
	}
}
