package mandate

import (
	"net/http"
	"testing"
)

// RFC 8705 §4: a resource demands bound tokens, and the application is registered for none. The
// certificate binds its refresh token, and so it can use it with that certificate alone.
func TestCertificateForAResourceThatDemandsOne(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		ours := newIssuer(t)
		s, mutual := withCertificates(t, db, ours, "OAUTH2_PROVIDER: {REFRESH_TOKEN_GRACE_PERIOD_SECONDS: 60}")
		const api = "https://demanding.example/"
		s.mustCLI(t, "", "resource", "add", api, "--name", "Demanding", "--sender-constrained")
		service := s.application(t, "--name", "Service", "--grant", "client_credentials")
		waitFor(t, "the server knows the resource", func() bool {
			got, _ := s.token(t, service.auth(), params("grant_type", "client_credentials", "resource", api))
			return got.Error != "invalid_target"
		})
		alice := s.somebody(t, "alice")
		own, others := ours.client(t, "client.example"), ours.client(t, "other.example")
		for kind, app := range map[string]application{
			"public": s.application(t, "--name", "Public", "--client-type", "public", "--grant", "authorization_code",
				"--redirect-uri", phoneURI),
			"confidential": s.application(t, "--name", "Confidential", "--grant", "authorization_code",
				"--redirect-uri", phoneURI),
		} {
			address, verifier := s.authorizeURL(app, "scope", "read", "resource", api)
			redeem := with(grantForm(app, s.browser(t).code(t, address, alice), verifier), "client_id", app.ClientID)
			if app.ClientSecret != "" {
				redeem.Set("client_secret", app.ClientSecret)
			}
			a := s.by(t, &own, mutual+"/o/token/", redeem, nil)
			got := s.tokens(t, a)
			if a.Status != http.StatusOK || got.RefreshToken == "" {
				t.Fatalf("%s: %d %s", kind, a.Status, a.Body)
			}
			refresh := with(refreshForm(got.RefreshToken), "client_id", app.ClientID)
			if app.ClientSecret != "" {
				refresh.Set("client_secret", app.ClientSecret)
			}
			a = s.by(t, nil, mutual+"/o/token/", refresh, nil)
			if err := a.refused(http.StatusBadRequest, "invalid_grant"); err != nil {
				t.Errorf("%s, no certificate: %v", kind, err)
			}
			if kind == "public" {
				a = s.by(t, &others, mutual+"/o/token/", refresh, nil)
				if err := a.refused(http.StatusBadRequest, "invalid_grant"); err != nil {
					t.Errorf("%s, another certificate: %v", kind, err)
				}
			}
			first := s.by(t, &own, mutual+"/o/token/", refresh, nil)
			if first.Status != http.StatusOK {
				t.Errorf("%s, its certificate: %d %s", kind, first.Status, first.Body)
			}
			// The answer was lost, and the client asks again at once.
			again := s.by(t, &own, mutual+"/o/token/", refresh, nil)
			if again.Status != http.StatusOK {
				t.Errorf("%s, its certificate again: %d %s", kind, again.Status, again.Body)
			}
		}
	})
}
