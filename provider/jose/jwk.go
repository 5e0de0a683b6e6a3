package jose

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
)

// JWK is a public key (RFC 7517 §4).
type JWK struct {
	Type       string   `json:"kty"`
	Use        string   `json:"use,omitempty"`
	Operations []string `json:"key_ops,omitempty"`
	Algorithm  string   `json:"alg,omitempty"`
	ID         string   `json:"kid"`
	Curve      string   `json:"crv,omitempty"`
	X          string   `json:"x,omitempty"`
	Y          string   `json:"y,omitempty"`
	N          string   `json:"n,omitempty"`
	E          string   `json:"e,omitempty"`
	Chain      []string `json:"x5c,omitempty"` // certificates: the first is for this key

	public crypto.PublicKey // made by ParseSet once, because to check a point of a curve costs time
}

// JWKSet is a set of public keys (RFC 7517 §5).
type JWKSet struct {
	Keys []JWK `json:"keys"`
}

// ParseSet reads a set. A member that is not a JWK is left out (RFC 7517 §5).
func ParseSet(text []byte) (JWKSet, error) {
	var raw struct {
		Keys []json.RawMessage `json:"keys"`
	}
	var set JWKSet
	err := json.Unmarshal(text, &raw)
	if err != nil {
		return set, err
	}
	for _, one := range raw.Keys {
		var k JWK
		if json.Unmarshal(one, &k) == nil {
			k.public = k.key()
			set.Keys = append(set.Keys, k)
		}
	}
	return set, nil
}

// For returns the public keys with which a signature may have been made, as jose.Verifier
// wants them. The kid of the header chooses the key. A header without kid is accepted only if
// one key alone is for its algorithm (RFC 7515 §4.1.4). Keys that the header itself names or
// holds (jku, jwk, x5u, x5c) are not looked at.
func (s JWKSet) For(h Header) []any {
	found, _ := s.Named(h)
	return found
}

// Named returns the keys of For, and the ID that they have in the set.
func (s JWKSet) Named(h Header) ([]any, string) {
	var found []any
	id := h.KeyID
	for _, k := range s.Keys {
		if h.KeyID != "" && k.ID != h.KeyID || KindOf(h.Algorithm) == "" || !k.Supports(h.Algorithm) {
			continue
		}
		if public := k.Public(); public != nil {
			found, id = append(found, public), k.ID
		}
	}
	// RFC 7517 §4.5: a kid names one key. Of several, each would be tried, and to try costs time.
	if len(found) > 1 {
		return nil, ""
	}
	return found, id
}

// The RSA keys that verify signatures here.
const (
	// minRSA is the shortest one, in bits (RFC 7518 §3.3).
	minRSA = 2048
	// maxRSA is the longest one. To verify with a longer one would take a second.
	maxRSA = 8192
	// rsaExponent is the public exponent. Every program makes keys with it (RFC 8017 §3.1 allows any, and
	// FIPS 186-5 §5.1 none that is smaller). With one of 31 bits a signature costs thirty times as much.
	rsaExponent = 65537
)

// RSABits returns the length of an RSA key in bits, and 0 for any other key.
func RSABits(key any) int {
	if public, ok := key.(*rsa.PublicKey); ok {
		return public.N.BitLen()
	}
	return 0
}

