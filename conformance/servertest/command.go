package servertest

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// Command returns `mandate conformance` with arguments, in an empty folder.
func Command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	path, err := Binary()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, append([]string{"conformance"}, args...)...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = t.TempDir(), Environment(), time.Second
	return cmd
}

// Output is what a command printed, and how it ended.
type Output struct {
	Stdout, Stderr string
	Code           int
	Took           time.Duration
}

// Run runs `mandate conformance` until it ends.
func Run(t *testing.T, stdin string, args ...string) Output {
	t.Helper()
	cmd := Command(t, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	began := time.Now()
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() < 0) {
		t.Fatalf("%v\n%s%s", err, &stdout, &stderr)
	}
	return Output{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode(), time.Since(began)}
}

// Want asserts the exit code, and words in the two outputs together.
func (o Output) Want(t *testing.T, code int, words ...string) {
	t.Helper()
	all := o.Stdout + o.Stderr
	if o.Code != code {
		t.Errorf("exit code %d, want %d\n%s", o.Code, code, all)
	}
	for _, word := range words {
		// A long sentence continues on the next line.
		if !strings.Contains(all, word) && !strings.Contains(strings.Join(strings.Fields(all), " "), word) {
			t.Errorf("the output lacks %q:\n%s", word, all)
		}
	}
	if strings.Contains(all, "panic") || strings.Contains(all, "goroutine ") {
		t.Errorf("it panicked:\n%s", all)
	}
}

// Environment returns the environment without the variables that configure the server.
func Environment() []string {
	var env []string
	for _, setting := range os.Environ() {
		if !strings.HasPrefix(setting, "MANDATE_") {
			env = append(env, setting)
		}
	}
	return env
}
