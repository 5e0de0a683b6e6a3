package servertest

import (
	"os/exec"
	"runtime"
)

// StartChild starts a process, and closes exited when the process has ended. On Linux the kernel ends the process if
// the tests are killed.
func StartChild(cmd *exec.Cmd, exited chan<- struct{}) error {
	cmd.SysProcAttr = childAttributes()
	started := make(chan error)
	go func() {
		// The kernel ends the child when the thread that started it ends. So this thread has to stay.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
		close(exited)
	}()
	return <-started
}
