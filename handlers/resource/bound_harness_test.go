package resource

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"mandate/provider/dpop"
	"mandate/provider/jose"
)

// boundAPI is an API whose clients have keys and certificates, and reach it at usersURL.
type boundAPI struct {
	t          testing.TB
	guard      *Guard
	handler    http.Handler
	asked      int
	key, other crypto.Signer
	log        bytes.Buffer
}

func newBoundAPI(t testing.TB, change func(*GuardConfig)) *boundAPI {
	t.Helper()
	a := &boundAPI{t: t, key: testKeys()["ES256"], other: otherKey()}
	jkt, print := thumbprint(t, a.key), strings.Repeat("A", 43)
	answers := map[string]string{
		"key":        `{"active":true,"scope":"read","token_type":"DPoP","cnf":{"jkt":"` + jkt + `"}}`,
		"key-bearer": `{"active":true,"scope":"read","token_type":"Bearer","cnf":{"jkt":"` + jkt + `"}}`,
		"key-write":  `{"active":true,"scope":"write","token_type":"DPoP","cnf":{"jkt":"` + jkt + `"}}`,
		"key-2":      `{"active":true,"scope":"read","token_type":"DPoP","cnf":{"jkt":"` + jkt + `"}}`,
		"certificate": `{"active":true,"scope":"read","token_type":"Bearer","cnf":{"x5t#S256":"` +
			certificateThumbprint() + `"}}`,
		"named": `{"active":true,"client_id":"bank\u009b` + strings.Repeat("x", 300) +
			`","token_type":"DPoP","cnf":{"jkt":"` + jkt + `"}}`,
		"cert-dpop": `{"active":true,"scope":"read","token_type":"DPoP","cnf":{"x5t#S256":"` +
			certificateThumbprint() + `"}}`,
		"bearer":      liveRead,
		"untyped":     `{"active":true,"scope":"read"}`,
		"null":        `{"active":true,"scope":"read","cnf":null}`,
		"dpop-no-cnf": `{"active":true,"scope":"read","token_type":"DPoP"}`,
		"both": `{"active":true,"scope":"read","cnf":{"jkt":"` + jkt + `","x5t#S256":"` +
			certificateThumbprint() + `"}}`,
		"unknown":    `{"active":true,"scope":"read","cnf":{"jwk":{"kty":"EC"}}}`,
		"with-more":  `{"active":true,"scope":"read","cnf":{"jkt":"` + jkt + `","kid":"1"}}`,
		"other-case": `{"active":true,"scope":"read","cnf":{"JKT":"` + jkt + `"}}`,
		"x5t":        `{"active":true,"scope":"read","cnf":{"x5t":"` + print + `"}}`,
		"nothing":    `{"active":true,"scope":"read","cnf":{}}`,
		"no-jkt":     `{"active":true,"scope":"read","cnf":{"jkt":""}}`,
		"null-jkt":   `{"active":true,"scope":"read","cnf":{"jkt":null}}`,
		"list-jkt":   `{"active":true,"scope":"read","cnf":{"jkt":["` + jkt + `"]}}`,
		"no-x5t":     `{"active":true,"scope":"read","cnf":{"x5t#S256":""}}`,
		"text-cnf":   `{"active":true,"scope":"read","cnf":"` + jkt + `"}`,
		"list-cnf":   `{"active":true,"scope":"read","cnf":[{"jkt":"` + jkt + `"}]}`,
		"empty-cnf":  `{"active":true,"scope":"read","cnf":""}`,
		"false-cnf":  `{"active":true,"scope":"read","cnf":false}`,
	}
	cache, err := NewCache(CacheConfig{TTL: time.Hour,
		Verifier: verifierFunc(func(_ context.Context, token string) (*Token, error) {
			a.asked++
			if answers[token] == "" {
				return nil, errNotActive
			}
			return decode([]byte(answers[token]))
		})})
	if err != nil {
		t.Fatal(err)
	}
	c := GuardConfig{Verifier: cache, Audience: "https://api.example/v1", AllowedOrigins: []string{"*"},
		Logger: slog.New(slog.NewTextHandler(&a.log, nil))}
	if change != nil {
		change(&c)
	}
	a.guard = newGuard(t, c)
	a.handler = a.guard.Wrap(
		a.guard.Require(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "in") }), "read"))
	return a
}

