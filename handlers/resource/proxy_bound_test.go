package resource

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mandate/provider/dpop"
)

// The upstream of a proxy gets the facts of a bound token, and neither the proof nor a
// certificate. A nonce of the upstream does not reach the client.
func TestProxyBoundToken(t *testing.T) {
	var got http.Header
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Clone()
		w.Header().Set("DPoP-Nonce", "of-the-upstream")
		io.WriteString(w, r.URL.Path)
	}))
	defer api.Close()
	a := newBoundAPI(t, func(c *GuardConfig) {
		c.RequireNonce, c.NonceKey = true, make([]byte, 32)
		c.CertificateHeader, c.TrustedProxies = "X-SSL-Cert", []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	})
	for _, keep := range []bool{false, true} {
		proxy, err := NewProxy(ProxyConfig{Upstream: parseURL(t, api.URL), Guard: a.guard, PassAuthorization: keep,
			Rules: []Rule{{Path: "/v1", Scopes: []string{"read"}}, {Path: "/open", Public: true}}})
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(proxy)
		defer server.Close()
		shown := base64.StdEncoding.EncodeToString(clientCertificates()[0].Leaf.Raw)
		ask := func(path, authorization, proof string) (*http.Response, answer) {
			t.Helper()
			got = nil
			return get(t, "GET", server.URL+path, "Authorization", authorization, "DPoP", proof, "Client-Cert", ":"+shown+":",
				"Client-Cert-Chain", ":"+shown+":",
				"X-SSL-Cert", strings.ReplaceAll("-----BEGIN CERTIFICATE-----\n"+shown+"\n-----END CERTIFICATE-----", "\n", "%0A"))
		}
		proof := a.proof("key", map[string]any{"nonce": a.guard.proofs.nonce()})
		resp, answer := ask("/v1/users", "DPoP key", proof)
		if answer.Status != 200 || resp.Header.Get("DPoP-Nonce") != "" {
			t.Fatalf("%+v %v", answer, resp.Header)
		}
		want := ""
		if keep {
			want = "DPoP key"
		}
		if got.Get("Authorization") != want || got.Get("X-Token-Scope") != "read" {
			t.Errorf("the upstream got %v", got)
		}
		wantWithoutProof := func() {
			t.Helper()
			for name := range got {
				switch headerAlias(name) {
				case "dpop", "client-cert", "client-cert-chain", "x-ssl-cert":
					t.Errorf("the upstream got %s", name)
				}
			}
		}
		wantWithoutProof()
		// Again is once too often, and the upstream is not asked.
		if _, answer = ask("/v1/users", "DPoP key", proof); answer.Status != 401 || got != nil {
			t.Errorf("the same proof again: %+v, upstream %v", answer, got)
		}
		resp, answer = ask("/v1/users", "DPoP key", a.proof("key", nil))
		if answer.Status != 401 || len(resp.Header.Values("DPoP-Nonce")) != 1 || got != nil {
			t.Errorf("without a nonce: %+v %v", answer, resp.Header)
		}
		if _, answer = ask("/v1/users", "Bearer certificate", ""); answer.Status != 200 {
			t.Errorf("the certificate that the trusted proxy passes: %+v", answer)
		}
		wantWithoutProof()
		// A public path has no guard, and its upstream gets no proof and no certificate either.
		if _, answer = ask("/open", "DPoP key", proof); answer.Status != 200 {
			t.Errorf("a public path: %+v", answer)
		}
		wantWithoutProof()
	}
}

// A connection that stays open was opened with one proof. The later checks of its token need no
// other, but the token must stay bound to the same key.
func TestBoundTokenOfAnOpenConnection(t *testing.T) {
	const first = `{"active":true,"scope":"read","cnf":{"jkt":"` + "0123456789012345678901234567890123456789012" + `"}}`
	opened, err := decode([]byte(first))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		answer string
		status int
	}{
		"the same":               {first, 0},
		"no longer active":       {`{"active":false}`, 401},
		"without the scope":      {strings.Replace(first, "read", "write", 1), 403},
		"bound to another key":   {strings.Replace(first, "0123", "3210", 1), 401},
		"bound to nothing":       {`{"active":true,"scope":"read"}`, 401},
		"bound to a strange one": {strings.Replace(first, "jkt", "x", 1), 401},
		"no answer":              {`{}`, 503},
	} {
		p := newProvider(t, map[string]string{"key": test.answer})
		g := newGuard(t, GuardConfig{Verifier: p.introspection(t), Audience: audience})
		r := httptest.NewRequest("GET", "/v1/users", nil)
		r.Header.Set("Authorization", "DPoP key")
		no := g.still(r, requirement{scopes: []string{"read"}}, opened)
		if (no == nil) != (test.status == 0) || no != nil && no.status != test.status {
			t.Errorf("%s: %+v", name, no)
		}
	}
}

// An event stream with a bound token lasts longer than its proof, and ends with the token.
func TestEventStreamOfABoundToken(t *testing.T) {
	a := newBoundAPI(t, nil)
	claims, err := json.Marshal(map[string]string{"jkt": thumbprint(t, a.key)})
	if err != nil {
		t.Fatal(err)
	}
	var checks atomic.Int32
	proxy, server := newStreaming(t, "text/event-stream", Rule{Path: "/mcp"},
		verifierFunc(func(context.Context, string) (*Token, error) {
			if checks.Add(1) > 10 {
				return nil, ErrInactive
			}
			return &Token{Claims: map[string]json.RawMessage{"cnf": claims}}, nil
		}), nil)
	proxy.guard.proofs, err = newProofs(GuardConfig{BaseURLs: []string{"https://api.example"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	r, err := http.NewRequestWithContext(ctx, "GET", server.URL+"/mcp", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "DPoP key")
	r.Header.Set("DPoP",
		a.signed(map[string]any{"typ": dpop.Type, "alg": "ES256"}, a.key, "key",
			map[string]any{"htu": "https://api.example/mcp"}))
	resp, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	_, err = io.ReadAll(bufio.NewReader(resp.Body))
	if err != nil || resp.StatusCode != 200 || checks.Load() != 11 {
		t.Errorf("%s: the stream ended after %d checks: %v", resp.Status, checks.Load(), err)
	}
}
