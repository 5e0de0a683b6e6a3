package provider

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mandate/provider/clients"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/seal"
)

func TestIntrospectionCaller(t *testing.T) {
	f := begin(t)
	s := f.login("alice")
	may, not, open := f.app(introspects), f.app(), f.app(public)
	subject := f.tokens(not, s).AccessToken
	scoped := f.must(f.token(may, "grant_type", policy.GrantClient, "scope", "introspection read")).AccessToken
	person := f.tokens(may, s, "scope", "introspection")
	plain := f.must(f.token(may, "grant_type", policy.GrantClient)).AccessToken
	was := f.app(introspects)
	taken := f.must(f.token(was, "grant_type", policy.GrantClient, "scope", "introspection")).AccessToken
	err := f.change(was, func(r *clients.Registration) { r.MayIntrospect = false })
	if err != nil {
		t.Fatal(err)
	}
	revoked := f.must(f.token(may, "grant_type", policy.GrantClient, "scope", "introspection")).AccessToken
	_, err = f.Tokens.Revoke(t.Context(), by(may, "token", revoked), "")
	if err != nil {
		t.Fatal(err)
	}
	form := func(pairs ...string) *http.Request {
		return post(values(append([]string{"token", subject}, pairs...)...))
	}
	for _, test := range []struct {
		rule string
		r    *http.Request
		want string
		who  string
	}{
		{"RFC7662/2.1 a client that may, by Basic", by(may, "token", subject), "no error", may.Application.ClientID},
		{"RFC7662/2.1 a client that may, by the body",
			form("client_id", may.Application.ClientID, "client_secret", may.Secret), "no error", may.Application.ClientID},
		{"RFC7662/2.1 a bearer token with the scope", with(form(), "Bearer "+scoped), "no error", may.Application.ClientID},
		{"RFC6750/2.1 the scheme has no case", with(form(), "bEaReR  "+scoped), "no error", may.Application.ClientID},
		{"RFC7662/2.1 a person's token with the scope", with(form(), "Bearer "+person.AccessToken), "no error",
			may.Application.ClientID},
		{"RFC7662/2.3 nobody", form(), "401 invalid_client", ""},
		{"RFC7662/2.3 a wrong secret", form("client_id", may.Application.ClientID, "client_secret", "wrong"),
			"401 invalid_client", ""},
		{"RFC7662/2.3 only an id", form("client_id", may.Application.ClientID), "401 invalid_client", ""},
		{"RFC7662/2.1 a client that may not", by(not, "token", subject), "403 unauthorized_client", not.Application.ClientID},
		{"RFC7662/2.1 a public client", by(open, "token", subject), "403 unauthorized_client", open.Application.ClientID},
		{"RFC6750/3.1 a token without the scope", with(form(), "Bearer "+plain), "403 insufficient_scope",
			may.Application.ClientID},
		{"RFC6750/3.1 the token that is asked about, without the scope", with(form(), "Bearer "+subject),
			"403 insufficient_scope", not.Application.ClientID},
		{"RFC6750/3.1 a token of a client that may no longer", with(form(), "Bearer "+taken), "403 insufficient_scope",
			was.Application.ClientID},
		{"RFC7662/2.1 a client that may no longer", by(was, "token", subject), "403 unauthorized_client",
			was.Application.ClientID},
		{"RFC6750/3.1 a revoked token", with(form(), "Bearer "+revoked), "401 invalid_token", ""},
		{"RFC6750/3.1 an unknown token", with(form(), "Bearer unknown"), "401 invalid_token", ""},
		{"RFC6750/3.1 no token", with(form(), "Bearer"), "401 invalid_token", ""},
		{"RFC6750/3.1 a refresh token", with(form(), "Bearer "+person.RefreshToken), "401 invalid_token", ""},
		{"RFC6750/2 a token and a secret", with(form("client_secret", may.Secret), "Bearer "+scoped),
			"400 invalid_request", ""},
		{"RFC6750/2 a token in the body is none", form("access_token", scoped), "401 invalid_client", ""},
		{"RFC6749/2.3 two headers", with(form(), "Bearer "+scoped, "Bearer "+scoped), "400 invalid_request", ""},
		{"RFC7662/2.1 no token to ask about", by(may), "400 invalid_request", may.Application.ClientID},
		{"RFC7662/2.1 an empty token to ask about", by(may, "token", ""), "400 invalid_request", may.Application.ClientID},
		{"RFC7662/2.1 nobody, and no token to ask about", post(values("x", "y")), "401 invalid_client", ""},
	} {
		t.Run(test.rule, func(t *testing.T) {
			found, who, err := f.Tokens.Introspect(t.Context(), test.r, test.rule)
			wantError(t, err, test.want)
			if who != test.who {
				t.Errorf("the caller is %q, want %q", who, test.who)
			}
			if (err == nil) != (found != nil && found.Active) {
				t.Errorf("%+v", found)
			}
			e, _ := err.(*oauth.Error)
			if e != nil && e.Status == 401 && !strings.Contains(e.Challenge, "Bearer ") {
				t.Error("without a challenge:", e.Challenge)
			}
			if e != nil && e.Status == 401 && e.Code == "invalid_client" && !strings.HasPrefix(e.Challenge, "Basic ") {
				t.Error("RFC6749/5.2 without a challenge for Basic:", e.Challenge)
			}
		})
	}
}

func TestIntrospectionAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t)
		s := f.login("alice")
		caller, app := f.app(introspects), f.app()
		ask := func(token string, pairs ...string) string {
			t.Helper()
			found, _, err := f.Tokens.Introspect(t.Context(), by(caller, append([]string{"token", token}, pairs...)...), "")
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(found)
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		fields := func(token string, pairs ...string) map[string]any {
			var m map[string]any
			err := json.Unmarshal([]byte(ask(token, pairs...)), &m)
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
		const inactive = `{"active":false}`
		begun := float64(oauth.Now())
		answer := f.tokens(app, s, "scope", "read write")
		machine := f.must(f.token(app, "grant_type", policy.GrantClient, "scope", "read"))
		want := map[string]any{"active": true, "scope": "read write", "client_id": app.Application.ClientID,
			"username": "alice", "token_type": "Bearer",
			"exp": begun + 36000, "iat": begun, "nbf": begun, "sub": s.User.ID, "iss": "https://auth.example/o",
			"jti":       seal.Digest(answer.AccessToken)[:22],
			"auth_time": begun, "acr": "urn:mandate:acr:password", "amr": []any{"pwd"}}
		if d := cmp.Diff(want, fields(answer.AccessToken)); d != "" {
			t.Error("RFC7662/2.2 an access token of a person:", d)
		}
		want["token_type"], want["exp"], want["jti"] = "refresh_token", begun+30*24*3600,
			seal.Digest(answer.RefreshToken)[:22]
		for _, hint := range []string{"-", "refresh_token", "access_token", "unknown"} {
			// An API that checks only active must not accept a refresh token as an access token.
			if hint != "refresh_token" && ask(answer.RefreshToken, "token_type_hint", hint) != inactive {
				t.Errorf("RFC7662/2.2 a refresh token of another client by the hint %s is shown", hint)
			}
			if ask(answer.AccessToken, "token_type_hint", hint) == inactive {
				t.Errorf("RFC7662/2.1 an access token by the hint %s is not found", hint)
			}
		}
		if d := cmp.Diff(want, fields(answer.RefreshToken, "token_type_hint", "refresh_token")); d != "" {
			t.Error("RFC7662/2.2 a refresh token of another client:", d)
		}
		own := f.tokens(caller, s).RefreshToken
		for _, hint := range []string{"-", "refresh_token", "access_token", "unknown"} {
			if got := fields(own, "token_type_hint", hint); got["active"] != true || got["token_type"] != "refresh_token" {
				t.Errorf("RFC7662/2.1 the caller's own refresh token by the hint %s: %v", hint, got)
			}
		}
		want = map[string]any{"active": true, "scope": "read", "client_id": app.Application.ClientID, "token_type": "Bearer",
			"exp": begun + 36000, "iat": begun, "nbf": begun,
			"sub": app.Application.ClientID, "iss": "https://auth.example/o", "jti": seal.Digest(machine.AccessToken)[:22]}
		if d := cmp.Diff(want, fields(machine.AccessToken)); d != "" {
			t.Error("RFC9700/4.15.1 a token of the application itself:", d)
		}
		time.Sleep(time.Hour)
		next := f.must(f.refresh(app, answer.RefreshToken))
		if got := fields(next.AccessToken); got["iat"] != begun+3600 || got["exp"] != begun+3600+36000 {
			t.Error("RFC7662/2.2 a refreshed token was issued when it was issued:", got)
		}
		for name, token := range map[string]string{"unknown": "unknown", "malformed": "ü \x01",
			"very long": strings.Repeat("x", 100_000), "rotated": answer.RefreshToken, "a code": f.code(app, s),
			"a client secret": app.Secret, "truncated": next.AccessToken[:46], "a digest": seal.Digest(next.AccessToken)} {
			if got := ask(token); got != inactive {
				t.Errorf("RFC7662/2.2 %s: %s", name, got)
			}
		}
		_, err := f.Tokens.Revoke(t.Context(), by(app, "token", machine.AccessToken), "")
		if err != nil {
			t.Fatal(err)
		}
		if got := ask(machine.AccessToken); got != inactive {
			t.Error("RFC7662/2.2 revoked:", got)
		}
		time.Sleep(9*time.Hour - time.Second)
		if ask(answer.AccessToken) == inactive {
			t.Error("expired a second early")
		}
		time.Sleep(time.Second)
		if got := ask(answer.AccessToken); got != inactive {
			t.Error("RFC7662/2.2 expired:", got)
		}
		err = f.People.DisableUser(t.Context(), "alice")
		if err != nil {
			t.Fatal(err)
		}
		for _, token := range []string{next.AccessToken, next.RefreshToken} {
			if got := ask(token); got != inactive {
				t.Error("of an account that is disabled:", got)
			}
		}
	})
}
