package app

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"

	"mandate/app/config"
	"mandate/app/httpserve"
)

// certificateOf reads the certificate of LISTEN, for clients that use a base URL. It
// returns nil if the settings name no certificate.
func certificateOf(c *config.Config, base string, log *slog.Logger) (*httpserve.Certificate, error) {
	if c.TLSCertificateFile == "" {
		return nil, nil
	}
	at, err := url.Parse(base)
	if err != nil {
		return nil, fmt.Errorf("BASE_URL: %w", err)
	}
	return httpserve.LoadCertificate(c.TLSCertificateFile, c.TLSKeyFile, at.Hostname(), log)
}

// bound are the addresses of a server.
type bound struct {
	listener net.Listener
	mutual   []net.Listener
	ops      net.Listener // nil without OPS_LISTEN
}

// bind binds all addresses of a server that clients reach at a base URL. It comes before anything is created: a
// server that cannot start because another one has its address must not leave a database and keys behind.
func (p Process) bind(c *config.Config, base string) (*bound, error) {
	certificate, err := certificateOf(c, base, p.Log)
	if err != nil {
		return nil, err
	}
	b := &bound{}
	b.listener, err = p.listen(c, certificate)
	if err == nil {
		b.mutual, err = p.listenMutual(c, certificate)
	}
	if err == nil && c.OpsListen != "" {
		b.ops, err = httpserve.Listen(c.OpsListen, "OPS_LISTEN", p.Environ)
	}
	if err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

// close releases the addresses. Some may be released already.
func (b *bound) close() {
	for _, l := range append(b.mutual, b.listener, b.ops) {
		if l != nil {
			l.Close()
		}
	}
}

// listen binds LISTEN, with TLS if there is a certificate.
func (p Process) listen(c *config.Config, certificate *httpserve.Certificate) (net.Listener, error) {
	l, err := httpserve.Listen(c.Listen, "LISTEN", p.Environ)
	if err != nil || certificate == nil {
		return l, err
	}
	return certificate.Secure(l), nil
}

// listenMutual binds MTLS_LISTEN. It returns no listener if the setting is empty.
func (p Process) listenMutual(c *config.Config, certificate *httpserve.Certificate) ([]net.Listener, error) {
	if c.MTLSListen == "" || certificate == nil {
		return nil, nil
	}
	l, err := httpserve.Listen(c.MTLSListen, "MTLS_LISTEN", p.Environ)
	if err != nil {
		return nil, err
	}
	return []net.Listener{certificate.SecureMutual(l)}, nil
}

// clientAuthorities reads the authorities that issue the certificates of clients, or returns
// nil if the settings name none.
func clientAuthorities(c *config.Config) (*x509.CertPool, error) {
	const name = "MTLS_CLIENT_AUTHORITIES_FILE"
	if c.MTLSClientAuthoritiesFile == "" {
		return nil, nil
	}
	text, err := os.ReadFile(c.MTLSClientAuthoritiesFile)
	if err != nil {
		return nil, fmt.Errorf(
			"%s: %w: set it to the certificates of the authorities in PEM, which the account of this program can read", name,
			err,
		)
	}
	pool := x509.NewCertPool()
	for rest := text; ; {
		var block *pem.Block
		block, rest = pem.Decode(rest)
		if block == nil {
			break
		}
		one, err := x509.ParseCertificate(block.Bytes)
		if err != nil || !one.IsCA {
			return nil, fmt.Errorf(
				"%s: %s contains something else than certificates of authorities (CA:TRUE) in PEM, such as the certificate of a "+
					"client or a key",
				name, c.MTLSClientAuthoritiesFile,
			)
		}
		pool.AddCert(one)
	}
	if pool.Equal(x509.NewCertPool()) {
		return nil, fmt.Errorf("%s: %s contains no certificate in PEM", name, c.MTLSClientAuthoritiesFile)
	}
	return pool, nil
}
