package provider

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mandate/provider/clients"
	"mandate/provider/limits"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/tokens"
)

func TestTokenRequest(t *testing.T) {
	f := begin(t)
	app, open := f.app(), f.app(public)
	machine, browser := f.app(grants(policy.GrantClient)), f.app(grants(policy.GrantCode))
	for _, test := range []struct {
		rule string
		r    *http.Request
		want string
	}{
		{"RFC6749/5.2 no grant_type", by(app), "400 invalid_request"},
		{"RFC6749/5.2 an empty grant_type", by(app, "grant_type", ""), "400 invalid_request"},
		{"RFC6749/5.2 an unknown grant_type", by(app, "grant_type", "unknown"), "400 unsupported_grant_type"},
		{"RFC6749/5.2 an unknown grant_type by nobody", post(values("grant_type", "unknown")), "400 unsupported_grant_type"},
		{"RFC6749/5.2 a grant_type of another case", by(app, "grant_type", "Client_Credentials"),
			"400 unsupported_grant_type"},
		{"RFC6749/5.2 two grant types in one", by(app, "grant_type", "client_credentials password"),
			"400 unsupported_grant_type"},
		{"RFC6749/5.2 a grant_type with a space", by(app, "grant_type", " client_credentials"), "400 unsupported_grant_type"},
		{"RFC6749/5.2 the implicit grant", by(app, "grant_type", "implicit"), "400 unsupported_grant_type"},
		{"RFC6749/4.1.3 no code", by(app, "grant_type", policy.GrantCode), "400 invalid_request"},
		{"RFC6749/6 no refresh_token", by(app, "grant_type", policy.GrantRefresh), "400 invalid_request"},
		{"RFC6749/4.3.2 no username", by(app, "grant_type", policy.GrantPassword, "password", "x"), "400 invalid_request"},
		{"RFC6749/4.3.2 no password", by(app, "grant_type", policy.GrantPassword, "username", "x"), "400 invalid_request"},
		{"RFC6749/5.2 the application has no code grant", by(machine, "grant_type", policy.GrantCode, "code", "x"),
			"400 unauthorized_client"},
		{"RFC6749/5.2 the application has no refresh grant",
			by(machine, "grant_type", policy.GrantRefresh, "refresh_token", "x"), "400 unauthorized_client"},
		{"RFC6749/5.2 the application has no password grant",
			by(browser, "grant_type", policy.GrantPassword, "username", "x", "password", "x"), "400 unauthorized_client"},
		{"RFC6749/5.2 the application has no client credentials grant", by(browser, "grant_type", policy.GrantClient),
			"400 unauthorized_client"},
		{"RFC6749/4.4 a public client has no client credentials grant", by(open, "grant_type", policy.GrantClient),
			"400 unauthorized_client"},
		{"RFC6749/3.2.1 nobody", post(values("grant_type", policy.GrantClient)), "401 invalid_client"},
		{"RFC6749/4.1.3 an unknown code", by(app, "grant_type", policy.GrantCode, "code", "unknown"), "400 invalid_grant"},
		{"RFC6749/6 an unknown refresh token", by(app, "grant_type", policy.GrantRefresh, "refresh_token", "unknown"),
			"400 invalid_grant"},
	} {
		t.Run(test.rule, func(t *testing.T) {
			answer, _, err := f.Grants.Token(t.Context(), test.r, "")
			wantError(t, err, test.want)
			if answer != nil {
				t.Error("an answer comes with the error")
			}
		})
	}
	t.Run("RFC6749/3.2 only POST", func(t *testing.T) {
		r := httptest.NewRequest(http.MethodGet, "https://auth.example/o/token/",
			strings.NewReader("grant_type=client_credentials"))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.SetBasicAuth(app.Application.ClientID, app.Secret)
		_, _, err := f.Grants.Token(t.Context(), r, "")
		wantError(t, err, "400 invalid_request")
	})
	t.Run("RFC6749/5.1 the answer's shape", func(t *testing.T) {
		s := f.login("alice")
		for name, test := range map[string]struct {
			answer *tokens.TokenResponse
			want   string
		}{
			"code": {f.tokens(app, s),
				`{"access_token":"A","token_type":"Bearer","expires_in":36000,"scope":"read write groups","refresh_token":"R"}`},
			"client credentials": {f.must(f.token(app, "grant_type", policy.GrantClient, "scope", "read")),
				`{"access_token":"A","token_type":"Bearer","expires_in":36000,"scope":"read"}`},
		} {
			test.answer.AccessToken = "A"
			if test.answer.RefreshToken != "" {
				test.answer.RefreshToken = "R"
			}
			got, err := json.Marshal(test.answer)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(test.want, string(got)); d != "" {
				t.Error(name, d)
			}
		}
	})
	t.Run("the application's lifetimes take the place of the server's", func(t *testing.T) {
		short := f.app(func(r *clients.Registration) { r.AccessTokenLifetime, r.RefreshTokenLifetime = 60, 120 })
		answer := f.tokens(short, f.login("alice"))
		access, _ := f.Tokens.LiveToken(t.Context(), answer.AccessToken)
		refresh, _ := f.Tokens.LiveToken(t.Context(), answer.RefreshToken)
		if answer.ExpiresIn != 60 || access.ExpiresAt-access.IssuedAt != 60 || refresh.ExpiresAt-refresh.IssuedAt != 120 {
			t.Error(answer.ExpiresIn, access, refresh)
		}
	})
}

