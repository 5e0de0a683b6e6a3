package rules

import (
	_ "embed"
	"strings"
)

// sentences has a line for each rule that is checked. Its columns are separated by tabs: the ID; whom the clause binds;
// security or interoperability, which is what a failure is about; the sentence of the clause, word for word, or nothing
// where the document has no sentence that stands for itself; and the section of the sentence, if it is another one.
//
//go:embed sentences.txt
var sentences string

// withSentences adds to rules what sentences says about them.
func withSentences(all []Rule) {
	said := map[string][]string{}
	for line := range strings.Lines(sentences) {
		columns := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		said[columns[0]] = columns
	}
	for i, r := range all {
		if columns := said[r.ID]; len(columns) == 5 {
			all[i].Binds, all[i].Security = columns[1], columns[2] == "security"
			all[i].Sentence, all[i].SentenceIn = columns[3], columns[4]
		}
	}
}
