package rules

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"mandate/conformance/check"
	"mandate/conformance/need"
)

// aScope checks that UserInfo returns the claims of a scope. It cannot see claims for which the person has no value.
func aScope(scope string) func(*T) {
	return func(t *T) {
		names := claimsOfScope(scope)
		wantsScope(t, scope)
		all := knownClaims(t)
		known := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return all[name] == nil })
		if len(known) == 0 {
			skipWithoutValue(t, names...)
		}
		claims := t.UserClaims(t.GrantFor(t.OpenID(t.Client(need.Code), scope)).Access)
		for _, name := range known {
			if claims[name] == nil {
				t.Errorf("%s is missing for the scopes openid and %s, and is returned if all scopes with claims are requested",
					name, scope)
			}
		}
	}
}

// claimsOfScope returns the claims that a scope requests (OIDC Core §5.4).
func claimsOfScope(scope string) []string {
	return map[string][]string{
		"profile": {"name", "family_name", "given_name", "middle_name", "nickname", "preferred_username", "profile",
			"picture", "website",
			"gender", "birthdate", "zoneinfo", "locale", "updated_at"},
		"email":   {"email", "email_verified"},
		"address": {"address"},
		"phone":   {"phone_number", "phone_number_verified"},
	}[scope]
}

// oidcScopes has the checks of the rules about claims by scope (OIDC Core §5.4).
var oidcScopes = checks{
	"OIDCCore/5.4/profile": aScope("profile"),
	"OIDCCore/5.4/email":   aScope("email"),
	"OIDCCore/5.4/address": aScope("address"),
	"OIDCCore/5.4/phone":   aScope("phone"),
	"OIDCCore/5.4/several": oidcCoreSeveral,
	"OIDCCore/5.4/nothing-more": func(t *T) {
		claims := t.UserClaims(t.GrantFor(t.OpenID(t.Client(need.Code))).Access)
		for _, name := range slices.Sorted(maps.Keys(claims)) {
			if name != "sub" {
				t.Errorf("UserInfo returns %s", name)
			}
		}
	},
	"OIDCCore/5.4/in-id-token": func(t *T) {
		c, names := t.Client(need.Code), slices.Concat(claimsOfScope("profile"), claimsOfScope("email"))
		bare := t.IDToken(t.GrantFor(t.OpenID(c))).Claims
		whole := t.GrantFor(t.OpenID(c, claimScopes(provider(t))...))
		got, want := t.IDToken(whole).Claims, t.UserClaims(whole.Access)
		for _, name := range names {
			if _, there := bare[name]; there {
				t.Errorf("the ID token for the scope openid alone has %s", name)
			}
			if value, there := got[name]; there && Quoted(value) != Quoted(want[name]) {
				t.Errorf("%s is %s in the ID token, and %s at UserInfo", name, Quoted(value), Quoted(want[name]))
			}
		}
	},
}

func oidcCoreSeveral(t *T) {
	c, found := t.Client(need.Code), map[string]string{} // the claims, and the scope that returns each
	for _, scope := range claimScopes(provider(t)) {
		claims := t.UserClaims(t.GrantFor(t.OpenID(c, scope)).Access)
		for _, name := range claimsOfScope(scope) { // others, such as acr, belong to the sign-in
			if claims[name] != nil {
				found[name] = scope
			}
		}
	}
	if len(found) < 2 {
		t.Skipf("the scopes with claims that the server lists return fewer than two claims for the person of the target: " +
			"give this person more values, such as a name and an email address")
	}
	all := knownClaims(t)
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if all[name] == nil {
			t.Errorf("%s is returned for the scope %s, and is missing if all scopes with claims are requested together", name,
				found[name])
		}
	}
}

// asks returns a claims parameter.
func asks(where string, claims map[string]any) string {
	text, _ := json.Marshal(map[string]any{where: claims}) // maps and strings can always be encoded
	return string(text)
}

