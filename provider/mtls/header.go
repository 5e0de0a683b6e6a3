package mtls

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// The headers of RFC 9440. A reverse proxy that does TLS sets them, and it must remove those
// that came from outside.
const (
	CertificateHeader = "Client-Cert"
	ChainHeader       = "Client-Cert-Chain"
)

const (
	// maxCertificate limits the DER encoding of one certificate, in bytes.
	maxCertificate = 16 << 10
	// maxChain limits the number of certificates after the client's own.
	maxChain = 8
)

// FromHeader returns the certificate that a reverse proxy has put into a header, or nil if the
// header is missing or empty. The header CertificateHeader has the form of RFC 9440. Every
// other header contains the certificate in PEM, percent-encoded, as nginx writes it. The caller
// has checked that the request comes from a trusted proxy.
func FromHeader(from http.Header, name string) (*Certificate, error) {
	values := from.Values(name)
	// RFC 9440 §2.2: the header is there once. With two of them, one came from outside.
	if len(values) > 1 {
		return nil, fmt.Errorf("the header %s is sent more than once: the proxy must remove the client's own", name)
	}
	if len(values) == 0 || values[0] == "" {
		return nil, nil
	}
	if !strings.EqualFold(name, CertificateHeader) {
		return fromPEM(name, values[0])
	}
	leaf, err := item(values[0])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	c := &Certificate{Certificate: leaf}
	// RFC 9440 §2.3: the chain is a list. A list may be spread over several headers (RFC 8941
	// §4.2).
	list := strings.Join(from.Values(ChainHeader), ",")
	if list == "" {
		return c, nil
	}
	items := strings.Split(list, ",")
	if len(items) > maxChain {
		return nil, fmt.Errorf("%s has more than %d certificates", ChainHeader, maxChain)
	}
	for _, text := range items {
		one, err := item(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", ChainHeader, err)
		}
		c.Chain = append(c.Chain, one)
	}
	return c, nil
}

// item reads a byte sequence (RFC 8941 §3.3.5) that contains a certificate in DER (RFC 9440
// §2.1).
func item(text string) (*x509.Certificate, error) {
	text = strings.Trim(text, " ")
	if len(text) < 2 || text[0] != ':' || text[len(text)-1] != ':' {
		return nil, errors.New("the value must be a certificate in Base64 between two colons")
	}
	return parse(text[1 : len(text)-1])
}

func parse(encoded string) (*x509.Certificate, error) {
	if len(encoded) > base64.StdEncoding.EncodedLen(maxCertificate) {
		return nil, fmt.Errorf("the certificate is larger than %d bytes", maxCertificate)
	}
	der, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil || strings.ContainsAny(encoded, "\r\n") {
		return nil, errors.New("the certificate is not Base64")
	}
	return certificate(der)
}

// certificate parses a certificate. The encoding must be the only one for its content: the
// thumbprint is a digest of the encoding.
func certificate(der []byte) (*x509.Certificate, error) {
	if len(der) > maxCertificate {
		return nil, fmt.Errorf("the certificate is larger than %d bytes", maxCertificate)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("the certificate cannot be read: %w", err)
	}
	return c, nil
}

// fromPEM reads a percent-encoded certificate in PEM. The certificates of its chain may follow.
func fromPEM(name, value string) (*Certificate, error) {
	if len(value) > 6*maxCertificate {
		return nil, fmt.Errorf("%s: the value is longer than %d bytes", name, 6*maxCertificate)
	}
	text, err := url.PathUnescape(value) // Base64 contains the plus sign, which is not a space
	if err != nil {
		return nil, fmt.Errorf("%s: the value is not percent-encoded", name)
	}
	var c *Certificate
	rest := []byte(text)
	for {
		var block *pem.Block
		block, rest = pem.Decode(rest)
		switch {
		case block == nil && c == nil:
			return nil, fmt.Errorf("%s: the value contains no certificate in PEM", name)
		case block == nil && len(bytes.TrimSpace(rest)) > 0:
			return nil, fmt.Errorf("%s: the value has text after the certificate", name)
		case block == nil:
			return c, nil
		case block.Type != "CERTIFICATE":
			return nil, fmt.Errorf("%s: the value contains a PEM block that is not a certificate", name)
		}
		one, err := certificate(block.Bytes)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: %w", name, err)
		case c == nil:
			c = &Certificate{Certificate: one}
		case len(c.Chain) == maxChain:
			return nil, fmt.Errorf("%s has more than %d certificates in the chain", name, maxChain)
		default:
			c.Chain = append(c.Chain, one)
		}
	}
}
