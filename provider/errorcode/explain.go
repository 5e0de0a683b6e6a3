package errorcode

import (
	"cmp"
	_ "embed"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Every description that the source has, after its code and a tab. A value of the request is an ellipsis. A test compares it with
// the source, and make docs writes it.
//
//go:embed descriptions.txt
var descriptions string

// Description is a text that the server sends with a code.
type Description struct{ Code, Text string }

// Descriptions returns every text that the server sends with a code.
func Descriptions() []Description {
	var all []Description
	for line := range strings.Lines(descriptions) {
		code, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		all = append(all, Description{code, text})
	}
	return all
}

// Match is a row of the table that explains a text.
type Match struct {
	Code        Code
	Case        Case   // the zero value: the code alone fits
	Description string // that the server sends; empty: no certain one
}

// mostNear is how many rows a text without a certain one gets.
const mostNear = 3

// Explain returns what explains a text: a code, a description, the response that has them, or the line of a log. It reports false
// if no row has a certain sign of it. Then the rows are the nearest ones, and there may be none.
func Explain(text string) ([]Match, bool) {
	text = readable(text)
	code, named := codeIn(text)
	description, said := sent(text, code.Name)
	if said && !named {
		code, named = Find(description.Code)
	}
	if named {
		m := Match{Code: code, Description: description.Text}
		m.Case, _ = code.Case(cmp.Or(description.Text, text))
		if m.Case.ID == "" {
			m.Case, _ = code.Case(text)
		}
		return []Match{m}, true
	}
	for _, c := range table {
		for _, one := range c.Cases {
			if strings.Contains(one.Words, " ") && strings.Contains(strings.ToLower(text), strings.ToLower(one.Words)) {
				return []Match{{Code: c, Case: one}}, true
			}
		}
	}
	return nearest(text), false
}

// readable undoes the encoding of a URL or of a form.
func readable(text string) string {
	if !strings.Contains(text, "error=") && !strings.Contains(text, "%20") {
		return text
	}
	if strings.Contains(text, "error_description=") {
		text = strings.ReplaceAll(text, "+", " ")
	}
	decoded, err := url.PathUnescape(text)
	if err != nil {
		return text
	}
	return decoded
}

var word = regexp.MustCompile(`[A-Za-z0-9_]+`)

// codeIn returns the first code that a text has as a word.
func codeIn(text string) (Code, bool) {
	for _, w := range word.FindAllString(text, -1) {
		// Every code of more than one word has an underscore, so no usual word is taken for one.
		if c, found := Find(w); found {
			return c, true
		}
	}
	return Code{}, false
}

// sent returns the longest description that a text has. The values of a request are not compared. If code is not empty, the
// description is one of this code.
func sent(text, code string) (Description, bool) {
	var found Description
	for _, d := range Descriptions() {
		if (code == "" || d.Code == code) && len(d.Text) > len(found.Text) && has(text, d.Text) {
			found = d
		}
	}
	return found, found.Text != ""
}

// shortestPart is how long the fixed parts of a description are together, so that it is more than a usual word.
const shortestPart = 12

// has reports whether a text has the parts of a description in their order.
func has(text, description string) bool {
	length := 0
	text = strings.ToLower(text)
	for part := range strings.SplitSeq(strings.ToLower(strings.TrimSuffix(description, ".")), "…") {
		_, after, found := strings.Cut(text, part)
		if !found {
			return false
		}
		text, length = after, length+len(part)
	}
	return length >= shortestPart
}

// nearest returns the rows whose texts have the most words of a text. A rare word counts more than one that many rows have.
func nearest(text string) []Match {
	asked := words(text)
	all := Descriptions()
	frequency := map[string]int{}
	for _, d := range all {
		for w := range words(d.Text) {
			frequency[w]++
		}
	}
	type near struct {
		Match
		score float64
	}
	best := map[string]near{}
	for _, d := range all {
		score := 0.0
		for w := range words(d.Text) {
			if asked[w] {
				score += 1 / float64(frequency[w])
			}
		}
		c, found := Find(d.Code)
		if found && score > best[d.Code].score {
			m := Match{Code: c, Description: d.Text}
			m.Case, _ = c.Case(d.Text)
			best[d.Code] = near{m, score}
		}
	}
	var rows []near
	for _, c := range table {
		if n, found := best[c.Name]; found {
			rows = append(rows, n)
		}
	}
	slices.SortStableFunc(rows, func(a, b near) int { return cmp.Compare(b.score, a.score) })
	var matches []Match
	for _, n := range rows[:min(len(rows), mostNear)] {
		matches = append(matches, n.Match)
	}
	return matches
}

// words returns the words of a text that have more than three letters, in lower case.
func words(text string) map[string]bool {
	all := map[string]bool{}
	for _, w := range word.FindAllString(strings.ToLower(text), -1) {
		if len(w) > 3 {
			all[w] = true
		}
	}
	return all
}
