package checkup

import (
	"cmp"
	"fmt"
	"slices"
)

// Weight says how bad a finding is.
type Weight string

// The weights. With Wrong, applications or people cannot use the server as it is configured.
const (
	Wrong    Weight = "wrong"
	Doubtful Weight = "warning"
	Fine     Weight = "ok"
)

// Finding is the result of one check.
type Finding struct {
	Check  string `json:"check"` // one of Checks
	Weight Weight `json:"weight"`
	About  string `json:"about,omitempty"` // the application, the library or the address that it is about
	Text   string `json:"text"`
	Remedy string `json:"remedy,omitempty"`
}

// Compare orders findings, the worst first.
func Compare(a, b Finding) int {
	worst := []Weight{Wrong, Doubtful, Fine}
	return cmp.Compare(slices.Index(worst, a.Weight), slices.Index(worst, b.Weight))
}

func fine(check, format string, args ...any) Finding {
	return Finding{Check: check, Weight: Fine, Text: fmt.Sprintf(format, args...)}
}
