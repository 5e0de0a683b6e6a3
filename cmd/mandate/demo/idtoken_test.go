package demo

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// TestDemoRefusesIDTokens checks that the page does not call an invalid ID token
// valid. Another library signs the tokens of this test.
func TestDemoRefusesIDTokens(t *testing.T) {
	private, stranger := rsaKey(t), rsaKey(t)
	keys := published(t, private)
	const access = "mat_access"
	sum := sha256.Sum256([]byte(access))
	good := jwt.MapClaims{"iss": "http://127.0.0.1/o", "sub": "alice-7", "aud": "site", "exp": time.Now().Unix() + 60,
		"nonce":   "n",
		"at_hash": base64.RawURLEncoding.EncodeToString(sum[:16])}
	for _, algorithm := range []string{"RS256", "HS256"} {
		site := &webSite{algorithm: algorithm, credentials: credentials{"site", strings.Repeat("s", 32)}}
		walk := &codeFlow{visit: &visit{site: site, nonce: "n"}, client: &Sites{cast: &Cast{issuer: "http://127.0.0.1/o"}}}
		own := map[string]any{"RS256": private, "HS256": []byte(site.secret)}[algorithm]
		but := func(name string, value any) string {
			claims := maps.Clone(good)
			claims[name] = value
			return signed(t, algorithm, "k", own, claims)
		}
		fine := signed(t, algorithm, "k", own, good)
		tampered := strings.Split(fine, ".")
		tampered[1] = strings.Split(but("sub", "bob-8"), ".")[1]
		for what, test := range map[string]struct{ token, why string }{
			"nothing wrong":     {fine, ""},
			"claims changed":    {strings.Join(tampered, "."), "The signature"},
			"no signature":      {signed(t, "none", "k", jwt.UnsafeAllowNoneSignatureType, good), "alg is"},
			"signature cut off": {fine[:strings.LastIndex(fine, ".")+1], "The signature"},
			"another's key": {
				signed(t, algorithm, "k", map[string]any{"RS256": stranger, "HS256": []byte(strings.Repeat("t", 32))}[algorithm],
					good), "The signature"},
			"another kid": {signed(t, algorithm, "other", own, good),
				map[string]string{"RS256": "The signature"}[algorithm]},
			// RFC 8725 §2.1: a public key must not be used as a secret.
			"the public key as secret": {signed(t, "HS256", "k", private.N.Bytes(), good),
				map[string]string{"RS256": "alg is", "HS256": "The signature"}[algorithm]},
			"another server":       {but("iss", "https://evil.example/o"), "iss is"},
			"another site":         {but("aud", "other"), "aud is"},
			"over":                 {but("exp", time.Now().Unix()-1), "exp is"},
			"another request":      {but("nonce", "m"), "nonce is"},
			"another access token": {but("at_hash", "x"), "at_hash is"},
			"no token":             {"", "no ID token"},
			"not base64":           {fine + "=", "no ID token"},
		} {
			id, err := readIDToken(test.token)
			var held []string
			if err == nil {
				held, err = walk.checkIDToken(id, access, keys)
			}
			if (err == nil) != (test.why == "") || err != nil && !strings.Contains(err.Error(), test.why) ||
				err == nil && len(held) != 8 {
				t.Errorf("%s, %s: %v, held %q, want %q", algorithm, what, err, held, test.why)
			}
		}
	}
}

func rsaKey(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// published is the key set that the site loads.
func published(t *testing.T, key *rsa.PrivateKey) keySet {
	t.Helper()
	number := func(n *big.Int) string { return base64.RawURLEncoding.EncodeToString(n.Bytes()) }
	raw, err := json.Marshal(map[string]any{"keys": []map[string]string{
		{"kty": "RSA", "kid": "k", "n": number(key.N), "e": number(big.NewInt(int64(key.E)))}}})
	if err != nil {
		t.Fatal(err)
	}
	var keys keySet
	err = json.Unmarshal(raw, &keys)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func signed(t *testing.T, algorithm, kid string, key any, claims jwt.MapClaims) string {
	t.Helper()
	token := jwt.NewWithClaims(jwt.GetSigningMethod(algorithm), claims)
	token.Header["kid"] = kid
	text, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
