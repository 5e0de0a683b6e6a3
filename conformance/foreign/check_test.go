package foreign

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"mandate/conformance/check"
	"mandate/conformance/servertest"
	"mandate/conformance/target"
	"mandate/testkit"
)

// runs returns how often each server is checked. That a result is the same each time is tried where testkit.All.
func runs() int {
	if testkit.All() {
		return 3
	}
	return 1
}

// checkServer starts a server, checks the rules on it, and compares the results with testdata/NAME.yaml, and those of
// several runs with each other.
func checkServer(t *testing.T, name string, start func(t *testing.T) *target.Target, flags ...string) {
	known := findingsOf(t, name)
	path := filepath.Join(t.TempDir(), "target.yaml")
	err := start(t).Write(path)
	if err != nil {
		t.Fatal(err)
	}
	var reports []report
	for i := range runs() {
		reports = append(reports,
			mandate(t, path, filepath.Join(t.ArtifactDir(), fmt.Sprintf("%s-%d.json", name, i+1)), flags...))
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

// mandate checks all rules with the command, or those that the flags choose, and keeps the report in a file.
func mandate(t *testing.T, target, file string, flags ...string) report {
	t.Helper()
	out := servertest.Run(t, "", append([]string{"--target", target, "--format", "json"}, flags...)...)
	var r report
	err := json.Unmarshal([]byte(out.Stdout), &r)
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out.Stdout, out.Stderr)
	}
	err = os.WriteFile(file, []byte(out.Stdout), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	failed := slices.ContainsFunc(r.Results, func(x result) bool {
		return x.Status == check.Broken || x.Level == check.Must && (x.Status == check.Fail || x.Status == check.Blocked)
	})
	if failed != (out.Code == 1) {
		t.Errorf("exit code %d, and that a MUST does not hold is %t", out.Code, failed)
	}
	t.Log(r.Summary)
	return r
}
