package demo

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"path/filepath"
	"strconv"
	"syscall"

	"mandate/conformance/target"
	"mandate/provider/loopback"
	"mandate/provider/outbound"
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
	return host == "" || loopback.InBrowser(host) || err == nil && addr.IsUnspecified()
}

// Listen listens at an address. If its port is in use, it takes the next free port
// and says so.
func Listen(address string, out io.Writer) (net.Listener, error) {
	host, port, _ := net.SplitHostPort(address)
	first, _ := strconv.Atoi(port)
	l, n, err := listenFrom(host, first)
	if err != nil {
		return nil, fmt.Errorf("%w: choose another address with --listen", err)
	}
	if n != first {
		fmt.Fprintf(out, "Port %d is in use, so the demo uses %d.\n\n", first, n)
	}
	return l, nil
}

// listenFrom listens at the first port that is free, and returns the port.
func listenFrom(host string, first int) (net.Listener, int, error) {
	const tries = 100
	for n := first; ; n++ {
		l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(n)))
		if errors.Is(err, syscall.EADDRINUSE) && n < first+tries && n < 65535 {
			continue
		}
		return l, n, err
	}
}

// documentHost is the host of the metadata documents that a conformance check serves.
const documentHost = "127.0.0.1"

// DocumentHost chooses the port at which a conformance check of the demo serves metadata
// documents, and writes a certificate for it to a folder. The demo may fetch documents from
// this port of this machine, and from no other.
func DocumentHost(demo net.Listener, dir string) (target.Documents, *outbound.Peer, error) {
	at, err := netip.ParseAddrPort(demo.Addr().String())
	if err != nil {
		return target.Documents{}, nil, err
	}
	// The next ports are those of other demos.
	distance := 1000
	if at.Port() > 64000 {
		distance = -distance
	}
	l, port, err := listenFrom(documentHost, int(at.Port())+distance)
	if err != nil {
		return target.Documents{}, nil, err
	}
	err = l.Close() // the check listens there
	d := target.Documents{Listen: net.JoinHostPort(documentHost, strconv.Itoa(port)),
		Certificate: filepath.Join(dir, "documents.pem"), Key: filepath.Join(dir, "documents-key.pem")}
	if err != nil {
		return d, nil, err
	}
	certificate, err := target.WriteCertificate(d.Certificate, d.Key)
	return d, &outbound.Peer{Address: netip.MustParseAddrPort(d.Listen), Certificate: certificate}, err
}
