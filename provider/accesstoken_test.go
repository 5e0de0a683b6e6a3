package provider

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"mandate/provider/acr"
	"mandate/provider/clients"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/resources"
	"mandate/provider/seal"
	"mandate/provider/tokens"
	"mandate/storage"
)

func signed(r *clients.Registration) { r.AccessTokenFormat = policy.FormatJWT }
func shortJWT(c *Config)             { c.JWTAccessTokenLifetime = 10 * time.Minute }
func withOpenID(c *Config) {
	c.OpenID, c.Tokens.IDTokenLifetime, c.Scopes = true, time.Hour,
		append(c.Scopes, policy.Scope{Name: "openid", Description: "Sign in"})
}
func (f *fixture) own() string { return f.config.tokens().Audience() }

// claimsOf verifies a token for the server with the published keys, and returns its claims and
// its header.
func (f *fixture) claimsOf(text string) (jwt.MapClaims, map[string]any) {
	f.t.Helper()
	return f.claimsFor(text, f.own())
}

// claimsFor is claimsOf for a token with this audience.
func (f *fixture) claimsFor(text, audience string) (jwt.MapClaims, map[string]any) {
	f.t.Helper()
	claims := jwt.MapClaims{}
	parsed, err := jwt.ParseWithClaims(text, claims, func(token *jwt.Token) (any, error) {
		set, err := f.Keys.JWKSet(context.Background())
		if err != nil {
			return nil, err
		}
		for _, k := range set.Keys {
			if k.ID == token.Header["kid"] {
				key, err := f.Keys.ByID(context.Background(), k.ID)
				return key.Public(), err
			}
		}
		return nil, errors.New("the key is not published")
	}, jwt.WithIssuer(f.config.Issuer), jwt.WithAudience(audience), jwt.WithExpirationRequired())
	if err != nil {
		f.t.Fatal(err)
	}
	return claims, parsed.Header
}

// RFC 9068 §2: the claims of a signed access token, and what the database stores of it.
func TestSignedAccessToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t, shortJWT)
		app, s := f.app(signed), f.login("alice")
		begun := float64(oauth.Now())
		machine := f.must(f.token(app, "grant_type", policy.GrantClient, "scope", "read"))
		if n := f.count("tokens"); n != 0 {
			t.Errorf("%d tokens are stored", n)
		}
		claims, header := f.claimsOf(machine.AccessToken)
		id := app.Application.ClientID
		want := jwt.MapClaims{"iss": "https://auth.example/o", "aud": "https://auth.example", "sub": id, "client_id": id,
			"scope": "read",
			"iat":   begun, "exp": begun + 600, "jti": claims["jti"]}
		if d := cmp.Diff(want, claims); d != "" {
			t.Error("RFC9068/2.2 client credentials:", d)
		}
		if header["typ"] != "at+jwt" || header["alg"] != "RS256" {
			t.Error("RFC9068/2.1", header)
		}
		person := f.tokens(app, s, "scope", "read write")
		if n := f.count("tokens"); n != 1 {
			t.Errorf("%d tokens are stored, want the refresh token", n)
		}
		claims, _ = f.claimsOf(person.AccessToken)
		want = jwt.MapClaims{"iss": "https://auth.example/o", "aud": "https://auth.example", "sub": s.User.ID,
			"client_id": id, "scope": "read write",
			"iat": begun, "exp": begun + 600, "jti": claims["jti"], "auth_time": begun, "acr": acr.Password, "amr": []any{"pwd"}}
		if d := cmp.Diff(want, claims); d != "" {
			t.Error("RFC9068/2.2 a person:", d)
		}
		time.Sleep(5 * time.Minute)
		next := f.must(f.refresh(app, person.RefreshToken))
		again, _ := f.claimsOf(next.AccessToken)
		want["iat"], want["exp"], want["jti"] = begun+300, begun+900, again["jti"]
		if d := cmp.Diff(want, again); d != "" || again["jti"] == claims["jti"] {
			t.Error("RFC9068/2.2.1 refreshed:", d)
		}
		ask := []string{"grant_type", policy.GrantPassword, "username", "alice", "password", goodPassword}
		password, used := f.must(f.token(app, ask...)), f.must(f.token(app, ask...))
		for _, answer := range []*tokens.TokenResponse{password, f.must(f.refresh(app, used.RefreshToken))} {
			claims, _ = f.claimsOf(answer.AccessToken)
			if claims["auth_time"] != nil || claims["acr"] != nil || claims["amr"] != nil || claims["sub"] != s.User.ID {
				t.Error("RFC9068/2.2.1 a password that the application took is no login here:", claims)
			}
		}
		for text, login := range map[string]int64{person.AccessToken: int64(begun), next.AccessToken: int64(begun),
			password.AccessToken: 0, password.RefreshToken: 0, machine.AccessToken: 0} {
			found, _, err := f.Tokens.Introspect(t.Context(),
				by(f.app(introspects), "token", text, "token_type_hint", "refresh_token"), "")
			if err != nil || !found.Active || found.AuthTime != login || (found.ACR != "") != (login > 0) {
				t.Errorf("RFC9470/6.2 introspection: %+v %v, want auth_time %d", found, err, login)
			}
		}
		f.wantActive(true, machine.AccessToken, person.AccessToken, next.AccessToken, password.AccessToken)
		time.Sleep(5 * time.Minute)
		f.wantActive(false, machine.AccessToken, person.AccessToken)
		f.wantActive(true, next.AccessToken)
	})
}

