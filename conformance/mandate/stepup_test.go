package mandate

import (
	"fmt"
	"regexp"
	"testing"
)

// earlier makes all logins look older. The server keeps no copy of a session.
func (s *server) earlier(t testing.TB, seconds int) {
	t.Helper()
	behind(t, s.database, fmt.Sprintf("UPDATE sessions SET auth_time = auth_time - %d", seconds))
}

// RFC 9470 §2: the whole flow, without OpenID Connect. The API refuses a token of an old login, the client sends the
// max_age of the challenge, the person signs in again, and the API accepts the new token.
func TestRFC9470Flow(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db, provider: []string{openIDOff}})
		alice, api := s.person(t, "alice"),
			s.application(t, "--name", "api", "--grant", "client_credentials", "--may-introspect")
		upstream, _ := upstream(t)
		asking := []string{"RESOURCE_SERVER_INTROSPECTION_URL: " + quote(s.URL+"/o/introspect/"),
			fmt.Sprintf("RESOURCE_SERVER_INTROSPECTION_CREDENTIALS: [%s, %s]", quote(api.ClientID), quote(api.ClientSecret))}
		alone := []string{"RESOURCE_SERVER_JWKS_URL: " + quote(s.URL+"/o/.well-known/jwks.json"),
			"RESOURCE_SERVER_ISSUER: " + quote(s.Issuer), "RESOURCE_SERVER_AUDIENCE: " + quote(s.BaseURL)}
		rules := []string{"{PATH: /orders, SCOPES: [read]}", "{PATH: /pay, SCOPES: [read], MAX_AGE: 600}",
			"{PATH: /vault, SCOPES: [read], ACR_VALUES: ['urn:example:key']}"}
		for _, format := range []struct {
			name   string
			args   []string
			guards map[string]*server
		}{
			{"opaque", []string{"--access-token-format", "opaque"},
				map[string]*server{"asking": s.guard(t, upstream.URL, rules, asking...)}},
			{"jwt", []string{"--access-token-format", "jwt"},
				map[string]*server{"asking": s.guard(t, upstream.URL, rules, asking...),
					"alone": s.guard(t, upstream.URL, rules, alone...)}},
		} {
			for kind, guard := range format.guards {
				t.Run(format.name+" "+kind, func(t *testing.T) { s.stepsUp(t, s.relyingParty(t, format.args...), guard, alice) })
			}
		}
	})
}

func (s *server) stepsUp(t *testing.T, app application, guard *server, alice person) {
	b := s.browser(t)
	fresh := b.signsIn(t, app, alice, "scope", "read")
	s.earlier(t, 700)
	old := b.signsIn(t, app, alice, "scope", "read")
	is := func(what, path, token string, want int) string {
		t.Helper()
		a := guard.get(t, path, bearer(token))
		if a.Status != want {
			t.Fatalf("%s: %d, want %d: %s", what, a.Status, want, a.Body)
		}
		return a.Header.Get("WWW-Authenticate")
	}
	is("a new login", "/pay", fresh.AccessToken, 200)
	is("an old login, a path without a requirement", "/orders", old.AccessToken, 200)
	challenge := is("an old login", "/pay", old.AccessToken, 401)
	asked := regexp.MustCompile(
		`^Bearer realm="api", error="insufficient_user_authentication", error_description="[^"]+", max_age="([0-9]+)"(, resource_metadata="[^"]+")?$`).FindStringSubmatch(challenge)
	if asked == nil {
		t.Fatalf("the challenge is %s", challenge)
	}
	renewed := s.mustToken(t, app.auth(), refreshForm(old.RefreshToken))
	is("a renewed token is of the same login", "/pay", renewed.AccessToken, 401)

	verifier := b.asks(t, app, "scope", "read", "max_age", asked[1])
	if b.Away != nil || !b.shows("password") {
		t.Fatalf("the person does not have to sign in again: %v %s", b.Away, b.Body)
	}
	b.logIn(t, alice)
	if b.Away == nil {
		b.decide(t, "approve")
	}
	again := s.redeem(t, app, b.sentBack(t, "max_age", "code").Get("code"), verifier)
	is("the new login", "/pay", again.AccessToken, 200)
	is("the token of before", "/pay", old.AccessToken, 401)

	// RFC 9470 §5: no login satisfies the acr of the other path, and the client learns it.
	wanted := regexp.MustCompile(`, acr_values="([^"]+)"(?:,|$)`).FindStringSubmatch(is("another kind of login", "/vault",
		again.AccessToken, 401))
	if wanted == nil {
		t.Fatal("the challenge names no acr_values")
	}
	b.asks(t, app, "scope", "read", "acr_values", wanted[1])
	b.sentBack(t, "an acr that no login satisfies", "unmet_authentication_requirements")
	b.asks(t, app, "scope", "read", "max_age", "0")
	if b.Away != nil || !b.shows("password") {
		t.Fatalf("max_age=0: %v", b.Away)
	}
	b.logIn(t, alice) // once is enough
	if b.Away == nil {
		b.decide(t, "approve")
	}
	b.sentBack(t, "max_age=0", "code")
	b.asks(t, app, "scope", "read", "max_age", "-1")
	b.sentBack(t, "a wrong max_age", "invalid_request")
}

