package rules

import (
	"mandate/conformance/check"
	"mandate/conformance/need"
)

// The types that each rule uses, so that the rules do not name their packages.
type (
	T    = check.T
	Rule = check.Rule
	Need = need.Need
)

// The levels of a rule.
const (
	Must   = check.Must
	Should = check.Should
	May    = check.May
)
