package engine

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"mandate/conformance/check"
	"mandate/conformance/wire"
)

//go:embed report.html
var reportPage string

// HTML writes the report as one page for people. It needs no other file and no script.
func (r *Report) HTML(w io.Writer) error {
	t, err := template.New("report").Parse(reportPage)
	if err != nil {
		return err
	}
	return t.Execute(w, r.document())
}

// The report as the page shows it.
type (
	htmlReport struct {
		Issuer, Verdict string
		Hung            string
		Tone            string // good, bad, or open if nothing is known
		Facts           []htmlFact
		Levels          []check.Level
		Outcomes        []htmlOutcome
		Baseline        *Comparison
		Unruled         []Advertised
		Lacks           []Lack
		Causes          []htmlCause
		Documents       []htmlDocument
	}
	htmlFact struct{ Name, Value string }

	// htmlOutcome is a row of the summary, and of the legend.
	htmlOutcome struct {
		outcome
		Counts []int // by level
		Total  int
	}
	htmlCause struct {
		Number, Total int
		Text          string
		Rules, More   []htmlRule
		Shown         *htmlRule // the one whose exchange is shown
	}
	htmlDocument struct {
		ID, Cited, Title, URL string
		Rules                 int
		Columns               [columnsOfDocuments]int // numbers of rules
		Clauses               []htmlClause
	}
	htmlClause struct {
		Number   string
		URL      string
		Numbered bool // the clause is a number, and not a name
		Rules    []htmlRule
	}
	htmlRule struct {
		ID, Text, Reason string
		Detail           string // the reason, if the cause does not say it
		Known            string // the reason in the baseline
		Level            check.Level
		outcome
		Cited, URL       string // the clause
		About, Clause    string // what a failure is about, and what the clause says
		Cause            int
		Shared           bool // other rules have this cause too
		Again            bool // its exchange stands at the cause too
		Exchange, Second *wire.Exchange
		Steps            []string // the requests before the exchange
		Earlier          int
	}
)

// Verdict says in a sentence or two what the run found.
func (r *Report) Verdict() string {
	failed, held, blocked := r.Count(check.Fail, check.Must), r.Count(check.Pass, check.Must),
		r.Count(check.Blocked, check.Must)
	var b strings.Builder
	switch {
	case failed > 0:
		fmt.Fprintf(&b, "%d of the %d MUST rules that could be tried %s%s.", failed, failed+held,
			number(failed, "does not hold", "do not hold"), r.aboutSecurity(check.Must))
	case blocked > 0:
		fmt.Fprintf(&b, "%d of %d MUST rules could not be tried, because a step before %s did not work.", blocked,
			blocked+held, number(blocked, "it", "them"))
		if held > 0 {
			fmt.Fprintf(&b, " The other %s.", number(held, "one holds", fmt.Sprintf("%d hold", held)))
		}
	case held == 1:
		b.WriteString("The one MUST rule that could be tried holds.")
	case held > 0:
		fmt.Fprintf(&b, "All %d MUST rules that could be tried hold.", held)
	default:
		b.WriteString("No MUST rule could be tried.")
	}
	if missed := r.Count(check.Fail, check.Should); missed > 0 {
		fmt.Fprintf(&b, " %d of %d SHOULD rules %s not followed.", missed, missed+r.Count(check.Pass, check.Should),
			number(missed, "is", "are"))
	}
	if blocked > 0 && failed > 0 {
		fmt.Fprintf(&b, " %d more MUST %s not reached: a step before %s did not work.", blocked,
			number(blocked, "rule was", "rules were"), number(blocked, "it", "them"))
	}
	if open := r.Count(check.Blocked, "") - blocked + r.Count(check.Skip, ""); open > 0 {
		fmt.Fprintf(&b, " %d %s not tried.", open, number(open, "rule was", "rules were"))
	}
	if broken := r.Count(check.Broken, ""); broken > 0 {
		fmt.Fprintf(&b, " %d %s broken, and of %s rules nothing is known.", broken, number(broken, "check is", "checks are"),
			number(broken, "its", "their"))
	}
	if r.Baseline != nil {
		fmt.Fprintf(&b, " Compared with %s: %s.", r.Baseline.File, r.Baseline.Summary())
	}
	return b.String()
}

func (r *Report) tone() string {
	switch {
	case r.Failed():
		return "bad"
	case r.Count(check.Pass, check.Must) == 0, r.Count(check.Fail, check.Must) > 0:
		return "open"
	}
	return "good"
}

