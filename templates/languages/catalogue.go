package languages

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed catalogue.txt
var source string

// message is a text in one language. The texts one and other differ if the text says how many there are.
type message struct{ one, other string }

// entry is a text in all languages.
type entry struct {
	line int // where it begins
	in   map[string]message
}

// readCatalogue reads the catalogue, whose beginning describes its format.
func readCatalogue(source string) ([]entry, error) {
	var entries []entry
	var now *entry
	english := map[string]int{}
	for i, line := range strings.Split(source, "\n") {
		number := i + 1
		if strings.HasPrefix(line, "#") {
			continue
		}
		if strings.TrimSpace(line) == "" {
			now = nil
			continue
		}
		if now == nil {
			entries = append(entries, entry{number, map[string]message{}})
			now = &entries[len(entries)-1]
		}
		name, text, found := strings.Cut(line, ": ")
		tag, form, _ := strings.Cut(name, ".")
		if !found || text != strings.TrimSpace(text) || text == "" {
			return nil, fmt.Errorf("line %d: expected a language, a colon, a space, and a text", number)
		}
		m := now.in[tag]
		switch {
		case form == "one" && m.one == "":
			m.one = text
		case (form == "" || form == "other") && m.other == "":
			m.other = text
			if form == "" {
				m.one = text
			}
		default:
			return nil, fmt.Errorf("line %d: %s is there already, or is no form of a text", number, name)
		}
		now.in[tag] = m
	}
	for _, e := range entries {
		for _, tag := range Tags() {
			if m := e.in[tag]; m.one == "" || m.other == "" {
				return nil, fmt.Errorf("line %d: the text is not in the language %s", e.line, tag)
			}
		}
		if len(e.in) != len(Tags()) {
			return nil, fmt.Errorf("line %d: the text is in a language that pages do not have", e.line)
		}
		text := e.in[Tags()[0]].other
		if first := english[text]; first > 0 {
			return nil, fmt.Errorf("line %d: the English text is the same as in line %d", e.line, first)
		}
		english[text] = e.line
	}
	return entries, nil
}

// Tags lists the languages. The first one is that of the texts in the templates and in the code, and
// of a person whose language is not among them.
func Tags() []string { return []string{"en", "de", "fr", "es"} }