// RFC 9068 §6: applications of different hosts get different subjects for one person, and
// introspection returns the same sub as the token.
func TestSignedAccessTokenPairwise(t *testing.T) {
	f := begin(t, shortJWT, withOpenID)
	s, caller := f.login("alice"), f.app(introspects)
	app := f.app(signed, func(r *clients.Registration) { r.Pairwise = true })
	claims, _ := f.claimsOf(f.tokens(app, s, "scope", "openid").AccessToken)
	if claims["sub"] == s.User.ID || claims["sub"] != f.Tokens.Subject(app.Application.Sector, s.User.ID) {
		t.Error(claims["sub"])
	}
	answer := f.tokens(app, s, "scope", "openid")
	claims, _ = f.claimsOf(answer.AccessToken)
	found, _, err := f.Tokens.Introspect(t.Context(), by(caller, "token", answer.AccessToken), "")
	if err != nil || found.Subject != claims["sub"] || found.ID != claims["jti"] {
		t.Error(found, err)
	}
	r := httptest.NewRequest("GET", "https://auth.example/o/userinfo/", nil)
	r.Header.Set("Authorization", "Bearer "+answer.AccessToken)
	info, _, err := f.Tokens.UserInfo(t.Context(), r, home.Address)
	if err != nil || info.Claims["sub"] != claims["sub"] {
		t.Error(info, err)
	}
}

// RFC 9068 §2.1, §4: the default algorithm is RS256, and a client secret never signs.
func TestSignedAccessTokenAlgorithm(t *testing.T) {
	f := begin(t, shortJWT, withOpenID)
	for chosen, want := range map[string]string{"": "RS256", "RS256": "RS256", "PS256": "PS256", "ES256": "ES256",
		"EdDSA": "EdDSA", "HS256": "RS256"} {
		app := f.app(signed, func(r *clients.Registration) { r.Algorithm, r.HashClientSecret = chosen, false })
		text := f.must(f.token(app, "grant_type", policy.GrantClient)).AccessToken
		_, header := f.claimsOf(text)
		if header["alg"] != want {
			t.Errorf("%q: %v", chosen, header)
		}
		f.wantActive(true, text)
	}
	off := begin(t, shortJWT)
	off.app(signed, func(r *clients.Registration) { r.Algorithm = "ES256" })
	for what, change := range map[string]func(*clients.Registration){
		"of nothing": func(r *clients.Registration) { r.Algorithm = "ES256" },
		"HS256":      func(r *clients.Registration) { signed(r); r.Algorithm = "HS256" },
	} {
		r := clients.Registration{Name: "n", ClientType: policy.Confidential, GrantTypes: []string{policy.GrantClient}}
		change(&r)
		_, err := off.Clients.Register(t.Context(), policy.Operator(), r)
		t.Run(what, func(t *testing.T) { wantInvalid(t, err, "algorithm") })
	}
	_, err := off.Clients.Register(t.Context(), policy.Operator(),
		clients.Registration{Name: "n", ClientType: policy.Confidential, GrantTypes: []string{policy.GrantClient},
			AccessTokenFormat: "paper"})
	wantInvalid(t, err, "access_token_format")
}

