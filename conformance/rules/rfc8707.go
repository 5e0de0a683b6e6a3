package rules

import (
	"reflect"

	"mandate/conformance/need"
)

const ignoresResource = "Mandate does not support the parameter resource, and ignores it like any unknown parameter."

// rfc8707 returns the rules about Resource Indicators.
func rfc8707() []Rule {
	return []Rule{
		{
			ID: "RFC8707/2/audience-restricted", Level: Should,
			Text:         "A token is valid for the requested resources, and for no others.",
			Inapplicable: ignoresResource,
		},
		{
			ID: "RFC8707/2/invalid-target", Level: Should,
			Text:         "An invalid or unknown resource is refused with invalid_target.",
			Inapplicable: ignoresResource,
		},
		{
			ID: "RFC8707/2/once", Level: May,
			Text:  "The parameter resource may appear once: a request with several is refused, like one with any other repeated parameter.",
			Needs: machineNeeds(),
			Check: func(t *T) {
				t.Machine()
				a := t.AsMachine(t.Client(need.Machine).Credentials(), "resource", "https://one.example/", "resource", "https://two.example/")
				t.WantRefused(a, "resource was sent twice")
			},
		},
		{
			ID: "RFC8707/2.1/ignored", Level: May,
			Text:  "The parameter resource does not change the response to an authorization request.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				for _, resource := range []string{"https://api.example/", "no URI"} {
					r := settled(t, t.Authorize(t.Request(t.Client(need.Code)).Set("resource", resource)))
					if r.Params.Get("code") == "" {
						t.At(r.Answer)
						t.Errorf("with the resource %q no code is issued: %s", resource, r)
					}
				}
			},
		},
		{
			ID: "RFC8707/2.1/left-out", Level: May,
			Text:  "A request without resource is accepted.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				if r := settled(t, t.Authorize(t.Request(t.Client(need.Code)))); r.Params.Get("code") == "" {
					t.Failf("without resource no code is issued: %s", r)
				}
			},
		},
		{
			ID: "RFC8707/2.2/ignored", Level: May,
			Text:  "The parameter resource does not change the response to a token request.",
			Needs: machineNeeds(),
			Check: func(t *T) {
				for _, resource := range []string{"https://api.example/", "no URI"} {
					t.WantGranted(t.AsMachine(t.Client(need.Machine).Credentials(), "resource", resource))
				}
			},
		},
		{
			ID: "RFC8707/2.2/subset", Level: May,
			Text:         "A code and a refresh token are valid only for the resources of their authorization request.",
			Inapplicable: ignoresResource,
		},
		{
			ID: "RFC8707/2.2/audience-stays", Level: May,
			Text:  "Introspection returns the same audience for a token that was requested with resource as for any other.",
			Needs: introspectionNeeds(),
			Check: func(t *T) {
				a := t.AsMachine(t.Client(need.Machine).Credentials(), "resource", "https://api.example/")
				if a.Text("error") == "invalid_target" {
					t.Skipf("the rule applies to a server that ignores the parameter resource: this one refuses an unknown resource: %s", a.Failure())
				}
				with := t.Granted(a).Access
				one, other := t.Introspect(with)["aud"], t.Introspect(t.Machine().Access)["aud"]
				if !reflect.DeepEqual(one, other) {
					t.Failf("aud is %v with resource, but %v without", one, other)
				}
			},
		},
		{
			ID: "RFC8707/2.2/effective-scope", Level: Should,
			Text:         "If a token has less scope because of its resources, the response names its scope.",
			Inapplicable: ignoresResource,
		},
	}
}
