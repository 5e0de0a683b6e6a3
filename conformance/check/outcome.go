package check

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// Status is the outcome of a check.
type Status string

const (
	Pass    Status = "pass"
	Fail    Status = "fail"
	Skip    Status = "skip"    // the target lacks something that the check needs
	Blocked Status = "blocked" // a step before the checked one failed
	Broken  Status = "broken"  // the check itself has a bug

	// For rules without a check.
	Unobservable Status = "not observable from outside"
	Inapplicable Status = "not applicable" // the rule does not concern Mandate
)

// Result is the outcome of one rule.
type Result struct {
	Rule       Rule
	Status     Status
	Reason     string
	Exchange   *wire.Exchange // the exchange that shows the failure
	Earlier    int            // number of requests before that one
	Undeclared []need.Need    // used by the check, but missing in its Needs
	Duration   time.Duration
}

// Check checks one rule.
func (s *Server) Check(ctx context.Context, rule Rule) (result Result) {
	if status, reason := rule.Unchecked(); status != "" {
		return Result{Rule: rule, Status: status, Reason: reason}
	}
	for _, n := range rule.Needs {
		if reason := s.lacks(n); reason != "" {
			return Result{Rule: rule, Status: Skip, Reason: reason}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	t := &T{server: s, ctx: ctx, rule: rule, mask: s.mask.Clone(), used: map[need.Need]bool{}}
	began := time.Now()
	defer func() {
		result = t.result(recover())
		result.Duration = time.Since(began)
	}()
	rule.Check(t)
	return Result{}
}

// checkTime limits one check. The slowest checks wait for a rate limit more than once.
const checkTime = 3 * time.Minute

// result returns the result of a check that has ended.
func (t *T) result(cause any) Result {
	result := Result{Rule: t.rule, Status: Pass, Undeclared: t.undeclared()}
	ended, stopped := cause.(stop)
	switch {
	case cause != nil && !stopped:
		result.Status, result.Reason = Broken, fmt.Sprintf("the check panicked: %v\n%s", cause, debug.Stack())
	case len(t.problems) > 0:
		result.Status, result.Reason = Fail, strings.Join(t.problems, "\n")
	case stopped:
		result.Status, result.Reason = ended.status, ended.reason
	}
	if result.Reason != "" {
		result.Reason = wire.Printable(t.secrets().Hide(result.Reason))
	}
	if t.seen != nil && (result.Status == Fail || result.Status == Blocked) {
		shown := t.secrets().Exchange(t.seen)
		result.Exchange, result.Earlier = &shown, t.earlier
	}
	return result
}
