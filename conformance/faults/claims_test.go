package faults

import (
	"encoding/json"
	"maps"
	"net/url"
	"strings"

	"mandate/conformance/rules"
	"mandate/conformance/wire"
)

// claimsFaults are faults of the parameter claims (OIDC Core §5.5, §14).
func claimsFaults() []fault {
	return at(authorizePath, []fault{
		{name: "the claims parameter is ignored", spoil: ignoring("claims", anything),
			fails: "OIDCCore/5.5/userinfo OIDCCore/5.5/id-token OIDCCore/5.5.1/sub-of-another OIDCCore/5.5.1/sub-of-others " +
				"OIDCCore/3.1.2.2/sub-requested " +
				"OIDCCore/5.5.1.1/essential-not-met OIDCDiscovery/3/claims-parameter-true",
			blocks: "OIDCCore/5.5/added-to-scopes OIDCCore/5.5/members-ignored OIDCCore/5.5.1/members-ignored " +
				"OIDCCore/5.5.1/value-equal OIDCCore/5.5.1/value-other " +
				"OIDCCore/5.5.2/other-language OIDCCore/14/escapes-removed OIDCCore/14/code-points"},
		{name: "each request for a sub is refused", spoil: refusingSignIns("login_required", "claims", holding("sub")),
			blocks: "OIDCCore/3.1.2.2/sub-requested OIDCCore/5.5.1/sub-of-another OIDCCore/5.5.1/sub-of-others " +
				"OIDCCore/14/code-points OIDCCore/14/escapes-removed"},
		{name: "the scope openid brings all claims", at: userInfoPath, spoil: everyClaim,
			skips: "OIDCCore/5.5/userinfo OIDCCore/5.5/members-ignored OIDCCore/5.5.1/members-ignored " +
				"OIDCCore/5.5.2/other-language OIDCCore/5.5/added-to-scopes"},
		{name: "a claims parameter that is not an object is ignored",
			spoil: ignoring("claims", func(value string) bool { return claimsIn(value) == nil }),
			fails: "OIDCCore/5.5/malformed"},
		{name: "unknown members of the claims parameter are refused",
			spoil: refusingSignIns("invalid_request", "claims", holding(`"other":[1]`)), fails: "OIDCCore/5.5/members-ignored"},
		{name: "a request for a claim with unknown members is ignored", spoil: ignoring("claims", holding(`"conformance":1`)),
			fails: "OIDCCore/5.5.1/members-ignored"},
		{name: "a claim that is requested as essential is left out", spoil: claiming(func(asked map[string]any) {
			maps.DeleteFunc(asked, func(_ string, how any) bool {
				object, _ := how.(map[string]any)
				return object["essential"] != nil
			})
		}), passes: "OIDCCore/5.5.1/members-ignored"},
		{name: "unknown claims are refused",
			spoil: refusingSignIns("invalid_request", "claims", holding("conformance.example")),
			fails: "OIDCCore/5.5.1/essential-unknown"},
		{name: "the values of claims are not compared", spoil: claiming(func(asked map[string]any) {
			for name := range asked {
				asked[name] = nil
			}
		}), fails: "OIDCCore/5.5.1/value-other OIDCCore/5.5.1/sub-of-another OIDCCore/5.5.1.1/essential-not-met",
			blocks: "OIDCCore/14/escapes-removed OIDCCore/14/code-points"},
		{name: "the values of a requested sub are not compared", spoil: claiming(func(asked map[string]any) {
			if sub, _ := asked["sub"].(map[string]any); sub["values"] != nil {
				asked["sub"] = nil
			}
		}), fails: "OIDCCore/5.5.1/sub-of-others"},
		{name: "claims that are requested with a value are not returned", spoil: claiming(func(asked map[string]any) {
			maps.DeleteFunc(asked, func(_ string, how any) bool {
				object, _ := how.(map[string]any)
				return object["value"] != nil || object["values"] != nil
			})
		}), fails: "OIDCCore/5.5.1/value-equal"},
		{name: "claims are returned in any language", spoil: claiming(func(asked map[string]any) {
			for name, how := range maps.Clone(asked) {
				delete(asked, name)
				plain, _, _ := strings.Cut(name, "#")
				asked[plain] = how
			}
		}), fails: "OIDCCore/5.5.2/other-language"},
		{name: "escapes in the claims parameter are not decoded", spoil: ignoring("claims", holding(`\u`)),
			fails: "OIDCCore/14/escapes-removed"},
		{name: "subs are compared without regard to case", spoil: signIns(func(p *proxy, q *ask, v url.Values) {
			for _, sub := range p.named("sub ") {
				if claims := v.Get("claims"); !strings.Contains(claims, sub) &&
					strings.Contains(strings.ToLower(claims), strings.ToLower(sub)) {
					q.setQuery("claims", "")
				}
			}
		}), fails: "OIDCCore/14/code-points"},
		{name: "the claims parameter replaces the scopes", at: userInfoPath, spoil: func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if p.askedFor(carried(q)).Has("claims") {
				edit(a, put("email", nil))
			}
			return a
		}, fails: "OIDCCore/5.5/added-to-scopes"},
	})
}

// claimsIn parses a claims parameter. It returns nil if it is none.
func claimsIn(value string) map[string]map[string]any {
	var claims map[string]map[string]any
	err := json.Unmarshal([]byte(value), &claims)
	if err != nil {
		return nil
	}
	return claims
}

// claiming changes the claims that a request asks for in the ID token and at UserInfo.
func claiming(change func(asked map[string]any)) spoiler {
	return signIns(func(_ *proxy, q *ask, v url.Values) {
		claims := claimsIn(v.Get("claims"))
		for _, asked := range claims {
			change(asked)
		}
		if claims != nil {
			q.setQuery("claims", rules.Quoted(claims))
		}
	})
}

// everyClaim returns claims of the person for any token.
func everyClaim(p *proxy, q *ask) *wire.Answer {
	a := p.real(q)
	edit(a, func(object map[string]any) {
		for _, name := range []string{"name", "given_name", "family_name", "nickname", "preferred_username", "email"} {
			if object[name] == nil {
				object[name] = "conformance"
			}
		}
	})
	return a
}
