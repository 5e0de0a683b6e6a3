package httpserve

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// RFC 9325 §3.1.1, §4.2.
func TestVersionsAndSuites(t *testing.T) {
	only := func(version uint16, suites ...uint16) *tls.Config {
		return &tls.Config{MinVersion: version, MaxVersion: version, CipherSuites: suites}
	}
	for _, test := range []struct {
		name    string
		client  *tls.Config
		ec, rsa bool // whether the handshake succeeds with a key of this kind
	}{
		{name: "TLS 1.0", client: only(tls.VersionTLS10)},
		{name: "TLS 1.1", client: only(tls.VersionTLS11)},
		{name: "TLS 1.2", client: only(tls.VersionTLS12), ec: true, rsa: true},
		{name: "TLS 1.3", client: only(tls.VersionTLS13), ec: true, rsa: true},
		{name: "AES-GCM for EC keys", client: only(tls.VersionTLS12, tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256), ec: true},
		{name: "AES-GCM for RSA keys", client: only(tls.VersionTLS12, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384), rsa: true},
		{
			name: "CBC",
			client: only(
				tls.VersionTLS12, tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA, tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA,
				tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256,
			),
		},
		{
			name:   "no forward secrecy",
			client: only(tls.VersionTLS12, tls.TLS_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_RSA_WITH_AES_128_CBC_SHA),
		},
		{
			name:   "ChaCha20 in TLS 1.2",
			client: only(tls.VersionTLS12, tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305),
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			for key, ok := range map[crypto.Signer]bool{ecKey(t): test.ec, rsaKey(t, 2048): test.rsa} {
				d := newDisk(t)
				d.store(key)
				d.issue(key, time.Hour)
				state, err := d.shake(served(t, d.load(), nil), test.client)
				if (err == nil) != ok {
					t.Errorf("%T: %v, want success: %t", key, err, ok)
				}
				if test.client.MinVersion < tls.VersionTLS12 && (err == nil || !strings.Contains(err.Error(), "protocol version")) {
					t.Errorf("%T: %v, want a refusal of the version", key, err)
				}
				if err == nil && (state.Version != test.client.MinVersion || test.client.CipherSuites != nil &&
					state.CipherSuite != test.client.CipherSuites[0]) {
					t.Errorf("%T: version %x, suite %s", key, state.Version, tls.CipherSuiteName(state.CipherSuite))
				}
			}
		})
	}
}

