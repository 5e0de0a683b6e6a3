package check

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"mandate/conformance/jose"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// RFC 9449 §8: a request whose proof needs a nonce is sent again with the nonce of the answer, and the next one has it.
func TestNonceOfProof(t *testing.T) {
	var proofs []*jose.JWT
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		j, err := jose.Read(r.Header.Get("DPoP"))
		if err != nil {
			t.Error(err)
			return
		}
		proofs = append(proofs, j)
		w.Header().Set("DPoP-Nonce", "n")
		if j.Text("nonce") != "n" {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"error":"use_dpop_nonce"}`))
		}
	}))
	defer server.Close()
	rule := Rule{ID: "TEST/1/nonce", Check: func(c *T) {
		p := c.Prover()
		for range 2 {
			if a := c.Post(server.URL+"/token?x", url.Values{}, p.Proving(server.URL+"/token?x")); a.Status != http.StatusOK {
				c.Errorf("the answer is %s", a)
			}
		}
		c.Post(server.URL+"/token", url.Values{},
			p.Proving(server.URL+"/token", Altered{Claims: map[string]any{"nonce": "wrong", "iat": nil}}))
		c.Errorf("the proof is shown")
	}}
	s := NewServer(&target.Target{Issuer: server.URL}, wire.NewNetwork(wire.Options{}))
	s.Metadata = Metadata{proofAlgorithms: []any{"RS256", "PS256"}}
	result := s.Check(t.Context(), rule)
	if result.Reason != "the proof is shown" || len(proofs) != 5 {
		t.Fatalf("%s %s, %d proofs", result.Status, result.Reason, len(proofs))
	}
	for i, want := range []string{"", "n", "n", "wrong", "wrong"} {
		if got := proofs[i].Text("nonce"); got != want || proofs[i].Text("htu") != server.URL+"/token" ||
			proofs[i].Algorithm() != "PS256" || (proofs[i].Claims["iat"] == nil) != (i > 2) {
			t.Errorf("proof %d: nonce %q, want %q: %v", i, got, want, proofs[i])
		}
	}
	if shown := result.Exchange.Sent + result.Exchange.Repeat; strings.Contains(shown, "ey") ||
		!strings.Contains(shown, "DPOP_PROOF5= # a new proof") {
		t.Errorf("the report shows %s", shown)
	}
	s.Metadata = Metadata{}
	if result = s.Check(t.Context(), rule); result.Status != Skip || !strings.Contains(result.Reason, "supports DPoP") {
		t.Errorf("%s %s", result.Status, result.Reason)
	}
}
