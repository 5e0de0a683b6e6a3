package engine

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/wire"
)

// Text writes the report as a tree of documents and clauses, and a summary at the end.
func (r *Report) Text(w io.Writer) error {
	out := &lines{w: w}
	out.printf("%s, %s\n", r.Issuer, r.Began.Format("2006-01-02 15:04 MST"))
	if r.Hung != "" {
		out.printf("\n")
		out.wrapped("", hung+r.Hung)
	}
	titles := map[string]check.Document{}
	for _, d := range r.Documents {
		titles[d.ID] = d
	}
	document, clause := "", ""
	for _, result := range r.Results {
		if d := result.Rule.Document(); d != document {
			document, clause = d, ""
			out.printf("\n%s %s\n", titles[d].Cited, titles[d].Title)
		}
		if c := result.Rule.Clause(); c != clause {
			clause = c
			out.indented("  ", fmt.Sprintf("§%s  %s", c, ClauseURL(result.Rule)))
		}
		r.text(result, titles[document].Cited, out)
	}
	for i, a := range r.Unruled {
		if i == 0 {
			out.printf("\nAdvertised, not checked:\n")
		}
		out.wrapped("        ", a.String())
	}
	r.lacks(out)
	r.causes(out)
	r.Baseline.text(out)
	out.printf("\n%s\n", r.Summary())
	r.counting(out)
	return out.err
}

// counting writes the results at the end that make the run fail, except those that the baseline lists. The causes name
// what is blocked.
func (r *Report) counting(out *lines) {
	blocked := 0
	for _, result := range bySecurity(r.Results) {
		_, known, _ := r.entry(result)
		switch {
		case known || !Counts(result):
		case result.Status == check.Blocked:
			blocked++
		default:
			line, _, _ := strings.Cut(result.Reason, "\n")
			out.printf("  %s %s %s, %s: %s\n", outcomeOf(result).word(), result.Rule.Level, result.Rule.ID,
				result.Rule.About(), line)
		}
	}
	if blocked > 0 {
		out.printf("  blocked: %d MUST %s\n", blocked, number(blocked, "rule", "rules"))
	}
}

// bySecurity returns the results about security before the others.
func bySecurity(results []check.Result) []check.Result {
	ordered := slices.Clone(results)
	slices.SortStableFunc(ordered, func(a, b check.Result) int { return cmp.Compare(b.Rule.About(), a.Rule.About()) })
	return ordered
}

func (r *Report) text(result check.Result, cited string, out *lines) {
	word, reason := r.outcome(result).word(), reasonOf(result)
	if result.Status == check.Unobservable || result.Status == check.Inapplicable {
		word = "-"
	}
	out.wrapped(fmt.Sprintf("    %-9s %-6s ", word, result.Rule.Level), result.Rule.Name()+": "+result.Rule.Text)
	switch result.Status {
	case check.Pass:
		return
	case check.Broken:
		out.indented(below, reason)
	default:
		for line := range strings.SplitSeq(reason, "\n") {
			out.wrapped(below, line)
		}
	}
	if result.Status == check.Fail || result.Status == check.Flaky {
		out.wrapped(below, strings.TrimSpace("About "+result.Rule.About()+". "+Clause(cited, result.Rule)))
	}
	if e, known, _ := r.entry(result); known {
		out.wrapped(below, fmt.Sprintf("known, line %d: %s", e.Line, e.Reason))
		return
	}
	if result.Exchange == nil || result.Status == check.Blocked && result.Second == nil || result.Rule.Level == check.May {
		return // the other formats show it
	}
	if result.Earlier > 0 {
		out.printf("%safter %d other %s:\n", below, result.Earlier, number(result.Earlier, "request", "requests"))
	}
	for _, step := range result.Steps {
		out.indented(below+"  ", step)
	}
	exchange(out, result.Exchange)
	if result.Second != nil {
		out.printf("%swhen it was repeated alone:\n", below)
		exchange(out, result.Second)
	}
}

func exchange(out *lines, x *wire.Exchange) {
	out.indented(below+"> ", x.Sent)
	out.indented(below+"< ", x.Got)
	out.printf("%sto repeat it:\n", below)
	out.indented(below+"  ", x.Repeat)
}
