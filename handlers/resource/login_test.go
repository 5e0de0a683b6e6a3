package resource

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// loginVerifier knows the token "live", with these claims.
type loginVerifier map[string]any

func (v loginVerifier) Verify(_ context.Context, token string) (*Token, error) {
	if token != "live" {
		return nil, ErrInactive
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var claims map[string]json.RawMessage
	err = json.Unmarshal(text, &claims)
	if err != nil {
		return nil, err
	}
	return decodeClaims(claims)
}

// asks sends a token to a handler.
func asks(h http.Handler, token string) answer {
	r := httptest.NewRequest("GET", "https://api.example/", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return answer{w.Code, w.Header().Get("WWW-Authenticate"), w.Body.String()}
}

// RFC 9470 §3: the challenge, and which tokens get it.
func TestRequireLogin(t *testing.T) {
	now := time.Now().Unix()
	const recent, kind = "A more recent login is required: send max_age in an authorization request",
		"Another kind of login is required: send acr_values in an authorization request"
	insufficient := func(why, params string) answer {
		return answer{401, `Bearer realm="api", error="insufficient_user_authentication", error_description="` + why + `"` +
			params, `{"detail":"` + why + `."}`}
	}
	in := answer{200, "", ""}
	aged, strong := Login{MaxAge: 300 * time.Second}, Login{ACRValues: []string{"urn:a", "urn:b"}}
	both := Login{300 * time.Second, []string{"urn:a"}}
	const age, acr = `, max_age="300"`, `, acr_values="urn:a urn:b"`
	for _, test := range []struct {
		name   string
		login  Login
		claims loginVerifier
		want   answer
	}{
		{"no requirement", Login{}, loginVerifier{"scope": "read"}, in},
		{"a new login", aged, loginVerifier{"scope": "read", "auth_time": now}, in},
		{"a login just within max_age", aged, loginVerifier{"scope": "read", "auth_time": now - 290}, in},
		{"an old login", aged, loginVerifier{"scope": "read", "auth_time": now - 302}, insufficient(recent, age)},
		{"an old login of a renewed token", aged, loginVerifier{"scope": "read", "auth_time": now - 302, "iat": now},
			insufficient(recent, age)},
		{"no login", aged, loginVerifier{"scope": "read", "iat": now}, insufficient(recent, age)},
		{"auth_time is null", aged, loginVerifier{"scope": "read", "auth_time": nil}, insufficient(recent, age)},
		{"auth_time is text", aged, loginVerifier{"scope": "read", "auth_time": fmt.Sprint(now)}, insufficient(recent, age)},
		{"auth_time is negative", aged, loginVerifier{"scope": "read", "auth_time": -1}, insufficient(recent, age)},
		{"one of the kinds", strong, loginVerifier{"scope": "read", "acr": "urn:b"}, in},
		{"another kind", strong, loginVerifier{"scope": "read", "acr": "urn:c"}, insufficient(kind, acr)},
		{"two kinds are none", strong, loginVerifier{"scope": "read", "acr": "urn:a urn:b"}, insufficient(kind, acr)},
		{"no kind", strong, loginVerifier{"scope": "read"}, insufficient(kind, acr)},
		{"a kind that is no text", strong, loginVerifier{"scope": "read", "acr": 1}, insufficient(kind, acr)},
		{"both, the kind alone", both, loginVerifier{"scope": "read", "acr": "urn:a"},
			insufficient(recent, `, max_age="300", acr_values="urn:a"`)},
		{"both, the age alone", both, loginVerifier{"scope": "read", "auth_time": now},
			insufficient(kind, `, max_age="300", acr_values="urn:a"`)},
		{"both", both, loginVerifier{"scope": "read", "auth_time": now, "acr": "urn:a"}, in},
		{"the scope is missing too", aged, loginVerifier{"scope": "write"}, insufficient(recent, age+`, scope="read"`)},
		{"only the scope is missing", aged, loginVerifier{"scope": "write", "auth_time": now},
			answer{403, `Bearer realm="api", error="insufficient_scope", scope="read"`, noScope}},
		{"a malformed login where none is required", Login{}, loginVerifier{"scope": "read", "acr": 1, "auth_time": "x"}, in},
	} {
		t.Run(test.name, func(t *testing.T) {
			h, err := newGuard(t,
				GuardConfig{Verifier: test.claims}).RequireLogin(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
				test.login, "read")
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(test.want, asks(h, "live")); d != "" {
				t.Error(d)
			}
			// RFC 9470 §9: a stranger does not learn the requirements.
			if d := cmp.Diff(answer{401,
				`Bearer realm="api", error="invalid_token", error_description="The access token is invalid, expired or revoked"`,
				badToken}, asks(h, "unknown")); d != "" {
				t.Error("an unknown token:", d)
			}
		})
	}
	g := newGuard(t, GuardConfig{Verifier: loginVerifier{}})
	for _, wrong := range []Login{{MaxAge: -time.Second}, {MaxAge: time.Second / 2}, {ACRValues: []string{""}},
		{ACRValues: []string{"a b"}}, {ACRValues: []string{`a"`}}} {
		_, err := g.RequireLogin(http.NotFoundHandler(), wrong)
		if err == nil {
			t.Errorf("%+v is accepted", wrong)
		}
	}
}

// A login becomes older while its token is in the cache, and the challenge names the metadata.
func TestLoginAgesInTheCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cache, err := NewCache(CacheConfig{Verifier: loginVerifier{"auth_time": time.Now().Unix()}, TTL: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		g := newGuard(t, GuardConfig{Verifier: cache, Audience: "https://api.example",
			AuthorizationServers: []string{"https://id.example"}})
		h, err := g.RequireLogin(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), Login{MaxAge: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			wait   time.Duration
			status int
		}{{0, 200}, {time.Minute, 200}, {time.Second, 401}} {
			time.Sleep(step.wait)
			if got := asks(h, "live"); got.Status != step.status {
				t.Errorf("after %s: %+v", step.wait, got)
			}
		}
		const want = `Bearer realm="api", error="insufficient_user_authentication", error_description="A more recent login is required: send max_age in an authorization request", max_age="60"` +
			`, resource_metadata="https://api.example/.well-known/oauth-protected-resource"`
		if got := asks(h, "live").Challenge; got != want {
			t.Error(got)
		}
	})
}
