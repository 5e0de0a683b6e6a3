// Command metrics measures how the source is written, prints a table, and fails if a measure is worse than it has been.
// It runs in the root of the repository.
package main

import (
	"errors"
	"fmt"
	"go/token"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
)

// limits is what the source has reached. A number here may only fall.
var limits = []limit{
	{"lines over 120 columns, without tests", 0, func(t total) int { return t.long }},
	{"lines over 120 columns in tests", 198, func(t total) int { return t.longTests }},
	{"modules that go.mod requires directly", 30, func(t total) int { return t.modules }},
	{"identifiers in the median function", 22, func(t total) int { return median(t.identifiers) }},
	{"methods of the largest struct", 238, func(t total) int { return t.methods }},
	{"upward arrows between files of a package, in percent", 9, func(t total) int { return percent(t.up, t.arrows) }},
	{"packages with 15 % of them or more", 0, func(t total) int { return t.circular }},
}

// circular is the percentage of upward arrows at which the files of a package have no order any more.
const circular = 15

type limit struct {
	name    string
	most    int
	measure func(total) int
}

// total is the sum, or the worst, of all packages.
type total struct {
	long, longTests, modules, methods, up, arrows int
	circular                                      int // packages
	identifiers                                   []int
}

func main() {
	names, err := git("ls-files", "--cached", "--others", "--exclude-standard", "*.go")
	if err == nil {
		err = run(names, os.ReadFile, os.Stdout)
	}
	// In a copy without its history, this says less. So it has no limit.
	names, unknown := git("log", "-300", "--format=commit", "--name-only", "--", "*.go", ":!*_test.go")
	if unknown == nil {
		fmt.Printf("files of the median change, without tests, in the last 300 commits: %d\n", median(changed(names)))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func git(arguments ...string) ([]string, error) {
	out, err := exec.Command("git", arguments...).Output()
	return strings.Fields(string(out)), err
}

// changed counts the files after each line "commit".
func changed(names []string) []int {
	var files []int
	for _, name := range names {
		if name == "commit" {
			files = append(files, 0)
		} else {
			files[len(files)-1]++
		}
	}
	return files
}

// run measures files, prints the table, and returns an error for each limit that is exceeded.
func run(names []string, read func(string) ([]byte, error), w io.Writer) error {
	required, err := read("go.mod")
	if err != nil {
		return err
	}
	module, _, _ := strings.Cut(strings.TrimPrefix(string(required), "module "), "\n")
	packages := map[string]*measured{}
	for _, name := range names {
		if strings.Contains(name, "/testdata/") {
			continue
		}
		text, err := read(name)
		if errors.Is(err, os.ErrNotExist) {
			continue // git lists a deleted file until the deletion is committed
		}
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(name))
		if packages[dir] == nil {
			packages[dir] = &measured{module: module, places: token.NewFileSet()}
		}
		err = packages[dir].add(name, text)
		if err != nil {
			return err
		}
	}
	var sum total
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "package\t>120\t>120 tests\tidentifiers\tmethods\tof\tarrows\tupward")
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		p := packages[dir]
		up, arrows := p.arrows()
		of, methods := p.largest()
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%s\t%d\t%d %%\n",
			dir, p.long, p.longTests, median(p.identifiers), methods, of, arrows, percent(up, arrows))
		sum.long, sum.longTests = sum.long+p.long, sum.longTests+p.longTests
		sum.up, sum.arrows = sum.up+up, sum.arrows+arrows
		if up*100 >= arrows*circular && up > 0 {
			sum.circular++
		}
		sum.methods = max(sum.methods, methods)
		sum.identifiers = append(sum.identifiers, p.identifiers...)
	}
	table.Flush()
	sum.modules = direct(string(required))
	return compare(sum, limits, w)
}

// direct counts the modules that a go.mod requires because a package of ours imports them. Each has its own line.
func direct(text string) int {
	modules, inside := 0, false
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "require ("):
			inside = true
		case strings.HasPrefix(line, ")"):
			inside = false
		case inside && !strings.Contains(line, "// indirect"):
			modules++
		}
	}
	return modules
}

func compare(sum total, limits []limit, w io.Writer) error {
	var failed []error
	for _, l := range limits {
		got := l.measure(sum)
		fmt.Fprintf(w, "%s: %d, limit %d\n", l.name, got, l.most)
		if got > l.most {
			failed = append(failed, fmt.Errorf("%s: %d is worse than the limit, %d", l.name, got, l.most))
		}
		if got < l.most {
			fmt.Fprintf(w, "    lower the limit in testkit/metrics/main.go to %d\n", got)
		}
	}
	return errors.Join(failed...)
}

func median(numbers []int) int {
	if len(numbers) == 0 {
		return 0
	}
	slices.Sort(numbers)
	return numbers[len(numbers)/2]
}

// percent is rounded up, so that a limit notices the first one.
func percent(part, whole int) int {
	if whole == 0 {
		return 0
	}
	return (part*100 + whole - 1) / whole
}
