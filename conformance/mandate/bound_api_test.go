package mandate

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"mandate/testkit/port"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

// Access tokens that are bound to a key (RFC 9449) or to a certificate (RFC 8705), at the sample
// API and at the proxy. The introspection endpoint is one of the test.

// ofToken returns a proof for a GET of a URL with a token. changes replace its claims.
func (h *holder) ofToken(t testing.TB, htu, token string, changes member) string {
	t.Helper()
	claims := member{"ath": digest(token)}
	maps.Copy(claims, changes)
	return h.proof(t, http.MethodGet, htu, claims, nil)
}

// sends adds a token and proofs to a request.
func sends(scheme, token string, proofs ...string) auth {
	return func(r *http.Request, _ url.Values) {
		r.Header.Set("Authorization", scheme+" "+token)
		for _, p := range proofs {
			r.Header.Add("DPoP", p)
		}
	}
}

// introspector starts an introspection endpoint with these answers, and returns the settings of
// an API that uses it.
func introspector(t testing.TB, answers map[string]map[string]any) []string {
	t.Helper()
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := map[string]any{"active": false}
		if known := answers[r.PostFormValue("token")]; known != nil {
			answer = map[string]any{"active": true, "scope": "read", "client_id": "app"}
			maps.Copy(answer, known)
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(endpoint.Close)
	return []string{"RESOURCE_SERVER_INTROSPECTION_URL: " + quote(endpoint.URL),
		"RESOURCE_SERVER_AUTH_TOKEN: key-of-the-api"}
}

// wantChallenge asserts a refusal with an error in the challenge of a scheme.
func wantChallenge(t testing.TB, a answer, scheme, code string) {
	t.Helper()
	for _, challenge := range a.Header.Values("WWW-Authenticate") {
		if strings.HasPrefix(challenge, scheme+" ") && strings.Contains(challenge, `error="`+code+`"`) &&
			a.Status == http.StatusUnauthorized {
			return
		}
	}
	t.Errorf("%d %q, want 401 with a challenge of %s, %s: %s", a.Status, a.Header.Values("WWW-Authenticate"), scheme,
		code, a.Body)
}

const (
	keyToken    = "mat_bound-to-a-key"
	plainToken  = "mat_bound-to-nothing"
	ordersTable = "https://orders.example/v1/table"
)

func TestBoundTokenAtAnAPI(t *testing.T) {
	h, other := newHolder(t), newHolder(t)
	asks := func(t testing.TB) []string {
		return introspector(t, map[string]map[string]any{
			keyToken:   {"token_type": "DPoP", "cnf": map[string]any{"jkt": h.jkt}},
			plainToken: {"token_type": "Bearer"},
		})
	}
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db, settings: []string{"SAMPLE_API: true"}, provider: asks(t)})
		checkKeyBound(t, s, "/resource", s.URL+"/resource", h, other)
		checkKeyBound(t, s, "/resource/", s.URL+"/resource/", h, other)
	})
	t.Run("proxy", func(t *testing.T) {
		api, requests := upstream(t)
		g := (&server{secrets: &vault{}}).guard(t, api.URL, []string{"{PATH: /v1, SCOPES: [read]}"},
			append(asks(t), "RESOURCE_SERVER_AUDIENCE: "+ordersURI, "RESOURCE_SERVER_ISSUER: https://as.example/o")...)
		checkKeyBound(t, g, "/v1/table", ordersTable, h, other)
		for _, r := range requests() {
			if r.Header.Get("Authorization") != "" || r.Header.Get("DPoP") != "" || r.Header.Get("X-Token-Scope") != "read" {
				t.Errorf("the API got %v", r.Header)
			}
		}
		if n := len(requests()); n != 3 {
			t.Errorf("%d requests reached the API, want 3", n)
		}
		metadata := g.get(t, "/.well-known/oauth-protected-resource/v1", nobody).JSON(t)
		if metadata["dpop_signing_alg_values_supported"] == nil || metadata["dpop_bound_access_tokens_required"] != nil {
			t.Errorf("the metadata is %v", metadata)
		}
	})
	t.Run("nonce", func(t *testing.T) { checkNonce(t, asks(t), h) })
	t.Run("required", func(t *testing.T) {
		api, requests := upstream(t)
		g := (&server{secrets: &vault{}}).guard(t, api.URL, []string{"{PATH: /v1}"},
			append(asks(t), "RESOURCE_SERVER_BASE_URLS: [https://orders.example]", "RESOURCE_SERVER_REQUIRED_BINDING: dpop")...)
		wantChallenge(t, g.get(t, "/v1/table", bearer(plainToken)), "DPoP", "invalid_token")
		wantChallenge(t, g.get(t, "/v1/table", sends("DPoP", plainToken, h.ofToken(t, ordersTable, plainToken, nil))), "DPoP",
			"invalid_token")
		if a := g.get(t, "/v1/table",
			sends("DPoP", keyToken, h.ofToken(t, ordersTable, keyToken, nil))); a.Status != http.StatusOK ||
			len(requests()) != 1 {
			t.Errorf("%d %s, %d requests", a.Status, a.Body, len(requests()))
		}
	})
}

