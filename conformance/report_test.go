package conformance

import (
	"bytes"
	"strings"
	"testing"

	"mandate/conformance/engine"
)

// If the server hangs, each report for people says so before the results.
func TestReportNamesTheHungRequest(t *testing.T) {
	r := hostileReport()
	r.Issuer, r.Hung = "https://issuer.example", "POST https://issuer.example/token"
	for format, before := range map[string]string{"text": "RFC 6749", "html": "<h2", "json": `"results"`} {
		var out bytes.Buffer
		err := engine.Formats()[format](r, &out)
		top, _, _ := strings.Cut(out.String(), before)
		if err != nil || !strings.Contains(top, r.Hung) {
			t.Errorf("%s: %v: %s", format, err, top)
		}
	}
}
