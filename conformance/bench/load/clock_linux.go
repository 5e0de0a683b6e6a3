package load

import (
	"net"
	"syscall"
	"time"
)

// pause is a sleep as exact as the kernel makes it.
func pause(d time.Duration) {
	wait := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&wait, nil) // whoever was interrupted looks at the clock and sleeps again
}

// hurry puts this thread before others. Only root may; for anybody else it stays as it is.
func hurry() { _ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, -15) }

// Loopback is the n-th address of this computer's own network.
func Loopback(n uint32) net.Addr {
	return &net.TCPAddr{IP: net.IPv4(127, 1+byte(n>>16)%200, byte(n>>8), 1+byte(n)%250)}
}
