package jose

import (
	"crypto"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// PrivateMember returns the name of a member of a JWK that only a private or a symmetric key has, or
// "" (RFC 7518 §6.2.2, §6.3.2, §6.4.1, RFC 8037 §2). A member that is null is a member too.
func PrivateMember[T any](key map[string]T) string {
	for _, name := range []string{"d", "p", "q", "dp", "dq", "qi", "oth", "k"} {
		if _, has := key[name]; has {
			return name
		}
	}
	return ""
}

// ParsePublic reads one public key, for example the one in the header of a JWT. The error
// completes the sentence "the key ...". The thumbprint is a name of the key, so a key has one
// text only: other texts of the same numbers are refused. The ID of the result is the
// thumbprint. Names of members have a case (RFC 7517 §4), and unknown members are ignored.
func ParsePublic(raw []byte) (JWK, crypto.PublicKey, error) {
	var members map[string]any
	if json.Unmarshal(raw, &members) != nil || members == nil {
		return JWK{}, nil, errors.New("must be a JWK: a JSON object")
	}
	if name := PrivateMember(members); name != "" {
		return JWK{}, nil, fmt.Errorf("has the private member %s, so it is no longer secret: make a new key and send its "+
			"public part", name)
	}
	c := Claims(members)
	k := JWK{Type: c.Text("kty"), Use: c.Text("use"), Algorithm: c.Text("alg"), Curve: c.Text("crv"),
		X: c.Text("x"), Y: c.Text("y"), N: c.Text("n"), E: c.Text("e")}
	if list, has := members["key_ops"]; has {
		operations, _ := list.([]any)
		k.Operations = []string{""} // a list without text allows nothing
		for _, one := range operations {
			name, _ := one.(string)
			k.Operations = append(k.Operations, name)
		}
	}
	public := k.Public()
	if public == nil {
		return k, nil, errors.New("must be for signatures: RSA with 2048 to 8192 bits and the exponent 65537, EC with the " +
			"curve P-256, or OKP with the curve Ed25519")
	}
	if !k.hasOneText() {
		return k, nil, errors.New("must have its numbers in base64url without padding, line breaks or leading zero bytes " +
			"(RFC 7518 §6)")
	}
	k.ID = k.Thumbprint()
	return k, public, nil
}

// hasOneText reports whether the numbers of a key that Public has read are written in the only way
// that RFC 7518 §6.2.1 and §6.3.1 and RFC 8037 §2 allow.
func (k JWK) hasOneText() bool {
	numbers := [2]string{k.X, k.Y}
	switch k.Type {
	case "RSA":
		numbers = [2]string{k.N, k.E}
	case "OKP":
		numbers[1] = k.X
	}
	for _, text := range numbers {
		raw, err := Decode(text)
		// The decoder ignores line breaks.
		if err != nil || strings.ContainsAny(text, "\r\n") {
			return false
		}
		if k.Type == "RSA" && raw[0] == 0 || k.Type != "RSA" && len(raw) != 32 {
			return false
		}
	}
	return true
}
