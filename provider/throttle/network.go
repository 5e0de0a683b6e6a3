package throttle

import (
	"net/netip"

	"mandate/provider/nat64"
)

// What is counted by address is counted twice: for the network of one subscriber, and for the
// site of one customer, who may have many networks. A request takes a try of both. So a customer
// with an IPv6 /48, which has 65,536 networks, or with an IPv4 /24 has the tries of a few
// subscribers and not of all of them. The site is asked first: it also bounds the number of
// counters that one customer can use up.

// From returns the try of whoever sends from an address. what says what is tried, so that each
// thing has counters of its own, or is "".
func From(kind int, what, address string) Try {
	return Try{Kind: kind, Key: what + Network(address), Site: what + Site(address), Wide: what + WideNetwork(address)}
}

// Network is the part of an address that one subscriber has: an IPv4 address, or an
// IPv6 /64.
func Network(address string) string { return prefixOf(address, 32, 64) }

// Site is the part of an address that one customer of an internet provider may have: an IPv4
// /24, or an IPv6 /48. What strangers store is shared by site. Behind NAT64, the
// IPv4 address counts: the prefix of the translator is that of the whole IPv4 internet.
func Site(address string) string { return prefixOf(address, 24, 48) }

// WideNetwork is the key that many subscribers share while there is no counter left
// for each of them. A client that exhausts all counters slows only its own network.
func WideNetwork(address string) string { return prefixOf(address, 16, 32) }

func prefixOf(address string, four, six int) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	ip = nat64.Source(ip.Unmap().WithZone(""))
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
