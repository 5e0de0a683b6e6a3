package jose

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/golang-jwt/jwt/v5"
)

// Key is what a client signs with: a private key, or a secret.
type Key struct {
	Algorithm string
	ID        string // kid, or ""

	private any
}

// Algorithms returns the algorithms that a private key can have.
func Algorithms() []string {
	return []string{"ES256", "ES384", "ES512", "EdDSA", "PS256", "PS384", "PS512", "RS256", "RS384", "RS512"}
}

// usual are the algorithms of keys that name none.
var usual = map[string]string{"P-256": "ES256", "P-384": "ES384", "P-521": "ES512", "Ed25519": "EdDSA"}

// ReadKey reads a private key that is a JWK (RFC 7517 §4, RFC 7518 §6).
func ReadKey(jwk map[string]any) (*Key, error) {
	text := func(name string) string {
		value, _ := jwk[name].(string)
		return value
	}
	k := &Key{Algorithm: text("alg"), ID: text("kid")}
	if k.Algorithm == "" {
		k.Algorithm = usual[text("crv")]
	}
	switch {
	case text("kty") != "EC" && text("kty") != "OKP" && text("kty") != "RSA":
		return nil, fmt.Errorf("kty is %q: use EC, OKP or RSA", text("kty"))
	case text("d") == "":
		return nil, errors.New("d is missing: name the private key, not the public one")
	case k.Algorithm == "":
		return nil, errors.New("alg is missing: add the algorithm, such as PS256")
	case !slices.Contains(Algorithms(), k.Algorithm):
		return nil, fmt.Errorf("alg %q is not supported: use %s", k.Algorithm, strings.Join(Algorithms(), ", "))
	case kinds[k.Algorithm[:2]] != text("kty"), text("kty") == "EC" && usual[text("crv")] != k.Algorithm:
		return nil, fmt.Errorf("alg %s does not fit a key of the type %s %s", k.Algorithm, text("kty"), text("crv"))
	}
	public, err := JWK{Type: text("kty"), Curve: text("crv"), X: text("x"), Y: text("y"), N: text("n"),
		E: text("e")}.public()
	if err != nil {
		return nil, err
	}
	k.private, err = private(public, text)
	return k, err
}

// private returns the private key that belongs to a public one.
func private(public any, text func(string) string) (any, error) {
	number := func(name string) []byte {
		raw, _ := base64.RawURLEncoding.DecodeString(text(name)) // a wrong key does not fit the public one
		return raw
	}
	switch public := public.(type) {
	case *ecdsa.PublicKey:
		key, err := ecdsa.ParseRawPrivateKey(public.Curve, number("d"))
		if err != nil || !key.PublicKey.Equal(public) {
			return nil, errors.New("d is not the private key of x and y")
		}
		return key, nil
	case ed25519.PublicKey:
		if len(number("d")) != ed25519.SeedSize ||
			!ed25519.NewKeyFromSeed(number("d")).Public().(ed25519.PublicKey).Equal(public) {
			return nil, errors.New("d is not the private key of x")
		}
		return ed25519.NewKeyFromSeed(number("d")), nil
	}
	key := &rsa.PrivateKey{PublicKey: *public.(*rsa.PublicKey), D: new(big.Int).SetBytes(number("d")),
		Primes: []*big.Int{new(big.Int).SetBytes(number("p")), new(big.Int).SetBytes(number("q"))}}
	err := key.Validate()
	if err != nil {
		return nil, errors.New("d, p and q are not the private key of n and e: name all three")
	}
	key.Precompute()
	return key, nil
}

// NewKey returns a new private key for an algorithm. ES256 is one of those that most servers accept.
func NewKey(algorithm string) *Key {
	k := &Key{Algorithm: algorithm, ID: rand.Text()}
	switch algorithm[:2] {
	case "RS", "PS":
		k.private, _ = rsa.GenerateKey(rand.Reader, 2048) // the length is allowed, and so it cannot fail
	case "Ed":
		_, k.private, _ = ed25519.GenerateKey(rand.Reader)
	default:
		curve := map[string]elliptic.Curve{"ES384": elliptic.P384(), "ES512": elliptic.P521()}[algorithm]
		if curve == nil {
			curve = elliptic.P256()
		}
		k.private, _ = ecdsa.GenerateKey(curve, rand.Reader)
	}
	return k
}