// NewJWK returns the JWK of a public key that verifies signatures. Its ID is the
// thumbprint.
func NewJWK(public crypto.PublicKey) (JWK, error) {
	b64 := base64.RawURLEncoding.EncodeToString
	k := JWK{Use: "sig"}
	switch key := public.(type) {
	case *rsa.PublicKey:
		if key.N.BitLen() < minRSA {
			return k, fmt.Errorf("is an RSA key of %d bits: use at least %d", key.N.BitLen(), minRSA)
		}
		if key.E != rsaExponent {
			return k, fmt.Errorf("is an RSA key with the public exponent %d: use %d", key.E, rsaExponent)
		}
		k.Type, k.N, k.E = "RSA", b64(key.N.Bytes()), b64(big.NewInt(int64(key.E)).Bytes())
	case *ecdsa.PublicKey:
		if key.Curve != elliptic.P256() {
			return k, errors.New("is an EC key with a curve other than P-256")
		}
		point, err := key.Bytes() // 4, x, y
		if err != nil {
			return k, err
		}
		k.Type, k.Curve, k.X, k.Y = "EC", "P-256", b64(point[1:33]), b64(point[33:])
	case ed25519.PublicKey:
		k.Type, k.Curve, k.X = "OKP", "Ed25519", b64(key)
	default:
		return k, fmt.Errorf("is a key of type %T", public)
	}
	k.ID = k.Thumbprint()
	return k, nil
}

// Thumbprint is the SHA-256 digest of the required members in the order of their names (RFC
// 7638 §3).
func (k JWK) Thumbprint() string {
	var text string
	switch k.Type {
	case "RSA":
		text = fmt.Sprintf(`{"e":%q,"kty":"RSA","n":%q}`, k.E, k.N)
	case "EC":
		text = fmt.Sprintf(`{"crv":%q,"kty":"EC","x":%q,"y":%q}`, k.Curve, k.X, k.Y)
	default:
		text = fmt.Sprintf(`{"crv":%q,"kty":"OKP","x":%q}`, k.Curve, k.X)
	}
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// Public returns the key itself, or nil for one that verifies no signature of Algorithms.
func (k JWK) Public() crypto.PublicKey {
	// RFC 7517 §4.2, §4.3
	if k.Use != "" && k.Use != "sig" || len(k.Operations) > 0 && !slices.Contains(k.Operations, "verify") ||
		k.Type == "EC" && k.Curve != "P-256" {
		return nil
	}
	return k.key()
}

// curves lists the curves of EC keys (RFC 7518 §6.2.1.1). No algorithm here uses the last two: they are for
// certificates.
var curves = map[string]elliptic.Curve{"P-256": elliptic.P256(), "P-384": elliptic.P384(), "P-521": elliptic.P521()}

// key returns the key itself, or nil for one of another kind or without enough bits.
func (k JWK) key() crypto.PublicKey {
	if k.public != nil {
		return k.public
	}
	number := func(text string) []byte {
		raw, _ := base64.RawURLEncoding.DecodeString(text) // a wrong one is refused below
		return raw
	}
	switch {
	case k.Type == "RSA":
		n, e := new(big.Int).SetBytes(number(k.N)), new(big.Int).SetBytes(number(k.E))
		if n.BitLen() >= minRSA && n.BitLen() <= maxRSA && e.IsInt64() && e.Int64() == rsaExponent {
			return &rsa.PublicKey{N: n, E: rsaExponent}
		}
	case k.Type == "EC" && curves[k.Curve] != nil:
		public, err := ecdsa.ParseUncompressedPublicKey(curves[k.Curve], slices.Concat([]byte{4}, number(k.X), number(k.Y)))
		if err == nil {
			return public
		}
	case k.Type == "OKP" && k.Curve == "Ed25519" && len(number(k.X)) == ed25519.PublicKeySize:
		return ed25519.PublicKey(number(k.X))
	}
	return nil
}

// Weak reports whether the key is an RSA key that is too short, too costly to compute with, or broken.
func (k JWK) Weak() bool { return k.Type == "RSA" && k.key() == nil }

// Bits returns the length of an RSA key in bits, and 0 for any other key.
func (k JWK) Bits() int { return RSABits(k.key()) }

// Supports reports whether the key is for an algorithm: its kind is the algorithm's, and the
// key is not restricted to another algorithm (RFC 8725 §3.1).
func (k JWK) Supports(algorithm string) bool {
	return k.Type == KindOf(algorithm) && (k.Algorithm == "" || older(k.Algorithm) == older(algorithm))
}
