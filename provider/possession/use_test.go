package possession

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"mandate/provider/dpop"
	"mandate/provider/jose"
	"mandate/provider/oauth"
	"mandate/storage/storagetest"
)

// RFC 9449 §11.1: a node whose clock is ahead cleans up, and the proof is still valid on the
// others.
func TestUsedProofOutlivesTheCleanUpOfANodeThatIsAhead(t *testing.T) {
	store, _ := storagetest.Open(t)
	checks, err := New(Config{}, store, nil)
	if err != nil {
		t.Fatal(err)
	}
	proof := dpop.Proof{Key: "key", ID: "one", Until: oauth.Now() + 20}
	again := proof
	err = checks.Use(t.Context(), &proof)
	if err != nil {
		t.Fatal(err)
	}
	_, err = store.Sweep(t.Context(), oauth.Now()+50, 10)
	if err != nil {
		t.Fatal(err)
	}
	err = checks.Use(t.Context(), &again)
	if refused, ok := errors.AsType[*oauth.Error](err); !ok || refused.Code != dpop.InvalidProof {
		t.Errorf("the second use: %v", err)
	}
}

// The log says what the client is told, and has nothing of what is in the proof.
func TestLogSaysWhyAProofIsRefused(t *testing.T) {
	checks, err := New(Config{Bases: []string{"https://server.example/o"}}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	key, err := jose.Generate("EC")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		claims map[string]any // nil: no proof
		want   string
	}{
		"none": {nil, "invalid_dpop_proof: The request must have the header DPoP, with a proof."},
		"another htu": {map[string]any{"htu": "https://strange.example/"},
			"invalid_dpop_proof: The DPoP proof has an htu that is not the URL of the request, " +
				"https://server.example/o/token/ or https://server.example/o/token."},
		"another htm": {map[string]any{"htm": "STRANGE"}, "an htm that is not the method of the request, POST."},
		"without iat": {map[string]any{"htu": "https://server.example/o/token", "iat": "strange"},
			"must have an iat: the seconds since 1970 as a number."},
		"iat of the past": {map[string]any{"htu": "https://server.example/o/token", "iat": time.Now().Unix() - 1000},
			"is 100"},
	} {
		r := httptest.NewRequest("POST", "/o/token/", nil)
		if test.claims != nil {
			claims := map[string]any{"jti": "strange", "htm": "POST", "htu": "https://strange.example"}
			for member, value := range test.claims {
				claims[member] = value
			}
			proof, err := dpop.Make("ES256", key, claims)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("DPoP", proof)
		}
		_, err := checks.Verify(r)
		if err == nil || !strings.Contains(err.Error(), test.want) ||
			strings.Contains(strings.ToLower(err.Error()), "strange") {
			t.Errorf("%s: got %v, want %s", name, err, test.want)
		}
	}
}
