package mandate

import (
	"strings"
	"testing"
)

// TestAttackStrangerRedirects: a stranger registers a redirect URI, and gives people links to
// this server that lead there without a question.
func TestAttackStrangerRedirects(t *testing.T) {
	t.Parallel()
	attack(t, "open redirect", "django-oauth-toolkit 3.4.0 (prompt=none)")
	s := startServer(t, options{provider: append([]string{"SCOPES: {read: Read, openid: Sign in}", "OIDC_ENABLED: true"}, openClients...)})
	made := s.registers(t, nobody, `{"redirect_uris":["https://evil.example/cb","http://127.0.0.1/cb"]}`)
	alice, stranger := s.signIn(t, s.person(t, "alice"), "/account/"), s.browser(t)
	for what, test := range map[string]struct {
		b    *browser
		more []string
	}{
		"silent, nobody signed in":            {stranger, []string{"scope", "openid", "prompt", "none"}},
		"silent and wrong, nobody signed in":  {stranger, []string{"scope", "bogus", "prompt", "none"}},
		"silent, in a form, nobody signed in": {stranger, []string{"scope", "openid", "prompt", "none", "response_mode", "form_post"}},
		"silent":                              {alice, []string{"scope", "openid", "prompt", "none"}},
		"a wrong scope":                       {alice, []string{"scope", "bogus"}},
		"a wrong scope, in a form":            {alice, []string{"scope", "bogus", "response_mode", "form_post"}},
	} {
		address, _ := s.authorizeURL(asApplication(made, "https://evil.example/cb"), test.more...)
		test.b.open(t, address)
		if test.b.Away != nil || strings.Contains(test.b.Body, "data-submit") {
			t.Errorf("%s: the browser goes away by itself", what)
		}
		if !strings.Contains(test.b.Body, "Nobody has checked this application") || !strings.Contains(test.b.Body, "evil.example") || !strings.Contains(test.b.Body, "error") {
			t.Errorf("%s: the page does not say where the answer goes: %s", what, test.b.Body)
		}
		reason := "which prompt=none forbids."
		if strings.Contains(what, "wrong") {
			reason = "There is no scope"
		}
		for _, text := range []string{"The request ended with an error, so nothing was allowed. You can close this page.", "For the developer of the application", reason} {
			if !strings.Contains(test.b.Body, text) {
				t.Errorf("%s: the page does not say %q: %s", what, text, test.b.Body)
			}
		}
		// A program on the person's own computer gets its answer.
		address, _ = s.authorizeURL(asApplication(made, "http://127.0.0.1:40123/cb"), test.more...)
		test.b.open(t, address)
		if test.b.Away == nil && !strings.Contains(test.b.Body, "data-submit") {
			t.Errorf("%s: the program gets no answer: %s", what, test.b.Body)
		}
	}
	// As soon as an administrator is responsible, the redirect URI is trusted.
	s.mustCLI(t, "", "application", "take-over", textOf(made, "client_id"))
	address, _ := s.authorizeURL(asApplication(made, "https://evil.example/cb"), "scope", "openid", "prompt", "none")
	stranger.open(t, address)
	if stranger.Away == nil || stranger.Away.Query().Get("error") != "login_required" {
		t.Errorf("%d %v", stranger.Status, stranger.Away)
	}
}
