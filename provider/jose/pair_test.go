package jose

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"testing"
)

// The private JWK holds the key whose public part is the JWK beside it.
func TestNewPair(t *testing.T) {
	number := func(text string) []byte {
		raw, err := base64.RawURLEncoding.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	for _, algorithm := range []string{"ES256", "PS256", "EdDSA"} {
		text, public, err := NewPair(algorithm)
		if err != nil {
			t.Fatal(err)
		}
		var m map[string]string
		if err := json.Unmarshal([]byte(text), &m); err != nil || m["kid"] != public.ID || m["alg"] != algorithm ||
			m["use"] != "sig" {
			t.Fatalf("%s: %v, %v", algorithm, err, m["kid"])
		}
		var private any
		switch m["kty"] {
		case "EC":
			private, err = ecdsa.ParseRawPrivateKey(elliptic.P256(), number(m["d"]))
		case "OKP":
			private = ed25519.NewKeyFromSeed(number(m["d"]))
		case "RSA":
			key := &rsa.PrivateKey{PublicKey: *public.Public().(*rsa.PublicKey), D: new(big.Int).SetBytes(number(m["d"])),
				Primes: []*big.Int{new(big.Int).SetBytes(number(m["p"])), new(big.Int).SetBytes(number(m["q"]))}}
			key.Precompute()
			private, err = key, key.Validate()
		}
		if err != nil {
			t.Fatal(err)
		}
		signed, err := Sign(algorithm, "JWT", public.ID, private, Claims{"a": "b"})
		if err != nil {
			t.Fatal(err)
		}
		set := JWKSet{[]JWK{public}}
		_, err = Verifier{Algorithms: []string{algorithm}, Types: []string{"jwt"},
			Keys: func(h Header, _ []byte) ([]any, error) { return set.For(h), nil }}.Verify(signed)
		if err != nil {
			t.Errorf("%s: %v", algorithm, err)
		}
	}
	if _, _, err := NewPair("HS256"); err == nil {
		t.Error("HS256 has a key pair")
	}
}
