package mandate

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"maps"
	"math/big"
	"strings"
	"sync"
	"testing"

	"github.com/golang-jwt/jwt/v5"
)

// statementIssuer signs software statements (RFC 7591 §2.3).
type statementIssuer struct {
	name string
	keys map[string]crypto.Signer // by kid
}

// newStatementIssuer makes an issuer with a key for each algorithm, whose kid is the
// algorithm.
func newStatementIssuer(t testing.TB, name string) *statementIssuer {
	t.Helper()
	i := &statementIssuer{name: name, keys: map[string]crypto.Signer{}}
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	i.keys["ES256"] = ec
	for _, kid := range []string{"EdDSA", "Ed25519"} { // RFC 9864 §2.2: two names
		_, i.keys[kid], err = ed25519.GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, kid := range []string{"RS256", "PS256"} {
		i.keys[kid] = rsaKeys.next(t)
	}
	return i
}

// keyRing has RSA keys, which take long to make. A test gets each of them once, and another test gets the same ones.
type keyRing struct {
	sync.Mutex
	made []*rsa.PrivateKey
	used map[string]int // by the name of the test
}

var rsaKeys = keyRing{used: map[string]int{}}

func (k *keyRing) next(t testing.TB) *rsa.PrivateKey {
	t.Helper()
	k.Lock()
	defer k.Unlock()
	test, _, _ := strings.Cut(t.Name(), "/")
	n := k.used[test]
	k.used[test]++
	if n == len(k.made) {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			t.Fatal(err)
		}
		k.made = append(k.made, key)
	}
	return k.made[n]
}

// keySet returns the public keys, as JSON.
func (i *statementIssuer) keySet(t testing.TB) string {
	t.Helper()
	return keySetOf(t, i.keys, nil)
}

// keySetFor returns the public key for one algorithm, and for no other, as JSON.
func (i *statementIssuer) keySetFor(t testing.TB, algorithm string) string {
	t.Helper()
	return keySetOf(t, map[string]crypto.Signer{algorithm: i.keys[algorithm]}, member{"alg": algorithm})
}

// keySetOf returns public keys by their kid, each with more members, as JSON.
func keySetOf(t testing.TB, by map[string]crypto.Signer, more member) string {
	t.Helper()
	text := base64.RawURLEncoding.EncodeToString
	var keys []member
	for kid, key := range by {
		one := member{"kid": kid, "use": "sig"}
		maps.Copy(one, more)
		switch public := key.Public().(type) {
		case *ecdsa.PublicKey:
			point, err := public.Bytes()
			if err != nil {
				t.Fatal(err)
			}
			one["kty"], one["crv"], one["x"], one["y"] = "EC", "P-256", text(point[1:33]), text(point[33:])
		case ed25519.PublicKey:
			one["kty"], one["crv"], one["x"] = "OKP", "Ed25519", text(public)
		case *rsa.PublicKey:
			one["kty"], one["n"], one["e"] = "RSA", text(public.N.Bytes()), text(big.NewInt(int64(public.E)).Bytes())
		}
		keys = append(keys, one)
	}
	set, err := json.Marshal(member{"keys": keys})
	if err != nil {
		t.Fatal(err)
	}
	return string(set)
}

// sign returns a statement with these claims and iss. more replaces members of the header; nil removes one.
func (i *statementIssuer) sign(t testing.TB, claims member, more member) string {
	t.Helper()
	all := member{"iss": i.name}
	maps.Copy(all, claims)
	header := member{"alg": "ES256", "kid": "ES256", "typ": "JWT"}
	maps.Copy(header, more)
	maps.DeleteFunc(header, func(_ string, value any) bool { return value == nil })
	return signHeader(t, header, all, i.keys[header["alg"].(string)])
}

// signHeader returns a JWT with this header.
func signHeader(t testing.TB, header, claims member, key any) string {
	t.Helper()
	algorithm := header["alg"].(string)
	if algorithm == "Ed25519" {
		algorithm = "EdDSA" // which the library knows
	}
	token := jwt.NewWithClaims(jwt.GetSigningMethod(algorithm), jwt.MapClaims(claims))
	token.Header = header
	text, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// setting returns the item of SOFTWARE_STATEMENT_ISSUERS.
func (i *statementIssuer) setting(t testing.TB) string {
	return "{ISSUER: " + i.name + ", JWKS: '" + i.keySet(t) + "'}"
}

// signatureOf returns the ES256 signature of a text that is not JSON of this package.
func signatureOf(t testing.TB, i *statementIssuer, text string) []byte {
	t.Helper()
	signature, err := jwt.SigningMethodES256.Sign(text, i.keys["ES256"])
	if err != nil {
		t.Fatal(err)
	}
	return signature
}
