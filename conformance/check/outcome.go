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

// Status is how a check ended.
type Status string

const (
	Pass    Status = "pass"
	Fail    Status = "fail"
	Skip    Status = "skip"    // the target has not what it takes
	Blocked Status = "blocked" // another step, which is not what is checked, did not work
	Broken  Status = "broken"  // the check itself is wrong

	// Nobody wrote a check.
	Unobservable Status = "not observable from outside"
	Inapplicable Status = "not applicable" // it asks nothing of Mandate
)

// Result is what became of one rule.
type Result struct {
	Rule       Rule
	Status     Status
	Reason     string
	Exchange   *wire.Exchange // what a failure was seen in
	Earlier    int            // requests before that one
	Undeclared []need.Need    // used by the check, and not in its Needs
	Duration   time.Duration
}

// Check tries one rule.
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

// checkTime bounds one check: the slowest of them waits for a throttle more than once.
const checkTime = 3 * time.Minute

// result makes one of how a check ended.
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
	result.Reason = wire.Printable(t.mask.Hide(result.Reason))
	if t.seen != nil && (result.Status == Fail || result.Status == Blocked) {
		shown := t.mask.Exchange(t.seen)
		result.Exchange, result.Earlier = &shown, t.earlier
	}
	return result
}
