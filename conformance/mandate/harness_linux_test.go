package mandate

import "syscall"

// childAttributes makes the kernel end a child process when the tests die without
// stopping it. The child is in another process group, so Ctrl-C in the terminal reaches
// only the tests, and they stop the child in order.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
