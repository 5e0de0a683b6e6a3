package jose

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"fmt"
)

// NewPair makes a key pair for an algorithm. It returns the private key as the JSON of a JWK (RFC
// 7518 §6, RFC 8037 §2), and the public key.
func NewPair(algorithm string) (string, JWK, error) {
	private, err := Generate(KindOf(algorithm))
	if err != nil {
		return "", JWK{}, err
	}
	public, err := NewJWK(private.Public())
	if err != nil {
		return "", JWK{}, err
	}
	public.Algorithm = algorithm
	secret, err := privateNumbers(private)
	if err != nil {
		return "", JWK{}, err
	}
	text, err := json.MarshalIndent(struct {
		JWK
		numbers
	}{public, secret}, "", "  ")
	return string(text), public, err
}

// numbers are the members that only a private key has.
type numbers struct {
	D  string `json:"d"`
	P  string `json:"p,omitempty"`
	Q  string `json:"q,omitempty"`
	DP string `json:"dp,omitempty"`
	DQ string `json:"dq,omitempty"`
	QI string `json:"qi,omitempty"`
}

func privateNumbers(private crypto.Signer) (numbers, error) {
	b64 := base64.RawURLEncoding.EncodeToString
	switch key := private.(type) {
	case *ecdsa.PrivateKey:
		d, err := key.Bytes()
		return numbers{D: b64(d)}, err
	case ed25519.PrivateKey:
		return numbers{D: b64(key.Seed())}, nil
	case *rsa.PrivateKey:
		made := key.Precomputed
		return numbers{b64(key.D.Bytes()), b64(key.Primes[0].Bytes()), b64(key.Primes[1].Bytes()), b64(made.Dp.Bytes()),
			b64(made.Dq.Bytes()), b64(made.Qinv.Bytes())}, nil
	}
	return numbers{}, fmt.Errorf("a private key of type %T has no JWK here", private)
}
