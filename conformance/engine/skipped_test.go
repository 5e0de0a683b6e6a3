package engine

import (
	"bytes"
	"strings"
	"testing"

	"mandate/conformance/check"
)

// A target without a person or clients skips most rules. The report says how many, and why.
func TestReportCountsSkippedRules(t *testing.T) {
	skipped := func(reason string) check.Result { return check.Result{Status: check.Skip, Reason: reason} }
	r := &Report{Results: []check.Result{skipped("once"), skipped("no client code"), skipped("no person"),
		skipped("no client code"), skipped("no person"), skipped("no person")}}
	for format, want := range map[string]string{"text": "3 no person 2 no client code",
		"html": `<th scope="row">no person</th><td class="n">3</td></tr> <tr><th scope="row">no client code</th><td class="n">2</td>`} {
		var out bytes.Buffer
		err := Formats()[format](r, &out)
		if got := strings.Join(strings.Fields(out.String()), " "); err != nil || !strings.Contains(got, want) ||
			strings.Contains(got, "1 once") {
			t.Errorf("%s: %v: the report lacks %q:\n%s", format, err, want, got)
		}
	}
}
