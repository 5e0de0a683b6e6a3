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

// MayListen tells whether the demo may listen at an address: it has no TLS, so
// it is for this machine only.
func MayListen(address string) bool {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil && ownHost(host)
}

// ownHost allows every address too, for a container that others see as this
// machine.
func ownHost(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "" || host == "localhost" || err == nil && (addr.IsLoopback() || addr.IsUnspecified())
}

// Listen listens at an address; if its port is taken, at the next free one, and says so.
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
			fmt.Fprintf(out, "Port %d is taken, so the demo uses %d.\n\n", first, n)
		}
		return l, nil
	}
}
