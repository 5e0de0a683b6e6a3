package rules

import (
	"maps"
	"slices"
	"strings"

	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// rfc7662Security returns the rules about security and privacy (RFC 7662 §4, §5).
func rfc7662Security() []Rule {
	return []Rule{
		{
			ID: "RFC7662/4/expired", Level: Must,
			Text:     "An expired token is inactive.",
			TestedBy: "conformance/mandate/spec_introspection_test.go:TestSpecExpiry",
		},
		{
			ID: "RFC7662/4/revoked", Level: Must, Alone: true,
			Text:  "A revoked token is inactive.",
			Needs: codeFlowNeeds(need.Introspection, need.Introspect, need.Revocation),
			Check: func(t *T) {
				c := t.Client(need.Code)
				token := t.Grant(c).Access
				liveToken(t, token)
				revokeOK(t, t.Revoke(c, token))
				if t.Introspect(token)["active"] != false {
					t.Failf("the token was revoked, but is active")
				}
			},
		},
		{
			ID: "RFC7662/4/whose-person-is-gone", Level: May,
			Text:     "The tokens of a disabled account, of a deleted application and of a revoked consent become inactive at once.",
			TestedBy: "conformance/mandate/lifecycle_test.go:TestLifecycle",
		},
		{
			ID: "RFC7662/4/signature", Level: Must,
			Text:     "The server verifies the signature of a signed token.",
			TestedBy: "provider/accesstoken_test.go:TestSignedAccessTokenConfusion",
		},
		{
			ID: "RFC7662/4/not-yet-valid", Level: Must,
			Text:         "A token is inactive before its nbf.",
			Inapplicable: "Every token is valid from the moment of its issue.",
		},
		{
			ID: "RFC7662/4/specially-authorized", Level: Should,
			Text:  "Only an authorized caller can introspect.",
			Needs: introspectionNeeds(need.Code),
			Check: func(t *T) {
				a := t.Post(t.Endpoint(need.Introspection), wire.Params("token", t.Machine().Access), t.Client(need.Code).Credentials())
				if a.JSON()["active"] == true {
					t.Failf("a client that is not registered for it can introspect the token of another client")
				}
			},
		},
		{
			ID: "RFC7662/4/cache-not-past-expiry", Level: Must,
			Text:     "A resource server does not use a cached response after the token has expired.",
			TestedBy: "handlers/resource/cache_test.go:TestCacheTimes",
		},
		{
			// The document allows the caller to cache the response, and says nothing about others.
			ID: "RFC7662/4/not-cached-on-the-way", Level: May,
			Text:  "The response has Cache-Control: no-store.",
			Needs: introspectionNeeds(),
			Check: func(t *T) {
				wantHeader(t, introspectAs(t, wire.Params("token", t.Machine().Access)), "Cache-Control", "no-store")
			},
		},
		{
			// The MUST is that nobody else learns the facts. To leave them out is the simplest way, but not required.
			ID: "RFC7662/5/no-more-than-needed", Level: May,
			Text:  "The response discloses no more about a person than name and identifier.",
			Needs: codeFlowNeeds(need.Introspection, need.Introspect),
			Check: func(t *T) {
				for _, name := range slices.Sorted(maps.Keys(liveToken(t, t.Grant(t.Client(need.Code)).Access))) {
					for _, private := range []string{"email", "phone", "address", "birth", "given_name", "family_name"} {
						if strings.Contains(name, private) {
							t.Errorf("the response has the member %s", name)
						}
					}
				}
			},
		},
	}
}

// activeIn describes the member active of a response.
func activeIn(a *wire.Answer) string {
	active, is := a.JSON()["active"]
	if !is {
		return "the answer has no member active"
	}
	return "active is " + Quoted(active)
}
