package servertest

import (
	"testing"

	"mandate/conformance/check"
	"mandate/conformance/rules"
)

// Judge holds Mandate to more than a run does: everything can be tried, what fails has a reason in the
// table, and a reason that is no longer needed goes.
func Judge(t *testing.T, result check.Result) {
	t.Helper()
	if len(result.Undeclared) > 0 {
		t.Errorf("the check uses what its Needs do not name: %v", result.Undeclared)
	}
	waived := result.Rule.Waived != ""
	switch {
	case result.Status == check.Skip && result.Reason == rules.OnLoopback: // TestTLS tries the rule at other addresses
	case result.Status == check.Fail && waived:
		t.Log("waived: " + result.Rule.Waived)
	case result.Status == check.Pass && waived:
		t.Errorf("the rule holds, and yet is waived: %s", result.Rule.Waived)
	case result.Status != check.Pass:
		t.Errorf("%s: %s: %s", result.Status, result.Rule.Text, result.Reason)
		if result.Exchange != nil {
			t.Logf("after %d requests:\n%s\n%s\n%s", result.Earlier, result.Exchange.Sent, result.Exchange.Got, result.Exchange.Repeat)
		}
	}
}
