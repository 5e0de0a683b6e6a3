package mandate

import "syscall"

// childAttributes let the kernel end a child when the tests die before they could stop it. The child gets a
// group of its own, so that Ctrl-C in the terminal reaches the tests only and they stop it in order.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
