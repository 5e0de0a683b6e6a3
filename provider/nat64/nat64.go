// Package nat64 reads the IPv4 address behind a translator from the IPv6 address that stands for it (RFC 6052).
package nat64

import "net/netip"

var (
	wellKnown = netip.MustParsePrefix("64:ff9b::/96")   // RFC 6052 §2.1
	local     = netip.MustParsePrefix("64:ff9b:1::/48") // RFC 8215 §4
)

// Target returns the IPv4 address to which a translator passes what is sent to an address, and any other address as
// it is.
func Target(a netip.Addr) netip.Addr {
	if wellKnown.Contains(a) {
		return last(a)
	}
	return a
}

// Source returns the IPv4 address of whoever sends from an address of a translator, and any other address as it is.
//
// RFC 8215 §4: a network divides the local prefix as it likes. RFC 6052 §2.2: the address is in the last 32 bits if the
// prefix has 96 bits, which is usual. All shorter ones leave the last 24 bits empty: such an address stays as it is.
func Source(a netip.Addr) netip.Addr {
	if local.Contains(a) {
		bytes := a.As16()
		if bytes[13] != 0 || bytes[14] != 0 || bytes[15] != 0 {
			return last(a)
		}
	}
	return Target(a)
}

func last(a netip.Addr) netip.Addr {
	bytes := a.As16()
	return netip.AddrFrom4([4]byte(bytes[12:]))
}
