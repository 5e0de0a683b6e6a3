package jose

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/base64"
)

// Certificate returns the certificate of the key in DER, or nil if there is none or it is not for
// this key.
//
// RFC 7517 §4.7: it is the first of x5c, in Base64, and its key is the one of the JWK.
func (k JWK) Certificate() []byte {
	public, comparable := k.key().(interface{ Equal(crypto.PublicKey) bool })
	if !comparable || len(k.Chain) == 0 {
		return nil
	}
	der, err := base64.StdEncoding.Strict().DecodeString(k.Chain[0])
	if err != nil {
		return nil
	}
	c, err := x509.ParseCertificate(der)
	if err != nil || !public.Equal(c.PublicKey) {
		return nil
	}
	return der
}

// WithCertificate returns the key that has this certificate, in DER, byte for byte.
func (s JWKSet) WithCertificate(der []byte) (JWK, bool) {
	for _, k := range s.Keys {
		if own := k.Certificate(); own != nil && bytes.Equal(own, der) {
			return k, true
		}
	}
	return JWK{}, false
}
