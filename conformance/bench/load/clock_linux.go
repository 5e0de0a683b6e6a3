package load

import (
	"net"
	"syscall"
	"time"
)

// pause sleeps as exactly as the kernel can.
func pause(d time.Duration) {
	wait := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&wait, nil) // after an interrupt the caller compares the clock and sleeps again
}

// hurry raises the priority of this thread. Only root may do this; for others nothing changes.
func hurry() { _ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, -15) }

// Loopback returns the n-th address of this machine's loopback network.
func Loopback(n uint32) net.Addr {
	return &net.TCPAddr{IP: net.IPv4(127, 1+byte(n>>16)%200, byte(n>>8), 1+byte(n)%250)}
}
