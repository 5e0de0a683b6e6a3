package demo

import (
	"crypto/rsa"
	"encoding/base64"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"mandate/provider/jose"
	"mandate/templates"
)

// TestDemoRefusesResponses checks that a site with signed messages uses no other response than one
// that the server has signed for it and for this visit. Another library signs.
func TestDemoRefusesResponses(t *testing.T) {
	private, stranger := rsaKey(t), rsaKey(t)
	const issuer = "http://127.0.0.1/o"
	walk := &codeFlow{visit: &visit{site: &webSite{credentials: credentials{id: "site"}}, state: "s"},
		client:    &Sites{cast: &Cast{issuer: issuer}},
		published: publishedSet(t, private)}
	good := jwt.MapClaims{"iss": issuer, "aud": "site", "exp": time.Now().Unix() + 60, "state": "s", "code": "c"}
	makeJWT := func(algorithm, kid, kind string, key any, changed jwt.MapClaims) string {
		claims := maps.Clone(good)
		maps.Copy(claims, changed)
		token := jwt.NewWithClaims(jwt.GetSigningMethod(algorithm), claims)
		token.Header["kid"], token.Header["typ"] = kid, kind
		text, err := token.SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	kid := walk.published.Keys[0].ID
	but := func(changed jwt.MapClaims) string { return makeJWT("PS256", kid, "JWT", private, changed) }
	fine := but(nil)
	parts, other := strings.Split(fine, "."), strings.Split(but(jwt.MapClaims{"code": "d"}), ".")
	for what, test := range map[string]struct{ token, why string }{
		"nothing wrong":        {fine, ""},
		"claims changed":       {parts[0] + "." + other[1] + "." + parts[2], "not signed"},
		"signature cut off":    {parts[0] + "." + parts[1] + ".", "not signed"},
		"no signature":         {makeJWT("none", kid, "JWT", jwt.UnsafeAllowNoneSignatureType, nil), "not signed"},
		"another's key":        {makeJWT("PS256", kid, "JWT", stranger, nil), "not signed"},
		"another algorithm":    {makeJWT("RS256", kid, "JWT", private, nil), "not signed"},
		"public key as secret": {makeJWT("HS256", kid, "JWT", private.N.Bytes(), nil), "not signed"},
		"another kind of JWT":  {makeJWT("PS256", kid, "token-introspection+jwt", private, nil), "not signed"},
		"another server":       {but(jwt.MapClaims{"iss": "https://evil.example/o"}), "another server"},
		"another site":         {but(jwt.MapClaims{"aud": "other"}), "another client"},
		"several sites":        {but(jwt.MapClaims{"aud": []string{"site", "other"}}), "another client"},
		"expired":              {but(jwt.MapClaims{"exp": time.Now().Unix() - 1}), "expired"},
		"without an end":       {but(jwt.MapClaims{"exp": "soon"}), "expired"},
		"another visit":        {but(jwt.MapClaims{"state": "other"}), "state"},
		"nothing":              {"", "not signed"},
	} {
		got, err := walk.readResponse(test.token)
		if (err == nil) != (test.why == "") || err != nil && !strings.Contains(err.Error(), test.why) {
			t.Errorf("%s: %v, want %q", what, err, test.why)
		}
		if err == nil && got.Get("code") != "c" {
			t.Errorf("%s: %v", what, got)
		}
	}
}

func publishedSet(t *testing.T, key *rsa.PrivateKey) jose.JWKSet {
	t.Helper()
	public, err := jose.NewJWK(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	return jose.JWKSet{Keys: []jose.JWK{public}}
}

// The requests that wait for a response have a limit, and each is used once.
func TestDemoPushes(t *testing.T) {
	var p pushes
	for i := range maxPushed + 1 {
		p.keep("state"+strconv.Itoa(i), pushed{uri: strconv.Itoa(i)})
	}
	for state, want := range map[string]string{"state0": "", "state1": "1",
		"state" + strconv.Itoa(maxPushed): strconv.Itoa(maxPushed), "other": ""} {
		if got := p.take(state).uri; got != want {
			t.Errorf("%s: %q, want %q", state, got, want)
		}
		if again := p.take(state).uri; again != "" {
			t.Errorf("%s works again: %q", state, again)
		}
	}
	if len(p.all) > maxPushed || len(p.states) > maxPushed {
		t.Errorf("%d requests wait, and %d states", len(p.all), len(p.states))
	}
}

// A part that cannot be decoded is shown as empty.
func TestDemoDecodes(t *testing.T) {
	known := idTokenFacts()
	text := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." +
		base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"a"}`)) + "."
	for _, test := range []struct {
		text, header, claims string
		meanings             int
	}{
		{text, "{\n  \"alg\": \"none\"\n}", "{\n  \"sub\": \"a\"\n}", 1},
		{"", "", "", 0},
		{"*.*.*", "", "", 0},
	} {
		got := decoded(templates.WalkToken{Title: "T"}, test.text, known)
		if got.Raw != test.text || got.Header != test.header || got.Claims != test.claims ||
			len(got.Meanings) != test.meanings || got.Title != "T" {
			t.Errorf("%q: %+v", test.text, got)
		}
	}
}
