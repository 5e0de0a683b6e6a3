package conformance

import (
	"errors"
	"slices"
	"strings"
)

func oidcCore() []Rule {
	return slices.Concat(oidcIDToken(), oidcRequest(), oidcPrompt(), oidcHints(), oidcValidation(), oidcResponse(), oidcToken(),
		oidcOtherFlows(), oidcStandardClaims(), oidcUserInfo(), oidcUserInfoSigned(), oidcScopes(), oidcClaims(), oidcClaimTypes(),
		oidcRequestObjects(), oidcSubjects(), oidcClients(), oidcSigning(), oidcOffline(), oidcRefresh(), oidcSerialization(),
		oidcMandatory(), oidcSecurity(), oidcPrivacy())
}

// signIn is what a check needs that has a person sign in to a client.
func signIn(more ...Need) []Need { return append(codeFlow(NeedOpenID), more...) }

// openID is what an authentication request needs that is not redeemed.
func openID(more ...Need) []Need { return append(asking(NeedOpenID), more...) }

// wantSignature asserts that a JWT for a client is signed as it says it is.
func (t *T) wantSignature(j *JWT, c *Client) {
	var keys []JWK
	if !strings.HasPrefix(j.Algorithm(), "HS") {
		keys = t.Keys()
	}
	err := j.verify(keys, c.Secret)
	switch {
	case errors.Is(err, errForeign):
		t.Skipf("%v", err)
	case err != nil:
		t.Failf("the signature by %s does not hold: %v", j.Algorithm(), err)
	}
}

// wantsScope ends the check if the server does not list a scope.
func (t *T) wantsScope(scope string) {
	if !t.Metadata().lists("scopes_supported", scope) {
		t.Skipf("the server does not list the scope %s", scope)
	}
}

// wantsClaimsParameter ends the check if the server does not have the parameter.
func (t *T) wantsClaimsParameter() {
	if !t.Metadata().is("claims_parameter_supported") {
		t.Skipf("the server does not say claims_parameter_supported")
	}
}

// withID skips the check if a refresh gave no ID token.
func (t *T) withID(tokens *Tokens) *Tokens {
	if tokens.ID == "" {
		t.Skipf("a refresh gives no ID token, which it need not")
	}
	return tokens
}

// wantReauthentication asserts that a request in a browser where somebody is signed in leads to the login,
// or else to an error.
func (t *T) wantReauthentication(b *Browser, r *Request, why string) {
	asked, response := t.AsksPassword(b, r)
	if asked || response.ErrorCode() != "" {
		return
	}
	t.At(response.Answer)
	t.Failf("nobody is asked to sign in, although %s: %s", why, response)
}

// wantErrorBack asserts that a request came back to the client with some error and no code.
func (t *T) wantErrorBack(r *Response, why string) {
	t.WantNoCode(r, why)
	if !r.Arrived() || r.ErrorCode() == "" {
		t.Failf("no error came back to the redirect URI, although %s: %s", why, r)
	}
}

// wantCode asserts that a request is granted.
func (t *T) wantCode(r *Response, what string) {
	if r.Stuck != "" {
		t.Blockedf("%s", r)
	}
	if r.Params.Get("code") == "" {
		t.At(r.Answer)
		t.Failf("%s ends with %s", what, r.outcome())
	}
}

// wantOwnQuestion asserts that a person's yes counts for the question that their own browser was asked: an attacker's
// question, answered by it, gives no code.
func (t *T) wantOwnQuestion(attackers *Browser, ask func() *Request) {
	victims := t.NewBrowser()
	// Asked to ask (OIDC Core §3.1.2.1), in case that a yes is remembered.
	question := t.Question(attackers, ask().Set("prompt", "consent"))
	question.action = attackers.Page.URL.ResolveReference(mustURL(question.action)).String()
	t.Question(victims, ask().Set("prompt", "consent"))
	r := ended(ask(), victims, victims.submit(question))
	t.WantNoCode(r, "the answer is to a question that another browser was asked")
}
