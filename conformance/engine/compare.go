package engine

import (
	"fmt"

	"mandate/conformance/check"
)

// Known is an entry with the present result of its rule. A result that is not listed has an empty entry.
type Known struct {
	Entry  Entry
	Result check.Result
}

// Comparison is a report compared with a baseline. Entries of rules that were not selected are left out.
type Comparison struct {
	File    string
	New     []Known // they count as failures and are not listed
	Known   []Known // listed, and as listed
	Passing []Known // listed, and they pass now: the entry must go
	Open    []Known // listed, and nothing is known about the rule in this run

	entries map[string]Entry // of Known and Passing, by rule
}

// Failed reports whether the server differs from the baseline.
func (c *Comparison) Failed() bool { return len(c.New)+len(c.Passing) > 0 }

// Compare compares the results of a run with the baseline.
func (b *Baseline) Compare(r *Report) *Comparison {
	entries := map[string]Entry{}
	for _, e := range b.Entries {
		entries[e.Rule] = e
	}
	c := &Comparison{File: b.File, entries: map[string]Entry{}}
	for _, result := range r.Results {
		e, listed := entries[result.Rule.ID]
		if !listed && Counts(result) {
			e, listed = b.byCause(result)
		}
		known := Known{e, result}
		failsNow := result.Status == check.Fail
		stuckNow := result.Status == check.Blocked || result.Status == check.Broken
		switch {
		case !listed && Counts(result):
			c.New = append(c.New, known)
		case !listed:
		case result.Status == check.Pass:
			c.Passing, c.entries[result.Rule.ID] = append(c.Passing, known), e
		case failsNow && e.Result != check.Fail && Counts(result):
			// Nobody has seen this violation before: the check did not come so far.
			c.New = append(c.New, known)
		case failsNow, stuckNow && e.Result != check.Fail:
			c.Known, c.entries[result.Rule.ID] = append(c.Known, known), e
		default:
			c.Open = append(c.Open, known)
		}
	}
	return c
}

// entry returns the entry of the baseline for a rule whose result is as listed, or that passes now and is a leftover.
func (r *Report) entry(result check.Result) (e Entry, known, leftover bool) {
	if r.Baseline == nil {
		return e, false, false
	}
	e, listed := r.Baseline.entries[result.Rule.ID]
	passes := result.Status == check.Pass
	return e, listed && !passes, listed && passes
}

// Summary says in a line how the results differ from the baseline.
func (c *Comparison) Summary() string {
	text := fmt.Sprintf("%d known %s", len(c.Known), number(len(c.Known), "result", "results"))
	if unexplained := c.unexplained(); unexplained > 0 {
		which := fmt.Sprintf(", %d of them", unexplained)
		if unexplained == len(c.Known) {
			which = number(unexplained, "", ", all of them")
		}
		text += which + " without a reason yet (replace \"Not explained yet\" in the file)"
	}
	if len(c.Open) > 0 {
		text += fmt.Sprintf("; %d listed %s not tried", len(c.Open), number(len(c.Open), "rule was", "rules were"))
	}
	if len(c.New) > 0 {
		text += fmt.Sprintf("; %d %s not listed", len(c.New), number(len(c.New), "failure is", "failures are"))
	}
	if len(c.Passing) > 0 {
		text += fmt.Sprintf("; %d listed %s now", len(c.Passing), number(len(c.Passing), "rule passes", "rules pass"))
	}
	return text
}

// unexplained returns the number of known results for which no person has written a reason.
func (c *Comparison) unexplained() int {
	n := 0
	for _, k := range c.Known {
		if !k.Entry.Explained() {
			n++
		}
	}
	return n
}

// text writes what differs from the baseline.
func (c *Comparison) text(out *lines) {
	if c == nil {
		return
	}
	out.printf("\n")
	out.wrapped("", fmt.Sprintf("Compared with %s: %s.", c.File, c.Summary()))
	for _, k := range c.New {
		out.printf("  not listed   %s\n", k.Result.Rule.ID)
	}
	for _, k := range c.Passing {
		out.printf("  passes now   %s: remove its entry (line %d)\n", k.Result.Rule.ID, k.Entry.Line)
	}
	for _, k := range c.Open {
		out.printf("  not tried    %s (line %d): %s\n", k.Result.Rule.ID, k.Entry.Line, outcomeOf(k.Result).word())
	}
}

// jsonBaseline is the comparison in the JSON report.
type jsonBaseline struct {
	File    string   `json:"file"`
	Summary string   `json:"summary"`
	New     []string `json:"new"`
	Known   []string `json:"known"`
	Passing []string `json:"passing"`
	Open    []string `json:"not_tried"`
}

func (c *Comparison) json() *jsonBaseline {
	if c == nil {
		return nil
	}
	return &jsonBaseline{c.File, c.Summary(), idsOf(c.New), idsOf(c.Known), idsOf(c.Passing), idsOf(c.Open)}
}

func idsOf(all []Known) []string {
	ids := []string{}
	for _, k := range all {
		ids = append(ids, k.Result.Rule.ID)
	}
	return ids
}
