package conformance

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Runner checks one server.
type Runner struct {
	*Server
	documents []Document
	workers   int
	made      []*Client // clients that were registered for the run
}

// startRunner finds the server's metadata, and registers clients if the target says so. Close removes them.
func startRunner(ctx context.Context, target *Target, documents []Document, o Options) (*Runner, error) {
	if o.Workers <= 0 {
		o.Workers = 4
	}
	r := &Runner{Server: NewServer(target, newNetwork(o)), documents: documents, workers: o.Workers}
	err := r.discover(ctx)
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
			return nil, fmt.Errorf("%v; %w", err, left) // who was interrupted has to know of it
		}
		if err != nil {
			return nil, err
		}
	}
	r.Hide()
	return r, nil
}

// Run checks rules, a few at a time, and those that want to be alone one by one at the end. It tells
// progress of each that is done.
func (r *Runner) Run(ctx context.Context, rules []Rule, progress func(Result)) *Report {
	report := &Report{Issuer: r.Target.Issuer, Began: time.Now().UTC(), Documents: r.documents, Results: make([]Result, len(rules))}
	var mu sync.Mutex
	check := func(i int) {
		result := r.Check(ctx, rules[i])
		mu.Lock()
		defer mu.Unlock()
		report.Results[i] = result
		progress(result)
	}
	work := make(chan int)
	var group sync.WaitGroup
	for range r.workers {
		group.Go(func() {
			for i := range work {
				check(i)
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
			check(i)
		}
	}
	report.Duration = time.Since(report.Began)
	return report
}
