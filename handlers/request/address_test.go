package request

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
)

func TestAddress(t *testing.T) {
	o := &Observer{config: Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"),
		netip.MustParsePrefix("::1/128")}}}
	for _, test := range []struct {
		name, remote string
		forwarded    []string
		expect       string
	}{
		{"nobody in between", "192.0.2.1:4000", nil, "192.0.2.1"},
		{"a stranger's word", "192.0.2.1:4000", []string{"198.51.100.7"}, "192.0.2.1"},
		{"one proxy", "10.0.0.1:4000", []string{"198.51.100.7"}, "198.51.100.7"},
		{"what the client made up stands on the left", "10.0.0.1:4000", []string{"127.0.0.1, 198.51.100.7"}, "198.51.100.7"},
		{"two proxies", "10.0.0.1:4000", []string{"198.51.100.7, 10.9.9.9"}, "198.51.100.7"},
		{"two headers", "10.0.0.1:4000", []string{"192.0.2.9", "198.51.100.7"}, "198.51.100.7"},
		{"with a port", "10.0.0.1:4000", []string{"198.51.100.7:5000"}, "198.51.100.7"},
		{"version 6", "[::1]:4000", []string{"2001:db8::7"}, "2001:db8::7"},
		{"version 6 with a port", "[::1]:4000", []string{"[2001:db8::7]:5000"}, "2001:db8::7"},
		{"version 6 in brackets", "[::1]:4000", []string{"[2001:db8::7]"}, "2001:db8::7"},
		{"version 4 within version 6", "[::ffff:10.0.0.1]:4000", []string{"::ffff:198.51.100.7"}, "198.51.100.7"},
		{"zone", "10.0.0.1:4000", []string{"fe80::1%eth0"}, "fe80::1"},
		{"no header", "10.0.0.1:4000", nil, "10.0.0.1"},
		{"no address", "10.0.0.1:4000", []string{"unknown"}, "10.0.0.1"},
		{"no address before a good one", "10.0.0.1:4000", []string{"evil, 198.51.100.7"}, "198.51.100.7"},
		{"no address behind a good one", "10.0.0.1:4000", []string{"198.51.100.7, evil"}, "10.0.0.1"},
		{"all trusted", "10.0.0.1:4000", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		{"a socket", "@", []string{"198.51.100.7"}, "@"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := httptest.NewRequest("GET", "/", nil)
			r.RemoteAddr, r.Header = test.remote, http.Header{"X-Forwarded-For": test.forwarded}
			if got := o.Address(r); got != test.expect {
				t.Errorf("address is %q, expected %q", got, test.expect)
			}
		})
	}
}

func TestRequestIDIsOursOrATrustedProxys(t *testing.T) {
	o := &Observer{config: Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.1/32")}}}
	for _, test := range []struct {
		remote, sent string
		kept         bool
	}{
		{"10.0.0.1:1", "abc-1.2_3", true},
		{"192.0.2.1:1", "abc", false},
		{"10.0.0.1:1", "", false},
		{"10.0.0.1:1", "two words", false},
		{"10.0.0.1:1", "level=ERROR\"", false},
		{"10.0.0.1:1", "0123456789012345678901234567890123456789012345678901234567890123456789", false},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = test.remote
		r.Header.Set("X-Request-Id", test.sent)
		got := o.newID(r)
		if (got == test.sent) != test.kept || got == "" {
			t.Errorf("%s sends %q: id %q", test.remote, test.sent, got)
		}
	}
}

// With a network in TRUSTED_PROXIES that is too wide, a client chooses its own, although the proxy adds the right
// one: doctor has to see it (CWE-348, a source that is trusted less).
func TestAttackTrustedNetworkTooWide(t *testing.T) {
	const nobodys = "192.0.2.99"
	for name, test := range map[string]struct {
		trusted, forwarded string
		want               Arrival
	}{
		"half of all addresses": {"128.0.0.0/1", nobodys + ", 192.0.2.9",
			Arrival{Peer: "192.0.2.1", Trusted: true, Forwarded: "192.0.2.9", Chosen: true}},
		"one that replaces it": {"128.0.0.0/1", "192.0.2.9",
			Arrival{Peer: "192.0.2.1", Trusted: true, Forwarded: "192.0.2.9"}},
		"the network of the client": {"192.0.2.0/28", nobodys + ", 192.0.2.9",
			Arrival{Peer: "192.0.2.1", Trusted: true, Forwarded: "192.0.2.9"}},
		"the proxy alone": {"192.0.2.1/32", nobodys + ", 192.0.2.9",
			Arrival{Peer: "192.0.2.1", Trusted: true, Forwarded: "192.0.2.9"}},
	} {
		o := &Observer{config: Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix(test.trusted)}}}
		r := httptest.NewRequest(http.MethodGet, "/o/arrival/", nil)
		r.RemoteAddr, r.Header = "192.0.2.1:5000", http.Header{"X-Forwarded-For": {test.forwarded}}
		if got := o.Arrival(r, nobodys); got != test.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
