package rules

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/need"
)

// aScope returns the rule that UserInfo returns the claims of a scope. It cannot see claims for which the person has
// no value.
func aScope(scope, text string, names ...string) Rule {
	return Rule{
		ID: "OIDCCore/5.4/" + scope, Level: Should, Text: text, Needs: userInfoNeeds(),
		Check: func(t *T) {
			wantsScope(t, scope)
			all := knownClaims(t)
			known := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return all[name] == nil })
			if len(known) == 0 {
				t.Skipf("UserInfo returns no %s for the person of the target", strings.Join(names, ", "))
			}
			claims := t.UserClaims(t.GrantFor(t.OpenID(t.Client(need.Code), scope)).Access)
			for _, name := range known {
				if claims[name] == nil {
					t.Errorf("%s is missing, although the scope %s was granted and the server has a value", name, scope)
				}
			}
		},
	}
}

// oidcScopes returns the rules about claims by scope (OIDC Core §5.4).
func oidcScopes() []Rule {
	return []Rule{
		aScope("profile", "The scope profile brings the claims of a profile.", "name", "family_name", "given_name", "middle_name", "nickname",
			"preferred_username", "profile", "picture", "website", "gender", "birthdate", "zoneinfo", "locale", "updated_at"),
		aScope("email", "The scope email brings email and email_verified.", "email", "email_verified"),
		aScope("address", "The scope address brings address.", "address"),
		aScope("phone", "The scope phone brings phone_number and phone_number_verified.", "phone_number", "phone_number_verified"),
		{
			ID: "OIDCCore/5.4/several", Level: Should,
			Text:  "Several scopes return the claims of all of them.",
			Needs: userInfoNeeds(),
			Check: func(t *T) {
				claims := knownClaims(t)
				for _, name := range []string{"name", "email", "phone_number", "address"} {
					if claims[name] == nil {
						t.Errorf("%s is missing", name)
					}
				}
			},
		},
		{
			ID: "OIDCCore/5.4/nothing-more", Level: May,
			Text:  "The scope openid alone returns sub and no other claim.",
			Needs: userInfoNeeds(),
			Check: func(t *T) {
				for name := range t.UserClaims(t.GrantFor(t.OpenID(t.Client(need.Code))).Access) {
					if name != "sub" {
						t.Errorf("UserInfo returns %s", name)
					}
				}
			},
		},
		{
			ID: "OIDCCore/5.4/not-in-id-token", Level: May,
			Text:  "The claims of a scope are returned by UserInfo, and not in the ID token as well.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				j := t.IDToken(t.GrantFor(t.OpenID(t.Client(need.Code), "profile", "email")))
				for _, name := range []string{"name", "given_name", "preferred_username", "updated_at", "email", "email_verified"} {
					if _, there := j.Claims[name]; there {
						t.Errorf("the ID token has %s", name)
					}
				}
			},
		},
	}
}

// asks returns a claims parameter.
func asks(where string, claims map[string]any) string {
	text, _ := json.Marshal(map[string]any{where: claims}) // maps and strings can always be encoded
	return string(text)
}

// signInAsking performs the code grant with a claims parameter.
func signInAsking(t *T, claims string) *check.Tokens {
	wantsClaimsParameter(t)
	return t.GrantFor(t.OpenID(t.Client(need.Code)).Set("claims", claims))
}

// someClaim returns a claim for which the person has a value, and that value.
func someClaim(t *T) (string, any) {
	claims := knownClaims(t)
	for _, name := range []string{"email", "nickname", "name", "preferred_username", "given_name"} {
		if claims[name] != nil {
			return name, claims[name]
		}
	}
	t.Skipf("UserInfo returns only sub for the person of the target")
	return "", nil
}

// askedAgain matches the browser's message for a refused login.
var askedAgain = regexp.MustCompile(`^the server asks for the password again`)

