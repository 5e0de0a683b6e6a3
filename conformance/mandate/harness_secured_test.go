package mandate

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
)

// Clients that we did not write, whose tokens are bound to them. All speak TLS, and follow
// the steps of testdata/node/client.mjs.

// securedServer needs a nonce in every proof, and has a listener for certificates.
type securedServer struct {
	*server
	mutual string // its URL
	ours   *issuer
	trust  string // the certificate of the server, in PEM
	alice  person
	asker  application
}

func newSecuredServer(t testing.TB, db database) *securedServer {
	t.Helper()
	ownProcesses(t)
	ours := newIssuer(t)
	s, mutual := withCertificates(t, db, ours, "SAMPLE_API: true",
		"OAUTH2_PROVIDER: {OIDC_ENABLED: true, "+openidScopes+", DPOP_NONCE_REQUIRED: true, RESOURCE_SERVER_DPOP_NONCE: "+
			"true, RESOURCE_SERVER_TOKEN_CACHING_SECONDS: 0}")
	trust, err := os.ReadFile(s.certificateFile(t))
	if err != nil {
		t.Fatal(err)
	}
	return &securedServer{s, mutual, ours, string(trust), s.somebody(t, "alice"), s.introspector(t)}
}

// certificateFile returns the value of TLS_CERTIFICATE_FILE.
func (s *server) certificateFile(t testing.TB) string {
	t.Helper()
	for _, setting := range s.options.settings {
		value, found := strings.CutPrefix(setting, "TLS_CERTIFICATE_FILE: ")
		if found {
			return strings.Trim(value, `"`)
		}
	}
	t.Fatal("the server has no certificate")
	return ""
}

// keyed registers an application that authenticates by private_key_jwt, and whose tokens are
// bound to a key. It returns what the steps of its client need; args are more flags.
func (s *securedServer) keyed(t testing.TB, name string, args ...string) (application, map[string]any) {
	t.Helper()
	keys := newStatementIssuer(t, name)
	app := s.relyingParty(t,
		append([]string{"--client-id", name, "--grant", "client_credentials", "--auth-method", "private_key_jwt", "--jwks",
			keysFile(t, keys.keySet(t)),
			"--sender-constraint", "dpop"}, args...)...)
	return app, map[string]any{"auth": "private_key_jwt", "jwk": keys.privateJWK(t), "kid": "ES256", "dpop": app.ClientID,
		"tls": map[string]any{"ca": s.trust}}
}

// profiled is keyed for the profile FAPI 2.0 Message Signing.
func (s *securedServer) profiled(t testing.TB, name string) (application, map[string]any) {
	t.Helper()
	app, input := s.keyed(t, name, "--profile", "fapi2-message-signing", "--algorithm", "ES256",
		"--response-algorithm", "ES256")
	input["jarm"], input["algorithm"] = true, "ES256"
	input["metadata"] = map[string]any{"id_token_signed_response_alg": "ES256",
		"authorization_signed_response_alg": "ES256"}
	return app, input
}

// privateJWK returns the key ES256.
func (i *statementIssuer) privateJWK(t testing.TB) member {
	t.Helper()
	key := i.keys["ES256"].(*ecdsa.PrivateKey)
	private, err := key.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	public, err := key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return member{"kty": "EC", "crv": "P-256", "x": base64url(public[1:33]), "y": base64url(public[33:]),
		"d": base64url(private)}
}

// certified is keyed for tls_client_auth and a certificate. A program can have one
// certificate for several applications.
func (s *securedServer) certified(t testing.TB, name string, args ...string) (application, map[string]any) {
	t.Helper()
	app := s.relyingParty(t,
		append([]string{"--client-id", name, "--grant", "client_credentials", "--certificate-subject",
			"san_dns=" + name + ".example", "--sender-constraint", "certificate"}, args...)...)
	own := s.ours.client(t, name+".example")
	certificate, key := inPEM(t, own)
	return app, map[string]any{"auth": "tls", "tls": map[string]any{"ca": s.trust, "cert": certificate, "key": key},
		"metadata": map[string]any{"use_mtls_endpoint_aliases": true, "tls_client_certificate_bound_access_tokens": true}}
}

