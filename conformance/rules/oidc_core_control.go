package rules

import (
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"mandate/conformance/browser"
	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/target"
)

// The controls of the rules of OIDC Core: what a check has to know before a refusal, or a difference between two
// answers, proves anything.

// provider returns the metadata of the OpenID Provider. A server can publish a second document with other members
// (RFC 8414 §3).
func provider(t *T) check.Metadata {
	if a := t.Get(discoveryAddress(t)); isMetadata(a) {
		return a.JSON()
	}
	return t.Metadata()
}

// wantsScope skips the check if the server does not list a scope.
func wantsScope(t *T, scope string) {
	if !provider(t).Lists("scopes_supported", scope) {
		t.Skipf("the rule applies to a server that supports the scope %s: scopes_supported in its metadata does not list it",
			scope)
	}
}

// wantsClaimsParameter skips the check if the server does not support the parameter claims.
//
// OIDC Core §5.5: the parameter is optional, and the metadata says whether it is supported.
func wantsClaimsParameter(t *T) {
	if !provider(t).Is("claims_parameter_supported") {
		t.Skipf("the rule applies to a server that supports the parameter claims: its metadata does not contain " +
			"claims_parameter_supported: true")
	}
}

// another returns a copy of a request with its own state, without one parameter.
func another(t *T, r *check.Request, without string) *check.Request {
	params := url.Values{}
	for name, values := range r.Params {
		params[name] = slices.Clone(values)
	}
	c := &check.Request{Client: r.Client, Params: params, Verifier: r.Verifier, Endpoint: r.Endpoint}
	return c.Set("state", t.Random()).Del(without)
}

// wantTaken asserts that a request with a certain parameter gets a code. If the same request gets none without the
// parameter, the check is blocked.
func wantTaken(t *T, r *check.Request, parameter string) *check.Response {
	response := settled(t, t.Authorize(r))
	if response.Params.Get("code") != "" {
		return response
	}
	if control := t.Authorize(another(t, r, parameter)); control.Params.Get("code") == "" {
		t.Blockedf("without %s the same request gets no code either: %s", parameter, control)
	}
	t.At(response.Answer)
	t.Failf("with %s=%q the request gets no code, and without it does: %s", parameter, r.Params.Get(parameter), response)
	return nil
}

// wantCode asserts that a code is issued.
func wantCode(t *T, r *check.Response, what string) {
	if settled(t, r).Params.Get("code") == "" {
		t.At(r.Answer)
		t.Failf("%s gets no code: %s", what, r)
	}
}

// tokensOf redeems the code of a response.
func tokensOf(t *T, r *check.Response) *check.Tokens { return t.Granted(t.Redeem(t.CodeOf(r))) }

// answered sends a request in a browser in which the person is signed in, and approves it if the server asks. It never
// signs in: a login page is an answer too.
func answered(t *T, b *browser.Browser, r *check.Request) *check.Response {
	asked, response := t.AsksPassword(b, r)
	if asked || response.Location != "" || response.Answer.Status >= http.StatusBadRequest {
		return response
	}
	return settled(t, t.Walk(b, r, true))
}

// wantAnsweredWithCode blocks the check if a request gets no code in a browser in which the person is signed in.
func wantAnsweredWithCode(t *T, b *browser.Browser, r *check.Request, what string) {
	if response := answered(t, b, r); response.Params.Get("code") == "" {
		t.WantRemembered()
		t.Blockedf("%s gets no code either, so that a refusal proves nothing: %s", what, response)
	}
}

// wantReauthentication asserts that a request in a browser with a session gets no code before the person has signed in
// again. An error is correct too.
func wantReauthentication(t *T, b *browser.Browser, r *check.Request, why string) {
	before := t.SignIns(b)
	asked, response := t.AsksPassword(b, r)
	if asked || response.ErrorCode() != "" {
		return
	}
	if response.Location == "" && response.Answer.Status < http.StatusBadRequest {
		response = t.Walk(b, r, true) // another page, for example one to choose an account
	}
	switch {
	case t.SignIns(b) > before || response.ErrorCode() != "":
	case response.Params.Get("code") != "":
		t.At(response.Answer)
		t.Failf("a code was issued without a login, although %s", why)
	default:
		t.Blockedf("it is unknown whether the server asks for a login: %s", response)
	}
}

// denied sends a request in a browser of its own, in which the person signs in and denies it. With prompt=consent the
// server asks even if the person has approved before (OIDC Core §3.1.2.1).
func denied(t *T, r *check.Request) *check.Response {
	response := t.Walk(t.NewBrowser(), r.Set("prompt", "consent"), false)
	return settled(t, t.Questioned(response))
}

