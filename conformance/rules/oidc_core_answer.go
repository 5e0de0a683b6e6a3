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

// oidcValidation has the checks of the rules about the validation of a request and about the login (OIDC Core §3.1.2.2
// to §3.1.2.4).
var oidcValidation = checks{
	"OIDCCore/3.1.2.2/oauth-parameters": func(t *T) {
		c := t.Client(need.Code)
		t.Code(t.OpenID(c)) // so that a refusal is because of the parameter
		t.WantNoCode(t.Authorize(t.OpenID(c).Set("client_id", "conformance-"+t.Random())), "the client_id is unknown")
		t.WantNoCode(t.Authorize(t.OpenID(c).Set("response_type", "conformance")), "the response_type is unknown")
	},
	"OIDCCore/3.1.2.2/required-parameters": func(t *T) {
		t.Code(t.OpenID(t.Client(need.Code)))
		for _, name := range []string{"client_id", "response_type", "redirect_uri"} {
			t.WantNoCode(t.Authorize(t.OpenID(t.Client(need.Code)).Del(name)), name+" is missing")
		}
	},
	"OIDCCore/3.1.2.2/redirect-uri-of-several": func(t *T) {
		t.Code(t.OpenID(t.Client(need.Several)))
		r := t.Authorize(t.OpenID(t.Client(need.Several)).Del("redirect_uri"))
		t.WantNoCode(r, "redirect_uri is missing")
	},
	"OIDCCore/3.1.2.2/sub-requested": func(t *T) {
		wantsClaimsParameter(t)
		c := t.Client(need.Code)
		b, own := subAndBrowser(t, c)
		ask := func(sub string) *check.Request { return asking(t, c, "id_token", "sub", map[string]any{"value": sub}) }
		wantAnsweredWithCode(t, b, ask(own), "a request for the person's own sub")
		t.WantNoCode(answered(t, b, ask("conformance-nobody")),
			"the requested sub is not that of the person who is signed in")
	},
	"OIDCCore/3.1.2.2/unknown-parameters-ignored": func(t *T) {
		wantTaken(t, t.OpenID(t.Client(need.Code)).Set("conformance_unknown", "1"), "conformance_unknown")
	},
	"OIDCCore/3.1.2.2/error-answered": func(t *T) {
		t.Code(t.OpenID(t.Client(need.Code)))
		wantErrorBack(t, t.Authorize(t.OpenID(t.Client(need.Code)).Set("response_type", "conformance")),
			"the response_type is unknown")
	},
	"OIDCCore/3.1.2.3/nobody-signed-in": func(t *T) {
		asked, response := t.AsksPassword(t.NewBrowser(), t.OpenID(t.Client(need.Code)))
		if asked {
			return
		}
		if code := response.ErrorCode(); response.Params.Get("code") == "" && code != "login_required" &&
			code != "interaction_required" {
			t.Blockedf("it is unknown whether the server asks for a login: it shows no field for a user name or a password "+
				"that the checks know (forms in the target names them): %s", response)
		}
		t.At(response.Answer)
		t.Failf("nobody is signed in, and the server does not ask for a login: %s", response)
	},
	"OIDCCore/3.1.2.3/prompt-login": func(t *T) {
		wantRenewed(t, "prompt", "login", "OIDCCore/3.1.2.3/prompt-login-asked")
	},
	"OIDCCore/3.1.2.3/prompt-login-asked": func(t *T) {
		wantNewLogin(t, t.Client(need.Code))
	},
	"OIDCCore/3.1.2.3/csrf": func(t *T) {
		c := t.Client(need.Code)
		wantConsentProtected(t, t.NewBrowser(), func() *check.Request { return t.OpenID(c) })
	},
	"OIDCCore/3.1.2.3/clickjacking": func(t *T) {
		way := t.Walk(t.NewBrowser(), t.OpenID(t.Client(need.Code)).Set("prompt", "consent"), true)
		pages := slices.DeleteFunc(way.Seen, func(a *wire.Answer) bool { return len(browser.Parse(a).Forms) == 0 })
		if len(pages) == 0 {
			t.Blockedf("the server showed no page with a form: %s", way)
		}
		for _, a := range pages {
			wantUnframed(t, a)
		}
	},
	"OIDCCore/3.1.2.4/decision-obtained": func(t *T) {
		// §3.1.2.6 defines the error, and has a rule of its own.
		t.WantWithheld(denied(t, t.OpenID(t.Client(need.Code))), "the person denied the request")
	},
	"OIDCCore/3.1.2.4/says-what": func(t *T) {
		wantScopeNamed(t, "profile")
	},
}

