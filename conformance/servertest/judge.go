package servertest

import (
	"testing"

	"mandate/conformance/check"
	"mandate/conformance/rules"
)

// Judge is stricter than a run. No rule may be blocked or skipped. A failure needs a reason in Waived, and a rule
// that passes must not have one.
func Judge(t *testing.T, result check.Result) {
	t.Helper()
	if len(result.Undeclared) > 0 {
		t.Errorf("the check uses needs that its Needs do not name: %v", result.Undeclared)
	}
	waived := result.Rule.Waived != ""
	switch {
	case result.Status == check.Skip && result.Reason == rules.OnLoopback: // TestTLS checks the rule with other addresses
	case result.Status == check.Fail && waived:
		t.Log("waived: " + result.Rule.Waived)
	case result.Status == check.Pass && waived:
		t.Errorf("the rule passes, but it is waived: %s", result.Rule.Waived)
	case result.Status != check.Pass:
		t.Errorf("%s: %s: %s", result.Status, result.Rule.Text, result.Reason)
		if result.Exchange != nil {
			t.Logf("after %d requests:\n%s\n%s\n%s", result.Earlier, result.Exchange.Sent, result.Exchange.Got, result.Exchange.Repeat)
		}
	}
}