// checkKeyBound makes the requests of a client with a key, and those of a thief. Two of the key
// token and one of the other succeed.
func checkKeyBound(t *testing.T, s *server, path, htu string, h, other *holder) {
	t.Helper()
	good := h.ofToken(t, htu, keyToken, nil)
	s.secret(good)
	for _, test := range []struct {
		name         string
		as           auth
		scheme, code string // "" : accepted
	}{
		{"a good proof", sends("DPoP", keyToken, good), "", ""},
		{"the same proof again", sends("DPoP", keyToken, good), "DPoP", "invalid_dpop_proof"},
		{"another proof", sends("dpop", keyToken, h.ofToken(t, htu+"?page=2#x", keyToken, nil)), "", ""},
		{"as a bearer token", bearer(keyToken), "Bearer", "invalid_token"},
		{"as a bearer token with a proof", sends("Bearer", keyToken, h.ofToken(t, htu, keyToken, nil)), "Bearer",
			"invalid_token"},
		{"no proof", sends("DPoP", keyToken), "DPoP", "invalid_dpop_proof"},
		{"two proofs", sends("DPoP", keyToken, h.ofToken(t, htu, keyToken, nil), h.ofToken(t, htu, keyToken, nil)), "DPoP",
			"invalid_dpop_proof"},
		{"the key of another", sends("DPoP", keyToken, other.ofToken(t, htu, keyToken, nil)), "DPoP", "invalid_dpop_proof"},
		{"the proof for another token", sends("DPoP", keyToken, h.ofToken(t, htu, plainToken, nil)), "DPoP",
			"invalid_dpop_proof"},
		{"the proof for another URL", sends("DPoP", keyToken, h.ofToken(t, "https://evil.example"+path, keyToken, nil)),
			"DPoP", "invalid_dpop_proof"},
		{"the proof for another method", sends("DPoP", keyToken, h.ofToken(t, htu, keyToken, map[string]any{"htm": "POST"})),
			"DPoP", "invalid_dpop_proof"},
		{"an old proof", sends("DPoP", keyToken,
			h.ofToken(t, htu, keyToken, map[string]any{"iat": time.Now().Unix() - 3600})), "DPoP", "invalid_dpop_proof"},
		{"a bearer token with the scheme DPoP", sends("DPoP", plainToken, h.ofToken(t, htu, plainToken, nil)), "DPoP",
			"invalid_token"},
		{"a bearer token", bearer(plainToken), "", ""},
	} {
		a := s.get(t, path, test.as)
		if test.code != "" {
			t.Log(test.name)
			wantChallenge(t, a, test.scheme, test.code)
		} else if a.Status != http.StatusOK {
			t.Errorf("%s: %d %s", test.name, a.Status, a.Body)
		}
	}
	// A request without a token learns of both schemes.
	a := s.get(t, path, nobody)
	if got := a.Header.Values("WWW-Authenticate"); a.Status != 401 || len(got) != 2 ||
		!strings.HasPrefix(got[0], "Bearer ") || !strings.Contains(got[1], `algs="ES256`) {
		t.Errorf("without a token: %d %q", a.Status, got)
	}
}

// checkNonce: a client gets a nonce, and two nodes with the same key accept it.
func checkNonce(t *testing.T, settings []string, h *holder) {
	api, _ := upstream(t)
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it cannot fail
	secret := base64.StdEncoding.EncodeToString(key)
	settings = append(settings, "RESOURCE_SERVER_BASE_URLS: [https://orders.example]", "RESOURCE_SERVER_DPOP_NONCE: true")
	first := (&server{secrets: &vault{}}).guard(t, api.URL, []string{"{PATH: /v1}"},
		append(settings, "RESOURCE_SERVER_DPOP_NONCE_KEY: "+quote(secret))...)
	first.secret(secret)
	second := first.guard(t, api.URL, []string{"{PATH: /v1}"},
		append(settings, "RESOURCE_SERVER_DPOP_NONCE_KEY: "+quote(secret))...)
	stranger := first.guard(t, api.URL, []string{"{PATH: /v1}"}, settings...)
	a := first.get(t, "/v1/table", sends("DPoP", keyToken, h.ofToken(t, ordersTable, keyToken, nil)))
	wantChallenge(t, a, "DPoP", "use_dpop_nonce")
	nonce := a.Header.Values("DPoP-Nonce")
	if len(nonce) != 1 {
		t.Fatalf("nonces: %q", nonce)
	}
	for _, g := range []*server{first, second} {
		if a := g.get(t, "/v1/table",
			sends("DPoP", keyToken,
				h.ofToken(t, ordersTable, keyToken, map[string]any{"nonce": nonce[0]}))); a.Status != http.StatusOK {
			t.Errorf("with the nonce: %d %s", a.Status, a.Body)
		}
	}
	wantChallenge(t, stranger.get(t, "/v1/table",
		sends("DPoP", keyToken, h.ofToken(t, ordersTable, keyToken, map[string]any{"nonce": nonce[0]}))), "DPoP",
		"use_dpop_nonce")
}

