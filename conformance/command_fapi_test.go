package conformance

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"slices"
	"testing"

	"mandate/conformance/check"
	"mandate/conformance/servertest"
	"mandate/conformance/target"
)

// aboutKeys are the rules of FAPI 2.0 about DPoP and private_key_jwt. They are skipped for clients with certificates.
var aboutKeys = []string{"FAPI2/5.3.2.1/clock-ahead", "FAPI2/5.3.2.1/code-bound", "FAPI2/5.3.2.1/issuer-audience",
	"FAPI2/5.3.2.1/not-of-the-future", "FAPI2/5.4.1/assertions", "FAPI2/5.4.1/proofs"}

// A server that does TLS itself satisfies the profiles of FAPI 2.0, with keys and with certificates. The commands run
// at the same time, because each waits for a minute, until a code has expired.
func TestCommandFAPI(t *testing.T) {
	s := servertest.OnDatabase(t, servertest.Secured)
	rows := []*fapiRun{
		{name: "fapi2", profile: "fapi2", target: s.Runner.Target},
		{name: "fapi2-ms", profile: "fapi2-ms", target: s.Runner.Target},
		{name: "certificates", profile: "fapi2-ms", target: s.Certified, skipped: aboutKeys},
	}
	for _, row := range rows {
		row.cmd = servertest.Command(t, "--target", targetFile(t, row.target), "--ca", s.Certificate(), "--profile",
			row.profile, "--format", "json")
		row.cmd.Stdout, row.cmd.Stderr = &row.stdout, &row.stderr
		err := row.cmd.Start()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range rows {
		t.Run(row.name, row.want)
	}
}

// fapiRun is a run of the command with a profile of FAPI 2.0.
type fapiRun struct {
	name, profile  string
	target         *target.Target
	skipped        []string // the rules of FAPI 2.0 that are skipped
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
}

// want asserts that the command succeeds, and that it has tried the rules.
func (r *fapiRun) want(t *testing.T) {
	_ = r.cmd.Wait() // the exit code shows it
	servertest.Output{Stdout: r.stdout.String(), Stderr: r.stderr.String(), Code: r.cmd.ProcessState.ExitCode()}.Want(t, 0)
	var report struct {
		Results []struct {
			ID     string
			Status check.Status
		}
	}
	err := json.Unmarshal(r.stdout.Bytes(), &report)
	if err != nil {
		t.Fatal(err)
	}
	var skipped []string
	withTLS := false
	for _, result := range report.Results {
		withTLS = withTLS || result.ID == "FAPI2/5.2.1/tls" && result.Status == check.Pass
		rule := check.Rule{ID: result.ID}
		if result.Status == check.Skip && (rule.Under("FAPI2") || rule.Under("FAPI2MS")) {
			skipped = append(skipped, result.ID)
		}
	}
	slices.Sort(skipped)
	if !withTLS || !slices.Equal(skipped, r.skipped) {
		t.Errorf("FAPI2/5.2.1/tls passed: %t; skipped are %q, want %q", withTLS, skipped, r.skipped)
	}
}
