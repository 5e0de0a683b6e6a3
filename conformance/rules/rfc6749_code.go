package rules

import (
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/target"
)

// rfc6749Code returns the rules about authorization requests and successful responses (RFC 6749 §4.1.1, §4.1.2).
func rfc6749Code() []Rule {
	return []Rule{
		{
			ID: "RFC6749/4.1.1/state-optional", Level: May,
			Text:  "state is optional, and a response to a request without it has none.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				t.Code(t.Request(t.Client(need.Code)))
				r := settled(t, t.Authorize(t.Request(t.Client(need.Code)).Del("state")))
				if r.Params.Get("code") == "" {
					t.Failf("a request without state ends with %s", r.Outcome())
				}
				if r.Params.Has("state") {
					t.Failf("the response has a state that was not sent: %q", r.Params.Get("state"))
				}
			},
		},
		{
			ID: "RFC6749/4.1.1/long-state", Level: May,
			Text:  "The server accepts a state of 4096 characters.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				t.Code(t.Request(t.Client(need.Code)))
				state := strings.Repeat("s", 4096)
				r := settled(t, t.Authorize(t.Request(t.Client(need.Code)).Set("state", state)))
				if r.Params.Get("code") == "" {
					t.Failf("a request with a state of 4096 characters ends with %s", r.Outcome())
				}
				if got := r.Params.Get("state"); got != "" && got != state {
					t.Failf("a state of 4096 characters is returned with %d", len(got))
				}
			},
		},
		{
			ID: "RFC6749/4.1.2/code-issued", Level: Must,
			Text:  "If the person approves, the server sends a code to the redirect URI.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				r := settled(t, t.Authorize(t.Request(t.Client(need.Code))))
				switch {
				case !r.Arrived() || r.ErrorCode() != "":
					t.Blockedf("a request of the client code ends with %s: the client or the scope can be wrong in the target", r)
				case r.Params.Get("code") == "":
					t.Failf("the response has neither a code nor an error")
				}
			},
		},
		{
			ID: "RFC6749/4.1.2/in-query", Level: Must,
			Text:  "The code is in the query of the redirect URI.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				r := t.Authorize(t.Request(t.Client(need.Code)))
				t.CodeOf(r)
				if r.Mode != "query" {
					t.At(r.Answer)
					t.Failf("the code was returned in the %s", r.Mode)
				}
			},
		},
		{
			ID: "RFC6749/4.1.2/state-returned", Level: Must,
			Text:  "The server returns state unchanged.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				plain := t.Authorize(t.Request(c))
				t.CodeOf(plain)
				wantState(t, plain)
				// RFC 6749, Appendix A.5: state has printable ASCII characters.
				unusual := settled(t, t.Authorize(t.Request(c).Set("state", "a b+c%20d&e=f#g\"<h>\\i/?"+t.Random())))
				if !unusual.Arrived() {
					t.Blockedf("a request whose state has spaces and punctuation ends with %s", unusual)
				}
				wantState(t, unusual)
			},
		},
		{
			ID: "RFC6749/4.1.2/code-short-lived", Level: Must,
			Text:     "A code expires soon after it was issued.",
			TestedBy: "conformance/mandate/spec_introspection_test.go:TestSpecExpiry",
		},
		{
			ID: "RFC6749/4.1.2/ten-minutes", Level: Should,
			Text:     "The lifetime of a code is at most ten minutes.",
			TestedBy: "app/config/error_test.go:TestConfigErrors",
		},
		{
			ID: "RFC6749/4.1.2/code-once", Level: Must, Alone: true,
			Text:  "The server refuses a code that is used a second time.",
			Needs: codeFlowNeeds(),
			Check: func(t *T) {
				code := t.Code(t.Request(t.Client(need.Code)))
				t.Granted(t.Redeem(code))
				t.WantRefused(t.Redeem(code), "the code was used before")
			},
		},
		{
			ID: "RFC6749/4.1.2/replay-revokes", Level: Should, Alone: true,
			Text:  "If a code is used twice, the server revokes the tokens that it issued for it.",
			Needs: codeFlowNeeds(),
			Check: func(t *T) {
				code := t.Code(t.Request(t.Client(need.Code)))
				tokens := workingTokens(t, t.Granted(t.Redeem(code)))
				t.Redeem(code)
				if t.Works(tokens.Access) {
					t.Failf("the access token still works after the code was used twice")
				}
				if tokens.Refresh != "" && t.Refresh(t.Client(need.Code), tokens.Refresh).Granted() {
					t.Failf("the refresh token still works after the code was used twice")
				}
			},
		},
		{
			ID: "RFC6749/4.1.2/size-documented", Level: Should,
			Text:         "The documentation states the size of codes.",
			Inapplicable: "The documentation states it in its security model.",
		},
	}
}