// CVE-2026-27840: only the exact token is valid. A changed or shortened token is not.
func TestTokensAreExact(t *testing.T) {
	f := begin(t)
	app, s := f.app(), f.login("alice")
	answer := f.tokens(app, s)
	for _, token := range []string{answer.AccessToken, answer.RefreshToken, f.code(app, s)} {
		n := len(token)
		for _, near := range []string{"", token[:n-1], token[1:], token + "A", "A" + token, token + " ", " " + token,
			token + "=", token + "\n", swapCase(token), token[4:], token[:n/2], token + "." + token,
			strings.Replace(token, "m", "M", 1)} {
			if f.active(near) {
				t.Errorf("%q is active", near)
			}
			_, err := f.refresh(app, near)
			if err == nil {
				t.Errorf("%q refreshes", near)
			}
			_, err = f.exchange(app, near)
			if err == nil {
				t.Errorf("%q is a code", near)
			}
		}
	}
	f.wantActive(true, answer.AccessToken, answer.RefreshToken)
}

func FuzzTokenForm(f *testing.F) {
	h := begin(f)
	app, open := h.app(introspects), h.app(public)
	h.sql("UPDATE applications SET client_id = 'app' WHERE client_type = 'confidential'",
		"UPDATE applications SET client_id = 'open' WHERE client_type = 'public'")
	app.Application.ClientID, open.Application.ClientID = "app", "open"
	s := h.login("alice")
	known := h.tokens(app, s)
	for _, body := range []string{"", "grant_type=client_credentials",
		"grant_type=authorization_code&code=x&code_verifier=y&redirect_uri=z", "grant_type=refresh_token&refresh_token=" +
			known.RefreshToken, "grant_type=refresh_token&refresh_token=x&scope=read",
		"grant_type=password&username=alice&password=x", "grant_type=password&username=nobody&password=" + goodPassword,
		"token=" + known.AccessToken, "token=x&token_type_hint=refresh_token",
		"grant_type=client_credentials&scope=read&audience=x",
		"grant_type=%ff", "a=1&a=2", "%", "client_assertion=x", "grant_type=client_credentials&client_id=app&client_secret=x",
		"grant_type=unheard"} {
		f.Add(body, uint8(0), "application/x-www-form-urlencoded")
		f.Add(body, uint8(1), "application/x-www-form-urlencoded")
		f.Add(body+"&client_id=open", uint8(2), "application/x-www-form-urlencoded; charset=x")
	}
	f.Fuzz(func(t *testing.T, body string, who uint8, kind string) {
		made := func() *http.Request {
			r := postBody(body)
			r.Header.Set("Content-Type", kind)
			switch who % 3 {
			case 1:
				r.SetBasicAuth("app", app.Secret)
			case 2:
				r.Header.Set("Authorization", "Bearer "+known.AccessToken)
			}
			return r
		}
		// The limit of guesses is reset, because it would refuse all later requests here.
		h.limits.Tries = limits.NewThrottle(limits.Size)
		_, _, err := h.Grants.Token(t.Context(), made(), "")
		check(t, err)
		_, _, err = h.Tokens.Introspect(t.Context(), made(), "")
		check(t, err)
		_, err = h.Tokens.Revoke(t.Context(), made(), "")
		check(t, err)
	})
}

func check(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	e, ok := errors.AsType[*oauth.Error](err)
	if !ok || e.Status < 400 || e.Status >= 500 || e.Code == "" || e.Description == "" ||
		(e.Status == 401) != (e.Challenge != "") && e.Status != 403 {
		t.Fatalf("%+v", err)
	}
}
