package resource

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"mandate/provider/dpop"
	"mandate/provider/mtls"
)

// clientCertificates are the certificate that tokens are bound to, and another one.
var clientCertificates = sync.OnceValue(func() [2]tls.Certificate {
	var both [2]tls.Certificate
	for i := range both {
		key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader) // it cannot fail
		template := &x509.Certificate{SerialNumber: big.NewInt(int64(i) + 1), NotAfter: time.Now().Add(time.Hour)}
		der, _ := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
		leaf, _ := x509.ParseCertificate(der)
		both[i] = tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
	}
	return both
})

func certificateThumbprint() string {
	return (&mtls.Certificate{Certificate: clientCertificates()[0].Leaf}).Thumbprint()
}

// The token decides what the sender has to prove. Each combination of a token, a scheme and what
// comes with it is here, and only those that are named work.
func TestBindingMatrix(t *testing.T) {
	right, wrong := clientCertificates()[0].Leaf, clientCertificates()[1].Leaf
	works := map[string]bool{
		"key DPoP proof": true, "key-bearer DPoP proof": true, "key-2 DPoP proof": true,
		"certificate Bearer certificate": true,
	}
	for _, scheme := range []string{"Bearer"} {
		for _, with := range []string{"nothing", "proof", "other proof", "certificate", "other certificate"} {
			works["bearer "+scheme+" "+with], works["untyped "+scheme+" "+with], works["null "+scheme+" "+with] = true, true,
				true
		}
	}
	// A proof is checked where it is needed only, so the certificate can come with one too.
	for _, token := range []string{"key", "key-bearer", "key-2"} {
		works[token+" DPoP proof and certificate"] = true
	}
	for _, token := range []string{"bearer", "untyped", "null", "certificate"} {
		works[token+" Bearer proof and certificate"] = true
	}
	a := newBoundAPI(t, nil)
	for _, token := range []string{"key", "key-bearer", "key-2", "key-write", "certificate", "cert-dpop", "bearer",
		"untyped", "null", "dpop-no-cnf", "both", "unknown", "with-more", "other-case",
		"x5t", "nothing", "no-jkt", "null-jkt", "list-jkt", "no-x5t", "text-cnf", "list-cnf", "empty-cnf", "false-cnf",
		"unheard-of"} {
		for _, scheme := range []string{"Bearer", "DPoP", "Basic", "DPoP-Bearer"} {
			for _, with := range []string{"nothing", "proof", "other proof", "certificate", "other certificate",
				"proof and certificate"} {
				r := httptest.NewRequest("GET", "/v1/users", nil)
				r.Header.Set("Authorization", scheme+" "+token)
				switch with {
				case "proof", "proof and certificate":
					r.Header.Set("DPoP", a.proof(token, nil))
				case "other proof":
					r.Header.Set("DPoP", a.signed(map[string]any{"typ": dpop.Type, "alg": "ES256"}, a.other, token, nil))
				}
				switch with {
				case "certificate", "proof and certificate":
					r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{right, wrong}}
				case "other certificate":
					r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{wrong, right}}
				}
				name := token + " " + scheme + " " + with
				w := a.serve(r)
				want := 401
				if works[name] {
					want = 200
				}
				if token == "key-write" && scheme == "DPoP" && strings.HasPrefix(with, "proof") {
					want = 403 // the sender may use it, but it lacks the scope
				}
				if w.Code != want {
					t.Errorf("%s: got %d, want %d: %s", name, w.Code, want, w.Header().Values("WWW-Authenticate"))
				}
			}
		}
	}
}

