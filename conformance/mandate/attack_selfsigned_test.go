package mandate

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"mandate/testkit/port"
	"maps"
	"math/big"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Clients that authenticate with a self-signed certificate (RFC 8705 §2.2).

// certificateKey returns the JWK of a certificate, with its key and its x5c.
func certificateKey(t testing.TB, of tls.Certificate, kid string) member {
	t.Helper()
	point, err := of.PrivateKey.(*ecdsa.PrivateKey).PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	text := base64.RawURLEncoding.EncodeToString
	return member{"kty": "EC", "crv": "P-256", "x": text(point[1:33]), "y": text(point[33:]), "use": "sig", "kid": kid,
		"x5c": []string{base64.StdEncoding.EncodeToString(of.Leaf.Raw)}}
}

// setOf returns a JWK Set.
func setOf(t testing.TB, keys ...member) string {
	t.Helper()
	text, err := json.Marshal(member{"keys": keys})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// selfSigned returns a certificate that signs itself.
func selfSigned(t testing.TB, name string) tls.Certificate { return (&issuer{}).client(t, name) }

// reissued returns another self-signed certificate with the same key and the same subject.
func reissued(t testing.TB, of tls.Certificate) tls.Certificate {
	t.Helper()
	template := *of.Leaf
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, of.Leaf.PublicKey, of.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	made := tls.Certificate{Certificate: [][]byte{der}, PrivateKey: of.PrivateKey}
	made.Leaf, err = x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// RFC 8705 §2.2: the certificate equals one that is registered for the client_id. No authority
// is configured, and the chain, the subject and the dates are not checked.
func TestAttackSelfSignedCertificate(t *testing.T) {
	attack(t, "client authentication with a self-signed certificate that is not registered", "")
	onADatabase(t, func(t *testing.T, db database) {
		at := port.Address()
		s := startServer(t, newCertificate(t).options(options{database: db, settings: []string{"MTLS_LISTEN: " + quote(at)}}))
		own, others, second := selfSigned(t, "client.example"), selfSigned(t, "client.example"),
			selfSigned(t, "client.example")
		renewed, expired := reissued(t, own),
			(&issuer{}).issue(t,
				x509.Certificate{Subject: pkix.Name{CommonName: "old"}, NotBefore: time.Now().Add(-2 * time.Hour),
					NotAfter: time.Now().Add(-time.Hour)})
		authority := newIssuer(t)
		issued := authority.client(t, "client.example")
		chained := issued
		chained.Certificate = append([][]byte{issued.Certificate[0]}, own.Certificate...)
		register := func(keys ...member) application {
			return s.application(t, "--name", "With its own certificate", "--grant", "client_credentials", "--may-introspect",
				"--auth-method", "self_signed_tls_client_auth", "--jwks", keysFile(t, setOf(t, keys...)))
		}
		withChain := certificateKey(t, own, "chain")
		withChain["x5c"] = append(withChain["x5c"].([]string), base64.StdEncoding.EncodeToString(others.Leaf.Raw))
		app, other := register(withChain, certificateKey(t, second, "b"), certificateKey(t, expired, "c")),
			register(certificateKey(t, others, "a"))
		if app.ClientSecret != "" {
			t.Error("an application with a certificate gets a secret")
		}
		token, ordinary := "https://"+at+"/o/token/", s.URL+"/o/token/"
		passed := http.Header{"Client-Cert": {":" + base64.StdEncoding.EncodeToString(own.Leaf.Raw) + ":"}}
		var access string
		for name, test := range map[string]struct {
			certificate *tls.Certificate
			app         application
			to          string
			header      http.Header
			want        string // "": a token
		}{
			"the client's own":                      {&own, app, token, nil, ""},
			"its second one":                        {&second, app, token, nil, ""},
			"an expired one":                        {&expired, app, token, nil, ""},
			"another client's own":                  {&others, other, token, nil, ""},
			"no certificate":                        {nil, app, token, nil, "mtls_endpoint_aliases"},
			"the listener that asks for none":       {&own, app, ordinary, nil, "mtls_endpoint_aliases"},
			"another client's, of the same subject": {&others, app, token, nil, "not the first one in the x5c"},
			"another certificate of the same key":   {&renewed, app, token, nil, "not the first one in the x5c"},
			"of an authority, the same subject":     {&issued, app, token, nil, "not the first one in the x5c"},
			"the client's own behind another":       {&chained, app, token, nil, "not the first one in the x5c"},
			"a header from a stranger":              {nil, app, token, passed, "mtls_endpoint_aliases"},
			"a header beside another certificate":   {&others, app, token, passed, "not the first one in the x5c"},
		} {
			got := s.by(t, test.certificate, test.to, with(forItself, "client_id", test.app.ClientID), test.header)
			if test.want == "" {
				access = got.issued(t, name)
				continue
			}
			got.wrongClient(t, name, test.want)
		}
		question := params("client_id", app.ClientID, "token", access)
		if a := s.by(t, &own, "https://"+at+"/o/introspect/", question, nil); a.Status != http.StatusOK ||
			!strings.Contains(a.Body, `"active":true`) {
			t.Errorf("introspection: %d %s", a.Status, a.Body)
		}
		for name, more := range map[string][]string{"a secret": {"client_secret", "anything"},
			"an assertion": {"client_assertion_type", assertionType, "client_assertion", "a.b.c"}} {
			if err := s.by(t, &own, token, with(forItself, append(more, "client_id", app.ClientID)...),
				nil).refused(http.StatusUnauthorized, "invalid_client"); err != nil {
				t.Errorf("%s beside it: %v", name, err)
			}
		}
		var metadata struct {
			Methods []string          `json:"token_endpoint_auth_methods_supported"`
			Aliases map[string]string `json:"mtls_endpoint_aliases"`
		}
		s.get(t, "/.well-known/oauth-authorization-server/o", nobody).decode(t, &metadata)
		if methods := strings.Join(metadata.Methods, " "); !strings.Contains(methods, "self_signed_tls_client_auth") ||
			strings.Contains(methods, " tls_client_auth") || metadata.Aliases["token_endpoint"] == "" {
			t.Errorf("the metadata has %v, %v", metadata.Methods, metadata.Aliases)
		}
		s.wrongCertificateKeys(t, own, others)
	})
}

// wrongCertificateKeys registers keys with which nobody can authenticate.
func (s *server) wrongCertificateKeys(t *testing.T, own, others tls.Certificate) {
	changed := func(name string, value any) member {
		key := maps.Clone(certificateKey(t, own, "a"))
		if key[name] = value; value == nil {
			delete(key, name)
		}
		return key
	}
	foreign := certificateKey(t, others, "a")["x5c"]
	for what, test := range map[string]struct {
		keys []member
		want string
	}{
		"no certificate":                {[]member{changed("x5c", nil)}, "needs a key with the certificate"},
		"the certificate of a stranger": {[]member{changed("x5c", foreign)}, "does not begin with a certificate for it"},
		"no Base64": {[]member{changed("x5c", []string{"-----BEGIN CERTIFICATE-----"})},
			"does not begin with a certificate for it"},
		"a private key": {[]member{changed("d", "AAAA")}, "private key"},
		"the same kid": {[]member{changed("x5c", nil), certificateKey(t, others, "a")},
			"two keys with the kid"},
		"another key is wrong": {[]member{certificateKey(t, others, "b"), changed("x5c", foreign)},
			"does not begin with a certificate for it"},
	} {
		r := s.cli(t, "", "application", "add", "--name", "wrong", "--grant", "client_credentials", "--auth-method",
			"self_signed_tls_client_auth", "--jwks", keysFile(t, setOf(t, test.keys...)))
		if r.code == 0 || !strings.Contains(r.stderr, test.want) {
			t.Errorf("%s: %d %s, want %q", what, r.code, r.stderr, test.want)
		}
	}
}

// RFC 8705 §2.2: with jwks_uri, a client changes its certificate itself. A client may register
// itself, and may have a metadata document.
func TestSelfSignedCertificateRotation(t *testing.T) {
	t.Parallel()
	h, at := newDocumentHost(t), port.Address()
	s := startServer(t, h.options(newCertificate(t).options(options{provider: []string{"REGISTRATION_WITH_TOKEN: true"},
		settings: []string{"MTLS_LISTEN: " + quote(at)}})))
	token := "https://" + at + "/o/token/"
	first, second := selfSigned(t, "client.example"), selfSigned(t, "client.example")
	var served atomic.Value
	served.Store(setOf(t, certificateKey(t, first, "a")))
	address := h.page("/keys", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/jwk-set+json")
		_, _ = w.Write([]byte(served.Load().(string)))
	})
	const method = "self_signed_tls_client_auth"
	app := s.application(t, "--name", "robot", "--grant", "client_credentials", "--auth-method", method,
		"--jwks-uri", address)
	ask := func(clientID string, certificate tls.Certificate) answer {
		got := s.by(t, &certificate, token, with(forItself, "client_id", clientID), nil)
		return got
	}
	if got := ask(app.ClientID, first); got.Status != http.StatusOK {
		t.Errorf("the first certificate: %d %s", got.Status, got.Body)
	}
	served.Store(setOf(t, certificateKey(t, second, "b")))
	waitFor(t, "the new certificate is known", func() bool { return ask(app.ClientID, second).Status == http.StatusOK })
	if err := ask(app.ClientID, first).refused(http.StatusUnauthorized, "invalid_client"); err != nil {
		t.Errorf("the certificate that was removed: %v", err)
	}

	var set member
	if err := json.Unmarshal([]byte(setOf(t, certificateKey(t, first, "a"))), &set); err != nil {
		t.Fatal(err)
	}
	told := s.registers(t, bearer(s.initialToken(t, "--uses", "1", "--may", "client_credentials")),
		member{"client_name": "Robot", "grant_types": []string{"client_credentials"}, "response_types": []string{},
			"token_endpoint_auth_method": method, "jwks": set})
	if textOf(told, "token_endpoint_auth_method") != method || told["client_secret"] != nil {
		t.Errorf("the answer is %v", told)
	}
	if got := ask(textOf(told, "client_id"), first); got.Status != http.StatusOK {
		t.Errorf("the client that registered itself: %d %s", got.Status, got.Body)
	}
	if err := ask(textOf(told, "client_id"), second).refused(http.StatusUnauthorized, "invalid_client"); err != nil {
		t.Errorf("with the certificate of another: %v", err)
	}

	agent := h.client("/agent", agentURI, map[string]any{"token_endpoint_auth_method": method, "jwks": set})
	// RFC 9126 §2: it authenticates at its first push too, before anybody has approved it.
	form, _ := s.requestFor(t, agent)
	if err := s.by(t, &second, "https://"+at+"/o/par/", form, nil).refused(http.StatusUnauthorized,
		"invalid_client"); err != nil {
		t.Errorf("a first push with the certificate of another: %v", err)
	}
	if got := s.by(t, &first, "https://"+at+"/o/par/", form, nil); got.Status != http.StatusCreated {
		t.Errorf("a first push: %d %s", got.Status, got.Body)
	}
	authorize, verifier := s.authorizeURL(agent)
	code := params("grant_type", "authorization_code", "client_id", agent.ClientID, "code",
		s.browser(t).code(t, authorize, s.person(t, "alice")), "redirect_uri", agent.RedirectURI, "code_verifier", verifier)
	if err := s.by(t, &second, token, code, nil).refused(http.StatusUnauthorized, "invalid_client"); err != nil {
		t.Errorf("the document's client with the certificate of another: %v", err)
	}
	if got := s.by(t, &first, token, code, nil); got.Status != http.StatusOK {
		t.Errorf("the document's client: %d %s", got.Status, got.Body)
	}
}
