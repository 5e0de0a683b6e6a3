package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func events(lines ...string) *strings.Reader {
	return strings.NewReader(strings.Join(lines, "\n") + "\n")
}

const passes = `{"Action":"output","Package":"m/a","Test":"TestOne","Output":"of no interest\n"}
{"Action":"pass","Package":"m/a","Test":"TestOne","Elapsed":3}
{"Action":"pass","Package":"m/a","Test":"TestOne/part","Elapsed":2}
{"Action":"output","Package":"m/a","Output":"PASS\n"}
{"Action":"output","Package":"m/a","Output":"ok  \tm/a\t3.5s\n"}
{"Action":"pass","Package":"m/a","Elapsed":3.5}`

func TestReport(t *testing.T) {
	var out strings.Builder
	r := newReport(&out)
	err := r.read(events(passes, "exit code 0"))
	if err != nil || r.failed {
		t.Fatal(err, r.failed)
	}
	if out.String() != "ok  \tm/a\t3.5s\n" {
		t.Errorf("of a package that passes it prints %q", out.String())
	}
	file := filepath.Join(t.TempDir(), "processor")
	for _, line := range []used{{"/module/a", 4 * time.Second}, {"/module/b/a", time.Hour}} {
		err := appendLine(file, line)
		if err != nil {
			t.Fatal(err)
		}
	}
	err = r.processorTimes(file, "m", "/module")
	if err != nil {
		t.Fatal(err)
	}
	r.print()
	for _, line := range []string{"3.0s  m/a TestOne\n", "3.5s       4.0s  m/a\n", "3.5s       4.0s  in all\n"} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("%q is missing in %s", line, out.String())
		}
	}
	if strings.Contains(out.String(), "part") {
		t.Error("a part of a test stands beside its test")
	}
}

// Nothing that has failed may look as if it had passed, and its output is printed.
func TestReportOfFailures(t *testing.T) {
	for name, c := range map[string]struct {
		lines []string
		want  string
	}{
		"a test": {[]string{
			`{"Action":"output","Package":"m/a","Test":"TestOne","Output":"the reason\n"}`,
			`{"Action":"fail","Package":"m/a","Test":"TestOne"}`,
			`{"Action":"output","Package":"m/a","Output":"FAIL\n"}`,
			`{"Action":"fail","Package":"m/a"}`, "exit code 1"}, "the reason\nFAIL\n"},
		"a test that has not ended": {[]string{
			`{"Action":"output","Package":"m/a","Test":"TestOne","Output":"panic: the reason\n"}`,
			`{"Action":"fail","Package":"m/a"}`, "exit code 1"}, "panic: the reason\n"},
		"the compiler": {[]string{
			`{"Action":"build-output","ImportPath":"m/a","Output":"a.go:1: the reason\n"}`,
			`{"Action":"fail","Package":"m/a"}`, "exit code 1"}, "a.go:1: the reason\n"},
		"go":                {[]string{"no such folder", "exit code 1"}, "no such folder\n"},
		"a stopped command": {[]string{passes}, "ok  \tm/a\t3.5s\n"},
	} {
		var out strings.Builder
		r := newReport(&out)
		err := r.read(events(c.lines...))
		if err == nil {
			t.Error(name, "is no failure")
		}
		if out.String() != c.want {
			t.Errorf("%s: it prints %q", name, out.String())
		}
	}
}

// The binary of the tests is the program that is run.
func TestRun(t *testing.T) {
	if code := os.Getenv("TIMES_TEST_CODE"); code != "" {
		if code == "1" {
			os.Exit(1)
		}
		return
	}
	file := filepath.Join(t.TempDir(), "processor")
	for want, code := range []string{"0", "1"} {
		t.Setenv("TIMES_TEST_CODE", code)
		if got := run(file, []string{os.Args[0], "-test.run", "^TestRun$"}); got != want {
			t.Errorf("the exit code is %d, want %d", got, want)
		}
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	r := newReport(os.Stderr)
	err = r.processorTimes(file, "m", filepath.Dir(here))
	if err != nil || r.processor["m/times"] <= 0 {
		t.Error(err, r.processor)
	}
}
