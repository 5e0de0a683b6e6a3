package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mandate/testkit"
)

// TestVersionOfABuild builds the program from a git repository and compares its output with that of git.
func TestVersionOfABuild(t *testing.T) {
	repository := newRepository(t)
	type build struct {
		Version, Commit, Date, Go, Platform string
		Modified                            bool
	}
	want := build{
		Commit:   strings.TrimSpace(repository.git(t, "rev-parse", "HEAD")),
		Date:     repository.date,
		Go:       runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Version:  "v9.8.7",
	}
	for _, modified := range []bool{false, true} {
		if modified {
			want.Modified = true
			repository.write(t, "new.txt", "a file that is not committed")
		}
		program := filepath.Join(t.TempDir(), "mandate")
		flags := append(sameFlags(t), "-o", program, "-buildvcs=true", "-ldflags=-s -w -X main.version=v9.8.7")
		output(t, repository.command("go", append([]string{"build"}, flags...)...))
		var got build
		err := json.Unmarshal([]byte(printedBy(t, program, "version", "--json")), &got)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		start := "mandate " + want.Version + ", commit " + want.Commit[:12] + " of " + want.Date
		if line := printedBy(
			t, program, "version",
		); !strings.HasPrefix(line, start) || strings.Contains(line, "uncommitted") != modified {
			t.Errorf("got %q, want %q", line, start)
		}
	}
}

// sameFlags returns the flags for the compiler with which this test was built, so that the go command can use the same
// compiled packages again.
func sameFlags(t *testing.T) []string {
	t.Helper()
	info, ok := debug.ReadBuildInfo()
	if !ok {
		t.Fatal("this test does not say how it was built: compile it in module mode")
	}
	var flags []string
	for _, s := range info.Settings {
		if s.Key == "-race" || s.Key == "-gcflags" {
			flags = append(flags, s.Key+"="+s.Value)
		}
	}
	return flags
}

// repository is a git repository with one commit: a copy of the sources of this package. Its module replaces the
// module mandate with this source, so that the go command compiles only the copy.
type repository struct{ dir, date string }

func newRepository(t *testing.T) repository {
	t.Helper()
	testkit.Program(t, "git", "git")
	r := repository{t.TempDir(), "2026-01-02T03:04:05Z"}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(sources, "../../go.mod", "../../go.sum") {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		r.write(t, filepath.Base(name), string(text))
	}
	for _, arguments := range [][]string{
		{"-module=program"},
		{"-require=" + ours + "@v0.0.0", "-replace=" + ours + "=" + root},
		{"-replace=github.com/ory/x=" + filepath.Join(root, "provider", "framework", "oryx")},
	} {
		output(t, r.command("go", append([]string{"mod", "edit"}, arguments...)...))
	}
	r.git(t, "init", "--quiet")
	r.git(t, "add", ".")
	r.git(t, "commit", "--quiet", "--message=All")
	return r
}

func (r repository) write(t *testing.T, name, text string) {
	t.Helper()
	err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o644)
	if err != nil {
		t.Fatal(err)
	}
}

func (r repository) git(t *testing.T, arguments ...string) string {
	t.Helper()
	return output(t, r.command("git", arguments...))
}

// command returns a command in the folder of the repository. The settings of the machine have no effect on git.
func (r repository) command(name string, arguments ...string) *exec.Cmd {
	command := exec.Command(name, arguments...)
	command.Dir = r.dir
	command.Env = append(
		slices.DeleteFunc(os.Environ(), func(setting string) bool { return strings.HasPrefix(setting, "GIT_") }),
		"GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull, "GIT_AUTHOR_NAME=Test",
		"GIT_AUTHOR_EMAIL=test@example.org", "GIT_COMMITTER_NAME=Test", "GIT_COMMITTER_EMAIL=test@example.org",
		"GIT_AUTHOR_DATE="+r.date, "GIT_COMMITTER_DATE="+r.date,
	)
	return command
}

func printedBy(t *testing.T, program string, arguments ...string) string {
	t.Helper()
	command := exec.Command(program, arguments...)
	command.Dir = t.TempDir()
	return output(t, command)
}

func output(t *testing.T, command *exec.Cmd) string {
	t.Helper()
	command.Stderr = os.Stderr
	text, err := command.Output()
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	return string(text)
}
