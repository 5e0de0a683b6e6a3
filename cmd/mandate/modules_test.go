package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mandate/testkit"
)

const thisProgram = "mandate/cmd/mandate"

// ours is the path of this module.
var ours = strings.TrimSuffix(thisProgram, "/cmd/mandate")

// linked is a package of the binary, as `go list` has it.
type linked struct {
	ImportPath string
	Imports    []string
	Module     *struct{ Path string } // nil in the standard library
}

// TestModulesDocs compares docs/dependencies.md with the modules that the program links: each direct dependency has a
// reason there, and each indirect one names the direct ones that link it.
func TestModulesDocs(t *testing.T) {
	packages := linkedPackages(t)
	direct := directModules(packages)
	if diff := cmp.Diff(direct, reasonedModules(t)); diff != "" {
		t.Errorf("the modules with a reason in docs/dependencies.md are not those that are imported: %s", diff)
	}
	brought := map[string][]string{}
	for module := range modulesWithout(packages, "") {
		if !slices.Contains(direct, module) {
			by := broughtBy(packages, direct, module)
			brought[by] = append(brought[by], module)
		}
	}
	var table strings.Builder
	table.WriteString("\n| Linked for | Modules |\n|---|---|\n")
	for _, by := range slices.Sorted(maps.Keys(brought)) {
		slices.Sort(brought[by])
		fmt.Fprintf(&table, "| %s | `%s` |\n", by, strings.Join(brought[by], "`, `"))
	}
	testkit.DocsBlock(t, "dependencies.md", "modules", table.String()+"\n")
}

// directModules are those that a package of ours imports.
func directModules(packages map[string]linked) []string {
	direct := map[string]bool{}
	for _, p := range packages {
		if p.Module == nil || p.Module.Path != ours {
			continue
		}
		for _, imported := range p.Imports {
			if m := packages[imported].Module; m != nil && m.Path != ours {
				direct[m.Path] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(direct))
}

// reasonedModules are what stands in the first column of the first table of docs/dependencies.md.
func reasonedModules(t *testing.T) []string {
	t.Helper()
	written, err := os.ReadFile("../../docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(written), "\n## Direct dependencies\n")
	table, _, _ := strings.Cut(section, "<!-- modules:start -->")
	var found []string
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) != 4 {
			continue
		}
		for i, name := range strings.Split(cells[1], "`") {
			if i%2 == 1 {
				found = append(found, name)
			}
		}
	}
	slices.Sort(found)
	return found
}

// broughtBy names the direct modules without each of which the other module would not be linked.
func broughtBy(packages map[string]linked, direct []string, module string) string {
	var by []string
	for _, d := range direct {
		if !modulesWithout(packages, d)[module] {
			by = append(by, "`"+d+"`")
		}
	}
	if by == nil {
		return "more than one of them"
	}
	return strings.Join(by, " with ")
}

// modulesWithout are the modules that the program would link if one of them imported nothing.
func modulesWithout(packages map[string]linked, without string) map[string]bool {
	modules, seen := map[string]bool{}, map[string]bool{}
	var visit func(string)
	visit = func(path string) {
		p := packages[path]
		if seen[path] || p.Module == nil || p.Module.Path == without {
			return
		}
		seen[path] = true
		if p.Module.Path != ours {
			modules[p.Module.Path] = true
		}
		for _, imported := range p.Imports {
			visit(imported)
		}
	}
	visit(thisProgram)
	return modules
}

func linkedPackages(t *testing.T) map[string]linked {
	t.Helper()
	packages := map[string]linked{}
	for decoder := json.NewDecoder(
		strings.NewReader(goList(t, "-deps", "-json=ImportPath,Imports,Module", thisProgram))); ; {
		var p linked
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			return packages
		}
		if err != nil {
			t.Fatal(err)
		}
		packages[p.ImportPath] = p
	}
}

// SQLite is translated for one release of its libc, and its authors ask that no other is linked.
func TestModulesLibc(t *testing.T) {
	file, err := os.ReadFile(strings.TrimSpace(goList(t, "-m", "-f", "{{.GoMod}}", "modernc.org/sqlite")))
	if err != nil {
		t.Fatal(err)
	}
	linked := strings.TrimSpace(goList(t, "-m", "modernc.org/libc"))
	if !slices.Contains(strings.Split(string(file), "\n"), "\t"+linked) {
		t.Errorf("go.mod has %s, and the go.mod of modernc.org/sqlite has another version", linked)
	}
}

// goList asks for a fixed platform, so that the answer is the same on each. It needs no network: what it reads was
// there to build the test.
func goList(t *testing.T, arguments ...string) string {
	t.Helper()
	list := exec.Command("go", append([]string{"list"}, arguments...)...)
	list.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	var stderr bytes.Buffer
	list.Stderr = &stderr
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	return string(out)
}
