package engine

import (
	"fmt"

	"mandate/conformance/check"
)

// known returns the entry of the baseline for a result that is as the baseline says.
func (r *Report) known(id string) (Entry, bool) {
	if r.Baseline == nil {
		return Entry{}, false
	}
	return entryOf(r.Baseline.Known, id)
}

// leftover returns the entry of the baseline for a rule that passes now.
func (r *Report) leftover(id string) (Entry, bool) {
	if r.Baseline == nil {
		return Entry{}, false
	}
	return entryOf(r.Baseline.Passing, id)
}

func entryOf(all []Known, id string) (Entry, bool) {
	for _, k := range all {
		if k.Result.Rule.ID == id {
			return k.Entry, true
		}
	}
	return Entry{}, false
}

// Summary says in a line how the results differ from the baseline.
func (c *Comparison) Summary() string {
	text := fmt.Sprintf("%d known %s", len(c.Known), number(len(c.Known), "result", "results"))
	if unexplained := c.unexplained(); unexplained > 0 {
		text += fmt.Sprintf(", %d of them without a reason", unexplained)
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
	for _, result := range c.New {
		out.printf("  not listed   %s\n", result.Rule.ID)
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
	return &jsonBaseline{c.File, c.Summary(), idsOf(c.New), idsOfKnown(c.Known), idsOfKnown(c.Passing), idsOfKnown(c.Open)}
}

func idsOf(results []check.Result) []string {
	ids := []string{}
	for _, r := range results {
		ids = append(ids, r.Rule.ID)
	}
	return ids
}

func idsOfKnown(all []Known) []string {
	ids := []string{}
	for _, k := range all {
		ids = append(ids, k.Result.Rule.ID)
	}
	return ids
}
