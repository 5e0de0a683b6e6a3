// Package loopback recognizes the names and addresses by which a computer reaches itself.
package loopback

import (
	"net/netip"
	"strings"
)

// Is reports whether a connection to a host, written without its port, stays on this computer: it is a loopback
// address or localhost. For a name below localhost, this program could ask the DNS, which may name any address.
func Is(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}

// IsName reports whether a host is localhost, or a name below it.
//
// RFC 6761 §6.3: names that end in .localhost are those of the loopback interface, and browsers ask no DNS for them.
func IsName(host string) bool {
	lower := strings.ToLower(host)
	return lower == "localhost" || strings.HasSuffix(lower, ".localhost") && !strings.HasPrefix(lower, ".")
}

// InBrowser reports whether a browser that opens a host stays on the computer that it runs on.
func InBrowser(host string) bool { return Is(host) || IsName(host) }
