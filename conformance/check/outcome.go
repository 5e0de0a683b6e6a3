package check

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// Result is the outcome of one rule.
type Result struct {
	Rule       Rule
	Status     Status
	Reason     string
	Exchange   *wire.Exchange  // the exchange that shows the failure
	Second     *wire.Exchange  // for a flaky result: the same of the repeated check
	Steps      []string        // the requests before that one, each in one line
	Earlier    int             // number of requests before that one
	Log        []wire.Exchange // all exchanges, if the server keeps a log
	Undeclared []need.Need     // used by the check, but missing in its Needs
	Duration   time.Duration
}

// Check checks one rule.
func (s *Server) Check(ctx context.Context, rule Rule) Result { return s.check(ctx, rule, false) }

// Repeat does the same, and its result has an exchange even if the rule passes.
func (s *Server) Repeat(ctx context.Context, rule Rule) Result { return s.check(ctx, rule, true) }

func (s *Server) check(ctx context.Context, rule Rule, explain bool) (result Result) {
	if status, reason := rule.Unchecked(); status != "" {
		return Result{Rule: rule, Status: status, Reason: reason}
	}
	for _, n := range rule.Needs {
		if reason := s.lacks(n); reason != "" {
			return Result{Rule: rule, Status: Skip, Reason: wire.Printable(s.mask.Clone().Hide(reason))}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	t := s.newT(ctx, rule, s.mask.Clone())
	t.explain = explain
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
	if result.Status == Pass && !t.server.KeepLog && !t.explain {
		return result
	}
	if result.Reason != "" {
		result.Reason = wire.Printable(wire.ClipAddresses(t.secrets().Hide(result.Reason)))
	}
	if t.server.KeepLog {
		for _, a := range t.all {
			result.Log = append(result.Log, t.secrets().Whole(a))
		}
	}
	shows := t.seen
	if t.failedAt != nil {
		shows = t.failedAt
	}
	if shows != nil {
		shown := t.secrets().Exchange(shows)
		shown.Repeat = t.secrets().Repeat(shows,
			wire.Visit{Person: t.server.Target.User.Username, Begins: t.visitOf, Redirected: t.redirected})
		result.Exchange, result.Earlier = &shown, max(0, slices.Index(t.all, shows))
		for _, a := range t.all[max(0, result.Earlier-shownSteps):result.Earlier] {
			result.Steps = append(result.Steps, t.secrets().Line(a))
		}
	}
	return result
}

// shownSteps is how many requests before the failed one a report shows.
const shownSteps = 12

// visitOf returns the authorization or logout request with which a browser came to the page on which it sent a request,
// or that request. It returns nil for a request that no browser sent.
func (t *T) visitOf(a *wire.Answer) *wire.Answer {
	if a.SentHeader.Get("Sec-Fetch-Site") == "" {
		return nil
	}
	for i := slices.Index(t.all, a); i >= 0; i-- {
		b := t.all[i]
		for _, endpoint := range []need.Need{need.Authorization, need.EndSession} {
			if b.SentHeader.Get("Sec-Fetch-Site") != "" && wire.SamePlace(b.URL.String(), t.server.Endpoint(endpoint)) {
				return b
			}
		}
	}
	return a
}

// redirected reports whether redirects alone led a browser to this request, from the request with which it came to the
// server's pages.
func (t *T) redirected(a *wire.Answer) bool {
	at, began := a, t.visitOf(a)
	for i := slices.Index(t.all, a) - 1; i >= 0 && at != began; i-- {
		b := t.all[i]
		if b.SentHeader.Get("Sec-Fetch-Site") == "" {
			continue // not of a browser
		}
		next, err := b.URL.Parse(b.Header.Get("Location"))
		if b.Header.Get("Location") == "" || err != nil || at.Method != http.MethodGet || next.String() != at.URL.String() {
			return false
		}
		at = b
	}
	return at == began
}
