package wire

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

// names is a resolver. A name with several lists of addresses has the next list at each lookup.
type names map[string][][]string

func (n names) lookup(_ context.Context, _, host string) ([]netip.Addr, error) {
	lists, known := n[host]
	if !known {
		a, err := netip.ParseAddr(host)
		return []netip.Addr{a}, err
	}
	if len(lists) > 1 {
		n[host] = lists[1:]
	}
	var all []netip.Addr
	for _, text := range lists[0] {
		all = append(all, netip.MustParseAddr(text))
	}
	return all, nil
}

// A host that the target does not name must be reachable from the same places as the issuer. --i-own-this-server is
// about the hosts of the target, so it opens neither private nor link-local addresses for the metadata of a public
// issuer.
func TestAllowed(t *testing.T) {
	resolver := names{"public.example": {{"192.0.2.1"}}, "keys.example": {{"198.51.100.1"}},
		"private.example": {{"10.0.0.1"}}, "both.example": {{"10.0.0.2", "198.51.100.2"}},
		"metadata.example": {{"169.254.169.254"}}}
	for _, c := range []struct {
		owned        bool
		issuer, also string
		host, want   string // want is a part of the reason, or "" if a request is allowed
	}{
		{false, "http://127.0.0.1:1", "", "127.0.0.1", ""},
		{false, "http://127.0.0.1:1", "", "::1", ""},
		{false, "http://127.0.0.1:1", "", "10.0.0.1", "in a private network, and the issuer is on this machine"},
		{false, "http://127.0.0.1:1", "http://10.0.0.1/x", "10.0.0.1", ""},
		{false, "http://127.0.0.1:1", "https://public.example", "public.example", "--i-own-this-server"},
		{true, "http://127.0.0.1:1", "https://public.example", "PUBLIC.example", ""},
		{false, "http://10.0.0.9", "", "127.0.0.1", "on this machine, and the issuer is in a private network"},
		{false, "http://10.0.0.9", "", "private.example", ""},
		{false, "http://10.0.0.9", "", "metadata.example", "link-local"},
		{false, "http://10.0.0.9", "http://169.254.169.254", "169.254.169.254", ""},
		{false, "http://10.0.0.9", "http://169.254.169.254", "metadata.example", "link-local"},
		{true, "https://public.example", "", "public.example", ""},
		{true, "https://public.example", "", "keys.example", ""},
		{true, "https://public.example", "", "both.example", ""}, // the dialer checks the address that it uses
		{true, "https://public.example", "", "private.example",
			"in a private network, and the issuer is in a public network"},
		{true, "https://public.example", "", "127.0.0.1", "on this machine"},
		{true, "https://public.example", "", "metadata.example", "link-local"},
		{false, "https://public.example", "", "public.example", "--i-own-this-server"},
	} {
		n := NewNetwork(Options{Owned: c.owned})
		n.lookup = resolver.lookup
		n.Serve(c.issuer, c.also)
		err := n.allowed(t.Context(), c.host)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s of %s: %v, want %q", c.host, c.issuer, err, c.want)
		}
	}
}

// The guard checks the address to which the request really goes: a name can have another one at the next lookup.
func TestNameThatRebinds(t *testing.T) {
	got := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { got++ }))
	defer server.Close()
	for _, owned := range []bool{false, true} {
		n := NewNetwork(Options{Owned: owned})
		n.lookup = names{"localhost": {{"10.0.0.7"}}}.lookup // the dialer finds 127.0.0.1
		n.Serve("http://10.0.0.9")
		r, err := http.NewRequest(http.MethodGet, "http://localhost:"+server.URL[strings.LastIndex(server.URL, ":")+1:], nil)
		if err != nil {
			t.Fatal(err)
		}
		for range deafAfter + 1 { // a request that is not sent is no silence of the server
			_, err = n.Do(t.Context(), r)
			if !IsRefused(err) || !strings.Contains(err.Error(), "localhost is at 127.0.0.1") &&
				!strings.Contains(err.Error(), "localhost is at ::1") {
				t.Errorf("%v", err)
			}
		}
	}
	if got > 0 {
		t.Errorf("the host received %d requests", got)
	}
}

// Origins are compared in one form (RFC 6454 §4).
func TestOrigin(t *testing.T) {
	for address, want := range map[string]string{"HTTPS://AS.example:443/a?b#c": "https://as.example",
		"http://as.example:80": "http://as.example", "https://as.example:80/": "https://as.example:80",
		"http://user@as.example:8080/": "http://as.example:8080", "https://as.example:4443": "https://as.example:4443"} {
		if got := Origin(address); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}