// rfc6749CodeErrors returns the rules about errors of the authorization endpoint (RFC 6749 §4.1.2.1).
func rfc6749CodeErrors() []Rule {
	return []Rule{
		{
			ID: "RFC6749/4.1.2.1/unknown-client-not-redirected", Level: Must,
			Text:  "If client_id is missing or unknown, the server does not redirect to the redirect URI of the request, neither before nor after a login.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				t.Code(t.Request(c))
				for _, r := range unknownClients(t, c) {
					wantNoRedirect(t, t.OpenAnonymously(r))
					wantNoRedirect(t, t.Authorize(r))
				}
			},
		},
		{
			ID: "RFC6749/4.1.2.1/unknown-client-told", Level: Should,
			Text:  "If client_id is missing or unknown, the server tells the person.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				t.Code(t.Request(c))
				for _, r := range unknownClients(t, c) {
					wantErrorPage(t, t.Authorize(r))
				}
			},
		},
		{
			ID: "RFC6749/4.1.2.1/access-denied", Level: Must,
			Text:  "If the person denies, the client receives access_denied.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				t.WantRedirectError(t.Questioned(settled(t, t.Deny(t.Request(t.Client(need.Code))))), "access_denied")
			},
		},
		{
			ID: "RFC6749/4.1.2.1/invalid-request", Level: Must,
			Text:  "A request without a required parameter is refused with invalid_request.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				t.Code(t.Request(c))
				wantError(t, t.Authorize(t.Request(c).Del("response_type")), "invalid_request")
			},
		},
		{
			// The definition of invalid_request covers the case too: an invalid value of a parameter.
			ID: "RFC6749/4.1.2.1/unsupported-response-type", Level: Should,
			Text:  "An unsupported response_type is refused with unsupported_response_type.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				t.Code(t.Request(c))
				wantError(t, t.Authorize(t.Request(c).Set("response_type", "conformance")), "unsupported_response_type")
			},
		},
		{
			// The definition of invalid_request covers the case too: an invalid value of a parameter.
			ID: "RFC6749/4.1.2.1/invalid-scope", Level: Should,
			Text:  "An invalid scope is refused with invalid_scope.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				t.Code(t.Request(c))
				ignored := 0
				for _, scope := range badScopes {
					// The usual scope stays, so that a server that ignores unknown scopes has one to grant.
					request := t.Request(c)
					request.Set("scope", strings.TrimSpace(request.Params.Get("scope")+" "+scope))
					r := t.Authorize(request)
					if r.Params.Get("code") != "" || r.ErrorCode() == "access_denied" {
						ignored++
						continue
					}
					wantError(t, r, "invalid_scope")
				}
				if ignored == len(badScopes) {
					t.Skipf("the server ignores unknown scopes, as RFC 6749 §3.3 allows: the rule needs a server that refuses them")
				}
			},
		},
		{
			ID: "RFC6749/4.1.2.1/unauthorized-client", Level: Must,
			Text:     "A client that is not registered for the code grant is refused with unauthorized_client.",
			TestedBy: "provider/authorize_test.go:TestAuthorizeRefused",
		},
		{
			ID: "RFC6749/4.1.2.1/server-error", Level: Should,
			Text:     "If the server itself fails, it returns server_error or temporarily_unavailable, and does not blame the client.",
			TestedBy: "conformance/mandate/outage_test.go:TestOutage",
		},
		{
			ID: "RFC6749/4.1.2.1/state-returned", Level: Must,
			Text:  "An error response contains the state of the request.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				wantState(t, aRefusal(t))
			},
		},
		{
			ID: "RFC6749/4.1.2.1/ascii", Level: Must,
			Text:  "error, error_description and error_uri contain only printable ASCII without quote and backslash.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				got := aRefusal(t, func(r *check.Request) *check.Request { return r.Set("response_type", "é\"\\\n\u202e") })
				t.At(got.Answer)
				for _, name := range []string{"error", "error_description", "error_uri"} {
					wantASCII(t, name, got.Params.Get(name))
				}
			},
		},
	}
}

// wantCodeAt asserts that a code is sent to the redirect URI of a request.
func wantCodeAt(t *T, r *check.Request) {
	response := settled(t, t.Authorize(r))
	if !response.Arrived() || response.Params.Get("code") == "" {
		t.At(response.Answer)
		t.Failf("no code was returned to %s: %s", r.Params.Get("redirect_uri"), response)
	}
}

// unknownClients returns requests of the client code whose client_id is unknown or missing.
func unknownClients(t *T, c *target.Client) []*check.Request {
	return []*check.Request{t.Request(c).Set("client_id", "conformance-"+t.Random()), t.Request(c).Del("client_id")}
}
