package mandate

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/golang-jwt/jwt/v5"
	_ "modernc.org/sqlite" // registers "sqlite"
)

// Access tokens that are JWTs (RFC 9068).

// signedServer starts openidServer with an application whose access tokens are signed,
// an application that may introspect, and a person.
func signedServer(t testing.TB, db database, more ...string) (s *server, app, api application, alice person) {
	t.Helper()
	s = openidServer(t, db, more...)
	return s, s.signer(t), s.application(t, "--name", "api", "--grant", "client_credentials", "--may-introspect"),
		s.somebody(t, "alice")
}

// signer registers an application whose access tokens are signed.
func (s *server) signer(t testing.TB, args ...string) application {
	t.Helper()
	return s.relyingParty(t, append([]string{"--grant", "client_credentials", "--access-token-format", "jwt"}, args...)...)
}

// machine returns a token of the client credentials grant.
func (s *server) machine(t testing.TB, app application) tokens {
	t.Helper()
	return s.mustToken(t, app.auth(), params("grant_type", "client_credentials", "scope", "read"))
}

// locally checks an access token as an API does that does not ask the server: with
// go-oidc and the published keys. It checks the type itself, because go-oidc does not.
func (s *server) locally(t testing.TB, text string) (map[string]any, error) {
	t.Helper()
	var header struct{ Typ string }
	err := json.Unmarshal(b64(strings.Split(text, ".")[0]), &header)
	if err != nil || header.Typ != "at+jwt" {
		return nil, fmt.Errorf("typ is %q: %v", header.Typ, err)
	}
	metadata := s.get(t, "/.well-known/oauth-authorization-server/o", nobody).JSON(t)
	address, _ := metadata["jwks_uri"].(string)
	algorithms := []string{oidc.RS256, oidc.ES256, oidc.PS256, oidc.EdDSA}
	verifier := oidc.NewVerifier(s.Issuer, oidc.NewRemoteKeySet(t.Context(), address),
		&oidc.Config{ClientID: s.BaseURL, SupportedSigningAlgs: algorithms})
	token, err := verifier.Verify(t.Context(), text)
	if err != nil {
		return nil, err
	}
	claims := map[string]any{}
	return claims, token.Claims(&claims)
}

// RFC 9068 §2, §4: each application gets the configured format, and anyone can check a
// signed token.
func TestRFC9068Formats(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s, app, api, alice := signedServer(t, db)
		opaque := s.relyingParty(t, "--grant", "client_credentials")
		if got := s.machine(t, opaque); !strings.HasPrefix(got.AccessToken, "mat_") || got.ExpiresIn != 36000 {
			t.Errorf("%.4s for %d s, want an opaque token", got.AccessToken, got.ExpiresIn)
		}
		for algorithm, a := range map[string]application{"RS256": app, "ES256": s.signer(t, "--algorithm", "ES256"),
			"PS256": s.signer(t, "--algorithm", "PS256"),
			"EdDSA": s.signer(t, "--algorithm", "EdDSA")} {
			got := s.machine(t, a)
			claims, err := s.locally(t, got.AccessToken)
			if err != nil {
				t.Errorf("%s: %v", algorithm, err)
				continue
			}
			if claims["sub"] != a.ClientID || claims["client_id"] != a.ClientID || claims["scope"] != "read" ||
				claims["aud"] != s.BaseURL || got.ExpiresIn != 600 || claims["auth_time"] != nil {
				t.Errorf("%s: %v, for %d s", algorithm, claims, got.ExpiresIn)
			}
			found := s.introspect(t, api.auth(), got.AccessToken)
			for _, name := range []string{"iss", "sub", "aud", "client_id", "scope", "iat", "exp", "jti"} {
				checkEqual(t, name, found[name], claims[name])
			}
			if found["active"] != true || found["token_type"] != "Bearer" {
				t.Error(found)
			}
		}
		if n := rows(t, db, "tokens"); n != 1 {
			t.Errorf("%d tokens are stored, want the opaque one", n)
		}
		person := s.browser(t).signsIn(t, app, alice, "scope", "openid read")
		claims, err := s.locally(t, person.AccessToken)
		if err != nil {
			t.Fatal(err)
		}
		signedIn := s.verified(t, app, "RS256", person.IDToken)
		if claims["sub"] != signedIn["sub"] || claims["acr"] != signedIn["acr"] || claims["name"] != nil ||
			claims["username"] != nil {
			t.Errorf("%v, want the sub, acr and auth_time of %v, and no more", claims, signedIn)
		}
		checkEqual(t, "auth_time", int64(claims["auth_time"].(float64)), number(t, signedIn, "auth_time"))
		checkEqual(t, "username", s.introspect(t, api.auth(), person.AccessToken)["username"], any("alice"))
		checkEqual(t, "UserInfo", s.userInfo(t, person.AccessToken)["sub"], claims["sub"])
		if a := s.get(t, "/resource", bearer(person.AccessToken)); a.Status != http.StatusOK {
			t.Errorf("the sample API answers %d", a.Status)
		}
		next := s.mustToken(t, app.auth(), params("grant_type", "refresh_token", "refresh_token", person.RefreshToken))
		again, err := s.locally(t, next.AccessToken)
		if err != nil || again["jti"] == claims["jti"] || again["auth_time"] != claims["auth_time"] ||
			again["sub"] != claims["sub"] {
			t.Errorf("refreshed: %v, %v", again, err)
		}
		if !s.active(t, api.auth(), person.AccessToken) {
			t.Error("the one before a refresh ends with it")
		}
		// A token with the scope introspection may introspect, in either format.
		asks := s.signer(t, "--may-introspect")
		caller := s.mustToken(t, asks.auth(), params("grant_type", "client_credentials", "scope", "introspection"))
		if !s.active(t, bearer(caller.AccessToken), next.AccessToken) {
			t.Error("a signed token with the scope introspection cannot ask")
		}
		if a := s.post(t, "/o/introspect/", bearer(next.AccessToken),
			params("token", next.AccessToken)); a.Status != http.StatusForbidden {
			t.Errorf("one without it gets %d", a.Status)
		}
	})
}