// RFC 9068 §5: no other token that the same keys sign, such as an ID token, is accepted as an
// access token. An access token is not accepted as one of the others.
func TestSignedAccessTokenConfusion(t *testing.T) {
	f := begin(t, shortJWT, withOpenID)
	app, s := f.app(signed), f.login("alice")
	answer := f.tokens(app, s, "scope", "openid read")
	claims, _ := f.claimsOf(answer.AccessToken)
	key, err := f.Keys.Signer(t.Context(), "RS256")
	if err != nil {
		t.Fatal(err)
	}
	forge := func(kind string, changes jwt.MapClaims) string {
		altered := jwt.MapClaims{}
		for name, value := range claims {
			altered[name] = value
		}
		for name, value := range changes {
			altered[name] = value
		}
		text, err := key.Sign("RS256", kind, altered)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	f.wantActive(true, forge(resources.TypAccessToken, nil))
	signature := func(text string) string { return text[strings.LastIndex(text, "."):] }
	for what, text := range map[string]string{
		"an ID token":                           answer.IDToken,
		"without typ":                           forge("", nil),
		"typ JWT, not for an API that wants it": forge(resources.TypJWT, nil),
		"typ JWT, no client_id":                 forge(resources.TypJWT, jwt.MapClaims{"client_id": nil}),
		"typ JWT, no jti":                       forge(resources.TypJWT, jwt.MapClaims{"jti": nil}),
		"typ JWT, a foreign jti":                forge(resources.TypJWT, jwt.MapClaims{"jti": seal.Random(40)}),
		"for a client, typ JWT":                 forge(resources.TypJWT, jwt.MapClaims{"aud": app.Application.ClientID}),
		"typ logout+jwt":                        forge("logout+jwt", nil),
		"of another issuer": forge(resources.TypAccessToken,
			jwt.MapClaims{"iss": "https://other.example/o"}),
		"for an application": forge(resources.TypAccessToken,
			jwt.MapClaims{"aud": app.Application.ClientID}),
		"without an audience":    forge(resources.TypAccessToken, jwt.MapClaims{"aud": nil}),
		"expired":                forge(resources.TypAccessToken, jwt.MapClaims{"exp": oauth.Now()}),
		"without an end":         forge(resources.TypAccessToken, jwt.MapClaims{"exp": nil}),
		"with a jti of nobody's": forge(resources.TypAccessToken, jwt.MapClaims{"jti": seal.Random(40)}),
		"without a jti":          forge(resources.TypAccessToken, jwt.MapClaims{"jti": nil}),
		// RFC 7662 §4: the jti alone, which the database knows, proves nothing.
		"with the signature of another token": strings.TrimSuffix(answer.AccessToken, signature(answer.AccessToken)) +
			signature(forge(resources.TypAccessToken, jwt.MapClaims{"jti": nil})),
		"with an end of line": answer.AccessToken[:len(answer.AccessToken)-9] + "\n" +
			answer.AccessToken[len(answer.AccessToken)-9:],
	} {
		if f.active(text) {
			t.Errorf("%s is an access token", what)
		}
	}
	_, err = f.Tokens.Hint(t.Context(), answer.IDToken)
	wantError(t, err, "no error")
	for _, text := range []string{answer.AccessToken, forge(resources.TypJWT, nil),
		forge(resources.TypJWT, jwt.MapClaims{"aud": app.Application.ClientID})} {
		_, err = f.Tokens.Hint(t.Context(), text)
		wantError(t, err, "400 invalid_request")
	}
	_, err = f.refresh(app, answer.AccessToken)
	wantError(t, err, "400 invalid_grant")
}

// RFC 7009: the server remembers a revoked token until the token expires, and no longer.
func TestSignedAccessTokenRevoked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t, shortJWT)
		app, other := f.app(signed), f.app()
		first, second := f.must(f.token(app, "grant_type", policy.GrantClient)),
			f.must(f.token(app, "grant_type", policy.GrantClient))
		time.Sleep(time.Second) // so that it is later than all changes above
		f.wantActive(true, first.AccessToken, second.AccessToken)
		time.Sleep(time.Second)
		_, err := f.Tokens.Revoke(t.Context(), by(other, "token", first.AccessToken), "")
		wantError(t, err, "400 invalid_grant")
		f.wantActive(true, first.AccessToken)
		for range 2 {
			_, err = f.Tokens.Revoke(t.Context(), by(app, "token", first.AccessToken), "")
			wantError(t, err, "no error")
			f.wantActive(false, first.AccessToken)
		}
		// Everybody who has the token can read its jti. The jti alone does not revoke it.
		claims, _ := f.claimsOf(first.AccessToken)
		_, err = f.Tokens.Revoke(t.Context(), by(app, "token", claims["jti"].(string)), "")
		wantError(t, err, "no error")
		f.wantActive(false, first.AccessToken)
		f.wantActive(true, second.AccessToken)
		if n := f.count("tokens"); n != 1 || f.contains(first.AccessToken) {
			t.Errorf("%d rows", n)
		}
		time.Sleep(10 * time.Minute)
		_, err = f.store.Sweep(t.Context(), oauth.Now(), 10)
		wantError(t, err, "no error")
		if n := f.count("tokens"); n != 0 {
			t.Errorf("%d rows after its end", n)
		}
		_, err = f.Tokens.Revoke(t.Context(), by(app, "token", second.AccessToken), "")
		wantError(t, err, "no error")
		if n := f.count("tokens"); n != 0 {
			t.Errorf("%d rows for a token that has ended", n)
		}
		// RFC 7009 §2.1: the revocation of an expired token succeeds too.
		late := f.tokens(app, f.login("bob"))
		time.Sleep(10 * time.Minute)
		_, err = f.Tokens.Revoke(t.Context(), by(app, "token", late.AccessToken), "")
		wantError(t, err, "no error")
		f.wantActive(false, late.RefreshToken)
		person := f.tokens(app, f.login("alice"))
		_, err = f.Tokens.Revoke(t.Context(), by(app, "token", person.AccessToken), "")
		wantError(t, err, "no error")
		f.wantActive(false, person.AccessToken, person.RefreshToken)
	})
}

