package rules

import (
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/target"
)

// rfc6749Code has the checks of the rules about authorization requests and successful responses (RFC 6749 §4.1.1,
// §4.1.2).
var rfc6749Code = checks{
	"RFC6749/4.1.1/state-optional": func(t *T) {
		t.Code(t.Request(t.Client(need.Code)))
		r := settled(t, t.Authorize(t.Request(t.Client(need.Code)).Del("state")))
		if r.Params.Get("code") == "" {
			t.Failf("a request without state ends with %s", r.Outcome())
		}
		if r.Params.Has("state") {
			t.Failf("the response has a state that was not sent: %q", r.Params.Get("state"))
		}
	},
	"RFC6749/4.1.1/long-state": func(t *T) {
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
	"RFC6749/4.1.2/code-issued": func(t *T) {
		r := settled(t, t.Authorize(t.Request(t.Client(need.Code))))
		switch {
		case !r.Arrived() || r.ErrorCode() != "":
			t.Blockedf("a request of the client code ends with %s: the client or the scope can be wrong in the target", r)
		case r.Params.Get("code") == "":
			t.Failf("the response has neither a code nor an error")
		}
	},
	"RFC6749/4.1.2/in-query": func(t *T) {
		r := t.Authorize(t.Request(t.Client(need.Code)))
		t.CodeOf(r)
		if r.Mode != "query" {
			t.At(r.Answer)
			t.Failf("the code was returned in the %s", r.Mode)
		}
	},
	"RFC6749/4.1.2/state-returned": func(t *T) {
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
	"RFC6749/4.1.2/code-once": func(t *T) {
		code := t.Code(t.Request(t.Client(need.Code)))
		t.Granted(t.Redeem(code))
		t.WantRefused(t.Redeem(code), "the code was used before")
	},
	"RFC6749/4.1.2/replay-revokes": func(t *T) {
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
}

// rfc6749CodeErrors has the checks of the rules about errors of the authorization endpoint (RFC 6749 §4.1.2.1).
var rfc6749CodeErrors = checks{
	"RFC6749/4.1.2.1/unknown-client-not-redirected": func(t *T) {
		c := t.Client(need.Code)
		t.Code(t.Request(c))
		for _, r := range unknownClients(t, c) {
			wantNoRedirect(t, t.OpenAnonymously(r))
			wantNoRedirect(t, t.Authorize(r))
		}
	},
	"RFC6749/4.1.2.1/unknown-client-told": func(t *T) {
		c := t.Client(need.Code)
		t.Code(t.Request(c))
		for _, r := range unknownClients(t, c) {
			wantErrorPage(t, t.Authorize(r))
		}
	},
	"RFC6749/4.1.2.1/access-denied": func(t *T) {
		t.WantRedirectError(t.Questioned(settled(t, t.Deny(t.Request(t.Client(need.Code))))), "access_denied")
	},
	"RFC6749/4.1.2.1/invalid-request": func(t *T) {
		c := t.Client(need.Code)
		t.Code(t.Request(c))
		wantError(t, t.Authorize(t.Request(c).Del("response_type")), "invalid_request")
	},
	"RFC6749/4.1.2.1/unsupported-response-type": func(t *T) {
		c := t.Client(need.Code)
		t.Code(t.Request(c))
		wantError(t, t.Authorize(t.Request(c).Set("response_type", "conformance")), "unsupported_response_type")
	},
	"RFC6749/4.1.2.1/invalid-scope": rfc6749InvalidScope,
	"RFC6749/4.1.2.1/state-returned": func(t *T) {
		wantState(t, aRefusal(t))
	},
	"RFC6749/4.1.2.1/ascii": func(t *T) {
		got := aRefusal(t, func(r *check.Request) *check.Request { return r.Set("response_type", "é\"\\\n\u202e") })
		t.At(got.Answer)
		for _, name := range []string{"error", "error_description", "error_uri"} {
			wantASCII(t, name, got.Params.Get(name))
		}
	},
}

func rfc6749InvalidScope(t *T) {
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