// errorResponse returns an error response. Two requests with the response type code should get one: prompt=none if
// nobody is signed in, and a request that the person denies. Some servers send one for an unknown scope. If none does,
// the check is blocked.
func errorResponse(t *T) *check.Response {
	c := t.Client(need.Code)
	silent := t.Silently(t.NewBrowser(), t.OpenID(c))
	if silent.Arrived() && silent.Params.Get("code") == "" {
		return silent
	}
	if !t.Has(need.User) {
		t.Blockedf("prompt=none without a session gets no error, and the target has no person who could deny a request: %s",
			silent)
	}
	no := t.Walk(t.NewBrowser(), t.OpenID(c).Set("prompt", "consent"), false)
	if no.Arrived() && no.Params.Get("code") == "" {
		return no
	}
	unknown := t.Authorize(t.OpenID(c, badScopes[0]))
	if unknown.Arrived() && unknown.Params.Get("code") == "" {
		return unknown
	}
	kind := t.Authorize(t.OpenID(c).Set("response_type", "conformance"))
	if !kind.Arrived() || kind.Params.Get("code") != "" {
		t.Blockedf("no error reached the redirect URI, neither for prompt=none without a session, nor for a denied "+
			"request, nor for an unknown scope, "+
			"nor for an unknown response_type: %s; %s; %s; %s", silent, no, unknown, kind)
	}
	return kind
}

// asking returns a request with a claims parameter for one claim.
func asking(t *T, c *target.Client, where, name string, how any) *check.Request {
	return t.OpenID(c).Set("claims", asks(where, map[string]any{name: how}))
}

// wantSubCompared blocks the check unless a requested sub decides: the person's own gets a code, and that of nobody
// gets none.
func wantSubCompared(t *T, b *browser.Browser, c *target.Client, own string) {
	wantAnsweredWithCode(t, b, asking(t, c, "id_token", "sub", map[string]any{"value": own}),
		"a request for the person's own sub")
	r := answered(t, b, asking(t, c, "id_token", "sub", map[string]any{"value": "conformance-nobody"}))
	if r.Params.Get("code") != "" {
		t.Blockedf("the server ignores a sub that is requested by claims, however it is written " +
			"(OIDCCore/5.5.1/sub-of-another)")
	}
}

// subAndBrowser returns a browser in which the person is signed in and has approved, and the person's sub.
func subAndBrowser(t *T, c *target.Client) (*browser.Browser, string) {
	b := t.NewBrowser()
	return b, t.Subject(t.IDToken(t.GrantIn(b, t.OpenID(c))))
}

// returned returns the claims of UserInfo or of the ID token for a request.
func returned(t *T, where string, r *check.Request) map[string]any {
	tokens := t.GrantFor(r)
	if where == "id_token" {
		return t.IDToken(tokens).Claims
	}
	return t.UserClaims(tokens.Access)
}

// Claims of which the person may have a value. Those of the second list are for people to read (OIDC Core §5.2).
var (
	anyClaims      = []string{"email", "nickname", "name", "preferred_username", "given_name", "family_name"}
	readableClaims = []string{"name", "nickname", "given_name", "family_name"}
)

// unasked returns the claims for which the person has a value, and which the server returns neither in the ID token nor
// at UserInfo if only the scope openid is requested. Without one the check is skipped.
func unasked(t *T, where string, names []string) map[string]any {
	wantsClaimsParameter(t)
	known, always := knownClaims(t), returned(t, where, t.OpenID(t.Client(need.Code)))
	found := map[string]any{}
	for _, name := range names {
		if text, _ := known[name].(string); text != "" && always[name] == nil {
			found[name] = text
		}
	}
	if len(found) == 0 {
		t.Skipf("the rule needs a claim that the server does not return for the scope openid alone: give the person of the "+
			"target a value for %s", strings.Join(names, " or "))
	}
	return found
}

// requestable returns a claim that the server returns if the parameter claims requests it, and not otherwise, and its
// value. If the parameter brings none, the check is blocked.
func requestable(t *T, where string, names []string) (string, any) {
	candidates := unasked(t, where, names)
	request := map[string]any{}
	for name := range candidates {
		request[name] = nil
	}
	got := returned(t, where, t.OpenID(t.Client(need.Code)).Set("claims", asks(where, request)))
	for _, name := range names {
		if candidates[name] != nil && reflect.DeepEqual(got[name], candidates[name]) {
			return name, candidates[name]
		}
	}
	t.Blockedf("the parameter claims has no effect: it requested %s in %s, and none was returned "+
		"(OIDCCore/5.5/userinfo, OIDCCore/5.5/id-token)", strings.Join(names, ", "), where)
	return "", nil
}

// claimed describes how a claim was requested and what came.
func claimed(name string, how, got any) string {
	if got == nil {
		return fmt.Sprintf("%s was requested by %s, and is not returned", name, Quoted(how))
	}
	return fmt.Sprintf("%s was requested by %s, and is %s", name, Quoted(how), Quoted(got))
}
