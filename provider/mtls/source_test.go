package mtls

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"net/http"
	"net/netip"
	"testing"
)

// RFC 9440 §4: whose header counts. The tests of handlers/request have the other cases.
func TestSourceTrusts(t *testing.T) {
	passed := issue(t, nil, x509.Certificate{})
	s := Source{CertificateHeader, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fe80::/10")}}
	for from, want := range map[string]bool{
		"10.0.0.1:5": true, "[::ffff:10.0.0.1]:5": true, "[fe80::1%eth0]:5": true,
		"192.0.2.1:5": false, "[2001:db8::1]:5": false, "10.0.0.1": false, "": false, "@": false,
	} {
		r := &http.Request{Header: http.Header{}, RemoteAddr: from}
		r.Header.Set(CertificateHeader, ":"+base64.StdEncoding.EncodeToString(passed.Raw)+":")
		got, err := s.Of(r)
		if err != nil || (got != nil) != want || got != nil && !got.Equal(passed.Certificate) {
			t.Errorf("%q: %v, %v", from, got, err)
		}
	}
}

// The TLS certificate of a trusted proxy is that of no client: a client that sends none has none.
func TestSourceNeverTakesTheCertificateOfAProxy(t *testing.T) {
	proxy := issue(t, nil, x509.Certificate{})
	s := Source{CertificateHeader, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
	for from, want := range map[string]bool{"10.0.0.1:5": false, "192.0.2.1:5": true} {
		r := &http.Request{Header: http.Header{}, RemoteAddr: from,
			TLS: &tls.ConnectionState{PeerCertificates: []*x509.Certificate{proxy.Certificate}}}
		got, err := s.Of(r)
		if err != nil || (got != nil) != want {
			t.Errorf("%q: %v, %v", from, got, err)
		}
	}
}