// oidcClaims returns the rules about the parameter claims (OIDC Core §5.5).
func oidcClaims() []Rule {
	return []Rule{
		{
			ID: "OIDCCore/5.5/userinfo", Level: Should,
			Text:  "UserInfo returns a requested claim in addition to the claims of the scopes.",
			Needs: userInfoNeeds(),
			Check: func(t *T) {
				name, value := someClaim(t)
				for _, how := range []any{nil, map[string]any{}, map[string]any{"essential": true}, map[string]any{"essential": false}} {
					claims := t.UserClaims(signInAsking(t, asks("userinfo", map[string]any{name: how})).Access)
					if claims[name] != value || claims["sub"] == nil {
						t.Errorf("%s was requested by %s, but is %v", name, Quoted(how), claims[name])
					}
				}
			},
		},
		{
			ID: "OIDCCore/5.5/id-token", Level: Should,
			Text:  "The ID token contains a requested claim in addition to its usual claims.",
			Needs: userInfoNeeds(),
			Check: func(t *T) {
				name, value := someClaim(t)
				j := t.IDToken(signInAsking(t, asks("id_token", map[string]any{name: nil})))
				if j.Claims[name] != value || j.Text("sub") == "" || j.Number("exp") < 0 {
					t.Failf("%s was requested, but is %v", name, j.Claims[name])
				}
			},
		},
		{
			ID: "OIDCCore/5.5/added-to-scopes", Level: Should,
			Text:  "The parameter claims does not remove claims of the scopes.",
			Needs: userInfoNeeds(),
			Check: func(t *T) {
				wantsClaimsParameter(t)
				wantsScope(t, "email")
				if knownClaims(t)["email"] == nil {
					t.Skipf("UserInfo returns no email for the person of the target")
				}
				r := t.OpenID(t.Client(need.Code), "email").Set("claims", `{"userinfo":{"locale":null}}`)
				if t.UserClaims(t.GrantFor(r).Access)["email"] == nil {
					t.Failf("email is missing, although the scope email was granted")
				}
			},
		},
		{
			ID: "OIDCCore/5.5/members-ignored", Level: Must,
			Text:  "The server ignores unknown members of the parameter claims.",
			Needs: userInfoNeeds(),
			Check: func(t *T) {
				wantsClaimsParameter(t)
				name, value := someClaim(t)
				r := t.OpenID(t.Client(need.Code)).Set("claims", `{"conformance":{"x":1},"other":[1],"userinfo":{`+Quoted(name)+`:null}}`)
				response := t.Try(r)
				wantCode(t, response, "a claims parameter with unknown members")
				if got := t.UserClaims(t.Granted(t.Redeem(&check.Code{Value: response.Params.Get("code"), Request: r})).Access)[name]; got != value {
					t.Failf("%s, which was requested too, is %v", name, got)
				}
			},
		},
		{
			ID: "OIDCCore/5.5/not-supported", Level: Should,
			Text:         "A server without the parameter claims returns the claims that it considers useful.",
			Inapplicable: "Mandate supports the parameter claims.",
		},
		{
			ID: "OIDCCore/5.5/malformed", Level: May,
			Text:  "The server refuses a claims parameter that is no object with invalid_request.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				wantsClaimsParameter(t)
				for _, claims := range []string{"conformance", "[]", `{"id_token":1}`} {
					t.WantRedirectError(t.Try(t.OpenID(t.Client(need.Code)).Set("claims", claims)), "invalid_request")
				}
			},
		},
		{
			ID: "OIDCCore/5.5.1/essential-unknown", Level: Must,
			Text:  "A claim that the server cannot return is no error, even if it is essential.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				wantsClaimsParameter(t)
				for _, where := range []string{"userinfo", "id_token"} {
					claims := asks(where, map[string]any{"https://conformance.example/claim": map[string]any{"essential": true}, "conformance": nil})
					wantCode(t, t.Try(t.OpenID(t.Client(need.Code)).Set("claims", claims)), "an essential claim without a value")
				}
			},
		},
		{
			ID: "OIDCCore/5.5.1/members-ignored", Level: Must,
			Text:  "The server ignores unknown members of the request for a claim.",
			Needs: userInfoNeeds(),
			Check: func(t *T) {
				name, value := someClaim(t)
				claims := t.UserClaims(signInAsking(t, asks("userinfo", map[string]any{name: map[string]any{"conformance": 1, "essential": true}})).Access)
				if claims[name] != value {
					t.Failf("%s is %v", name, claims[name])
				}
			},
		},
		{
			ID: "OIDCCore/5.5.1/value-equal", Level: Should,
			Text:  "A claim that is requested with its actual value is returned.",
			Needs: userInfoNeeds(),
			Check: func(t *T) {
				name, value := someClaim(t)
				for _, how := range []map[string]any{{"value": value}, {"values": []any{"conformance", value}}} {
					if got := t.IDToken(signInAsking(t, asks("id_token", map[string]any{name: how}))).Claims[name]; got != value {
						t.Errorf("%s was requested by %s, but is %v", name, Quoted(how), got)
					}
				}
			},
		},
		{
			ID: "OIDCCore/5.5.1/value-other", Level: Should,
			Text:  "A claim that is requested with another value is left out.",
			Needs: userInfoNeeds(),
			Check: func(t *T) {
				name, value := someClaim(t)
				for _, how := range []map[string]any{{"value": "conformance"}, {"values": []any{"conformance", "other"}}} {
					if got := t.IDToken(signInAsking(t, asks("id_token", map[string]any{name: how}))).Claims[name]; got != nil {
						t.Errorf("%s was requested by %s, but is returned: %v", name, Quoted(how), value)
					}
				}
			},
		},
		{
			ID: "OIDCCore/5.5.1/sub-of-another", Level: Must,
			Text:  "A login fails if the ID token is requested with the sub of another person.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				wantsClaimsParameter(t)
				b := t.Approved(t.OpenID(t.Client(need.Code)))
				claims := asks("id_token", map[string]any{"sub": map[string]any{"value": "conformance-" + t.Random()}})
				t.WantNoCode(t.Silently(b, t.OpenID(t.Client(need.Code)).Set("claims", claims)), "the requested sub is that of another person")
			},
		},
		{
			ID: "OIDCCore/5.5.1/sub-of-others", Level: Should,
			Text:  "A login fails if the ID token is requested with several subs, none of them the person's.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				wantsClaimsParameter(t)
				b := t.Approved(t.OpenID(t.Client(need.Code)))
				claims := asks("id_token", map[string]any{"sub": map[string]any{"values": []any{"conformance-" + t.Random(), "conformance"}}})
				t.WantNoCode(t.Silently(b, t.OpenID(t.Client(need.Code)).Set("claims", claims)), "the requested subs are those of other people")
			},
		},
		{
			ID: "OIDCCore/5.5.1.1/essential-met", Level: Must,
			Text:  "If acr is requested as essential with values, the ID token has one of them.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				acr := t.SignIn(t.Client(need.Code)).Text("acr")
				if acr == "" {
					t.Skipf("the ID token has no acr")
				}
				how := map[string]any{"essential": true, "values": []any{"urn:conformance:unknown", acr}}
				if got := t.IDToken(signInAsking(t, asks("id_token", map[string]any{"acr": how}))).Text("acr"); got != acr {
					t.Failf("acr is %q, but %q was requested", got, acr)
				}
			},
		},
		{
			ID: "OIDCCore/5.5.1.1/essential-not-met", Level: Must,
			Text:  "If acr is requested as essential, and the server cannot satisfy it, the login fails.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				wantsClaimsParameter(t)
				for _, how := range []map[string]any{{"value": "urn:conformance:unknown"}, {"values": []any{"urn:conformance:unknown", "urn:conformance:other"}}} {
					how["essential"] = true
					r := t.Authorize(t.OpenID(t.Client(need.Code)).Set("claims", asks("id_token", map[string]any{"acr": how})))
					if askedAgain.MatchString(r.Stuck) {
						continue // for a login with this acr, this one has failed
					}
					t.WantNoCode(r, "no login satisfies the essential acr")
				}
			},
		},
		{
			ID: "OIDCCore/5.5.1.1/voluntary", Level: Should,
			Text:  "If acr is requested as voluntary, and the server cannot satisfy it, the ID token has the actual acr.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				wantsClaimsParameter(t)
				c := t.Client(need.Code)
				own := t.SignIn(c).Text("acr")
				claims := asks("id_token", map[string]any{"acr": map[string]any{"value": "urn:conformance:unknown"}})
				for _, r := range []*check.Request{t.OpenID(c).Set("acr_values", "urn:conformance:unknown"), t.OpenID(c).Set("claims", claims)} {
					response := t.Try(r)
					wantCode(t, response, "a voluntary acr that cannot be satisfied")
					j := t.IDToken(t.Granted(t.Redeem(&check.Code{Value: response.Params.Get("code"), Request: r})))
					if j.Text("acr") != own {
						t.Errorf("acr is %v, but %q without a requested acr", j.Claims["acr"], own)
					}
				}
			},
		},
		{
			ID: "OIDCCore/5.5.2/other-language", Level: Should,
			Text:  "If a claim is requested in an unavailable language, it is not returned without a language tag.",
			Needs: userInfoNeeds(),
			Check: func(t *T) {
				name, _ := someClaim(t)
				claims := t.UserClaims(signInAsking(t, asks("userinfo", map[string]any{name + "#tlh": nil})).Access)
				if got, there := claims[name]; there {
					t.Failf("%s#tlh was requested, but %s is returned: %v", name, name, got)
				}
			},
		},
	}
}
