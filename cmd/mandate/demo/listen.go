package demo

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"syscall"
)

// MayListen reports whether the demo may listen at an address. It has no TLS, so it
// works on this machine only.
func MayListen(address string) bool {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil && ownHost(host)
}

// ownHost allows loopback addresses, and the unspecified address for a container
// whose ports are published on this machine.
func ownHost(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "" || host == "localhost" || err == nil && (addr.IsLoopback() || addr.IsUnspecified())
}

// Listen listens at an address. If its port is in use, it takes the next free port
// and says so.
func Listen(address string, out io.Writer) (net.Listener, error) {
	const tries = 100
	host, port, _ := net.SplitHostPort(address)
	first, _ := strconv.Atoi(port)
	for n := first; ; n++ {
		l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(n)))
		if errors.Is(err, syscall.EADDRINUSE) && n < first+tries && n < 65535 {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%w: choose another address with --listen", err)
		}
		if n != first {
			fmt.Fprintf(out, "Port %d is in use, so the demo uses %d.\n\n", first, n)
		}
		return l, nil
	}
}
