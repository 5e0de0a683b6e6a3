package rules

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"mandate/conformance/check"
	"mandate/conformance/jose"
	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// oidcUserInfo has the checks of the rules about the UserInfo endpoint (OIDC Core §5.3).
var oidcUserInfo = checks{
	"OIDCCore/5.3/tls": func(t *T) { wantTLS(t, t.Endpoint(need.UserInfo)) },
	"OIDCCore/5.3/get": func(t *T) {
		t.WantStatus(t.UserInfo(t.GrantFor(t.OpenID(t.Client(need.Code))).Access), http.StatusOK)
	},
	"OIDCCore/5.3/post": func(t *T) {
		token := t.GrantFor(t.OpenID(t.Client(need.Code))).Access
		t.UserClaims(token)
		t.WantStatus(t.Post(t.Endpoint(need.UserInfo), nil, wire.Bearer(token)), http.StatusOK)
	},
	"OIDCCore/5.3/bearer": func(t *T) {
		token := t.GrantFor(t.OpenID(t.Client(need.Code))).Access
		t.WantStatus(t.UserInfo(token), http.StatusOK)
		for _, other := range append(Spoilt(token), "conformance") {
			if a := t.UserInfo(other); a.Status/100 == 2 {
				t.Failf("a text that is no access token is answered with %s", a)
			}
		}
	},
	"OIDCCore/5.3/id-token-is-no-access-token": func(t *T) {
		tokens := t.GrantFor(t.OpenID(t.Client(need.Code)))
		text := rawIDToken(t, tokens)
		t.UserClaims(tokens.Access)
		if a := t.UserInfo(text); a.Status/100 == 2 {
			t.Failf("UserInfo accepts an ID token as an access token")
		}
	},
	"OIDCCore/5.3/bearer-in-form": func(t *T) {
		token := t.GrantFor(t.OpenID(t.Client(need.Code))).Access
		t.WantStatus(t.Post(t.Endpoint(need.UserInfo), wire.Params("access_token", token)), http.StatusOK)
	},
	"OIDCCore/5.3/bearer-not-in-query": func(t *T) {
		token := t.GrantFor(t.OpenID(t.Client(need.Code))).Access
		if a := t.Get(t.Endpoint(need.UserInfo) + "?access_token=" + url.QueryEscape(token)); a.Status/100 == 2 {
			t.Failf("the access token in the query is accepted")
		}
	},
	"OIDCCore/5.3/cors": oidcCoreCors,
	"OIDCCore/5.3.2/json": func(t *T) {
		a := t.UserInfo(t.GrantFor(t.OpenID(t.Client(need.Code))).Access)
		plainJSON(t, a)
		if a.JSON() == nil {
			t.Failf("the response is no JSON object")
		}
	},
	"OIDCCore/5.3.2/content-type": func(t *T) {
		a := t.UserInfo(t.GrantFor(t.OpenID(t.Client(need.Code))).Access)
		plainJSON(t, a)
		if a.MediaType() != "application/json" {
			t.Failf("the body is JSON by default, and Content-Type is %q", a.Header.Get("Content-Type"))
		}
	},
	"OIDCCore/5.3.2/utf-8": func(t *T) {
		a := t.UserInfo(t.GrantFor(t.OpenID(t.Client(need.Code), "profile")).Access)
		plainJSON(t, a)
		if !utf8.Valid(a.Body) || strings.HasPrefix(string(a.Body), "\ufeff") {
			t.Failf("the body is not UTF-8")
		}
	},
	"OIDCCore/5.3.2/sub": func(t *T) {
		sub, _ := t.UserClaims(t.GrantFor(t.OpenID(t.Client(need.Code))).Access)["sub"].(string)
		if sub == "" {
			t.Failf("the response has no sub")
		}
	},
	"OIDCCore/5.3.2/same-sub": func(t *T) {
		tokens := t.GrantFor(t.OpenID(t.Client(need.Code)))
		if sub := t.UserClaims(tokens.Access)["sub"]; sub != any(t.Subject(t.IDToken(tokens))) {
			t.Failf("sub of UserInfo is not that of the ID token")
		}
	},
	"OIDCCore/5.3.2/left-out": func(t *T) {
		claims := knownClaims(t)
		for _, name := range slices.Sorted(maps.Keys(claims)) {
			if value := claims[name]; value == nil || value == "" {
				t.Errorf("%s is %s instead of being left out", name, Quoted(value))
			}
		}
	},
	"OIDCCore/5.3.3/invalid-token": func(t *T) {
		a := t.UserInfo("conformance-invalid")
		t.WantStatus(a, http.StatusUnauthorized)
		wantChallengeError(t, a, "invalid_token")
	},
	"OIDCCore/5.3.3/no-token": func(t *T) {
		wantChallenged(t, t.Get(t.Endpoint(need.UserInfo)), "without a token")
		wantChallenged(t, t.UserInfo("conformance-invalid"), "with an invalid token")
	},
	"OIDCCore/5.3.3/revoked-token": func(t *T) {
		c := t.Client(need.Code)
		token := t.GrantIn(t.NewBrowser(), t.OpenID(c)).Access
		t.UserClaims(token)
		revokeOK(t, t.Revoke(c, token))
		a := t.UserInfo(token)
		if a.Status/100 == 2 {
			t.Blockedf("UserInfo still accepts the access token, which the server answered to have revoked (RFC 7009 §2.1)")
		}
		wantChallengeError(t, a, "invalid_token")
	},
	"OIDCCore/5.3.3/scope-missing": func(t *T) {
		a := t.UserInfo(plainGrant(t).Access)
		t.WantStatus(a, http.StatusForbidden)
		wantChallengeError(t, a, "insufficient_scope")
	},
}

