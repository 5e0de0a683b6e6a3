package provider

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mandate/provider/clients"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/seal"
	"mandate/provider/tokens"
	"mandate/storage"
)

// TestFositeDefects has one test for each defect of fosite v0.49.0 that concerns
// this server. The name says what fosite does. The test shows what this server
// does.
func TestFositeDefects(t *testing.T) {
	shared := newDefect(t)
	shared.backDoor() // it is open for all tests
	for name, test := range map[string]func(*testing.T, *defect){
		// Races and other defects. See framework_attack_test.go for 1 and 2, and TestNothingIsWrittenLazily for 8.
		"3 the loser of a race for a code gets a 500": func(t *testing.T, d *defect) {
			code := d.code(d.app, d.s)
			d.must(d.exchange(d.app, code))
			d.want(t, "400 invalid_grant", policy.GrantCode, "code", code, "redirect_uri", callback, "code_verifier", verifier)
		},
		"4 the loser of a race for a refresh token gets invalid_request": func(t *testing.T, d *defect) {
			first := d.tokens(d.app, d.s)
			d.must(d.fixture.refresh(d.app, first.RefreshToken))
			d.want(t, "400 invalid_grant", policy.GrantRefresh, "refresh_token", first.RefreshToken)
		},
		"5 what a session knew is overwritten by stored zero values": func(t *testing.T, d *defect) {
			answer := d.tokens(d.app, d.s, "scope", "write read")
			token, err := d.Tokens.LiveToken(t.Context(), answer.AccessToken)
			if err != nil || oauth.Deref(token.SessionID) != d.s.Session.ID || oauth.Deref(token.UserID) != d.s.User.ID ||
				token.Scope != "write read" {
				t.Errorf("%+v, %v", token, err)
			}
		},
		"6 without a list the redirect URI is not compared": func(t *testing.T, d *defect) {
			for _, uri := range []string{elsewhere, callback + "?"} {
				_, err := d.exchange(d.app, d.code(d.app, d.s), "redirect_uri", uri)
				wantError(t, err, "400 invalid_grant")
			}
		},
		"7 a refresh token stays where its access token is gone": func(t *testing.T, d *defect) {
			first := d.tokens(d.app, d.s)
			d.sql("DELETE FROM tokens WHERE digest = '" + seal.Digest(first.AccessToken) + "'")
			d.must(d.fixture.refresh(d.app, first.RefreshToken))
			d.wantActive(false, first.RefreshToken)
		},
		// Client secrets.
		"a public client authenticates with an empty secret": func(t *testing.T, d *defect) {
			for _, r := range []*clients.Registered{{
				Application: d.open.Application,
				Secret:      "",
			}, {
				Application: storage.Application{ClientID: d.open.Application.ClientID, ClientType: policy.Confidential},
				Secret:      "",
			}} {
				_, _, err := d.Tokens.Introspect(t.Context(), by(r, "token", d.tokens(d.app, d.s).AccessToken), "")
				if k := kind(err); k != "401 invalid_client" && k != "403 unauthorized_client" {
					t.Error(k)
				}
			}
		},
		"bcrypt sees 72 bytes of a secret": func(t *testing.T, d *defect) {
			head := strings.Repeat("x", 100)
			app := d.fixture.app(func(r *clients.Registration) { r.ClientSecret = head + "right" })
			_, err := d.token(&clients.Registered{
				Application: app.Application,
				Secret:      head + "wrong",
			}, "grant_type", policy.GrantClient)
			wantError(t, err, "401 invalid_client")
			_, err = d.token(app, "grant_type", policy.GrantClient)
			wantError(t, err, "no error")
		},
		// Token endpoint.
		"an unknown grant type is invalid_request": func(t *testing.T, d *defect) {
			d.want(
				t, "400 unsupported_grant_type", "unknown",
			)
		},
		"no credentials are 400, and a 401 has no challenge": func(t *testing.T, d *defect) {
			_, _, err := d.Grants.Token(t.Context(), post(values("grant_type", policy.GrantClient)), "")
			wantError(t, err, "401 invalid_client")
			if e, ok := errors.AsType[*oauth.Error](err); !ok || !strings.HasPrefix(e.Challenge, "Basic ") {
				t.Error(err)
			}
		},
		"client credentials of a public client are invalid_grant": func(t *testing.T, d *defect) {
			_, err := d.token(d.open, "grant_type", policy.GrantClient)
			wantError(t, err, "400 unauthorized_client")
		},
		"a wrong refresh token is invalid_request": func(t *testing.T, d *defect) {
			token := d.tokens(d.app, d.s).RefreshToken
			for _, wrong := range []string{token[:len(token)-1] + "!", token + ".x", "x." + token, "ory_rt_x.y"} {
				d.want(t, "400 invalid_grant", policy.GrantRefresh, "refresh_token", wrong)
			}
		},
		"an expired refresh token is token_inactive": func(t *testing.T, d *defect) {
			token := d.tokens(d.app, d.s).RefreshToken
			d.sql("UPDATE tokens SET expires_at = 1")
			d.want(t, "400 invalid_grant", policy.GrantRefresh, "refresh_token", token)
		},
		"a missing code or refresh token is invalid_grant": func(t *testing.T, d *defect) {
			d.want(t, "400 invalid_request", policy.GrantCode)
			d.want(t, "400 invalid_request", policy.GrantRefresh)
		},
		"Basic and body credentials are accepted together": func(t *testing.T, d *defect) {
			d.want(
				t, "400 invalid_request", policy.GrantClient, "client_id", d.app.Application.ClientID, "client_secret",
				d.app.Secret,
			)
		},
		"a parameter may come twice": func(t *testing.T, d *defect) {
			_, _, err := d.Grants.Token(t.Context(), postBody("grant_type=client_credentials&grant_type=password"), "")
			wantError(t, err, "400 invalid_request")
		},
		"Basic refuses special characters": func(t *testing.T, d *defect) {
			app := d.fixture.app(func(r *clients.Registration) { r.ClientSecret = "p%ss+w rd:ü/\"\\ and more" })
			_, err := d.token(app, "grant_type", policy.GrantClient)
			wantError(t, err, "no error")
			// A secret that the server makes needs no encoding.
			if strings.Trim(d.app.Secret, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
				t.Error(d.app.Secret)
			}
		},
		"scope is ignored at refresh": func(t *testing.T, d *defect) {
			answer := d.must(d.fixture.refresh(d.app, d.tokens(d.app, d.s, "scope", "read write").RefreshToken, "scope", "read"))
			if answer.Scope != "read" {
				t.Error(answer.Scope)
			}
			d.want(t, "400 invalid_scope", policy.GrantRefresh, "refresh_token", answer.RefreshToken, "scope", "groups")
		},
		"expires_in is a second short, token_type in lower case, scope empty": func(t *testing.T, d *defect) {
			answer := d.must(d.token(d.app, "grant_type", policy.GrantClient))
			if answer.ExpiresIn != 36000 || answer.TokenType != "Bearer" || answer.Scope == "" {
				t.Errorf("%+v", answer)
			}
		},
		"grants without a person grant nothing": func(t *testing.T, d *defect) {
			for _, answer := range []*tokens.TokenResponse{d.must(d.token(
				d.app, "grant_type", policy.GrantClient,
			)), d.must(d.token(
				d.app, "grant_type", policy.GrantPassword, "username", "alice", "password", goodPassword,
			))} {
				if diff := cmp.Diff("read write groups", answer.Scope); diff != "" {
					t.Error(diff)
				}
			}
		},
		"names are compared without case": func(t *testing.T, d *defect) {
			d.want(t, "400 unsupported_grant_type", "CLIENT_CREDENTIALS")
			d.want(t, "400 invalid_scope", policy.GrantClient, "scope", "READ")
			d.refused(t, "unsupported_response_type", "response_type", "Code")
			d.refused(t, "invalid_scope", "scope", "Read")
		},
		"an access token says when the person approved, not when it was issued": func(t *testing.T, d *defect) {
			synctest.Test(t, func(t *testing.T) {
				d := newDefect(t)
				first := d.tokens(d.app, d.s)
				time.Sleep(time.Hour)
				second := d.must(d.fixture.refresh(d.app, first.RefreshToken))
				a, _ := d.Tokens.LiveToken(t.Context(), first.AccessToken)
				b, _ := d.Tokens.LiveToken(t.Context(), second.AccessToken)
				if b.IssuedAt-a.IssuedAt != 3600 || b.ExpiresAt-a.ExpiresAt != 3600 {
					t.Error(a.IssuedAt, b.IssuedAt)
				}
			})
		},
		// Authorization endpoint.
		"state must have eight characters": func(t *testing.T, d *defect) {
			for _, state := range []string{"-", "x", "1234567"} {
				d.code(d.app, d.s, "state", state)
			}
		},
		"an empty state is echoed": func(t *testing.T, d *defect) {
			a := d.authorize(d.app, "state", "")
			if location := d.Authorizations.Deny(a).Location(); strings.Contains(location, "state") {
				t.Error(location)
			}
		},
		"a missing response_type is unsupported_response_type": func(t *testing.T, d *defect) {
			d.refused(
				t, "invalid_request", "response_type", "-",
			)
		},
		"response_mode=query is refused": func(t *testing.T, d *defect) { d.code(d.app, d.s, "response_mode", "query") },
		"an unknown client is JSON": func(t *testing.T, d *defect) {
			_, err := d.Authorizations.Authorize(t.Context(), d.query(d.app, "client_id", "unknown"))
			wantError(t, err, "400 invalid_client")
		},
		"request objects are read, also unsigned ones": func(t *testing.T, d *defect) {
			d.refused(t, "invalid_request_object", "request", "eyJhbGciOiJub25lIn0.e30.")
			d.refused(t, "request_uri_not_supported", "request_uri", "https://client.example/request.jwt")
		},
		"a loopback redirect URI may have user information": func(t *testing.T, d *defect) {
			app := d.fixture.app(func(r *clients.Registration) { r.RedirectURIs = []string{"http://127.0.0.1/cb"} })
			_, err := d.Authorizations.Authorize(t.Context(), d.query(app, "redirect_uri", "http://evil@127.0.0.1:9/cb"))
			wantError(t, err, "400 invalid_request")
		},
		"the query of a redirect URI is sorted": func(t *testing.T, d *defect) {
			uri := "https://client.example/cb?z=1&a=%7e"
			app := d.fixture.app(func(r *clients.Registration) { r.RedirectURIs = []string{uri} })
			location, err := d.Authorizations.Complete(t.Context(), d.authorize(app, "redirect_uri", uri), d.s)
			if err != nil || !strings.HasPrefix(location.Location(), uri+"&code=") {
				t.Error(location, err)
			}
		},
		"scopes have wildcards": func(t *testing.T, d *defect) {
			app := d.fixture.app()
			d.sql("UPDATE applications SET scopes = '* read.*' WHERE id = '" + app.Application.ID + "'")
			for _, scope := range []string{"read", "write", "*", "read.x", "introspection"} {
				_, err := d.token(app, "grant_type", policy.GrantClient, "scope", scope)
				wantError(t, err, "400 invalid_scope")
			}
		},
		"the code comes with a scope": func(t *testing.T, d *defect) {
			location, err := d.Authorizations.Complete(t.Context(), d.authorize(d.app), d.s)
			if err != nil || queryOf(t, location.Location()).Has("scope") {
				t.Error(location, err)
			}
		},
		"a code_challenge may be anything": func(t *testing.T, d *defect) {
			d.refused(
				t, "invalid_request", "code_challenge", "x",
			)
		},
		"the issuer is missing": func(t *testing.T, d *defect) {
			if queryOf(t, d.Authorizations.Deny(d.authorize(d.app)).Location()).Get("iss") != "https://auth.example/o" {
				t.Error("RFC9207/2")
			}
		},
		// Introspection and revocation. See TestDatabaseFails for a database that fails.
		"any bearer token introspects": func(t *testing.T, d *defect) {
			token := d.tokens(d.app, d.s).AccessToken
			_, _, err := d.Tokens.Introspect(t.Context(), with(post(values("token", token)), "Bearer "+token), "")
			wantError(t, err, "403 insufficient_scope")
		},
		"any client introspects": func(t *testing.T, d *defect) {
			_, _, err := d.Tokens.Introspect(t.Context(), by(d.app, "token", "x"), "")
			wantError(t, err, "403 unauthorized_client")
		},
		"a client cannot introspect by client_secret_post": func(t *testing.T, d *defect) {
			_, _, err := d.Tokens.Introspect(t.Context(), post(values(
				"token", "x", "client_id", d.may.Application.ClientID, "client_secret", d.may.Secret,
			)), "")
			wantError(t, err, "no error")
		},
		"a refresh token shows the end of its access token": func(t *testing.T, d *defect) {
			found, _, err := d.Tokens.Introspect(t.Context(), by(
				d.may, "token", d.tokens(d.app, d.s).RefreshToken, "token_type_hint", "refresh_token",
			), "")
			if err != nil || found.ExpiresAt-found.IssuedAt != 30*24*3600 {
				t.Error(found, err)
			}
		},
		"iss, jti, nbf and token_type are missing": func(t *testing.T, d *defect) {
			found, _, err := d.Tokens.Introspect(t.Context(), by(d.may, "token", d.tokens(d.app, d.s).AccessToken), "")
			if err != nil || found.Issuer == "" || found.ID == "" || found.NotBefore == 0 || found.TokenType != "Bearer" {
				t.Error(found, err)
			}
		},
		"revoking a token of another client is a 200": func(t *testing.T, d *defect) {
			answer := d.tokens(d.app, d.s)
			_, err := d.Tokens.Revoke(t.Context(), by(d.may, "token", answer.AccessToken), "")
			wantError(t, err, "400 invalid_grant")
			d.wantActive(true, answer.AccessToken)
		},
		// Errors.
		"hints talk of redirect_uri everywhere, and errors have parameters of their own": func(t *testing.T, d *defect) {
			a, err := d.Authorizations.Authorize(t.Context(), d.query(d.app, "response_type", "-"))
			if err != nil || a.Refused == nil {
				t.Fatal(err)
			}
			var names []string
			for _, name := range []string{"error", "error_description", "iss", "error_hint", "error_debug", "status_code"} {
				if queryOf(t, d.Authorizations.Refusal(a, a.Refused).Location()).Has(name) {
					names = append(names, name)
				}
			}
			if diff := cmp.Diff(
				[]string{"error", "error_description", "iss"}, names,
			); diff != "" || strings.Contains(a.Refused.Description, "redirect_uri") {
				t.Error(diff, a.Refused)
			}
		},
		"a database's error is told to the client": func(t *testing.T, _ *defect) {
			d := newDefect(t)
			d.store.Close()
			_, err := d.token(d.app, "grant_type", policy.GrantClient)
			e, _ := errors.AsType[*oauth.Error](err)
			text, _ := json.Marshal([]string{e.Description, e.Code, e.Challenge})
			if e.Status != 503 || strings.Contains(string(text), "sql") || strings.Contains(string(text), "closed") {
				t.Error(string(text))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			shared.t = t
			test(t, shared)
		})
	}
}

type defect struct {
	*fixture
	app, open, may *clients.Registered
	s              *storage.SignedIn
}

func newDefect(t *testing.T) *defect {
	f := begin(t)
	return &defect{f, f.app(), f.app(public), f.app(introspects), f.login("alice")}
}

// want sends a token request with this grant type and checks its error.
func (d *defect) want(t *testing.T, want, grant string, pairs ...string) {
	t.Helper()
	_, err := d.token(d.app, append([]string{"grant_type", grant}, pairs...)...)
	wantError(t, err, want)
}

// refused sends an authorization request and checks the error that the client gets.
func (d *defect) refused(t *testing.T, want string, pairs ...string) {
	t.Helper()
	a, err := d.Authorizations.Authorize(t.Context(), d.query(d.app, pairs...))
	if err != nil || a.Refused == nil || a.Refused.Code != want {
		t.Errorf("%v: %v, %+v, want %s", pairs, err, a, want)
	}
}