// New handshakes get the new certificate once the files have changed. What cannot be
// used is logged once, and the earlier certificate remains.
func TestCertificateIsReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk(t)
		key := ecKey(t)
		d.store(key)
		want := d.issue(key, 24*time.Hour)
		p := served(t, d.load(), nil)
		serves := func(what string) {
			t.Helper()
			for range 3 {
				state, err := d.shake(p, &tls.Config{})
				if err != nil || !state.PeerCertificates[0].Equal(want) {
					t.Fatalf("%s: %v, not the expected certificate", what, err)
				}
			}
		}
		later := func() { time.Sleep(recheck) }
		serves("at start")
		renewed := d.issue(key, 24*time.Hour)
		serves("before the next look")
		d.wantLog()
		later()
		want = renewed
		serves("a new certificate")
		d.wantLog("level=INFO", "read again")
		later()
		serves("no change")
		d.wantLog()

		other := ecKey(t)
		renewed = d.issue(other, 24*time.Hour)
		for range 3 {
			later()
			serves("a certificate of another key")
		}
		d.wantLog("level=ERROR", "private key does not match", "earlier certificate remains in use")
		d.store(other)
		later()
		want = renewed
		serves("its key follows")
		d.wantLog("read again")

		text, err := os.ReadFile(d.key)
		if err != nil {
			t.Fatal(err)
		}
		for what, change := range map[string]func() error{
			"no such file":   func() error { return os.Remove(d.key) },
			"is not a file":  func() error { return os.Mkdir(d.key, 0o700) },
			"failed to find": func() error { return os.WriteFile(d.key, []byte("no key\n"), 0o600) },
			"is larger than": func() error { return os.WriteFile(d.key, make([]byte, maxPEMBytes+1), 0o600) },
		} {
			if what != "no such file" {
				err = os.Remove(d.key)
			}
			if err == nil {
				err = change()
			}
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				later()
				serves(what)
			}
			d.wantLog("level=ERROR", what)
			err = os.RemoveAll(d.key)
			if err == nil {
				err = os.WriteFile(d.key, text, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			later()
			serves("after: " + what)
			d.wantLog("read again")
		}

		// A file that was away is the same file as before.
		for range 2 {
			err = os.Rename(d.key, d.key+".away")
			if err != nil {
				t.Fatal(err)
			}
			later()
			serves("the key is away")
			d.wantLog("level=ERROR", "no such file")
			err = os.Rename(d.key+".away", d.key)
			if err != nil {
				t.Fatal(err)
			}
			later()
			serves("the key is back")
			d.wantLog("read again")
		}

		// One that is valid later is refused until then, and used without a change.
		early := &x509.Certificate{
			SerialNumber: big.NewInt(99),
			DNSNames:     []string{testHost},
			NotBefore:    time.Now().Add(time.Hour),
			NotAfter:     time.Now().Add(24 * time.Hour),
		}
		der, err := x509.CreateCertificate(rand.Reader, early, early, other.Public(), other)
		if err != nil {
			t.Fatal(err)
		}
		d.write(d.certificate, "CERTIFICATE", der)
		later()
		serves("a certificate of the future")
		d.wantLog("level=ERROR", "is not valid before")
		time.Sleep(time.Hour)
		want, err = x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		d.pool.AddCert(want)
		serves("it has become valid")
		d.wantLog("read again")
		d.issue(other, -time.Second)
		later()
		serves("an expired certificate")
		d.wantLog("level=ERROR", "it expired at")
	})
}

func TestLoadCertificateWarns(t *testing.T) {
	d := newDisk(t)
	key := ecKey(t)
	d.store(key)
	d.issue(key, -time.Second)
	d.load()
	d.wantLog("level=WARN", "TLS_CERTIFICATE_FILE", "it expired at")
	d.issue(key, time.Hour)
	_, err := LoadCertificate(d.certificate, d.key, "other.example", slog.New(slog.NewTextHandler(d, nil)))
	if err != nil {
		t.Error(err)
	}
	d.wantLog("level=WARN", "BASE_URL", "host=other.example")
	_, err = LoadCertificate(d.certificate, d.key, "", slog.New(slog.NewTextHandler(d, nil)))
	if err != nil {
		t.Error(err)
	}
	d.wantLog()
}

// Each error names the setting, the file, and what to change.
func TestLoadCertificateRefuses(t *testing.T) {
	key, weak := ecKey(t), rsaKey(t, 1024)
	for name, test := range map[string]struct {
		prepare func(d *disk)
		want    []string
	}{
		"no certificate": {func(d *disk) { d.store(key) }, []string{
			"TLS_CERTIFICATE_FILE: ",
			"certificate.pem: no such file",
			"set it to the certificate in PEM",
		}},
		"no key": {func(d *disk) {
			d.issue(
				key, time.Hour,
			)
		}, []string{"TLS_KEY_FILE: ", "key.pem: no such file", "set it to the private key in PEM"}},
		"another key": {func(d *disk) { d.issue(key, time.Hour); d.store(ecKey(t)) },
			[]string{
				"TLS_CERTIFICATE_FILE ",
				"TLS_KEY_FILE ",
				"private key does not match public key",
				"the private key of the server's certificate",
			}},
		"in the wrong order": {func(d *disk) {
			d.issue(
				key, time.Hour,
			)
			d.store(key)
			d.certificate, d.key = d.key, d.certificate
		}, []string{"the first needs the server's certificate"}},
		"with a passphrase": {func(d *disk) {
			d.issue(
				key, time.Hour,
			)
			d.write(d.key, "ENCRYPTED PRIVATE KEY", []byte("x"))
		}, []string{"without a passphrase"}},
		"an RSA key too weak": {func(d *disk) {
			d.issue(
				weak, time.Hour,
			)
			d.store(weak)
		}, []string{"TLS_KEY_FILE ", "1024 bits: make one with at least 2048 bits"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDisk(t)
			test.prepare(d)
			_, err := LoadCertificate(d.certificate, d.key, testHost, slog.New(slog.DiscardHandler))
			for _, want := range test.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v, without %q", err, want)
				}
			}
		})
	}
}

