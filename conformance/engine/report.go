// Package engine runs checks on a server, and reports the results as text, JSON, JUnit or HTML. It asks for a target,
// and registers clients for a run.
package engine

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"mandate/conformance/check"
	"mandate/conformance/need"
)

// Report is the result of a run.
type Report struct {
	Issuer   string
	Began    time.Time
	Duration time.Duration
	Results  []check.Result

	// What else a report for people shows. Empty fields are left out.
	Target    string           // the target file
	Selection string           // the selected rules
	Version   string           // version of the runner
	Documents []check.Document // the documents of the rules
	Baseline  *Comparison      // nil: no result is known
	Unruled   []Advertised     // what the metadata announces and no rule checks
	Hung      string           // the first request that the server did not answer
	Stopped   bool             // the server did not answer at the end of the run either
}

// Advertised is a feature that the metadata of a server announces, and that no rule checks.
type Advertised struct {
	Name     string `json:"name"`
	Member   string `json:"member"`             // the member of the metadata
	Document string `json:"document,omitempty"` // what defines it
}

func (a Advertised) String() string {
	if a.Document == "" {
		return fmt.Sprintf("%s, by %s", a.Name, a.Member)
	}
	return fmt.Sprintf("%s (%s), by %s", a.Name, a.Document, a.Member)
}

// Failed reports whether the results make the run fail. With a baseline it reports whether they differ from it.
func (r *Report) Failed() bool {
	if r.Baseline != nil {
		return r.Baseline.Failed()
	}
	return slices.ContainsFunc(r.Results, Counts)
}

// Count returns the number of results with a status and a level; the level "" stands for all levels.
func (r *Report) Count(status check.Status, level check.Level) int {
	n := 0
	for _, result := range r.Results {
		if result.Status == status && (level == "" || result.Rule.Level == level) {
			n++
		}
	}
	return n
}

// Summary returns the last line of the report.
func (r *Report) Summary() string {
	var parts []string
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(r.Count(check.Pass, ""), "passed")
	add(r.Count(check.Fail, check.Must), "MUST failed"+r.aboutSecurity(check.Must))
	add(r.Count(check.Fail, check.Should), "SHOULD failed"+r.aboutSecurity(check.Should))
	add(r.Count(check.Fail, check.May), "MAY otherwise")
	add(r.Count(check.Blocked, ""), "blocked")
	add(r.Count(check.Flaky, ""), string(check.Flaky))
	add(r.Count(check.Skip, ""), "skipped")
	add(r.Count(check.Unobservable, ""), string(check.Unobservable))
	add(r.Count(check.Inapplicable, ""), "without a check")
	add(r.Count(check.Broken, ""), string(check.Broken))
	return fmt.Sprintf("%d rules in %s: %s", len(r.Results), r.Duration.Round(100*time.Millisecond),
		strings.Join(parts, ", "))
}

// aboutSecurity says how many of the failures with a level are about security, if any are.
func (r *Report) aboutSecurity(level check.Level) string {
	n := r.Security(level)
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d about security)", n)
}

// Security returns the number of failures with a level that help an attacker.
func (r *Report) Security(level check.Level) int {
	n := 0
	for _, result := range r.Results {
		if result.Status == check.Fail && result.Rule.Level == level && result.Rule.Security {
			n++
		}
	}
	return n
}

// reasonOf returns the reason of a result as a report shows it. Why a rule has no check concerns the project that wrote
// the rules, and not the server: the list of rules says it.
func reasonOf(r check.Result) string {
	switch r.Status {
	case check.Unobservable:
		return "no request shows whether a server follows this rule"
	case check.Inapplicable:
		return "the runner has no check for this rule"
	}
	return r.Reason
}

// shows reports whether a report shows the exchange of a result.
func shows(r check.Result) bool {
	return r.Exchange != nil && r.Status != check.Pass && r.Status != check.Skip
}

// hung begins the line about a request without an answer.
const hung = "The server did not answer a request. Other results may be a consequence of it: "

// List writes the rules, and how each is checked.
func List(w io.Writer, rules []check.Rule) error {
	out := &lines{w: w}
	for _, r := range rules {
		out.printf("%-6s %s\n       %s\n       %s\n", r.Level, r.ID, r.Text, ClauseURL(r))
		status, reason := r.Unchecked()
		switch {
		case status == check.Inapplicable:
			status, reason = "no check", "Mandate, for which the rules were written, gives this reason: "+reason
		case r.Waived != "":
			status, reason = "not done", r.Waived
		case r.Check != nil:
			status, reason = "checked", "it needs "+needed(r.Needs)
		}
		out.printf("       %s: %s\n", status, reason)
		if r.Check != nil {
			out.printf("       %s\n", strings.TrimSpace("About "+r.About()+". "+Clause(r.Document(), r)))
		}
	}
	return out.err
}

func needed(needs []need.Need) string {
	if len(needs) == 0 {
		return "only the issuer"
	}
	return need.Join(needs)
}
