package mandate

import (
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// Debian 12's mod_auth_openidc, 2.4.12.3, with the security that this release has:
//
//   - private_key_jwt, by RS256 and with the token endpoint as aud;
//   - request objects, by the parameter request;
//   - a certificate for the token endpoint alone. It does not know mtls_endpoint_aliases, and
//     sends no certificate to UserInfo, so that a token that is bound to a certificate needs the
//     facts in the ID token.
//
// It has no pushed requests, no DPoP, and no signed responses.

// apacheKeys returns the flags of an application with a key for RS256, and Apache's directives for it.
func apacheKeys(t testing.TB) ([]string, []string) {
	t.Helper()
	keys := newStatementIssuer(t, "page")
	private, err := x509.MarshalPKCS8PrivateKey(keys.keys["RS256"])
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(keys.keys["RS256"].Public())
	if err != nil {
		t.Fatal(err)
	}
	return []string{"--auth-method", "private_key_jwt", "--assertion-audience-endpoints",
			"--jwks=" + keysFile(t, keys.keySet(t))},
		[]string{"OIDCPrivateKeyFiles RS256#" + writePEM(t, "PRIVATE KEY", private),
			"OIDCPublicKeyFiles RS256#" + writePEM(t, "PUBLIC KEY", public),
			"OIDCProviderTokenEndpointAuth private_key_jwt"}
}

func TestSecuredApache(t *testing.T) {
	ownProcesses(t)
	t.Parallel()
	s := openidServer(t, newSQLite(t))
	alice := s.visitor(t, "alice")
	object :=
		`OIDCRequestObject "{\"copy_from_request\": [\"scope\", \"response_type\", \"client_id\"], \"copy_and_remove_from_request\": [\"state\", \"nonce\", \"redirect_uri\", \"code_challenge\", \"code_challenge_method\"], \"crypto\": {\"sign_alg\": \"RS256\"}, \"request_object_type\": \"request\"}"`
	for name, more := range map[string][]string{"private_key_jwt": nil, "request object": {object}} {
		t.Run(name, func(t *testing.T) {
			flags, directives := apacheKeys(t)
			a := s.apache(t, flags, append(directives, more...)...)
			b := s.browser(t)
			a.visit(t, b, "/", alice.person, "approve")
			a.checkTold(t, b, alice)
		})
	}
}

// TestSecuredApacheCertificate has a token that is bound to the certificate of Apache.
func TestSecuredApacheCertificate(t *testing.T) {
	t.Parallel()
	s := newSecuredServer(t, newSQLite(t))
	certificate, key := inPEM(t, s.ours.client(t, "page.example"))
	flags, directives := apacheKeys(t)
	a := s.apache(t, append(flags, "--sender-constraint", "certificate"), append(directives,
		"OIDCCABundlePath "+readable(t, s.trust), "OIDCClientTokenEndpointCert "+readable(t, certificate),
		"OIDCClientTokenEndpointKey "+readable(t, key),
		"OIDCProviderIssuer "+s.Issuer, "OIDCProviderAuthorizationEndpoint "+s.Issuer+"/authorize/", "OIDCProviderJwksUri "+
			s.Issuer+"/.well-known/jwks.json",
		"OIDCProviderTokenEndpoint "+s.mutual+"/o/token/",
		`OIDCAuthRequestParams claims=%7B%22id_token%22%3A%7B%22preferred_username%22%3Anull%7D%7D`)...)
	b := s.browser(t)
	a.visit(t, b, "/", s.alice, "approve")
	told := a.told(b)
	if told.Get("X-Remote-User") != s.alice.Name {
		t.Fatalf("the browser shows %d %s:\n%s", b.Status, b.URL, b.Body)
	}
	s.checkBoundTo(t, s.secret(told.Get("OIDC_access_token")), map[string]any{})
}

// readable writes a file that every account can read. If the tests run as root, Apache has another
// account when it reads what it gives to libcurl.
func readable(t testing.TB, text string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "mandate-apache-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	file := filepath.Join(dir, "file.pem")
	err = errors.Join(os.Chmod(dir, 0o755), os.WriteFile(file, []byte(text), 0o644))
	if err != nil {
		t.Fatal(err)
	}
	return file
}
