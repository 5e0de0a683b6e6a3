package jose

import (
	"crypto"
	"crypto/x509"
	"encoding/base64"
	"strings"
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

// lineEnds removes what a decoder of Base64 ignores.
var lineEnds = strings.NewReplacer("\r", "", "\n", "")

// WithCertificate returns the key that has this certificate, in DER, byte for byte.
//
// Whoever registered the set decides how many certificates it has, and how large they are. So it compares their texts,
// and reads one certificate at most.
func (s JWKSet) WithCertificate(der []byte) (JWK, bool) {
	text := base64.StdEncoding.EncodeToString(der)
	var certified interface{ Equal(crypto.PublicKey) bool } // the key of the certificate
	for _, k := range s.Keys {
		if len(k.Chain) == 0 || lineEnds.Replace(k.Chain[0]) != text {
			continue
		}
		if certified == nil {
			c, err := x509.ParseCertificate(der)
			if err != nil {
				return JWK{}, false
			}
			comparable, ok := c.PublicKey.(interface{ Equal(crypto.PublicKey) bool })
			if !ok {
				return JWK{}, false
			}
			certified = comparable
		}
		// RFC 7517 §4.7: the key of the certificate is the one of the JWK.
		if own := k.key(); own != nil && certified.Equal(own) {
			return k, true
		}
	}
	return JWK{}, false
}
