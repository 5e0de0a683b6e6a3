package servertest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"mandate/conformance/target"
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

// AddPerson adds a person who has a value for every claim (OIDC Core §5.1).
func (s *Server) AddPerson(u target.User) error {
	_, err := s.CLI(u.Password+"\n", "user", "add", u.Username, "--password-stdin", "--email", u.Username+"@example.com",
		"--first-name", "Alice", "--last-name", "Liddell", "--group", "readers", "--email-verified", "--middle-name",
		"Pleasance", "--nickname", "al",
		"--gender", "female", "--birthdate", "0000-05-04", "--zoneinfo", "Europe/London", "--locale", "en-GB",
		"--phone-number", "+441865276150", "--phone-number-verified", "--profile", "https://alice.example/",
		"--picture", "https://alice.example/p.png", "--website", "https://alice.example/w",
		"--address", "Christ Church\nOxford", "--street-address", "Christ Church", "--locality", "Oxford", "--country", "UK")
	return err
}

// CLI runs the binary with arguments, and returns its output.
func (s *Server) CLI(stdin string, args ...string) (string, error) {
	path, err := Binary()
	if err != nil {
		return "", err
	}
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = s.dir, Environment(), strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	if err != nil {
		return "", fmt.Errorf("mandate %s: %w\n%s", strings.Join(args, " "), err, &stderr)
	}
	return stdout.String(), nil
}
