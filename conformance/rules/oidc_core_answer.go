package rules

import (
	"fmt"
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
				t.WantNoCode(t.Authorize(t.OpenID(c).Set("client_id", "conformance-"+t.Random())), "the client_id is unknown")
				t.WantNoCode(t.Authorize(t.OpenID(c).Set("response_type", "conformance")), "the response_type is unknown")
				t.WantNoCode(t.Authorize(t.OpenID(c).Add("state", "another")), "state was sent twice")
			},
		},
		{
			ID: "OIDCCore/3.1.2.2/required-parameters", Level: Must,
			Text:  "A request without client_id or response_type gets no code.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				for _, name := range []string{"client_id", "response_type"} {
					t.WantNoCode(t.Authorize(t.OpenID(t.Client(need.Code)).Del(name)), name+" is missing")
				}
			},
		},
		{
			ID: "OIDCCore/3.1.2.2/redirect-uri-of-several", Level: Must,
			Text:  "A request without redirect_uri gets no code if the client has several redirect URIs.",
			Needs: []Need{need.Authorization, need.Several, need.User, need.OpenID},
			Check: func(t *T) {
				r := t.Try(t.OpenID(t.Client(need.Several)).Del("redirect_uri"))
				t.WantNoCode(r, "redirect_uri is missing")
				wantNoRedirect(t, r)
			},
		},
		{
			ID: "OIDCCore/3.1.2.2/sub-requested", Level: Must,
			Text:  "A request for the ID token of a certain sub gets a code only if that person is signed in.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				wantsClaimsParameter(t)
				c := t.Client(need.Code)
				b := t.NewBrowser()
				own := t.Subject(t.IDToken(t.GrantIn(b, t.OpenID(c))))
				ask := func(sub string) *check.Response {
					return t.Silently(b, t.OpenID(c).Set("claims", fmt.Sprintf(`{"id_token":{"sub":{"value":%q}}}`, sub)))
				}
				if r := ask(own); r.Params.Get("code") == "" {
					t.Blockedf("a request with the person's own sub is refused too: %s", r)
				}
				t.WantNoCode(ask("conformance-"+t.Random()), "the requested sub is that of another person")
			},
		},
		{
			ID: "OIDCCore/3.1.2.2/unknown-parameters-ignored", Level: Should,
			Text:  "The server ignores unknown parameters.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				wantCode(t, t.Try(t.OpenID(t.Client(need.Code)).Set("conformance_unknown", "1")), "an unknown parameter")
			},
		},
		{
			ID: "OIDCCore/3.1.2.2/error-answered", Level: Must,
			Text:  "The server answers an invalid request with an error response.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				wantErrorBack(t, t.Try(t.OpenID(t.Client(need.Code)).Set("response_type", "conformance")), "the response_type is unknown")
			},
		},
		{
			ID: "OIDCCore/3.1.2.3/nobody-signed-in", Level: Must,
			Text:  "The server asks a person who is not signed in to sign in.",
			Needs: []Need{need.Authorization, need.Code, need.OpenID},
			Check: func(t *T) {
				asked, response := t.AsksPassword(t.NewBrowser(), t.OpenID(t.Client(need.Code)))
				if !asked {
					t.At(response.Answer)
					t.Failf("the server does not ask for a login: %s", response)
				}
			},
		},
		{
			ID: "OIDCCore/3.1.2.3/prompt-login", Level: Must, Alone: true,
			Text:  "With prompt=login the person signs in again before the server issues a code, and auth_time is the time of that login.",
			Needs: loginNeeds(need.Keys),
			Check: func(t *T) {
				c, b := t.Client(need.Code), t.NewBrowser()
				at := loginTime(t, withMaxAge(t, b))
				t.WaitPast(at, 0)
				again := t.GrantIn(b, t.OpenID(c).Set("prompt", "login").Set("max_age", "36000"))
				if renewed := t.IDToken(again).Number("auth_time"); renewed <= at {
					t.At(again.Answer)
					t.Failf("auth_time was %.0f, and is %.0f after prompt=login", at, renewed)
				}
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
			Text:  "With prompt=none, if nobody is signed in, the server returns an error and shows no page.",
			Needs: []Need{need.Authorization, need.Code, need.OpenID},
			Check: func(t *T) {
				wantErrorBack(t, t.Silently(t.NewBrowser(), t.OpenID(t.Client(need.Code))), "nobody is signed in")
			},
		},
		{
			ID: "OIDCCore/3.1.2.3/csrf", Level: Must,
			Text:  "Another site cannot make a person's browser approve an authentication request.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				wantConsentBoundToBrowser(t, t.SignedIn(), func() *check.Request { return t.OpenID(c) })
			},
		},
		{
			ID: "OIDCCore/3.1.2.3/clickjacking", Level: Must,
			Text:  "Another site cannot frame the login and consent pages.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				wantUnframed(t, t.LoginPage(t.OpenID(t.Client(need.Code))).Page)
				b := t.SignedIn()
				t.ConsentForm(b, t.OpenID(t.Client(need.Code)).Set("prompt", "consent"))
				wantUnframed(t, b.Page)
			},
		},
		{
			ID: "OIDCCore/3.1.2.4/decision-obtained", Level: Must,
			Text:  "The server releases nothing without the person's consent: if the person denies, no code is issued.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				t.WantNoCode(t.Questioned(t.Refuse(t.OpenID(t.Client(need.Code)))), "the person denied")
			},
		},
		{
			ID: "OIDCCore/3.1.2.4/says-what", Level: May,
			Text:  "The consent page names each requested scope.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				b := t.SignedIn()
				t.ConsentForm(b, t.OpenID(t.Client(need.Code), "profile").Set("prompt", "consent"))
				with := browser.Parse(b.Page).Text
				t.ConsentForm(b, t.OpenID(t.Client(need.Code)).Set("prompt", "consent"))
				if without := browser.Parse(b.Page).Text; with == without {
					t.Failf("the page is the same with and without the scope profile: %q", wire.Clip(with, 300))
				}
			},
		},
	}
}