// RFC 8705 §3: the certificate comes from the TLS connection, or from a trusted proxy in a
// header. A stranger's header is nothing.
func TestRFC8705(t *testing.T) {
	both := clientCertificates()
	right, wrong := both[0].Leaf, both[1].Leaf
	header := func(c *x509.Certificate) string { return ":" + base64.StdEncoding.EncodeToString(c.Raw) + ":" }
	a := newBoundAPI(t, func(c *GuardConfig) {
		c.CertificateHeader, c.TrustedProxies = mtls.CertificateHeader, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	})
	const proxy, stranger = "10.0.0.1:5", "192.0.2.1:5"
	for name, test := range map[string]struct {
		from    string
		headers []string
		tls     *x509.Certificate
		ok      bool
	}{
		"3 the certificate of the connection":           {stranger, nil, right, true},
		"3 another certificate":                         {stranger, nil, wrong, false},
		"3 no certificate":                              {stranger, nil, nil, false},
		"3 the header of a trusted proxy":               {proxy, []string{header(right)}, nil, true},
		"3 another certificate in that header":          {proxy, []string{header(wrong)}, nil, false},
		"3 the certificate of the proxy":                {proxy, nil, right, false},
		"3 the header of a stranger":                    {stranger, []string{header(right)}, nil, false},
		"3 the header of a stranger, another in TLS":    {stranger, []string{header(right)}, wrong, false},
		"3 two headers":                                 {proxy, []string{header(right), header(right)}, nil, false},
		"3 a malformed header":                          {proxy, []string{"::"}, nil, false},
		"3 the certificate of the client beside others": {proxy, []string{header(right)}, wrong, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest("GET", "/v1/users", nil)
			r.RemoteAddr = test.from
			r.Header["Authorization"], r.Header["Client-Cert"] = []string{"Bearer certificate"}, test.headers
			if test.tls != nil {
				r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{test.tls}}
			}
			w := a.serve(r)
			if test.ok {
				if w.Code != 200 {
					t.Errorf("%d %s", w.Code, w.Body)
				}
				return
			}
			wantRefused(t, w, schemeBearer, "invalid_token")
		})
	}
}

// RFC 8705 §3: over TLS, as a client does it.
func TestRFC8705Connection(t *testing.T) {
	a := newBoundAPI(t, nil)
	server := httptest.NewUnstartedServer(a.handler)
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	server.StartTLS()
	defer server.Close()
	for i, want := range []int{200, 401} {
		transport := server.Client().Transport.(*http.Transport).Clone()
		transport.TLSClientConfig.Certificates = []tls.Certificate{clientCertificates()[i]}
		r, err := http.NewRequest("GET", server.URL+"/v1/users", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer certificate")
		resp, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("certificate %d: %s", i, resp.Status)
		}
		transport.CloseIdleConnections()
	}
}