// oidcClaims has the checks of the rules about the parameter claims (OIDC Core §5.5).
var oidcClaims = checks{
	"OIDCCore/5.5/userinfo": func(t *T) {
		candidates := unasked(t, "userinfo", anyClaims)
		name := slices.Sorted(maps.Keys(candidates))[0]
		for _, how := range []any{nil, map[string]any{}, map[string]any{"essential": true},
			map[string]any{"essential": false}} {
			got := returned(t, "userinfo", asking(t, t.Client(need.Code), "userinfo", name, how))
			if !reflect.DeepEqual(got[name], candidates[name]) || got["sub"] == nil {
				t.Errorf("%s", claimed(name, how, got[name]))
			}
		}
	},
	"OIDCCore/5.5/id-token": func(t *T) {
		candidates := unasked(t, "id_token", anyClaims)
		name := slices.Sorted(maps.Keys(candidates))[0]
		j := t.IDToken(t.GrantFor(asking(t, t.Client(need.Code), "id_token", name, nil)))
		if !reflect.DeepEqual(j.Claims[name], candidates[name]) || j.Text("sub") == "" || j.Number("exp") < 0 {
			t.Failf("%s", claimed(name, nil, j.Claims[name]))
		}
	},
	"OIDCCore/5.5/added-to-scopes": func(t *T) {
		wantsClaimsParameter(t)
		wantsScope(t, "email")
		c := t.Client(need.Code)
		if returned(t, "userinfo", t.OpenID(c, "email"))["email"] == nil {
			t.Skipf("UserInfo returns no email for the person of the target: give this person one")
		}
		name, _ := requestable(t, "userinfo", readableClaims)
		r := t.OpenID(c, "email").Set("claims", asks("userinfo", map[string]any{name: nil}))
		if returned(t, "userinfo", r)["email"] == nil {
			t.Failf("UserInfo returns email for the scope email, and does not if claims requests %s too", name)
		}
	},
	"OIDCCore/5.5/members-ignored": func(t *T) {
		name, value := requestable(t, "userinfo", anyClaims)
		r := t.OpenID(t.Client(need.Code)).Set("claims", `{"conformance":{"x":1},"other":[1],"userinfo":{`+
			Quoted(name)+`:null}}`)
		tokens := tokensOf(t, wantTaken(t, r, "claims"))
		if got := t.UserClaims(tokens.Access)[name]; !reflect.DeepEqual(got, value) {
			t.Failf("beside unknown members, %s", claimed(name, nil, got))
		}
	},
	"OIDCCore/5.5/malformed": func(t *T) {
		wantsClaimsParameter(t)
		t.Code(t.OpenID(t.Client(need.Code)))
		for _, claims := range []string{"conformance", "[]", `{"id_token":1}`} {
			t.WantRedirectError(t.Authorize(t.OpenID(t.Client(need.Code)).Set("claims", claims)), "invalid_request")
		}
	},
	"OIDCCore/5.5.1/essential-unknown": func(t *T) {
		wantsClaimsParameter(t)
		for _, where := range []string{"userinfo", "id_token"} {
			claims := asks(where, map[string]any{"https://conformance.example/claim": map[string]any{"essential": true},
				"conformance": nil})
			wantTaken(t, t.OpenID(t.Client(need.Code)).Set("claims", claims), "claims")
		}
	},
	"OIDCCore/5.5.1/members-ignored": func(t *T) {
		name, value := requestable(t, "userinfo", anyClaims)
		how := map[string]any{"essential": true}
		if got := returned(t, "userinfo", asking(t, t.Client(need.Code), "userinfo", name, how))[name]; !reflect.DeepEqual(
			got, value) {
			how = map[string]any{} // a server may leave out an essential claim too (§5.5.1)
		}
		how["conformance"] = 1
		tokens := tokensOf(t, wantTaken(t, asking(t, t.Client(need.Code), "userinfo", name, how), "claims"))
		if got := t.UserClaims(tokens.Access)[name]; !reflect.DeepEqual(got, value) {
			t.Failf("%s; by null it is", claimed(name, how, got))
		}
	},
	"OIDCCore/5.5.1/value-equal": func(t *T) {
		name, value := requestable(t, "id_token", anyClaims)
		for _, how := range []map[string]any{{"value": value}, {"values": []any{"conformance", value}}} {
			got := returned(t, "id_token", asking(t, t.Client(need.Code), "id_token", name, how))[name]
			if !reflect.DeepEqual(got, value) {
				t.Errorf("%s; by null it is", claimed(name, how, got))
			}
		}
	},
	"OIDCCore/5.5.1/value-other": func(t *T) {
		name, _ := requestable(t, "id_token", anyClaims)
		for _, how := range []map[string]any{{"value": "conformance"}, {"values": []any{"conformance", "other"}}} {
			got := returned(t, "id_token", asking(t, t.Client(need.Code), "id_token", name, how))[name]
			if got != nil {
				t.Errorf("%s", claimed(name, how, got))
			}
		}
	},
	"OIDCCore/5.5.1/sub-of-another": subOfAnother(func(sub string) map[string]any {
		return map[string]any{"value": sub}
	}),
	"OIDCCore/5.5.1/sub-of-others": subOfAnother(func(sub string) map[string]any {
		return map[string]any{"values": []any{sub, "conformance-another"}}
	}),
	"OIDCCore/5.5.1.1/essential-met": oidcCoreEssentialMet,
	"OIDCCore/5.5.1.1/essential-not-met": func(t *T) {
		wantsClaimsParameter(t)
		c := t.Client(need.Code)
		t.Code(asking(t, c, "id_token", "acr", nil))
		for _, how := range []map[string]any{{"value": "urn:conformance:unknown"},
			{"values": []any{"urn:conformance:unknown", "urn:conformance:other"}}} {
			how["essential"] = true
			r := t.Walk(t.NewBrowser(), asking(t, c, "id_token", "acr", how), true)
			if t.ShowsLogin(r) {
				continue // for a login with this acr: this one has failed
			}
			t.WantNoCode(r, "the essential acr is requested by "+Quoted(how)+", which no login satisfies")
		}
	},
	"OIDCCore/5.5.1.1/voluntary": func(t *T) {
		wantsClaimsParameter(t)
		c, b := t.Client(need.Code), t.NewBrowser()
		// A server can name another acr for a login than for a session that goes on.
		own := []any{t.IDToken(t.GrantIn(b, t.OpenID(c))).Claims["acr"], t.IDToken(t.GrantIn(b, t.OpenID(c))).Claims["acr"]}
		claims := asks("id_token", map[string]any{"acr": map[string]any{"value": "urn:conformance:unknown"}})
		for _, r := range []*check.Request{t.OpenID(c).Set("acr_values", "urn:conformance:unknown"),
			t.OpenID(c).Set("claims", claims)} {
			response := t.Walk(b, r, true)
			wantCode(t, response, "a request for a voluntary acr that no login satisfies")
			j := t.IDToken(tokensOf(t, response))
			if !slices.ContainsFunc(own, func(acr any) bool { return reflect.DeepEqual(acr, j.Claims["acr"]) }) {
				t.Errorf("acr is %s, and without a requested acr it is %s", Quoted(j.Claims["acr"]), Quoted(own[1]))
			}
		}
	},
	"OIDCCore/5.5.2/other-language": func(t *T) {
		name, _ := requestable(t, "userinfo", readableClaims)
		claims := returned(t, "userinfo", asking(t, t.Client(need.Code), "userinfo", name+"#tlh", nil))
		if _, there := claims[name]; there {
			t.Failf("%s#tlh was requested, and %s is returned without a language tag", name, name)
		}
	},
}