// wantUnframed asserts that a header prevents framing by other sites.
func wantUnframed(t *T, a *wire.Answer) {
	policy := strings.ToLower(strings.Join(a.Header.Values("Content-Security-Policy"), ";"))
	options := strings.ToUpper(a.Header.Get("X-Frame-Options"))
	if !strings.Contains(policy, "frame-ancestors") && options != "DENY" && options != "SAMEORIGIN" && !framesAreHarmless(t) {
		t.At(a)
		t.Errorf("%s can be framed by any site: it has neither frame-ancestors nor X-Frame-Options", wire.Bare(a.URL))
	}
}

// oidcResponse returns the rules about successful and error responses (OIDC Core §3.1.2.5, §3.1.2.6).
func oidcResponse() []Rule {
	return []Rule{
		{
			ID: "OIDCCore/3.1.2.5/in-query", Level: Must,
			Text:  "The response adds code and state to the query of the redirect URI.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				r := t.Try(t.OpenID(t.Client(need.Code)))
				t.CodeOf(r)
				if r.Mode != "query" || !r.Arrived() {
					t.At(r.Answer)
					t.Failf("the code was returned in the %s, to %s", r.Mode, wire.Place(r.Location))
				}
				wantState(t, r)
			},
		},
		{
			ID: "OIDCCore/3.1.2.6/denied", Level: Must,
			Text:  "If the person denies, the client receives access_denied with its state.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				r := t.Questioned(t.Refuse(t.OpenID(t.Client(need.Code))))
				t.WantRedirectError(r, "access_denied")
				wantState(t, r)
			},
		},
		{
			ID: "OIDCCore/3.1.2.6/error-required", Level: Must,
			Text:  "An error response has the parameter error.",
			Needs: []Need{need.Authorization, need.Code, need.OpenID},
			Check: func(t *T) {
				if r := silentAnswer(t); r.ErrorCode() == "" {
					t.At(r.Answer)
					t.Failf("the response has no error: %s", r)
				}
			},
		},
		{
			ID: "OIDCCore/3.1.2.6/state-required", Level: Must,
			Text:  "An error response contains the state of the request.",
			Needs: []Need{need.Authorization, need.Code, need.OpenID},
			Check: func(t *T) { wantState(t, silentAnswer(t)) },
		},
		{
			ID: "OIDCCore/3.1.2.6/in-query", Level: Should,
			Text:  "The parameters of an error response are in the query of the redirect URI.",
			Needs: []Need{need.Authorization, need.Code, need.OpenID},
			Check: func(t *T) {
				if r := silentAnswer(t); r.Mode != "query" {
					t.At(r.Answer)
					t.Failf("the error was returned in the %s", r.Mode)
				}
			},
		},
		{
			ID: "OIDCCore/3.1.2.6/no-other-parameters", Level: Should,
			Text:  "An error response has no parameters except error, error_description, error_uri, state and those of later documents.",
			Needs: []Need{need.Authorization, need.Code, need.OpenID},
			Check: func(t *T) {
				// RFC 9207 adds iss, and OpenID Connect Session Management adds session_state.
				known := []string{"error", "error_description", "error_uri", "state", "iss", "session_state"}
				r := silentAnswer(t)
				for name := range r.Params {
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
			Needs: []Need{need.Authorization, need.Code, need.OpenID},
			Check: func(t *T) {
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
				r := t.Try(t.OpenID(t.Client(need.Code)).Set("response_mode", "conformance"))
				if r.Stuck != "" {
					t.Blockedf("%s", r)
				}
				t.At(r.Answer)
				if r.Location != "" {
					t.Failf("the browser was redirected: %s", r)
				}
				t.WantStatus(r.Answer, http.StatusBadRequest)
			},
		},
		{
			ID: "OIDCCore/3.1.2.6/login-required", Level: May,
			Text:  "If prompt=none is not possible without a login, the error is login_required.",
			Needs: []Need{need.Authorization, need.Code, need.OpenID},
			Check: func(t *T) { t.WantRedirectError(silentAnswer(t), "login_required") },
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
				r := t.Try(t.OpenID(t.Client(need.Code)).Set("registration", "{}"))
				t.WantRedirectError(r, "registration_not_supported")
			},
		},
	}
}

// silentAnswer returns the error for a request with prompt=none without a session. Without an error the check is
// blocked.
func silentAnswer(t *T) *check.Response {
	r := t.Silently(t.NewBrowser(), t.OpenID(t.Client(need.Code)))
	if !r.Arrived() {
		t.Blockedf("no error was returned: %s", r)
	}
	return r
}

// wantState asserts that a response has the state of its request.
func wantState(t *T, r *check.Response) {
	if want := r.Request.Params.Get("state"); r.Params.Get("state") != want {
		t.At(r.Answer)
		t.Failf("state was %q, but %q was returned", want, r.Params.Get("state"))
	}
}