// RFC 7009 §2: a revoked token stays revoked. The standing of its application may fall, which
// limits the lifetime of the token, and rise again.
func TestSignedAccessTokenRevokedWhileTheStandingIsLow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t, shortJWT) // JWTMax of a person's application: 600 s
		root := f.person("root")
		f.sql("UPDATE users SET administrator = TRUE")
		root.Administrator = true
		app, err := f.Clients.Register(t.Context(), policy.ByConfirmed(root),
			clients.Registration{Name: "Client", ClientType: policy.Confidential, GrantTypes: []string{policy.GrantClient},
				HashClientSecret:  true,
				AccessTokenFormat: policy.FormatJWT, AccessTokenLifetime: 40000})
		if err != nil {
			t.Fatal(err)
		}
		early, late := f.must(f.token(app, "grant_type", policy.GrantClient)).AccessToken,
			f.must(f.token(app, "grant_type", policy.GrantClient)).AccessToken
		f.sql("UPDATE users SET administrator = FALSE")
		revoke := func(token string) {
			t.Helper()
			_, err := f.Tokens.Revoke(t.Context(), by(app, "token", token), "")
			wantError(t, err, "no error")
		}
		revoke(early)
		time.Sleep(20 * time.Minute) // longer than the limit
		f.wantActive(false, early, late)
		revoke(late)
		_, err = f.store.Sweep(t.Context(), oauth.Now(), 10)
		wantError(t, err, "no error")
		f.sql("UPDATE users SET administrator = TRUE")
		f.wantActive(false, early, late)
		time.Sleep(12 * time.Hour)
		_, err = f.store.Sweep(t.Context(), oauth.Now(), 10)
		wantError(t, err, "no error")
		if n := f.count("tokens"); n != 0 {
			t.Errorf("%d rows are left after the tokens expired", n)
		}
	})
}

