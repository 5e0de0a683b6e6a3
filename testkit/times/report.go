package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// event is a line of go test -json (go doc cmd/test2json).
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
	Elapsed float64 // seconds
}

// name is the name of a test, or of a package if Test is empty.
type name struct{ Package, Test string }

// report collects the events, and prints the output of what has failed.
type report struct {
	mu        sync.Mutex
	to        io.Writer
	failed    bool
	output    map[name]*strings.Builder
	took      map[name]time.Duration   // of all runs: some packages are tested with and without the race detector
	processor map[string]time.Duration // by package
}

func newReport(to io.Writer) *report {
	return &report{
		to:        to,
		output:    map[name]*strings.Builder{},
		took:      map[name]time.Duration{},
		processor: map[string]time.Duration{},
	}
}

// fail prints why not all tests can be known.
func (r *report) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = true
	fmt.Fprintln(r.to, err)
}

func (r *report) readFile(file string) {
	in, err := os.Open(file)
	if err == nil {
		err = r.read(in)
		in.Close()
	}
	if err != nil {
		r.fail(fmt.Errorf("%s: %w", file, err))
	}
}

// read reads the events of a command, up to its exit code.
func (r *report) read(in io.Reader) error {
	code := ""
	err := lines(in, func(line []byte) error {
		if end, found := strings.CutPrefix(string(line), "exit code "); found {
			code = strings.TrimSpace(end)
			return nil
		}
		var e event
		err := json.Unmarshal(line, &e)
		r.mu.Lock()
		defer r.mu.Unlock()
		if err != nil { // a message of go itself
			_, err = r.to.Write(line)
			return err
		}
		r.add(e)
		return nil
	})
	if err == nil && code != "0" {
		err = fmt.Errorf("exit code of the tests: %q", code)
	}
	return err
}

func (r *report) add(e event) {
	of := name{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		fmt.Fprint(r.to, e.Output)
	case "output":
		if r.output[of] == nil {
			r.output[of] = &strings.Builder{}
		}
		r.output[of].WriteString(e.Output)
	case "pass", "fail", "skip":
		r.took[of] += time.Duration(e.Elapsed * float64(time.Second))
		if e.Test == "" {
			r.packageEnds(e)
			return
		}
		if e.Action != "fail" { // the output of a test that has not failed is of no interest
			delete(r.output, of)
		}
	}
}

// packageEnds prints the output of a package: all that is left if it has failed, and its last line in each case.
func (r *report) packageEnds(e event) {
	own := name{Package: e.Package}
	if e.Action == "fail" {
		r.failed = true
		for _, of := range r.left(e.Package) {
			fmt.Fprint(r.to, r.output[of])
		}
		fmt.Fprint(r.to, text(r.output[own]))
	} else {
		fmt.Fprint(r.to, lastLine(text(r.output[own])))
	}
	maps.DeleteFunc(r.output, func(of name, _ *strings.Builder) bool { return of.Package == e.Package })
}

// left returns the tests of a package that have failed, or have not ended, in the order of their names.
func (r *report) left(of string) []name {
	var left []name
	for n := range r.output {
		if n.Package == of && n.Test != "" {
			left = append(left, n)
		}
	}
	slices.SortFunc(left, func(a, b name) int { return cmp.Compare(a.Test, b.Test) })
	return left
}

func text(b *strings.Builder) string {
	if b == nil {
		return ""
	}
	return b.String()
}

func lastLine(text string) string {
	begin := strings.LastIndexByte(strings.TrimSuffix(text, "\n"), '\n')
	return text[begin+1:]
}

// processorTimes reads the processor times of the packages of the module in the folder root.
func (r *report) processorTimes(file, module, root string) error {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // no package has run: its tests could not be built
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return lines(f, func(line []byte) error {
		var u used
		err := json.Unmarshal(line, &u)
		if err != nil {
			return err
		}
		below, err := filepath.Rel(root, u.Folder)
		r.processor[path.Join(module, filepath.ToSlash(below))] += u.Processor
		return err
	})
}

const slowest = 40

// print prints the slowest tests, and the wall time and the processor time of each package that took a second or more.
func (r *report) print() {
	var tests, packages []name
	for of := range r.took {
		switch {
		case of.Test == "" && max(r.took[of], r.processor[of.Package]) >= time.Second:
			packages = append(packages, of)
		case of.Test != "" && !strings.Contains(of.Test, "/"):
			tests = append(tests, of)
		}
	}
	byTime := func(a, b name) int {
		return cmp.Or(cmp.Compare(r.took[b], r.took[a]), cmp.Compare(a.Package+a.Test, b.Package+b.Test))
	}
	slices.SortFunc(tests, byTime)
	slices.SortFunc(packages, byTime)
	fmt.Fprintf(r.to, "\nThe slowest tests, which share the processors with those that run at the same time:\n")
	for _, of := range tests[:min(slowest, len(tests))] {
		fmt.Fprintf(r.to, "%9.1fs  %s %s\n", r.took[of].Seconds(), of.Package, of.Test)
	}
	fmt.Fprintf(r.to, "\nPackages: wall time, and processor time with the programs that the tests run\n")
	var wall, processor time.Duration
	for _, of := range packages {
		fmt.Fprintf(r.to, "%9.1fs %9.1fs  %s\n", r.took[of].Seconds(), r.processor[of.Package].Seconds(), of.Package)
		wall += r.took[of]
		processor += r.processor[of.Package]
	}
	fmt.Fprintf(r.to, "%9.1fs %9.1fs  in all\n", wall.Seconds(), processor.Seconds())
}

// used is a line of the file of processor times. The processes that a test has started and waited for are in it.
type used struct {
	Folder    string // of the package
	Processor time.Duration
}

// lines calls do with each line of a reader.
func lines(r io.Reader, do func([]byte) error) error {
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			if failed := do(line); failed != nil {
				return failed
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
