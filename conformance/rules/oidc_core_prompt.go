package rules

import (
	"math"

	"mandate/conformance/browser"
	"mandate/conformance/jose"
	"mandate/conformance/need"
	"mandate/conformance/target"
)

// oidcPrompt has the checks of the rules about prompt and max_age (OIDC Core §3.1.2.1).
var oidcPrompt = checks{
	"OIDCCore/3.1.2.1/prompt-none-no-page": func(t *T) {
		begins(t, t.OpenID(t.Client(need.Code)))
		r := t.Silently(t.NewBrowser(), t.OpenID(t.Client(need.Code)))
		wantErrorBack(t, r, "nobody is signed in")
		for _, a := range r.Seen {
			if a.Status < 300 && a.MediaType() == "text/html" {
				t.At(a)
				t.Errorf("the server showed a page: %s", a)
			}
		}
	},
	"OIDCCore/3.1.2.1/prompt-none-answered": func(t *T) {
		c := t.Client(need.Code)
		b := t.Approved(t.OpenID(c))
		r := t.Silently(b, t.OpenID(c))
		if r.Params.Get("code") != "" {
			return
		}
		if asked, page := t.AsksPassword(b, another(t, t.OpenID(c), "prompt")); asked || page.Params.Get("code") == "" {
			t.Skipf("the rule needs a server that answers a repeated request without a page: the same request without prompt "+
				"gets no code at once either: %s", page)
		}
		t.At(r.Answer)
		t.Failf("the request gets a code without any page, and with prompt=none does not: %s", r)
	},
	"OIDCCore/3.1.2.1/prompt-none-alone": func(t *T) {
		c, b := t.Client(need.Code), t.NewBrowser()
		t.CodeOf(t.Walk(b, t.OpenID(c), true))
		for _, prompt := range []string{"none login", "consent none", "none select_account"} {
			wantErrorBack(t, t.Open(b, t.OpenID(c).Set("prompt", prompt)), "prompt is "+prompt)
		}
	},
	"OIDCCore/3.1.2.1/prompt-consent": func(t *T) {
		c, b := t.Client(need.Code), t.NewBrowser()
		t.CodeOf(t.Walk(b, t.OpenID(c), true))
		r := settled(t, t.Walk(b, t.OpenID(c).Set("prompt", "consent"), true))
		if !r.Asked && r.ErrorCode() == "" {
			t.At(r.Answer)
			t.Failf("with prompt=consent the server did not ask for consent: %s", r)
		}
	},
	"OIDCCore/3.1.2.1/prompt-consent-refused": func(t *T) {
		wantErrorBack(t, denied(t, t.OpenID(t.Client(need.Code))), "the person denied")
	},
	"OIDCCore/3.1.2.1/prompt-select-account": func(t *T) {
		c, b := t.Client(need.Code), t.NewBrowser()
		t.CodeOf(t.Walk(b, t.OpenID(c), true))
		response := settled(t, t.Open(b, t.OpenID(c).Set("prompt", "select_account")))
		if response.Params.Get("code") != "" {
			t.At(response.Answer)
			t.Failf("with prompt=select_account a code was issued without any page")
		}
	},
	"OIDCCore/3.1.2.1/prompt-unknown": func(t *T) {
		t.Code(t.OpenID(t.Client(need.Code)))
		for _, prompt := range []string{"conformance", "LOGIN"} {
			t.WantRedirectError(t.Authorize(t.OpenID(t.Client(need.Code)).Set("prompt", prompt)), "invalid_request")
		}
	},
	"OIDCCore/3.1.2.1/max-age": func(t *T) {
		wantMaxAge(t, "1")
	},
	"OIDCCore/3.1.2.1/max-age-renews": func(t *T) {
		wantRenewed(t, "max_age", "1", "OIDCCore/3.1.2.1/max-age")
	},
	"OIDCCore/3.1.2.1/max-age-silent": func(t *T) {
		c, b := t.Client(need.Code), t.NewBrowser()
		olderThan(t, b, 1)
		if r := t.Silently(b, t.OpenID(c)); r.Params.Get("code") == "" {
			t.WantRemembered()
			t.Blockedf("the rule needs a request with prompt=none that gets a code: without max_age it gets none either: %s", r)
		}
		wantErrorBack(t, t.Silently(b, t.OpenID(c).Set("max_age", "1")),
			"the login is more than one second old, and max_age is 1")
	},
	"OIDCCore/3.1.2.1/max-age-enough": func(t *T) {
		c, b := t.Client(need.Code), t.NewBrowser()
		t.CodeOf(t.Walk(b, t.OpenID(c), true))
		asked, r := t.AsksPassword(b, t.OpenID(c).Set("max_age", "36000"))
		if !asked && r.ErrorCode() == "" {
			return
		}
		if again, _ := t.AsksPassword(b, t.OpenID(c)); again {
			t.WantRemembered()
			t.Blockedf("the server asks for a login without max_age too")
		}
		t.At(r.Answer)
		t.Failf("the person has just signed in, and max_age is ten hours, but the server asks for a login: %s", r)
	},
	"OIDCCore/3.1.2.1/max-age-zero": func(t *T) {
		// A server that compares whole seconds may accept a login of the same second.
		wantMaxAge(t, "0")
	},
	"OIDCCore/3.1.2.1/max-age-wrong": func(t *T) {
		t.Code(t.OpenID(t.Client(need.Code)))
		for _, age := range []string{"-1", "soon", "1.5"} {
			t.WantRedirectError(t.Authorize(t.OpenID(t.Client(need.Code)).Set("max_age", age)), "invalid_request")
		}
	},
}