// A client without TLS is told so. With it, HTTP/2 and HTTP/1.1 work.
func TestSecureServesHTTP(t *testing.T) {
	d := newDisk(t)
	key := ecKey(t)
	d.store(key)
	d.issue(key, time.Hour)
	p := served(t, d.load(), func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) })
	response, err := p.client().Get("http://server/")
	if err != nil || response.StatusCode != http.StatusBadRequest {
		t.Errorf("plain http: %v, %v", response, err)
	}
	for proto, next := range map[string][]string{"HTTP/2.0": nil, "HTTP/1.1": {"http/1.1"}} {
		transport := p.client().Transport.(*http.Transport)
		transport.TLSClientConfig = &tls.Config{RootCAs: d.pool, ServerName: testHost, NextProtos: next}
		transport.ForceAttemptHTTP2 = next == nil
		response, err = (&http.Client{Transport: transport}).Get("https://server/")
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		if string(text) != proto || err != nil {
			t.Errorf("%q, %v, want %s", text, err, proto)
		}
		transport.CloseIdleConnections()
	}
}

// After the stop, an answer by HTTP/2 closes its connection too: the client opens the
// next one elsewhere.
func TestRunStopsHTTP2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk(t)
		key := ecKey(t)
		d.store(key)
		d.issue(key, time.Hour)
		p := newPipes()
		stop, result := running(
			d.load().Secure(p), Stop{Delay: 10 * time.Second}, func(http.ResponseWriter, *http.Request) {},
		)
		transport := p.client().Transport.(*http.Transport)
		transport.TLSClientConfig, transport.ForceAttemptHTTP2 = &tls.Config{RootCAs: d.pool, ServerName: testHost}, true
		dial, dials := transport.DialContext, 0
		transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			dials++
			return dial(ctx, network, address)
		}
		get := func(want int) {
			t.Helper()
			response, err := (&http.Client{Transport: transport}).Get("https://server/")
			if err != nil || response.ProtoMajor != 2 || dials != want {
				t.Errorf("%v, %v: connection %d, want %d", response, err, dials, want)
			}
			synctest.Wait()
		}
		get(1)
		get(1)
		stop()
		synctest.Wait()
		get(1) // its answer says that the connection ends
		get(2)
		err := <-result
		if err != nil {
			t.Error(err)
		}
		transport.CloseIdleConnections()
	})
}

// The process trusts its own certificate, the one before a change, and no other.
func TestTrust(t *testing.T) {
	d := newDisk(t)
	key := ecKey(t)
	d.store(key)
	d.issue(key, time.Hour)
	c := d.load()
	p := newPipes()
	own := c.Secure(p)
	if Scheme(own) != "https" || Scheme(p) != "http" || Trust(p) != nil {
		t.Error("the scheme of a listener is wrong")
	}
	old := d.load()
	call := func(server *Certificate) error {
		near, far := net.Pipe()
		defer near.Close()
		conn := tls.Server(far, server.config())
		result := make(chan error, 1)
		go func() {
			result <- conn.HandshakeContext(context.Background())
			far.Close()
		}()
		err := tls.Client(near, Trust(own)).Handshake()
		near.Close()
		<-result
		return err
	}
	renewed := d.issue(key, time.Hour)
	stranger := d.load()
	if call(c) != nil || call(old) != nil {
		t.Error("the process refuses its own certificate")
	}
	if call(stranger) == nil {
		t.Error("the process trusts another certificate")
	}
	c.looking.Lock()
	c.look()
	c.looking.Unlock()
	if !c.current.Load().Leaf.Equal(renewed) || call(c) != nil || call(old) != nil {
		t.Error("after a change, the process refuses its certificates")
	}
}
