package main

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write generated text into docs")

// docsBlock compares the text between the marks of a name on a page of docs with the generated text. With -update it
// writes the generated text there.
func docsBlock(t *testing.T, page, name, text string) {
	t.Helper()
	page = "../../docs/" + page
	start, end := "<!-- "+name+":start -->", "<!-- "+name+":end -->"
	written, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, opened := strings.Cut(string(written), start)
	_, after, closed := strings.Cut(rest, end)
	if !opened || !closed {
		t.Fatalf("%s lacks %s and %s", page, start, end)
	}
	want := before + start + "\n" + text + end + after
	if want == string(written) {
		return
	}
	if !*update {
		t.Fatalf("the block %s of %s is not what the source says; run make docs", name, page)
	}
	err = os.WriteFile(page, []byte(want), 0o644)
	if err != nil {
		t.Fatal(err)
	}
}
