package httpserve

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"math/big"
	"net/http"
	"testing"
	"time"
)

// A listener of SecureMutual asks for a certificate of any authority and also serves clients
// without one (RFC 8705 §2). The other listener of the same server never asks.
func TestSecureMutual(t *testing.T) {
	d := newDisk(t)
	key := ecKey(t)
	d.store(key)
	d.issue(key, time.Hour)
	c := d.load()
	plain, mutual := newPipes(), newPipes()
	seen := make(chan int, 1)
	server := New(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen <- len(r.TLS.PeerCertificates) }), slog.New(slog.DiscardHandler), time.Hour)
	ctx, stop := context.WithCancel(context.Background())
	result := make(chan error, 1)
	go func() {
		result <- Run(ctx, server, Stop{}, slog.New(slog.DiscardHandler), c.Secure(plain), c.SecureMutual(mutual))
	}()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	own := tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}
	for name, test := range map[string]struct {
		at          *pipes
		certificate *tls.Certificate
		want        int
	}{
		"with a certificate":                  {mutual, &own, 1},
		"without one":                         {mutual, nil, 0},
		"with a certificate nobody asked for": {plain, &own, 0},
	} {
		transport := test.at.client().Transport.(*http.Transport)
		transport.TLSClientConfig = &tls.Config{RootCAs: d.pool, ServerName: testHost}
		if test.certificate != nil {
			transport.TLSClientConfig.Certificates = []tls.Certificate{*test.certificate}
		}
		response, err := (&http.Client{Transport: transport}).Get("https://server/")
		if err != nil {
			t.Fatal(name, err)
		}
		response.Body.Close()
		if got := <-seen; got != test.want {
			t.Errorf("%s: the server sees %d certificates, want %d", name, got, test.want)
		}
		transport.CloseIdleConnections()
	}
	// RFC 8446 §4.4.3: the handshake proves the private key.
	other := own
	other.PrivateKey = ecKey(t)
	transport := mutual.client().Transport.(*http.Transport)
	transport.TLSClientConfig = &tls.Config{RootCAs: d.pool, ServerName: testHost, Certificates: []tls.Certificate{other}}
	response, err := (&http.Client{Transport: transport}).Get("https://server/")
	if err == nil {
		t.Error(fmt.Sprint("somebody else's certificate is accepted: ", response.Status))
	}
	stop()
	if err := <-result; err != nil {
		t.Error(err)
	}
}