// RFC 8705 §3: at the proxy, with TLS of its own and behind another proxy.
func TestCertificateBoundTokenAtAnAPI(t *testing.T) {
	t.Parallel()
	ours := newIssuer(t)
	own, others := ours.client(t, "client.example"), ours.client(t, "other.example")
	sum := sha256.Sum256(own.Leaf.Raw)
	const token = "mat_bound-to-a-certificate"
	asks := append(introspector(t, map[string]map[string]any{
		token:      {"token_type": "Bearer", "cnf": map[string]any{"x5t#S256": base64.RawURLEncoding.EncodeToString(sum[:])}},
		plainToken: {},
	}), "RESOURCE_SERVER_REQUIRED_BINDING: certificate", "RESOURCE_SERVER_AUDIENCE: "+
		ordersURI, "RESOURCE_SERVER_ISSUER: https://as.example/o")
	header := func(c tls.Certificate) string { return ":" + base64.StdEncoding.EncodeToString(c.Leaf.Raw) + ":" }
	api, requests := upstream(t)
	rules := []string{"{PATH: /v1}"}
	with := func(token string, more ...string) http.Header {
		h := http.Header{"Authorization": {"Bearer " + token}}
		for i := 0; i < len(more); i += 2 {
			h.Add(more[i], more[i+1])
		}
		return h
	}

	at := port.Address()
	g := (&server{secrets: &vault{}}).guardWith(t,
		newCertificate(t).options(options{provider: asks, settings: []string{"MTLS_LISTEN: " + quote(at)}}), api.URL, rules)
	mutual := "https://" + at + "/v1/table"
	if a := g.by(t, &own, mutual, nil, with(token)); a.Status != http.StatusOK {
		t.Errorf("the certificate of the token: %d %s", a.Status, a.Body)
	}
	wantChallenge(t, g.by(t, &others, mutual, nil, with(token)), "Bearer", "invalid_token")
	wantChallenge(t, g.by(t, nil, mutual, nil, with(token)), "Bearer", "invalid_token")
	wantChallenge(t, g.by(t, nil, mutual, nil, with(token, "Client-Cert", header(own))), "Bearer", "invalid_token")
	wantChallenge(t, g.by(t, &own, g.URL+"/v1/table", nil, with(token)), "Bearer", "invalid_token") // LISTEN asks for none
	wantChallenge(t, g.by(t, &own, mutual, nil, with(plainToken)), "Bearer", "invalid_token")
	if m := g.get(t, "/.well-known/oauth-protected-resource/v1",
		nobody).JSON(t); m["tls_client_certificate_bound_access_tokens"] != true ||
		m["dpop_signing_alg_values_supported"] != nil {
		t.Errorf("the metadata is %v", m)
	}

	for proxy, want := range map[string]int{"127.0.0.1": http.StatusOK, "192.0.2.1": http.StatusUnauthorized} {
		g := (&server{secrets: &vault{}}).guardWith(t,
			options{provider: asks,
				settings: []string{"TRUSTED_PROXIES: [" + proxy + "]", "MTLS_CERTIFICATE_HEADER: Client-Cert"}}, api.URL, rules)
		if a := g.by(t, nil, g.URL+"/v1/table", nil, with(token, "Client-Cert", header(own))); a.Status != want {
			t.Errorf("the header from %s: %d %s", proxy, a.Status, a.Body)
		}
		for _, more := range [][]string{nil, {"Client-Cert", header(others)}, {"Client-Cert", "x"},
			{"Client-Cert", header(own), "Client-Cert", header(own)}} {
			wantChallenge(t, g.by(t, nil, g.URL+"/v1/table", nil, with(token, more...)), "Bearer", "invalid_token")
		}
	}
	for _, r := range requests() {
		if r.Header.Get("Client-Cert") != "" || r.Header.Get("Authorization") != "" {
			t.Errorf("the API got %v", r.Header)
		}
	}
	if n := len(requests()); n != 2 {
		t.Errorf("%d requests reached the API, want 2", n)
	}
}
