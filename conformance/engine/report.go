// Package engine runs checks on a server, and reports the results as text, JSON, JUnit or HTML. It asks for a target,
// and registers clients for a run.
package engine

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// Report is the result of a run.
type Report struct {
	Issuer   string
	Began    time.Time
	Duration time.Duration
	Results  []check.Result

	// What else a report for people shows. Empty fields are left out.
	Target    string           // the target file
	Selection string           // the selected rules
	Version   string           // version of the runner
	Documents []check.Document // the documents of the rules
	Baseline  *Comparison      // nil: no result is known
	Unruled   []Advertised     // what the metadata announces and no rule checks
	Hung      string           // the first request that the server did not answer
	Stopped   bool             // the server did not answer at the end of the run either
}

// Advertised is a feature that the metadata of a server announces, and that no rule checks.
type Advertised struct {
	Name     string `json:"name"`
	Member   string `json:"member"`             // the member of the metadata
	Document string `json:"document,omitempty"` // what defines it
}

func (a Advertised) String() string {
	if a.Document == "" {
		return fmt.Sprintf("%s, by %s", a.Name, a.Member)
	}
	return fmt.Sprintf("%s (%s), by %s", a.Name, a.Document, a.Member)
}

// Failed reports whether the results make the run fail. With a baseline it reports whether they differ from it.
func (r *Report) Failed() bool {
	if r.Baseline != nil {
		return r.Baseline.Failed()
	}
	return slices.ContainsFunc(r.Results, Counts)
}

// Count returns the number of results with a status and a level; the level "" stands for all levels.
func (r *Report) Count(status check.Status, level check.Level) int {
	n := 0
	for _, result := range r.Results {
		if result.Status == status && (level == "" || result.Rule.Level == level) {
			n++
		}
	}
	return n
}

// Summary returns the last line of the report.
func (r *Report) Summary() string {
	var parts []string
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(r.Count(check.Pass, ""), "passed")
	add(r.Count(check.Fail, check.Must), "MUST failed"+r.aboutSecurity(check.Must))
	add(r.Count(check.Fail, check.Should), "SHOULD failed"+r.aboutSecurity(check.Should))
	add(r.Count(check.Fail, check.May), "MAY otherwise")
	add(r.Count(check.Blocked, ""), "blocked")
	add(r.Count(check.Flaky, ""), string(check.Flaky))
	add(r.Count(check.Skip, ""), "skipped")
	add(r.Count(check.Unobservable, ""), string(check.Unobservable))
	add(r.Count(check.Inapplicable, ""), "without a check")
	add(r.Count(check.Broken, ""), string(check.Broken))
	return fmt.Sprintf("%d rules in %s: %s", len(r.Results), r.Duration.Round(100*time.Millisecond),
		strings.Join(parts, ", "))
}

// aboutSecurity says how many of the failures with a level are about security, if any are.
func (r *Report) aboutSecurity(level check.Level) string {
	n := r.Security(level)
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d about security)", n)
}

// Security returns the number of failures with a level that help an attacker.
func (r *Report) Security(level check.Level) int {
	n := 0
	for _, result := range r.Results {
		if result.Status == check.Fail && result.Rule.Level == level && result.Rule.Security {
			n++
		}
	}
	return n
}

// reasonOf returns the reason of a result as a report shows it. Why a rule has no check concerns the project that wrote
// the rules, and not the server: the list of rules says it.
func reasonOf(r check.Result) string {
	switch r.Status {
	case check.Unobservable:
		return "no request shows whether a server follows this rule"
	case check.Inapplicable:
		return "the runner has no check for this rule"
	}
	return r.Reason
}

// shows reports whether a report shows the exchange of a result.
func shows(r check.Result) bool {
	return r.Exchange != nil && r.Status != check.Pass && r.Status != check.Skip
}

// Formats are the formats of a report.
func Formats() map[string]func(*Report, io.Writer) error {
	return map[string]func(*Report, io.Writer) error{
		"text": (*Report).Text, "json": harmless((*Report).JSON), "junit": harmless((*Report).JUnit),
		"html": harmless((*Report).HTML),
	}
}

// harmless makes a format write only text that controls neither a terminal nor a build system: each format can be
// written to standard output. The text report does so itself, line by line.
func harmless(write func(*Report, io.Writer) error) func(*Report, io.Writer) error {
	return func(r *Report, w io.Writer) error {
		var all bytes.Buffer
		err := write(r, &all)
		if err != nil {
			return err
		}
		_, err = wire.HarmlessWriter{To: w}.Write(all.Bytes())
		return err
	}
}

// hung begins the line about a request without an answer.
const hung = "The server did not answer a request. Other results may be a consequence of it: "

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

// Clause returns what the clause of a rule says, and to whom. cited is the name of its document.
func Clause(cited string, r check.Rule) string {
	switch {
	case r.Binds == "":
		return ""
	case r.Sentence == "":
		return fmt.Sprintf("%s %s binds %s.", cited, clauseText(r.Clause()), r.Binds)
	}
	clause := cmp.Or(r.SentenceIn, r.Clause())
	if document, section, other := strings.Cut(clause, " "); other {
		cited, clause = strings.Replace(document, "RFC", "RFC ", 1), section
	}
	return fmt.Sprintf("%s %s, to %s: \"%s\"", cited, clauseText(clause), r.Binds, r.Sentence)
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

const (
	columns = 80               // of a terminal
	below   = "              " // indentation of the reason for a result
)

// lines writes until the first error, and keeps it. What it writes can come from the server, and is harmless.
type lines struct {
	w   io.Writer
	err error
}

func (l *lines) printf(format string, args ...any) {
	if l.err == nil {
		_, l.err = io.WriteString(l.w, wire.Harmless(fmt.Sprintf(format, args...)))
	}
}

func (l *lines) indented(before, text string) {
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		l.printf("%s\n", strings.TrimRight(before+line, " "))
	}
}

// wrapped breaks a sentence at the width of a terminal, and indents the following lines. Requests and commands are
// not broken, so that they can be copied.
func (l *lines) wrapped(before, text string) {
	line := before
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
			line += word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > columns:
			l.printf("%s\n", line)
			line = strings.Repeat(" ", len(before)) + word
		default:
			line += " " + word
		}
	}
	l.printf("%s\n", line)
}

// List writes the rules, and how each is checked.
func List(w io.Writer, rules []check.Rule) error {
	out := &lines{w: w}
	for _, r := range rules {
		out.printf("%-6s %s\n       %s\n       %s\n", r.Level, r.ID, r.Text, ClauseURL(r))
		status, reason := r.Unchecked()
		switch {
		case status == check.Inapplicable:
			status, reason = "no check", "Mandate, for which the rules were written, gives this reason: "+reason
		case r.Waived != "":
			status, reason = "not done", r.Waived
		case r.Check != nil:
			status, reason = "checked", "it needs "+needed(r.Needs)
		}
		out.printf("       %s: %s\n", status, reason)
		if r.Check != nil {
			out.printf("       %s\n", strings.TrimSpace("About "+r.About()+". "+Clause(r.Document(), r)))
		}
	}
	return out.err
}

func needed(needs []need.Need) string {
	if len(needs) == 0 {
		return "only the issuer"
	}
	return need.Join(needs)
}
