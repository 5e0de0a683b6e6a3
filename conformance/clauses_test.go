package conformance

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mandate/conformance/check"
	"mandate/conformance/rules"
	"mandate/conformance/servertest"
	"mandate/testkit"
)

var wellFormed = regexp.MustCompile(`^[A-Za-z0-9]+/[0-9A-Z]+(\.[0-9]+)*/[a-z0-9]+(-[a-z0-9]+)*$`)

// Each rule has an ID of the right form and is one sentence, and the test that it names exists.
func TestTable(t *testing.T) {
	for _, r := range rules.All() {
		if !wellFormed.MatchString(r.ID) {
			t.Errorf("%s: want document/section/name-of-the-rule", r.ID)
		}
		for _, text := range []string{r.Text, r.Inapplicable, r.Waived} {
			if text != "" && !strings.HasSuffix(text, ".") || strings.Contains(text, "\n") {
				t.Errorf("%s: %q is not a sentence", r.ID, text)
			}
		}
		if r.TestedBy != "" && !testExists(r.TestedBy) {
			t.Errorf("%s: there is no test %s", r.ID, r.TestedBy)
		}
	}
}

// A reason why a rule is not applicable is true only while Mandate lacks a feature.
func TestReasonsHold(t *testing.T) {
	s, reasons := servertest.OnDatabase(t, "sqlite"), 0
	result := s.Runner.Check(t.Context(), check.Rule{ID: "TEST/1/absent", Check: func(c *check.T) {
		m := c.Metadata()
		for _, r := range rules.All() {
			for _, absent := range r.Absent {
				reasons++
				name, word, list := strings.Cut(absent, "=")
				if !list && m[name] != nil || list && hasWord(m, name, word) {
					t.Errorf("%s is not applicable because %q, and the metadata has %s", r.ID, r.Inapplicable, absent)
				}
			}
		}
	}})
	if result.Status != check.Pass || reasons == 0 {
		t.Fatalf("%d reasons, %s: %s", reasons, result.Status, result.Reason)
	}
}

func hasWord(m check.Metadata, name, word string) bool {
	values, _ := m.List(name)
	return slices.ContainsFunc(values, func(value string) bool { return slices.Contains(strings.Fields(value), word) })
}

// testExists reports whether there is a test with the name file:Test.
func testExists(name string) bool {
	path, function, found := strings.Cut(name, ":")
	text, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(path)))
	return found && err == nil && strings.Contains(string(text), "\nfunc "+function+"(")
}

// Each document has a test with its name, so that its checks can be run.
func TestTableHasTests(t *testing.T) {
	text, err := os.ReadFile("conformance_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range rules.Documents() {
		want := fmt.Sprintf("func Test%s(t *testing.T) { testDocument(t, %q) }", d.ID, d.ID)
		if !strings.Contains(string(text), want) {
			t.Errorf("conformance_test.go lacks: %s", want)
		}
	}
}

func TestProfilesName(t *testing.T) {
	for name, entries := range rules.Profiles() {
		for _, entry := range entries {
			if !slices.ContainsFunc(rules.All(), func(r check.Rule) bool { return r.Under(strings.TrimPrefix(entry, "-")) }) {
				t.Errorf("the profile %s names %s, and there is no such rule", name, entry)
			}
		}
	}
}

func TestSelect(t *testing.T) {
	for only, want := range map[string]string{
		"RFC6749/4.1":                        "RFC6749/4.1.3/code-bound-to-client",
		"RFC6749/4.1.3":                      "RFC6749/4.1.3/code-bound-to-client",
		"RFC6749/4.1.3/":                     "RFC6749/4.1.3/code-bound-to-client",
		"RFC6749/4.1.3/code-bound-to-client": "RFC6749/4.1.3/code-bound-to-client",
		"RFC6749":                            "RFC6749/4.1.3/code-bound-to-client",
		"":                                   "RFC6749/4.1.3/code-bound-to-client",
	} {
		var names []string
		if only != "" {
			names = []string{only}
		}
		rules, err := rules.Select("", names)
		if err != nil || !slices.ContainsFunc(rules, func(r check.Rule) bool { return r.ID == want }) {
			t.Errorf("Select(%q) lacks %s: %v", only, want, err)
		}
		other := slices.ContainsFunc(rules, func(r check.Rule) bool { return strings.HasPrefix(r.ID, "RFC6749/4.3/") })
		if strings.Contains(only, "4.1") && other {
			t.Errorf("Select(%q) has rules of 4.3", only)
		}
	}
	for _, wrong := range []string{"RFC6749/4.1.33", "RFC674", "RFC6749/4."} {
		_, err := rules.Select("", []string{wrong})
		if err == nil {
			t.Errorf("Select(%q) finds something", wrong)
		}
	}
	chosen, err := rules.Select("oauth21", nil)
	for _, out := range []string{"RFC6749/4.2", "RFC6749/4.3"} {
		if err != nil || len(chosen) == 0 || slices.ContainsFunc(chosen, func(r check.Rule) bool { return r.Under(out) }) {
			t.Errorf("the profile oauth21 has rules of %s: %v", out, err)
		}
	}
	for _, row := range []struct {
		profile string
		only    []string
		has     bool
	}{{"", nil, false}, {"", []string{"MCP"}, true}, {"", []string{"RFC6749", "MCP/M4"}, true}, {"mcp", nil, true},
		{"oauth21", nil, false}} {
		chosen, err := rules.Select(row.profile, row.only)
		if has := slices.ContainsFunc(chosen,
			func(r check.Rule) bool { return r.ID == "MCP/M4/s256-in-metadata" }); err != nil || has != row.has {
			t.Errorf("Select(%q, %q) has a rule of MCP: %t, want %t: %v", row.profile, row.only, has, row.has, err)
		}
	}
	_, err = rules.Select("oauth3", nil)
	if err == nil {
		t.Error("there is a profile oauth3")
	}
}

