package rules

import (
	"math"

	"mandate/conformance/browser"
	"mandate/conformance/jose"
	"mandate/conformance/need"
	"mandate/conformance/target"
)

// oidcPrompt returns the rules about prompt and max_age (OIDC Core §3.1.2.1).
func oidcPrompt() []Rule {
	return []Rule{
		{
			ID: "OIDCCore/3.1.2.1/prompt-none-no-page", Level: Must,
			Text:  "With prompt=none the server shows no page, and returns an error if a page would be necessary.",
			Needs: anonymousNeeds(),
			Check: func(t *T) {
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
		},
		{
			ID: "OIDCCore/3.1.2.1/prompt-none-answered", Level: Should,
			Text:  "With prompt=none the server issues a code if the person is signed in and has approved, even without id_token_hint.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				b := t.Approved(t.OpenID(c))
				r := t.Silently(b, t.OpenID(c))
				if r.Params.Get("code") != "" {
					return
				}
				if asked, page := t.AsksPassword(b, another(t, t.OpenID(c), "prompt")); asked || page.Params.Get("code") == "" {
					t.Skipf("the rule needs a server that answers a repeated request without a page: the same request without prompt gets no code at once either: %s", page)
				}
				t.At(r.Answer)
				t.Failf("the request gets a code without any page, and with prompt=none does not: %s", r)
			},
		},
		{
			ID: "OIDCCore/3.1.2.1/prompt-none-without-consent", Level: Must,
			Text:     "With prompt=none the server returns an error if the person has not approved the request.",
			TestedBy: "conformance/mandate/openid_request_test.go:TestOIDCCore3Prompt",
		},
		{
			ID: "OIDCCore/3.1.2.1/prompt-none-alone", Level: Must,
			Text:  "prompt=none together with another value is an error.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				c, b := t.Client(need.Code), t.NewBrowser()
				t.CodeOf(t.Walk(b, t.OpenID(c), true))
				for _, prompt := range []string{"none login", "consent none", "none select_account"} {
					wantErrorBack(t, t.Open(b, t.OpenID(c).Set("prompt", prompt)), "prompt is "+prompt)
				}
			},
		},
		{
			ID: "OIDCCore/3.1.2.1/prompt-login", Level: Should,
			Text:         "With prompt=login the person has to sign in again.",
			Inapplicable: "It repeats §3.1.2.3, where it is a MUST that is checked.",
		},
		{
			ID: "OIDCCore/3.1.2.1/prompt-login-impossible", Level: Must,
			Text:         "If the server cannot ask the person to sign in again, prompt=login is answered with an error.",
			Inapplicable: "Mandate can always ask the person to sign in; another rule covers prompt=none, which forbids it.",
		},
		{
			ID: "OIDCCore/3.1.2.1/prompt-consent", Level: Should,
			Text:  "With prompt=consent the server asks for consent, even if the person has approved before.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				c, b := t.Client(need.Code), t.NewBrowser()
				t.CodeOf(t.Walk(b, t.OpenID(c), true))
				r := settled(t, t.Walk(b, t.OpenID(c).Set("prompt", "consent"), true))
				if !r.Asked && r.ErrorCode() == "" {
					t.At(r.Answer)
					t.Failf("with prompt=consent the server did not ask for consent: %s", r)
				}
			},
		},
		{
			ID: "OIDCCore/3.1.2.1/prompt-consent-refused", Level: Must,
			Text:  "With prompt=consent the server returns an error if the person does not approve.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				wantErrorBack(t, denied(t, t.OpenID(t.Client(need.Code))), "the person denied")
			},
		},
		{
			ID: "OIDCCore/3.1.2.1/prompt-select-account", Level: Should,
			Text:  "With prompt=select_account the person can choose an account.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				c, b := t.Client(need.Code), t.NewBrowser()
				t.CodeOf(t.Walk(b, t.OpenID(c), true))
				response := settled(t, t.Open(b, t.OpenID(c).Set("prompt", "select_account")))
				if response.Params.Get("code") != "" {
					t.At(response.Answer)
					t.Failf("with prompt=select_account a code was issued without any page")
				}
			},
		},
		{
			ID: "OIDCCore/3.1.2.1/prompt-select-account-impossible", Level: Must,
			Text:         "If the server cannot let the person choose, prompt=select_account is answered with an error.",
			Inapplicable: "Mandate can always offer a login with another account; another rule covers prompt=none, which forbids it.",
		},
		{
			ID: "OIDCCore/3.1.2.1/prompt-unknown", Level: May,
			Text:  "The server refuses an unknown prompt with invalid_request, even if only the case is wrong.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				t.Code(t.OpenID(t.Client(need.Code)))
				for _, prompt := range []string{"conformance", "LOGIN"} {
					t.WantRedirectError(t.Authorize(t.OpenID(t.Client(need.Code)).Set("prompt", prompt)), "invalid_request")
				}
			},
		},
		{
			ID: "OIDCCore/3.1.2.1/max-age", Level: Must,
			Text:  "A person whose login is older than max_age has to sign in again.",
			Needs: loginNeeds(need.Keys),
			Check: func(t *T) {
				wantMaxAge(t, "1")
			},
		},
		{
			ID: "OIDCCore/3.1.2.1/max-age-renews", Level: Must, Alone: true,
			Text:  "After a new login because of max_age, auth_time is the time of the new login.",
			Needs: loginNeeds(need.Keys),
			Check: func(t *T) {
				wantRenewed(t, "max_age", "1", "OIDCCore/3.1.2.1/max-age")
			},
		},
		{
			ID: "OIDCCore/3.1.2.1/max-age-silent", Level: Must,
			Text:  "With prompt=none an expired max_age is an error.",
			Needs: loginNeeds(need.Keys),
			Check: func(t *T) {
				c, b := t.Client(need.Code), t.NewBrowser()
				olderThan(t, b, 1)
				if r := t.Silently(b, t.OpenID(c)); r.Params.Get("code") == "" {
					t.WantRemembered()
					t.Blockedf("the rule needs a request with prompt=none that gets a code: without max_age it gets none either: %s", r)
				}
				wantErrorBack(t, t.Silently(b, t.OpenID(c).Set("max_age", "1")), "the login is more than one second old, and max_age is 1")
			},
		},
		{
			ID: "OIDCCore/3.1.2.1/max-age-enough", Level: May,
			Text:  "Within max_age the person does not have to sign in again.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
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
		},
		{
			ID: "OIDCCore/3.1.2.1/max-age-zero", Level: Must,
			Text:  "With max_age=0 the person has to sign in again.",
			Needs: loginNeeds(need.Keys),
			Check: func(t *T) {
				// A server that compares whole seconds may accept a login of the same second.
				wantMaxAge(t, "0")
			},
		},
		{
			ID: "OIDCCore/3.1.2.1/max-age-wrong", Level: May,
			Text:  "The server refuses a max_age that is no number, or negative, with invalid_request.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				t.Code(t.OpenID(t.Client(need.Code)))
				for _, age := range []string{"-1", "soon", "1.5"} {
					t.WantRedirectError(t.Authorize(t.OpenID(t.Client(need.Code)).Set("max_age", age)), "invalid_request")
				}
			},
		},
		{
			ID: "OIDCCore/3.1.2.1/max-age-auth-time", Level: Must,
			Text:         "If the request has max_age, the ID token has auth_time.",
			Inapplicable: "It repeats §2, whose rule is checked.",
		},
	}
}

