package errorcode

import (
	"cmp"
	_ "embed"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Every description that the source has, after its code and a tab. A value of the request is an ellipsis. A test
// compares it with the source, and make docs writes it.
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

// Match explains a text: a row of the table, or a message of a program.
type Match struct {
	Code        Code
	Case        Case    // the zero value: the code alone fits
	Description string  // that the server sends; empty: no certain one
	Message     Message // set in place of the others
}

// Explain returns what explains a text: a code, a description, the response that has them, the line of a log, or the
// message of a program in front of this server. It reports false if nothing has a certain sign of it. Then the
// matches are the nearest ones, and there may be none.
func Explain(text string) ([]Match, bool) {
	text = readable(text)
	var found []Match
	if m, certain := explainCode(text); certain {
		found = append(found, m)
	}
	for _, m := range Messages() {
		if m.saidIn(text) {
			found = append(found, Match{Message: m.Plain()})
		}
	}
	if len(found) > 0 {
		return found, true
	}
	return nearest(text), false
}

func explainCode(text string) (Match, bool) {
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
		return m, true
	}
	for _, c := range table {
		for _, one := range c.Cases {
			if strings.Contains(one.Words, " ") && strings.Contains(strings.ToLower(text), strings.ToLower(one.Words)) {
				return Match{Code: c, Case: one}, true
			}
		}
	}
	return Match{}, false
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

// sent returns the longest description that a text has. The values of a request are not compared. If code is not empty,
// the description is one of this code.
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

const (
	mostNear   = 3   // so many matches has a text without a certain one
	leastWords = 3   // if a text has so many: one or two fit by chance
	leastPart  = 0.4 // of the weight of what was asked
	rare       = 8   // a word that fewer texts have counts as much as one of so many
)

// nearest returns the matches whose texts have the most words of a text. A rare word counts more than one that many
// of them have. One that none has counts too: a text of something else has many of these, and gets no match.
func nearest(text string) []Match {
	type near struct {
		Match
		words map[string]bool
		score float64
	}
	var all []near
	for _, d := range Descriptions() {
		if c, found := Find(d.Code); found {
			m := Match{Code: c, Description: d.Text}
			m.Case, _ = c.Case(d.Text)
			all = append(all, near{Match: m, words: words(d.Text)})
		}
	}
	for _, m := range Messages() {
		all = append(all, near{Match: Match{Message: m.Plain()}, words: words(m.Says)})
	}
	frequency := map[string]float64{}
	for _, n := range all {
		for w := range n.words {
			frequency[w]++
		}
	}
	asked, total := words(text), 0.0
	weight := func(w string) float64 {
		return math.Pow(math.Log(float64(len(all))/max(frequency[w], rare)), 2)
	}
	for w := range asked {
		total += weight(w)
	}
	for i := range all {
		shared := 0
		for w := range all[i].words {
			if asked[w] {
				shared++
				all[i].score += weight(w) / total
			}
		}
		if shared < min(leastWords, len(asked)) || shared < 2 {
			all[i].score = 0
		}
	}
	slices.SortStableFunc(all, func(a, b near) int { return cmp.Compare(b.score, a.score) })
	var matches []Match
	seen := map[string]bool{}
	for _, n := range all {
		if n.score < leastPart || len(matches) == mostNear {
			break
		}
		if name := n.Code.Name + n.Message.Says; !seen[name] {
			matches, seen[name] = append(matches, n.Match), true
		}
	}
	return matches
}

var part = regexp.MustCompile(`[a-z0-9]+`)

// usual are words that say nothing about an error.
var usual = []string{
	"been",
	"does",
	"from",
	"have",
	"please",
	"some",
	"than",
	"that",
	"their",
	"them",
	"there",
	"these",
	"this",
	"what",
	"when",
	"which",
	"with",
	"your",
}

// words returns the words of a text that have more than three letters, in lower case. A name such as code_verifier is
// two.
func words(text string) map[string]bool {
	all := map[string]bool{}
	for _, w := range part.FindAllString(strings.ToLower(text), -1) {
		if len(w) > 3 && !slices.Contains(usual, w) {
			all[w] = true
		}
	}
	return all
}
