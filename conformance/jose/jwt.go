// Package jose reads and verifies JSON Web Tokens, and forges tokens that a server must reject.
package jose

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/golang-jwt/jwt/v5"
)

// JWT is a signed token (RFC 7519) after parsing. Its signature is not verified by parsing.
type JWT struct {
	Header, Claims map[string]any
	raw            string
}

// Read parses a token of three parts. It does not verify the signature.
func Read(text string) (*JWT, error) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return nil, fmt.Errorf("it has %d parts, and a signed JWT has 3", len(parts))
	}
	j := &JWT{raw: text}
	for i, into := range []*map[string]any{&j.Header, &j.Claims} {
		raw, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err != nil {
			return nil, fmt.Errorf("its part %d is not base64url", i+1)
		}
		err = json.Unmarshal(raw, into)
		if err != nil || *into == nil {
			return nil, fmt.Errorf("its part %d is not a JSON object", i+1)
		}
	}
	return j, nil
}

// Text returns a claim that is a string, or "".
func (j *JWT) Text(name string) string {
	text, _ := j.Claims[name].(string)
	return text
}

// Number returns a claim that is a number, or -1.
func (j *JWT) Number(name string) float64 {
	number, is := j.Claims[name].(float64)
	if !is {
		return -1
	}
	return number
}

// Algorithm returns alg of the header.
func (j *JWT) Algorithm() string {
	text, _ := j.Header["alg"].(string)
	return text
}

// Audience returns aud as a list. In the token it may be a string or a list (RFC 7519 §4.1.3).
func (j *JWT) Audience() []string {
	switch aud := j.Claims["aud"].(type) {
	case string:
		return []string{aud}
	case []any:
		var list []string
		for _, a := range aud {
			text, _ := a.(string)
			list = append(list, text)
		}
		return list
	}
	return nil
}

// JWK is a published key (RFC 7517 §4).
type JWK struct {
	Type       string   `json:"kty"`
	Use        string   `json:"use"`
	Operations []string `json:"key_ops"`
	Algorithm  string   `json:"alg"`
	ID         string   `json:"kid"`
	Curve      string   `json:"crv"`
	X          string   `json:"x"`
	Y          string   `json:"y"`
	N          string   `json:"n"`
	E          string   `json:"e"`
}

// Signs reports whether use and key_ops allow the key to verify a signature (RFC 7517 §4.2, §4.3).
func (k JWK) Signs() bool {
	return (k.Use == "" || k.Use == "sig") && (len(k.Operations) == 0 || slices.Contains(k.Operations, "verify"))
}

// kinds are the key types that verify an algorithm, by the first letters of its name.
var kinds = map[string]string{"RS": "RSA", "PS": "RSA", "ES": "EC", "Ed": "OKP"}

// fits reports whether the key has the type that an algorithm needs.
func (k JWK) fits(algorithm string) bool {
	return len(algorithm) > 2 && k.Type == kinds[algorithm[:2]] && (k.Algorithm == "" || k.Algorithm == algorithm)
}

var curves = map[string]elliptic.Curve{"P-256": elliptic.P256(), "P-384": elliptic.P384(), "P-521": elliptic.P521()}

// ErrUnsupported is the error for keys and algorithms that this program cannot verify. It does not mean that they are
// wrong.
var ErrUnsupported = errors.New("this program does not support it")

// maxModulus is the length of the longest RSA key that is used, in bits, and maxKeys how many keys are tried. The time
// of a verification grows with the square of the length.
const (
	maxModulus = 16384
	maxKeys    = 100
)

// public returns the key as Go's packages expect it.
func (k JWK) public() (any, error) {
	number := func(text string) []byte {
		raw, _ := base64.RawURLEncoding.DecodeString(text) // a wrong key verifies nothing
		return raw
	}
	switch {
	case k.Type == "RSA":
		n, e := new(big.Int).SetBytes(number(k.N)), new(big.Int).SetBytes(number(k.E))
		if n.Sign() == 0 || !e.IsInt64() || e.Int64() < 3 || e.Int64() > 1<<31-1 {
			return nil, errors.New("n and e are not those of an RSA key")
		}
		if n.BitLen() > maxModulus {
			return nil, fmt.Errorf("an RSA key of %d bits: %w", n.BitLen(), ErrUnsupported)
		}
		return &rsa.PublicKey{N: n, E: int(e.Int64())}, nil
	case k.Type == "EC" && curves[k.Curve] != nil:
		point := slices.Concat([]byte{4}, number(k.X), number(k.Y))
		return ecdsa.ParseUncompressedPublicKey(curves[k.Curve], point)
	case k.Type == "OKP" && k.Curve == "Ed25519":
		if len(number(k.X)) != ed25519.PublicKeySize {
			return nil, errors.New("x does not have the length of an Ed25519 key")
		}
		return ed25519.PublicKey(number(k.X)), nil
	}
	return nil, fmt.Errorf("a key of the type %s %s: %w", k.Type, k.Curve, ErrUnsupported)
}

// candidates returns the keys that can have signed a token.
func candidates(keys []JWK, j *JWT) []JWK {
	id, named := j.Header["kid"].(string)
	return slices.DeleteFunc(slices.Clone(keys), func(k JWK) bool {
		return !k.fits(j.Algorithm()) || !k.Signs() || named && k.ID != id
	})
}

