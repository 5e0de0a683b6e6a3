package throttle

import "net/netip"

// Network is the part of an address that one subscriber has: an IPv4 address, or an
// IPv6 /64.
func Network(address string) string { return prefixOf(address, 32, 64) }

// Site is the part of an address that one customer of an internet provider may have: an IPv4
// address, or an IPv6 /48 . It is for what strangers can make: one customer has
// up to 65,536 networks.
func Site(address string) string { return prefixOf(address, 32, 48) }

// WideNetwork is the key that many subscribers share while there is no counter left
// for each of them. A client that exhausts all counters slows only its own network.
func WideNetwork(address string) string { return prefixOf(address, 16, 32) }

func prefixOf(address string, four, six int) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	ip = ip.Unmap().WithZone("")
	bits := four
	if ip.Is6() {
		bits = six
	}
	if bits == ip.BitLen() {
		return ip.String()
	}
	prefix, _ := ip.Prefix(bits) // the length is right
	return prefix.String()
}
