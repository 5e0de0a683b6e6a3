package provider

import (
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"mandate/provider/clients"
	"mandate/provider/jose"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/seal"
)

// openID configures a provider as an OpenID Provider.
func openID(c *Config) {
	c.OpenID, c.Tokens.IDTokenLifetime, c.JWTAccessTokenLifetime, c.Logout.Enabled = true, time.Hour, time.Hour, true
	c.Scopes = append(c.Scopes, policy.Scope{
		Name:        "openid",
		Description: "Sign in",
	}, policy.Scope{
		Name:        "email",
		Description: "Email",
	}, policy.Scope{Name: "profile", Description: "Profile"}, policy.Scope{Name: "offline_access", Description: "Stay"})
}

// signsHS256 registers an application whose ID tokens are signed with its client secret.
func signsHS256(r *clients.Registration) { r.Algorithm, r.HashClientSecret = jose.HS256, false }

func readableSecret(secret string) func(*clients.Registration) {
	return func(r *clients.Registration) { r.ClientSecret, r.HashClientSecret = secret, false }
}

const shortSecret = "of only 30 bytes, and not 32.."

// claimsOf returns the claims of a token. It does not check the signature.
func claimsOf(t testing.TB, text string) jwt.MapClaims {
	t.Helper()
	claims := jwt.MapClaims{}
	_, _, err := jwt.NewParser().ParseUnverified(text, claims)
	if err != nil {
		t.Fatal(err)
	}
	return claims
}

