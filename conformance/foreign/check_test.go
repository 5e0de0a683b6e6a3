//go:build foreign

package foreign

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"mandate/conformance/check"
	"mandate/conformance/servertest"
	"mandate/conformance/target"
)

// runs is how often each server is checked.
const runs = 3

// checkServer starts a server, checks all rules on it three times, and compares the results with each other and with
// testdata/NAME.yaml.
func checkServer(t *testing.T, name string, start func(t *testing.T) *target.Target) {
	known := findingsOf(t, name)
	path := filepath.Join(t.TempDir(), "target.yaml")
	err := start(t).Write(path)
	if err != nil {
		t.Fatal(err)
	}
	var reports []report
	for i := range runs {
		reports = append(reports, mandate(t, path, filepath.Join(t.ArtifactDir(), fmt.Sprintf("%s-%d.json", name, i+1))))
	}
	for _, complaint := range slices.Concat(reports[0].gaps(), unexpected(known, reports[0])) {
		t.Error(complaint)
	}
	for _, other := range reports[1:] {
		for _, difference := range differences(reports[0], other) {
			t.Error(difference)
		}
	}
}

// mandate checks all rules with the command, and keeps the report in a file.
func mandate(t *testing.T, target, file string) report {
	t.Helper()
	path, err := servertest.Binary()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, "conformance", "--target", target, "--format", "json")
	cmd.Dir, cmd.Env, cmd.WaitDelay = t.TempDir(), servertest.Environment(), time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() < 0) {
		t.Fatalf("%v\n%s%s", err, &stdout, &stderr)
	}
	var r report
	err = json.Unmarshal(stdout.Bytes(), &r)
	if err != nil {
		t.Fatalf("%v\n%s%s", err, &stdout, &stderr)
	}
	err = os.WriteFile(file, stdout.Bytes(), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	failed := slices.ContainsFunc(r.Results, func(x result) bool {
		return x.Status == check.Broken || x.Level == check.Must && (x.Status == check.Fail || x.Status == check.Blocked)
	})
	if code := cmd.ProcessState.ExitCode(); failed != (code == 1) {
		t.Errorf("exit code %d, and that a MUST does not hold is %t", code, failed)
	}
	t.Log(r.Summary)
	return r
}

// cached returns a folder that outlasts the tests, for what is downloaded.
func cached(t *testing.T, name string) string {
	t.Helper()
	base, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(base, "mandate-foreign", name)
	err = os.MkdirAll(dir, 0o700)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// run runs a program in a folder until it ends, and returns its output.
func run(t *testing.T, dir, program string, arguments ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, arguments...)
	cmd.Dir, cmd.Env = dir, servertest.Environment()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", program, err, out)
	}
	return string(out)
}

// serve starts a server, waits until it answers at an address with 200, and stops it after the test.
func serve(t *testing.T, cmd *exec.Cmd, ready string) {
	t.Helper()
	var log bytes.Buffer // may be read after the process has ended
	cmd.Stdout, cmd.Stderr = &log, &log
	exited := make(chan struct{})
	err := servertest.StartChild(cmd, exited)
	if err != nil {
		t.Fatal(err)
	}
	end := func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
		select {
		case <-exited:
		case <-time.After(30 * time.Second):
			_ = cmd.Process.Kill()
			<-exited
		}
	}
	t.Cleanup(end)
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); {
		answer, err := http.Get(ready)
		if err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-exited:
			t.Fatalf("the server ended at once:\n%s", &log)
		case <-time.After(100 * time.Millisecond):
		}
	}
	end()
	t.Fatalf("the server does not answer at %s:\n%s", ready, &log)
}
