package engine

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/wire"
)

// Cause is what one behaviour of the server did to several rules.
type Cause struct {
	Text    string
	Results []check.Result
}

// Causes returns the results that somebody has to look at, those with the same cause together: failures of a MUST or
// a SHOULD, what is blocked, flaky or broken. The worst and the most frequent causes come first.
//
// Two results have the same cause if they were decided by the same answer, or, where no answer explains them, if their
// reasons are equal without the values that change from request to request. Failures of rules that one fact decides
// have the same cause, whatever their reasons.
func (r *Report) Causes() []Cause {
	var all []*Cause
	byKey := map[string]*Cause{}
	for _, result := range r.Results {
		if severity(result) == 0 {
			continue
		}
		key := causeOf(result)
		if byKey[key] == nil {
			byKey[key] = &Cause{}
			all = append(all, byKey[key])
		}
		byKey[key].Results = append(byKey[key].Results, result)
	}
	causes := make([]Cause, 0, len(all))
	for _, c := range all {
		slices.SortStableFunc(c.Results, func(a, b check.Result) int { return cmp.Compare(severity(a), severity(b)) })
		c.Text = textOf(c.Results)
		if mistake := targetMistake.FindString(c.Results[0].Reason); mistake != "" {
			c.Text = mistake
			if answer := decidingAnswer(c.Results[0]); answer != "" {
				c.Text = answer + ": " + mistake
			}
		}
		causes = append(causes, *c)
	}
	slices.SortStableFunc(causes, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(severity(a.Results[0]), severity(b.Results[0])),
			cmp.Compare(len(b.Results), len(a.Results)))
	})
	return causes
}

// textOf says what the results have in common: their reason, or the answer.
func textOf(results []check.Result) string {
	first := results[0]
	if first.Status == check.Fail && first.Rule.Fact != "" && len(results) > 1 {
		return first.Rule.Fact
	}
	for _, r := range results[1:] {
		if plainReason(r.Reason) != plainReason(first.Reason) {
			return decidingAnswer(first)
		}
	}
	line, _, _ := strings.Cut(first.Reason, "\n")
	return line
}

// causeOf returns a text that is equal for results with the same cause.
func causeOf(r check.Result) string {
	if r.Status == check.Fail && r.Rule.Fact != "" {
		return factCause + r.Rule.Fact
	}
	if mistake := targetMistake.FindString(r.Reason); mistake != "" {
		return mistake
	}
	if answer := decidingAnswer(r); answer != "" {
		return answer
	}
	x := r.Exchange
	if x == nil || !strings.Contains(r.Reason, x.Status) {
		return plainReason(r.Reason)
	}
	code, _, _ := strings.Cut(x.Error, " ")
	if code != "" && strings.Contains(r.Reason, code) {
		return plainReason(r.Reason)
	}
	return endpointOf(x) + ": " + plainReason(r.Reason) // a status alone means something else at each endpoint
}

// CauseOf names the cause of a failure or of a blocked result in a line, without the values that change from run to
// run.
func CauseOf(r check.Result) string {
	text := oneLine(strings.TrimPrefix(causeOf(r), factCause))
	if runes := []rune(text); len(runes) > longestReason {
		text = string(runes[:longestReason]) + "…"
	}
	return text
}

// longestReason is the length of what a baseline repeats of a failure.
const longestReason = 300

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// factCause begins the cause of results that a fact about the server decides.
const factCause = "fact "

// The values in reasons that change from request to request.
var (
	maskedName = regexp.MustCompile(`\$([A-Z_]+)[0-9]*`)
	queryPart  = regexp.MustCompile(`(https?://[^\s?#"]*)[?#]([^\s"]*)`)
	uuidText   = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	longWord   = regexp.MustCompile(`[A-Za-z0-9_+/=.~-]{16,}`)
	pageText   = regexp.MustCompile(`(the server shows a page: [0-9]{3} [^":]*(?:, "(?:[^"\\]|\\.)*")?): (.*)`)
	errorWord  = regexp.MustCompile(`\b[a-z]+(_[a-z]+)+\b`)
	numberText = regexp.MustCompile(`\b[0-9]{4,}\b|\b[0-9]+(\.[0-9]+)?(ms|s|m)\b|[0-9]+ bytes`)
	errorParam = regexp.MustCompile(`(?:^|[?&#])error=([a-z_]+)`)
)

