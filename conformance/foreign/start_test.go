//go:build foreign

package foreign

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"mandate/conformance/servertest"
)

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
