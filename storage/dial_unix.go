//go:build unix

package storage

import (
	"net"
	"syscall"
)

// ended reports whether a connection that waits for nothing has something to read, or its end.
func ended(conn net.Conn) bool {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return true
	}
	var n int
	var failed error
	err = raw.Read(func(fd uintptr) bool {
		n, _, failed = syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		return true
	})
	waits := failed == syscall.EAGAIN || failed == syscall.EINTR
	return err != nil || n > 0 || !waits
}
