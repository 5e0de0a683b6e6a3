package rules

import (
	"errors"
	"slices"
	"strings"

	"mandate/conformance/browser"
	"mandate/conformance/check"
	"mandate/conformance/jose"
	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

func oidcCore() []Rule {
	return slices.Concat(oidcIDToken(), oidcRequest(), oidcPrompt(), oidcHints(), oidcValidation(), oidcResponse(), oidcToken(),
		oidcOtherFlows(), oidcStandardClaims(), oidcUserInfo(), oidcUserInfoSigned(), oidcScopes(), oidcClaims(), oidcClaimTypes(),
		oidcRequestObjects(), oidcSubjects(), oidcClients(), oidcSigning(), oidcOffline(), oidcRefresh(), oidcSerialization(),
		oidcMandatory(), oidcSecurity(), oidcPrivacy())
}

// signIn is what a check needs that has a person sign in to a client.
func signIn(more ...Need) []Need { return append(codeFlow(need.OpenID), more...) }

// openID is what an authentication request needs that is not redeemed.
func openID(more ...Need) []Need { return append(asking(need.OpenID), more...) }

// wantSignature asserts that a JWT for a client is signed as it says it is.
func wantSignature(t *T, j *jose.JWT, c *target.Client) {
	var keys []jose.JWK
	if !strings.HasPrefix(j.Algorithm(), "HS") {
		keys = t.Keys()
	}
	err := j.Verify(keys, c.Secret)
	switch {
	case errors.Is(err, jose.ErrUnsupported):
		t.Skipf("%v", err)
	case err != nil:
		t.Failf("the signature by %s does not hold: %v", j.Algorithm(), err)
	}
}

// wantsScope ends the check if the server does not list a scope.
func wantsScope(t *T, scope string) {
	if !t.Metadata().Lists("scopes_supported", scope) {
		t.Skipf("the server does not list the scope %s", scope)
	}
}

// wantsClaimsParameter ends the check if the server does not have the parameter.
func wantsClaimsParameter(t *T) {
	if !t.Metadata().Is("claims_parameter_supported") {
		t.Skipf("the server does not say claims_parameter_supported")
	}
}

// withID skips the check if a refresh gave no ID token.
func withID(t *T, tokens *check.Tokens) *check.Tokens {
	if tokens.ID == "" {
		t.Skipf("a refresh gives no ID token, which it need not")
	}
	return tokens
}

// wantReauthentication asserts that a request in a browser where somebody is signed in leads to the login,
// or else to an error.
func wantReauthentication(t *T, b *browser.Browser, r *check.Request, why string) {
	asked, response := t.AsksPassword(b, r)
	if asked || response.ErrorCode() != "" {
		return
	}
	t.At(response.Answer)
	t.Failf("nobody is asked to sign in, although %s: %s", why, response)
}

// wantErrorBack asserts that a request came back to the client with some error and no code.
func wantErrorBack(t *T, r *check.Response, why string) {
	t.WantNoCode(r, why)
	if !r.Arrived() || r.ErrorCode() == "" {
		t.Failf("no error came back to the redirect URI, although %s: %s", why, r)
	}
}

// wantCode asserts that a request is granted.
func wantCode(t *T, r *check.Response, what string) {
	if r.Stuck != "" {
		t.Blockedf("%s", r)
	}
	if r.Params.Get("code") == "" {
		t.At(r.Answer)
		t.Failf("%s ends with %s", what, r.Outcome())
	}
}

// wantOwnQuestion asserts that a person's yes counts for the question that their own browser was asked: an attacker's
// question, answered by it, gives no code.
func wantOwnQuestion(t *T, attackers *browser.Browser, ask func() *check.Request) {
	victims := t.NewBrowser()
	// Asked to ask (OIDC Core §3.1.2.1), in case that a yes is remembered.
	question := t.Question(attackers, ask().Set("prompt", "consent"))
	question.Action = attackers.Page.URL.ResolveReference(wire.ParseURL(question.Action)).String()
	t.Question(victims, ask().Set("prompt", "consent"))
	r := check.Ended(ask(), victims, victims.Submit(question))
	t.WantNoCode(r, "the answer is to a question that another browser was asked")
}
