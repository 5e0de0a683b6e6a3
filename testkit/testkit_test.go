package testkit

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestMissingIsLoud(t *testing.T) {
	for _, c := range []struct{ ci, require, want string }{
		{"", "", "skip"},
		{"true", "", "fatal"},
		{"", "all", "fatal"},
	} {
		t.Setenv("CI", c.ci)
		t.Setenv("MANDATE_TEST_REQUIRE", c.require)
		for what, ends := range map[string]func(testing.TB){
			"a database":                   func(t testing.TB) { Missing(t, "a database") },
			"apt-get install some-package": func(t testing.TB) { Program(t, "no-such-program", "some-package") },
		} {
			r := &Recorder{TB: t}
			ends(r)
			if !strings.HasPrefix(r.Said, c.want) || !strings.Contains(r.Said, what) {
				t.Errorf("CI=%q MANDATE_TEST_REQUIRE=%q: %q", c.ci, c.require, r.Said)
			}
		}
	}
}

// A test skips itself only by this package, so that CI=true makes it fail.
func TestNoOtherSkips(t *testing.T) {
	files := 0
	err := filepath.WalkDir(root(t), func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() &&
			(entry.Name() == "testdata" || entry.Name() == "node_modules" || path != root(t) && entry.Name()[0] == '.'):
			return filepath.SkipDir
		case filepath.Ext(path) != ".go" || filepath.Base(filepath.Dir(path)) == "testkit":
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		imports := func(spec *ast.ImportSpec) bool { return spec.Path.Value == strconv.Quote("testing") }
		if !slices.ContainsFunc(file.Imports, imports) {
			return nil
		}
		files++
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			method, ok := call.Fun.(*ast.SelectorExpr)
			if ok && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, method.Sel.Name) {
				t.Errorf("%s skips a test: use testkit.Missing or testkit.NotShort", set.Position(call.Pos()))
			}
			return true
		})
		return nil
	})
	if err != nil || files < 100 {
		t.Fatal(files, err)
	}
}

// Every flow meets the same database each time, both databases have about half of them, and one variable makes it both.
func TestDatabases(t *testing.T) {
	t.Setenv("MANDATE_TEST_ALL", "")
	count := map[string]int{}
	for i := range 1000 {
		chosen := Databases(strconv.Itoa(i))
		if len(chosen) != 1 || !slices.Equal(chosen, Databases(strconv.Itoa(i))) {
			t.Fatal(i, chosen)
		}
		count[chosen[0]]++
	}
	if len(count) != 2 || count["sqlite"] < 400 || count["postgres"] < 400 {
		t.Error(count)
	}
	t.Setenv("MANDATE_TEST_ALL", "true")
	if !slices.Equal(Databases("1"), []string{"sqlite", "postgres"}) {
		t.Error(Databases("1"))
	}
}

// The packages that `make test` tests without the race detector have one goroutine, unless a package that they import
// starts others.
func TestAloneStartNoGoroutine(t *testing.T) {
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(strings.ReplaceAll(string(makefile), "\\\n", ""), "\nALONE :=")
	list, _, found := strings.Cut(list, "\n")
	starts := regexp.MustCompile(`(?m)^\s*go \S|\bgo func|\.Go\(|Parallel\(|AfterFunc|NewServer|net\.Listen|` +
		`smtpd|synctest`)
	for _, name := range strings.Fields(list) {
		files, err := filepath.Glob(filepath.Join("..", strings.TrimPrefix(name, "mandate/"), "*.go"))
		if err != nil || len(files) == 0 {
			t.Errorf("%s: %d files, %v", name, len(files), err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if start := starts.Find(text); start != nil {
				t.Errorf("%s may start a goroutine: %q", file, start)
			}
		}
	}
	if !found {
		t.Error("the Makefile has no ALONE")
	}
}

// A program that was given to the tests must have been built as they would build it: without the race detector it would
// report no race.
func TestBuiltWantsTheDetector(t *testing.T) {
	t.Parallel()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	built, ok := debug.ReadBuildInfo()
	if !ok {
		t.Fatal("the test program does not say how it was built")
	}
	has := slices.Contains(built.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
	if err := watched(own, has); err != nil {
		t.Error(err)
	}
	if watched(own, !has) == nil {
		t.Errorf("a program that was built with -race: %t is taken for the other one", has)
	}
}
