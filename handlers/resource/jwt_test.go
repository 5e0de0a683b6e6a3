package resource

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"maps"
	"math/big"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

const (
	issuer   = "https://auth.example/o"
	audience = "https://api.example"
	keysURL  = "https://auth.example/o/.well-known/jwks.json"
)

// publisher is a transport that serves the authorization server's key set.
type publisher struct {
	mu     sync.Mutex
	body   string
	status int
	err    error
	asked  int
}

func (p *publisher) RoundTrip(r *http.Request) (*http.Response, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	if r.URL.String() != keysURL || r.Method != http.MethodGet {
		return nil, errors.New("asked for " + r.URL.String())
	}
	if p.err != nil {
		return nil, p.err
	}
	header := http.Header{}
	if p.status == http.StatusFound {
		header.Set("Location", "https://elsewhere.example/keys")
	}
	return &http.Response{StatusCode: max(p.status, 200), Header: header, Body: io.NopCloser(strings.NewReader(p.body)),
		Request: r}, nil
}

func (p *publisher) set(change func(*publisher)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p)
}

func b64(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }

// published returns a key in the form in which a server publishes it.
func published(id string, public crypto.PublicKey) map[string]any {
	k := map[string]any{"kid": id, "use": "sig"}
	switch key := public.(type) {
	case *rsa.PublicKey:
		maps.Copy(k, map[string]any{"kty": "RSA", "n": b64(key.N.Bytes()), "e": b64(big.NewInt(int64(key.E)).Bytes())})
	case *ecdsa.PublicKey:
		point, _ := key.Bytes() // it is on the curve
		maps.Copy(k, map[string]any{"kty": "EC", "crv": "P-256", "x": b64(point[1:33]), "y": b64(point[33:])})
	case ed25519.PublicKey:
		maps.Copy(k, map[string]any{"kty": "OKP", "crv": "Ed25519", "x": b64(key)})
	}
	return k
}

func setOf(keys ...map[string]any) string {
	raw, _ := json.Marshal(map[string]any{"keys": keys}) // it cannot fail
	return string(raw)
}

var testKeys = sync.OnceValue(func() map[string]crypto.Signer {
	rsaKey, _ := rsa.GenerateKey(rand.Reader, 2048)
	ecKey, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	_, edKey, _ := ed25519.GenerateKey(rand.Reader)
	return map[string]crypto.Signer{"RS256": rsaKey, "PS256": rsaKey, "ES256": ecKey, "EdDSA": edKey}
})

