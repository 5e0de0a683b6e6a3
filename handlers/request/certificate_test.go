package request

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"mandate/provider/mtls"
)

func made(t *testing.T) *x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// RFC 9440 §4: a header counts only if a trusted proxy sends it, and then the certificate of
// the connection is the proxy's own.
func TestCertificate(t *testing.T) {
	shown, passed := made(t), made(t)
	header := ":" + base64.StdEncoding.EncodeToString(passed.Raw) + ":"
	connection := &tls.ConnectionState{PeerCertificates: []*x509.Certificate{shown, made(t)}}
	const proxy, stranger = "10.0.0.1:4000", "192.0.2.1:4000"
	for name, test := range map[string]struct {
		setting, remote, header string
		tls                     *tls.ConnectionState
		want                    *x509.Certificate
		fails                   bool
	}{
		"no certificate":                        {"", stranger, "", nil, nil, false},
		"TLS without one":                       {"", stranger, "", &tls.ConnectionState{}, nil, false},
		"of the connection":                     {"", stranger, "", connection, shown, false},
		"a stranger's header":                   {"Client-Cert", stranger, header, nil, nil, false},
		"a stranger's header beside a real one": {"Client-Cert", stranger, header, connection, shown, false},
		"a proxy's header":                      {"Client-Cert", proxy, header, nil, passed, false},
		"a proxy's header beside its own":       {"Client-Cert", proxy, header, connection, passed, false},
		"a proxy's own is not the client's":     {"Client-Cert", proxy, "", connection, nil, false},
		"a header that no setting names":        {"", proxy, header, nil, nil, false},
		"a proxy's broken header":               {"Client-Cert", proxy, "none", connection, nil, true},
	} {
		o := NewObserver(Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
			CertificateHeader: test.setting})
		r := httptest.NewRequest(http.MethodPost, "/o/token/", nil)
		r.RemoteAddr, r.TLS = test.remote, test.tls
		if test.header != "" {
			r.Header.Set("Client-Cert", test.header)
		}
		var got *mtls.Certificate
		var err error
		o.Observe(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got, err = mtls.Of(r.Context()) })).
			ServeHTTP(httptest.NewRecorder(), r)
		if (err != nil) != test.fails || (got == nil) != (test.want == nil) || got != nil && !got.Equal(test.want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
