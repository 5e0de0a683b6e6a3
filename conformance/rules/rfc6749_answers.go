package rules

import (
	"net/http"
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// rfc6749Answers returns the rules about successful responses of the token endpoint (RFC 6749 §5.1).
func rfc6749Answers() []Rule {
	return []Rule{
		{
			ID: "RFC6749/5.1/json", Level: Must,
			Text:  "The token response has the type application/json.",
			Needs: machine,
			Check: func(t *T) {
				a := t.Machine().Answer
				if a.MediaType() != "application/json" {
					t.Failf("the Content-Type is %q", a.Header.Get("Content-Type"))
				}
			},
		},
		{
			ID: "RFC6749/5.1/status", Level: Must,
			Text:  "The token response has the status 200.",
			Needs: machine,
			Check: func(t *T) { t.WantStatus(t.Machine().Answer, http.StatusOK) },
		},
		{
			ID: "RFC6749/5.1/token-type", Level: Must,
			Text:  "The response has token_type.",
			Needs: machine,
			Check: func(t *T) {
				if kind := t.Machine().Answer.Text("token_type"); kind == "" {
					t.Failf("the response has no token_type")
				}
			},
		},
		{
			ID: "RFC6749/5.1/expires-in", Level: Should,
			Text:  "The response has expires_in, the lifetime of the access token in whole seconds.",
			Needs: machine,
			Check: func(t *T) {
				seconds, is := t.Machine().Answer.JSON()["expires_in"].(float64)
				if !is || seconds <= 0 || seconds != float64(int64(seconds)) {
					t.Failf("expires_in is %v", t.Machine().Answer.JSON()["expires_in"])
				}
			},
		},
		{
			ID: "RFC6749/5.1/ten-hours", Level: May,
			Text:  "The default lifetime of an access token is 36000 seconds.",
			Needs: machine,
			Check: func(t *T) {
				if seconds := tokenLifetime(t); seconds != 36000 {
					t.Failf("expires_in is %v", seconds)
				}
			},
		},
		{
			ID: "RFC6749/5.1/scope-identical", Level: Must,
			Text:         "The response has the scope of the token, unless it equals the requested scope.",
			Inapplicable: "It repeats §3.3, whose rule is checked.",
		},
		{
			ID: "RFC6749/5.1/no-store", Level: Must,
			Text:  "A response with tokens has Cache-Control: no-store.",
			Needs: machine,
			Check: func(t *T) { wantHeader(t, t.Machine().Answer, "Cache-Control", "no-store") },
		},
		{
			ID: "RFC6749/5.1/no-cache", Level: Must,
			Text:  "A response with tokens has Pragma: no-cache.",
			Needs: machine,
			Check: func(t *T) { wantHeader(t, t.Machine().Answer, "Pragma", "no-cache") },
		},
		{
			ID: "RFC6749/5.1/size-documented", Level: Should,
			Text:         "The documentation states the size of tokens.",
			Inapplicable: "The documentation states it in its security model.",
		},
	}
}

// rfc6749Errors returns the rules about error responses of the token endpoint (RFC 6749 §5.2).
func rfc6749Errors() []Rule {
	return []Rule{
		{
			ID: "RFC6749/5.2/status-400", Level: Must,
			Text:  "The server answers an invalid token request with the status 400.",
			Needs: machine,
			Check: func(t *T) {
				a := t.Token(t.Client(need.Machine), wire.Params("scope", "conformance"))
				if a.Granted() {
					t.Blockedf("a request without grant_type returned a token")
				}
				t.WantStatus(a, http.StatusBadRequest)
			},
		},
		{
			ID: "RFC6749/5.2/json", Level: Must,
			Text:  "An error response has the type application/json and the member error.",
			Needs: machine,
			Check: func(t *T) {
				a := t.Token(t.Client(need.Machine), wire.Params("scope", "conformance"))
				if a.MediaType() != "application/json" || a.Text("error") == "" {
					t.Failf("the Content-Type is %q, and error is %q", a.Header.Get("Content-Type"), a.Text("error"))
				}
			},
		},
		{
			ID: "RFC6749/5.2/no-store", Level: Must,
			Text:  "An error response must not be cached either.",
			Needs: machine,
			Check: func(t *T) {
				a := t.Token(t.Client(need.Machine), wire.Params("scope", "conformance"))
				wantHeader(t, a, "Cache-Control", "no-store")
			},
		},
		{
			ID: "RFC6749/5.2/invalid-request", Level: Must,
			Text:  "A request without a required parameter is refused with invalid_request.",
			Needs: []Need{need.Token, need.Code},
			Check: func(t *T) {
				t.WantError(t.Token(t.Client(need.Code), wire.Params("grant_type", "authorization_code")), "invalid_request")
				t.WantError(t.Token(t.Client(need.Code), wire.Params("code", "conformance")), "invalid_request")
			},
		},
		{
			ID: "RFC6749/5.2/invalid-client", Level: Must,
			Text:  "An unknown client, or one with a wrong secret, is refused with invalid_client.",
			Needs: machine,
			Check: func(t *T) {
				t.WantError(t.AsMachine(t.Client(need.Machine).With("wrong-"+t.Random())), "invalid_client")
				t.WantError(t.AsMachine(wire.Basic("conformance-"+t.Random(), "wrong-secret")), "invalid_client")
			},
		},
		{
			ID: "RFC6749/5.2/invalid-client-401", Level: Must,
			Text:  "If client authentication by HTTP Basic fails, the server answers with 401 and WWW-Authenticate: Basic.",
			Needs: machine,
			Check: func(t *T) {
				c := t.Client(need.Machine)
				a := t.AsMachine(wire.Basic(c.ID, "wrong-"+t.Random()))
				t.Refused(a)
				t.WantStatus(a, http.StatusUnauthorized)
				wantScheme(t, a, "Basic")
			},
		},
		{
			ID: "RFC6749/5.2/invalid-grant", Level: Must,
			Text:  "An invalid code or refresh token is refused with invalid_grant.",
			Needs: []Need{need.Token, need.Code},
			Check: func(t *T) {
				c := t.Client(need.Code)
				verifier, _ := check.NewPKCE()
				code := wire.Params("grant_type", "authorization_code", "code", "conformance-"+t.Random(), "redirect_uri", c.RedirectURI(), "code_verifier", verifier)
				t.WantError(t.Token(c, code), "invalid_grant")
				t.WantError(t.Refresh(c, "conformance-"+t.Random()), "invalid_grant")
			},
		},
		{
			ID: "RFC6749/5.2/unauthorized-client", Level: Must,
			Text:  "A client that is not registered for a grant type is refused with unauthorized_client.",
			Needs: []Need{need.Token, need.Code},
			Check: func(t *T) {
				a := t.AsMachine(t.Client(need.Code).Credentials())
				if a.Granted() {
					t.Skipf("the client code is registered for client credentials too")
				}
				t.WantError(a, "unauthorized_client")
			},
		},
		{
			ID: "RFC6749/5.2/unsupported-grant-type", Level: Must,
			Text:  "An unsupported grant type is refused with unsupported_grant_type.",
			Needs: machine,
			Check: func(t *T) {
				a := t.Token(t.Client(need.Machine), wire.Params("grant_type", "urn:example:conformance"))
				t.WantError(a, "unsupported_grant_type")
			},
		},
		{
			ID: "RFC6749/5.2/invalid-scope", Level: Must,
			Text:  "The token endpoint refuses an invalid scope with invalid_scope.",
			Needs: machine,
			Check: func(t *T) {
				ignored := 0
				for _, scope := range badScopes {
					a := t.AsMachine(t.Client(need.Machine).Credentials(), "scope", scope)
					if a.Granted() {
						ignored++
						continue
					}
					t.WantError(a, "invalid_scope")
				}
				if ignored == len(badScopes) {
					t.Skipf("the server ignores unknown scopes, as RFC 6749 §3.3 allows")
				}
			},
		},
		{
			ID: "RFC6749/5.2/description", Level: May,
			Text:  "error_description tells the developer of the client what to change.",
			Needs: machine,
			Check: func(t *T) {
				a := t.Token(t.Client(need.Machine), wire.Params("scope", "conformance"))
				if !strings.Contains(a.Text("error_description"), "grant_type") {
					t.Failf("grant_type is missing, but error_description is %q", a.Text("error_description"))
				}
			},
		},
		{
			ID: "RFC6749/5.2/ascii", Level: Must,
			Text:  "error, error_description and error_uri contain only printable ASCII without quote and backslash.",
			Needs: machine,
			Check: func(t *T) {
				a := t.Token(t.Client(need.Machine), wire.Params("grant_type", "é\"\\\n\u202e"))
				for _, name := range []string{"error", "error_description", "error_uri"} {
					wantASCII(t, name, a.Text(name))
				}
			},
		},
	}
}

// rfc6749Refresh returns the rules about refreshing (RFC 6749 §6).
func rfc6749Refresh() []Rule {
	return []Rule{
		{
			ID: "RFC6749/6/granted", Level: Must,
			Text:  "A valid refresh token returns an access token.",
			Needs: codeFlowNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				t.WantGranted(t.Refresh(c, t.GrantRefresh(c).Refresh))
			},
		},
		{
			ID: "RFC6749/6/client-authenticated", Level: Must,
			Text:  "A confidential client must use its secret to refresh.",
			Needs: codeFlowNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				wantSecret(t, c, wire.Params("grant_type", "refresh_token", "refresh_token", t.GrantRefresh(c).Refresh))
			},
		},
		{
			ID: "RFC6749/6/bound-to-client", Level: Must,
			Text:  "A refresh token works only for the client to which it was issued.",
			Needs: codeFlowNeeds(need.Second, need.Public),
			Check: func(t *T) {
				token := t.GrantRefresh(t.Client(need.Code)).Refresh
				for _, thief := range []Need{need.Second, need.Public} {
					t.WantRefused(t.Refresh(t.Client(thief), token), "the refresh token was issued to another client")
				}
			},
		},
		{
			ID: "RFC6749/6/validated", Level: Must,
			Text:  "The server refuses a refresh token that it did not issue, or that is truncated.",
			Needs: codeFlowNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				tokens := t.GrantRefresh(c)
				for _, value := range append(Spoilt(tokens.Refresh), tokens.Access) {
					t.WantRefused(t.Refresh(c, value), "the server did not issue the refresh token")
				}
			},
		},
		{
			ID: "RFC6749/6/scope-not-widened", Level: Must,
			Text:  "A refresh returns no scope that was not granted originally.",
			Needs: codeFlowNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				all := t.Scopes(t.Grant(c))
				// The server decides on which scope a refresh token depends, so each scope is left out in turn.
				for i, missing := range all {
					asked := strings.Join(slices.Delete(slices.Clone(all), i, i+1), " ")
					narrow := t.Granted(t.Redeem(t.Code(t.Request(c).Set("scope", asked))))
					if narrow.Refresh == "" || slices.Contains(strings.Fields(narrow.Scope), missing) {
						continue
					}
					a := t.Refresh(c, narrow.Refresh, "scope", strings.Join(all, " "))
					// RFC 6749 §5.1: a response without scope grants the requested scope.
					if got := a.Text("scope"); a.Granted() && (got == "" || slices.Contains(strings.Fields(got), missing)) {
						t.Failf("%s was granted, but a refresh returned %s too", asked, missing)
					}
					return
				}
				t.Skipf("the server issues no refresh token to the client code without %s", strings.Join(all, " "))
			},
		},
		{
			ID: "RFC6749/6/scope-omitted", Level: Must,
			Text:  "A refresh without scope returns the whole scope that was granted originally.",
			Needs: codeFlowNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				first := t.GrantRefresh(c)
				again := t.Granted(t.Refresh(c, first.Refresh))
				if again.Scope != "" && again.Scope != first.Scope {
					t.Failf("%q was granted, but a refresh returned %q", first.Scope, again.Scope)
				}
			},
		},
		{
			ID: "RFC6749/6/new-token-same-scope", Level: Must,
			Text:  "A new refresh token has the scope of the replaced one, even if the access token was requested with less.",
			Needs: codeFlowNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				first := t.GrantRefresh(c)
				all := t.Scopes(first)
				narrow := t.Granted(t.Refresh(c, first.Refresh, "scope", all[0]))
				if narrow.Refresh == "" {
					t.Skipf("the server returns no new refresh token")
				}
				whole := t.WantGranted(t.Refresh(c, narrow.Refresh))
				if whole.Scope != first.Scope {
					t.Failf("%q was granted; after a refresh with %q the next refresh returned %q", first.Scope, all[0], whole.Scope)
				}
			},
		},
		{
			ID: "RFC6749/6/rotated", Level: May, Alone: true,
			Text:  "Each refresh returns a new refresh token, and the old one becomes invalid.",
			Needs: codeFlowNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				first := wantRotated(t, c)
				t.WantRefused(t.Refresh(c, first.Refresh), "the refresh token was used before")
			},
		},
		{
			ID: "RFC6749/6/old-access-token-lives", Level: May,
			Text:  "An access token remains valid after a refresh.",
			Needs: codeFlowNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				first := workingTokens(t, t.GrantRefresh(c))
				t.Granted(t.Refresh(c, first.Refresh))
				if !t.Works(first.Access) {
					t.Failf("the first access token is no longer valid")
				}
			},
		},
	}
}

// wantRotated asserts that a refresh returns a new refresh token. It returns the tokens before the refresh.
func wantRotated(t *T, c *target.Client) *check.Tokens {
	first := t.GrantRefresh(c)
	second := t.Granted(t.Refresh(c, first.Refresh))
	if second.Refresh == "" || second.Refresh == first.Refresh {
		t.Failf("the refresh returned no new refresh token")
	}
	return first
}