// oidcHints returns the rules about id_token_hint (OIDC Core §3.1.2.1, §3.1.2.2).
func oidcHints() []Rule {
	return []Rule{
		{
			ID: "OIDCCore/3.1.2.1/hint-of-this-person", Level: Should,
			Text:  "If the person of the id_token_hint is signed in, the server issues a code.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				wantHintTaken(t, t.Client(need.Code))
			},
		},
		{
			ID: "OIDCCore/3.1.2.1/hint-of-nobody", Level: Must,
			Text:  "If the person of the id_token_hint is not signed in, and prompt=none forbids a login, the server returns an error.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				_, hint := sessionHint(t, c)
				if r := t.Silently(t.NewBrowser(), t.OpenID(c)); r.ErrorCode() == "" {
					t.Blockedf("prompt=none gets no error without id_token_hint either (OIDCCore/3.1.2.1/prompt-none-no-page): %s", r)
				}
				r := t.Silently(t.NewBrowser(), t.OpenID(c).Set("id_token_hint", hint))
				wantErrorBack(t, r, "the person of the id_token_hint is not signed in, and prompt is none")
			},
		},
		{
			ID: "OIDCCore/3.1.2.1/hint-of-another", Level: Must,
			Text:     "If another person than that of the id_token_hint is signed in, the server returns an error or asks for a login.",
			TestedBy: "conformance/mandate/openid_request_test.go:TestOIDCCore3IDTokenHint",
		},
		{
			ID: "OIDCCore/3.1.2.2/hint-altered", Level: Must,
			Text:  "The server refuses an id_token_hint whose signature is wrong.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				wantHintRefused(t, t.Client(need.Code), func(hint string, _ *jose.JWT) []string { return jose.Altered(hint) })
			},
		},
		{
			ID: "OIDCCore/3.1.2.2/hint-unsigned", Level: Must,
			Text:  "The server refuses an id_token_hint with the alg none.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				wantHintRefused(t, t.Client(need.Code), func(hint string, _ *jose.JWT) []string { return jose.Unsigned(hint) })
			},
		},
		{
			ID: "OIDCCore/3.1.2.2/hint-signed-by-another", Level: Must,
			Text:  "The server refuses an id_token_hint that was signed with another key.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				wantHintRefused(t, t.Client(need.Code), func(hint string, _ *jose.JWT) []string { return jose.SignedByAnother(hint) })
			},
		},
		{
			ID: "OIDCCore/3.1.2.2/hint-key-confusion", Level: Must,
			Text:  "The server refuses an id_token_hint with an HMAC under the server's public key.",
			Needs: loginNeeds(need.Keys),
			Check: func(t *T) {
				wantHintRefused(t, t.Client(need.Code), func(_ string, j *jose.JWT) []string {
					return jose.Confused(j, t.Keys(), t.Get(t.Endpoint(need.Keys)).Body)
				})
			},
		},
		{
			ID: "OIDCCore/3.1.2.2/hint-of-another-person", Level: Must,
			Text:     "If the id_token_hint names another person than the one signed in, the server issues no tokens for the one signed in.",
			TestedBy: "conformance/mandate/openid_request_test.go:TestOIDCCore3IDTokenHint",
		},
		{
			ID: "OIDCCore/3.1.2.2/hint-expired", Level: Should,
			Text:     "The server accepts an expired id_token_hint.",
			TestedBy: "conformance/mandate/openid_request_test.go:TestOIDCCore3IDTokenHint",
		},
	}
}

// wantMaxAge asserts that a login that is older than max_age does not suffice.
func wantMaxAge(t *T, age string) {
	b := t.NewBrowser()
	olderThan(t, b, 1)
	wantReauthentication(t, b, t.OpenID(t.Client(need.Code)).Set("max_age", age), "the login is more than one second old, and max_age is "+age)
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
	wantAnsweredWithCode(t, b, t.OpenID(c).Set("id_token_hint", hint), "a request with the person's own ID token as id_token_hint")
	for _, forged := range forge(hint, j) {
		t.WantNoCode(answered(t, b, t.OpenID(c).Set("id_token_hint", forged)), "the server did not issue the id_token_hint")
	}
}
