package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mandate/testkit"
)

const (
	path = "example.org/team/other"
	uses = `package main

import "%s/handlers/resource"

func main() {
	_, err := resource.NewGuard(resource.GuardConfig{})
	println(err.Error())
}
`
)

// TestRename renames a copy of this repository, builds a program of another module that imports the guard, and gives
// the copy its old path again.
func TestRename(t *testing.T) {
	testkit.Program(t, "git", "git")
	program, copied, other := filepath.Join(t.TempDir(), "rename"), t.TempDir(), t.TempDir()
	runs(t, ".", "go", "build", "-o", program, ".")
	old := runs(t, ".", "go", "list", "-m")
	names := runs(t, "../..", "git", "ls-files", "--cached", "--others", "--exclude-standard")
	for _, name := range strings.Split(names, "\n") {
		text, err := os.ReadFile(filepath.Join("../..", name))
		if err == nil { // git lists deleted files too
			write(t, filepath.Join(copied, name), text)
		}
	}
	runs(t, copied, "git", "init", "--quiet")
	runs(t, copied, "git", "add", ".")
	runs(t, copied, program, path)

	// The go command finds every import, also those of the tests, and none has the old path.
	for line := range strings.Lines(runs(t, copied, "go", "list", "-deps", "-test", "./...")) {
		if strings.HasPrefix(line, old+"/") {
			t.Errorf("%s is left", line)
		}
	}
	write(t, filepath.Join(other, "main.go"), fmt.Appendf(nil, uses, path))
	sums, err := os.ReadFile(filepath.Join(copied, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(other, "go.sum"), sums)
	runs(t, other, "go", "mod", "init", "other")
	runs(t, other, "go", "mod", "edit", "-require="+path+"@v0.0.0", "-replace="+path+"="+copied)
	runs(t, other, "go", "build", "-mod=mod", "-o", "program", ".")
	for _, page := range []string{"docs/protect-an-api.md", "templates/snippets/api.go.txt", "Makefile"} {
		if runs(t, copied, "git", "diff", "--stat", page) == "" {
			t.Errorf("%s does not say the new path", page)
		}
	}

	runs(t, copied, program, old)
	if left := runs(t, copied, "git", "diff", "--stat"); left != "" {
		t.Errorf("after the second renaming, these files differ:\n%s", left)
	}
}

func TestMentions(t *testing.T) {
	written := mentions("mandate", []string{"handlers"})
	for text, want := range map[string]string{
		`"mandate/handlers/resource"`:                         `"X/handlers/resource"`,
		"mandate/handlers mandate/handlers":                   "X/handlers X/handlers",
		"-require mandate@v0.0.0 -replace mandate=../mandate": "-require X@v0.0.0 -replace X=../mandate",
		"conformance/mandate/handlers":                        "",
		"mandate/handlersome":                                 "",
		"postgres://mandate@host":                             "",
		`"mandate/"`:                                          "",
	} {
		if want == "" {
			want = text
		}
		if got := written.ReplaceAllString(text, "${1}X${2}"); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}

func write(t *testing.T, name string, text []byte) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(name), 0o755)
	if err == nil {
		err = os.WriteFile(name, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func runs(t *testing.T, dir, name string, arguments ...string) string {
	t.Helper()
	command := exec.Command(name, arguments...)
	command.Dir = dir
	command.Stderr = t.Output()
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%s %q: %v", name, arguments, err)
	}
	return strings.TrimSpace(string(out))
}
