package wire

import (
	"net/netip"
	"testing"
)

func TestReachOf(t *testing.T) {
	for address, want := range map[string]Reach{
		"127.0.0.1": ThisMachine, "127.1.2.3": ThisMachine, "::1": ThisMachine,
		"10.0.0.1": PrivateNetwork, "172.17.0.2": PrivateNetwork, "192.168.1.1": PrivateNetwork,
		"169.254.1.1": PrivateNetwork, "fd00::1": PrivateNetwork, "fe80::1": PrivateNetwork,
		"192.0.2.1": Anywhere, "172.32.0.1": Anywhere, "100.64.0.1": Anywhere, "2001:db8::1": Anywhere, "0.0.0.0": Anywhere,
	} {
		if got := reachOf(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: %d, want %d", address, got, want)
		}
	}
}

// A host without an address can be anywhere.
func TestReach(t *testing.T) {
	n := NewNetwork(Options{})
	for host, want := range map[string]Reach{"127.0.0.1": ThisMachine, "localhost": ThisMachine,
		"10.0.0.1": PrivateNetwork, "192.0.2.1": Anywhere, "nowhere.invalid": Anywhere} {
		if got := n.Reach(t.Context(), host); got != want {
			t.Errorf("%s: %d, want %d", host, got, want)
		}
	}
}
