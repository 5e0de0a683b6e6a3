package engine

import "mandate/conformance/check"

// outcome is how a rule came out: a status, at a level.
type outcome struct {
	status                    check.Status
	level                     check.Level // "" stands for all levels
	Kind, Word, Sign, Meaning string
	text                      string              // in the list of rules, if it is not the status
	look                      map[check.Level]int // 1 for the worst result; none if nobody has to look at it
	column                    int                 // in the table of the documents
}

// outcomes are all outcomes, in the order of the summary.
var outcomes = []outcome{
	{status: check.Pass, Kind: "held", Word: "Pass", Sign: "✓", Meaning: "The rule was checked, and the server follows " +
		"it.", column: passed},
	{status: check.Fail, level: check.Must, Kind: "failed", Word: "Fail", Sign: "✗",
		Meaning: "A MUST that the server violates.", text: "FAIL", look: map[check.Level]int{check.Must: 1}, column: failed},
	{status: check.Broken, Kind: "broken", Word: "Broken", Sign: "?", Meaning: "The check itself has a bug.",
		text: "BROKEN", look: map[check.Level]int{check.Must: 2, check.Should: 2, check.May: 2}, column: failed},
	{status: check.Fail, level: check.Should, Kind: "missed", Word: "Not followed", Sign: "!",
		Meaning: "A SHOULD that the server does not follow. There can be a good reason.", text: "FAIL",
		look: map[check.Level]int{check.Should: 4}, column: notFollowed},
	{status: check.Flaky, Kind: "flaky", Word: "Flaky", Sign: "~",
		Meaning: "The check failed beside others and passed alone, so that nothing is known about the rule.",
		look:    map[check.Level]int{check.Must: 5, check.Should: 5}, column: notTried},
	{status: asListed, Kind: "known", Word: "Known", Sign: "≈",
		Meaning: "The rule does not hold, and the baseline lists it with the reason shown."},
	{status: check.Fail, level: check.May, Kind: "otherwise", Word: "Otherwise", Sign: "≠",
		Meaning: "The document leaves a choice, and the rule names one. The server made another. This is not an error.",
		text:    "otherwise", column: otherwise},
	{status: check.Blocked, Kind: "blocked", Word: "Blocked", Sign: "…",
		Meaning: "A step before the checked one failed, so that nothing is known about the rule.",
		look:    map[check.Level]int{check.Must: 3, check.Should: 5, check.May: 5}, column: notTried},
	{status: check.Skip, Kind: "skipped", Word: "Skipped", Sign: "–",
		Meaning: "The target lacks something that the check needs. The reason names it.", column: notTried},
	{status: check.Unobservable, Kind: "unobservable", Word: "Not observable", Sign: "○",
		Meaning: "No request shows whether a server follows the rule.", column: notTried},
	{status: check.Inapplicable, Kind: "inapplicable", Word: "Not checked", Sign: "·",
		Meaning: "The runner has no check for the rule: it is about another party or document, or about a feature for " +
			"which no check was written.", column: notTried},
}

// asListed stands for every status that is as the baseline says.
const asListed check.Status = "known"

// The columns of the table of the documents.
const (
	passed = iota
	failed
	notFollowed
	otherwise
	notTried
	columnsOfDocuments
)

// outcomeOf returns the outcome of a result.
func outcomeOf(r check.Result) outcome { return outcomeAt(r.Status, r.Rule.Level) }

func outcomeAt(status check.Status, level check.Level) outcome {
	for _, o := range outcomes {
		if o.status == status && (o.level == "" || o.level == level) {
			return o
		}
	}
	return outcome{status: status}
}

// outcome returns the outcome of a result, which the baseline may list.
func (r *Report) outcome(result check.Result) outcome {
	if _, listed, _ := r.entry(result); listed {
		return outcomeAt(asListed, "")
	}
	return outcomeOf(result)
}

// word returns the outcome as the list of rules shows it.
func (o outcome) word() string {
	if o.text != "" {
		return o.text
	}
	return string(o.status)
}

// severity is smaller for a worse result. It is 0 if nobody has to look at it.
func severity(r check.Result) int { return outcomeOf(r).look[r.Rule.Level] }

// Counts reports whether a result makes a run without a baseline fail: a MUST that the server violates, or that is
// blocked, because a server that answers nothing must not pass.
func Counts(r check.Result) bool {
	return r.Status == check.Broken || r.Rule.Level == check.Must && (r.Status == check.Fail || r.Status == check.Blocked)
}