// Verify checks the signature with the published keys, or an HMAC with the client's secret.
func (j *JWT) Verify(keys []JWK, secret string) error {
	parser := jwt.NewParser(jwt.WithoutClaimsValidation(), jwt.WithValidMethods([]string{j.Algorithm()}))
	with := func(key any) error {
		_, err := parser.Parse(j.raw, func(*jwt.Token) (any, error) { return key, nil })
		return err
	}
	if strings.HasPrefix(j.Algorithm(), "HS") {
		return with([]byte(secret))
	}
	if jwt.GetSigningMethod(j.Algorithm()) == nil {
		return fmt.Errorf("alg is %q: %w", j.Algorithm(), ErrUnsupported)
	}
	err := errors.New("no published key has its kid and fits its alg")
	fitting := candidates(keys, j)
	if len(fitting) > maxKeys {
		return fmt.Errorf("%d published keys fit its kid and alg: %w", len(fitting), ErrUnsupported)
	}
	for _, k := range fitting {
		var public any
		public, err = k.public()
		if err == nil {
			err = with(public)
		}
		if err == nil {
			return nil
		}
	}
	return err
}

// LeftHash returns at_hash: the left half of the digest that belongs to the algorithm, or "" for an unknown
// algorithm.
func LeftHash(algorithm, text string) string {
	var sum []byte
	switch {
	case strings.HasSuffix(algorithm, "256"), algorithm == "ES256K":
		digest := sha256.Sum256([]byte(text))
		sum = digest[:]
	case strings.HasSuffix(algorithm, "384"):
		digest := sha512.Sum384([]byte(text))
		sum = digest[:]
	case strings.HasSuffix(algorithm, "512"), algorithm == "EdDSA", algorithm == "Ed25519":
		// RFC 8032 §5.1: Ed25519 uses SHA-512.
		digest := sha512.Sum512([]byte(text))
		sum = digest[:]
	}
	return base64.RawURLEncoding.EncodeToString(sum[:len(sum)/2])
}

// The tokens that an attacker makes from a signed token.

// Altered returns copies of a token with a changed claim or signature.
func Altered(token string) []string {
	j, err := Read(token)
	if err != nil {
		return nil
	}
	parts := strings.Split(token, ".")
	first := "A"
	if strings.HasPrefix(parts[2], first) {
		first = "B"
	}
	all := []string{parts[0] + "." + parts[1] + "." + first + parts[2][min(1, len(parts[2])):],
		parts[0] + "." + parts[1] + "."}
	for _, name := range []string{"conformance", "iss"} {
		claims := maps.Clone(j.Claims)
		claims[name] = "https://attacker.example"
		all = append(all, parts[0]+"."+Encoded(claims)+"."+parts[2])
	}
	return all
}

// Encoded returns a part of a JWT.
func Encoded(object map[string]any) string {
	text, _ := json.Marshal(object) // the object was parsed from JSON
	return base64.RawURLEncoding.EncodeToString(text)
}

// Unsigned returns copies of a token with alg none (RFC 7518 §8.5), in several spellings.
func Unsigned(token string) []string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return nil
	}
	var all []string
	for _, alg := range []string{"none", "None", "NONE"} {
		header := Encoded(map[string]any{"alg": alg, "typ": "JWT"})
		all = append(all, header+"."+parts[1]+".", header+"."+parts[1]+"."+parts[2])
	}
	return all
}

// resign signs the claims again, with the same header except for alg.
func (j *JWT) resign(method jwt.SigningMethod, key any) string {
	token := jwt.NewWithClaims(method, jwt.MapClaims(j.Claims))
	header := maps.Clone(j.Header)
	header["alg"] = method.Alg()
	token.Header = header
	text, _ := token.SignedString(key) // each key belongs to its method
	return text
}

// SignedByAnother returns copies of a token that are signed with other keys.
func SignedByAnother(token string) []string {
	j, err := Read(token)
	if err != nil {
		return nil
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil
	}
	return []string{j.resign(jwt.SigningMethodRS256, key),
		j.resign(jwt.SigningMethodHS256, []byte(strings.Repeat("conformance", 4)))}
}

// Confused returns tokens that are signed by HMAC with public data. A verifier that lets the token choose the
// algorithm would use its own public key as the secret (RFC 8725 §2.1).
func Confused(j *JWT, keys []JWK, set []byte) []string {
	all := []string{j.resign(jwt.SigningMethodHS256, set), j.resign(jwt.SigningMethodHS256, []byte{})}
	for _, k := range keys[:min(maxKeys, len(keys))] {
		public, err := k.public()
		if err != nil {
			continue
		}
		named := &JWT{Header: maps.Clone(j.Header), Claims: j.Claims}
		named.Header["kid"] = k.ID
		secrets := publicTexts(public)
		for _, text := range []string{k.N, k.X} {
			if raw, err := base64.RawURLEncoding.DecodeString(text); err == nil && len(raw) > 0 {
				secrets = append(secrets, raw, []byte(text))
			}
		}
		for _, secret := range secrets {
			all = append(all, named.resign(jwt.SigningMethodHS256, secret))
		}
	}
	return all
}

// publicTexts returns a public key as it is kept in files: in DER, and in PEM with and without the last line break.
func publicTexts(public any) [][]byte {
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return nil
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	return [][]byte{der, text, []byte(strings.TrimSpace(string(text)))}
}
