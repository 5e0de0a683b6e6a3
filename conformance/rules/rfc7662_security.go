package rules

import (
	"maps"
	"slices"
	"strings"

	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// rfc7662Security has the checks of the rules about security and privacy (RFC 7662 §4, §5).
var rfc7662Security = checks{
	"RFC7662/4/revoked": func(t *T) {
		c := t.Client(need.Code)
		token := t.Grant(c).Access
		liveToken(t, token)
		revokeOK(t, t.Revoke(c, token))
		if t.Introspect(token)["active"] != false {
			t.Failf("the token was revoked, but is active")
		}
	},
	"RFC7662/4/specially-authorized": func(t *T) {
		a := t.Post(t.Endpoint(need.Introspection), wire.Params("token", t.Machine().Access),
			t.Client(need.Code).Credentials())
		if a.JSON()["active"] == true {
			t.Failf("a client that is not registered for it can introspect the token of another client")
		}
	},
	"RFC7662/4/not-cached-on-the-way": func(t *T) {
		wantHeader(t, introspectAs(t, wire.Params("token", t.Machine().Access)), "Cache-Control", "no-store")
	},
	"RFC7662/5/no-more-than-needed": func(t *T) {
		for _, name := range slices.Sorted(maps.Keys(liveToken(t, t.Grant(t.Client(need.Code)).Access))) {
			for _, private := range []string{"email", "phone", "address", "birth", "given_name", "family_name"} {
				if strings.Contains(name, private) {
					t.Errorf("the response has the member %s", name)
				}
			}
		}
	},
}

// activeIn describes the member active of a response.
func activeIn(a *wire.Answer) string {
	active, is := a.JSON()["active"]
	if !is {
		return "the answer has no member active"
	}
	return "active is " + Quoted(active)
}