func oidcCoreCors(t *T) {
	// A server may allow only the origins of its clients, and only those of public clients.
	c := t.OptionalClient(need.Public)
	if c == nil {
		c = t.Client(need.Code)
	}
	token := t.GrantFor(t.OpenID(c)).Access
	site := wire.Origin(c.RedirectURI())
	a := t.Get(t.Endpoint(need.UserInfo), wire.Bearer(token), wire.Header("Origin", site))
	if allowed := a.Header.Get("Access-Control-Allow-Origin"); allowed != "*" && allowed != site {
		t.Failf("a script of %s cannot read the response: Access-Control-Allow-Origin is %q", site, allowed)
	}
	// Because of the header Authorization a browser sends a preflight request first.
	a = t.Send(http.MethodOptions, t.Endpoint(need.UserInfo), "", "", wire.Header("Origin", site),
		wire.Header("Access-Control-Request-Method", "GET"), wire.Header("Access-Control-Request-Headers", "authorization"))
	headers := strings.ToLower(a.Header.Get("Access-Control-Allow-Headers"))
	if a.Status/100 != 2 || !strings.Contains(headers, "authorization") && headers != "*" {
		t.Failf("the preflight request is answered with %s, Access-Control-Allow-Headers: %q", a, headers)
	}
}

// wantChallenged asserts that a request was refused with a Bearer challenge.
func wantChallenged(t *T, a *wire.Answer, what string) {
	if a.Status/100 != 4 {
		t.At(a)
		t.Failf("a request %s is answered with %s", what, a)
	}
	wantScheme(t, a, "Bearer")
}

// plainJSON blocks the check if the client registered another format than JSON.
func plainJSON(t *T, a *wire.Answer) {
	if a.Status != http.StatusOK {
		t.Blockedf("there is no UserInfo response: %s", a)
	}
	if a.MediaType() == "application/jwt" {
		t.Skipf("the rule needs a client code that gets UserInfo responses as JSON: this one registered signed or " +
			"encrypted ones")
	}
}

// Quoted returns a value as JSON.
func Quoted(value any) string {
	text, _ := json.Marshal(value) // the value was parsed from JSON
	return string(text)
}

// oidcUserInfoSigned has the checks of the rules about signed UserInfo responses (OIDC Core §5.3.2).
var oidcUserInfoSigned = checks{
	"OIDCCore/5.3.2/signed-content-type": func(t *T) {
		tokens := t.GrantFor(t.OpenID(t.Client(need.Signed)))
		signedUserInfo(t, tokens)
		if a := t.Last(); a.MediaType() != "application/jwt" {
			t.Failf("the body is a JWT, and Content-Type is %q", a.Header.Get("Content-Type"))
		}
	},
	"OIDCCore/5.3.2/signed-signature": func(t *T) {
		c := t.Client(need.Signed)
		wantSignature(t, signedUserInfo(t, t.GrantFor(t.OpenID(c))), c)
	},
	"OIDCCore/5.3.2/signed-iss": func(t *T) {
		tokens := t.GrantFor(t.OpenID(t.Client(need.Signed)))
		want := t.IDToken(tokens).Text("iss")
		if j := signedUserInfo(t, tokens); j.Text("iss") != want {
			t.Failf("iss is %v, want %s", j.Claims["iss"], want)
		}
	},
	"OIDCCore/5.3.2/signed-aud": func(t *T) {
		c := t.Client(need.Signed)
		j := signedUserInfo(t, t.GrantFor(t.OpenID(c)))
		if !slices.Contains(j.Audience(), c.ID) {
			t.Failf("aud is %v, but the client is %s", j.Claims["aud"], c.ID)
		}
	},
	"OIDCCore/5.3.2/signed-sub": func(t *T) {
		tokens := t.GrantFor(t.OpenID(t.Client(need.Signed)))
		want := t.Subject(t.IDToken(tokens))
		if j := signedUserInfo(t, tokens); j.Text("sub") != want {
			t.Failf("sub of UserInfo is not that of the ID token")
		}
	},
}

// signedUserInfo returns the response for the client with signed UserInfo responses.
func signedUserInfo(t *T, tokens *check.Tokens) *jose.JWT {
	a := t.UserInfo(tokens.Access)
	j, err := jose.Read(string(a.Body))
	if a.Status != http.StatusOK || err != nil {
		t.Blockedf("the UserInfo response for the client signed is not signed (%s, Content-Type %q): register the client "+
			"with userinfo_signed_response_alg", a, a.Header.Get("Content-Type"))
	}
	return j
}
