//go:build foreign

package foreign

import (
	"net/http"
	"os/exec"
	"testing"

	"mandate/conformance/servertest"
)

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
	servertest.Serve(t, cmd, http.DefaultClient, ready, func(status int) bool { return status == http.StatusOK })
}
