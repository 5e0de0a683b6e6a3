package nat64

import (
	"net/netip"
	"testing"
)

// RFC 6052 §2.4 has the examples. RFC 8215 §4: only the operator of a local prefix knows how it is divided, so nothing
// is sent by it.
func TestAddresses(t *testing.T) {
	for text, want := range map[string][2]string{
		"64:ff9b::192.0.2.33":        {"192.0.2.33", "192.0.2.33"},
		"64:ff9b::":                  {"0.0.0.0", "0.0.0.0"},
		"64:ff9b:1::192.0.2.33":      {"64:ff9b:1::c000:221", "192.0.2.33"},
		"64:ff9b:1:fffe::192.0.2.33": {"64:ff9b:1:fffe::c000:221", "192.0.2.33"},
		"64:ff9b:1:c000:2:2100::":    {"64:ff9b:1:c000:2:2100::", "64:ff9b:1:c000:2:2100::"},     // of 48 bits
		"64:ff9b:1:1c0:0:221::":      {"64:ff9b:1:1c0:0:221::", "64:ff9b:1:1c0:0:221::"},         // of 56 bits
		"64:ff9b:1:122:c0:2:2100::":  {"64:ff9b:1:122:c0:2:2100:0", "64:ff9b:1:122:c0:2:2100:0"}, // of 64 bits
		"64:ff9b:2::192.0.2.33":      {"64:ff9b:2::c000:221", "64:ff9b:2::c000:221"},
		"64:ff9b:0:0:0:1:192.0.2.33": {"64:ff9b::1:c000:221", "64:ff9b::1:c000:221"},
		"2001:db8::192.0.2.33":       {"2001:db8::c000:221", "2001:db8::c000:221"},
		"192.0.2.33":                 {"192.0.2.33", "192.0.2.33"},
	} {
		a := netip.MustParseAddr(text)
		if got := [2]string{Target(a).String(), Source(a).String()}; got != want {
			t.Errorf("%s: target and source %q, want %q", text, got, want)
		}
	}
}
