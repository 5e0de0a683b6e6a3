package conformance

import (
	"fmt"
	"strings"
	"time"
)

// Report is what a run found.
type Report struct {
	Issuer   string
	Began    time.Time
	Duration time.Duration
	Results  []Result

	// What a report for people says of the run besides; empty is left out.
	Target    string // the file
	Selection string // which rules
	Version   string // of the runner
}

// Failed says whether a MUST does not hold. One that could not be tried, because a step on the way to it did
// not work, counts too: a server that answers nothing must not come off well.
func (r *Report) Failed() bool {
	return r.Count(Broken, "")+r.Count(Fail, Must)+r.Count(Blocked, Must) > 0
}

// Count counts the results of a status, of one level or ("") of all.
func (r *Report) Count(status Status, level Level) int {
	n := 0
	for _, result := range r.Results {
		if result.Status == status && (level == "" || result.Rule.Level == level) {
			n++
		}
	}
	return n
}

// Summary is the last line.
func (r *Report) Summary() string {
	var parts []string
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(r.Count(Pass, ""), "passed")
	add(r.Count(Fail, Must), "MUST failed")
	add(r.Count(Fail, Should), "SHOULD failed")
	add(r.Count(Fail, May), "MAY otherwise")
	add(r.Count(Blocked, ""), "blocked")
	add(r.Count(Skip, ""), "skipped")
	add(r.Count(Unobservable, ""), string(Unobservable))
	add(r.Count(Inapplicable, ""), string(Inapplicable))
	add(r.Count(Broken, ""), string(Broken))
	return fmt.Sprintf("%d rules in %s: %s", len(r.Results), r.Duration.Round(100*time.Millisecond), strings.Join(parts, ", "))
}
