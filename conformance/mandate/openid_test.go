package mandate

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"testing"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"
)

// The functions that the tests of OpenID Connect share. They check signatures with
// golang-jwt and the published keys only.

const openidScopes = "SCOPES: {read: Read, write: Write, openid: Sign in, profile: Profile, email: Email, address: " +
	"Address, phone: Phone, groups: Groups, introspection: Ask}"

// openIDOff is the line that turns OpenID Connect off.
const openIDOff = "OIDC_ENABLED: false"

// openidServer starts a server that is an OpenID Provider; more are lines of its OAUTH2_PROVIDER block.
func openidServer(t testing.TB, db database, more ...string) *server {
	t.Helper()
	return startServer(t, options{database: db, settings: []string{"SAMPLE_API: true"},
		provider: append([]string{"OIDC_ENABLED: true", openidScopes}, more...)})
}

// relyingParty registers an application for logins.
func (s *server) relyingParty(t testing.TB, args ...string) application {
	t.Helper()
	return s.application(t,
		append([]string{"--name", "shop", "--grant", "authorization_code", "--redirect-uri", "https://shop.example/cb"},
			args...)...)
}

// somebody adds a person with every claim.
func (s *server) somebody(t testing.TB, name string) person {
	t.Helper()
	return s.person(t, name, "--email", name+"@example.org", "--first-name", "Alice", "--last-name", "Liddell",
		"--email-verified",
		"--middle-name", "Pleasance", "--nickname", "al", "--gender", "female", "--birthdate", "0000-05-04", "--zoneinfo",
		"Europe/London",
		"--locale", "en-GB", "--phone-number", "+441865276150", "--profile", "https://alice.example/", "--picture",
		"https://alice.example/p.png",
		"--website", "https://alice.example/w", "--address", "Christ Church\nOxford", "--locality", "Oxford",
		"--country", "UK")
}

// jwk is a published key.
type jwk struct {
	Type  string `json:"kty"`
	Use   string `json:"use"`
	Alg   string `json:"alg"`
	ID    string `json:"kid"`
	Curve string `json:"crv"`
	X     string `json:"x"`
	Y     string `json:"y"`
	N     string `json:"n"`
	E     string `json:"e"`
}

func (s *server) keys(t testing.TB) map[string]jwk {
	t.Helper()
	a := s.get(t, "/o/.well-known/jwks.json", nobody)
	var set struct {
		Keys []jwk `json:"keys"`
	}
	a.decode(t, &set)
	keys := map[string]jwk{}
	for _, k := range set.Keys {
		keys[k.ID] = k
	}
	if len(keys) != len(set.Keys) || len(keys) == 0 {
		t.Fatalf("the set of keys is empty, or names one twice: %s", a.Body)
	}
	return keys
}

func b64(text string) []byte {
	raw, _ := base64.RawURLEncoding.DecodeString(text) // what is wrong verifies nothing
	return raw
}

func (k jwk) public(t testing.TB) any {
	t.Helper()
	switch k.Type {
	case "RSA":
		return &rsa.PublicKey{N: new(big.Int).SetBytes(b64(k.N)), E: int(new(big.Int).SetBytes(b64(k.E)).Int64())}
	case "EC":
		key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), append([]byte{4}, append(b64(k.X), b64(k.Y)...)...))
		if err != nil {
			t.Fatal(err)
		}
		return key
	case "OKP":
		return ed25519.PublicKey(b64(k.X))
	}
	t.Fatalf("a key of the type %q", k.Type)
	return nil
}

// thumbprint returns the thumbprint of RFC 7638 §3.
func (k jwk) thumbprint() string {
	text := map[string]string{
		"RSA": fmt.Sprintf(`{"e":"%s","kty":"RSA","n":"%s"}`, k.E, k.N),
		"EC":  fmt.Sprintf(`{"crv":"%s","kty":"EC","x":"%s","y":"%s"}`, k.Curve, k.X, k.Y),
		"OKP": fmt.Sprintf(`{"crv":"%s","kty":"OKP","x":"%s"}`, k.Curve, k.X),
	}[k.Type]
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// name returns the kid that the key must have: that of an RSA key says for which of two algorithms it is published.
func (k jwk) name() string {
	if k.Alg == "PS256" {
		return k.thumbprint() + "-PS256"
	}
	return k.thumbprint()
}

// verified checks a JWT like a relying party that expects one algorithm, and returns
// its claims.
func (s *server) verified(t testing.TB, app application, algorithm, text string) jwt.MapClaims {
	t.Helper()
	claims := jwt.MapClaims{}
	_, err := jwt.ParseWithClaims(text, claims, func(token *jwt.Token) (any, error) {
		kid, named := token.Header["kid"].(string)
		if algorithm == "HS256" {
			return []byte(app.ClientSecret), nil
		}
		key, known := s.keys(t)[kid]
		if !named || !known || key.Alg != algorithm || key.name() != kid {
			return nil, fmt.Errorf("the key %q is not published for %s, or is not named by its thumbprint", kid, algorithm)
		}
		return key.public(t), nil
	}, jwt.WithValidMethods([]string{algorithm}), jwt.WithJSONNumber(), jwt.WithIssuer(s.Issuer),
		jwt.WithAudience(app.ClientID))
	if err != nil {
		t.Fatalf("%s: %v", algorithm, err)
	}
	return claims
}

// signsIn runs the authorization code flow in a browser and returns the tokens; more
// are parameters of the request.
func (b *browser) signsIn(t testing.TB, app application, who person, more ...string) tokens {
	t.Helper()
	if !slices.Contains(more, "scope") {
		more = append([]string{"scope", "openid"}, more...)
	}
	address, verifier := b.server.authorizeURL(app, more...)
	return b.server.redeem(t, app, b.code(t, address, who), verifier)
}

func number(t testing.TB, claims map[string]any, name string) int64 {
	t.Helper()
	n, ok := claims[name].(json.Number)
	value, err := n.Int64()
	if !ok || err != nil {
		t.Fatalf("%s is %v, want a whole number", name, claims[name])
	}
	return value
}

// userInfo sends a request to the UserInfo endpoint. The answer must be 200.
func (s *server) userInfo(t testing.TB, token string) map[string]any {
	t.Helper()
	a := s.get(t, "/o/userinfo/", bearer(token))
	if a.Status != http.StatusOK {
		t.Fatalf("the UserInfo endpoint answered %d: %s", a.Status, a.Body)
	}
	return a.JSON(t)
}

// JSONOrNil decodes an answer, or returns nil if it is not a JSON object.
func (a answer) JSONOrNil() map[string]any {
	var object map[string]any
	_ = json.Unmarshal([]byte(a.Body), &object) // nil then
	return object
}

func checkEqual(t testing.TB, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s:\n%s", what, d)
	}
}
