package mandate

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// asks opens an authorization request with the scope openid; more are its parameters.
func (b *browser) asks(t testing.TB, app application, more ...string) (verifier string) {
	t.Helper()
	if !slices.Contains(more, "scope") {
		more = append([]string{"scope", "openid"}, more...)
	}
	address, verifier := b.server.authorizeURL(app, append([]string{"state", "s&1"}, more...)...)
	b.open(t, address)
	return verifier
}

// sentBack checks that the browser was redirected to the client with a code or with an
// error.
func (b *browser) sentBack(t testing.TB, what, want string) url.Values {
	t.Helper()
	if b.Away == nil {
		t.Errorf("%s: the browser shows %d %s:\n%s", what, b.Status, b.URL, b.Body)
		return url.Values{}
	}
	got := b.Away.Query()
	if (want == "code") != got.Has("code") || want != "code" && got.Get("error") != want || got.Get("state") != "s&1" ||
		got.Get("iss") != b.server.Issuer {
		t.Errorf("%s: sent back with %s, want %s", what, b.Away.RawQuery, want)
	}
	return got
}

// OIDC Core §3.1.2.1: prompt.
func TestOIDCCore3Prompt(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := openidServer(t, db)
		alice, app := s.somebody(t, "alice"), s.relyingParty(t)
		b := s.browser(t)
		b.asks(t, app, "prompt", "none")
		b.sentBack(t, "none without a login", "login_required")
		// RFC 9700 §4.11.2: the person signs in before the browser is redirected with an
		// error.
		other := s.browser(t)
		other.authorize(t, first(s.authorizeURL(app, "scope", "openid", "state", "s&1", "prompt", "none login")),
			alice, "approve")
		other.sentBack(t, "none with another", "invalid_request")
		b = s.signIn(t, alice, "/account/")
		b.asks(t, app, "prompt", "none")
		b.sentBack(t, "none without a consent", "consent_required")
		b.asks(t, app)
		b.decide(t, "approve")
		b.sentBack(t, "the approval", "code")
		b.asks(t, app, "prompt", "none")
		b.sentBack(t, "none after the approval", "code")
		b.asks(t, app, "prompt", "none", "scope", "openid email")
		b.sentBack(t, "none with a new scope", "consent_required")
		b.asks(t, app, "prompt", "consent")
		if !b.shows("decision") {
			t.Errorf("consent: %s", b.Body)
		}
		b.decide(t, "approve")
		b.sentBack(t, "consent", "code")
		b.asks(t, app, "prompt", "unknown")
		b.sentBack(t, "a value that there is not", "invalid_request")
		for _, prompt := range []string{"login", "select_account"} {
			b.asks(t, app, "prompt", prompt)
			if !b.shows("password") {
				t.Errorf("%s: %s", prompt, b.Body)
			}
			b.logIn(t, alice)
			b.sentBack(t, prompt, "code") // asked once, not for ever
		}
	})
}

func first(address, _ string) string { return address }

// OIDC Core §3.1.2.1: max_age and auth_time.
func TestOIDCCore3MaxAge(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := openidServer(t, db)
		alice, app := s.somebody(t, "alice"), s.relyingParty(t)
		b := s.browser(t)
		before := s.verified(t, app, "RS256", b.signsIn(t, app, alice).IDToken)
		same := s.verified(t, app, "RS256", b.signsIn(t, app, alice, "max_age", "10000").IDToken)
		if before["auth_time"] != same["auth_time"] {
			t.Error("auth_time has moved without a login")
		}
		b.asks(t, app, "max_age", "0")
		if !b.shows("password") {
			t.Fatalf("max_age=0: %s", b.Body)
		}
		b.logIn(t, alice)
		b.sentBack(t, "max_age=0", "code")
		b.asks(t, app, "max_age", "0", "prompt", "none")
		b.sentBack(t, "max_age=0 and none", "login_required")
		b.asks(t, app, "max_age", "-1")
		b.sentBack(t, "a negative one", "invalid_request")
		b.asks(t, app, "max_age", "soon")
		b.sentBack(t, "no number", "invalid_request")
	})
}

