package rules

import (
	"net/url"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
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
				r := t.Authorize(t.Request(t.Client(need.Code)).Del("state"))
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
				r := t.Authorize(t.Request(t.Client(need.Code)).Set("state", state))
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
				wantCodeAt(t, t.Request(t.Client(need.Code)))
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
				state := "a b+c%20d&e=f#g\"<h>\\i/é?" + t.Random()
				r := t.Authorize(t.Request(t.Client(need.Code)).Set("state", state))
				t.CodeOf(r)
				wantState(t, r)
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
			TestedBy: "cmd/mandate/config/error_test.go:TestConfigErrors",
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
				tokens := t.Granted(t.Redeem(code))
				if !t.Works(tokens.Access) {
					t.Blockedf("the access token does not work at first")
				}
				again := t.Redeem(code)
				if t.Works(tokens.Access) {
					t.At(again)
					t.Errorf("the access token still works after the code was used twice")
				}
				if tokens.Refresh != "" && t.Refresh(t.Client(need.Code), tokens.Refresh).Granted() {
					t.Errorf("the refresh token still works after the code was used twice")
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
			Text:  "If client_id is missing or unknown, the server does not redirect.",
			Needs: []Need{need.Authorization, need.Code},
			Check: func(t *T) {
				wantNoRedirect(t, t.OpenAnonymously(t.Request(t.Client(need.Code)).Set("client_id", "conformance-"+t.Random())))
				wantNoRedirect(t, t.OpenAnonymously(t.Request(t.Client(need.Code)).Del("client_id")))
			},
		},
		{
			ID: "RFC6749/4.1.2.1/unknown-client-told", Level: Should,
			Text:  "If client_id is missing or unknown, the server tells the person.",
			Needs: []Need{need.Authorization, need.Code},
			Check: func(t *T) {
				wantErrorPage(t, t.OpenAnonymously(t.Request(t.Client(need.Code)).Set("client_id", "conformance-"+t.Random())))
				wantErrorPage(t, t.OpenAnonymously(t.Request(t.Client(need.Code)).Del("client_id")))
			},
		},
		{
			ID: "RFC6749/4.1.2.1/access-denied", Level: Must,
			Text:  "If the person denies, the client receives access_denied.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				t.WantRedirectError(t.Questioned(t.Deny(t.Request(t.Client(need.Code)))), "access_denied")
			},
		},
		{
			ID: "RFC6749/4.1.2.1/invalid-request", Level: Must,
			Text:  "A request without a required parameter is refused with invalid_request.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				t.WantRedirectError(t.Authorize(t.Request(t.Client(need.Code)).Del("response_type")), "invalid_request")
			},
		},
		{
			ID: "RFC6749/4.1.2.1/unsupported-response-type", Level: Must,
			Text:  "An unsupported response_type is refused with unsupported_response_type.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				r := t.Authorize(t.Request(t.Client(need.Code)).Set("response_type", "conformance"))
				t.WantRedirectError(r, "unsupported_response_type")
			},
		},
		{
			ID: "RFC6749/4.1.2.1/invalid-scope", Level: Must,
			Text:  "An invalid scope is refused with invalid_scope.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				ignored := 0
				for _, scope := range badScopes {
					r := t.Authorize(t.Request(t.Client(need.Code)).Set("scope", scope))
					// A server that ignores unknown scopes can refuse a request in which no scope remains.
					if r.Params.Get("code") != "" || r.ErrorCode() == "access_denied" {
						ignored++
						continue
					}
					t.WantRedirectError(r, "invalid_scope")
				}
				if ignored == len(badScopes) {
					t.Skipf("the server ignores unknown scopes, as RFC 6749 §3.3 allows")
				}
			},
		},
		{
			ID: "RFC6749/4.1.2.1/unauthorized-client", Level: Must,
			Text:     "A client that is not registered for the code grant is refused with unauthorized_client.",
			TestedBy: "provider/authorize_test.go:TestAuthorizeRefused",
		},
		{
			ID: "RFC6749/4.1.2.1/server-error", Level: Must,
			Text:     "If the server itself fails, it returns server_error or temporarily_unavailable, and does not blame the client.",
			TestedBy: "conformance/mandate/outage_test.go:TestOutage",
		},
		{
			ID: "RFC6749/4.1.2.1/state-returned", Level: Must,
			Text:  "An error response contains the state of the request.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				wantState(t, t.WithError(t.Authorize(t.Request(t.Client(need.Code)).Del("response_type"))))
			},
		},
		{
			ID: "RFC6749/4.1.2.1/ascii", Level: Must,
			Text:  "error, error_description and error_uri contain only printable ASCII without quote and backslash.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				got := t.WithError(t.Authorize(t.Request(t.Client(need.Code)).Set("response_type", "é\"\\\n\u202e")))
				t.At(got.Answer)
				for _, name := range []string{"error", "error_description", "error_uri"} {
					wantASCII(t, name, got.Params.Get(name))
				}
			},
		},
	}
}

