package rules

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"mandate/conformance/browser"
	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// oidcValidation returns the rules about the validation of a request and about the login (OIDC Core §3.1.2.2 to
// §3.1.2.4).
func oidcValidation() []Rule {
	return []Rule{
		{
			ID: "OIDCCore/3.1.2.2/oauth-parameters", Level: Must,
			Text:  "The server validates all OAuth 2.0 parameters as OAuth 2.0 requires.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				t.Code(t.OpenID(c)) // so that a refusal is because of the parameter
				t.WantNoCode(t.Authorize(t.OpenID(c).Set("client_id", "conformance-"+t.Random())), "the client_id is unknown")
				t.WantNoCode(t.Authorize(t.OpenID(c).Set("response_type", "conformance")), "the response_type is unknown")
			},
		},
		{
			ID: "OIDCCore/3.1.2.2/required-parameters", Level: Must,
			Text:  "A request without client_id, response_type or redirect_uri gets no code.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				t.Code(t.OpenID(t.Client(need.Code)))
				for _, name := range []string{"client_id", "response_type", "redirect_uri"} {
					t.WantNoCode(t.Authorize(t.OpenID(t.Client(need.Code)).Del(name)), name+" is missing")
				}
			},
		},
		{
			ID: "OIDCCore/3.1.2.2/redirect-uri-of-several", Level: Must,
			Text:  "A request without redirect_uri gets no code if the client has several redirect URIs.",
			Needs: []Need{need.Authorization, need.Several, need.User, need.OpenID},
			Check: func(t *T) {
				t.Code(t.OpenID(t.Client(need.Several)))
				r := t.Authorize(t.OpenID(t.Client(need.Several)).Del("redirect_uri"))
				t.WantNoCode(r, "redirect_uri is missing")
			},
		},
		{
			ID: "OIDCCore/3.1.2.2/sub-requested", Level: Must,
			Text:  "A request for the ID token of a certain sub gets a code only if that person is signed in.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				wantsClaimsParameter(t)
				c := t.Client(need.Code)
				b, own := subAndBrowser(t, c)
				ask := func(sub string) *check.Request { return asking(t, c, "id_token", "sub", map[string]any{"value": sub}) }
				wantAnsweredWithCode(t, b, ask(own), "a request for the person's own sub")
				t.WantNoCode(answered(t, b, ask("conformance-nobody")), "the requested sub is not that of the person who is signed in")
			},
		},
		{
			ID: "OIDCCore/3.1.2.2/unknown-parameters-ignored", Level: Should,
			Text:  "The server ignores unknown parameters.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				wantTaken(t, t.OpenID(t.Client(need.Code)).Set("conformance_unknown", "1"), "conformance_unknown")
			},
		},
		{
			ID: "OIDCCore/3.1.2.2/error-answered", Level: Must,
			Text:  "The server answers an invalid request with an error response.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				t.Code(t.OpenID(t.Client(need.Code)))
				wantErrorBack(t, t.Authorize(t.OpenID(t.Client(need.Code)).Set("response_type", "conformance")), "the response_type is unknown")
			},
		},
		{
			ID: "OIDCCore/3.1.2.3/nobody-signed-in", Level: Must,
			Text:  "The server asks a person who is not signed in to sign in.",
			Needs: anonymousNeeds(),
			Check: func(t *T) {
				asked, response := t.AsksPassword(t.NewBrowser(), t.OpenID(t.Client(need.Code)))
				if asked {
					return
				}
				if code := response.ErrorCode(); response.Params.Get("code") == "" && code != "login_required" && code != "interaction_required" {
					t.Blockedf("it is unknown whether the server asks for a login: it shows no field for a user name or a password that the checks know (forms in the target names them): %s", response)
				}
				t.At(response.Answer)
				t.Failf("nobody is signed in, and the server does not ask for a login: %s", response)
			},
		},
		{
			ID: "OIDCCore/3.1.2.3/prompt-login", Level: Must, Alone: true,
			Text:  "After the new login that prompt=login requires, auth_time is the time of that login.",
			Needs: loginNeeds(need.Keys),
			Check: func(t *T) {
				wantRenewed(t, "prompt", "login", "OIDCCore/3.1.2.3/prompt-login-asked")
			},
		},
		{
			ID: "OIDCCore/3.1.2.3/prompt-login-asked", Level: Must,
			Text:  "With prompt=login the server issues no code before the person has signed in again, even if they are signed in.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				wantNewLogin(t, t.Client(need.Code))
			},
		},
		{
			ID: "OIDCCore/3.1.2.3/prompt-none", Level: Must,
			Text:         "With prompt=none, if nobody is signed in, the server returns an error and shows no page.",
			Inapplicable: "It repeats §3.1.2.1, whose rule is checked.",
		},
		{
			ID: "OIDCCore/3.1.2.3/csrf", Level: Must,
			Text:  "Another site cannot make a person's browser approve an authentication request.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				wantConsentProtected(t, t.NewBrowser(), func() *check.Request { return t.OpenID(c) })
			},
		},
		{
			ID: "OIDCCore/3.1.2.3/clickjacking", Level: Must,
			Text:  "Another site cannot frame the login and consent pages.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				way := t.Walk(t.NewBrowser(), t.OpenID(t.Client(need.Code)).Set("prompt", "consent"), true)
				pages := slices.DeleteFunc(way.Seen, func(a *wire.Answer) bool { return len(browser.Parse(a).Forms) == 0 })
				if len(pages) == 0 {
					t.Blockedf("the server showed no page with a form: %s", way)
				}
				for _, a := range pages {
					wantUnframed(t, a)
				}
			},
		},
		{
			ID: "OIDCCore/3.1.2.4/decision-obtained", Level: Must,
			Text:  "The server releases nothing without the person's consent: if the person denies, no code is issued.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				// §3.1.2.6 defines the error, and has a rule of its own.
				t.WantWithheld(denied(t, t.OpenID(t.Client(need.Code))), "the person denied the request")
			},
		},
		{
			ID: "OIDCCore/3.1.2.4/says-what", Level: May,
			Text:  "The consent page names each requested scope.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				wantScopeNamed(t, "profile")
			},
		},
	}
}

