package conformance

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// The UserInfo endpoint (OIDC Core §5.3).
func oidcUserInfo() []Rule {
	return []Rule{
		{
			ID: "OIDCCore/5.3/tls", Level: Must,
			Text:  "The UserInfo endpoint is reached by TLS.",
			Needs: []Need{NeedUserInfo},
			Check: func(t *T) { t.wantTLS(t.Endpoint(NeedUserInfo)) },
		},
		{
			ID: "OIDCCore/5.3/get", Level: Must,
			Text:  "UserInfo answers to GET.",
			Needs: userInfo(),
			Check: func(t *T) {
				t.WantStatus(t.UserInfo(t.signedInto(t.OpenID(t.Client(NeedCode))).Access), http.StatusOK)
			},
		},
		{
			ID: "OIDCCore/5.3/post", Level: Must,
			Text:  "UserInfo answers to POST.",
			Needs: userInfo(),
			Check: func(t *T) {
				token := t.signedInto(t.OpenID(t.Client(NeedCode))).Access
				t.WantStatus(t.Post(t.Endpoint(NeedUserInfo), nil, Bearer(token)), http.StatusOK)
			},
		},
		{
			ID: "OIDCCore/5.3/bearer", Level: Must,
			Text:  "UserInfo takes the access token as a bearer token, and answers to no other text.",
			Needs: userInfo(),
			Check: func(t *T) {
				token := t.signedInto(t.OpenID(t.Client(NeedCode))).Access
				t.WantStatus(t.UserInfo(token), http.StatusOK)
				for _, other := range append(spoilt(token), "conformance") {
					if a := t.UserInfo(other); a.Status/100 == 2 {
						t.Failf("a text that is no access token is answered with %s", a)
					}
				}
			},
		},
		{
			ID: "OIDCCore/5.3/bearer-in-form", Level: May,
			Text:  "UserInfo takes the access token from a form too.",
			Needs: userInfo(),
			Check: func(t *T) {
				token := t.signedInto(t.OpenID(t.Client(NeedCode))).Access
				t.WantStatus(t.Post(t.Endpoint(NeedUserInfo), params("access_token", token)), http.StatusOK)
			},
		},
		{
			ID: "OIDCCore/5.3/bearer-not-in-query", Level: May,
			Text:  "UserInfo takes no access token from the query.",
			Needs: userInfo(),
			Check: func(t *T) {
				token := t.signedInto(t.OpenID(t.Client(NeedCode))).Access
				if a := t.Get(t.Endpoint(NeedUserInfo) + "?access_token=" + url.QueryEscape(token)); a.Status/100 == 2 {
					t.Failf("the access token in the query is taken")
				}
			},
		},
		{
			ID: "OIDCCore/5.3/cors", Level: Should,
			Text:  "Scripts of other sites can read UserInfo.",
			Needs: userInfo(),
			Check: func(t *T) {
				token := t.signedInto(t.OpenID(t.Client(NeedCode))).Access
				site := origin(t.Client(NeedCode).redirectURI()) // a server may let no others read it
				a := t.Get(t.Endpoint(NeedUserInfo), Bearer(token), Header("Origin", site))
				if allowed := a.Header.Get("Access-Control-Allow-Origin"); allowed != "*" && allowed != site {
					t.Failf("Access-Control-Allow-Origin is %q", allowed)
				}
				// The header Authorization has a browser ask first.
				a = t.send(http.MethodOptions, t.Endpoint(NeedUserInfo), "", "", Header("Origin", site),
					Header("Access-Control-Request-Method", "GET"), Header("Access-Control-Request-Headers", "authorization"))
				headers := strings.ToLower(a.Header.Get("Access-Control-Allow-Headers"))
				if a.Status/100 != 2 || !strings.Contains(headers, "authorization") && headers != "*" {
					t.Failf("the question before it is answered with %s, Access-Control-Allow-Headers: %q", a, headers)
				}
			},
		},
		{
			ID: "OIDCCore/5.3.2/json", Level: Must,
			Text:  "UserInfo answers with a JSON object, where nothing else was agreed.",
			Needs: userInfo(),
			Check: func(t *T) {
				a := t.UserInfo(t.signedInto(t.OpenID(t.Client(NeedCode))).Access)
				t.plain(a)
				if a.JSON() == nil {
					t.Failf("the answer is no JSON object")
				}
			},
		},
		{
			ID: "OIDCCore/5.3.2/content-type", Level: Must,
			Text:  "The answer says that it is application/json.",
			Needs: userInfo(),
			Check: func(t *T) {
				a := t.UserInfo(t.signedInto(t.OpenID(t.Client(NeedCode))).Access)
				t.plain(a)
				if a.MediaType() != "application/json" {
					t.Failf("Content-Type is %q", a.Header.Get("Content-Type"))
				}
			},
		},
		{
			ID: "OIDCCore/5.3.2/utf-8", Level: Should,
			Text:  "The answer is UTF-8.",
			Needs: userInfo(),
			Check: func(t *T) {
				a := t.UserInfo(t.signedInto(t.OpenID(t.Client(NeedCode), "profile")).Access)
				t.plain(a)
				if !utf8.Valid(a.Body) || strings.HasPrefix(string(a.Body), "\ufeff") {
					t.Failf("the body is not UTF-8")
				}
			},
		},
		{
			ID: "OIDCCore/5.3.2/sub", Level: Must,
			Text:  "The answer always has sub.",
			Needs: userInfo(),
			Check: func(t *T) {
				sub, _ := t.UserClaims(t.signedInto(t.OpenID(t.Client(NeedCode))).Access)["sub"].(string)
				if sub == "" {
					t.Failf("there is no sub")
				}
			},
		},
		{
			ID: "OIDCCore/5.3.2/same-sub", Level: Must,
			Text:  "The sub of UserInfo is that of the ID token.",
			Needs: userInfo(),
			Check: func(t *T) {
				tokens := t.signedInto(t.OpenID(t.Client(NeedCode)))
				if sub := t.UserClaims(tokens.Access)["sub"]; sub != any(t.Subject(t.IDToken(tokens))) {
					t.Failf("sub is %v, in the ID token %s", sub, t.Subject(t.IDToken(tokens)))
				}
			},
		},
		{
			ID: "OIDCCore/5.3.2/left-out", Level: Should,
			Text:  "A claim that is not known is not there: none is null or an empty text.",
			Needs: userInfo(),
			Check: func(t *T) {
				for name, value := range t.known() {
					if value == nil || value == "" {
						t.Errorf("%s is %v", name, quoted(value))
					}
				}
			},
		},
		{
			ID: "OIDCCore/5.3.2/not-told", Level: May,
			Text:      "A claim that was asked for and is not known is left out, and no error.",
			Elsewhere: "conformance/mandate/openid_userinfo_test.go:TestOIDCCore5UserInfoClaims",
		},
		{
			ID: "OIDCCore/5.3.3/invalid-token", Level: Must,
			Text:  "A token that is not live is answered with 401 and a challenge of the scheme Bearer with invalid_token.",
			Needs: []Need{NeedUserInfo},
			Check: func(t *T) {
				a := t.UserInfo("conformance-" + t.Random())
				t.WantStatus(a, http.StatusUnauthorized)
				t.wantChallengeError(a, "invalid_token")
			},
		},
		{
			ID: "OIDCCore/5.3.3/no-token", Level: Must,
			Text:  "Who sends no token is answered with 401 and a challenge of the scheme Bearer.",
			Needs: []Need{NeedUserInfo},
			Check: func(t *T) {
				a := t.Get(t.Endpoint(NeedUserInfo))
				t.WantStatus(a, http.StatusUnauthorized)
				t.wantScheme(a, "Bearer")
			},
		},
		{
			ID: "OIDCCore/5.3.3/revoked-token", Level: Must, Alone: true,
			Text:  "A token that was revoked is answered with invalid_token.",
			Needs: userInfo(NeedRevocation),
			Check: func(t *T) {
				c := t.Client(NeedCode)
				token := t.signedInto(t.OpenID(c)).Access
				t.UserClaims(token)
				t.revoked(t.Revoke(c, token))
				t.wantChallengeError(t.UserInfo(token), "invalid_token")
			},
		},
		{
			ID: "OIDCCore/5.3.3/scope-missing", Level: May,
			Text:  "A token without the scope openid is answered with 403 and insufficient_scope.",
			Needs: userInfo(),
			Check: func(t *T) {
				tokens := t.Grant(t.Client(NeedCode))
				if slices.Contains(strings.Fields(tokens.Scope), "openid") {
					t.Skipf("the target's scope has openid in it")
				}
				a := t.UserInfo(tokens.Access)
				t.WantStatus(a, http.StatusForbidden)
				t.wantChallengeError(a, "insufficient_scope")
			},
		},
	}
}

