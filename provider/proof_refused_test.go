package provider

import (
	"net/http"
	"testing"

	"mandate/provider/dpop"
	"mandate/provider/policy"
)

// Whoever has seen a refused request must not use its token and its proof once more (RFC 9449 §11.1).
//
// Class: CWE-294, a credential of a request that failed stays valid.
func TestAttackProofBesideATokenThatIsRefused(t *testing.T) {
	f := begin(t)
	app, key, signer := f.app(introspects), newKey(t), f.keyed()
	got, _, err := f.Grants.Token(t.Context(),
		proving(by(app, "grant_type", policy.GrantClient, "scope", "introspection"), f.proof(key, "token", nil)),
		home.Address)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		endpoint string
		refused  func() *http.Request
	}{
		"an assertion": {"introspect",
			func() *http.Request { return signer.at("introspect", signer.assertion(nil), "token", "x") }},
		"a token in a query": {"introspect", func() *http.Request { return leaked(post(values("token", "x")), "token=x") }},
		"two tokens":         {"userinfo", func() *http.Request { return leaked(post(nil), "access_token=x") }},
	} {
		proof := f.proof(key, test.endpoint, map[string]any{"ath": dpop.TokenHash(got.AccessToken)})
		send := func(r *http.Request) error {
			r.Header.Set("Authorization", "DPoP "+got.AccessToken)
			return f.send(test.endpoint, proving(r, proof))
		}
		wantKind(t, name, send(test.refused()), "400 invalid_request")
		wantKind(t, name+", and once more", send(post(values("token", "x"))), "401 invalid_dpop_proof")
	}
}

func leaked(r *http.Request, query string) *http.Request {
	r.URL.RawQuery = query
	return r
}