// wantUnframed asserts that a header prevents framing by other sites, or that a frame shows nothing to act on.
func wantUnframed(t *T, a *wire.Answer) {
	why := framed(a)
	if why == "" || oldFraming(a) || framesAreHarmless(t) {
		return
	}
	if browser.Parse(a).Scripted {
		t.Skipf("the page at %s has no header against framing, and a script may prevent it: open the page in a frame to see it", wire.Bare(a.URL))
	}
	t.At(a)
	t.Errorf("any site can frame the page at %s: %s, and there is no X-Frame-Options", wire.Bare(a.URL), why)
}

// wantScopeNamed asserts that the text of the consent page changes with a scope. If it changes each time, a word that
// appears only with the scope is required; without one the check is blocked.
func wantScopeNamed(t *T, scope string) {
	b := t.NewBrowser()
	shown := func(scopes ...string) string {
		t.ConsentForm(b, t.OpenID(t.Client(need.Code), scopes...).Set("prompt", "consent"))
		return browser.Parse(b.Page).Text
	}
	without, again := shown(), shown()
	with := shown(scope)
	switch {
	case with == without:
		t.Failf("the consent page is the same with and without the scope %s: %q", scope, t.Clip(without, 300))
	case without == again:
		return
	}
	other := strings.Fields(shown(scope))
	for word := range strings.FieldsSeq(with) {
		if slices.Contains(other, word) && !slices.Contains(strings.Fields(without+" "+again), word) {
			return
		}
	}
	t.Blockedf("the text of the consent page differs each time, and no word of it appears only with the scope %s", scope)
}