// OIDC Core §3.1.2.1: id_token_hint, which may have expired but must be for this
// application.
func TestOIDCCore3IDTokenHint(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := openidServer(t, db, "ID_TOKEN_EXPIRE_SECONDS: 1")
		alice, bob := s.somebody(t, "alice"), s.somebody(t, "bob")
		app, other := s.relyingParty(t), s.relyingParty(t)
		secret := s.relyingParty(t, "--algorithm", "HS256", "--no-hash-client-secret")
		b := s.browser(t)
		mine := b.signsIn(t, app, alice).IDToken
		elsewhere := b.signsIn(t, other, alice).IDToken
		signed := b.signsIn(t, secret, alice).IDToken
		bobs := s.browser(t).signsIn(t, app, bob).IDToken
		waitFor(t, "the hint has expired", func() bool {
			_, err := jwt.Parse(mine, func(*jwt.Token) (any, error) { return nil, nil })
			return err != nil && strings.Contains(err.Error(), "expired") || time.Now().Unix() > issuedAt(t, mine)+1
		})
		b.asks(t, app, "prompt", "none", "id_token_hint", mine)
		b.sentBack(t, "an expired hint", "code")
		b.asks(t, secret, "prompt", "none", "id_token_hint", signed)
		b.sentBack(t, "a hint by HS256", "code")
		b.asks(t, app, "prompt", "none", "id_token_hint", bobs)
		b.sentBack(t, "somebody else's", "login_required")
		b.asks(t, app, "id_token_hint", bobs)
		if !b.shows("password") {
			t.Errorf("somebody else's hint leads to %s", b.URL)
		}
		for what, hint := range s.falseHints(t, app, mine, elsewhere) {
			b.asks(t, app, "prompt", "none", "id_token_hint", hint)
			b.sentBack(t, what, "invalid_request")
		}
	})
}

func issuedAt(t testing.TB, text string) int64 {
	t.Helper()
	claims := jwt.MapClaims{}
	_, _, err := jwt.NewParser().ParseUnverified(text, claims)
	if err != nil {
		t.Fatal(err)
	}
	at, _ := claims["iat"].(float64)
	return int64(at)
}

// falseHints returns ID tokens that this server did not sign for this application.
func (s *server) falseHints(t testing.TB, app application, mine, elsewhere string) map[string]string {
	t.Helper()
	claims := jwt.MapClaims{}
	parsed, parts, err := jwt.NewParser().ParseUnverified(mine, claims)
	if err != nil {
		t.Fatal(err)
	}
	again := func(method jwt.SigningMethod, key any) string {
		token := jwt.NewWithClaims(method, claims)
		token.Header["kid"] = parsed.Header["kid"]
		text, err := token.SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	key, _ := json.Marshal(s.keys(t)[parsed.Header["kid"].(string)]) // it cannot fail
	return map[string]string{
		"no JWT":                         "hint",
		"another client's":               elsewhere,
		"alg none":                       again(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType),
		"HS256 with the public key":      again(jwt.SigningMethodHS256, key),
		"HS256 with the modulus":         again(jwt.SigningMethodHS256, b64(s.keys(t)[parsed.Header["kid"].(string)].N)),
		"HS256 of a secret that is none": again(jwt.SigningMethodHS256, []byte(app.ClientSecret)),
		"without its signature":          parts[0] + "." + parts[1] + ".",
		"with another's payload": strings.Split(mine, ".")[0] + "." + strings.Split(elsewhere, ".")[1] + "." +
			strings.Split(mine, ".")[2],
	}
}

// OIDC Core §3.1.2.1, §3.1.2.6: the other parameters, and unsupported ones.
func TestOIDCCore3Parameters(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := openidServer(t, db)
		alice, app := s.somebody(t, "alice"), s.relyingParty(t)
		b := s.browser(t)
		b.asks(t, app, "login_hint", "alice@example.org")
		if f, _ := b.find(t, "", params("password", "")); f.values().Get("username") != "alice@example.org" {
			t.Errorf("the login page begins with %q", f.values().Get("username"))
		}
		b.logIn(t, alice)
		b.decide(t, "approve")
		b.sentBack(t, "login_hint", "code")
		for _, test := range []struct{ name, value, want string }{
			{"display", "popup", "code"}, {"display", "hologram", "invalid_request"},
			{"acr_values", "urn:mandate:acr:password other", "code"}, {"ui_locales", "de-CH fr", "code"},
			{"claims_locales", "xx", "code"},
			{"claims", "{}", "code"}, {"claims", "no JSON", "invalid_request"}, {"claims", "[]", "invalid_request"},
			{"claims", `{"id_token":1}`, "invalid_request"},
			{"claims", `{"userinfo":{"a":"` + strings.Repeat("x", 9000) + `"}}`, "invalid_request"},
			{"claims", `{"id_token":{"acr":{"essential":true,"values":["urn:x","urn:mandate:acr:password"]}}}`, "code"},
			{"claims", `{"id_token":{"acr":{"essential":true,"value":"urn:x"}}}`, "unmet_authentication_requirements"},
			{"claims", `{"id_token":{"acr":{"value":"urn:x"}}}`, "code"},
			{"nonce", strings.Repeat("n", 1025), "invalid_request"}, {"registration", "{}", "registration_not_supported"},
			{"request", "x", "invalid_request_object"}, {"request_uri", "https://shop.example/r", "request_uri_not_supported"},
			{"response_mode", "query", "code"},
			{"response_type", "id_token", "unsupported_response_type"},
			{"response_type", "code id_token", "unsupported_response_type"},
		} {
			b.asks(t, app, test.name, test.value)
			b.sentBack(t, test.name+"="+test.value[:min(20, len(test.value))], test.want)
		}
		// §3.1.2.6: an unknown response mode gives no way to send the error to the client.
		b.asks(t, app, "response_mode", "fragment")
		if b.Status != http.StatusBadRequest || b.Away != nil {
			t.Errorf("response_mode=fragment: %d, sent to %v", b.Status, b.Away)
		}
		huge := s.get(t, "/o/authorize/?"+params("client_id", app.ClientID, "claims", strings.Repeat("x", 100<<10)).Encode(),
			nobody)
		if huge.Status >= http.StatusInternalServerError || huge.Status == http.StatusOK {
			t.Errorf("100 KB of claims: %d", huge.Status)
		}
	})
}