func oidcCoreEssentialMet(t *T) {
	wantsClaimsParameter(t)
	c := t.Client(need.Code)
	acr := t.SignIn(c).Text("acr")
	if acr == "" {
		t.Skipf("the rule applies to a server whose ID tokens have acr: without it no value is known that a login satisfies")
	}
	for _, values := range [][]any{{acr}, {"urn:conformance:unknown", acr}} {
		how := map[string]any{"essential": true, "values": values}
		response := settled(t, t.Authorize(asking(t, c, "id_token", "acr", how)))
		if response.Params.Get("code") == "" && len(values) > 1 {
			return // the server can refuse a value that is none of its own
		}
		wantCode(t, response, "a request for the acr that a login has, as essential,")
		if got := t.IDToken(tokensOf(t, response)).Claims["acr"]; got != any(acr) {
			t.Failf("%s", claimed("acr", how, got))
		}
	}
}

// subOfAnother checks that a requested sub decides. The person's own sub, requested in the same way, has to
// get a code.
func subOfAnother(how func(sub string) map[string]any) func(*T) {
	return func(t *T) {
		wantsClaimsParameter(t)
		c := t.Client(need.Code)
		b, own := subAndBrowser(t, c)
		wantAnsweredWithCode(t, b, asking(t, c, "id_token", "sub", how(own)), "a request for the person's own sub")
		another := how("conformance-nobody")
		t.WantNoCode(answered(t, b, asking(t, c, "id_token", "sub", another)), "sub was requested by "+Quoted(another)+
			", and is not that of the person who is signed in")
	}
}
