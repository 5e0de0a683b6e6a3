package servertest

import (
	"slices"
	"testing"

	"mandate/conformance/check"
	"mandate/conformance/rules"
)

// unmet are the conditional rules whose condition Mandate does not meet, by the reason. Their checks are skipped. The
// faults meet the conditions.
var unmet = map[string][]string{
	"The metadata is not signed; TLS protects it.": {"RFC8414/2.1/signed", "RFC8414/2.1/not-in-itself"},
	"Mandate does not encrypt.": {"RFC8414/2/jwks-use", "OIDCDiscovery/3/jwks-use",
		"OIDCDiscovery/3/jwks-one-use"},
	"The keys have no certificates.": {"OIDCDiscovery/3/jwks-bare-keys",
		"OIDCDiscovery/3/jwks-certificates"},
	"ID tokens have no azp, and after a refresh no nonce.":  {"OIDCCore/2/azp", "OIDCCore/12.2/same-nonce"},
	"Only the operator can require pushed requests of all.": {"RFC9126/4/required"},
	"Only the operator can demand nonces in proofs.":        {"RFC9449/8/nonce-of-server", "RFC9449/9/use-nonce"},
	"Mandate supports request objects.":                     {"OIDCCore/6.1/not-supported"},
	"Tokens in the query are not accepted.":                 {"RFC6750/2.3/private", "RFC6750/2.3/private-userinfo"},
}

func isUnmet(r check.Rule) bool {
	for _, ids := range unmet {
		if slices.Contains(ids, r.ID) {
			return true
		}
	}
	return false
}

// Judge is stricter than a run. No rule may be blocked. A rule may be skipped only if Mandate does not meet its
// condition. A failure needs a reason in Waived, and a rule that passes must not have one.
func Judge(t *testing.T, result check.Result) {
	t.Helper()
	if len(result.Undeclared) > 0 {
		t.Errorf("the check uses needs that its Needs do not name: %v", result.Undeclared)
	}
	waived := result.Rule.Waived != ""
	switch {
	case result.Status == check.Skip && result.Reason == rules.OnLoopback: // TestTLS checks the rule with other addresses
	case isUnmet(result.Rule):
		if result.Status != check.Skip {
			t.Errorf("%s: Mandate meets the condition of the rule now: remove it from unmet: %s", result.Status, result.Reason)
		}
	case result.Status == check.Fail && waived:
		t.Log("waived: " + result.Rule.Waived)
	case result.Status == check.Pass && waived:
		t.Errorf("the rule passes, but it is waived: %s", result.Rule.Waived)
	case result.Status != check.Pass:
		t.Errorf("%s: %s: %s", result.Status, result.Rule.Text, result.Reason)
		if result.Exchange != nil {
			t.Logf("after %d requests:\n%s\n%s\n%s", result.Earlier, result.Exchange.Sent, result.Exchange.Got,
				result.Exchange.Repeat)
		}
	}
}