// A change of the person, the consent or the application affects a signed token in the same
// way as an opaque one: at once, also on a node that has a copy.
func TestSignedAccessTokenMeanwhile(t *testing.T) {
	for rule, change := range map[string]func(*fixture, *clients.Registered, *storage.SignedIn) error{
		"the account is disabled": func(f *fixture, _ *clients.Registered, s *storage.SignedIn) error {
			return f.People.DisableUser(f.t.Context(), s.User.Username)
		},
		"the person is deleted": func(f *fixture, _ *clients.Registered, s *storage.SignedIn) error {
			return f.People.DeleteUser(f.t.Context(), policy.Operator(), s.User.ID, "")
		},
		"the consent is revoked": func(f *fixture, app *clients.Registered, s *storage.SignedIn) error {
			return f.People.Revoke(f.t.Context(), s.User.ID, app.Application.ID)
		},
		"the session ends": func(f *fixture, _ *clients.Registered, s *storage.SignedIn) error {
			return f.Logouts.Logout(f.t.Context(), s)
		},
		"the application is deleted": func(f *fixture, app *clients.Registered, _ *storage.SignedIn) error {
			return f.Clients.Delete(f.t.Context(), policy.Operator(), app.Application.ID)
		},
	} {
		t.Run(rule, func(t *testing.T) {
			f := begin(t, shortJWT, withOpenID)
			app, s := f.app(signed), f.login("alice")
			answer := f.tokens(app, s, "scope", "openid")
			f.wantActive(true, answer.AccessToken)
			wantError(t, change(f, app, s), "no error")
			f.wantActive(false, answer.AccessToken)
		})
	}
	t.Run("an application that takes the client id over has none of its tokens", func(t *testing.T) {
		f := begin(t, shortJWT)
		named := func(r *clients.Registration) { r.ClientID = "robot"; signed(r) }
		app := f.app(named)
		text := f.must(f.token(app, "grant_type", policy.GrantClient)).AccessToken
		wantError(t, f.Clients.Delete(t.Context(), policy.Operator(), app.Application.ID), "no error")
		f.app(named)
		f.wantActive(false, text)
	})
	t.Run("the format changes, and what was given stays good", func(t *testing.T) {
		f := begin(t, shortJWT)
		app, s := f.app(signed), f.login("alice")
		first := f.tokens(app, s)
		wantError(t, f.change(app, func(r *clients.Registration) { r.AccessTokenFormat = policy.FormatOpaque }), "no error")
		second := f.must(f.refresh(app, first.RefreshToken))
		wantError(t, f.change(app, signed), "no error")
		third := f.must(f.refresh(app, second.RefreshToken))
		if !strings.HasPrefix(second.AccessToken, tokens.AccessPrefix) || strings.Count(third.AccessToken, ".") != 2 {
			t.Error(second.AccessToken, third.AccessToken)
		}
		f.wantActive(true, first.AccessToken, second.AccessToken, third.AccessToken)
	})
	t.Run("a refresh token that is kept has signed tokens too", func(t *testing.T) {
		f := begin(t, shortJWT, keepThem)
		app := f.app(signed)
		first := f.tokens(app, f.login("alice"))
		second := f.must(f.refresh(app, first.RefreshToken))
		if second.RefreshToken != first.RefreshToken || f.count("tokens") != 1 {
			t.Error(f.count("tokens"), "rows")
		}
		f.wantActive(true, first.AccessToken, second.AccessToken)
	})
	t.Run("within the grace the same refresh token and the same claims come again", func(t *testing.T) {
		f := begin(t, shortJWT, grace)
		app := f.app(signed)
		first := f.tokens(app, f.login("alice"))
		second, again := f.must(f.refresh(app, first.RefreshToken)), f.must(f.refresh(app, first.RefreshToken))
		claims, _ := f.claimsOf(second.AccessToken)
		repeated, _ := f.claimsOf(again.AccessToken)
		delete(claims, "jti")
		delete(repeated, "jti")
		if d := cmp.Diff(claims, repeated); d != "" || second.RefreshToken != again.RefreshToken {
			t.Error(second.RefreshToken, again.RefreshToken, d)
		}
	})
}

func typJWT(r *resources.Registration) { r.TokenFormat, r.JWTTyp = policy.FormatJWT, resources.TypJWT }

