package rules

import (
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/jose"
	"mandate/conformance/need"
	"mandate/conformance/wire"
)

const oneResource = "Mandate's access tokens are for one resource, its base URL, and it ignores the parameter resource."

// signedTokenNeeds returns what a check needs for a signed access token of a client itself.
func signedTokenNeeds(more ...Need) []Need { return append([]Need{need.Token, need.JWT}, more...) }

// personTokenNeeds returns what a check needs for a signed access token of a person.
func personTokenNeeds(more ...Need) []Need {
	return append([]Need{need.Authorization, need.Token, need.JWT, need.User}, more...)
}

// accessJWT parses an access token. If it is no JWT, the check fails.
func accessJWT(t *T, tokens *check.Tokens) *jose.JWT {
	t.At(tokens.Answer)
	j, err := jose.Read(tokens.Access)
	if err != nil {
		t.Failf("the access token is no JWT: %v", err)
	}
	return j
}

// signedTokens returns the tokens of the client jwt for itself.
func signedTokens(t *T) *check.Tokens {
	form := wire.Params("grant_type", "client_credentials")
	if t.Scoped() {
		form.Set("scope", strings.Fields(t.Request(t.Client(need.JWT)).Params.Get("scope"))[0])
	}
	return t.Granted(t.Token(t.Client(need.JWT), form))
}

// wantClaim asserts that an access token has a claim with a value.
func wantClaim(t *T, name string) any {
	j := accessJWT(t, t.Grant(t.Client(need.JWT)))
	if j.Claims[name] == nil || j.Claims[name] == "" {
		t.Failf("the access token has no %s", name)
	}
	return j.Claims[name]
}

// rfc9068 returns the rules about the JWT profile for access tokens.
func rfc9068() []Rule {
	return slices.Concat(rfc9068Header(), rfc9068Claims(), rfc9068Requests(), rfc9068Validation())
}

func rfc9068Header() []Rule {
	return []Rule{
		{
			ID: "RFC9068/2.1/signed", Level: Must,
			Text:  "An access token that is a JWT is signed with a published key.",
			Needs: personTokenNeeds(need.Keys),
			Check: func(t *T) {
				c := t.Client(need.JWT)
				wantSignature(t, accessJWT(t, t.Grant(c)), c)
			},
		},
		{
			ID: "RFC9068/2.1/asymmetric", Level: Should,
			Text:  "The signature algorithm is asymmetric.",
			Needs: personTokenNeeds(),
			Check: func(t *T) {
				if alg := accessJWT(t, t.Grant(t.Client(need.JWT))).Algorithm(); strings.HasPrefix(alg, "HS") {
					t.Failf("alg is %s", alg)
				}
			},
		},
		{
			ID: "RFC9068/2.1/not-none", Level: Must,
			Text:  "The alg of an access token is never none.",
			Needs: personTokenNeeds(),
			Check: func(t *T) {
				if alg := accessJWT(t, t.Grant(t.Client(need.JWT))).Algorithm(); alg == "" || strings.EqualFold(alg, "none") {
					t.Failf("alg is %q", alg)
				}
			},
		},
		{
			ID: "RFC9068/2.1/rs256", Level: Must,
			Text:     "The server can sign access tokens with RS256.",
			TestedBy: "provider/accesstoken_test.go:TestSignedAccessTokenAlgorithm",
		},
		{
			ID: "RFC9068/2.1/typ", Level: Must,
			Text:  "typ in the header identifies an access token: at+jwt, or application/at+jwt.",
			Needs: personTokenNeeds(),
			Check: func(t *T) {
				typ, _ := accessJWT(t, t.Grant(t.Client(need.JWT))).Header["typ"].(string)
				if strings.TrimPrefix(strings.ToLower(typ), "application/") != "at+jwt" {
					t.Failf("typ is %q", typ)
				}
			},
		},
		{
			ID: "RFC9068/2.1/typ-short", Level: Should,
			Text:  "typ in the header is at+jwt, without application/.",
			Needs: personTokenNeeds(),
			Check: func(t *T) {
				typ, _ := accessJWT(t, t.Grant(t.Client(need.JWT))).Header["typ"].(string)
				if strings.HasPrefix(strings.ToLower(typ), "application/") {
					t.Failf("typ is %q", typ)
				}
			},
		},
	}
}

