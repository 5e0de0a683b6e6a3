package rules

import (
	"net/http"
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// fapi2Resource has the checks of the rules about a resource server (§5.3.4).
var fapi2Resource = checks{
	"FAPI2/5.3.4/header": func(t *T) {
		b := fapiAccess(t)
		b.wantKept(t.Get(b.withQuery(b.access), b.holder.Beside(b.url, b.access)), "the token was in the query")
	},
	"FAPI2/5.3.4/validity": func(t *T) {
		b := fapiAccess(t)
		for _, other := range Spoilt(b.access) {
			b.wantKept(t.Get(b.url, b.holder.Presenting(b.url, other)), "the token was modified")
		}
	},
	"FAPI2/5.3.4/revoked": func(t *T) {
		b := fapiAccess(t)
		// RFC 7662 §4: a resource may remember for a while what it was told about a token that it has seen.
		unseen := fapiTokens(t, b.holder).Access
		a := t.Revoke(t.Client(need.FAPI), unseen)
		if a.Status != http.StatusOK { // RFC 7009 §2: a server need not revoke access tokens
			t.Skipf("the server does not revoke the access token of the client fapi2: %s", a.Failure())
		}
		b.wantKept(t.Get(b.url, b.holder.Presenting(b.url, unseen)), "the token was revoked")
	},
	"FAPI2/5.3.4/scope": wantSufficientScope,
	"FAPI2/5.3.4/sender-constrained": func(t *T) {
		b, thief := fapiAccess(t), t.Holder(t.Client(need.SecondFAPI))
		wantHeldAlone(b, thief)
	},
}

// heldAccess is an access token that is bound to a key or to a certificate, at a resource that accepts it.
type heldAccess struct {
	guarded
	holder *check.Holder
	access string
}

// fapiAccess returns a token of the client fapi2, which the api accepts.
func fapiAccess(t *T) heldAccess {
	h := fapiHolder(t)
	b := heldAccess{*protectedAPI(t), h, fapiTokens(t, h).Access}
	if a := t.Get(b.url, h.Presenting(b.url, b.access)); !b.accepted(a) {
		t.Blockedf("the api answers %s to a new token of the client fapi2: name an address under api.url that accepts its "+
			"tokens, and %s", a, certifiedAPI)
	}
	return b
}

// wantSufficientScope asserts that the api answers a token without its scope with insufficient_scope. A token with the
// scope must be accepted there, otherwise the check is blocked.
func wantSufficientScope(t *T) {
	api, h := t.API(), fapiHolder(t)
	if api.Restricted == "" {
		t.Skipf("the target names no resource that needs more scope: name one under api.wider, and its scope under api.scope")
	}
	usual := slices.DeleteFunc(strings.Fields(t.Request(t.Client(need.FAPI)).Params.Get("scope")),
		func(scope string) bool { return scope == api.Scope })
	whole, less := scopedTokens(t, h, api.Scope), scopedTokens(t, h, strings.Join(usual, " "))
	if slices.Contains(strings.Fields(less.Scope), api.Scope) {
		t.Skipf("the server grants the client fapi2 the scope %q: the rule needs a token without %s", less.Scope, api.Scope)
	}
	if a := t.Get(api.Restricted, h.Presenting(api.Restricted, whole.Access)); a.Status/100 != 2 {
		t.Blockedf("the resource %s refuses a token with the scope %s too: %s", api.Restricted, api.Scope, a)
	}
	a := t.Get(api.Restricted, h.Presenting(api.Restricted, less.Access))
	insufficient := func(c challenge) bool { return slices.Contains(c.params["error"], "insufficient_scope") }
	if a.Status/100 == 2 || !slices.ContainsFunc(challengesOf(a), insufficient) {
		t.Failf("the answer to a token without the scope %s is %s, and WWW-Authenticate is %q", api.Scope, a,
			strings.Join(a.Header.Values("WWW-Authenticate"), ", "))
	}
}

const certifiedAPI = "under api.mtls_origin where it asks for certificates, if it does so at another origin"

// wantHeldAlone asserts that a resource accepts a token from its holder alone.
func wantHeldAlone(b heldAccess, thief *check.Holder) {
	b.wantKept(b.t.Get(b.url, wire.Bearer(b.access)), "the request had neither a proof nor a certificate")
	if at := b.t.Certified(b.url); at != b.url && b.holder.Prover == nil {
		b.t.UnlessTLSEnds(func() { b.wantKept(b.t.Get(at, wire.Bearer(b.access)), "the request had no certificate") })
	}
	b.t.UnlessTLSEnds(func() {
		b.wantKept(b.t.Get(b.url, thief.Presenting(b.url, b.access)),
			"the request had another key or another certificate than that of the token")
	})
}

// wantHeld asserts that tokens are bound to their holder. If nothing shows what they are bound to, the check is
// skipped.
func wantHeld(t *T, h *check.Holder, tokens *check.Tokens) {
	if h.Prover != nil {
		if kind := tokens.Answer.Text("token_type"); !strings.EqualFold(kind, "DPoP") {
			t.At(tokens.Answer)
			t.Failf("token_type is %q, want DPoP", kind)
		}
		return
	}
	object, shown := described(t, tokens)
	if !shown {
		t.Skipf("nothing shows what the tokens of the client fapi2 are bound to: the rule needs a client introspection, or " +
			"access tokens that are JWTs")
	}
	if got, want := certifiedBy(object), t.Client(need.FAPI).Thumbprint(); got != want {
		t.Failf("cnf is %s, want x5t#S256 with the value %s", Quoted(object["cnf"]), want)
	}
}