// OIDC Form Post §2: the response is sent in a form, also if it is an error.
func TestOIDCFormPost2(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := openidServer(t, db)
		alice, app := s.somebody(t, "alice"), s.relyingParty(t)
		b := s.browser(t)
		posted := func(what string) url.Values {
			f, _ := b.find(t, "", nil)
			if b.Away != nil || attribute(f.node, "action") != app.RedirectURI ||
				strings.ToUpper(attribute(f.node, "method")) != "POST" || b.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("%s: %v %s\n%s", what, b.Away, b.Header.Get("Cache-Control"), b.Body)
			}
			s.secret(f.values().Get("code"))
			return f.values()
		}
		b.asks(t, app, "response_mode", "form_post", "prompt", "none")
		checkEqual(t, "login_required", without(posted("an error"), "error_description", "error_uri"),
			params("error", "login_required", "state", "s&1", "iss", s.Issuer))
		verifier := b.asks(t, app, "response_mode", "form_post")
		b.logIn(t, alice)
		b.decide(t, "approve")
		got := posted("a code")
		code := got.Get("code")
		checkEqual(t, "a code", without(got, "code"), params("state", "s&1", "iss", s.Issuer))
		s.verified(t, app, "RS256", s.redeem(t, app, code, verifier).IDToken)
		b.asks(t, app, "response_mode", "form_post", "prompt", "none")
		if posted("a silent code").Get("code") == "" {
			t.Error("no code")
		}
		b.asks(t, app, "response_mode", "form_post", "request", "x")
		if got := posted("request").Get("error"); got != "invalid_request_object" {
			t.Errorf("request gives %q", got)
		}
		b.asks(t, app, "response_mode", "form_post", "prompt", "consent")
		b.decide(t, "deny")
		if got := posted("a refusal").Get("error"); got != "access_denied" {
			t.Errorf("the person's refusal gives %q", got)
		}
		phone := s.application(t, "--name", "phone", "--client-type", "public", "--grant", "authorization_code",
			"--redirect-uri", "com.example.phone:/cb")
		b.asks(t, phone, "response_mode", "form_post")
		b.sentBack(t, "a form for a program on this computer", "invalid_request")
	})
}

func without(values url.Values, names ...string) url.Values {
	for _, name := range names {
		values.Del(name)
	}
	return values
}