func rfc9068Claims() []Rule {
	return []Rule{
		{
			ID: "RFC9068/2.2/iss", Level: Must,
			Text:  "An access token has iss, which is the issuer.",
			Needs: personTokenNeeds(),
			Check: func(t *T) {
				if iss := wantClaim(t, "iss"); iss != t.Issuer() {
					t.Failf("iss is %v, want %s", iss, t.Issuer())
				}
			},
		},
		{
			ID: "RFC9068/2.2/exp", Level: Must,
			Text:  "An access token has exp, which matches expires_in of the token response.",
			Needs: personTokenNeeds(),
			Check: func(t *T) {
				tokens := t.Grant(t.Client(need.JWT))
				j := accessJWT(t, tokens)
				lives, said := tokens.Answer.JSON()["expires_in"].(float64)
				if j.Number("exp") <= check.ServerTime(tokens.Answer) || said && j.Number("exp") > check.ServerTime(tokens.Answer)+lives+1 {
					t.Failf("exp is %v in a response of %v with expires_in %v", j.Claims["exp"], check.ServerTime(tokens.Answer), lives)
				}
			},
		},
		{
			ID: "RFC9068/2.2/aud", Level: Must,
			Text:  "An access token has aud.",
			Needs: personTokenNeeds(),
			Check: func(t *T) {
				aud := accessJWT(t, t.Grant(t.Client(need.JWT))).Audience()
				if len(aud) == 0 || slices.Contains(aud, "") {
					t.Failf("aud is %q", aud)
				}
			},
		},
		{
			ID: "RFC9068/2.2/sub", Level: Must,
			Text:  "An access token has sub.",
			Needs: personTokenNeeds(),
			Check: func(t *T) { wantClaim(t, "sub") },
		},
		{
			ID: "RFC9068/2.2/sub-of-person", Level: Should,
			Text:  "If the token belongs to a person, sub is the person's subject, as in an ID token for the same client.",
			Needs: personTokenNeeds(need.OpenID),
			Check: func(t *T) {
				tokens := t.GrantFor(t.OpenID(t.Client(need.JWT)))
				if sub := t.Subject(t.IDToken(tokens)); accessJWT(t, tokens).Text("sub") != sub {
					t.Failf("sub is %q in the access token, but %q in the ID token", accessJWT(t, tokens).Text("sub"), sub)
				}
			},
		},
		{
			ID: "RFC9068/2.2/sub-of-client", Level: Should,
			Text:  "If no person is involved, sub is the client.",
			Needs: signedTokenNeeds(),
			Check: func(t *T) {
				if sub := accessJWT(t, signedTokens(t)).Text("sub"); sub != t.Client(need.JWT).ID {
					t.Failf("sub is %q, want %s", sub, t.Client(need.JWT).ID)
				}
			},
		},
		{
			ID: "RFC9068/2.2/client-id", Level: Must,
			Text:  "An access token has client_id with its client.",
			Needs: personTokenNeeds(),
			Check: func(t *T) {
				if id := wantClaim(t, "client_id"); id != t.Client(need.JWT).ID {
					t.Failf("client_id is %v, want %s", id, t.Client(need.JWT).ID)
				}
			},
		},
		{
			ID: "RFC9068/2.2/iat", Level: Must,
			Text:  "An access token has iat with its time of issue.",
			Needs: personTokenNeeds(),
			Check: func(t *T) {
				tokens := t.Grant(t.Client(need.JWT))
				at := accessJWT(t, tokens).Number("iat")
				if off := check.ServerTime(tokens.Answer) - at; at < 0 || off < -1 || off > 60 {
					t.Failf("iat is %v in a response of %v", at, check.ServerTime(tokens.Answer))
				}
			},
		},
		{
			ID: "RFC9068/2.2/iat-of-refresh", Level: Must,
			Text:  "iat of a refreshed token is the time of the refresh.",
			Needs: personTokenNeeds(need.Keys),
			Check: func(t *T) {
				first := t.GrantRefresh(t.Client(need.JWT))
				at := accessJWT(t, first).Number("iat")
				t.WaitPast(at, 1)
				if next := accessJWT(t, t.Granted(t.Refresh(t.Client(need.JWT), first.Refresh))).Number("iat"); next <= at {
					t.Failf("iat is %v, the same as before the refresh", next)
				}
			},
		},
		{
			ID: "RFC9068/2.2/jti", Level: Must,
			Text:  "An access token has a unique jti.",
			Needs: signedTokenNeeds(),
			Check: func(t *T) {
				one, other := accessJWT(t, signedTokens(t)), accessJWT(t, signedTokens(t))
				if one.Text("jti") == "" || one.Text("jti") == other.Text("jti") {
					t.Failf("jti is %q, and %q in the next token", one.Text("jti"), other.Text("jti"))
				}
			},
		},
		{
			ID: "RFC9068/2.2.1/of-the-login", Level: Must,
			Text:  "The claims about the login are the same in a refreshed access token.",
			Needs: personTokenNeeds(),
			Check: func(t *T) {
				first := t.GrantRefresh(t.Client(need.JWT))
				was := accessJWT(t, first)
				is := accessJWT(t, t.Granted(t.Refresh(t.Client(need.JWT), first.Refresh)))
				for _, name := range []string{"auth_time", "acr"} {
					if was.Claims[name] != is.Claims[name] {
						t.Errorf("%s is %v, but was %v", name, is.Claims[name], was.Claims[name])
					}
				}
			},
		},
		{
			ID: "RFC9068/2.2.1/told", Level: May,
			Text:  "An access token has auth_time and acr of the login.",
			Needs: personTokenNeeds(),
			Check: func(t *T) {
				j := accessJWT(t, t.Grant(t.Client(need.JWT)))
				if j.Number("auth_time") < 0 || j.Text("acr") == "" {
					t.Failf("auth_time is %v, acr is %v", j.Claims["auth_time"], j.Claims["acr"])
				}
			},
		},
		{
			ID: "RFC9068/2.2.2/registered-names", Level: Should,
			Text:         "Claims about the person have registered names.",
			Inapplicable: "An access token of Mandate has no claim about the person except sub.",
		},
		{
			ID: "RFC9068/2.2.2/collision-resistant", Level: May,
			Text:         "Claims that the server defines have collision-resistant names.",
			Inapplicable: "Mandate has no claims of its own in an access token.",
		},
		{
			ID: "RFC9068/2.2.3/scope", Level: Should,
			Text:  "If a scope was requested, the access token has the granted scope.",
			Needs: personTokenNeeds(),
			Check: func(t *T) {
				tokens := t.Grant(t.Client(need.JWT))
				granted := tokens.Scope
				if granted == "" {
					granted = t.Request(t.Client(need.JWT)).Params.Get("scope")
				}
				if granted == "" {
					t.Skipf("the target has no scope to request")
				}
				if scope := accessJWT(t, tokens).Text("scope"); !sameWords(scope, granted) {
					t.Failf("scope is %q, but %q was granted", scope, granted)
				}
			},
		},
		{
			ID: "RFC9068/2.2.3/scope-has-meaning", Level: Must,
			Text:         "Each scope of an access token has a meaning for each resource in aud.",
			Inapplicable: oneResource,
		},
		{
			ID: "RFC9068/2.2.3.1/groups", Level: Should,
			Text:         "Groups, roles and entitlements of the person use these claim names.",
			Inapplicable: "Mandate returns groups in ID tokens and UserInfo, and not in access tokens.",
		},
		{
			ID: "RFC9068/2.2.3.1/values", Level: Should,
			Text:         "Their values have the form of RFC 7643.",
			Inapplicable: "Mandate returns groups in ID tokens and UserInfo, and not in access tokens.",
		},
	}
}
