package rules

import (
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/need"
)

// rfc7636 returns the rules about Proof Key for Code Exchange.
func rfc7636() []Rule {
	return []Rule{
		{
			ID: "RFC7636/4.1/verifier-43-to-128", Level: Must,
			Text:  "Verifiers of 43 and of 128 characters work.",
			Needs: codeFlowNeeds(),
			Check: func(t *T) {
				for _, verifier := range []string{strings.Repeat("aB3-._~", 7)[:43], strings.Repeat("aB3-._~", 19)[:128]} {
					t.WantGranted(t.Redeem(t.Code(withVerifier(t, need.Code, verifier))))
				}
			},
		},
		{
			ID: "RFC7636/4.1/short-verifier-refused", Level: May,
			Text:  "The server refuses verifiers of fewer than 43 characters, which can be guessed, and of more than 128.",
			Needs: codeFlowNeeds(),
			Check: func(t *T) {
				for _, verifier := range []string{strings.Repeat("a", 42), strings.Repeat("a", 129)} {
					t.WantRefused(t.Redeem(t.Code(withVerifier(t, need.Code, verifier))), "the verifier does not have 43 to 128 characters")
				}
			},
		},
		{
			ID: "RFC7636/4.2/s256", Level: Must,
			Text:  "The server supports the method S256.",
			Needs: codeFlowNeeds(),
			Check: func(t *T) { t.WantGranted(t.Redeem(t.Code(t.Request(t.Client(need.Code))))) },
		},
		{
			ID: "RFC7636/4.2/s256-public", Level: Must,
			Text:  "A public client can use S256.",
			Needs: []Need{need.Authorization, need.Token, need.Public, need.User},
			Check: func(t *T) { t.WantGranted(t.Redeem(t.Code(t.Request(t.Client(need.Public))))) },
		},
		{
			ID: "RFC7636/4.2/challenge-form", Level: May,
			Text:  "A challenge that is not the base64url of a SHA-256 hash is refused at once.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				for _, challenge := range []string{"short", strings.Repeat("a", 44), strings.Repeat("a", 42) + "=", strings.Repeat("a", 42) + "+"} {
					r := t.Authorize(t.Request(t.Client(need.Code)).Set("code_challenge", challenge))
					t.WantNoCode(r, "no SHA-256 digest looks like the challenge "+challenge)
				}
			},
		},
		{
			ID: "RFC7636/4.3/plain-refused", Level: May,
			Text:  "The method plain is refused, even if it is the default.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				for _, r := range []*check.Request{t.Request(c).Set("code_challenge_method", "plain"), t.Request(c).Del("code_challenge_method")} {
					r.Set("code_challenge", r.Verifier)
					t.WantNoCode(t.Authorize(r), "the method plain discloses the verifier in the request")
				}
			},
		},
		{
			ID: "RFC7636/4.4/challenge-not-exposed", Level: Must,
			Text:  "The challenge is not forwarded to where others could read it.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				r := t.Request(t.Client(need.Code))
				code := t.Code(r)
				if strings.Contains(code.Value, r.Params.Get("code_challenge")) {
					t.Failf("the code contains the challenge")
				}
			},
		},
		{
			ID: "RFC7636/4.4/challenge-bound-to-code", Level: Must,
			Text:  "A challenge belongs to one code, and not to another.",
			Needs: codeFlowNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				one, other := t.Code(t.Request(c)), t.Code(t.Request(c))
				form := one.Form()
				form.Set("code_verifier", other.Request.Verifier)
				t.WantRefused(t.Token(c, form), "the verifier belongs to another code")
			},
		},
		{
			ID: "RFC7636/4.4.1/required-of-public", Level: Must,
			Text:  "A public client without a challenge is refused with invalid_request, if PKCE is required.",
			Needs: []Need{need.Authorization, need.Public, need.User},
			Check: func(t *T) {
				r := t.Authorize(t.Request(t.Client(need.Public)).Del("code_challenge", "code_challenge_method"))
				if r.Params.Get("code") != "" {
					t.Failf("a public client got a code without PKCE")
				}
				t.WantRedirectError(r, "invalid_request")
			},
		},
		{
			ID: "RFC7636/4.4.1/required-of-all", Level: May,
			Text:  "A confidential client must use PKCE too.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				r := t.Authorize(t.Request(t.Client(need.Code)).Del("code_challenge", "code_challenge_method"))
				t.WantNoCode(r, "it was asked for without PKCE")
			},
		},
		{
			ID: "RFC7636/4.4.1/missing-explained", Level: Should,
			Text:  "The error for a missing challenge says what is missing.",
			Needs: []Need{need.Authorization, need.Public, need.User},
			Check: func(t *T) {
				wantExplained(t, t.Authorize(t.Request(t.Client(need.Public)).Del("code_challenge", "code_challenge_method")), "challenge", "PKCE")
			},
		},
		{
			ID: "RFC7636/4.4.1/unknown-method", Level: Must,
			Text:  "An unsupported method is refused with invalid_request.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				r := t.Authorize(t.Request(t.Client(need.Code)).Set("code_challenge_method", "S512"))
				t.WantRedirectError(r, "invalid_request")
			},
		},
		{
			ID: "RFC7636/4.4.1/unknown-method-explained", Level: Should,
			Text:  "The error for an unsupported method names the method.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				wantExplained(t, t.Authorize(t.Request(t.Client(need.Code)).Set("code_challenge_method", "S512")), "method")
			},
		},
		{
			ID: "RFC7636/4.6/verifier-compared", Level: Must,
			Text:  "A code is useless without the verifier of its challenge.",
			Needs: codeFlowNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				other, _ := check.NewPKCE()
				code := t.Code(t.Request(c))
				for _, verifier := range []string{"", other, code.Request.Params.Get("code_challenge"), strings.ToUpper(code.Request.Verifier), code.Request.Verifier + "A"} {
					form := t.Code(code.Request).Form()
					form.Set("code_verifier", verifier)
					t.WantRefused(t.Token(c, form), "the verifier does not match the challenge")
				}
			},
		},
		{
			ID: "RFC7636/4.6/verifier-required-of-public", Level: Must,
			Text:  "A public client's code is useless without the verifier.",
			Needs: []Need{need.Authorization, need.Token, need.Public, need.User},
			Check: func(t *T) {
				c := t.Client(need.Public)
				form := t.Code(t.Request(c)).Form()
				form.Del("code_verifier")
				t.WantRefused(t.Token(c, form), "the verifier is missing")
			},
		},
		{
			ID: "RFC7636/4.6/invalid-grant", Level: Must,
			Text:  "A wrong verifier is refused with invalid_grant.",
			Needs: codeFlowNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				form := t.Code(t.Request(c)).Form()
				other, _ := check.NewPKCE()
				form.Set("code_verifier", other)
				t.WantError(t.Token(c, form), "invalid_grant")
			},
		},
		{
			ID: "RFC7636/4.6/wrong-verifier-spends-nothing", Level: May,
			Text:  "A wrong verifier does not consume the code: the correct one still works.",
			Needs: codeFlowNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				code := t.Code(t.Request(c))
				form := code.Form()
				other, _ := check.NewPKCE()
				form.Set("code_verifier", other)
				t.Refused(t.Token(c, form))
				t.WantGranted(t.Redeem(code))
			},
		},
		{
			ID: "RFC7636/5/without-pkce", Level: May,
			Text:     "A server can continue to support clients without PKCE.",
			TestedBy: "conformance/mandate/spec_refresh_test.go:TestSpecPKCEOptional",
		},
		{
			ID: "RFC7636/7.2/plain-not-offered", Level: Should,
			Text: "New servers do not support the method plain: the metadata does not list it.",
			Check: func(t *T) {
				methods, is := t.Metadata().List("code_challenge_methods_supported")
				if !is {
					t.Skipf("the metadata has no code_challenge_methods_supported")
				}
				if slices.Contains(methods, "plain") {
					t.Failf("the metadata lists plain")
				}
			},
		},
	}
}

// withVerifier returns a request with the challenge of a verifier.
func withVerifier(t *T, role Need, verifier string) *check.Request {
	r := t.Request(t.Client(role)).Set("code_challenge", check.Challenge(verifier))
	r.Verifier = verifier
	return r
}

// wantExplained asserts that an error description contains certain words.
func wantExplained(t *T, r *check.Response, words ...string) {
	t.WithError(r)
	t.At(r.Answer)
	text := r.Params.Get("error_description")
	says := slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) })
	if !says && r.Params.Get("error_uri") == "" {
		t.Failf("error_description is %q, which does not contain %s", text, strings.Join(words, " or "))
	}
}