func thumbprint(t testing.TB, key crypto.Signer) string {
	t.Helper()
	public, err := jose.NewJWK(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	return public.Thumbprint()
}

var otherKey = sync.OnceValue(func() crypto.Signer {
	key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader) // it cannot fail
	return key
})

func publicJWK(t testing.TB, key crypto.Signer) map[string]any {
	t.Helper()
	public, err := jose.NewJWK(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]any
	err = json.Unmarshal([]byte(toJSON(public)), &members)
	if err != nil {
		t.Fatal(err)
	}
	return members
}

func toJSON(v any) string {
	text, _ := json.Marshal(v) // it cannot fail
	return string(text)
}

// hs256 returns a proof whose HMAC has the public key as its secret (RFC 8725 §2.1).
func hs256(t testing.TB, public map[string]any, claims string) string {
	t.Helper()
	signed := b64([]byte(`{"typ":"dpop+jwt","alg":"HS256","jwk":`+toJSON(public)+`}`)) + "." + claims
	mac, err := jwt.SigningMethodHS256.Sign(signed, []byte(toJSON(public)))
	if err != nil {
		t.Fatal(err)
	}
	return signed + "." + b64(mac)
}

// proof returns a proof for a GET of usersURL with a token. changes replace its claims; a nil
// value removes one.
func (a *boundAPI) proof(token string, changes map[string]any) string {
	a.t.Helper()
	return a.signed(map[string]any{"typ": dpop.Type, "alg": "ES256"}, a.key, token, changes)
}

// signed returns a proof with another header. A jwk of nil stands for the public key.
func (a *boundAPI) signed(header map[string]any, key crypto.Signer, token string, changes map[string]any) string {
	a.t.Helper()
	public, err := jose.NewJWK(key.Public())
	if err != nil {
		a.t.Fatal(err)
	}
	whole := map[string]any{"jwk": public}
	maps.Copy(whole, header)
	maps.DeleteFunc(whole, func(_ string, v any) bool { return v == nil })
	claims := map[string]any{"jti": rand.Text(), "iat": time.Now().Unix(), "htm": "GET", "htu": usersURL,
		"ath": dpop.TokenHash(token)}
	maps.Copy(claims, changes)
	maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
	text, err := jose.SignHeader(whole, key, claims)
	if err != nil {
		a.t.Fatal(err)
	}
	return text
}

// send sends a GET for /v1/users with these values of Authorization and DPoP.
func (a *boundAPI) send(authorization string, proofs ...string) *httptest.ResponseRecorder {
	a.t.Helper()
	r := httptest.NewRequest("GET", "/v1/users", nil)
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	for _, p := range proofs {
		r.Header.Add("DPoP", p)
	}
	return a.serve(r)
}

func (a *boundAPI) serve(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	a.handler.ServeHTTP(w, r)
	return w
}

// wantRefused asserts a 401 with an error in its first challenge, which has this scheme.
func wantRefused(t testing.TB, w *httptest.ResponseRecorder, scheme, code string) {
	t.Helper()
	challenge := w.Header().Get("WWW-Authenticate")
	if w.Code != 401 || !strings.HasPrefix(challenge, scheme+` realm="api", error="`+code+`", error_description="`) {
		t.Errorf("got %d with %q", w.Code, challenge)
	}
	if w.Header().Get("Cache-Control") != "no-store" {
		t.Error("the refusal can be cached")
	}
	if strings.Contains(scheme, schemeDPoP) && !strings.Contains(challenge, algs) {
		t.Errorf("the challenge names no algorithms: %s", challenge)
	}
}
