package foreign

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
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
	out := command(t, "", "--target", target, "--format", "json")
	var r report
	err := json.Unmarshal([]byte(out.stdout), &r)
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out.stdout, out.stderr)
	}
	err = os.WriteFile(file, []byte(out.stdout), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	failed := slices.ContainsFunc(r.Results, func(x result) bool {
		return x.Status == check.Broken || x.Level == check.Must && (x.Status == check.Fail || x.Status == check.Blocked)
	})
	if failed != (out.code == 1) {
		t.Errorf("exit code %d, and that a MUST does not hold is %t", out.code, failed)
	}
	t.Log(r.Summary)
	return r
}

// output is what the command printed, and its exit code.
type output struct {
	stdout, stderr string
	code           int
}

// command runs `mandate conformance` until it ends.
func command(t *testing.T, stdin string, arguments ...string) output {
	t.Helper()
	path, err := servertest.Binary()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, append([]string{"conformance"}, arguments...)...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.WaitDelay = t.TempDir(), servertest.Environment(), strings.NewReader(stdin), time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() < 0) {
		t.Fatalf("%v\n%s%s", err, &stdout, &stderr)
	}
	return output{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}
