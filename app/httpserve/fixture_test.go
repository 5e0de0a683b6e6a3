package httpserve

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

const testHost = "auth.example"

func ecKey(t *testing.T) crypto.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func rsaKey(t *testing.T, bits int) crypto.Signer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// disk is the two files of a certificate, and the log of the program that reads them.
type disk struct {
	t                *testing.T
	certificate, key string
	pool             *x509.CertPool // every certificate that was written
	writes           int

	mu  sync.Mutex
	log bytes.Buffer
}

func newDisk(t *testing.T) *disk {
	dir := t.TempDir()
	return &disk{
		t:           t,
		certificate: filepath.Join(dir, "certificate.pem"),
		key:         filepath.Join(dir, "key.pem"),
		pool:        x509.NewCertPool(),
	}
}

// write overwrites a file in place. Its time differs from that of each earlier write,
// even if the clock of the file system is coarse.
func (d *disk) write(name, kind string, der []byte) {
	d.t.Helper()
	d.writes++
	err := os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
	if err == nil {
		at := time.Unix(int64(d.writes), 0)
		err = os.Chtimes(name, at, at)
	}
	if err != nil {
		d.t.Fatal(err)
	}
}

// issue writes a certificate that is valid from now on, and returns it.
func (d *disk) issue(key crypto.Signer, life time.Duration) *x509.Certificate {
	d.t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(int64(d.writes) + 1),
		DNSNames:     []string{testHost},
		NotBefore:    time.Now(),
		NotAfter:     time.Now().Add(life),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		d.t.Fatal(err)
	}
	made, err := x509.ParseCertificate(der)
	if err != nil {
		d.t.Fatal(err)
	}
	d.pool.AddCert(made)
	d.write(d.certificate, "CERTIFICATE", der)
	return made
}

func (d *disk) store(key crypto.Signer) {
	d.t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		d.t.Fatal(err)
	}
	d.write(d.key, "PRIVATE KEY", der)
}

func (d *disk) load() *Certificate {
	d.t.Helper()
	c, err := LoadCertificate(d.certificate, d.key, testHost, slog.New(slog.NewTextHandler(d, nil)))
	if err != nil {
		d.t.Fatal(err)
	}
	return c
}

func (d *disk) Write(line []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.log.Write(line)
}

// logged returns the lines since the last call.
func (d *disk) logged() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	defer d.log.Reset()
	return strings.Split(strings.TrimSuffix(d.log.String(), "\n"), "\n")
}

// wantLog asserts that the program logged one line with some words, or nothing.
func (d *disk) wantLog(words ...string) {
	d.t.Helper()
	lines := d.logged()
	if len(words) == 0 && lines[0] == "" {
		return
	}
	if len(words) == 0 || len(lines) != 1 {
		d.t.Errorf("the log is %q, want one line with %q", lines, words)
		return
	}
	for _, word := range words {
		if !strings.Contains(lines[0], word) {
			d.t.Errorf("the log is %q, without %q", lines, word)
		}
	}
}

// shake does one handshake with a server.
func (d *disk) shake(p *pipes, client *tls.Config) (tls.ConnectionState, error) {
	client = client.Clone()
	client.RootCAs, client.ServerName = d.pool, testHost
	near, far := net.Pipe()
	p.connections <- far
	conn := tls.Client(near, client)
	defer near.Close()
	err := conn.Handshake()
	return conn.ConnectionState(), err
}

// served starts a server with the certificate of a disk, and stops it when the test ends.
func served(t *testing.T, c *Certificate, handler http.HandlerFunc) *pipes {
	p := newPipes()
	stop, result := running(c.Secure(p), Stop{}, handler)
	t.Cleanup(func() {
		stop()
		<-result
	})
	return p
}
