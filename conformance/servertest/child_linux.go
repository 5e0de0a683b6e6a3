package servertest

import "syscall"

// childAttributes let the kernel end the server when the tests die before they could stop it.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
