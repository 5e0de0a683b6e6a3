//go:build !linux

package load

import (
	"net"
	"time"
)

func pause(d time.Duration) { time.Sleep(d) }

func hurry() {}

// Loopback is nil, which leaves the address to the system.
func Loopback(uint32) net.Addr { return nil }