// rfc6749Redemption returns the rules about the exchange of a code for tokens (RFC 6749 §4.1.3, §4.1.4).
func rfc6749Redemption() []Rule {
	return []Rule{
		{
			ID: "RFC6749/4.1.3/client-authenticated", Level: Must,
			Text:  "A confidential client must use its secret to redeem a code.",
			Needs: codeFlowNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				wantSecret(t, c, t.Code(t.Request(c)).Form())
			},
		},
		{
			ID: "RFC6749/4.1.3/code-bound-to-client", Level: Must,
			Text:  "A code works only for the client to which it was issued.",
			Needs: codeFlowNeeds(need.Second),
			Check: func(t *T) {
				code := t.Code(t.Request(t.Client(need.Code)))
				thief := t.Client(need.Second)
				t.WantRefused(t.Token(thief, code.Form()), "the code was issued to another client")
				form := code.Form()
				form.Set("redirect_uri", thief.RedirectURI())
				t.WantRefused(t.Token(thief, form), "the code was issued to another client")
			},
		},
		{
			ID: "RFC6749/4.1.3/code-bound-to-public-client", Level: Must,
			Text:  "The code of a public client does not work for another client, nor the other way round.",
			Needs: codeFlowNeeds(need.Public),
			Check: func(t *T) {
				confidential, public := t.Client(need.Code), t.Client(need.Public)
				t.WantRefused(t.Token(public, t.Code(t.Request(confidential)).Form()), "the code was issued to another client")
				t.WantRefused(t.Token(confidential, t.Code(t.Request(public)).Form()), "the code was issued to another client")
			},
		},
		{
			ID: "RFC6749/4.1.3/code-valid", Level: Must,
			Text:  "The server refuses a code that it did not issue, or that is truncated.",
			Needs: codeFlowNeeds(),
			Check: func(t *T) {
				wantWhole(t, t.Code(t.Request(t.Client(need.Code))))
			},
		},
		{
			ID: "RFC6749/4.1.3/redirect-uri-present", Level: Must,
			Text:  "If the authorization request has redirect_uri, the token request needs it too.",
			Needs: []Need{need.Authorization, need.Token, need.Several, need.User},
			Check: func(t *T) { withoutRedirectURI(t, t.Client(need.Several)) },
		},
		{
			// OIDC Core §3.1.3.2: an OpenID Provider may accept a request without redirect_uri if only one is
			// registered.
			ID: "RFC6749/4.1.3/only-redirect-uri-present", Level: May,
			Text:  "The token request needs redirect_uri even if the client has only one.",
			Needs: codeFlowNeeds(),
			Check: func(t *T) { withoutRedirectURI(t, t.Client(need.Code)) },
		},
		{
			ID: "RFC6749/4.1.3/redirect-uri-identical", Level: Must,
			Text:  "redirect_uri of the token request equals that of the authorization request; another one of the client is refused.",
			Needs: []Need{need.Authorization, need.Token, need.Several, need.User},
			Check: func(t *T) {
				c := t.Client(need.Several)
				for _, uri := range []string{c.RedirectURIs[1], c.RedirectURIs[0] + "/", "https://attacker.example/"} {
					form := t.Code(t.Request(c)).Form()
					form.Set("redirect_uri", uri)
					t.WantRefused(t.Token(c, form), "the redirect URI is not the one of the authorization request")
				}
			},
		},
		{
			ID: "RFC6749/4.1.3/failure-spends-nothing", Level: May,
			Text:  "A refused token request does not consume the code.",
			Needs: codeFlowNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				code := t.Code(t.Request(c))
				form := code.Form()
				form.Set("redirect_uri", "https://attacker.example/")
				t.Refused(t.Token(c, form))
				t.WantGranted(t.Redeem(code))
			},
		},
		{
			ID: "RFC6749/4.1.4/granted", Level: Must,
			Text:  "A valid code returns an access token.",
			Needs: codeFlowNeeds(),
			Check: func(t *T) { t.WantGranted(t.Redeem(t.Code(t.Request(t.Client(need.Code))))) },
		},
		{
			ID: "RFC6749/4.1.4/refresh-token", Level: May,
			Text:  "The code grant returns a refresh token with the access token.",
			Needs: codeFlowNeeds(),
			Check: func(t *T) {
				if t.Grant(t.Client(need.Code)).Refresh == "" {
					t.Failf("the response has no refresh token")
				}
			},
		},
	}
}

// wantCodeAt asserts that a code is sent to the redirect URI of a request.
func wantCodeAt(t *T, r *check.Request) {
	response := t.Authorize(r)
	if response.Stuck != "" {
		t.Blockedf("%s", response)
	}
	if !response.Arrived() || response.Params.Get("code") == "" {
		t.At(response.Answer)
		t.Failf("no code was returned to %s: %s", r.Params.Get("redirect_uri"), response)
	}
}

// withoutRedirectURI asserts that a token request without redirect_uri is refused.
func withoutRedirectURI(t *T, c *target.Client) {
	form := t.Code(t.Request(c)).Form()
	form.Del("redirect_uri")
	t.WantRefused(t.Token(c, form), "redirect_uri is missing")
}

// wantSecret asserts that a token request of a confidential client without its secret is refused.
func wantSecret(t *T, c *target.Client, form url.Values) {
	t.WantRefused(t.Post(t.Endpoint(need.Token), form, wire.InBody(c.ID, "")), "no secret was sent")
	t.WantRefused(t.Post(t.Endpoint(need.Token), form, c.With("wrong-"+t.Random())), "the secret was wrong")
}

// wantWhole asserts that modified codes are refused.
func wantWhole(t *T, code *check.Code) {
	for _, value := range Spoilt(code.Value) {
		form := code.Form()
		form.Set("code", value)
		t.WantRefused(t.Token(code.Request.Client, form), "the server did not issue the code")
	}
}

// Spoilt returns modified copies of a text.
func Spoilt(token string) []string {
	middle := len(token) / 2
	other := "x"
	if token[middle] == 'x' {
		other = "y"
	}
	all := []string{token + "A", token[:len(token)-1], token[1:], token[:middle], token[:middle] + other + token[middle+1:]}
	if upper := strings.ToUpper(token); upper != token {
		all = append(all, upper)
	}
	return all
}
