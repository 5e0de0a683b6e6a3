package engine

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"mandate/conformance/check"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// Runner checks one server.
type Runner struct {
	*check.Server
	workers   int // checks at the same time
	documents []check.Document
	made      []*target.Client // clients that were registered for the run
}

// NewRunner reads the server's metadata, and registers clients if the target says so. Close deletes them.
func NewRunner(ctx context.Context, target *target.Target, documents []check.Document,
	o wire.Options) (*Runner, error) {
	r := &Runner{Server: check.NewServer(target, wire.NewNetwork(o)), workers: cmp.Or(o.Workers, wire.InFlight),
		documents: documents}
	err := r.Discover(ctx)
	if err != nil {
		return nil, err
	}
	r.Hide() // also the errors of the registration have no secret of the target
	if target.Register != "" {
		err = r.register(ctx)
		var left error
		if err != nil {
			left = r.Close(context.WithoutCancel(ctx))
		}
		if left != nil {
			return nil, fmt.Errorf("%v; %w", err, left) // an interrupted user must know which clients remain
		}
		if err != nil {
			return nil, err
		}
	}
	r.Hide()
	r.dropMachine(ctx)
	r.learnScope(ctx)
	r.introspectOwn(ctx)
	return r, nil
}

// Run checks rules, several at the same time, and then the rules that are Alone, one after the other. At the end it
// repeats each check that failed, alone. It calls progress when the result of a rule is known.
func (r *Runner) Run(ctx context.Context, rules []check.Rule, progress func(check.Result)) *Report {
	r.learnAssertions(ctx, rules)
	report := &Report{Issuer: r.Target.Issuer, Began: time.Now().UTC(), Documents: r.documents,
		Results: make([]check.Result, len(rules))}
	var mu sync.Mutex
	try := func(i int) {
		result := bounded(ctx, rules[i], r.Check)
		mu.Lock()
		defer mu.Unlock()
		report.Results[i] = result
		if !unsure(result) {
			progress(result)
			report.Results[i].Log = nil
		}
	}
	work := make(chan int)
	var group sync.WaitGroup
	for range r.workers {
		group.Go(func() {
			for i := range work {
				try(i)
			}
		})
	}
	for i, rule := range rules {
		if !rule.Alone {
			work <- i
		}
	}
	close(work)
	group.Wait()
	for i, rule := range rules {
		if rule.Alone {
			try(i)
		}
	}
	r.Reset()
	for i, rule := range rules {
		if unsure(report.Results[i]) {
			report.Results[i] = r.repeat(ctx, rule, report.Results[i])
			progress(report.Results[i])
			report.Results[i].Log = nil
		}
	}
	report.Hung = r.Hung()
	silent := cmp.Or(report.Hung, r.Gateway())
	if silent != "" && ctx.Err() == nil && !r.Answers(ctx) {
		report.Hung, report.Stopped = silent, true
	}
	report.Duration = time.Since(report.Began)
	return report
}

const (
	interrupted = "the run was interrupted"

	checkLimit = 4 * time.Minute // of a check; the requests of a check end before
	grace      = 2 * time.Second // for a check that is interrupted
)

// bounded runs a check, and returns after an interrupt or the limit, even if the check is still at work on what the
// server has sent. The check then ends by itself, and its result is not used.
func bounded(ctx context.Context, rule check.Rule, run func(context.Context, check.Rule) check.Result) check.Result {
	status, _ := rule.Unchecked()
	if ctx.Err() != nil && status == "" {
		return check.Result{Rule: rule, Status: check.Blocked, Reason: interrupted}
	}
	ended := make(chan check.Result, 1)
	began := time.Now()
	go func() { ended <- run(ctx, rule) }()
	reason := interrupted
	select {
	case result := <-ended:
		return explained(ctx, result)
	case <-time.After(checkLimit):
		reason = fmt.Sprintf("the check did not end within %s", checkLimit)
	case <-ctx.Done():
		select {
		case result := <-ended:
			return explained(ctx, result)
		case <-time.After(grace):
		}
	}
	return check.Result{Rule: rule, Status: check.Blocked, Reason: reason, Duration: time.Since(began)}
}

// explained gives a check that an interrupt blocked the reason for it.
func explained(ctx context.Context, result check.Result) check.Result {
	if ctx.Err() != nil && result.Status == check.Blocked {
		result.Reason = interrupted
	}
	return result
}

// unsure reports whether a check is repeated: other checks may have disturbed it.
func unsure(result check.Result) bool {
	return result.Status == check.Fail || result.Status == check.Blocked
}

// repeat checks a rule again, alone. Only a check that fails again has failed. If a check was blocked, the repetition
// alone decides. A check that fails, and is blocked when it is repeated, stays blocked: nothing shows that the server
// satisfies the rule. The result has both exchanges.
func (r *Runner) repeat(ctx context.Context, rule check.Rule, first check.Result) check.Result {
	second := bounded(ctx, rule, r.Repeat)
	second.Duration += first.Duration
	if first.Status != check.Fail || second.Status == check.Fail || second.Status == check.Broken {
		if second.Status == check.Pass {
			second.Exchange, second.Steps = nil, nil
		}
		return second
	}
	both := first
	both.Status, both.Second, both.Duration, both.Log = check.Flaky, second.Exchange, second.Duration,
		append(first.Log, second.Log...)
	if second.Status == check.Blocked {
		both.Status, both.Reason = check.Blocked, "The check could not be repeated alone: "+second.Reason+
			"\nBeside other checks it had failed: "+first.Reason
	}
	return both
}
