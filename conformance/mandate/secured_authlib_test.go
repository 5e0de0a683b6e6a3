package mandate

import (
	"net/http"
	"strings"
	"testing"
)

// TestSecuredAuthlib uses Authlib of PyPI with requests: client assertions, and tokens that are
// bound to the certificate of requests. testdata/authlib/client.py says what its release lacks.
func TestSecuredAuthlib(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := newSecuredServer(t, db)
		t.Run("private_key_jwt", s.authlibKey)
		t.Run("client_secret_jwt", s.authlibSecret)
		t.Run("certificate", s.authlibCertificate)
	})
}

// authlibKey authenticates by private_key_jwt, with a token that is bound to a certificate.
func (s *securedServer) authlibKey(t *testing.T) {
	app, input := s.keyed(t, "authlib", "--sender-constraint", "certificate")
	delete(input, "dpop")
	certificate, key := inPEM(t, s.ours.client(t, "authlib.example"))
	input["tls"] = map[string]any{"ca": s.trust, "cert": certificate, "key": key}
	short := adding(input, "audience", s.Issuer, "lifetime", 60)
	s.boundFlow(t, s.authlib, app, short, nil)
	got := s.authlib(t, app, "client_credentials", short)
	access, _ := got["access_token"].(string)
	s.checkBoundTo(t, access, input)

	// What Authlib 1.9.9 does by default, and what the errors say of it. Its assertions are for the
	// token endpoint, and live for an hour.
	for want, input := range map[string]map[string]any{s.Issuer: adding(input, "lifetime", 60),
		"600 seconds": adding(input, "audience", s.Issuer)} {
		got := s.authlib(t, app, "client_credentials", input)
		wantError(t, got, "invalid_client")
		if text, _ := got["error_description"].(string); !strings.Contains(text, want) {
			t.Errorf("the error does not name %s: %v", want, got)
		}
	}
	// Authlib 1.9.9 writes jti into the claims that its user sets, such as exp, and so sends it again
	// in the next assertion of the same object.
	wantError(t, s.authlib(t, app, "client_credentials", adding(short, "times", 2)), "invalid_client")
	// An application can be registered for assertions for the token endpoint.
	old, input := s.keyed(t, "authlib-old", "--sender-constraint=", "--assertion-audience-endpoints")
	s.granted(t, s.authlib(t, old, "client_credentials", adding(input, "lifetime", 60, "scope", "read")), "read", false)
}

// authlibSecret authenticates by client_secret_jwt.
func (s *securedServer) authlibSecret(t *testing.T) {
	app := s.application(t, "--name", "secret", "--grant", "client_credentials", "--auth-method", "client_secret_jwt",
		"--no-hash-client-secret")
	input := map[string]any{"auth": "secret_jwt", "audience": s.Issuer, "lifetime": 60,
		"tls": map[string]any{"ca": s.trust}}
	access, _ := s.granted(t, s.authlib(t, app, "client_credentials", adding(input, "scope", "read")), "read", false)
	if got := s.authlib(t, app, "get", adding(input, "url", s.URL+"/resource", "token", access)); got["status"] != float64(
		http.StatusOK) {
		t.Errorf("the API answers %v", got)
	}
	app.ClientSecret = app.ClientSecret[1:]
	wantError(t, s.authlib(t, app, "client_credentials", input), "invalid_client")
}

// authlibCertificate authenticates by tls_client_auth.
func (s *securedServer) authlibCertificate(t *testing.T) {
	app, input := s.certified(t, "authlib-tls")
	s.boundFlow(t, s.authlib, app, input, nil)
	_, other := s.certified(t, "authlib-other")
	wantError(t, s.authlib(t, app, "client_credentials", other), "invalid_client")
}
