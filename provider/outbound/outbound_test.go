package outbound

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

// allowing makes a client that may also call these networks.
func allowing(networks ...string) *Client { return New(Config{Networks: prefixes(networks...)}) }

func TestRFC6890_special_addresses_are_not_called(t *testing.T) {
	open, private := New(Config{}), allowing("10.0.0.0/8", "fd00::/8", "127.0.0.0/8")
	for address, want := range map[string]struct{ open, private bool }{
		"93.184.216.34":        {true, true},
		"2606:2800:220:1::1":   {true, true},
		"::ffff:93.184.216.34": {true, true},
		"64:ff9b::5db8:d822":   {true, true}, // the same address, behind a NAT64 translator
		"10.0.0.1":             {false, true},
		"::ffff:10.0.0.1":      {false, true},
		"64:ff9b::a00:1":       {false, true},
		"127.0.0.1":            {false, true},
		"fd00::1":              {false, true},
		"::1":                  {},
		"::":                   {},
		"::ffff:0.0.0.0":       {},
		"::7f00:1":             {},
		"0.0.0.0":              {},
		"100.64.0.1":           {},
		"169.254.169.254":      {},
		"172.16.0.1":           {},
		"172.31.255.255":       {},
		"172.32.0.1":           {true, true},
		"192.0.0.8":            {},
		"192.0.2.1":            {},
		"192.168.1.1":          {},
		"198.18.0.1":           {},
		"198.51.100.1":         {},
		"203.0.113.1":          {},
		"224.0.0.1":            {},
		"255.255.255.255":      {},
		"fe80::1":              {},
		"fe80::1%eth0":         {},
		"ff02::1":              {},
		"2001::1":              {},
		"2001:db8::1":          {},
		"2002:7f00:1::":        {},
		"3fff::1":              {},
		"fec0::1":              {},
	} {
		a := netip.MustParseAddr(address)
		if got := open.Allows(a); got != want.open {
			t.Errorf("%s: %v, want %v", address, got, want.open)
		}
		if got := private.Allows(a); got != want.private {
			t.Errorf("%s where networks are allowed: %v, want %v", address, got, want.private)
		}
	}
}

func TestOutboundClientLooksAtTheAddressItConnectsTo(t *testing.T) {
	called := 0
	at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { called++ }))
	defer at.Close()
	form := url.Values{"a": {"b"}}
	shut := New(Config{})
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]"} {
		target := strings.Replace(at.URL, "127.0.0.1", host, 1) + "/?secret=x"
		err := shut.Post(t.Context(), target, form)
		if err == nil || !strings.Contains(err.Error(), "special-use address") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", host, err)
		}
	}
	if called > 0 {
		t.Fatal("it was called")
	}
	allowed := allowing("127.0.0.0/8")
	err := allowed.Post(t.Context(), at.URL, form)
	if err != nil || called != 1 {
		t.Errorf("%v, called %d times", err, called)
	}
}

func TestOutboundClientWantsASuccess(t *testing.T) {
	f := allowing("127.0.0.0/8")
	for status, want := range map[int]bool{200: true, 204: true, 301: false, 302: false, 400: false, 404: false, 500: false} {
		at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/" {
				t.Error("a redirect was followed")
			}
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
		}))
		err := f.Post(t.Context(), at.URL+"/", nil)
		at.Close()
		if (err == nil) != want {
			t.Errorf("%d: %v", status, err)
		}
	}
	at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Large", strings.Repeat("x", 64<<10))
	}))
	defer at.Close()
	if f.Post(t.Context(), at.URL, nil) == nil {
		t.Error("64 KiB of headers were read")
	}
}

// The client sends nothing to a server whose certificate is not trusted or is for
// another name.
func TestOutboundClientChecksTheCertificate(t *testing.T) {
	f := allowing("127.0.0.0/8")
	called := 0
	at := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called++ }))
	defer at.Close()
	at.Config.ErrorLog = log.New(io.Discard, "", 0)
	err := f.Post(t.Context(), at.URL, nil)
	if err == nil || called != 0 {
		t.Errorf("a certificate that nobody has signed: %v, called %d times", err, called)
	}
	// The certificate of the test server is for 127.0.0.1 and example.com.
	f.http.Transport.(*http.Transport).TLSClientConfig.RootCAs = at.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	err = f.Post(t.Context(), at.URL, nil)
	if err != nil || called != 1 {
		t.Errorf("a good one: %v, called %d times", err, called)
	}
	err = f.Post(t.Context(), strings.Replace(at.URL, "127.0.0.1", "localhost", 1), nil)
	if err == nil || called != 1 {
		t.Errorf("one of another name: %v, called %d times", err, called)
	}
}