// inPEM returns a certificate and its key.
func inPEM(t testing.TB, c tls.Certificate) (string, string) {
	t.Helper()
	key, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate[0]})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))
}

// boundFlow runs the flow of a client from the authorization request to the API. request has
// more about the authorization request. It returns the requests with a proof.
func (s *securedServer) boundFlow(t *testing.T, run foreignClient, app application, input,
	request map[string]any) []string {
	t.Helper()
	var proofs []string
	step := func(name string, more map[string]any) map[string]any {
		t.Helper()
		whole := maps.Clone(input)
		whole["oidc"] = true
		maps.Copy(whole, more)
		got := run(t, app, name, whole)
		for _, one := range listed(got["requests"]) {
			proofs = append(proofs, one.(string))
		}
		if got["error"] != nil {
			t.Fatalf("%s: %v", name, got)
		}
		return got
	}
	asks := map[string]any{"redirect_uri": app.RedirectURI, "scope": "openid email read",
		"parameters": map[string]any{"nonce": "n-1"}}
	maps.Copy(asks, request)
	begun := step("authorize", asks)
	back := s.browser(t).authorize(t, begun["url"].(string), s.alice, "approve")
	first := step("callback",
		map[string]any{"url": back.String(), "redirect_uri": app.RedirectURI, "code_verifier": begun["code_verifier"],
			"state": begun["state"], "nonce": "n-1"})
	id, _ := first["id_token"].(string)
	algorithm, chosen := input["algorithm"].(string)
	if !chosen {
		algorithm = "RS256"
	}
	next := step("refresh", map[string]any{"refresh_token": first["refresh_token"]})
	access, _ := next["access_token"].(string)
	if subject := s.verified(t, app, algorithm, id)["sub"]; step("userinfo",
		map[string]any{"token": access, "subject": subject})["email"] != "alice@example.org" {
		t.Error("UserInfo does not say who alice is")
	}
	s.checkBoundTo(t, access, input)
	api := s.URL
	if input["dpop"] == nil {
		api = s.mutual
	}
	if got := step("get", map[string]any{"url": api + "/resource", "token": access}); got["status"] != float64(
		http.StatusOK) {
		t.Errorf("the API answers %v", got)
	}
	return proofs
}

// checkBoundTo checks what the token of a client is bound to, and that it is useless without.
func (s *securedServer) checkBoundTo(t testing.TB, access string, input map[string]any) {
	t.Helper()
	got := s.introspect(t, s.asker.auth(), access)
	kind, confirmation := "DPoP", "jkt"
	if input["dpop"] == nil {
		kind, confirmation = "Bearer", "x5t#S256"
	}
	cnf, _ := got["cnf"].(map[string]any)
	if got["active"] != true || got["token_type"] != kind || len(cnf) != 1 || cnf[confirmation] == nil {
		t.Errorf("introspection gives %v, want a token that is bound by %s", got, confirmation)
	}
	wantChallenge(t, s.get(t, "/resource", bearer(access)), "Bearer", "invalid_token")
	wantChallenge(t, s.get(t, "/o/userinfo/", bearer(access)), kind, "invalid_token") // the scheme that the token needs
}

func listed(value any) []any {
	values, _ := value.([]any)
	return values
}

// adding returns a copy of the parameters of a step with more of them, given as names and values in turn.
func adding(input map[string]any, pairs ...any) map[string]any {
	whole := maps.Clone(input)
	for i := 0; i < len(pairs); i += 2 {
		whole[pairs[i].(string)] = pairs[i+1]
	}
	return whole
}

// checkNonces checks that a client learnt nonces: it repeats a request that was refused for want
// of one, and uses it for the next.
func checkNonces(t testing.TB, proofs []string, want ...string) {
	t.Helper()
	if !slices.Equal(proofs, want) {
		t.Errorf("the requests with a proof are\n%s\nwant\n%s", fmt.Sprint(proofs), fmt.Sprint(want))
	}
}