func (r *Report) document() *htmlReport {
	page := &htmlReport{Issuer: r.Issuer, Verdict: r.Verdict(), Tone: r.tone(),
		Levels: []check.Level{check.Must, check.Should, check.May}, Facts: []htmlFact{
			{"Issuer", r.Issuer}, {"Target", r.Target}, {"Rules", r.Selection},
			{"Checked", r.Began.Format("2 January 2006, 15:04 MST")},
			{"Took", r.Duration.Round(100 * time.Millisecond).String()}, {"Runner", r.Version}}}
	if r.Hung != "" {
		page.Hung = hung + r.Hung
	}
	page.Outcomes, page.Baseline, page.Unruled = r.outcomes(), r.Baseline, r.Unruled
	page.Lacks = r.Lacks()
	titles, causes, shown := map[string]check.Document{}, map[string]int{}, map[string]bool{}
	for _, d := range r.Documents {
		titles[d.ID] = d
	}
	for i, c := range r.Causes() {
		cause := htmlCause{Number: i + 1, Total: len(c.Results), Text: c.Text}
		for _, result := range c.Results {
			causes[result.Rule.ID] = i + 1
			rule := r.htmlRule(result, titles, i+1)
			if rule.Reason != c.Text {
				rule.Detail = rule.Reason
			}
			cause.Rules = append(cause.Rules, rule)
		}
		if n := len(cause.Rules); n > shownRules {
			cause.Rules, cause.More = cause.Rules[:shownRules], cause.Rules[shownRules:]
		}
		if worst := &cause.Rules[0]; worst.Exchange != nil {
			cause.Shown, shown[worst.ID] = worst, true
		}
		page.Causes = append(page.Causes, cause)
	}
	for _, result := range r.Results {
		rule := r.htmlRule(result, titles, causes[result.Rule.ID])
		rule.Again, rule.Shared = shown[rule.ID], rule.Cause > 0 && page.Causes[rule.Cause-1].Total > 1
		d := titles[result.Rule.Document()]
		if n := len(page.Documents); n == 0 || page.Documents[n-1].ID != d.ID {
			page.Documents = append(page.Documents,
				htmlDocument{ID: d.ID, Cited: d.Cited, Title: d.Title, URL: documentURL(d.ID)})
		}
		page.Documents[len(page.Documents)-1].add(result, rule)
	}
	return page
}

// outcomes counts the results by outcome. An outcome that did not occur is left out.
func (r *Report) outcomes() []htmlOutcome {
	var occurred []htmlOutcome
	for _, one := range outcomes {
		o := htmlOutcome{outcome: one, Counts: make([]int, 3)}
		for _, result := range r.Results {
			if r.outcome(result).Kind != o.Kind {
				continue
			}
			o.Total++
			for i, level := range []check.Level{check.Must, check.Should, check.May} {
				if result.Rule.Level == level {
					o.Counts[i]++
				}
			}
		}
		if o.Total > 0 {
			occurred = append(occurred, o)
		}
	}
	return occurred
}

func (r *Report) htmlRule(result check.Result, titles map[string]check.Document, cause int) htmlRule {
	rule := htmlRule{ID: result.Rule.ID, Text: result.Rule.Text, Level: result.Rule.Level, outcome: r.outcome(result),
		URL: ClauseURL(result.Rule), Cause: cause}
	rule.Cited = titles[result.Rule.Document()].Cited + " " + clauseText(result.Rule.Clause())
	if result.Rule.Check != nil {
		rule.About, rule.Clause = result.Rule.About(), Clause(titles[result.Rule.Document()].Cited, result.Rule)
	}
	if result.Status != check.Pass {
		rule.Reason = reasonOf(result)
	}
	e, known, leftover := r.entry(result)
	if known {
		rule.Known = e.Reason
		if !e.Explained() {
			rule.Known = strings.TrimSuffix(unexplained, ": ") + "." // the rest is the reason of the result
		}
	}
	if leftover {
		rule.Reason = fmt.Sprintf("The baseline lists this rule, and it passes now: remove its entry in line %d of %s.",
			e.Line, r.Baseline.File)
	}
	if shows(result) {
		rule.Exchange, rule.Second, rule.Steps, rule.Earlier = trimmed(result.Exchange), trimmed(result.Second), result.Steps,
			result.Earlier
	}
	return rule
}

func trimmed(x *wire.Exchange) *wire.Exchange {
	if x == nil {
		return nil
	}
	return &wire.Exchange{Sent: strings.TrimSpace(x.Sent), Got: strings.TrimSpace(x.Got), Repeat: x.Repeat}
}

// numbered reports whether a clause is a number, and not a name.
func numbered(clause string) bool { return clause != "" && clause[0] >= '0' && clause[0] <= '9' }

func (d *htmlDocument) add(result check.Result, rule htmlRule) {
	d.Rules++
	d.Columns[outcomeOf(result).column]++
	clause := result.Rule.Clause()
	if n := len(d.Clauses); n == 0 || d.Clauses[n-1].Number != clause {
		d.Clauses = append(d.Clauses, htmlClause{Number: clause, URL: ClauseURL(result.Rule), Numbered: numbered(clause)})
	}
	last := &d.Clauses[len(d.Clauses)-1]
	last.Rules = append(last.Rules, rule)
}
