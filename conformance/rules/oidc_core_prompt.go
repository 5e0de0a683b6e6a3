package rules

import (
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
			Needs: []Need{need.Authorization, need.Code, need.OpenID},
			Check: func(t *T) {
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
				wantCode(t, t.Silently(b, t.OpenID(c)), "the same request with prompt=none")
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
				c := t.Client(need.Code)
				b := t.Approved(t.OpenID(c))
				for _, prompt := range []string{"none login", "consent none", "none select_account"} {
					wantErrorBack(t, t.Open(b, t.OpenID(c).Set("prompt", prompt)), "prompt is "+prompt)
				}
			},
		},
		{
			ID: "OIDCCore/3.1.2.1/prompt-login", Level: Should,
			Text:  "With prompt=login the person has to sign in again.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				b := t.Approved(t.OpenID(c))
				wantReauthentication(t, b, t.OpenID(c).Set("prompt", "login"), "prompt is login")
			},
		},
		{
			ID: "OIDCCore/3.1.2.1/prompt-login-impossible", Level: Must,
			Text:         "If the server cannot ask the person to sign in again, prompt=login is answered with an error.",
			Inapplicable: "Mandate can always ask for the password; another rule covers prompt=none, which forbids it.",
		},
		{
			ID: "OIDCCore/3.1.2.1/prompt-consent", Level: Should,
			Text:  "With prompt=consent the server asks for consent, even if the person has approved before.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				b := t.Approved(t.OpenID(c))
				r := t.Walk(b, t.OpenID(c).Set("prompt", "consent"), true)
				if r.Stuck != "" {
					t.Blockedf("%s", r)
				}
				if !r.Asked && r.ErrorCode() == "" {
					t.At(r.Answer)
					t.Failf("the server did not ask for consent: %s", r)
				}
			},
		},
		{
			ID: "OIDCCore/3.1.2.1/prompt-consent-refused", Level: Must,
			Text:  "With prompt=consent the server returns an error if the person does not approve.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				wantErrorBack(t, t.Questioned(t.Refuse(t.OpenID(t.Client(need.Code)))), "the person denied")
			},
		},
		{
			ID: "OIDCCore/3.1.2.1/prompt-select-account", Level: Should,
			Text:  "With prompt=select_account the person can choose an account.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				b := t.Approved(t.OpenID(c))
				response := t.Open(b, t.OpenID(c).Set("prompt", "select_account"))
				if response.Params.Get("code") != "" {
					t.At(response.Answer)
					t.Failf("the server did not ask: %s", response)
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
				for _, prompt := range []string{"conformance", "LOGIN"} {
					t.WantRedirectError(t.Try(t.OpenID(t.Client(need.Code)).Set("prompt", prompt)), "invalid_request")
				}
			},
		},
		{
			ID: "OIDCCore/3.1.2.1/max-age", Level: Must,
			Text:  "A person whose login is older than max_age has to sign in again.",
			Needs: loginNeeds(need.Keys),
			Check: func(t *T) {
				c, b := t.Client(need.Code), t.NewBrowser()
				at := loginTime(t, withMaxAge(t, b))
				t.WaitPast(at, 1)
				wantReauthentication(t, b, t.OpenID(c).Set("max_age", "1"), "max_age of one second has expired")
			},
		},
		{
			ID: "OIDCCore/3.1.2.1/max-age-renews", Level: Must, Alone: true,
			Text:  "After a new login because of max_age, auth_time is the time of the new login.",
			Needs: loginNeeds(need.Keys),
			Check: func(t *T) {
				c, b := t.Client(need.Code), t.NewBrowser()
				at := loginTime(t, withMaxAge(t, b))
				t.WaitPast(at, 1)
				again := t.GrantIn(b, t.OpenID(c).Set("max_age", "1"))
				if renewed := t.IDToken(again).Number("auth_time"); renewed <= at {
					t.At(again.Answer)
					t.Failf("auth_time was %.0f, but is %.0f after max_age expired", at, renewed)
				}
			},
		},
		{
			ID: "OIDCCore/3.1.2.1/max-age-silent", Level: Must,
			Text:  "With prompt=none an expired max_age is an error.",
			Needs: loginNeeds(need.Keys),
			Check: func(t *T) {
				c, b := t.Client(need.Code), t.NewBrowser()
				at := loginTime(t, withMaxAge(t, b))
				t.WaitPast(at, 1)
				wantErrorBack(t, t.Silently(b, t.OpenID(c).Set("max_age", "1")), "max_age of one second has expired")
			},
		},
		{
			ID: "OIDCCore/3.1.2.1/max-age-enough", Level: May,
			Text:  "Within max_age the person does not have to sign in again.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				b := t.Approved(t.OpenID(c))
				wantCode(t, t.Silently(b, t.OpenID(c).Set("max_age", "36000")), "a request with max_age of ten hours")
			},
		},
		{
			ID: "OIDCCore/3.1.2.1/max-age-zero", Level: Must,
			Text:  "With max_age=0 the person has to sign in again.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				b := t.Approved(t.OpenID(c))
				wantReauthentication(t, b, t.OpenID(c).Set("max_age", "0"), "max_age is 0")
			},
		},
		{
			ID: "OIDCCore/3.1.2.1/max-age-wrong", Level: May,
			Text:  "The server refuses a max_age that is no number, or negative, with invalid_request.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				for _, age := range []string{"-1", "soon", "1.5"} {
					t.WantRedirectError(t.Try(t.OpenID(t.Client(need.Code)).Set("max_age", age)), "invalid_request")
				}
			},
		},
		{
			ID: "OIDCCore/3.1.2.1/max-age-auth-time", Level: Must,
			Text:  "If the request has max_age, the ID token has auth_time.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				j := t.IDToken(t.GrantFor(t.OpenID(t.Client(need.Code)).Set("max_age", "36000")))
				if _, there := j.Claims["auth_time"]; !there {
					t.Failf("the ID token has no auth_time")
				}
			},
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
				b, hint := sessionHint(t)
				wantCode(t, t.Silently(b, t.OpenID(t.Client(need.Code)).Set("id_token_hint", hint)), "a request with the person's own ID token as id_token_hint")
			},
		},
		{
			ID: "OIDCCore/3.1.2.1/hint-of-nobody", Level: Must,
			Text:  "If the person of the id_token_hint is not signed in, and prompt=none forbids a login, the server returns an error.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				_, hint := sessionHint(t)
				r := t.Silently(t.NewBrowser(), t.OpenID(t.Client(need.Code)).Set("id_token_hint", hint))
				wantErrorBack(t, r, "nobody is signed in")
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
				b, hint := sessionHint(t)
				wantHintRefused(t, b, t.Client(need.Code), jose.Altered(hint))
			},
		},
		{
			ID: "OIDCCore/3.1.2.2/hint-unsigned", Level: Must,
			Text:  "The server refuses an id_token_hint with the alg none.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				b, hint := sessionHint(t)
				wantHintRefused(t, b, t.Client(need.Code), jose.Unsigned(hint))
			},
		},
		{
			ID: "OIDCCore/3.1.2.2/hint-signed-by-another", Level: Must,
			Text:  "The server refuses an id_token_hint that was signed with another key.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				b, hint := sessionHint(t)
				wantHintRefused(t, b, t.Client(need.Code), jose.SignedByAnother(hint))
			},
		},
		{
			ID: "OIDCCore/3.1.2.2/hint-key-confusion", Level: Must,
			Text:  "The server refuses an id_token_hint with an HMAC under the server's public key.",
			Needs: loginNeeds(need.Keys),
			Check: func(t *T) {
				b, hint := sessionHint(t)
				j, err := jose.Read(hint)
				if err != nil {
					t.Blockedf("the ID token cannot be read: %v", err)
				}
				wantHintRefused(t, b, t.Client(need.Code), jose.Confused(j, t.Keys(), t.Get(t.Endpoint(need.Keys)).Body))
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

// sessionHint returns an ID token of the client code, and a browser in which its person is signed in and has
// approved. The server has to accept this token as a hint. Otherwise the refusal of another one proves nothing.
func sessionHint(t *T) (*browser.Browser, string) {
	b := t.NewBrowser()
	return b, rawIDToken(t, t.GrantIn(b, t.OpenID(t.Client(need.Code))))
}

// silentToBegin blocks the check if prompt=none is refused without a hint too.
func silentToBegin(t *T, b *browser.Browser, c *target.Client) {
	if r := t.Silently(b, t.OpenID(c)); r.Params.Get("code") == "" {
		t.Blockedf("prompt=none is refused without id_token_hint too: %s", r)
	}
}

func wantHintRefused(t *T, b *browser.Browser, c *target.Client, hints []string) {
	silentToBegin(t, b, c)
	for _, hint := range hints {
		t.WantNoCode(t.Silently(b, t.OpenID(c).Set("id_token_hint", hint)), "the server did not issue the id_token_hint")
	}
}
