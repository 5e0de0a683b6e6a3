package mandate

import (
	"net/http"
	"strings"
	"testing"
)

// OIDC Core §5.4: the claims of each scope, with the types of §5.1.
func TestOIDCCore5UserInfoClaims(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := openidServer(t, db)
		s.mustCLI(t, "", "group", "add", "staff")
		alice, app := s.somebody(t, "alice"), s.relyingParty(t)
		bare := s.person(t, "bare", "--group", "staff")
		b := s.browser(t)
		for scope, want := range map[string]map[string]any{
			"": {},
			"profile": {"name": "Alice Pleasance Liddell", "given_name": "Alice", "family_name": "Liddell",
				"middle_name": "Pleasance", "nickname": "al",
				"preferred_username": "alice", "profile": "https://alice.example/", "picture": "https://alice.example/p.png",
				"website": "https://alice.example/w",
				"gender":  "female", "birthdate": "0000-05-04", "zoneinfo": "Europe/London", "locale": "en-GB", "updated_at": 1.0},
			"email":   {"email": "alice@example.org", "email_verified": true},
			"phone":   {"phone_number": "+441865276150", "phone_number_verified": false},
			"address": {"address": map[string]any{"formatted": "Christ Church\nOxford", "locality": "Oxford", "country": "UK"}},
			"groups":  {"groups": []any{}},
		} {
			got := s.userInfo(t, b.signsIn(t, app, alice, "scope", strings.TrimSpace("openid "+scope)).AccessToken)
			if at, _ := got["updated_at"].(float64); at > 1_500_000_000 {
				got["updated_at"] = 1.0
			}
			if got["sub"] == "" || got["sub"] == nil {
				t.Errorf("no sub in %v", got)
			}
			delete(got, "sub")
			checkEqual(t, "scope "+scope, got, want)
		}
		// OIDC Core §5.3.2: an unknown claim is absent.
		got := s.userInfo(t,
			s.browser(t).signsIn(t, app, bare, "scope", "openid profile email phone address groups").AccessToken)
		delete(got, "sub")
		delete(got, "updated_at")
		checkEqual(t, "a person without claims", got, map[string]any{"preferred_username": "bare", "groups": []any{"staff"}})
	})
}

// OIDC Core §5.5: claims that are requested by name.
func TestOIDCCore5ClaimsParameter(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := openidServer(t, db)
		alice, app := s.somebody(t, "alice"), s.relyingParty(t)
		got := s.browser(t).signsIn(t, app, alice, "claims",
			`{"userinfo":{"nickname":null,"email":{"essential":true},"sub":null},"id_token":{"birthdate":null,"auth_time":{"essential":true},"email_verified":{"value":true},"nothing":null},"other":1}`)
		claims := s.verified(t, app, "RS256", got.IDToken)
		if claims["birthdate"] != "0000-05-04" || claims["email_verified"] != true || claims["nickname"] != nil ||
			claims["email"] != nil || claims["iss"] != s.Issuer {
			t.Errorf("the ID token says %v", claims)
		}
		info := s.userInfo(t, got.AccessToken)
		checkEqual(t, "UserInfo", info, map[string]any{"sub": claims["sub"], "nickname": "al", "email": "alice@example.org"})
		// They are kept after a refresh, like the approval.
		next := s.mustToken(t, app.auth(), params("grant_type", "refresh_token", "refresh_token", got.RefreshToken))
		checkEqual(t, "UserInfo after a refresh", s.userInfo(t, next.AccessToken), info)
	})
}

// OIDC Core §5.3: the ways to send a request, and the errors of RFC 6750 §3.1.
func TestOIDCCore5UserInfoRequests(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := openidServer(t, db)
		alice, app := s.somebody(t, "alice"), s.relyingParty(t)
		robot := s.application(t, "--name", "robot", "--grant", "client_credentials")
		got := s.browser(t).signsIn(t, app, alice)
		own := s.mustToken(t, robot.auth(), params("grant_type", "client_credentials", "scope", "openid"))
		const at = "/o/userinfo/"
		for _, test := range []struct {
			rule   string
			answer answer
			status int
			code   string
		}{
			{"5.3.1 GET with the header", s.get(t, at, bearer(got.AccessToken)), 200, ""},
			{"5.3.1 POST with the header", s.post(t, at, bearer(got.AccessToken), nil), 200, ""},
			{"RFC6750 2.2 POST with a form", s.post(t, at, nobody, params("access_token", got.AccessToken)), 200, ""},
			{"without the last slash", s.get(t, "/o/userinfo", bearer(got.AccessToken)), 200, ""},
			{"RFC6750 3.1 no token", s.get(t, at, nobody), 401, ""},
			{"another scheme", s.get(t, at, app.auth()), 401, ""},
			{"RFC6750 2 two tokens", s.post(t, at, bearer(got.AccessToken), params("access_token", got.AccessToken)), 400,
				"invalid_request"},
			{"RFC9700 4.3.2 in the query", s.get(t, at+"?access_token="+got.AccessToken, nobody), 400, "invalid_request"},
			{"unknown", s.get(t, at, bearer("mat_unknown")), 401, "invalid_token"},
			{"a refresh token", s.get(t, at, bearer(got.RefreshToken)), 401, "invalid_token"},
			{"a token of nobody", s.get(t, at, bearer(own.AccessToken)), 401, "invalid_token"},
		} {
			challenge := test.answer.Header.Get("WWW-Authenticate")
			if test.answer.Status != test.status || strings.Contains(challenge, "error=") != (test.code != "") ||
				!strings.Contains(challenge, test.code) {
				t.Errorf("%s: %d %s %s", test.rule, test.answer.Status, challenge, test.answer.Body)
			}
			if test.status == http.StatusOK != (test.answer.JSONOrNil()["sub"] != nil) {
				t.Errorf("%s: %s", test.rule, test.answer.Body)
			}
		}
		s.revoke(t, app.auth(), got.AccessToken)
		if a := s.get(t, at, bearer(got.AccessToken)); a.Status != http.StatusUnauthorized {
			t.Errorf("a revoked token is answered with %d", a.Status)
		}
	})
}

// OIDC Core §5.3.2: an application may have the answer signed.
func TestOIDCCore5UserInfoSigned(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := openidServer(t, db)
		alice := s.somebody(t, "alice")
		for _, algorithm := range []string{"ES256", "EdDSA", "RS256", "PS256", "HS256"} {
			app := s.relyingParty(t, "--userinfo-algorithm", algorithm, "--no-hash-client-secret")
			got := s.browser(t).signsIn(t, app, alice, "scope", "openid email")
			a := s.get(t, "/o/userinfo/", bearer(got.AccessToken))
			if a.Status != http.StatusOK || a.Header.Get("Content-Type") != "application/jwt" {
				t.Fatalf("%s: %d %s", algorithm, a.Status, a.Header.Get("Content-Type"))
			}
			claims := s.verified(t, app, algorithm, a.Body)
			if claims["email"] != "alice@example.org" || claims["sub"] != s.verified(t, app, "RS256", got.IDToken)["sub"] {
				t.Errorf("%s: %v", algorithm, claims)
			}
		}
	})
}