// issue returns an access token. changes replace its claims; a nil value removes a
// claim.
func issue(t testing.TB, algorithm, kid, kind string, changes jwt.MapClaims) string {
	t.Helper()
	at := time.Now().Unix()
	claims := jwt.MapClaims{"iss": issuer, "aud": audience, "sub": "u-1", "client_id": "c-1", "scope": "read write",
		"iat": at, "exp": at + 600, "jti": "j-1"}
	maps.Copy(claims, changes)
	maps.DeleteFunc(claims, func(_ string, value any) bool { return value == nil })
	token := jwt.NewWithClaims(jwt.GetSigningMethod(algorithm), claims)
	token.Header["typ"], token.Header["kid"] = kind, kid
	text, err := token.SignedString(testKeys()[algorithm])
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func allKeys() string {
	keys := testKeys()
	return setOf(published("rsa", keys["RS256"].Public()), published("ec", keys["ES256"].Public()),
		published("ed", keys["EdDSA"].Public()))
}

func newSigned(t testing.TB, p *publisher, changes ...func(*SignedConfig)) *Signed {
	t.Helper()
	c := SignedConfig{KeysURL: keysURL, Issuer: issuer, Audience: audience, Transport: p}
	for _, change := range changes {
		change(&c)
	}
	s, err := NewSigned(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// RFC 9068 §4: the accepted tokens, and the facts that they give.
func TestSignedTakes(t *testing.T) {
	s := newSigned(t, &publisher{body: allKeys()})
	for algorithm, kid := range map[string]string{"RS256": "rsa", "PS256": "rsa", "ES256": "ec", "EdDSA": "ed"} {
		for _, kind := range []string{"at+jwt", "application/at+jwt", "at+JWT"} {
			token, err := s.Verify(t.Context(),
				issue(t, algorithm, kid, kind, jwt.MapClaims{"aud": []string{"https://other.example", audience}}))
			if err != nil {
				t.Errorf("%s %s: %v", algorithm, kind, err)
				continue
			}
			if token.Subject != "u-1" || token.ClientID != "c-1" || !token.HasScope("read", "write") ||
				token.HasScope("groups") || token.ID != "j-1" || token.ExpiresAt.IsZero() || len(token.Audience) != 2 {
				t.Errorf("%+v", token)
			}
		}
	}
}

// RFC 8725 §3.11, §3.12: a guard that accepts the typ JWT refuses every ID token, whatever it says and whomever it is
// for.
func TestAttackIDTokenAtTheGuard(t *testing.T) {
	strict := newSigned(t, &publisher{body: allKeys()})
	s := newSigned(t, &publisher{body: allKeys()}, func(c *SignedConfig) { c.AcceptJWTTyp = true })
	for _, kind := range []string{"at+jwt", "application/at+jwt", "AT+JWT", "JWT", "jwt", "application/jwt"} {
		_, err := s.Verify(t.Context(), issue(t, "RS256", "rsa", kind, nil))
		if err != nil {
			t.Errorf("an access token of the type %s: %v", kind, err)
		}
		_, err = strict.Verify(t.Context(), issue(t, "RS256", "rsa", kind, nil))
		if access := strings.HasSuffix(strings.ToLower(kind), "at+jwt"); access != (err == nil) {
			t.Errorf("a guard for at+jwt alone, %s: %v", kind, err)
		}
	}
	at := time.Now().Unix()
	idToken := jwt.MapClaims{"client_id": nil, "jti": nil, "scope": nil, "auth_time": at, "at_hash": "x", "nonce": "n",
		"acr": "1", "email": "a@example.org"}
	more := func(changes jwt.MapClaims) jwt.MapClaims {
		all := maps.Clone(idToken)
		maps.Copy(all, changes)
		return all
	}
	for what, changes := range map[string]jwt.MapClaims{
		"an ID token":                            idToken,
		"without at_hash and nonce":              more(jwt.MapClaims{"at_hash": nil, "nonce": nil}),
		"with a jti":                             more(jwt.MapClaims{"jti": "j", "at_hash": nil, "nonce": nil}),
		"with a client_id":                       more(jwt.MapClaims{"client_id": "c", "at_hash": nil, "nonce": nil}),
		"of another server, with both":           more(jwt.MapClaims{"client_id": "c", "jti": "j", "nonce": nil}),
		"of another server, with both and nonce": more(jwt.MapClaims{"client_id": "c", "jti": "j", "at_hash": nil}),
		"with both and c_hash": more(jwt.MapClaims{"client_id": "c", "jti": "j", "at_hash": nil,
			"nonce": nil, "c_hash": "x"}),
		"with a client_id that is no text": more(jwt.MapClaims{"client_id": 1, "jti": "j", "at_hash": nil,
			"nonce": nil}),
		"with an empty jti": more(jwt.MapClaims{"client_id": "c", "jti": "", "at_hash": nil,
			"nonce": nil}),
		"for a client": {"aud": "c-1"},
	} {
		_, err := s.Verify(t.Context(), issue(t, "RS256", "rsa", "JWT", changes))
		if !errors.Is(err, ErrInactive) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, kind := range []string{"", "logout+jwt", "token-introspection+jwt", "at+jwt2", "xat+jwt", "jwt+at"} {
		_, err := s.Verify(t.Context(), issue(t, "RS256", "rsa", kind, nil))
		if !errors.Is(err, ErrInactive) {
			t.Errorf("of the type %q: %v", kind, err)
		}
	}
}

// RFC 9068 §4: the refused tokens.
func TestSignedRefuses(t *testing.T) {
	s := newSigned(t, &publisher{body: allKeys()})
	good := issue(t, "RS256", "rsa", "at+jwt", nil)
	parts := strings.Split(good, ".")
	is := func(what, token string, want error) {
		t.Helper()
		_, err := s.Verify(t.Context(), token)
		if !errors.Is(err, want) || (err == nil) != (want == nil) {
			t.Errorf("%s: %v", what, err)
		}
	}
	is("a valid token", good, nil)
	at := time.Now().Unix()
	for what, changes := range map[string]jwt.MapClaims{
		"of another issuer":                {"iss": "https://auth.example/o/"},
		"of no issuer":                     {"iss": nil},
		"for another audience":             {"aud": "https://api.example/"},
		"without an audience":              {"aud": nil},
		"for several other audiences":      {"aud": []string{"a", "b"}},
		"expired":                          {"exp": at},
		"without exp":                      {"exp": nil},
		"with an exp that is not a number": {"exp": "tomorrow"},
		"before nbf":                       {"nbf": at + 60},
		"with a broken scope":              {"scope": 7},
	} {
		is(what, issue(t, "RS256", "rsa", "at+jwt", changes), ErrInactive)
	}
	for _, kind := range []string{"", "JWT", "logout+jwt", "at+jwt2", "application/jwt"} {
		is("of the type "+kind, issue(t, "RS256", "rsa", kind, nil), ErrInactive)
	}
	is("of a key of another kind", issue(t, "RS256", "ec", "at+jwt", nil), ErrInactive)
	is("of an unknown key", issue(t, "RS256", "none", "at+jwt", nil), ErrInactive)
	is("altered", parts[0]+"."+b64([]byte(`{"iss":"`+issuer+`","aud":"`+audience+`","exp":4102444800,"scope":"admin"}`))+
		"."+parts[2], ErrInactive)
	is("with another signature",
		parts[0]+"."+parts[1]+"."+strings.Split(issue(t, "RS256", "rsa", "at+jwt", jwt.MapClaims{"jti": "x"}), ".")[2],
		ErrInactive)
	is("without a signature", parts[0]+"."+parts[1]+".", ErrInactive)
	is("of no algorithm", b64([]byte(`{"alg":"none","typ":"at+jwt","kid":"rsa"}`))+"."+parts[1]+".", ErrInactive)
	is("with a crit header",
		header(t, map[string]any{"alg": "RS256", "typ": "at+jwt", "kid": "rsa", "crit": []string{"b64"}, "b64": false}),
		ErrInactive)
	// RFC 8725 §2.1: the public key is used as the secret of an HMAC, in each of its
	// forms.
	der, _ := x509.MarshalPKIXPublicKey(testKeys()["RS256"].Public())
	for _, secret := range [][]byte{der, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), {}} {
		token := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{"iss": issuer, "aud": audience, "exp": at + 600})
		token.Header["typ"], token.Header["kid"] = "at+jwt", "rsa"
		text, _ := token.SignedString(secret)
		is("signed with the public key", text, ErrInactive)
	}
	for _, text := range []string{"mat_opaque", "a.b", "a.b.c", "..", "a.b.c.d", "", good + "\n", strings.ToUpper(good)} {
		is(text, text, ErrInactive)
	}
	narrow := newSigned(t, &publisher{body: allKeys()}, func(c *SignedConfig) { c.Algorithms = []string{"ES256"} })
	_, err := narrow.Verify(t.Context(), good)
	if !errors.Is(err, ErrInactive) {
		t.Error("an algorithm that is not allowed:", err)
	}
}

// header returns a token with any header, signed.
func header(t testing.TB, h map[string]any) string {
	t.Helper()
	token := jwt.NewWithClaims(jwt.SigningMethodRS256,
		jwt.MapClaims{"iss": issuer, "aud": audience, "exp": time.Now().Unix() + 600})
	maps.Copy(token.Header, h)
	text, err := token.SignedString(testKeys()["RS256"])
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A token that is not a JWT goes to the other Verifier, if there is one.
func TestSignedOpaque(t *testing.T) {
	s := newSigned(t, &publisher{body: allKeys()}, func(c *SignedConfig) {
		c.Opaque = verifierFunc(func(_ context.Context, token string) (*Token, error) { return &Token{ID: token}, nil })
	})
	token, err := s.Verify(t.Context(), "mat_opaque")
	if err != nil || token.ID != "mat_opaque" {
		t.Error(token, err)
	}
	token, err = s.Verify(t.Context(), issue(t, "RS256", "rsa", "JWT", nil))
	if !errors.Is(err, ErrInactive) {
		t.Error("a JWT is sent to the introspection endpoint:", token, err)
	}
}

func TestSignedConfig(t *testing.T) {
	for what, change := range map[string]func(*SignedConfig){
		"no issuer":          func(c *SignedConfig) { c.Issuer = "" },
		"no audience":        func(c *SignedConfig) { c.Audience = "" },
		"no keys":            func(c *SignedConfig) { c.KeysURL = "" },
		"a file":             func(c *SignedConfig) { c.KeysURL = "file:///etc/keys" },
		"credentials":        func(c *SignedConfig) { c.KeysURL = "https://u:p@auth.example/keys" },
		"plain http":         func(c *SignedConfig) { c.KeysURL = "http://auth.example/keys" },
		"a shared secret":    func(c *SignedConfig) { c.Algorithms = []string{"HS256"} },
		"no algorithm":       func(c *SignedConfig) { c.Algorithms = []string{"none"} },
		"a negative timeout": func(c *SignedConfig) { c.Timeout = -1 },
	} {
		c := SignedConfig{KeysURL: keysURL, Issuer: issuer, Audience: audience}
		change(&c)
		_, err := NewSigned(c)
		if err == nil {
			t.Errorf("%s is accepted", what)
		}
	}
	for _, address := range []string{"http://127.0.0.1:8000/keys", "http://localhost/keys", "http://[::1]/keys", keysURL} {
		_, err := NewSigned(SignedConfig{KeysURL: address, Issuer: issuer, Audience: audience})
		if err != nil {
			t.Error(address, err)
		}
	}
	_, err := NewSigned(SignedConfig{KeysURL: "http://auth.example/keys", Issuer: issuer, Audience: audience,
		AllowHTTP: true})
	if err != nil {
		t.Error(err)
	}
}