// RFC 9449 §7.1, §7.2: which challenges a request gets, by what it sent and by what the API
// requires.
func TestBindingChallenges(t *testing.T) {
	const bearerOnly, dpopOnly, bearerFirst = "Bearer", "DPoP", "Bearer DPoP"
	for _, test := range []struct {
		required, authorization, schemes, code string
	}{
		{"", "", bearerFirst, ""},
		{"", "Basic YTpi", bearerFirst, ""},
		{"", "Bearer unheard-of", bearerFirst, "invalid_token"},
		{"", "Bearer key", bearerFirst, "invalid_token"},
		{"", "Bearer a b", bearerOnly, "invalid_request"},
		{"", "DPoP a b", dpopOnly, "invalid_request"},
		{"", "DPoP unheard-of", dpopOnly, "invalid_token"},
		{"", "DPoP bearer", dpopOnly, "invalid_token"},
		{"", "DPoP key", dpopOnly, "invalid_dpop_proof"},
		{"dpop", "", dpopOnly, ""},
		{"dpop", "Bearer bearer", dpopOnly, "invalid_token"},
		{"dpop", "Bearer certificate", dpopOnly, "invalid_token"},
		{"dpop", "DPoP bearer", dpopOnly, "invalid_token"},
		{"certificate", "", bearerOnly, ""},
		{"certificate", "Bearer bearer", bearerOnly, "invalid_token"},
		{"certificate", "Bearer key", bearerOnly, "invalid_token"},
		{"certificate", "DPoP key", bearerOnly, ""},
		{"certificate", "Bearer certificate", bearerOnly, "invalid_token"},
		{"any", "", bearerFirst, ""},
		{"any", "Bearer bearer", bearerFirst, "invalid_token"},
		{"any", "Bearer untyped", bearerFirst, "invalid_token"},
		{"any", "DPoP bearer", dpopOnly, "invalid_token"},
	} {
		a := newBoundAPI(t, func(c *GuardConfig) {
			c.RequiredBinding, c.Certificates, c.AuthorizationServers = test.required, true, []string{issuer}
		})
		w := a.send(test.authorization)
		var schemes, codes []string
		for _, challenge := range w.Header().Values("WWW-Authenticate") {
			scheme, rest, _ := strings.Cut(challenge, " ")
			schemes = append(schemes, scheme)
			_, code, _ := strings.Cut(rest, `error="`)
			code, _, _ = strings.Cut(code, `"`)
			codes = append(codes, code)
			if strings.Contains(rest, algs) != (scheme == "DPoP") ||
				!strings.Contains(rest, `resource_metadata="https://api.example/.well-known/`) {
				t.Errorf("%q %q: %s", test.required, test.authorization, challenge)
			}
		}
		if w.Code < 400 || strings.Join(schemes, " ") != test.schemes || codes[0] != test.code ||
			len(codes) > 1 && codes[1] != "" {
			t.Errorf("%q %q: %d %q", test.required, test.authorization, w.Code, w.Header().Values("WWW-Authenticate"))
		}
		var body struct{ Detail string }
		err := json.Unmarshal(w.Body.Bytes(), &body)
		if err != nil || body.Detail == "" {
			t.Errorf("%q %q: %v %s", test.required, test.authorization, err, w.Body)
		}
	}
	// A token that lacks only a scope: one challenge, for the scheme that works.
	a := newBoundAPI(t, nil)
	w := a.send("DPoP key-write", a.proof("key-write", nil))
	if got := w.Header().Values("WWW-Authenticate"); w.Code != 403 || len(got) != 1 ||
		got[0] != `DPoP realm="api", error="insufficient_scope", scope="read"`+algs {
		t.Errorf("%d %q", w.Code, got)
	}
}

// RFC 6750 §3.1: a scheme that an API does not support gets no error code. The client learns that
// no proof helps, and the operator why.
func TestGuardWithoutProofsSaysSo(t *testing.T) {
	const noURL, certificates = "because it does not know the URL of the API: set RESOURCE_SERVER_BASE_URLS",
		"because RESOURCE_SERVER_REQUIRED_BINDING is certificate"
	for _, test := range []struct{ required, authorization, challenge, log string }{
		{"", "DPoP key", `Bearer realm="api"`, "it came with the scheme DPoP, and this guard checks no DPoP proofs, " +
			noURL},
		{"", "dpop a b", `Bearer realm="api"`, "it came with the scheme DPoP, and this guard checks no DPoP proofs, " +
			noURL},
		{"", "Bearer key", `Bearer realm="api", error="invalid_token", error_description="` + noDPoP + `"`,
			"it is bound to a key (cnf), and this guard checks no DPoP proofs, " + noURL},
		{"certificate", "DPoP key", `Bearer realm="api"`, "it came with the scheme DPoP, and this guard checks no DPoP " +
			"proofs, " + certificates},
	} {
		a := newBoundAPI(t, func(c *GuardConfig) { c.Audience, c.Certificates, c.RequiredBinding = "", true, test.required })
		w := a.send(test.authorization, "a proof")
		if got := w.Header().Values("WWW-Authenticate"); w.Code != 401 || len(got) != 1 || got[0] != test.challenge {
			t.Errorf("%q: %d %q", test.authorization, w.Code, got)
		}
		if !strings.Contains(w.Body.String(), noDPoP+".") || strings.Count(a.log.String(), "\n") != 1 ||
			!strings.Contains(a.log.String(), test.log) {
			t.Errorf("%q: %s %s", test.authorization, w.Body, &a.log)
		}
	}
}

