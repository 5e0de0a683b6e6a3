package jose

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
)

// Kinds lists the kinds of key (kty) of Algorithms.
func Kinds() []string { return []string{"RSA", "EC", "OKP"} }

// Generate makes a private key of one of Kinds.
func Generate(kind string) (crypto.Signer, error) {
	switch kind {
	case "RSA":
		return rsa.GenerateKey(rand.Reader, 2048)
	case "EC":
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case "OKP":
		_, private, err := ed25519.GenerateKey(rand.Reader)
		return private, err
	}
	return nil, fmt.Errorf("the kind of key %q is not supported: use RSA, EC or OKP", kind)
}

// ParsePrivate reads one private key in PEM. The error says what the text is instead.
func ParsePrivate(text string) (crypto.Signer, error) {
	block, rest := pem.Decode([]byte(strings.TrimSpace(text)))
	if block != nil && block.Type == "EC PARAMETERS" { // openssl writes it before the key
		block, rest = pem.Decode(rest)
	}
	if block == nil {
		return nil, errors.New("is not a private key in PEM: it begins with -----BEGIN PRIVATE KEY-----")
	}
	if len(strings.TrimSpace(string(rest))) > 0 && strings.Contains(string(rest), "PRIVATE KEY") {
		return nil, errors.New("contains more than one key: keep one")
	}
	// RFC 1421 §4.6.1.1
	if strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED") {
		return nil, errors.New("is encrypted: it must be an unencrypted private key")
	}
	var private any
	var err error
	switch block.Type {
	case "RSA PRIVATE KEY":
		private, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	case "EC PRIVATE KEY":
		private, err = x509.ParseECPrivateKey(block.Bytes)
	case "PRIVATE KEY":
		private, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	default:
		return nil, fmt.Errorf("is a PEM block %q: it must be an unencrypted private key", block.Type)
	}
	if err != nil {
		return nil, errors.New("is a PEM block that contains no private key")
	}
	signer, ok := private.(crypto.Signer)
	if !ok {
		return nil, errors.New("is a private key that cannot sign")
	}
	return signer, nil
}
