package mandate

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"
)

// Requests of an attacker, and of an operator with the wrong key file.

// OIDC Core §3.1.2.1: a hint is an ID token that this server issued. Other tokens that
// its key has signed are no hints.
func TestOIDCCore3ForeignHints(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		key := newOwnKey(t)
		s, twin := openidServer(t, db, "OIDC_RSA_PRIVATE_KEY_FILE: "+quote(key.file)),
			openidServer(t, newSQLite(t), "OIDC_RSA_PRIVATE_KEY_FILE: "+quote(key.file))
		alice, app := s.somebody(t, "alice"), s.relyingParty(t, "--client-id", "shop")
		secret, secrets := s.relyingParty(t, "--algorithm", "HS256", "--no-hash-client-secret"),
			s.relyingParty(t, "--algorithm", "HS256", "--no-hash-client-secret")
		b := s.browser(t)
		mine := b.signsIn(t, app, alice).IDToken
		signed := b.signsIn(t, secret, alice).IDToken
		elsewhere := twin.browser(t).signsIn(t, twin.relyingParty(t, "--client-id", "shop"),
			twin.somebody(t, "alice")).IDToken
		if keyID(t, elsewhere) != keyID(t, mine) {
			t.Fatal("the two servers do not share the key")
		}
		for what, hint := range map[string]string{
			"its own":            mine,
			"its own, once more": key.sign(t, mine, nil),
			"for two":            key.sign(t, mine, jwt.MapClaims{"aud": []string{"other", app.ClientID}}),
		} {
			b.asks(t, app, "prompt", "none", "id_token_hint", hint)
			b.sentBack(t, what, "code")
		}
		hints := map[string]string{
			"another issuer's, with the same key for the same client": elsewhere,
			"without an issuer":          key.sign(t, mine, jwt.MapClaims{"iss": nil}),
			"of the base URL":            key.sign(t, mine, jwt.MapClaims{"iss": s.BaseURL}),
			"of the issuer with a slash": key.sign(t, mine, jwt.MapClaims{"iss": s.Issuer + "/"}),
			"of a list of issuers":       key.sign(t, mine, jwt.MapClaims{"iss": []string{s.Issuer}}),
			"without an audience":        key.sign(t, mine, jwt.MapClaims{"aud": nil}),
			"for nobody":                 key.sign(t, mine, jwt.MapClaims{"aud": []string{}}),
			"for another client":         key.sign(t, mine, jwt.MapClaims{"aud": secret.ClientID}),
			"for a number":               key.sign(t, mine, jwt.MapClaims{"aud": 1}),
			"about a number":             key.sign(t, mine, jwt.MapClaims{"sub": 1}),
			"long, and no JWT":           strings.Repeat("x.", 4000),
		}
		maps.Copy(hints, s.falselySigned(t, key, mine))
		for what, hint := range hints {
			b.asks(t, app, "prompt", "none", "id_token_hint", hint)
			b.sentBack(t, what, "invalid_request")
		}
		for what, hint := range map[string]string{
			"HS256 by another application's secret": signHS256(t, signed, []byte(secrets.ClientSecret), nil),
			"HS256 by no secret":                    signHS256(t, signed, nil, nil),
			"HS256 by the public key":               signHS256(t, signed, x509.MarshalPKCS1PublicKey(&key.PublicKey), nil),
			"HS256 for two": signHS256(t, signed, []byte(secret.ClientSecret),
				jwt.MapClaims{"aud": []string{secret.ClientID, secrets.ClientID}}),
		} {
			b.asks(t, secret, "prompt", "none", "id_token_hint", hint)
			b.sentBack(t, what, "invalid_request")
		}
	})
}