// oidcResponse returns the rules about successful and error responses (OIDC Core §3.1.2.5, §3.1.2.6).
func oidcResponse() []Rule {
	return []Rule{
		{
			ID: "OIDCCore/3.1.2.5/in-query", Level: Must,
			Text:  "The response adds code and state to the query of the redirect URI.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				r := t.Authorize(t.OpenID(t.Client(need.Code)))
				t.CodeOf(r)
				if r.Mode != "query" || !r.Arrived() {
					t.At(r.Answer)
					t.Failf("the code was returned in the %s, to %s", r.Mode, wire.Place(r.Location))
				}
				wantState(t, r)
			},
		},
		{
			// With prompt=consent, consent_required is the typical error (OIDC Core §3.1.2.1).
			ID: "OIDCCore/3.1.2.6/denied", Level: Must,
			Text:  "If the person denies, the client receives access_denied or consent_required with its state.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				r := denied(t, t.OpenID(t.Client(need.Code)))
				t.WantRedirectError(r, "access_denied", "consent_required")
				wantState(t, r)
			},
		},
		{
			ID: "OIDCCore/3.1.2.6/error-required", Level: Must,
			Text:  "An error response has the parameter error.",
			Needs: anonymousNeeds(),
			Check: func(t *T) {
				if r := errorResponse(t); r.ErrorCode() == "" {
					t.At(r.Answer)
					t.Failf("the response contains neither code nor error: %s", r)
				}
			},
		},
		{
			ID: "OIDCCore/3.1.2.6/state-required", Level: Must,
			Text:  "An error response contains the state of the request.",
			Needs: anonymousNeeds(),
			Check: func(t *T) { wantState(t, errorResponse(t)) },
		},
		{
			ID: "OIDCCore/3.1.2.6/in-query", Level: Must,
			Text:  "The parameters of an error response are in the query of the redirect URI.",
			Needs: anonymousNeeds(),
			Check: func(t *T) {
				if r := errorResponse(t); r.Mode != "query" {
					t.At(r.Answer)
					t.Failf("the response type is code, and the error was returned in the %s", r.Mode)
				}
			},
		},
		{
			ID: "OIDCCore/3.1.2.6/no-other-parameters", Level: Should,
			Text:  "An error response has no parameters except error, error_description, error_uri, state and those of later documents.",
			Needs: anonymousNeeds(),
			Check: func(t *T) {
				// RFC 9207 adds iss, and OpenID Connect Session Management adds session_state.
				known := []string{"error", "error_description", "error_uri", "state", "iss", "session_state"}
				r := errorResponse(t)
				for _, name := range slices.Sorted(maps.Keys(r.Params)) {
					if !slices.Contains(known, name) {
						t.At(r.Answer)
						t.Errorf("the error response has the parameter %s", name)
					}
				}
			},
		},
		{
			ID: "OIDCCore/3.1.2.6/invalid-redirect-uri", Level: Must,
			Text:  "The server never redirects to an invalid redirect URI, neither with a code nor with an error.",
			Needs: anonymousNeeds(),
			Check: func(t *T) {
				begins(t, t.OpenID(t.Client(need.Code)))
				for _, uri := range []string{"https://attacker.example/callback", "//attacker.example/", "javascript:alert(1)", "data:text/html,x", "not a uri"} {
					wantNoRedirect(t, t.OpenAnonymously(t.OpenID(t.Client(need.Code)).Set("redirect_uri", uri)))
					wantNoRedirect(t, t.OpenAnonymously(t.OpenID(t.Client(need.Code)).Set("redirect_uri", uri).Set("prompt", "none")))
				}
			},
		},
		{
			ID: "OIDCCore/3.1.2.6/response-mode-unknown", Level: Should,
			Text:  "The server answers an unsupported response_mode with 400 and without a redirect, since it does not know how the client reads the response.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				r := settled(t, t.Authorize(t.OpenID(t.Client(need.Code)).Set("response_mode", "conformance")))
				t.At(r.Answer)
				if r.Location != "" {
					t.Failf("response_mode is unknown, but the browser was redirected: %s", r)
				}
				t.WantStatus(r.Answer, http.StatusBadRequest)
			},
		},
		{
			ID: "OIDCCore/3.1.2.6/login-required", Level: May,
			Text:  "If prompt=none is not possible without a login, the error is login_required.",
			Needs: anonymousNeeds(),
			Check: func(t *T) {
				begins(t, t.OpenID(t.Client(need.Code)))
				r := t.Silently(t.NewBrowser(), t.OpenID(t.Client(need.Code)))
				if r.ErrorCode() == "" {
					t.Blockedf("prompt=none gets no error although nobody is signed in (OIDCCore/3.1.2.1/prompt-none-no-page): %s", r)
				}
				t.WantRedirectError(r, "login_required")
			},
		},
		{
			ID: "OIDCCore/3.1.2.6/consent-required", Level: May,
			Text:     "If prompt=none is not possible without consent, the error is consent_required.",
			TestedBy: "conformance/mandate/openid_request_test.go:TestOIDCCore3Prompt",
		},
		{
			ID: "OIDCCore/3.1.2.6/account-selection-required", Level: May,
			Text:         "If the person has to choose an account, the error is account_selection_required.",
			Inapplicable: "A browser has only one session at Mandate, so there is no choice of accounts: the error is login_required.",
		},
		{
			ID: "OIDCCore/3.1.2.6/registration-not-supported", Level: May,
			Text:  "The server answers the parameter registration with registration_not_supported.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				t.Code(t.OpenID(t.Client(need.Code)))
				r := t.Authorize(t.OpenID(t.Client(need.Code)).Set("registration", "{}"))
				t.WantRedirectError(r, "registration_not_supported")
			},
		},
	}
}

// wantState asserts that a response has the state of its request.
func wantState(t *T, r *check.Response) {
	if r.Params.Get("state") == r.Request.Params.Get("state") {
		return
	}
	t.At(r.Answer)
	if !r.Params.Has("state") {
		t.Failf("the request had a state, and the response has none")
	}
	t.Failf("the state of the response is not the one of the request")
}
