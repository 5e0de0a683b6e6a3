// Package mtls reads the certificate that a client presents by mutual TLS, and compares it
// with what is registered for the client (RFC 8705). The certificate comes from the TLS
// connection, or from a header that a reverse proxy sets (RFC 9440).
package mtls

import (
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Certificate is a client's certificate. The client has proven that it has the private key:
// the TLS handshake includes a signature with it.
type Certificate struct {
	*x509.Certificate
	// Chain has the certificates that the client or the proxy sent after it. Nobody has
	// verified them.
	Chain []*x509.Certificate
}

// Thumbprint returns the value of the confirmation method x5t#S256: the SHA-256 digest of the
// certificate's DER encoding, as base64url without padding (RFC 8705 §3.1).
func (c *Certificate) Thumbprint() string {
	sum := sha256.Sum256(c.Raw)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// costly reports whether the key of a certificate makes each of its signatures expensive. Whoever shows a
// chain chooses the keys in it, and x509 tries up to a hundred signatures.
func costly(one *x509.Certificate) bool {
	key, ok := one.PublicKey.(*rsa.PublicKey)
	return ok && (key.N.BitLen() > 4096 || key.E > 65537)
}

// Verify returns an error unless the certificate is valid now, may be used by a client, and was
// issued under one of these authorities (RFC 8705 §2.1). The authorities of the operating
// system issue certificates to anybody, so they do not count here. Verify returns until when this stays so.
func (c *Certificate) Verify(authorities *x509.CertPool) (time.Time, error) {
	if len(c.Chain) > maxChain {
		return time.Time{}, fmt.Errorf("more than %d certificates come after it", maxChain)
	}
	between := x509.NewCertPool()
	for _, one := range c.Chain {
		if costly(one) {
			return time.Time{}, errors.New("a certificate after it has an RSA key of more than 4096 bits, or with a public " +
				"exponent above 65537")
		}
		between.AddCert(one)
	}
	if authorities == nil {
		authorities = x509.NewCertPool() // nil means those of the operating system
	}
	chains, err := c.Certificate.Verify(x509.VerifyOptions{Roots: authorities, Intermediates: between,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	until := c.NotAfter
	for _, one := range slices.Concat(chains...) {
		if one.NotAfter.Before(until) {
			until = one.NotAfter
		}
	}
	return until, err
}
