package demo

import (
	"crypto"
	"crypto/hmac"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"strings"
)

// idToken is a decoded ID token (RFC 7515 §7.1). Its signature is not yet verified.
type idToken struct {
	text           string
	header, claims []byte // as JSON
	signed         string // the part that is signed
	signature      []byte

	head struct {
		Algorithm string `json:"alg"`
		KeyID     string `json:"kid"`
	}
	says struct {
		Issuer     string `json:"iss"`
		Subject    string `json:"sub"`
		Audience   string `json:"aud"` // this server sends one value
		Expires    int64  `json:"exp"`
		Nonce      string `json:"nonce"`
		AccessHash string `json:"at_hash"`
	}
}

func readIDToken(text string) (*idToken, error) {
	const unreadable = refusal("The token endpoint returned no ID token that the site can read.")
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return nil, unreadable
	}
	t := &idToken{text: text, signed: parts[0] + "." + parts[1]}
	for i, into := range []*[]byte{&t.header, &t.claims, &t.signature} {
		raw, err := base64.RawURLEncoding.Strict().DecodeString(parts[i])
		if err != nil {
			return nil, unreadable
		}
		*into = raw
	}
	if json.Unmarshal(t.header, &t.head) != nil || json.Unmarshal(t.claims, &t.says) != nil {
		return nil, unreadable
	}
	return t, nil
}

// keySet is a set of public keys (RFC 7517 §5).
type keySet struct {
	Keys []struct {
		Type     string `json:"kty"`
		ID       string `json:"kid"`
		Modulus  string `json:"n"`
		Exponent string `json:"e"`
	} `json:"keys"`
}

// rsa finds an RSA key by its kid (RFC 7518 §6.3.1), or returns nil.
func (k keySet) rsa(id string) *rsa.PublicKey {
	number := func(text string) *big.Int {
		raw, _ := base64.RawURLEncoding.DecodeString(text) // an invalid number verifies no signature
		return new(big.Int).SetBytes(raw)
	}
	for _, key := range k.Keys {
		if key.Type == "RSA" && key.ID == id {
			return &rsa.PublicKey{N: number(key.Modulus), E: int(number(key.Exponent).Int64())}
		}
	}
	return nil
}

// signedBy reports whether the server made a signature (RFC 7518 §3.2, §3.3). The
// algorithm is the registered one, not that of the token.
func (s *webSite) signedBy(signed string, signature []byte, key *rsa.PublicKey) bool {
	switch s.algorithm {
	case "RS256":
		sum := sha256.Sum256([]byte(signed))
		return key != nil && rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], signature) == nil
	case "HS256":
		mac := hmac.New(sha256.New, []byte(s.secret))
		mac.Write([]byte(signed))
		return hmac.Equal(mac.Sum(nil), signature)
	}
	return false
}