var (
	citation = regexp.MustCompile(
		`((?:RFC [0-9]+|CIMD-[0-9]+|FAPI 2\.0 (?:Security Profile|Message Signing)|OIDC [A-Z][A-Za-z-]*(?: [A-Z][A-Za-z]*)?)) §([0-9A-Z][0-9.]*[0-9]|[0-9A-Z])((?:,? (?:and )?§[0-9][0-9.]*[0-9])*)`)
	further = regexp.MustCompile(`§([0-9][0-9.]*[0-9])`)
)

// Each section that a comment cites has a rule: in this section, in one above it, or, if the comment cites a whole
// chapter, in the chapter.
func TestClausesCited(t *testing.T) {
	cited := map[string]check.Document{}
	for _, d := range rules.Documents() {
		cited[d.Cited] = d
	}
	for place, clauses := range citations(t) {
		for _, c := range clauses {
			document, clause, _ := strings.Cut(c, " §")
			d, known := cited[document]
			if known && !slices.ContainsFunc(d.Rules, func(r check.Rule) bool { return knows(r, clause) }) {
				t.Errorf("%s cites %s, and the table has no row there", place, c)
			}
		}
	}
}

func knows(r check.Rule, clause string) bool {
	chapter := !strings.Contains(clause, ".") && strings.HasPrefix(r.Clause(), clause+".")
	return r.Clause() == clause || strings.HasPrefix(clause, r.Clause()+".") || chapter
}

// citations returns the citations in the comments of the program, by their places.
func citations(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	for _, dir := range []string{"provider", "handlers", "storage", "cmd", "conformance"} {
		err := filepath.WalkDir(filepath.Join("..", dir), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, path, nil, parser.ParseComments)
			if err != nil {
				return err
			}
			for _, group := range file.Comments {
				place := files.Position(group.Pos())
				found[fmt.Sprintf("%s:%d", path, place.Line)] = clausesOf(group.Text())
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	tables, err := filepath.Glob("rules/tables/*.txt")
	if err != nil || len(tables) == 0 {
		t.Fatal(err, "no tables")
	}
	for _, path := range tables {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i, paragraph := range strings.Split(string(text), "\n\n") {
			var comment strings.Builder
			for line := range strings.Lines(paragraph) {
				if more, is := strings.CutPrefix(line, "# "); is {
					comment.WriteString(more)
				}
			}
			found[fmt.Sprintf("%s, paragraph %d", path, i+1)] = clausesOf(comment.String())
		}
	}
	if len(found) < 100 {
		t.Fatalf("only %d comments were found", len(found))
	}
	return found
}

func clausesOf(comment string) []string {
	var all []string
	text := strings.Join(strings.Fields(comment), " ")
	for _, m := range citation.FindAllStringSubmatch(text, -1) {
		all = append(all, m[1]+" §"+m[2])
		for _, more := range further.FindAllStringSubmatch(m[3], -1) {
			all = append(all, m[1]+" §"+more[1])
		}
	}
	return all
}

func TestCitationsAreRead(t *testing.T) {
	got := strings.Join(clausesOf("RFC 6749 §3.1, §3.2 and OIDC Core §3.1.2.1, and RFC 9700\n"+
		"§4.11.2. OIDC Form Post §2: x. FAPI 2.0 Message Signing §5.3.1."), "; ")
	want := "RFC 6749 §3.1; RFC 6749 §3.2; OIDC Core §3.1.2.1; RFC 9700 §4.11.2; OIDC Form Post §2; FAPI 2.0 Message " +
		"Signing §5.3.1"
	if got != want {
		t.Errorf("read %s, want %s", got, want)
	}
}

// TestStandardsDocs compares the table in docs/standards.md with the number of rules.
func TestStandardsDocs(t *testing.T) {
	testkit.DocsBlock(t, "standards.md", "standards", standards())
}

// standards returns the table with the numbers of rules of each document.
func standards() string {
	var b strings.Builder
	b.WriteString("\n| Document | MUST | SHOULD | MAY |\n|---|---|---|---|\n")
	for _, d := range rules.Documents() {
		fmt.Fprintf(&b, "| %s %s | %s | %s | %s |\n", d.Cited, d.Title, tally(d.Rules, check.Must),
			tally(d.Rules, check.Should), tally(d.Rules, check.May))
	}
	b.WriteString("\n")
	return b.String()
}

func tally(rules []check.Rule, level check.Level) string {
	var checked, waived, unobservable, inapplicable int
	for _, r := range rules {
		switch {
		case r.Level != level:
		case r.Waived != "":
			waived++
		case r.Check != nil:
			checked++
		case r.TestedBy != "":
			unobservable++
		default:
			inapplicable++
		}
	}
	var parts []string
	for _, part := range []struct {
		n    int
		what string
	}{{checked, "checked"}, {waived, "not done"}, {unobservable, string(check.Unobservable)},
		{inapplicable, string(check.Inapplicable)}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.what))
		}
	}
	return strings.Join(parts, ", ")
}
