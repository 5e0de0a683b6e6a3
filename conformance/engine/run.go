package engine

import (
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
	documents []check.Document
	made      []*target.Client // clients that were registered for the run
}

// workers is how many checks run at the same time.
const workers = 4

// NewRunner reads the server's metadata, and registers clients if the target says so. Close deletes them.
func NewRunner(ctx context.Context, target *target.Target, documents []check.Document, o wire.Options) (*Runner, error) {
	r := &Runner{Server: check.NewServer(target, wire.NewNetwork(o)), documents: documents}
	err := r.Discover(ctx)
	if err != nil {
		return nil, err
	}
	if target.Register {
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
	return r, nil
}

// Run checks rules, several at the same time, and at the end the rules that are Alone, one after the other. It calls
// progress after each rule.
func (r *Runner) Run(ctx context.Context, rules []check.Rule, progress func(check.Result)) *Report {
	report := &Report{Issuer: r.Target.Issuer, Began: time.Now().UTC(), Documents: r.documents, Results: make([]check.Result, len(rules))}
	var mu sync.Mutex
	try := func(i int) {
		result := r.Check(ctx, rules[i])
		mu.Lock()
		defer mu.Unlock()
		report.Results[i] = result
		progress(result)
	}
	work := make(chan int)
	var group sync.WaitGroup
	for range workers {
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
	report.Duration = time.Since(report.Began)
	return report
}
