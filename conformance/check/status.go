package check

// Status is the outcome of a check.
type Status string

const (
	Pass    Status = "pass"
	Fail    Status = "fail"
	Skip    Status = "skip"    // the target lacks something that the check needs
	Blocked Status = "blocked" // a step before the checked one failed
	Broken  Status = "broken"  // the check itself has a bug
	Flaky   Status = "flaky"   // the check failed beside others, and not when it was repeated alone

	// For rules without a check.
	Unobservable Status = "not observable from outside"
	Inapplicable Status = "not applicable" // the rule does not concern Mandate
)