func signHS256(t testing.TB, like string, secret []byte, changes jwt.MapClaims) string {
	t.Helper()
	claims := jwt.MapClaims{}
	_, _, err := jwt.NewParser().ParseUnverified(like, claims)
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(claims, changes)
	text, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString(secret)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// falselySigned returns tokens with the right type and claims. Their header names
// another key than the one that signed them.
func (s *server) falselySigned(t testing.TB, own ownKey, like string) map[string]string {
	t.Helper()
	attacker, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	claims := jwt.MapClaims{}
	parsed, _, err := jwt.NewParser().ParseUnverified(like, claims)
	if err != nil {
		t.Fatal(err)
	}
	kids := map[string]string{}
	for id, key := range s.keys(t) {
		if !strings.HasPrefix(id, own.kid) { // the key is there for PS256 too
			kids[key.Type] = id
		}
	}
	der, err := x509.MarshalPKIXPublicKey(&own.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	hints := map[string]string{}
	for what, test := range map[string]struct {
		method jwt.SigningMethod
		key    any
		header map[string]any
	}{
		"alg none": {jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType,
			map[string]any{"kid": own.kid}},
		"alg nOnE": {jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType,
			map[string]any{"kid": own.kid, "alg": "nOnE"}},
		"HS256 by the public key in PEM":   {jwt.SigningMethodHS256, text, map[string]any{"kid": own.kid}},
		"HS256 by the public key in DER":   {jwt.SigningMethodHS256, der, map[string]any{"kid": own.kid}},
		"RS512":                            {jwt.SigningMethodRS512, own.PrivateKey, map[string]any{"kid": own.kid}},
		"the kid of the server's RSA key":  {jwt.SigningMethodRS256, own.PrivateKey, map[string]any{"kid": kids["RSA"]}},
		"the kid of the EC key":            {jwt.SigningMethodRS256, own.PrivateKey, map[string]any{"kid": kids["EC"]}},
		"the kid of the Ed25519 key":       {jwt.SigningMethodRS256, own.PrivateKey, map[string]any{"kid": kids["OKP"]}},
		"ES256 with the kid of an RSA key": {jwt.SigningMethodES256, curve, map[string]any{"kid": own.kid}},
		"ES256 with the kid of the EC key": {jwt.SigningMethodES256, curve, map[string]any{"kid": kids["EC"]}},
		"EdDSA with the kid of the EC key": {jwt.SigningMethodEdDSA, edwards, map[string]any{"kid": kids["EC"]}},
		"no kid":                           {jwt.SigningMethodRS256, own.PrivateKey, nil},
		"an empty kid":                     {jwt.SigningMethodRS256, own.PrivateKey, map[string]any{"kid": ""}},
		"a kid that is a number":           {jwt.SigningMethodRS256, own.PrivateKey, map[string]any{"kid": 1}},
		"a kid that is a list": {jwt.SigningMethodRS256, own.PrivateKey,
			map[string]any{"kid": []string{own.kid}}},
		"a kid that is a path": {jwt.SigningMethodRS256, own.PrivateKey,
			map[string]any{"kid": "../../" + own.kid}},
		"a kid that is the file of the key": {jwt.SigningMethodRS256, attacker, map[string]any{"kid": own.file}},
		"a kid that is SQL": {jwt.SigningMethodRS256, own.PrivateKey,
			map[string]any{"kid": "x' OR '1'='1"}},
		"a kid with a NUL": {jwt.SigningMethodRS256, own.PrivateKey,
			map[string]any{"kid": own.kid + "\x00"}},
		"a kid in other letters": {jwt.SigningMethodRS256, own.PrivateKey,
			map[string]any{"kid": strings.ToUpper(own.kid)}},
		"an empty file as the secret": {jwt.SigningMethodHS256, []byte{},
			map[string]any{"kid": "../../../../../../dev/null"}},
		"an attacker's key of the same kid": {jwt.SigningMethodRS256, attacker, map[string]any{"kid": own.kid}},
		"an attacker's key in the header": {jwt.SigningMethodRS256, attacker,
			map[string]any{"kid": own.kid, "jwk": map[string]any{"kty": "RSA", "n": attacker.N, "e": "AQAB"}}},
		"an attacker's key at an address": {jwt.SigningMethodRS256, attacker,
			map[string]any{"kid": own.kid, "jku": s.URL + "/o/.well-known/jwks.json", "x5u": s.URL}},
		"an attacker's key of an unknown kid": {jwt.SigningMethodRS256, attacker, map[string]any{"kid": "attacker"}},
	} {
		token := jwt.NewWithClaims(test.method, claims)
		token.Header["typ"] = parsed.Header["typ"]
		maps.Copy(token.Header, test.header)
		hints[what], err = token.SignedString(test.key)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	return hints
}

// OIDC Core §10.1.1: signatures of a replaced key are still accepted; those of a
// retired key are not.
func TestOIDCCore10HintOfAnOldKey(t *testing.T) {
	ownProcesses(t)
	forEachDatabase(t, func(t *testing.T, db database) {
		s := openidServer(t, db)
		alice, app := s.somebody(t, "alice"), s.relyingParty(t, "--algorithm", "ES256")
		old := s.browser(t).signsIn(t, app, alice).IDToken
		for _, step := range []struct {
			what, want string
			args       []string
		}{
			{"a key that signs", "code", []string{"keys", "list"}},
			{"a key that signed", "code", []string{"keys", "rotate", "--kind", "EC", "--now"}},
			{"a key that was taken away", "invalid_request", []string{"keys", "retire", "--", keyID(t, old)}},
		} {
			r := run(t, s.dir, nil, "", append([]string{"--config", s.config}, step.args...)...)
			if r.code != 0 {
				t.Fatal(r.stderr)
			}
			b := s.node(t).signIn(t, alice, "/account/") // a node with an empty cache
			b.asks(t, app, "prompt", "none", "id_token_hint", old)
			b.sentBack(t, step.what, step.want)
		}
	})
}

// posts sends an authorization request in the same way as a form on another site.
func (b *browser) posts(t testing.TB, path string, form url.Values) {
	t.Helper()
	request, err := http.NewRequest("POST", b.server.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Origin", "https://shop.example")
	request.Header.Set("Sec-Fetch-Site", "cross-site")
	b.follow(t, request)
}

// OIDC Core §3.1.2.1: a request with any of the parameters may be sent by POST.
func TestOIDCCore3RequestByPost(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := openidServer(t, db)
		alice, app := s.somebody(t, "alice"), s.relyingParty(t)
		nonce := strings.Repeat("0123456789abcdef", 64) // the longest
		more := []string{"state", "s&1", "scope", "openid email", "nonce", nonce, "prompt", "login consent", "display",
			"touch", "max_age", "1000",
			"ui_locales", "de-CH fr", "claims_locales", "de", "acr_values", "urn:mandate:acr:password", "login_hint", "al & ice",
			"response_mode", "query",
			"claims", `{"id_token":{"nickname":null,"acr":{"essential":true}},"userinfo":{"birthdate":null}}`}
		var answers []map[string]any
		var silent url.Values
		for _, method := range []string{"GET", "POST"} {
			b := s.browser(t)
			address, verifier := s.authorizeURL(app, more...)
			at, err := url.Parse(address)
			if err != nil {
				t.Fatal(err)
			}
			if method == "GET" {
				b.open(t, address)
			} else {
				b.posts(t, "/o/authorize/", at.Query())
			}
			if f, _ := b.find(t, "", params("password", "")); f.values().Get("username") != "al & ice" {
				t.Errorf("%s: the login page begins with %q", method, f.values().Get("username"))
			}
			b.logIn(t, alice)
			b.decide(t, "approve")
			got := s.redeem(t, app, b.sentBack(t, method, "code").Get("code"), verifier)
			claims, info := s.verified(t, app, "RS256", got.IDToken), s.userInfo(t, got.AccessToken)
			for _, name := range []string{"iat", "exp", "auth_time", "at_hash", "sid"} {
				delete(claims, name)
			}
			answers = append(answers, map[string]any{"id_token": map[string]any(claims), "userinfo": info})
			if claims["nonce"] != nonce || claims["nickname"] != "al" || info["birthdate"] != "0000-05-04" ||
				info["email"] != "alice@example.org" {
				t.Errorf("%s: %v, %v", method, claims, info)
			}
			// The same request of a person who is signed in.
			silent = at.Query()
			silent.Set("prompt", "none")
			silent.Set("id_token_hint", got.IDToken)
			b.posts(t, "/o/authorize/", silent)
			b.sentBack(t, "a silent one", "code")
			silent.Set("response_mode", "form_post")
			b.posts(t, "/o/authorize/", silent)
			if f, _ := b.find(t, "", nil); b.Away != nil || attribute(f.node, "action") != app.RedirectURI ||
				s.secret(f.values().Get("code")) == "" {
				t.Errorf("form_post: %v %s", b.Away, b.Body)
			}
		}
		checkEqual(t, "the answer to the POST", answers[1], answers[0])
		s.checkDoubled(t, alice, silent)
	})
}

// response returns the authorization response that the browser carries, in a redirect or in a form.
func (b *browser) response(t *testing.T) url.Values {
	t.Helper()
	if b.Away != nil {
		return b.Away.Query()
	}
	f, _ := b.find(t, "", nil)
	return f.values()
}

// checkDoubled sends a valid request with one parameter twice.
// RFC 6749 §3.1: no parameter appears twice.
func (s *server) checkDoubled(t *testing.T, who person, good url.Values) {
	t.Helper()
	b := s.signIn(t, who, "/account/")
	for name, values := range good {
		for _, other := range []string{values[0], "", "x"} {
			form := maps.Clone(good)
			form[name] = []string{values[0], other}
			for method, ask := range map[string]func(){
				"POST": func() { b.posts(t, "/o/authorize/", form) },
				"GET":  func() { b.open(t, "/o/authorize/?"+form.Encode()) },
			} {
				ask()
				switch {
				case name == "client_id" || name == "redirect_uri":
					if b.Status != http.StatusBadRequest || b.Away != nil {
						t.Errorf("%s %s=%q twice: %d %v", method, name, other, b.Status, b.Away)
					}
				default:
					got := b.response(t)
					if got.Get("error") != "invalid_request" || got.Has("code") {
						t.Errorf("%s %s=%q twice: %d %v", method, name, other, b.Status, got)
					}
				}
			}
		}
		// Parameters that are divided between the query and the body form no valid
		// request.
		half := maps.Clone(good)
		half.Del(name)
		b.posts(t, "/o/authorize/?"+params(name, values[0]).Encode(), half)
		if b.Status != http.StatusBadRequest || b.Away != nil {
			t.Errorf("%s in the query and the rest in the body: %d %v", name, b.Status, b.Away)
		}
	}
}
