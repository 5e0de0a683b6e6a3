package outbound

import (
	"crypto/ed25519"
	"crypto/x509"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"
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
	for status, want := range map[int]bool{200: true, 204: true, 301: false, 302: false, 400: false, 404: false,
		500: false} {
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

// A peer is one port of one address, with one certificate.
func TestOutboundClientCallsOnlyThePeer(t *testing.T) {
	called := 0
	serve := func() *httptest.Server {
		at := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called++ }))
		at.Config.ErrorLog = log.New(io.Discard, "", 0)
		at.StartTLS()
		t.Cleanup(at.Close)
		return at
	}
	peer, neighbour := serve(), serve()
	address := func(s *httptest.Server) netip.AddrPort {
		return netip.MustParseAddrPort(s.Listener.Addr().String())
	}
	for _, test := range []struct {
		rule   string
		peer   *Peer
		target string
		want   int
	}{
		{"the peer", &Peer{address(peer), peer.Certificate()}, peer.URL, 1},
		{"the peer without OutboundNetworks", nil, peer.URL, 0},
		{"another port", &Peer{address(peer), peer.Certificate()}, neighbour.URL, 0},
		{"another certificate", &Peer{address(peer), otherCertificate(t)}, peer.URL, 0},
	} {
		called = 0
		f := New(Config{NoLoopback: true, Peer: test.peer})
		_, err := f.Get(t.Context(), test.target, "*/*", 100)
		if called != test.want || (err == nil) != (test.want == 1) {
			t.Errorf("Get, %s: called %d times, %v", test.rule, called, err)
		}
		err = f.Post(t.Context(), test.target, nil)
		if called != 2*test.want || (err == nil) != (test.want == 1) {
			t.Errorf("Post, %s: called %d times, %v", test.rule, called, err)
		}
	}
}

// otherCertificate returns a certificate for 127.0.0.1 that no server here has.
func otherCertificate(t *testing.T) *x509.Certificate {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotAfter: time.Now().Add(time.Hour)}
	signed, err := x509.CreateCertificate(nil, template, template, public, private)
	if err != nil {
		t.Fatal(err)
	}
	made, err := x509.ParseCertificate(signed)
	if err != nil {
		t.Fatal(err)
	}
	return made
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