// plain ends the check where the answer is no JSON by agreement.
func (t *T) plain(a *Answer) {
	if a.Status != http.StatusOK {
		t.Blockedf("UserInfo does not answer: %s", a)
	}
	if a.MediaType() == "application/jwt" {
		t.Skipf("the client code has its UserInfo signed or encrypted")
	}
}

func quoted(value any) string {
	text, _ := json.Marshal(value) // it was JSON before
	return string(text)
}

// UserInfo as a JWT (OIDC Core §5.3.2).
func oidcUserInfoSigned() []Rule {
	needs := []Need{NeedAuthorization, NeedToken, NeedSigned, NeedUser, NeedOpenID, NeedUserInfo}
	return []Rule{
		{
			ID: "OIDCCore/5.3.2/signed-content-type", Level: Must,
			Text:  "UserInfo that is signed says that it is application/jwt.",
			Needs: needs,
			Check: func(t *T) {
				a := t.UserInfo(t.signedInto(t.OpenID(t.Client(NeedSigned))).Access)
				if a.MediaType() != "application/jwt" {
					t.Failf("Content-Type is %q", a.Header.Get("Content-Type"))
				}
			},
		},
		{
			ID: "OIDCCore/5.3.2/signed-signature", Level: Must,
			Text:  "The signature of UserInfo that is signed holds.",
			Needs: append(slices.Clone(needs), NeedKeys),
			Check: func(t *T) {
				c := t.Client(NeedSigned)
				t.wantSignature(t.signedUserInfo(t.signedInto(t.OpenID(c))), c)
			},
		},
		{
			ID: "OIDCCore/5.3.2/signed-iss", Level: Must,
			Text:  "UserInfo that is signed has iss, which is the issuer.",
			Needs: needs,
			Check: func(t *T) {
				tokens := t.signedInto(t.OpenID(t.Client(NeedSigned)))
				want := t.IDToken(tokens).Text("iss")
				if j := t.signedUserInfo(tokens); j.Text("iss") != want {
					t.Failf("iss is %v, want %s", j.Claims["iss"], want)
				}
			},
		},
		{
			ID: "OIDCCore/5.3.2/signed-aud", Level: Must,
			Text:  "UserInfo that is signed has aud, in which the client_id is.",
			Needs: needs,
			Check: func(t *T) {
				c := t.Client(NeedSigned)
				j := t.signedUserInfo(t.signedInto(t.OpenID(c)))
				if !slices.Contains(j.Audience(), c.ID) {
					t.Failf("aud is %v, the client is %s", j.Claims["aud"], c.ID)
				}
			},
		},
		{
			ID: "OIDCCore/5.3.2/signed-sub", Level: Must,
			Text:  "UserInfo that is signed has the sub of the ID token.",
			Needs: needs,
			Check: func(t *T) {
				tokens := t.signedInto(t.OpenID(t.Client(NeedSigned)))
				want := t.Subject(t.IDToken(tokens))
				if j := t.signedUserInfo(tokens); j.Text("sub") != want {
					t.Failf("sub is %v, in the ID token %s", j.Claims["sub"], want)
				}
			},
		},
		{
			ID: "OIDCCore/5.3.2/encrypted-after-signing", Level: Must,
			Text:         "UserInfo that is signed and encrypted is signed first.",
			Inapplicable: "Mandate encrypts no answers.",
		},
	}
}

// signedUserInfo is the answer for the client whose UserInfo is signed.
func (t *T) signedUserInfo(tokens *Tokens) *JWT {
	a := t.UserInfo(tokens.Access)
	j, err := readJWT(string(a.Body))
	if a.Status != http.StatusOK || err != nil {
		t.Blockedf("UserInfo is not signed: %s", a)
	}
	return j
}