// RFC 9068 §4: tokens that look like access tokens of this server but are none.
func TestRFC9068Forged(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		own := newOwnKey(t)
		s, app, api, alice := signedServer(t, db, "OIDC_RSA_PRIVATE_KEY_FILE: "+quote(own.file))
		person := s.browser(t).signsIn(t, app, alice, "scope", "openid read")
		good := person.AccessToken
		claims := jwt.MapClaims{}
		_, _, err := jwt.NewParser().ParseUnverified(good, claims)
		if err != nil {
			t.Fatal(err)
		}
		forged := s.falselySigned(t, own, good)
		sign := func(key any, method jwt.SigningMethod, header map[string]any, changes jwt.MapClaims) string {
			altered := maps.Clone(claims)
			maps.Copy(altered, changes)
			token := jwt.NewWithClaims(method, altered)
			token.Header["typ"], token.Header["kid"] = "at+jwt", own.kid
			maps.Copy(token.Header, header)
			text, err := token.SignedString(key)
			if err != nil {
				t.Fatal(err)
			}
			return s.secret(text)
		}
		rs := jwt.SigningMethodRS256
		if !s.active(t, api.auth(), sign(own.PrivateKey, rs, nil, nil)) {
			t.Fatal("what the tests sign as the server does is not good, so that the rest says nothing")
		}
		der, _ := x509.MarshalPKIXPublicKey(&own.PublicKey) // it is a key
		foreign, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			t.Fatal(err)
		}
		at := time.Now().Unix()
		parts := strings.Split(good, ".")
		maps.Copy(forged, map[string]string{
			"an ID token":                  person.IDToken,
			"typ JWT":                      sign(own.PrivateKey, rs, map[string]any{"typ": "JWT"}, nil),
			"typ logout+jwt":               sign(own.PrivateKey, rs, map[string]any{"typ": "logout+jwt"}, nil),
			"no typ":                       sign(own.PrivateKey, rs, map[string]any{"typ": nil}, nil),
			"expired":                      sign(own.PrivateKey, rs, nil, jwt.MapClaims{"exp": at - 1}),
			"another issuer":               sign(own.PrivateKey, rs, nil, jwt.MapClaims{"iss": "https://other.example"}),
			"another audience":             sign(own.PrivateKey, rs, nil, jwt.MapClaims{"aud": app.ClientID}),
			"a jti that nothing is behind": sign(own.PrivateKey, rs, nil, jwt.MapClaims{"jti": "guessed"}),
			"a foreign key":                sign(foreign, rs, nil, nil),
			"a foreign key of no name":     sign(foreign, rs, map[string]any{"kid": "foreign"}, nil),
			"HS256 with the public key": sign(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}),
				jwt.SigningMethodHS256, nil, nil),
			"HS256 with the client secret": sign([]byte(app.ClientSecret), jwt.SigningMethodHS256, nil, nil),
			"alg none":                     sign(jwt.UnsafeAllowNoneSignatureType, jwt.SigningMethodNone, nil, nil),
			"altered": parts[0] + "." +
				base64.RawURLEncoding.EncodeToString(
					[]byte(strings.Replace(string(b64(parts[1])), `"scope":"openid read"`, `"scope":"openid write"`, 1))) +
				"." + parts[2],
			"the signature cut off":         parts[0] + "." + parts[1] + ".",
			"the signature of another one":  parts[0] + "." + parts[1] + "." + strings.Split(person.IDToken, ".")[2],
			"nothing but dots":              "..",
			"a refresh token between two":   person.RefreshToken + "." + person.RefreshToken + "." + person.RefreshToken,
			"an opaque token of nobody":     "mat_guessed",
			"a token with a part too many":  good + ".x",
			"a token with another in front": parts[0] + "." + good,
		})
		if strings.Contains(forged["altered"], parts[1]) {
			t.Fatal("the altered token is not altered")
		}
		for what, text := range forged {
			s.secret(text)
			if found := s.introspect(t, api.auth(), text); len(found) != 1 || found["active"] != false {
				t.Errorf("introspection of %s: %v", what, found)
			}
			if a := s.get(t, "/o/userinfo/", bearer(text)); a.Status != http.StatusUnauthorized ||
				a.JSON(t)["error"] != "invalid_token" {
				t.Errorf("UserInfo by %s: %d %s", what, a.Status, a.Body)
			}
			if a := s.get(t, "/resource", bearer(text)); a.Status != http.StatusUnauthorized &&
				a.Status != http.StatusBadRequest {
				t.Errorf("the sample API by %s: %d", what, a.Status)
			}
			if a := s.post(t, "/o/introspect/", bearer(text), params("token", good)); a.Status != http.StatusUnauthorized {
				t.Errorf("a caller with %s: %d", what, a.Status)
			}
			// A token that is not valid cannot be used to revoke. (An expired token still
			// belongs to the client, so its revocation succeeds. So does one with the typ JWT: its
			// resource may have accepted that when it was issued.)
			if what != "expired" && what != "typ JWT" {
				s.revoke(t, app.auth(), text)
			}
		}
		if !s.active(t, api.auth(), good) {
			t.Error("the true token has ended")
		}
		// An access token cannot replace another kind of token.
		b := s.signIn(t, alice, "/account/")
		b.asks(t, app, "prompt", "none", "id_token_hint", good)
		b.sentBack(t, "an access token as a hint", "invalid_request")
		if got, _ := s.token(t, app.auth(),
			params("grant_type", "refresh_token", "refresh_token", good)); got.Error != "invalid_grant" {
			t.Errorf("an access token as a refresh token: %q", got.Error)
		}
	})
}

