package httpserve

import (
	"bytes"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// recheck is the shortest time between two looks at the files of a certificate. A
// handshake triggers the look, so a server without clients does nothing.
const recheck = 2 * time.Second

// maxPEMBytes limits each of the two files.
const maxPEMBytes = 1 << 20

// Certificate is the server's certificate with its private key. It reads the files
// again when they have changed. Several listeners can share it.
type Certificate struct {
	files [2]string // the certificate with its chain, and the key
	host  string
	log   *slog.Logger

	current  atomic.Pointer[tls.Certificate]
	previous atomic.Pointer[tls.Certificate] // for a client whose handshake began before a change

	looking sync.Mutex
	looked  time.Time
	read    [2]os.FileInfo // the files that current is from
	refused string         // why the files on disk are not in use
}

// LoadCertificate reads the files of TLS_CERTIFICATE_FILE and TLS_KEY_FILE. It warns
// if clients will refuse the certificate: because of its dates, or because it does not
// name the host. An empty host is not compared.
func LoadCertificate(certificate, key, host string, log *slog.Logger) (*Certificate, error) {
	c := &Certificate{files: [2]string{certificate, key}, host: host, log: log, looked: time.Now()}
	pair, read, err := c.load()
	if err != nil {
		return nil, err
	}
	err = validNow(pair.Leaf)
	if err != nil {
		log.Warn(
			"clients refuse the certificate of TLS_CERTIFICATE_FILE: replace the file, it is then read again", "error", err,
		)
	}
	c.use(pair, read)
	return c, nil
}

// load reads a pair. The files are examined before they are read: if they change in
// between, the next look finds the difference.
func (c *Certificate) load() (*tls.Certificate, [2]os.FileInfo, error) {
	read, err := c.examine()
	if err != nil {
		return nil, read, err
	}
	var pem [2][]byte
	for i, name := range c.files {
		pem[i], err = os.ReadFile(name)
		if err != nil {
			return nil, read, unreadable(i, err)
		}
	}
	pair, err := tls.X509KeyPair(pem[0], pem[1])
	if err != nil {
		return nil, read, fmt.Errorf("TLS_CERTIFICATE_FILE %s with TLS_KEY_FILE %s: %w: "+
			"the first needs the server's certificate in PEM, followed by those of its issuers, and the second needs the "+
			"private key of the server's certificate in PEM, without a passphrase",
			c.files[0], c.files[1], err)
	}
	// BCP 195 (RFC 9325): RSA keys of servers have at least 2048 bits.
	if key, ok := pair.Leaf.PublicKey.(*rsa.PublicKey); ok && key.N.BitLen() < 2048 {
		return nil, read, fmt.Errorf(
			"TLS_KEY_FILE %s: the RSA key has %d bits: make one with at least 2048 bits, or an EC key on P-256, and a "+
				"certificate for it",
			c.files[1], key.N.BitLen(),
		)
	}
	return &pair, read, nil
}

// examine describes both files.
func (c *Certificate) examine() ([2]os.FileInfo, error) {
	var found [2]os.FileInfo
	for i, name := range c.files {
		info, err := os.Stat(name)
		switch {
		case err != nil:
			return found, unreadable(i, err)
		case !info.Mode().IsRegular():
			return found, unreadable(i, errors.New(name+" is not a file"))
		case info.Size() > maxPEMBytes:
			return found, unreadable(i, fmt.Errorf("%s is larger than %d bytes", name, maxPEMBytes))
		}
		found[i] = info
	}
	return found, nil
}

func unreadable(i int, err error) error {
	if i == 0 {
		return fmt.Errorf(
			"TLS_CERTIFICATE_FILE: %w: set it to the certificate in PEM, which the account of this program can read", err,
		)
	}
	return fmt.Errorf(
		"TLS_KEY_FILE: %w: set it to the private key in PEM, which the account of this program can read", err,
	)
}

func validNow(leaf *x509.Certificate) error {
	now := time.Now()
	if now.After(leaf.NotAfter) {
		return fmt.Errorf("it expired at %s", leaf.NotAfter.Format(time.RFC3339))
	}
	if now.Before(leaf.NotBefore) {
		return fmt.Errorf("it is not valid before %s", leaf.NotBefore.Format(time.RFC3339))
	}
	return nil
}

// use makes a pair the current one.
func (c *Certificate) use(pair *tls.Certificate, read [2]os.FileInfo) {
	if c.host != "" {
		err := pair.Leaf.VerifyHostname(c.host)
		if err != nil {
			c.log.Warn(
				"clients that reach this server at the host of BASE_URL refuse the certificate of TLS_CERTIFICATE_FILE, which "+
					"does not name it",
				"host", c.host, "error", err,
			)
		}
	}
	c.previous.Store(c.current.Load())
	c.current.Store(pair)
	c.read, c.refused = read, ""
}

// get returns the certificate for a handshake. One handshake looks at the files, and
// those at the same time do not wait for it.
func (c *Certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if c.looking.TryLock() {
		defer c.looking.Unlock()
		if now := time.Now(); now.Sub(c.looked) >= recheck {
			c.looked = now
			c.look()
		}
	}
	return c.current.Load(), nil
}

// look reads the files again if they have changed. While they are refused, it reads
// them each time: new permissions do not change a file, and a certificate becomes valid
// without a change.
func (c *Certificate) look() {
	now, err := c.examine()
	if err == nil && c.refused == "" && same(now[0], c.read[0]) && same(now[1], c.read[1]) {
		return
	}
	pair, read, err := c.load()
	if err == nil {
		err = validNow(pair.Leaf)
	}
	if err == nil {
		c.use(pair, read)
		c.log.Info("the certificate was read again, because its files have changed", "expires", pair.Leaf.NotAfter)
		return
	}
	if err.Error() != c.refused {
		c.refused = err.Error()
		c.log.Error(
			"the changed files of the certificate are not used, and the earlier certificate remains in use", "error", err,
		)
	}
}

// same reports whether a file was neither changed nor replaced.
func same(a, b os.FileInfo) bool {
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}

// suites are the cipher suites of TLS 1.2. FAPI 2.0 Security Profile §5.2.2 allows only
// those that RFC 9325 §4.2 recommends. They do not include ChaCha20, which a client
// gets with TLS 1.3.
func suites() []uint16 {
	return []uint16{
		tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
		tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	}
}

// config is the TLS configuration of a listener. crypto/tls never lets a client
// renegotiate.
func (c *Certificate) config() *tls.Config {
	return &tls.Config{
		GetCertificate: c.get,
		MinVersion:     tls.VersionTLS12, // RFC 9325 §3.1.1
		CipherSuites:   suites(),
		NextProtos:     []string{"h2", "http/1.1"},
	}
}

// secure is a listener with TLS.
type secure struct {
	net.Listener
	certificate *Certificate
}

// Secure adds TLS to a listener. http.Server then serves HTTP/2 too.
func (c *Certificate) Secure(l net.Listener) net.Listener {
	return &secure{tls.NewListener(l, c.config()), c}
}

// SecureMutual adds TLS to a listener and asks each client for a certificate (RFC 8705 §2). A
// client proves in the handshake that it has the private key. What a certificate is good for depends
// on the client, and is not checked here.
func (c *Certificate) SecureMutual(l net.Listener) net.Listener {
	config := c.config()
	config.ClientAuth = tls.RequestClientCert
	// crypto/tls calls checkCost before it verifies the client's signature.
	return &secure{tls.NewListener(bounded{l}, checking(config, checkCost)), c}
}

// checkCost refuses a client's key whose signature costs several times as much as others. Anybody can send
// one, without the private key. crypto/tls itself refuses RSA keys of more than 8192 bits.
func checkCost(state tls.ConnectionState) error {
	if len(state.PeerCertificates) == 0 {
		return nil
	}
	if key, ok := state.PeerCertificates[0].PublicKey.(*rsa.PublicKey); ok && key.E > 65537 {
		return errors.New("the RSA key of the client certificate has a public exponent above 65537")
	}
	return nil
}

// Scheme returns the scheme of the URLs of a listener.
func Scheme(l net.Listener) string {
	if _, ok := l.(*secure); ok {
		return "https"
	}
	return "http"
}

// Trust returns the TLS configuration with which this process calls itself, or nil if
// the listener has no TLS. Address is not a name in the certificate, so this
// configuration accepts the certificate itself, and no other.
func Trust(l net.Listener) *tls.Config {
	s, ok := l.(*secure)
	if !ok {
		return nil
	}
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, // VerifyConnection compares the whole certificate
		VerifyConnection: func(state tls.ConnectionState) error {
			for _, own := range []*tls.Certificate{s.certificate.current.Load(), s.certificate.previous.Load()} {
				if own != nil && bytes.Equal(own.Leaf.Raw, state.PeerCertificates[0].Raw) {
					return nil
				}
			}
			return errors.New("another server answers at the address of this process")
		},
	}
}