// oidcHints has the checks of the rules about id_token_hint (OIDC Core §3.1.2.1, §3.1.2.2).
var oidcHints = checks{
	"OIDCCore/3.1.2.1/hint-of-this-person": func(t *T) {
		wantHintTaken(t, t.Client(need.Code))
	},
	"OIDCCore/3.1.2.1/hint-of-nobody": func(t *T) {
		c := t.Client(need.Code)
		_, hint := sessionHint(t, c)
		if r := t.Silently(t.NewBrowser(), t.OpenID(c)); r.ErrorCode() == "" {
			t.Blockedf("prompt=none gets no error without id_token_hint either (OIDCCore/3.1.2.1/prompt-none-no-page): %s", r)
		}
		r := t.Silently(t.NewBrowser(), t.OpenID(c).Set("id_token_hint", hint))
		wantErrorBack(t, r, "the person of the id_token_hint is not signed in, and prompt is none")
	},
	"OIDCCore/3.1.2.2/hint-altered": func(t *T) {
		wantHintRefused(t, t.Client(need.Code), func(hint string, _ *jose.JWT) []string { return jose.Altered(hint) })
	},
	"OIDCCore/3.1.2.2/hint-unsigned": func(t *T) {
		wantHintRefused(t, t.Client(need.Code), func(hint string, _ *jose.JWT) []string { return jose.Unsigned(hint) })
	},
	"OIDCCore/3.1.2.2/hint-signed-by-another": func(t *T) {
		wantHintRefused(t, t.Client(need.Code), func(hint string, _ *jose.JWT) []string { return jose.SignedByAnother(hint) })
	},
	"OIDCCore/3.1.2.2/hint-key-confusion": func(t *T) {
		wantHintRefused(t, t.Client(need.Code), func(_ string, j *jose.JWT) []string {
			return jose.Confused(j, t.Keys(), t.Get(t.Endpoint(need.Keys)).Body)
		})
	},
}

// wantMaxAge asserts that a login that is older than max_age does not suffice.
func wantMaxAge(t *T, age string) {
	b := t.NewBrowser()
	olderThan(t, b, 1)
	wantReauthentication(t, b, t.OpenID(t.Client(need.Code)).Set("max_age", age),
		"the login is more than one second old, and max_age is "+age)
}

// wantRenewed asserts that auth_time is the time of the new login that a parameter requires. If the server does not ask
// for a login, the check is blocked: another rule reports it.
func wantRenewed(t *T, parameter, value, reports string) {
	c, b := t.Client(need.Code), t.NewBrowser()
	first := olderThan(t, b, 1)
	at := loginTime(t, first)
	if math.Abs(at-t.DateOf(first.Answer)) > 60 {
		t.Blockedf("auth_time is not the time of any login (OIDCCore/2/auth-time-of-login)")
	}
	logins := t.SignIns(b)
	again := t.GrantIn(b, t.OpenID(c).Set("max_age", "36000").Set(parameter, value))
	if t.SignIns(b) == logins {
		t.Blockedf("with %s=%s the server did not ask the person to sign in again (%s)", parameter, value, reports)
	}
	if loginTime(t, again) <= at {
		t.At(again.Answer)
		t.Failf("the person signed in again because of %s=%s, but auth_time is not later than before", parameter, value)
	}
}

// sessionHint returns a browser in which the person is signed in at a client and has approved, and the ID token.
func sessionHint(t *T, c *target.Client) (*browser.Browser, string) {
	b := t.NewBrowser()
	return b, rawIDToken(t, t.GrantIn(b, t.OpenID(c)))
}

// wantHintTaken asserts that the person's own ID token as id_token_hint does not prevent a code.
func wantHintTaken(t *T, c *target.Client) {
	b, hint := sessionHint(t, c)
	r := answered(t, b, t.OpenID(c).Set("id_token_hint", hint))
	if r.Params.Get("code") != "" {
		return
	}
	wantAnsweredWithCode(t, b, t.OpenID(c), "a request without id_token_hint")
	t.At(r.Answer)
	t.Failf("the person is signed in, and a request with their own ID token as id_token_hint gets no code: %s", r)
}

// wantHintRefused asserts that the server refuses forged hints. It has to accept the person's own ID token: otherwise a
// refusal proves nothing.
func wantHintRefused(t *T, c *target.Client, forge func(hint string, j *jose.JWT) []string) {
	b, hint := sessionHint(t, c)
	j, err := jose.Read(hint)
	if err != nil {
		t.Blockedf("the ID token cannot be read, so that none can be forged from it: %v", err)
	}
	wantAnsweredWithCode(t, b, t.OpenID(c).Set("id_token_hint", hint),
		"a request with the person's own ID token as id_token_hint")
	for _, forged := range forge(hint, j) {
		t.WantNoCode(answered(t, b, t.OpenID(c).Set("id_token_hint", forged)), "the server did not issue the id_token_hint")
	}
}