// Each way to end a token also ends a signed one at every endpoint of this server. A
// service that checks the token itself accepts it until it expires.
func TestRFC9068Ended(t *testing.T) {
	for what, end := range map[string]func(t *testing.T, s *server, app application, b *browser, got tokens){
		"it is revoked": func(t *testing.T, s *server, app application, _ *browser, got tokens) {
			s.revoke(t, app.auth(), got.AccessToken)
		},
		"its family is": func(t *testing.T, s *server, app application, _ *browser, got tokens) {
			s.revoke(t, app.auth(), got.RefreshToken)
		},
		"a refresh is reused": func(t *testing.T, s *server, app application, _ *browser, got tokens) {
			next := s.mustToken(t, app.auth(), refreshForm(got.RefreshToken))
			s.mustToken(t, app.auth(), refreshForm(next.RefreshToken))
			s.token(t, app.auth(), refreshForm(got.RefreshToken))
		},
		"the account is disabled": func(t *testing.T, s *server, _ application, _ *browser, _ tokens) {
			s.mustCLI(t, "", "user", "disable", "alice")
		},
		"the session ends": func(t *testing.T, s *server, _ application, _ *browser, _ tokens) {
			s.mustCLI(t, "", "user", "logout", "alice")
		},
		"the application goes": func(t *testing.T, s *server, app application, _ *browser, _ tokens) {
			s.mustCLI(t, "", "application", "delete", app.ClientID)
		},
		"an operator revokes it": func(t *testing.T, s *server, _ application, _ *browser, got tokens) {
			s.mustCLI(t, got.AccessToken, "token", "revoke")
		},
	} {
		t.Run(what, func(t *testing.T) {
			onADatabase(t, func(t *testing.T, db database) {
				s, app, api, alice := signedServer(t, db)
				b := s.browser(t)
				got := b.signsIn(t, app, alice)
				bystander := s.machine(t, s.signer(t))
				if !s.active(t, api.auth(), got.AccessToken) {
					t.Fatal("it is not good at first")
				}
				s.userInfo(t, got.AccessToken)
				end(t, s, app, b, got)
				waitFor(t, "the token is inactive", func() bool { return !s.active(t, api.auth(), got.AccessToken) })
				if a := s.get(t, "/o/userinfo/", bearer(got.AccessToken)); a.Status != http.StatusUnauthorized {
					t.Errorf("UserInfo answers %d", a.Status)
				}
				_, err := s.locally(t, got.AccessToken)
				if err != nil {
					t.Errorf("who checks it alone: %v", err)
				}
				if !s.active(t, api.auth(), bystander.AccessToken) {
					t.Error("another application's token has ended too")
				}
			})
		})
	}
}