// The line about a refused token says which request it was, and who made it, in a bounded length.
// The query can contain a secret.
func TestRefusalNamesTheRequest(t *testing.T) {
	a := newBoundAPI(t, nil)
	for _, test := range []struct{ authorization, proof, want string }{
		{"Bearer named", "",
			`reason="This access token is bound to a key: send it with the scheme DPoP, and a DPoP proof in the header DPoP"`},
		{"DPoP named", "x", `reason="the DPoP proof must be one JWT`},
		{"Bearer unheard-of", "", "reason="},
	} {
		a.log.Reset()
		r := httptest.NewRequest("GET", "/v1/a%C2%9B"+strings.Repeat("b", 1000)+"?secret=hush", nil)
		r.Header.Set("Authorization", test.authorization)
		r.Header["Dpop"] = []string{test.proof}
		a.serve(r)
		log := a.log.String()
		if !strings.Contains(log, test.want) || !strings.Contains(log, ` method=GET path=/v1/a\u009bb`) ||
			strings.Count(log, "\n") != 1 || len(log) > 1200 || strings.Contains(log, "hush") {
			t.Errorf("%s: %s", test.authorization, log)
		}
		if strings.Contains(log, `client=bank\u009bxxx`) != strings.HasSuffix(test.authorization, " named") {
			t.Errorf("%s: %s", test.authorization, log)
		}
	}
}

// An API that requires bound tokens accepts them with their proof.
func TestRequiredBinding(t *testing.T) {
	for _, required := range []string{"dpop", "certificate", "any"} {
		a := newBoundAPI(t, func(c *GuardConfig) { c.RequiredBinding, c.Certificates = required, true })
		w := a.send("DPoP key", a.proof("key", nil))
		if (w.Code == 200) != (required != "certificate") {
			t.Errorf("%s, a key: %d %s", required, w.Code, w.Body)
		}
		r := httptest.NewRequest("GET", "/v1/users", nil)
		r.Header.Set("Authorization", "Bearer certificate")
		r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{clientCertificates()[0].Leaf}}
		if w := a.serve(r); (w.Code == 200) != (required != "dpop") {
			t.Errorf("%s, a certificate: %d %s", required, w.Code, w.Body)
		}
	}
}

