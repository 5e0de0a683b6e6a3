package rules

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"mandate/conformance/check"
	"mandate/conformance/need"
)

// tables has a file for each document, with its rules, and documents.txt, which lists the documents and explains the
// form of the files.
//
//go:embed tables
var tables embed.FS

// checks are functions that check rules, by the IDs of the rules.
type checks map[string]func(*T)

// loaded are the documents of the tables. A mistake in them is one in the program, and TestTables names it.
var loaded = sync.OnceValue(func() []check.Document {
	documents, err := load(func(name string) string {
		text, _ := tables.ReadFile("tables/" + name) // the list then names a document without rules
		return string(text)
	}, allChecks)
	if err != nil {
		panic(err)
	}
	return documents
})

// table reads the rows, and joins them with their checks.
type table struct {
	documents []check.Document
	rows      map[string]*row
	checks    checks
	problems  []error
}

// row is a rule as the file has it.
type row struct {
	Rule
	checkOf string // the rule whose check this one has too
	about   string // what a failure is about
}

func (t *table) wrong(format string, args ...any) {
	t.problems = append(t.problems, fmt.Errorf(format, args...))
}

// load returns the documents that documents.txt lists, with their rules. The error names all mistakes.
func load(file func(name string) string, parts []checks) ([]check.Document, error) {
	t := &table{rows: map[string]*row{}, checks: checks{}}
	for _, part := range parts {
		for id, f := range part {
			if t.checks[id] != nil {
				t.wrong("two functions check the rule %s", id)
			}
			t.checks[id] = f
		}
	}
	var all []*row
	for line := range strings.Lines(file("documents.txt")) {
		columns := strings.Split(strings.TrimSpace(line), "\t")
		if len(columns) != 3 {
			continue // an explanation
		}
		t.documents = append(t.documents, check.Document{ID: columns[0], Cited: columns[1], Title: columns[2]})
		rows := t.read(columns[0], file(strings.ToLower(columns[0])+".txt"))
		if len(rows) == 0 {
			t.wrong("the document %s has no rules", columns[0])
		}
		all = append(all, rows...)
	}
	for _, r := range all {
		t.join(r)
	}
	for id := range t.checks {
		if t.rows[id] == nil {
			t.wrong("the function that checks %s has no rule in the tables", id)
		}
	}
	facts := map[string]bool{}
	for _, r := range all {
		facts[r.Fact] = true
	}
	for _, r := range all {
		if r.Fact == "" && facts[r.Text] { // another rule has its check
			r.Fact = r.Text
		}
		d := &t.documents[slices.IndexFunc(t.documents, func(d check.Document) bool { return d.ID == r.Document() })]
		d.Rules = append(d.Rules, r.Rule)
	}
	return t.documents, errors.Join(t.problems...)
}

// read returns the rows of a document.
func (t *table) read(document, text string) []*row {
	var rows []*row
	for paragraph := range strings.SplitSeq(strings.ReplaceAll(text, "\n    ", " "), "\n\n") {
		r := t.readRow(paragraph)
		switch {
		case r.ID == "":
			continue // only comments
		case r.Document() != document || r.Name() == "":
			t.wrong("the rule %s is in the file of %s: want %s/clause/name", r.ID, document, document)
			continue
		case t.rows[r.ID] != nil:
			t.wrong("two rules are %s", r.ID)
		}
		t.rows[r.ID] = r
		rows = append(rows, r)
	}
	return rows
}

// readRow reads the lines of a rule. The first one is the ID, and the others are fields.
func (t *table) readRow(paragraph string) *row {
	r := &row{}
	seen := map[string]bool{}
	for line := range strings.SplitSeq(strings.TrimSpace(paragraph), "\n") {
		key, value, found := strings.Cut(line, ": ")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case r.ID == "":
			r.ID = line
		case !found || value == "" || seen[key] || !t.set(r, key, value):
			t.wrong("%s: unknown, empty or repeated field: %s", r.ID, line)
		default:
			seen[key] = true
		}
	}
	return r
}

// set stores a field, and reports whether there is such a field and value.
func (t *table) set(r *row, key, value string) bool {
	texts := map[string]*string{
		"sentence": &r.Sentence, "sentence in": &r.SentenceIn, "binds": &r.Binds, "failure": &r.about, "fact": &r.Fact,
		"check of": &r.checkOf, "waived": &r.Waived, "tested by": &r.TestedBy, "not applicable": &r.Inapplicable,
	}
	switch key {
	case string(Must), string(Should), string(May):
		known := r.Level != ""
		r.Level, r.Text = check.Level(key), value
		return !known
	case "needs":
		for name := range strings.SplitSeq(value, ", ") {
			if !need.Need(name).Known() {
				t.wrong("%s: there is no need %q", r.ID, name)
			}
			r.Needs = append(r.Needs, need.Need(name))
		}
		return true
	case "absent":
		r.Absent = strings.Split(value, ", ")
		return true
	case "alone":
		r.Alone = true
		return value == "yes"
	}
	field := texts[key]
	if field == nil {
		return false
	}
	*field = value
	return true
}

// join gives a rule its check, and finds what is missing in its row.
func (t *table) join(r *row) {
	r.Check, r.Security = t.checks[r.ID], r.about == "security"
	if r.checkOf != "" {
		t.share(r)
	}
	statuses := 0
	for _, has := range []bool{r.Check != nil, r.TestedBy != "", r.Inapplicable != ""} {
		if has {
			statuses++
		}
	}
	if statuses != 1 {
		t.wrong("%s has %d of: a function that checks it, tested by, not applicable; want one", r.ID, statuses)
	}
	if r.Level == "" {
		t.wrong("%s has no level with a text: MUST, SHOULD or MAY", r.ID)
	}
	if r.Absent != nil && r.Inapplicable == "" {
		t.wrong("%s: only a reason why a rule is not applicable can depend on what is absent", r.ID)
	}
	if r.Waived != "" && (r.Check == nil || r.Level != Should) {
		t.wrong("%s: only a SHOULD that is checked can be waived", r.ID)
	}
	about := []string{"security", "interoperability"}
	binds := []string{"the server", "the client", "the resource server", "the browser", "everybody"}
	if r.Check == nil {
		about, binds = []string{""}, []string{""}
	}
	if !slices.Contains(about, r.about) || !slices.Contains(binds, r.Binds) {
		t.wrong("%s: failure is %q, and binds is %q, want one of %q and of %q", r.ID, r.about, r.Binds, about, binds)
	}
}

// share gives a rule the check of another one, with what the check needs. Both are decided by the same fact.
func (t *table) share(r *row) {
	from := t.rows[r.checkOf]
	for from != nil && from.checkOf != "" && from != r {
		from = t.rows[from.checkOf]
	}
	if from == nil || t.checks[from.ID] == nil || r.Check != nil || r.Needs != nil || r.Alone {
		t.wrong("%s: check of: %s has no check, or the row has a check, needs or alone itself", r.ID, r.checkOf)
		return
	}
	r.Needs, r.Check, r.Alone = from.Needs, t.checks[from.ID], from.Alone
	r.Fact = cmp.Or(r.Fact, from.Text)
}
