package rules

import (
	"slices"
	"strings"
	"testing"
)

// Each rule that is checked has one line, which says whom the clause binds, what a failure is about, and the sentence.
func TestSentences(t *testing.T) {
	checked := map[string]bool{}
	for _, r := range All() {
		if r.Check == nil {
			continue
		}
		checked[r.ID] = true
		if !slices.Contains([]string{"the server", "the client", "the resource server", "the browser", "everybody"}, r.Binds) {
			t.Errorf("%s binds %q", r.ID, r.Binds)
		}
		// A sentence is quoted. A longer part would be a copy of the document.
		if len([]rune(r.Sentence)) > 280 || strings.Join(strings.Fields(r.Sentence), " ") != r.Sentence {
			t.Errorf("%s: the sentence is %q", r.ID, r.Sentence)
		}
	}
	seen := map[string]bool{}
	for line := range strings.Lines(sentences) {
		id, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if seen[id] || !checked[id] {
			t.Errorf("the line of %s is a second one, or its rule is not checked", id)
		}
		seen[id] = true
		if about := strings.Split(rest, "\t"); len(about) != 4 || about[1] != "security" && about[1] != "interoperability" {
			t.Errorf("the line of %s: %q", id, rest)
		}
	}
}