// wantUnframed asserts that a header prevents framing by other sites, or that a frame shows nothing to act on.
func wantUnframed(t *T, a *wire.Answer) {
	why := framed(a)
	if why == "" || oldFraming(a) || framesAreHarmless(t) {
		return
	}
	if browser.Parse(a).Scripted {
		t.Skipf("the page at %s has no header against framing, and a script may prevent it: open the page in a frame to "+
			"see it", wire.Bare(a.URL))
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

// oidcResponse has the checks of the rules about successful and error responses (OIDC Core §3.1.2.5, §3.1.2.6).
var oidcResponse = checks{
	"OIDCCore/3.1.2.5/in-query": func(t *T) {
		r := t.Authorize(t.OpenID(t.Client(need.Code)))
		t.CodeOf(r)
		if r.Mode != "query" || !r.Arrived() {
			t.At(r.Answer)
			t.Failf("the code was returned in the %s, to %s", r.Mode, wire.Place(r.Location))
		}
		wantState(t, r)
	},
	"OIDCCore/3.1.2.6/denied": func(t *T) {
		r := denied(t, t.OpenID(t.Client(need.Code)))
		t.WantRedirectError(r, "access_denied", "consent_required")
		wantState(t, r)
	},
	"OIDCCore/3.1.2.6/error-required": func(t *T) {
		if r := errorResponse(t); r.ErrorCode() == "" {
			t.At(r.Answer)
			t.Failf("the response contains neither code nor error: %s", r)
		}
	},
	"OIDCCore/3.1.2.6/state-required": func(t *T) { wantState(t, errorResponse(t)) },
	"OIDCCore/3.1.2.6/in-query": func(t *T) {
		if r := errorResponse(t); r.Mode != "query" {
			t.At(r.Answer)
			t.Failf("the response type is code, and the error was returned in the %s", r.Mode)
		}
	},
	"OIDCCore/3.1.2.6/no-other-parameters": func(t *T) {
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
	"OIDCCore/3.1.2.6/invalid-redirect-uri": func(t *T) {
		begins(t, t.OpenID(t.Client(need.Code)))
		for _, uri := range []string{"https://attacker.example/callback", "//attacker.example/", "javascript:alert(1)",
			"data:text/html,x", "not a uri"} {
			wantNoRedirect(t, t.OpenAnonymously(t.OpenID(t.Client(need.Code)).Set("redirect_uri", uri)))
			wantNoRedirect(t, t.OpenAnonymously(t.OpenID(t.Client(need.Code)).Set("redirect_uri", uri).Set("prompt", "none")))
		}
	},
	"OIDCCore/3.1.2.6/response-mode-unknown": func(t *T) {
		r := settled(t, t.Authorize(t.OpenID(t.Client(need.Code)).Set("response_mode", "conformance")))
		t.At(r.Answer)
		if r.Location != "" {
			t.Failf("response_mode is unknown, but the browser was redirected: %s", r)
		}
		t.WantStatus(r.Answer, http.StatusBadRequest)
	},
	"OIDCCore/3.1.2.6/login-required": func(t *T) {
		begins(t, t.OpenID(t.Client(need.Code)))
		r := t.Silently(t.NewBrowser(), t.OpenID(t.Client(need.Code)))
		if r.ErrorCode() == "" {
			t.Blockedf("prompt=none gets no error although nobody is signed in (OIDCCore/3.1.2.1/prompt-none-no-page): %s", r)
		}
		t.WantRedirectError(r, "login_required")
	},
	"OIDCCore/3.1.2.6/registration-not-supported": func(t *T) {
		t.Code(t.OpenID(t.Client(need.Code)))
		r := t.Authorize(t.OpenID(t.Client(need.Code)).Set("registration", "{}"))
		t.WantRedirectError(r, "registration_not_supported")
	},
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
