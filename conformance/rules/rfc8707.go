package rules

import (
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/jose"
	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// rfc8707 has the checks of the rules about Resource Indicators.
var rfc8707 = checks{
	"RFC8707/2/audience-restricted": func(t *T) {
		one, other := t.Resources()[0], t.Resources()[1]
		wantAudience(t, forResource(t, one), one, other)
		wantAudience(t, forResource(t, other), other, one)
	},
	"RFC8707/2/invalid-target": func(t *T) {
		known := t.Resources()[0].URI
		t.CodeOf(t.Authorize(t.Request(t.Client(need.Code)).Set("resource", known)))
		for _, wrong := range []string{unknownResource, "conformance", known + "#fragment"} {
			r := settled(t, t.Authorize(t.Request(t.Client(need.Code)).Set("resource", wrong)))
			if code := r.ErrorCode(); code != "invalid_target" {
				t.At(r.Answer)
				t.Errorf("an authorization request with resource=%s is answered with %s, want the error invalid_target", wrong, r)
			}
		}
	},
	"RFC8707/2/invalid-target-at-token": func(t *T) {
		known := t.Resources()[0]
		forResource(t, known)
		for _, wrong := range []string{unknownResource, "conformance", known.URI + "#fragment"} {
			wantInvalidTarget(t, t.AsMachine(t.Client(need.Machine).Credentials(), "resource", wrong), wrong)
		}
	},
	"RFC8707/2/several": func(t *T) {
		one, other := t.Resources()[0], t.Resources()[1]
		forResource(t, one)
		a := t.AsMachine(t.Client(need.Machine).Credentials(), "resource", one.URI, "resource", other.URI)
		aud := audienceOf(t, t.WantGranted(a).Access)
		for _, r := range []target.Resource{one, other} {
			if alone := audienceOf(t, forResource(t, r)); !slices.Equal(alone, intersection(alone, aud)) {
				t.Errorf("the token for two resources has the audience %q, which lacks that of a token for %s: %q", aud,
					r.URI, alone)
			}
		}
	},
	"RFC8707/2.1/left-out": func(t *T) {
		if r := settled(t, t.Authorize(t.Request(t.Client(need.Code)))); r.Params.Get("code") == "" {
			t.Failf("without resource no code is issued: %s", r)
		}
	},
	"RFC8707/2.2/subset": func(t *T) {
		one, other := t.Resources()[0], t.Resources()[1]
		wantAudience(t, redeemFor(t, bothResources(t), one).Access, one, other)
	},
	"RFC8707/2.2/refresh-token-whole": func(t *T) {
		one, other := t.Resources()[0], t.Resources()[1]
		tokens := redeemFor(t, bothResources(t), one)
		if tokens.Refresh == "" {
			t.Skipf("the rule needs a refresh token, and the client code gets none")
		}
		a := t.Token(t.Client(need.Code),
			wire.Params("grant_type", "refresh_token", "refresh_token", tokens.Refresh, "resource", other.URI))
		wantAudience(t, t.WantGranted(a).Access, other, one)
	},
	"RFC8707/2.2/only-granted": func(t *T) {
		one, other := t.Resources()[0], t.Resources()[1]
		ask := func() *check.Code { return t.Code(t.Request(t.Client(need.Code)).Set("resource", one.URI)) }
		t.Granted(t.Redeem(ask()))
		code := ask()
		form := code.Form()
		form.Set("resource", other.URI)
		wantInvalidTarget(t, t.Token(code.Request.Client, form), other.URI)
	},
	"RFC8707/2.2/downscope": func(t *T) {
		one, other := t.Resources()[0], t.Resources()[1]
		if one.Scope == "" || other.Scope == "" {
			t.Skipf("the rule needs a scope of each resource: name it in the target under resources, as scope")
		}
		tokens := redeemFor(t, bothResources(t), one)
		if scopes := scopesOf(t, tokens.Access); slices.Contains(scopes, other.Scope) {
			t.Failf("the token for %s has the scope %s, which belongs to %s", one.URI, other.Scope, other.URI)
		}
	},
	"RFC8707/2.2/effective-scope": func(t *T) {
		code := bothResources(t)
		tokens := redeemFor(t, code, t.Resources()[0])
		requested, effective := strings.Fields(code.Request.Params.Get("scope")), scopesOf(t, tokens.Access)
		if len(intersection(requested, effective)) == len(requested) {
			t.Skipf("the rule applies to a token with less scope than the authorization request: this one has %q", effective)
		}
		t.At(tokens.Answer)
		if said := strings.Fields(tokens.Scope); len(said) != len(effective) ||
			len(intersection(said, effective)) != len(said) {
			t.Failf("the response has the scope %q, and the token %q", tokens.Scope, effective)
		}
	},
}

// wantInvalidTarget asserts that a token request is refused because of its resource.
func wantInvalidTarget(t *T, a *wire.Answer, resource string) {
	t.WantRefused(a, "the request has resource="+resource)
	t.WantError(a, "invalid_target")
}

const unknownResource = "https://conformance-unknown.example/"

// forResource returns an access token for a resource, by client credentials.
func forResource(t *T, r target.Resource) string {
	return t.Granted(t.AsMachine(t.Client(need.Machine).Credentials(), "resource", r.URI)).Access
}

// bothResources returns a code for both resources and their scopes.
func bothResources(t *T) *check.Code {
	r := t.Request(t.Client(need.Code))
	scopes := strings.Fields(r.Params.Get("scope"))
	for _, resource := range t.Resources()[:2] {
		r.Add("resource", resource.URI)
		if resource.Scope != "" && !slices.Contains(scopes, resource.Scope) {
			scopes = append(scopes, resource.Scope)
		}
	}
	if len(scopes) > 0 {
		r.Set("scope", strings.Join(scopes, " "))
	}
	return t.Code(r)
}

// redeemFor redeems a code for one resource.
func redeemFor(t *T, code *check.Code, r target.Resource) *check.Tokens {
	form := code.Form()
	form.Set("resource", r.URI)
	return t.WantGranted(t.Token(code.Request.Client, form))
}

// audienceOf returns the audience of an access token: aud of a JWT, or of an introspection response.
func audienceOf(t *T, access string) []string {
	if j, err := jose.Read(access); err == nil {
		return j.Audience()
	}
	told := t.Introspect(access)
	if told["active"] != true {
		t.Blockedf("the client introspection sees a token for a resource as inactive: it must be allowed to introspect the " +
			"tokens for the resources of the target")
	}
	return (&jose.JWT{Claims: told}).Audience()
}

// wantAudience asserts that a token is for a resource, and not for another one. The server may name a resource in aud
// in another way than the request does.
func wantAudience(t *T, access string, of, other target.Resource) {
	aud := audienceOf(t, access)
	switch {
	case len(aud) == 0:
		t.Failf("the access token for %s has no audience", of.URI)
	case slices.Contains(aud, other.URI):
		t.Failf("the access token for %s has the audience %q, which contains %s", of.URI, aud, other.URI)
	case slices.Contains(aud, of.URI):
		return
	}
	if also := audienceOf(t, forResource(t, other)); slices.Equal(aud, also) {
		t.Skipf("the server gives the tokens for %s and for %s the same audience %q, which RFC 8707 §2 allows: name two "+
			"resources with different audiences", of.URI, other.URI, aud)
	}
}

// scopesOf returns the scopes of a token that introspection shows.
func scopesOf(t *T, access string) []string {
	told, _ := t.Introspect(access)["scope"].(string)
	return strings.Fields(told)
}

func intersection(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !slices.Contains(others, name) })
}
