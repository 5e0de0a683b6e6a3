package testkit

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write generated text into docs")

// DocsBlock compares the text between the marks of a name on a page of docs with the generated text. With -update it
// writes the generated text there. The name of a test that uses DocsBlock contains Docs, so that `make docs` runs it.
func DocsBlock(t testing.TB, page, name, text string) {
	t.Helper()
	file := filepath.Join(root(t), "docs", page)
	start, end := "<!-- "+name+":start -->", "<!-- "+name+":end -->"
	written, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, opened := strings.Cut(string(written), start)
	_, after, closed := strings.Cut(rest, end)
	if !opened || !closed {
		t.Fatalf("docs/%s lacks %s and %s", page, start, end)
	}
	want := before + start + "\n" + text + end + after
	if want == string(written) {
		return
	}
	if !*update {
		t.Fatalf("the block %s of docs/%s is not what the source says; run make docs", name, page)
	}
	err = os.WriteFile(file, []byte(want), 0o644)
	if err != nil {
		t.Fatal(err)
	}
}

// root returns the folder of the module. A test begins in the folder of its package.
func root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		_, err := os.Stat(filepath.Join(dir, "go.mod"))
		if err == nil {
			return dir
		}
		above := filepath.Dir(dir)
		if !errors.Is(err, fs.ErrNotExist) || above == dir {
			t.Fatal("no go.mod is above this test: ", err)
		}
		dir = above
	}
}
