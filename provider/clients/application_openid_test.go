package clients

import (
	"testing"

	"mandate/storage"
)

func TestSectors(t *testing.T) {
	registration := func(pairwise bool, uris ...string) Registration {
		return Registration{Pairwise: pairwise, RedirectURIs: uris}
	}
	for _, test := range []struct {
		rule string
		r    Registration
		was  string
		want string
	}{
		{"none", registration(false, "https://client.example/cb"), "", ""},
		{"none any more", registration(false, "http://localhost/cb"), "localhost", ""},
		{"a host", registration(true, "https://A.example/cb"), "", "a.example"},
		{"one host", registration(true, "https://a.example/cb", "https://a.example:8443/x"), "", "a.example"},
		{"two hosts", registration(true, "https://a.example/cb", "https://b.example/cb"), "", ""},
		{"another host", registration(true, "https://b.example/cb"), "a.example", "b.example"},
		{"this computer, by name", registration(true, "http://LOCALHOST/cb"), "", "loopback own"},
		{"this computer, by https", registration(true, "https://localhost/cb"), "", "loopback own"},
		{"this computer, IPv4", registration(true, "http://127.0.0.1:8080/cb"), "", "loopback own"},
		{"this computer, IPv6", registration(true, "http://[::1]/cb"), "", "loopback own"},
		{"this computer, by another name", registration(true, "http://[::1]/cb"), "localhost", "loopback own"},
		{"moved to this computer", registration(true, "http://localhost/cb"), "a.example", "loopback own"},
		{"it has one of its own", registration(true, "http://localhost/cb"), "loopback own", "loopback own"},
		{"one from before is kept", registration(true, "http://localhost/cb"), "localhost", "localhost"},
	} {
		if got := sectorOf(test.r, storage.Application{ClientID: "own", Sector: test.was}); got != test.want {
			t.Errorf("%s: %q, want %q", test.rule, got, test.want)
		}
	}
}
