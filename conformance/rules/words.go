package rules

import (
	"mandate/conformance/check"
	"mandate/conformance/need"
)

// The words of a row. They are those of check and need, which a row would otherwise name in each of its lines.
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
