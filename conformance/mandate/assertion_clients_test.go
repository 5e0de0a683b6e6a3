package mandate

import (
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
)

// TestAssertionClientsNode uses openid-client of npm, which signs assertions with its own
// defaults.
func TestAssertionClientsNode(t *testing.T) {
	ownProcesses(t)
	t.Parallel()
	s := startServer(t, options{})
	a, asker := s.keyHolder(t, "robot"), s.introspector(t)
	keyed := s.application(t, "--name", "keyed", "--grant", "client_credentials", "--auth-method", "client_secret_jwt",
		"--no-hash-client-secret")
	for _, c := range []struct {
		app  application
		with map[string]any
	}{
		{a.application, map[string]any{"auth": "private_key_jwt", "jwk": a.keys.privateJWK(t), "kid": "ES256"}},
		{keyed, map[string]any{"auth": "secret_jwt"}},
	} {
		got := s.openidClient(t, c.app, "client_credentials", c.with)
		access, _ := s.granted(t, got, "read write", false)
		if s.introspect(t, asker.auth(), access)["client_id"] != c.app.ClientID {
			t.Errorf("%v: the token is not that of %s", c.with["auth"], c.app.ClientID)
		}
		c.with["token"] = access
		if got := s.openidClient(t, c.app, "revoke", c.with); len(got) != 0 {
			t.Errorf("revocation gives %v", got)
		}
		s.checkInactive(t, asker.auth(), access)
	}
}

// A client changes its keys at its jwks_uri. A signature with an unknown kid makes the server
// read them again, but not for each such signature.
func TestAssertionKeysAtAnAddress(t *testing.T) {
	ownProcesses(t)
	t.Parallel()
	first, second := newStatementIssuer(t, "first"), newStatementIssuer(t, "second")
	var served atomic.Value
	var fetched atomic.Int64
	served.Store(first.keySet(t))
	site := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fetched.Add(1)
		w.Header().Set("Content-Type", "application/jwk-set+json")
		_, _ = w.Write([]byte(served.Load().(string)))
	}))
	t.Cleanup(site.Close)
	trusted := filepath.Join(t.TempDir(), "ca.pem")
	err := os.WriteFile(trusted, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: site.Certificate().Raw}), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	s := startServer(t, options{settings: []string{"OUTBOUND_ALLOWED_NETWORKS: [127.0.0.0/8]"},
		env: []string{"SSL_CERT_FILE=" + trusted}})
	app := s.application(t, "--name", "robot", "--grant", "client_credentials", "--auth-method", "private_key_jwt",
		"--jwks-uri", site.URL+"/keys")
	sign := func(keys *statementIssuer, kid string) auth {
		return asserting(keys.sign(t, s.assertionClaims(app.ClientID, nil), member{"kid": kid}))
	}
	s.mustToken(t, sign(first, "ES256"), forItself)
	for range 5 {
		s.refusedAssertion(t, "an unknown kid", sign(first, "unknown"))
	}
	if n := fetched.Load(); n > 2 {
		t.Errorf("%d fetches within the pause, want at most 2", n)
	}
	var renamed struct {
		Keys []map[string]any `json:"keys"`
	}
	err = json.Unmarshal([]byte(second.keySet(t)), &renamed)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range renamed.Keys {
		key["kid"] = "new " + key["kid"].(string)
	}
	set, err := json.Marshal(renamed)
	if err != nil {
		t.Fatal(err)
	}
	served.Store(string(set))
	waitFor(t, "the new key is known", func() bool {
		_, answer := s.token(t, sign(second, "new ES256"), forItself)
		return answer.Status == http.StatusOK
	})
	_, answer := s.token(t, sign(first, "ES256"), forItself)
	if answer.Status == http.StatusOK { // the limit of failed tries may be reached
		t.Errorf("the old key: %d %s", answer.Status, answer.Body)
	}
}