// RFC 9068 §2.1: an access token has the typ at+jwt, unless each API that it is for says that it accepts JWT alone.
func TestTypOfSignedAccessTokens(t *testing.T) {
	f := begin(t, shortJWT, openID)
	const spring, other, strict = "https://spring.example", "https://other.example", "https://strict.example"
	f.resource(spring, typJWT)
	f.resource(other, func(r *resources.Registration) { r.JWTTyp = resources.TypJWT })
	f.resource(strict)
	app, s := f.app(signed), f.login("alice")
	typ := func(text string) any {
		parsed, _, err := jwt.NewParser().ParseUnverified(text, jwt.MapClaims{})
		if err != nil {
			t.Fatal(err)
		}
		return parsed.Header["typ"]
	}
	for _, test := range []struct {
		of   []string
		want string
	}{
		{nil, "at+jwt"}, {[]string{spring}, "JWT"}, {[]string{other}, "JWT"}, {[]string{strict}, "at+jwt"},
		{[]string{spring, other}, "JWT"},
		{[]string{spring, strict}, "at+jwt"}, {[]string{strict, spring}, "at+jwt"}, {[]string{spring, server}, "at+jwt"},
		{[]string{server}, "at+jwt"},
	} {
		pairs := []string{"scope", "openid read"}
		for _, uri := range test.of {
			pairs = append(pairs, "resource", uri)
		}
		person := f.tokens(app, s, pairs...)
		machine := f.must(f.token(app,
			append([]string{"grant_type", policy.GrantClient}, append(pairs, "scope", "read")...)...))
		next := f.must(f.refresh(app, person.RefreshToken))
		for _, text := range []string{person.AccessToken, machine.AccessToken, next.AccessToken} {
			if got := typ(text); got != test.want {
				t.Errorf("%v: typ %v, want %s", test.of, got, test.want)
			}
			f.wantActive(true, text)
			// RFC 8725 §3.11: an API has it, and nobody may sign the person out with it.
			_, err := f.Tokens.Hint(t.Context(), text)
			wantError(t, err, "400 invalid_request")
		}
		f.wantActive(false, person.IDToken, next.IDToken)
		if typ(person.IDToken) != "JWT" {
			t.Errorf("the ID token has typ %v", typ(person.IDToken))
		}
		// RFC 7009 §2.1: revocation finds a token of either typ, and never an ID token.
		for _, text := range []string{person.IDToken, machine.AccessToken} {
			_, err := f.Tokens.Revoke(t.Context(), by(app, "token", text), "192.0.2.1")
			wantError(t, err, "no error")
		}
		f.wantActive(true, next.AccessToken)
		f.wantActive(false, machine.AccessToken)
	}
	for typ, want := range map[string]string{"jwt": "jwt_typ", "at+JWT": "jwt_typ", "logout+jwt": "jwt_typ", "at+jwt": "",
		"": "", "JWT": ""} {
		err := resources.Check(resources.Registration{URI: "https://new.example", Name: "New", JWTTyp: typ}, f.Rules,
			server, nil).Err()
		if want == "" {
			wantError(t, err, "no error")
		} else {
			wantInvalid(t, err, want)
		}
	}
	wantInvalid(t, resources.Check(resources.Registration{URI: "https://new.example", Name: "New",
		TokenFormat: policy.FormatOpaque, JWTTyp: "JWT"}, f.Rules, server, nil).Err(), "jwt_typ")
}

// An ID token goes to a client, and says who a person is. As an access token at an API or at introspection, it would
// let the client, or whoever reads it in an address as id_token_hint, act for the person.
//
// RFC 8725 §2.8, §3.11: cross-JWT confusion. CVE-2022-31186 of next-auth and the confusion of ID and access tokens at
// many APIs are of this class.
func TestAttackIDTokenAsAccessToken(t *testing.T) {
	f := begin(t, shortJWT, openID)
	const spring = "https://spring.example"
	asker := f.app(introspects)
	f.resource(spring, typJWT, known(asker))
	s := f.wholePerson("alice")
	for _, app := range []*clients.Registered{f.app(signed), f.app(public), f.app(claims("off"))} {
		got := f.tokens(app, s, "scope", everyClaim+" read", "resource", spring)
		for what, hint := range map[string]string{"no hint": "-", "a hint": "access_token", "another hint": "refresh_token"} {
			if shown := f.shown(asker, got.IDToken, "token_type_hint", hint); shown.Active {
				t.Errorf("introspection with %s: an ID token is active: %+v", what, shown)
			}
			if shown := f.shown(asker, got.AccessToken, "token_type_hint", hint); !shown.Active {
				t.Errorf("introspection with %s: the access token is not active", what)
			}
		}
		r := post(nil)
		r.Header.Set("Authorization", "Bearer "+got.IDToken)
		_, _, err := f.Tokens.UserInfo(t.Context(), r, "192.0.2.1")
		wantError(t, err, "401 invalid_token")
		_, err = f.refresh(app, got.IDToken)
		wantError(t, err, "400 invalid_grant")
	}
}