// SecretKey returns a key for an HMAC.
func SecretKey(secret string) *Key { return &Key{Algorithm: "HS256", private: []byte(secret)} }

// Public returns the public key as a JWK.
func (k *Key) Public() map[string]any {
	text := base64.RawURLEncoding.EncodeToString
	jwk := map[string]any{"alg": k.Algorithm, "use": "sig"}
	if k.ID != "" {
		jwk["kid"] = k.ID
	}
	switch key := k.private.(type) {
	case *ecdsa.PrivateKey:
		point, _ := key.PublicKey.Bytes() // the key is on its curve
		half := len(point) / 2
		jwk["kty"], jwk["crv"], jwk["x"], jwk["y"] = "EC", key.Curve.Params().Name, text(point[1:1+half]),
			text(point[1+half:])
	case ed25519.PrivateKey:
		jwk["kty"], jwk["crv"], jwk["x"] = "OKP", "Ed25519", text(key.Public().(ed25519.PublicKey))
	case *rsa.PrivateKey:
		jwk["kty"], jwk["n"], jwk["e"] = "RSA", text(key.N.Bytes()), text(big.NewInt(int64(key.E)).Bytes())
	}
	return jwk
}

// Private returns the whole key as a JWK.
func (k *Key) Private() map[string]any {
	text := base64.RawURLEncoding.EncodeToString
	jwk := k.Public()
	switch key := k.private.(type) {
	case *ecdsa.PrivateKey:
		scalar, _ := key.Bytes() // the key is on its curve
		jwk["d"] = text(scalar)
	case ed25519.PrivateKey:
		jwk["d"] = text(key.Seed())
	case *rsa.PrivateKey:
		jwk["d"], jwk["p"], jwk["q"] = text(key.D.Bytes()), text(key.Primes[0].Bytes()), text(key.Primes[1].Bytes())
	}
	return jwk
}

// Bare returns the public key with the members alone that every key of its type has (RFC 7638 §3.2).
func (k *Key) Bare() map[string]any {
	jwk := k.Public()
	for _, name := range []string{"alg", "use", "kid"} {
		delete(jwk, name)
	}
	return jwk
}

// Thumbprint returns the digest of the public key (RFC 7638 §3), in base64url.
func (k *Key) Thumbprint() string {
	text, _ := json.Marshal(k.Bare()) // the members are texts, and sorted
	digest := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(digest[:])
}

// By returns the same private key with another algorithm of its type.
func (k *Key) By(algorithm string) *Key {
	other := *k
	other.Algorithm = algorithm
	return &other
}

// Sign returns a signed JWT with these claims. The members of header replace the usual ones; nil removes a member.
func (k *Key) Sign(header, claims map[string]any) string {
	token := jwt.NewWithClaims(jwt.GetSigningMethod(k.Algorithm), jwt.MapClaims(claims))
	delete(token.Header, "typ")
	if k.ID != "" {
		token.Header["kid"] = k.ID
	}
	for name, value := range header {
		if token.Header[name] = value; value == nil {
			delete(token.Header, name)
		}
	}
	signed, _ := token.SignedString(k.private) // each key belongs to its algorithm
	return signed
}

// Misused returns keys for HMACs that are made of the public key. A verifier that lets the token choose the algorithm
// would use its public key as the secret (RFC 8725 §2.1).
func (k *Key) Misused() []*Key {
	signer, is := k.private.(crypto.Signer)
	if !is {
		return nil
	}
	var all []*Key
	for _, secret := range publicTexts(signer.Public()) {
		all = append(all, &Key{Algorithm: "HS256", ID: k.ID, private: secret})
	}
	return all
}
