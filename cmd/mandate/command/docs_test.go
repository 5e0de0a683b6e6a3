package command

import (
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"mandate/provider/clients"
)

const root = "../../.."

var (
	inlineCode = regexp.MustCompile("`[^`]*`")
	heading    = regexp.MustCompile(`^#{1,6} +(.*)`)
	links      = regexp.MustCompile(`\]\(([^) ]*)\)|<(?:img|a)[^>]* (?:src|href)="([^"]*)"`)
	autolinks  = regexp.MustCompile(`<([a-z]+:[^> ]*)>`)
	notInSlug  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// page is a Markdown file without its code.
type page struct {
	path    string // from the root of the repository
	lines   []string
	anchors map[string]bool
}

// pages reads every Markdown file of the repository.
func pages(t *testing.T) map[string]page {
	t.Helper()
	found := map[string]page{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && (name[0] == '.' || name == "testdata" || name == "node_modules"):
			return filepath.SkipDir
		case entry.IsDir() || filepath.Ext(name) != ".md":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, path)
		found[filepath.ToSlash(relative)] = readPage(filepath.ToSlash(relative), string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// readPage leaves out what stands between fences, what is indented like code, and what stands in backticks.
func readPage(path, text string) page {
	p := page{path: path, anchors: map[string]bool{}}
	fenced := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
			continue
		}
		if fenced || strings.HasPrefix(line, "    ") {
			continue
		}
		if h := heading.FindStringSubmatch(line); h != nil {
			p.anchors[slug(h[1])] = true
		}
		p.lines = append(p.lines, inlineCode.ReplaceAllString(line, "``"))
	}
	return p
}

// slug is the anchor that GitHub gives a heading.
func slug(text string) string {
	text = notInSlug.ReplaceAllString(strings.ToLower(text), "")
	return strings.ReplaceAll(text, " ", "-")
}

// TestDocsLinks checks each link: a file and an anchor exist, an address elsewhere is well formed. It asks no network.
func TestDocsLinks(t *testing.T) {
	all := pages(t)
	checked := 0
	for _, p := range all {
		for _, line := range p.lines {
			for _, found := range links.FindAllStringSubmatch(line, -1) {
				checkLink(t, all, p, found[1]+found[2])
				checked++
			}
			for _, found := range autolinks.FindAllStringSubmatch(line, -1) {
				checkAddress(t, p, found[1])
				checked++
			}
		}
	}
	if checked < 50 {
		t.Errorf("only %d links were found: the test does not read the pages as they are written", checked)
	}
}

func checkLink(t *testing.T, all map[string]page, p page, target string) {
	t.Helper()
	u, err := url.Parse(target)
	switch {
	case err != nil:
		t.Errorf("%s: %q is not a link: %v", p.path, target, err)
		return
	case u.Scheme != "":
		checkAddress(t, p, target)
		if host := u.Hostname(); host == "localhost" || strings.HasPrefix(host, "127.") {
			t.Errorf("%s: %s leads to the reader's own machine: show the address between < and >", p.path, target)
		}
		return
	case target == "", filepath.IsAbs(u.Path), u.Host != "":
		t.Errorf("%s: the link %q is not relative to the page", p.path, target)
		return
	}
	to := p.path
	if u.Path != "" {
		to = filepath.ToSlash(filepath.Join(filepath.Dir(p.path), u.Path))
	}
	_, err = os.Stat(filepath.Join(root, to))
	if err != nil || strings.HasPrefix(to, "../") {
		t.Errorf("%s: %s is not a file of this repository", p.path, target)
		return
	}
	if u.Fragment != "" && !all[to].anchors[u.Fragment] {
		t.Errorf(
			"%s: %s has no heading for #%s, but: %s", p.path, to, u.Fragment,
			strings.Join(slices.Sorted(maps.Keys(all[to].anchors)), ", "),
		)
	}
}

func checkAddress(t *testing.T, p page, address string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" {
		t.Errorf("%s: %q is not an address of the web", p.path, address)
	}
}

// TestDocsNamePaths fails where a page names a folder of the machine that it was written on.
func TestDocsNamePaths(t *testing.T) {
	home := regexp.MustCompile(`/(home|root|work|Users)/[A-Za-z0-9_.-]+`)
	for name := range pages(t) {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if found := home.Find(text); found != nil {
			t.Errorf("%s names %s, which exists only on the machine of an author", name, found)
		}
	}
}

// TestDocsIndex wants each page of docs in docs/README.md, a name in lower case, and a first paragraph that says what
// the reader can do afterwards. README.md is short enough to be read.
func TestDocsIndex(t *testing.T) {
	named := regexp.MustCompile(`^docs/[a-z0-9]+(-[a-z0-9]+)*\.md$`)
	all := pages(t)
	index := strings.Join(all["docs/README.md"].lines, "\n")
	for name, p := range all {
		if !strings.HasPrefix(name, "docs/") || name == "docs/README.md" {
			continue
		}
		if !named.MatchString(name) {
			t.Errorf("%s: name it in lower case, with hyphens", name)
		}
		if !strings.Contains(index, "]("+filepath.Base(name)+")") {
			t.Errorf("docs/README.md does not link %s", name)
		}
		if len(p.lines) < 3 || !strings.HasPrefix(p.lines[2], "After reading this page you ") {
			t.Errorf("%s: begin with what the reader can do after reading it: After reading this page you ...", name)
		}
	}
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "\n"); n > 250 {
		t.Errorf("README.md has %d lines: move what is more than 250 to docs", n)
	}
}

