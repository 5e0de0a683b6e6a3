package servertest

import "syscall"

// childAttributes make the kernel stop the server if the tests are killed.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
