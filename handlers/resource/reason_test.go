package resource

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// guarded sends a request with a token through a guard, and returns the body and the log.
func guarded(t *testing.T, v Verifier, audience, token string) (body, log string) {
	t.Helper()
	var b bytes.Buffer
	g := newGuard(t, GuardConfig{Verifier: v, Audience: audience, Logger: slog.New(slog.NewJSONHandler(&b, nil))})
	r, w := httptest.NewRequest("GET", "/", nil), httptest.NewRecorder()
	r.Header.Set("Authorization", "Bearer "+token)
	g.Require(uncalled(t)).ServeHTTP(w, r)
	if strings.Contains(b.String(), token) {
		t.Errorf("the log contains the token: %s", &b)
	}
	return w.Body.String(), b.String()
}

// The client gets the same response for every refused token. The log has the reason.
func TestReasonOfARefusedTokenIsLogged(t *testing.T) {
	signed := newSigned(t, &publisher{body: allKeys()})
	token := func(changes jwt.MapClaims) string { return issue(t, "RS256", "rsa", "at+jwt", changes) }
	p := newProvider(t, map[string]string{
		"mat_dpop":    `{"active":true,"token_type":"DPoP"}`,
		"mat_refresh": `{"active":true,"token_type":"refresh_token"}`,
		"mat_bound":   `{"active":true,"cnf":{"jkt":"x"}}`,
		"mat_other":   `{"active":true,"aud":["a","b"]}`,
		"mat_old":     `{"active":true,"exp":1}`,
	})
	cached, err := NewCache(CacheConfig{Verifier: p.introspection(t), TTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(token(nil), ".")
	for _, test := range []struct {
		v           Verifier
		token, want string
	}{
		{signed, "opaque", `it is not a JWT, and no introspection is configured (RESOURCE_SERVER_INTROSPECTION_URL)`},
		{signed, token(jwt.MapClaims{"iss": "https://other.example"}),
			`its iss is \"https://other.example\", RESOURCE_SERVER_ISSUER is \"` + issuer + `\"`},
		{signed, token(jwt.MapClaims{"aud": "https://other.example"}),
			`its aud is \"https://other.example\", RESOURCE_SERVER_AUDIENCE is \"` + audience + `\"`},
		{signed, token(jwt.MapClaims{"iss": "x\u202e" + strings.Repeat("y", 300)}),
			`its iss is \"x\\u202e` + strings.Repeat("y", 196) + `...\"`},
		{signed, token(jwt.MapClaims{"exp": 0}), `it expired at \"1970-01-01T00:00:00Z\"`},
		{signed, token(jwt.MapClaims{"exp": nil}), `it has no exp`},
		{signed, token(jwt.MapClaims{"nbf": 4102444800}), `it is not valid before \"2100-01-01T00:00:00Z\" (nbf)`},
		{signed, token(jwt.MapClaims{"scope": 7}), `its member scope is malformed`},
		{signed, issue(t, "RS256", "rsa", "JWT", nil),
			`it is not a well-formed JWT of the type at+jwt with an accepted algorithm`},
		{signed, issue(t, "RS256", "none", "at+jwt", nil),
			`RESOURCE_SERVER_JWKS_URL has no key with its kid \"none\" for its alg \"RS256\"`},
		{signed, parts[0] + "." + b64([]byte(`{}`)) + "." + parts[2], `its signature is wrong`},
		{cached, "mat_unknown", `the introspection endpoint answered active: false`},
		{cached, "mat_old", `it expired at \"1970-01-01T00:00:01Z\"`},
		{cached, "mat_dpop", `its token_type is DPoP, and it has no cnf with jkt`},
		{cached, "mat_bound", `its cnf has a malformed \"jkt\"`},
		{cached, "mat_refresh", `its token_type is \"refresh_token\", neither Bearer nor DPoP`},
		{cached, "mat_other", `its aud is \"a b\", RESOURCE_SERVER_AUDIENCE is \"` + audience + `\"`},
	} {
		for _, from := range []string{"first", "again"} { // the second time from the cache
			body, log := guarded(t, test.v, audience, test.token)
			if !strings.Contains(log, `"level":"INFO"`) ||
				!strings.Contains(log, `"msg":"the access token was refused","reason":"`) || !strings.Contains(log, test.want) {
				t.Errorf("%s: got %s, want %s", from, log, test.want)
			}
			if strings.TrimSpace(body) != badToken {
				t.Errorf("%s: the body is %s", test.want, body)
			}
		}
	}
}

// The error of a verifier that this package does not know may contain anything.
func TestReasonOfAnotherVerifierIsNotLogged(t *testing.T) {
	for name, wrap := range map[string]func(Verifier) Verifier{
		"alone":  func(v Verifier) Verifier { return v },
		"cached": func(v Verifier) Verifier { c, _ := NewCache(CacheConfig{Verifier: v, TTL: time.Minute}); return c },
	} {
		_, log := guarded(t, wrap(refusing{}), "", "opaque")
		if !strings.Contains(log, `"reason":"the access token is not active"`) {
			t.Errorf("%s: %s", name, log)
		}
	}
}

// A flood of refused tokens from one network gets few lines.
func TestLinesAboutRefusedTokensAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		g := newGuard(t, GuardConfig{Verifier: refusing{}, Logger: slog.New(slog.NewTextHandler(&b, nil))})
		h := g.Require(uncalled(t))
		for range 1000 {
			r := httptest.NewRequest("GET", "/", nil)
			r.Header.Set("Authorization", "Bearer x")
			h.ServeHTTP(httptest.NewRecorder(), r)
		}
		if n := strings.Count(b.String(), "\n"); n != 30 {
			t.Errorf("%d lines, want 30", n)
		}
	})
}

// refusing is a verifier whose error repeats the token.
type refusing struct{}

func (refusing) Verify(_ context.Context, token string) (*Token, error) {
	return nil, fmt.Errorf("%w: %s", ErrInactive, token)
}

func uncalled(t *testing.T) http.Handler {
	return http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the handler was called") })
}
