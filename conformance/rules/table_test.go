package rules

import (
	"strings"
	"testing"
)

const goodTable = `# A comment.

# Another one.
DOC/1/a
MUST: The rule a
    is two lines long: it has a colon.
binds: the server
failure: security
needs: user, code
alone: yes

DOC/1/b
SHOULD: It is the same.
binds: the client
failure: interoperability
check of: DOC/1/a
waived: It is not done.

DOC/1/c
MAY: It is not checked.
not applicable: It is not.
`

// The tables and the functions fit together: each rule has exactly one status, and each function a rule. Whatever reads
// the rules panics otherwise.
func TestTables(t *testing.T) {
	documents, err := load(func(name string) string {
		text, err := tables.ReadFile("tables/" + name)
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}, allChecks)
	if err != nil {
		t.Error(err)
	}
	files, err := tables.ReadDir("tables")
	if err != nil || len(files) != len(documents)+1 {
		t.Errorf("%d files of rules, and documents.txt lists %d: %v", len(files)-1, len(documents), err)
	}
	for _, r := range All() {
		// A sentence is quoted. A longer part would be a copy of the document.
		if len([]rune(r.Sentence)) > 280 || strings.Join(strings.Fields(r.Sentence), " ") != r.Sentence {
			t.Errorf("%s: the sentence is %q", r.ID, r.Sentence)
		}
	}
}

// Each mistake in a table is found.
func TestLoadFindsMistakes(t *testing.T) {
	check := func(*T) {}
	read := func(table string, parts ...checks) ([]Rule, error) {
		documents, err := load(func(name string) string {
			if name == "doc.txt" {
				return table
			}
			return "An explanation.\n\nDOC\tDocument\tTitle\n"
		}, parts)
		return documents[0].Rules, err
	}
	rules, err := read(goodTable, checks{"DOC/1/a": check})
	if err != nil || len(rules) != 3 {
		t.Fatalf("%d rules: %v", len(rules), err)
	}
	const text = "The rule a is two lines long: it has a colon."
	a, b := rules[0], rules[1]
	if a.Text != text || a.Fact != text || b.Fact != text || b.Check == nil || !b.Alone || len(b.Needs) != 2 ||
		!a.Security {
		t.Errorf("%+v and %+v", a, b)
	}
	for name, row := range map[string]struct{ was, is, want string }{
		"a level":                 {"MAY", "CAN", "unknown, empty or repeated field: CAN"},
		"no level":                {"MAY: It is not checked.\n", "", "DOC/1/c has no level"},
		"two levels":              {"MAY:", "MUST: It is.\nMAY:", "repeated field: MAY"},
		"two fields":              {"alone: yes", "alone: yes\nalone: yes", "repeated field: alone"},
		"an empty field":          {"alone: yes", "alone: ", "empty or repeated field: alone"},
		"a flag":                  {"alone: yes", "alone: no", "field: alone"},
		"two rows":                {"DOC/1/c", "DOC/1/b", "two rules are DOC/1/b"},
		"a document":              {"DOC/1/c", "RFC/1/c", "in the file of DOC"},
		"an ID":                   {"DOC/1/c", "DOC/1", "want DOC/clause/name"},
		"a need":                  {"needs: user", "needs: people", `no need "people"`},
		"no status":               {"not applicable: It is not.\n", "", "DOC/1/c has 0 of"},
		"two statuses":            {"waived: It is not done.", "tested by: a_test.go:TestA", "DOC/1/b has 2 of"},
		"who is bound":            {"the server", "the sever", `binds is "the sever"`},
		"what a failure is about": {"failure: security\nneeds", "failure: none\nneeds", `failure is "none"`},
		"absent without reason":   {"alone: yes", "alone: yes\nabsent: x", "DOC/1/a: only a reason"},
		"a failure without check": {"not applicable", "failure: security\nnot applicable", "DOC/1/c: failure is"},
		"a MUST waived":           {"SHOULD", "MUST", "only a SHOULD"},
		"another's check":         {"check of: DOC/1/a", "check of: DOC/1/c", "DOC/1/c has no check"},
		"its own check":           {"check of: DOC/1/a", "check of: DOC/1/b", "DOC/1/b has no check"},
		"needs of another":        {"check of", "needs: user\ncheck of", "needs or alone itself"},
		"no rules":                {goodTable, "# Nothing.\n", "DOC has no rules"},
	} {
		if !strings.Contains(goodTable, row.was) {
			t.Fatalf("%s: %q is not in the table", name, row.was)
		}
		_, err := read(strings.Replace(goodTable, row.was, row.is, 1), checks{"DOC/1/a": check})
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want %q", name, err, row.want)
		}
	}
	for want, parts := range map[string][]checks{
		"DOC/1/a has 0 of":                 {},
		"checks DOC/1/d has no rule":       {{"DOC/1/a": check, "DOC/1/d": check}},
		"two functions check the rule":     {{"DOC/1/a": check}, {"DOC/1/a": check}},
		"DOC/1/c has 2 of: a function":     {{"DOC/1/a": check, "DOC/1/c": check}},
		"or the row has a check, needs or": {{"DOC/1/a": check, "DOC/1/b": check}},
	} {
		if _, err := read(goodTable, parts...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
