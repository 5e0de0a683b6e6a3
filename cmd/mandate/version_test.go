package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestVersionOfABuild builds the program from this repository and compares its
// output with that of git.
func TestVersionOfABuild(t *testing.T) {
	// The go command looks for a folder of this name. In a linked work tree it is a
	// file.
	info, err := os.Stat("../../.git")
	if err != nil || !info.IsDir() {
		t.Skip("this source is not the work tree of a git repository of its own")
	}
	commit, err := exec.Command("git", "rev-parse", "HEAD").Output()
	if err != nil {
		t.Skip("git does not read this repository: ", err)
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(git(t, "log", "-1", "--format=%ct")), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	want := build{
		Commit:   strings.TrimSpace(string(commit)),
		Date:     time.Unix(seconds, 0).UTC().Format(time.RFC3339),
		Modified: git(t, "status", "--porcelain") != "",
		Go:       runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Version:  "v9.8.7",
	}
	program := builtProgram(t, "-buildvcs=true", "-ldflags=-X main.version=v9.8.7")
	var got build
	err = json.Unmarshal([]byte(printedBy(t, program, "version", "--json")), &got)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if line := printedBy(t, program, "version"); line != want.String()+"\n" {
		t.Errorf("got %q, want %q", line, want.String())
	}
}

func TestVersionLine(t *testing.T) {
	repository := []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"},
		{Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}, {Key: "vcs.modified", Value: "false"}}
	modified := append(repository[:3:3], debug.BuildSetting{Key: "vcs.modified", Value: "true"})
	for _, test := range []struct {
		info debug.BuildInfo
		want string
	}{
		{debug.BuildInfo{}, "mandate (devel), commit unknown, "},
		{debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: repository}, "mandate v1.2.3, commit 0123456789ab of 2026-01-02T03:04:05Z, "},
		{debug.BuildInfo{Settings: modified}, "mandate (devel), commit 0123456789ab of 2026-01-02T03:04:05Z with uncommitted changes, "},
	} {
		want := test.want + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH
		if got := buildOf(&test.info).String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func git(t *testing.T, arguments ...string) string {
	t.Helper()
	return output(t, exec.Command("git", arguments...))
}

func builtProgram(t *testing.T, flags ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mandate")
	output(t, exec.Command("go", append(append([]string{"build", "-o", path}, flags...), ".")...))
	return path
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
