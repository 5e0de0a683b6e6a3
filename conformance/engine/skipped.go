package engine

import (
	"cmp"
	"slices"

	"mandate/conformance/check"
)

// Lack is what the target or the server lacks, with the number of the rules that were skipped because of it.
type Lack struct {
	Reason string
	Rules  int
}

// shownLacks is how many reasons a report shows.
const shownLacks = 12

// Lacks returns what caused several rules to be skipped, the most frequent first.
func (r *Report) Lacks() []Lack {
	rules := map[string]int{}
	for _, result := range r.Results {
		if result.Status == check.Skip {
			rules[result.Reason]++
		}
	}
	var all []Lack
	for reason, n := range rules {
		if n > 1 {
			all = append(all, Lack{reason, n})
		}
	}
	slices.SortFunc(all,
		func(a, b Lack) int { return cmp.Or(cmp.Compare(b.Rules, a.Rules), cmp.Compare(a.Reason, b.Reason)) })
	return all[:min(len(all), shownLacks)]
}

// lacks writes what caused rules to be skipped.
func (r *Report) lacks(out *lines) {
	for i, l := range r.Lacks() {
		if i == 0 {
			out.printf("\nSkipped rules, by what is missing:\n")
		}
		out.wrapped(count(l.Rules), l.Reason)
	}
}