// With OpenID Connect, prompt=none and a login that is too old is an error, with and without the scope openid. The
// scope decides what acr_values means.
func TestRFC9470WithOpenID(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := openidServer(t, db)
		alice, app, b := s.somebody(t, "alice"), s.relyingParty(t), s.browser(t)
		b.signsIn(t, app, alice, "scope", "openid read")
		s.earlier(t, 700)
		old := b.signsIn(t, app, alice, "scope", "read").AccessToken
		for path, want := range map[string]int{"/resource": 200, "/resource/recent": 401} { // of the sample API
			if a := s.get(t, path, bearer(old)); a.Status != want {
				t.Errorf("%s: %d, want %d: %s", path, a.Status, want, a.Header.Get("WWW-Authenticate"))
			}
		}
		for _, test := range []struct {
			want string
			more []string
		}{
			{"login_required", []string{"scope", "openid read", "prompt", "none", "max_age", "600"}},
			{"login_required", []string{"scope", "read", "prompt", "none", "max_age", "600"}},
			{"code", []string{"scope", "openid read", "prompt", "none", "max_age", "800"}},
			{"code", []string{"scope", "read", "prompt", "none", "max_age", "800"}},
			{"code", []string{"scope", "openid read", "prompt", "none", "acr_values", "1 2"}},
			{"unmet_authentication_requirements", []string{"scope", "read", "prompt", "none", "acr_values", "1 2"}},
			{"code", []string{"scope", "read", "prompt", "none", "acr_values", "1 urn:mandate:acr:password"}},
			{"unmet_authentication_requirements",
				[]string{"scope", "openid", "prompt", "none", "claims", `{"id_token":{"acr":{"essential":true,"values":["1"]}}}`}},
		} {
			b.asks(t, app, test.more...)
			b.sentBack(t, fmt.Sprint(test.more), test.want)
		}
	})
}

// RFC 9470 §6.2: a token that a device got has the login of the person who approved it, and a token without a login has
// neither claim.
func TestRFC9470Logins(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db})
		api := s.application(t, "--name", "api", "--grant", "client_credentials", "--may-introspect")
		machine := s.mustToken(t, api.auth(), params("grant_type", "client_credentials", "scope", "read"))
		told := s.introspect(t, api.auth(), machine.AccessToken)
		if told["auth_time"] != nil || told["acr"] != nil {
			t.Errorf("client credentials: %v", told)
		}
		alice, app, b := s.person(t, "alice"), s.relyingParty(t), s.browser(t)
		first := s.introspect(t, api.auth(), b.signsIn(t, app, alice, "scope", "read").AccessToken)
		s.earlier(t, 700)
		tv := s.application(t, "--name", "tv", "--grant", "urn:ietf:params:oauth:grant-type:device_code")
		allowed := s.mustToken(t, tv.auth(), pollForm(b.approvedDevice(t, tv, "scope", "read").DeviceCode))
		for name, got := range map[string]tokens{"the code grant": b.signsIn(t, app, alice, "scope", "read"),
			"the device grant": allowed, "a refresh": s.mustToken(t, tv.auth(), refreshForm(allowed.RefreshToken))} {
			told := s.introspect(t, api.auth(), got.AccessToken)
			at, _ := first["auth_time"].(float64)
			if told["auth_time"] != at-700 || told["acr"] != "urn:mandate:acr:password" {
				t.Errorf("%s: %v, and before: %v", name, told, first)
			}
		}
	})
}
