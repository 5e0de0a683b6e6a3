package mandate

import (
	"crypto/tls"
	"net/http"
	"net/url"
	"testing"
)

// RFC 8705 §3, §4: tokens that the server binds to the certificate of the client.
func TestCertificateBoundTokens(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		ours := newIssuer(t)
		s, mutual := withCertificates(t, db, ours, "SAMPLE_API: true", "OAUTH2_PROVIDER: {OIDC_ENABLED: true, "+
			openidScopes+"}")
		alice := s.somebody(t, "alice")
		own, others := ours.client(t, "client.example"), ours.client(t, "other.example")
		x5t := digest(string(own.Leaf.Raw))
		secret := s.application(t, "--name", "With a secret", "--grant", "client_credentials", "--may-introspect",
			"--sender-constraint", "certificate")
		public := s.application(t, "--name", "Public", "--client-type", "public", "--grant", "authorization_code",
			"--redirect-uri", phoneURI, "--sender-constraint", "certificate")
		signed := s.application(t, "--name", "Signed", "--grant", "client_credentials", "--certificate-subject",
			"san_dns=client.example", "--sender-constraint", "certificate", "--access-token-format", "jwt")

		get := func(certificate *tls.Certificate, form url.Values) (tokens, answer) {
			a := s.by(t, certificate, mutual+"/o/token/", form, nil)
			return s.tokens(t, a), a
		}
		refused := func(what string, a answer, code string) {
			t.Helper()
			if err := a.refused(http.StatusBadRequest, code); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		form := params("grant_type", "client_credentials", "client_id", secret.ClientID, "client_secret", secret.ClientSecret)
		got, a := get(&own, form)
		checkEqual(t, "token_type", got.TokenType, "Bearer")
		cnf, _ := s.introspect(t, basic(secret.ClientID, secret.ClientSecret), got.AccessToken)["cnf"].(map[string]any)
		if a.Status != http.StatusOK || cnf["x5t#S256"] != x5t || len(cnf) != 1 {
			t.Errorf("%d, cnf %v, want %s", a.Status, cnf, x5t)
		}
		_, a = get(nil, form)
		refused("no certificate", a, "invalid_request")
		a = s.by(t, &own, mutual+"/o/token/", form,
			http.Header{"Dpop": {newHolder(t).proof(t, "POST", mutual+"/o/token/", nil, nil)}})
		refused("a proof beside the certificate", a, "invalid_request")
		holder := newHolder(t)
		pushed, _ := s.requestFor(t, public)
		refused("a proof at the pushed authorization request endpoint",
			s.post(t, "/o/par/", holder.proving(t, public.auth()), pushed), "invalid_request")
		refused("dpop_jkt", s.post(t, "/o/par/", public.auth(), with(pushed, "dpop_jkt", holder.jkt)), "invalid_request")
		got, _ = get(&own, params("grant_type", "client_credentials", "client_id", signed.ClientID))
		cnf, _ = signedCNF(t, got.AccessToken).(map[string]any)
		checkEqual(t, "cnf of a signed token", cnf["x5t#S256"], any(x5t))

		// The refresh token of a public client is bound too, and is not rotated.
		address, verifier := s.authorizeURL(public, "scope", "openid read")
		code := s.browser(t).code(t, address, alice)
		redeem := with(grantForm(public, code, verifier), "client_id", public.ClientID)
		_, a = get(nil, redeem)
		refused("the code without a certificate", a, "invalid_request")
		got, a = get(&own, redeem)
		if a.Status != http.StatusOK {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		refresh := with(refreshForm(got.RefreshToken), "client_id", public.ClientID)
		_, a = get(&others, refresh)
		refused("the refresh token with another certificate", a, "invalid_grant")
		next, _ := get(&own, refresh)
		checkEqual(t, "the refresh token is kept", next.RefreshToken, got.RefreshToken)

		// UserInfo and the sample API, with the right certificate and with others.
		for name, path := range map[string]string{"UserInfo": "/o/userinfo/", "the sample API": "/resource"} {
			for what, one := range map[string]struct {
				certificate *tls.Certificate
				at          string
				status      int
			}{
				"its certificate":     {&own, mutual, http.StatusOK},
				"another certificate": {&others, mutual, http.StatusUnauthorized},
				"no certificate":      {nil, mutual, http.StatusUnauthorized},
				"the other listener":  {&own, s.URL, http.StatusUnauthorized},
			} {
				a := s.fetch(t, one.certificate, one.at+path, http.Header{"Authorization": {"Bearer " + next.AccessToken}})
				if a.Status != one.status {
					t.Errorf("%s with %s: %d %s", name, what, a.Status, a.Body)
				}
				if a.Status == http.StatusUnauthorized {
					wantChallenge(t, a, "Bearer", "invalid_token")
				}
			}
		}
	})
}