// targetMistake is the end of a reason that a mistake in the target explains. Its beginning depends on the step.
var targetMistake = regexp.MustCompile(
	`the server (asks for|does not accept) [^:\n]*: \S+ or \S+ of the target may be wrong`)

// plainReason returns a reason without such values, and without repeated lines.
func plainReason(reason string) string {
	var lines []string
	for line := range strings.SplitSeq(reason, "\n") {
		line = plain(line)
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func plain(text string) string {
	// the text of a page can have the time or a number
	text = pageText.ReplaceAllStringFunc(text, func(page string) string {
		part := pageText.FindStringSubmatch(page)
		return part[1] + " " + errorWord.FindString(part[2])
	})
	text = queryPart.ReplaceAllStringFunc(text, func(address string) string {
		part := queryPart.FindStringSubmatch(address)
		if code := errorParam.FindStringSubmatch(part[2]); code != nil {
			return part[1] + "?error=" + code[1]
		}
		return part[1]
	})
	text = maskedName.ReplaceAllString(text, "$$$1")
	text = uuidText.ReplaceAllString(text, "…")
	text = longWord.ReplaceAllStringFunc(text, func(word string) string {
		if strings.ContainsAny(word, "0123456789") && !strings.HasPrefix(word, "//") {
			return "…"
		}
		return word
	})
	return numberText.ReplaceAllString(text, "N")
}

// decidingAnswer describes the answer that decided a result, or returns "". It is an answer that a correct server never
// gives (5xx, 307, 308), or the error because of which a check did not come to its question.
func decidingAnswer(r check.Result) string {
	x := r.Exchange
	if x == nil {
		return ""
	}
	answer := fmt.Sprintf("%s %s is answered with %s", x.Method, endpointOf(x), x.Status)
	if x.Status >= "5" || strings.HasPrefix(x.Status, "307") || strings.HasPrefix(x.Status, "308") {
		return answer
	}
	if r.Status != check.Blocked || x.Error == "" || !strings.Contains(r.Reason, x.Status) {
		return ""
	}
	return answer + ", " + plain(x.Error)
}

// endpointOf returns the address of an exchange without values in its path.
func endpointOf(x *wire.Exchange) string {
	parts := strings.Split(x.Address, "/")
	for i, part := range parts {
		if i > 2 && (strings.Contains(part, "$") || part != plain(part)) {
			parts[i] = "…"
		}
	}
	return strings.Join(parts, "/")
}

// causes writes the causes of several results.
func (r *Report) causes(out *lines) {
	first := true
	for _, c := range r.Causes() {
		if len(c.Results) < 2 {
			continue
		}
		if first {
			out.printf("\nResults with the same cause:\n")
			first = false
		}
		out.wrapped(count(len(c.Results)), c.Text)
		for _, part := range r.byWord(c.Results) {
			out.wrapped("        ", part)
		}
	}
}

// count writes the number before a cause.
func count(rules int) string { return fmt.Sprintf("%6d  ", rules) }

// shownRules is how many rules of a cause are shown at first.
const shownRules = 6

// byWord names the rules of a cause: the failed ones first, then the blocked ones.
func (r *Report) byWord(results []check.Result) []string {
	var words []string
	ids := map[string][]string{}
	for _, result := range results {
		o := r.outcome(result)
		word := o.word()
		if o.status == check.Fail {
			word += " " + string(result.Rule.Level)
		}
		if ids[word] == nil {
			words = append(words, word)
		}
		ids[word] = append(ids[word], result.Rule.ID)
	}
	var parts []string
	for _, word := range words {
		all := ids[word]
		part := word + ": " + strings.Join(all[:min(len(all), shownRules)], ", ")
		if more := len(all) - shownRules; more > 0 {
			part += fmt.Sprintf(" and %d more", more)
		}
		parts = append(parts, part)
	}
	return parts
}

// jsonCause is a cause in the JSON report.
type jsonCause struct {
	Text  string   `json:"text"`
	Rules []string `json:"rules"`
}

func (r *Report) jsonCauses() []jsonCause {
	causes := []jsonCause{}
	for _, c := range r.Causes() {
		cause := jsonCause{Text: c.Text}
		for _, result := range c.Results {
			cause.Rules = append(cause.Rules, result.Rule.ID)
		}
		causes = append(causes, cause)
	}
	return causes
}