// TestNumbersDocs compares the numbers in README.md with the table in docs/standards.md and with the server that the
// tests install.
func TestNumbersDocs(t *testing.T) {
	standards, err := os.ReadFile(filepath.Join(root, "docs", "standards.md"))
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(standards), "|---|---|---|---|\n")
	rows, rules, checked := 0, 0, 0
	for line := range strings.Lines(table) {
		cells := strings.SplitN(line, "|", 3)
		if len(cells) != 3 {
			break
		}
		rows++
		for _, found := range regexp.MustCompile(`(\d+) (checked|not )`).FindAllStringSubmatch(cells[2], -1) {
			n, _ := strconv.Atoi(found[1])
			rules += n
			if found[2] == "checked" {
				checked += n
			}
		}
	}
	// The version that the tests install is the one that README.md names.
	manifest, err := os.ReadFile(filepath.Join(
		root, "conformance", "foreign", "testdata", "oidc-provider", "package.json",
	))
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`"oidc-provider": "([^"]+)"`).FindSubmatch(manifest)
	if version == nil {
		t.Fatalf("no version of oidc-provider in %s", manifest)
	}
	for _, text := range []string{
		"oidc-provider " + string(version[1]),
		fmt.Sprintf("the rules of %d documents", rows),
		fmt.Sprintf("Of %d rules, %d are checked over HTTP.", rules, checked),
	} {
		if !strings.Contains(strings.Join(strings.Fields(string(readme)), " "), text) {
			t.Errorf("README.md does not say %q", text)
		}
	}
}

// TestCommandsDocs compares docs/command-line.md with the commands and their flags.
func TestCommandsDocs(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "command-line.md"))
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) == 5 && strings.HasPrefix(cells[1], " `mandate ") {
			documented[strings.Trim(cells[1], " `")] = cells[3]
		}
	}
	usages := regexp.MustCompile(`(?m)^ +(?:-[a-z], )?(--[a-z-]+)`)
	known := map[string]bool{}
	for _, c := range runnable((&program{}).root()) {
		known[c.CommandPath()] = true
		row, ok := documented[c.CommandPath()]
		if !ok {
			t.Errorf("docs/command-line.md lacks %s", c.CommandPath())
		}
		if strings.Contains(row, "see that page") {
			continue
		}
		words := regexp.MustCompile(`--[a-z-]+`).FindAllString(row, -1)
		for _, usage := range usages.FindAllStringSubmatch(c.LocalFlags().FlagUsages(), -1) {
			// --help and --json stand above the table.
			if usage[1] != "--help" && usage[1] != "--json" && !slices.Contains(words, usage[1]) {
				t.Errorf("docs/command-line.md lacks %s of %s", usage[1], c.CommandPath())
			}
		}
		for _, word := range words {
			if c.Flags().Lookup(strings.TrimPrefix(word, "--")) == nil {
				t.Errorf("docs/command-line.md names %s of %s, which does not exist", word, c.CommandPath())
			}
		}
	}
	for name := range documented {
		if !known[name] {
			t.Errorf("docs/command-line.md names %s, which does not exist", name)
		}
	}
}

// runnable lists the commands below one that are no groups.
func runnable(c *cobra.Command) (found []*cobra.Command) {
	if !c.HasSubCommands() {
		return []*cobra.Command{c}
	}
	for _, below := range c.Commands() {
		if below.Name() != "help" {
			found = append(found, runnable(below)...)
		}
	}
	return found
}

var namedTest = regexp.MustCompile("`(Test[A-Z]\\w*)`")

// TestDocsSecurityTests checks that the tests exist that the security model names.
func TestDocsSecurityTests(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs/security-model.md"))
	if err != nil {
		t.Fatal(err)
	}
	var tests strings.Builder
	for _, pattern := range []string{
		"conformance/mandate/*_test.go",
		"handlers/*_test.go",
		"handlers/*/*_test.go",
		"provider/*_test.go",
		"provider/*/*_test.go",
		"storage/*_test.go",
	} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			tests.Write(source)
		}
	}
	named := namedTest.FindAllSubmatch(text, -1)
	for _, found := range named {
		if !strings.Contains(tests.String(), "\nfunc "+string(found[1])+"(") {
			t.Errorf("there is no test %s", found[1])
		}
	}
	if len(named) < 20 {
		t.Errorf("only %d tests are named", len(named))
	}
}

// TestGuidesNameWhatPagesSay wants each text in italics in the guides for people on a page.
func TestGuidesNameWhatPagesSay(t *testing.T) {
	var said strings.Builder
	files, err := filepath.Glob(filepath.Join(root, "templates", "*.html"))
	if err != nil || len(files) == 0 {
		t.Fatal(len(files), err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		said.Write(text)
	}
	for _, f := range clients.Fields() {
		fmt.Fprintf(&said, ">%s<>%s<", f.Label, f.Title())
	}
	label := regexp.MustCompile(`[^*]\*([A-Z][^*]+)\*[^*]`)
	for _, name := range []string{"docs/administer.md", "docs/for-people.md"} {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		found := label.FindAllStringSubmatch(string(text), -1)
		if len(found) < 5 {
			t.Errorf("%s: only %d labels were found", name, len(found))
		}
		for _, one := range found {
			quoted := regexp.MustCompile(`["'>]` + regexp.QuoteMeta(one[1]) + `["'<]`)
			if !quoted.MatchString(said.String()) {
				t.Errorf("%s: no page says %q", name, one[1])
			}
		}
	}
}
