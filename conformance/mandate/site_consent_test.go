package mandate

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// A single-page application is a public client. Its consent is remembered, or left out if an administrator allows it,
// where only its host receives the response (RFC 8252 §8.6). Everywhere else the person is asked each time.
func TestConsentOfASinglePageApplication(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db,
			provider: append([]string{"OIDC_ENABLED: true", openidScopes}, openClients...)})
		alice, root := s.person(t, "alice"), s.person(t, "root", "--admin")
		b := s.signedIn(t, alice)
		const web, native = "https://app.example/back", "http://127.0.0.1:50111/back"
		public := func(name string, more ...string) []string {
			return append([]string{"--name", name, "--client-type", "public", "--grant", "authorization_code"}, more...)
		}
		// logins returns for each login whether the person was asked, and what a silent one gives.
		logins := func(app application, uri string) string {
			t.Helper()
			app.RedirectURI = uri
			got := ""
			for range 2 {
				b.open(t, s.mustAuthorize(app, "scope", "openid read"))
				if b.Away == nil {
					got += "asked "
					b.decide(t, "approve")
				} else {
					got += "silent "
				}
				if b.Away == nil || !b.Away.Query().Has("code") {
					t.Fatalf("no code: %d %s %v", b.Status, b.URL, b.Away)
				}
			}
			b.open(t, s.mustAuthorize(app, "scope", "openid read", "prompt", "none"))
			if b.Away == nil { // an error of an application for which nobody is responsible leads nowhere else
				return got + strconv.Itoa(b.Status)
			}
			return got + strings.TrimSpace(b.Away.Query().Get("error")+" "+
				map[bool]string{true: "code"}[b.Away.Query().Has("code")])
		}
		const remembered, skipped, each = "asked silent code", "silent silent code", "asked asked consent_required"
		checkEqual(t, "a site", logins(s.application(t, public("Site", "--redirect-uri", web)...), web), remembered)
		skips := s.application(t, public("Company", "--redirect-uri", web, "--skip-consent")...)
		checkEqual(t, "a site of the company", logins(skips, web), skipped)
		both := s.application(t, public("Both", "--redirect-uri", web, "--redirect-uri", native)...)
		checkEqual(t, "a program beside the site", logins(both, native), each)
		stranger := s.registers(t, nobody,
			`{"redirect_uris":["`+web+`"],"token_endpoint_auth_method":"none","skip_consent":true}`)
		checkEqual(t, "a site of a stranger", logins(asApplication(stranger, web), web), "asked asked 400")

		// The refusal names the redirect URI, at the command line and on the page.
		r := s.cli(t, "", append([]string{"application", "add", "--skip-consent"},
			public("No", "--redirect-uri", web, "--redirect-uri", native)...)...)
		if r.code != 1 || !strings.HasPrefix(r.stderr, "mandate: --skip-consent: ") || !strings.Contains(r.stderr, native) {
			t.Errorf("exit code %d: %s", r.code, r.stderr)
		}
		admin := s.signIn(t, root, "/o/applications/")
		change := func(fields ...string) {
			t.Helper()
			admin.open(t, "/o/applications/"+skips.ID+"/update/")
			admin.submit(t, "Save changes", params(fields...))
		}
		change("redirect_uris", web+"\n"+native)
		if admin.Status != http.StatusUnprocessableEntity || !strings.Contains(admin.Body, `id="skip_consent-error"`) ||
			!strings.Contains(admin.Body, native) {
			t.Errorf("a redirect URI elsewhere, later: %d %.400s", admin.Status, admin.Body)
		}
		checkEqual(t, "after the refused change", logins(skips, web), skipped)
		f := params("redirect_uris", web+"\n"+native)
		f["skip_consent"] = nil
		admin.open(t, "/o/applications/"+skips.ID+"/update/")
		admin.submit(t, "Save changes", f)
		if admin.Status != http.StatusOK || strings.Contains(admin.Body, "Skips the consent page") {
			t.Errorf("with the right turned off: %d %.400s", admin.Status, admin.Body)
		}
		waitFor(t, "the site asks", func() bool {
			b.open(t, s.mustAuthorize(skips, "scope", "openid read"))
			return b.Away == nil
		})
	})
}
