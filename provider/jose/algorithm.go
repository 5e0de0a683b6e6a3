// Package jose signs and verifies JSON Web Tokens (RFC 7519), and reads and writes the
// keys for them (RFC 7517, RFC 7518, RFC 8037).
package jose

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"

	"github.com/golang-jwt/jwt/v5"
)

// HS256 signs with a shared secret (RFC 7518 §3.2). It is not in Algorithms.
const HS256 = "HS256"

// Ed25519 is the name that RFC 9864 §2.2 gives to EdDSA with the curve Ed25519, the only curve
// here. The two names stand for one algorithm. Signatures are verified under both; Algorithms,
// with which the server signs, has the older name, which more clients know.
const Ed25519 = "Ed25519"

// kinds lists the signature algorithms with public keys (RFC 7518 §3.1, RFC 8037 §3.1)
// and the kind of key that each takes (RFC 7518 §6.1).
var kinds = map[string]string{"RS256": "RSA", "PS256": "RSA", "ES256": "EC", "EdDSA": "OKP", Ed25519: "OKP"}

// Algorithms lists the signature algorithms with public keys. The fastest to sign with
// is the first.
func Algorithms() []string { return []string{"ES256", "EdDSA", "RS256", "PS256"} }

// KindOf returns the kind of key (kty) of an algorithm, or "" for one that has no public
// key or is unknown.
func KindOf(algorithm string) string { return kinds[algorithm] }

// method returns what signs and verifies, or nil.
func method(algorithm string) jwt.SigningMethod { return jwt.GetSigningMethod(older(algorithm)) }

// older returns the name that the algorithm had before RFC 9864.
func older(algorithm string) string {
	if algorithm == Ed25519 {
		return "EdDSA"
	}
	return algorithm
}

// AtHash returns the left half of the digest that the algorithm uses, as at_hash has it
// (OIDC Core §3.1.3.6). Ed25519 uses SHA-512 (RFC 8032 §5.1).
func AtHash(algorithm, text string) string {
	if older(algorithm) == "EdDSA" {
		sum := sha512.Sum512([]byte(text))
		return base64.RawURLEncoding.EncodeToString(sum[:32])
	}
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}