// RFC 7009 §2: the revocation of a token without a row is stored until the token
// expires.
func TestRFC9068RevokedForItself(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s, _, api, _ := signedServer(t, db, "JWT_ACCESS_TOKEN_EXPIRE_SECONDS: 10")
		app, second := s.signer(t), s.signer(t)
		got, other := s.machine(t, app), s.machine(t, app)
		if !s.active(t, api.auth(), got.AccessToken) {
			t.Error("it is not good at first")
		}
		if a := s.post(t, "/o/revoke_token/", second.auth(),
			params("token", got.AccessToken)); a.Status != http.StatusBadRequest {
			t.Errorf("another client's revocation is answered with %d", a.Status)
		}
		s.revoke(t, app.auth(), got.AccessToken)
		s.revoke(t, app.auth(), got.AccessToken)
		if a, b := s.active(t, api.auth(), got.AccessToken), s.active(t, api.auth(), other.AccessToken); a || !b {
			t.Errorf("revoked %t, the other %t", a, b)
		}
		waitFor(t, "the other has ended by its age", func() bool { return !s.active(t, api.auth(), other.AccessToken) })
		waitFor(t, "nothing is kept of the revoked one", func() bool { return rows(t, db, "tokens") == 0 })
		_, err := s.locally(t, got.AccessToken)
		var expired *oidc.TokenExpiredError
		if !errors.As(err, &expired) {
			t.Error("it is not over:", err)
		}
	})
}

// RFC 9068 §4: without OpenID Connect too, the keys exist as soon as a token must be
// signed. A replaced key's tokens can still be checked.
func TestRFC9068Keys(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db, provider: []string{openIDOff}})
		metadata := func() map[string]any { return s.get(t, "/.well-known/oauth-authorization-server/o", nobody).JSON(t) }
		if metadata()["jwks_uri"] != nil {
			t.Error("jwks_uri is there before there are keys")
		}
		robot := func(args ...string) application {
			return s.application(t,
				append([]string{"--name", "robot", "--grant", "client_credentials", "--access-token-format", "jwt"}, args...)...)
		}
		app, api := robot("--algorithm", "ES256"),
			s.application(t, "--name", "api", "--grant", "client_credentials", "--may-introspect")
		old := s.machine(t, app)
		if _, err := s.locally(t, old.AccessToken); err != nil {
			t.Fatal(err)
		}
		for name := range metadata() {
			if strings.Contains(name, "userinfo") || strings.Contains(name, "id_token") {
				t.Errorf("the metadata has %s", name)
			}
		}
		before := keyID(t, old.AccessToken)
		s.mustCLI(t, "", "keys", "rotate", "--kind", "EC", "--now")
		var fresh tokens
		waitFor(t, "the new key signs", func() bool {
			fresh = s.machine(t, app)
			return keyID(t, fresh.AccessToken) != before
		})
		for _, text := range []string{old.AccessToken, fresh.AccessToken} {
			if _, err := s.locally(t, text); err != nil || !s.active(t, api.auth(), text) {
				t.Errorf("after the rotation: %v", err)
			}
		}
		r := run(t, s.dir, nil, "", "--config", s.config, "keys", "retire", "--", before)
		if r.code != 0 {
			t.Fatal(r.stderr)
		}
		waitFor(t, "what a key signed that was taken away is no longer good",
			func() bool { return !s.active(t, api.auth(), old.AccessToken) })
		if !s.active(t, api.auth(), fresh.AccessToken) {
			t.Error("the other key's token has ended")
		}
		// The command shows the format.
		a := s.cli(t, "", "application", "show", app.ClientID)
		if !strings.Contains(a.stdout, "access tokens") || !strings.Contains(a.stdout, "jwt") {
			t.Errorf("the command shows\n%s", a.stdout)
		}
	})
}