// forge returns a token with the claims of another one, changed and signed again.
func forge(t testing.TB, like, secret string, changes jwt.MapClaims) string {
	t.Helper()
	claims := claimsOf(t, like)
	maps.Copy(claims, changes)
	text, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString([]byte(secret))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestHint(t *testing.T) {
	f := begin(t, openID)
	s, app, secret := f.login("alice"), f.app(), f.app(signsHS256)
	rsa, hmac := f.tokens(app, s, "scope", "openid").IDToken, f.tokens(secret, s, "scope", "openid").IDToken
	readable := f.app(readableSecret(seal.Random(32))) // the algorithm is RS256
	for _, test := range []struct {
		rule, hint, want string
	}{
		{"an ID token by RS256", rsa, "no error"},
		{"an ID token by HS256", hmac, "no error"},
		{"signed anew by who knows the secret", forge(t, hmac, secret.Secret, nil), "no error"},
		{"RFC8725/3.1 HS256 for an application that uses RS256", forge(t, rsa, app.Secret, nil), "400 invalid_request"},
		{"RFC8725/3.1 the same, whose secret can be read", forge(
			t, hmac, readable.Secret, jwt.MapClaims{"aud": readable.Application.ClientID},
		), "400 invalid_request"},
		{"OIDCRPLogout/2 it has expired long ago", forge(t, hmac, secret.Secret, jwt.MapClaims{"exp": 0}), "no error"},
		{"RFC7519/4.1.4 exp is no date", forge(t, hmac, secret.Secret, jwt.MapClaims{"exp": "1"}), "400 invalid_request"},
		{"OIDCCore/2 exp is not there", forge(t, hmac, secret.Secret, jwt.MapClaims{"exp": nil}), "400 invalid_request"},
		{"OIDCCore/2 sub is empty", forge(t, hmac, secret.Secret, jwt.MapClaims{"sub": ""}), "400 invalid_request"},
		{"another issuer", forge(
			t, hmac, secret.Secret, jwt.MapClaims{"iss": "https://other.example/o"},
		), "400 invalid_request"},
		{"two audiences", forge(
			t, hmac, secret.Secret, jwt.MapClaims{"aud": []string{secret.Application.ClientID, app.Application.ClientID}},
		), "400 invalid_request"},
	} {
		t.Run(test.rule, func(t *testing.T) {
			_, err := f.Tokens.Hint(t.Context(), test.hint)
			wantError(t, err, test.want)
			// OIDC RP-Logout §4: a wrong hint has no effect, also together with client_id.
			audience, _ := claimsOf(t, test.hint).GetAudience()
			_, err = f.Logouts.Read(t.Context(), values("id_token_hint", test.hint, "client_id", audience[0]))
			wantError(t, err, test.want)
		})
	}
	config := f.config
	config.Logout.AcceptExpired = false
	strict, err := New(t.Context(), config, f.store, f.log)
	if err != nil {
		t.Fatal(err)
	}
	for exp, want := range map[any]string{
		0:                "400 invalid_request",
		-1:               "400 invalid_request",
		oauth.Now():      "400 invalid_request",
		oauth.Now() + 60: "no error",
	} {
		_, err := strict.Logouts.Read(t.Context(), values("id_token_hint", forge(
			t, hmac, secret.Secret, jwt.MapClaims{"exp": exp},
		)))
		if kind(err) != want {
			t.Errorf("exp %v: %v", exp, err)
		}
	}
}

// RFC 7518 §3.2: a key for HS256 has at least 32 bytes.
func TestShortSecretIsNoKey(t *testing.T) {
	f := begin(t, openID)
	s := f.login("alice")
	app := f.app(readableSecret(shortSecret))
	t.Run("by an update", func(t *testing.T) {
		wantInvalid(t, f.change(app, signsHS256), "algorithm")
		wantInvalid(
			t, f.change(app, func(r *clients.Registration) { r.UserInfoAlgorithm, r.HashClientSecret = jose.HS256, false }),
			"userinfo_algorithm",
		)
	})
	t.Run("by a registration", func(t *testing.T) {
		for secret, ok := range map[string]bool{shortSecret + ".": false, shortSecret + "..": true} {
			_, err := f.Clients.Register(t.Context(), policy.Operator(), clients.Registration{
				Name:         "x",
				ClientType:   policy.Confidential,
				GrantTypes:   []string{policy.GrantClient},
				ClientSecret: secret,
				Algorithm:    jose.HS256,
			})
			if (err == nil) != ok {
				t.Errorf("%d bytes: %v", len(secret), err)
			}
		}
	})
	fresh, err := f.Clients.RotateSecret(t.Context(), policy.Operator(), app.Application.ID, time.Hour)
	if err == nil {
		err = f.change(app, signsHS256)
	}
	if err != nil {
		t.Fatal(err)
	}
	code := f.code(app, s, "scope", "openid")
	_, err = f.exchange(app, code)
	wantError(t, err, "401 invalid_client")
	good := f.must(f.exchange(fresh, code)).IDToken
	t.Run("as a hint", func(t *testing.T) {
		_, err := f.Tokens.Hint(t.Context(), good)
		wantError(t, err, "no error")
		_, err = f.Tokens.Hint(t.Context(), forge(t, good, shortSecret, nil))
		wantError(t, err, "400 invalid_request")
	})
	t.Run("as the only one", func(t *testing.T) {
		f.sql("UPDATE applications SET secret = old_secret, old_secret = '', old_secret_expires_at = 0")
		a, err := f.Clients.Application(t.Context(), policy.Operator(), app.Application.ID)
		if err != nil {
			t.Fatal(err)
		}
		secret, err := f.Clients.HMACSecret(nil, a)
		if err == nil {
			t.Errorf("it signs with %q", secret)
		}
		_, err = f.Tokens.Hint(t.Context(), forge(t, good, shortSecret, nil))
		wantError(t, err, "400 invalid_request")
	})
}

// OIDC Core §11: with offline_access, the ID token of a refresh does not name the session in sid.
func TestOfflineRefreshNamesNoSession(t *testing.T) {
	f := begin(t, openID)
	s, app := f.login("alice"), f.app()
	for scope, named := range map[string]bool{"openid": true, "openid offline_access": false} {
		first := f.tokens(app, s, "scope", scope)
		if claimsOf(t, first.IDToken)["sid"] != s.Session.ID {
			t.Errorf("%s: at the login, sid is %v", scope, claimsOf(t, first.IDToken)["sid"])
		}
		again := f.must(f.refresh(app, first.RefreshToken))
		sid, told := claimsOf(t, again.IDToken)["sid"]
		if told != named {
			t.Errorf("%s: after a refresh, sid is %v", scope, sid)
		}
	}
}

// OIDC Core §11: a code that ends with its session is not redeemed after the end of the session, even before the sweep.
func TestCodeEndsWithItsSession(t *testing.T) {
	for scope, want := range map[string]string{
		"openid":                "400 invalid_grant",
		"openid offline_access": "no error",
		"read":                  "no error",
	} {
		synctest.Test(t, func(t *testing.T) {
			f := begin(t, openID, func(c *Config) { c.People.SessionLifetime = time.Hour })
			app := f.app()
			s := f.login("alice")
			time.Sleep(time.Hour - 10*time.Second)
			code := f.code(app, s, "scope", scope)
			time.Sleep(10 * time.Second)
			_, err := f.exchange(app, code)
			if kind(err) != want {
				t.Errorf("%s: %v, want %s", scope, err, want)
			}
		})
	}
}
