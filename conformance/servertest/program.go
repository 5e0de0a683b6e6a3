package servertest

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Cached returns a folder that outlasts the tests, for what is downloaded.
func Cached(t testing.TB, name string) string {
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

// Serve starts a server of another project, waits until it answers a client at an address with a status that
// means that it is ready, and stops it after the test. If the test fails, its log has what the server printed.
func Serve(t testing.TB, cmd *exec.Cmd, client *http.Client, address string, ready func(status int) bool) {
	t.Helper()
	var log bytes.Buffer // may be read after the process has ended
	cmd.Stdout, cmd.Stderr = &log, &log
	exited := make(chan struct{})
	err := StartChild(cmd, exited)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
		select {
		case <-exited:
		case <-time.After(30 * time.Second):
			_ = cmd.Process.Kill()
			<-exited
		}
		if t.Failed() {
			t.Logf("%s printed:\n%s", filepath.Base(cmd.Path), &log)
		}
	})
	for deadline := time.Now().Add(10 * time.Minute); time.Now().Before(deadline); {
		answer, err := client.Get(address)
		if err == nil {
			answer.Body.Close()
			if ready(answer.StatusCode) {
				return
			}
		}
		select {
		case <-exited:
			t.Fatal("the server ended at once")
		case <-time.After(100 * time.Millisecond):
		}
	}
	t.Fatal("the server does not answer at " + address)
}