func TestBindingConfig(t *testing.T) {
	for name, test := range map[string]struct {
		c  GuardConfig
		ok bool
	}{
		"an unknown binding":            {GuardConfig{RequiredBinding: "mtls", Audience: audience}, false},
		"keys without a URL":            {GuardConfig{RequiredBinding: "dpop", Audience: "orders"}, false},
		"any without a URL":             {GuardConfig{RequiredBinding: "any"}, false},
		"any with certificates only":    {GuardConfig{RequiredBinding: "any", Certificates: true}, true},
		"certificates that nobody asks": {GuardConfig{RequiredBinding: "certificate", Audience: audience}, false},
		"certificates in a header": {GuardConfig{RequiredBinding: "certificate", CertificateHeader: "Client-Cert"},
			true},
		"keys with a base URL": {GuardConfig{RequiredBinding: "dpop", BaseURLs: []string{"https://a.example"}},
			true},
		"a short key of nonces": {GuardConfig{Audience: audience, RequireNonce: true, NonceKey: make([]byte, 31)},
			false},
		"a base URL with a query":         {GuardConfig{BaseURLs: []string{"https://a.example?a"}}, false},
		"a base URL with a fragment":      {GuardConfig{BaseURLs: []string{"https://a.example#a"}}, false},
		"a base URL with credentials":     {GuardConfig{BaseURLs: []string{"https://a@a.example"}}, false},
		"a base URL without a scheme":     {GuardConfig{BaseURLs: []string{"a.example"}}, false},
		"a base URL with plain http":      {GuardConfig{BaseURLs: []string{"http://a.example"}}, false},
		"plain http in a test":            {GuardConfig{BaseURLs: []string{"http://a.example"}, AllowHTTP: true}, true},
		"the second base URL is no URL":   {GuardConfig{BaseURLs: []string{"https://a.example", ""}}, false},
		"nonces for an API without a URL": {GuardConfig{RequireNonce: true}, true},
	} {
		test.c.Verifier = &counter{}
		_, err := NewGuard(test.c)
		if (err == nil) != test.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// RFC 9728 §2: what the metadata says about bound tokens.
func TestBindingMetadata(t *testing.T) {
	for _, test := range []struct {
		required           string
		certificates       bool
		proofs, mutual, is string
	}{
		{"", false, `"dpop_signing_alg_values_supported":["ES256","EdDSA","Ed25519","PS256"]`, "", ""},
		{"", true, `"dpop_signing_alg_values_supported"`, `"tls_client_certificate_bound_access_tokens":true`, ""},
		{"dpop", true, `"dpop_signing_alg_values_supported"`, "", `"dpop_bound_access_tokens_required":true`},
		{"certificate", true, "", `"tls_client_certificate_bound_access_tokens":true`, ""},
		{"any", true, `"dpop_signing_alg_values_supported"`, `"tls_client_certificate_bound_access_tokens":true`, ""},
	} {
		a := newBoundAPI(t, func(c *GuardConfig) {
			c.RequiredBinding, c.Certificates, c.AuthorizationServers = test.required, test.certificates, []string{issuer}
		})
		text := a.serve(httptest.NewRequest("GET", wellKnown+"/v1", nil)).Body.String()
		for member, want := range map[string]string{"dpop_signing_alg_values_supported": test.proofs,
			"tls_client_certificate_bound": test.mutual, "dpop_bound_access_tokens_required": test.is} {
			if !strings.Contains(text, want) || strings.Contains(text, member) != (want != "") {
				t.Errorf("%+v: %s", test, text)
			}
		}
	}
}

// The texts in a challenge cannot end its quotes, whatever the path of the request is.
func TestAttackChallengeText(t *testing.T) {
	a := newBoundAPI(t, nil)
	r := httptest.NewRequest("GET", "/", nil)
	r.URL.Path = "/\", Basic realm=\"x\r\nX: y/" + strings.Repeat("ü", 3000)
	r.Header.Set("Authorization", "DPoP key")
	r.Header.Set("DPoP", a.proof("key", nil))
	w := a.serve(r)
	challenge := w.Header().Get("WWW-Authenticate")
	if w.Code != 401 || len(challenge) > 1000 || strings.Count(challenge, `"`) != 8 ||
		strings.ContainsAny(challenge, "\r\n\\") {
		t.Errorf("%d %s", w.Code, challenge)
	}
}

func TestQuotable(t *testing.T) {
	for text, want := range map[string]string{`a "b" c`: "a 'b' c", `a\b`: "a'b", "a\r\nb": "a''b", "ü~": "'~",
		strings.Repeat("a", 501): strings.Repeat("a", 500) + "..."} {
		if got := quotable(text); got != want {
			t.Errorf("%.20q: %q", text, got)
		}
	}
}

func FuzzConfirmation(f *testing.F) {
	for _, seed := range []string{`{"jkt":"` + strings.Repeat("A", 43) + `"}`, `{"x5t#S256":""}`, `{}`, `null`, `[]`,
		`{"jkt":null}`, `"x"`, `{"jkt":"a","jkt":"b"}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		token := &Token{Claims: map[string]json.RawMessage{"cnf": json.RawMessage(text)}}
		c, err := token.confirmation()
		if err != nil && c != (confirmation{}) {
			t.Errorf("%q: %+v beside an error", text, c)
		}
		if err == nil && text != "null" && (len(c.key) == thumbprintLength) == (len(c.certificate) == thumbprintLength) {
			t.Errorf("%q is bound to %+v", text, c)
		}
	})
}
