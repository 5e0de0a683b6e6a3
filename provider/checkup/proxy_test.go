package checkup_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"mandate/provider/checkup"
)

// A proxy spoils a header, an address or a key in more than one way. Each of them has its finding.
func TestOtherFormsOfAFaultHaveItsFinding(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(h http.Header, metadata, key map[string]any)
		want  string
	}{
		"CORS joined by a proxy": {func(h http.Header, _, _ map[string]any) { h.Set("Access-Control-Allow-Origin", "*, *") },
			"cors=wrong"},
		"a secret key": {func(_ http.Header, _, key map[string]any) { key["k"] = "AQAB" }, "jwks=wrong"},
		"keys elsewhere": {func(_ http.Header, m, _ map[string]any) {
			m["jwks_uri"] = "https://elsewhere.example/jwks.json"
		}, "endpoints=wrong"},
	} {
		h := open(t, plain, func(w http.ResponseWriter, _ *http.Request, m map[string]any, keys []map[string]any) bool {
			test.spoil(w.Header(), m, keys[0])
			return false
		})
		if got := weights(h.look(t, time.Now())); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// Whoever reads only the first lines reads what is wrong. Findings of one weight stay in the order of the checks.
func TestWorstFindingsComeFirst(t *testing.T) {
	var found []checkup.Finding
	for _, text := range []string{"ok a", "warning b", "wrong c", "ok d", "wrong e", "warning f"} {
		weight, name, _ := strings.Cut(text, " ")
		found = append(found, checkup.Finding{Check: name, Weight: checkup.Weight(weight)})
	}
	slices.SortStableFunc(found, checkup.Compare)
	order := ""
	for _, f := range found {
		order += f.Check
	}
	if order != "cebfad" {
		t.Errorf("the order is %s", order)
	}
}
