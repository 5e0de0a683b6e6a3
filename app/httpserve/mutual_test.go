package httpserve

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// withoutKey is a key of which nobody has the private part: each signature is invented.
type withoutKey struct{ key *rsa.PublicKey }

func (k withoutKey) Public() crypto.PublicKey { return k.key }

func (k withoutKey) Sign(io.Reader, []byte, crypto.SignerOpts) ([]byte, error) {
	return make([]byte, k.key.Size()), nil
}

// A stranger chooses the key of a client certificate, needs no private key, and costs the server one verification in
// each handshake. A large exponent makes it several times as expensive, so such a key is refused before.
//
// Resembles CVE-2023-29409 (crypto/tls: RSA keys of a certificate that are enormous).
func TestAttackCostlyKeyOfAClientCertificate(t *testing.T) {
	d := newDisk(t)
	key := ecKey(t)
	d.store(key)
	d.issue(key, time.Hour)
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := d.load().SecureMutual(plain)
	defer l.Close()
	odd := new(big.Int).SetBit(big.NewInt(1), 4095, 1)
	for exponent, want := range map[int]string{
		3:         "invalid signature",
		65537:     "invalid signature",
		65539:     "exponent above 65537",
		1<<31 - 1: "exponent above 65537",
	} {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			public := &rsa.PublicKey{N: odd, E: exponent}
			template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
			der, err := x509.CreateCertificate(rand.Reader, template, template, public, key)
			if err != nil {
				t.Fatal(err)
			}
			config := &tls.Config{
				RootCAs:      d.pool,
				ServerName:   testHost,
				MaxVersion:   version,
				Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: withoutKey{public}}},
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				conn, err := tls.Dial("tcp", l.Addr().String(), config)
				if err == nil { // TLS 1.3: the client has finished before the server
					_, _ = conn.Read(make([]byte, 1))
					conn.Close()
				}
			}()
			conn, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			err = conn.(*tls.Conn).Handshake()
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("exponent %d, version %x: %v, want %s", exponent, version, err, want)
			}
			conn.Close()
			<-done
		}
	}
}

// A stranger sends many certificates, which the server would parse before it could look at any of them. What is sent
// after the handshake has no such limit.
//
// Resembles CVE-2025-58187 in its class (crypto/x509: certificates of a peer that cost much before they are verified).
func TestAttackManyClientCertificates(t *testing.T) {
	d := newDisk(t)
	key := ecKey(t)
	d.store(key)
	d.issue(key, time.Hour)
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := d.load().SecureMutual(plain)
	defer l.Close()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	body := make([]byte, 4*maxHandshake)
	for n, want := range map[int]string{1: "", 8: "", 1 + maxHandshake/len(der): "more than 64 KB"} {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			sent := tls.Certificate{PrivateKey: key}
			for range n {
				sent.Certificate = append(sent.Certificate, der)
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				conn, err := tls.Dial("tcp", l.Addr().String(), &tls.Config{
					RootCAs:      d.pool,
					ServerName:   testHost,
					MaxVersion:   version,
					Certificates: []tls.Certificate{sent},
				})
				if err == nil {
					_, _ = conn.Write(body)
					conn.Close()
				}
			}()
			conn, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			err = conn.(*tls.Conn).Handshake()
			if want == "" {
				_, err = io.ReadFull(conn, make([]byte, len(body)))
			}
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%d certificates, version %x: %v, want %q", n, version, err, want)
			}
			conn.Close()
			<-done
		}
	}
}

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
	server := New(
		http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen <- len(r.TLS.PeerCertificates) }),
		slog.New(slog.DiscardHandler), time.Hour,
	)
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

// The configuration of each handshake is a copy, and all of them accept the session tickets of the others.
func TestSecureMutualResumes(t *testing.T) {
	d := newDisk(t)
	key := ecKey(t)
	d.store(key)
	d.issue(key, time.Hour)
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := d.load().SecureMutual(plain)
	defer l.Close()
	config := &tls.Config{RootCAs: d.pool, ServerName: testHost, ClientSessionCache: tls.NewLRUClientSessionCache(1)}
	for _, resumes := range []bool{false, true} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			conn, err := tls.Dial("tcp", l.Addr().String(), config)
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.ReadAll(conn) // the ticket comes before the data
			conn.Close()
		}()
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		err = conn.(*tls.Conn).Handshake()
		if did := conn.(*tls.Conn).ConnectionState().DidResume; err != nil || did != resumes {
			t.Errorf("%v, resumed: %v, want %v", err, did, resumes)
		}
		conn.Close()
		<-done
	}
}
