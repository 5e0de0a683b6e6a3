package rules

import (
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// rfc7636 has the checks of the rules about Proof Key for Code Exchange.
var rfc7636 = checks{
	"RFC7636/4.1/short-verifier-refused": func(t *T) {
		t.Grant(t.Client(need.Code))
		for _, verifier := range []string{strings.Repeat("a", 42), strings.Repeat("a", 129)} {
			t.WantRefused(t.Redeem(t.Code(withVerifier(t, need.Code, verifier))),
				"the verifier does not have 43 to 128 characters")
		}
	},
	"RFC7636/4.2/s256": func(t *T) {
		supportsPKCE(t, t.Client(need.Code))
		wantTokens(t, t.Redeem(t.Code(t.Request(t.Client(need.Code)))))
	},
	"RFC7636/4.2/s256-public": func(t *T) {
		supportsPKCE(t, t.Client(need.Public))
		wantTokens(t, t.Redeem(t.Code(t.Request(t.Client(need.Public)))))
	},
	"RFC7636/4.2/challenge-form": func(t *T) {
		t.Code(t.Request(t.Client(need.Code)))
		for _, challenge := range []string{"short", strings.Repeat("a", 44), strings.Repeat("a", 42) + "=",
			strings.Repeat("a", 42) + "+"} {
			r := t.Authorize(t.Request(t.Client(need.Code)).Set("code_challenge", challenge))
			t.WantNoCode(r, "no SHA-256 digest looks like the challenge "+challenge)
		}
	},
	"RFC7636/4.3/plain-refused": func(t *T) {
		c := t.Client(need.Code)
		t.Code(t.Request(c))
		for _, r := range []*check.Request{t.Request(c).Set("code_challenge_method", "plain"),
			t.Request(c).Del("code_challenge_method")} {
			r.Set("code_challenge", r.Verifier)
			t.WantNoCode(t.Authorize(r), "the method plain discloses the verifier in the request")
		}
	},
	"RFC7636/4.4/challenge-not-exposed": func(t *T) {
		r := t.Request(t.Client(need.Code))
		code := t.Code(r)
		if strings.Contains(code.Value, r.Params.Get("code_challenge")) {
			t.Failf("the code contains the challenge")
		}
	},
	"RFC7636/4.4/challenge-bound-to-code": func(t *T) {
		c := t.Client(need.Code)
		supportsPKCE(t, c)
		t.Grant(c)
		one, other := t.Code(t.Request(c)), t.Code(t.Request(c))
		form := one.Form()
		form.Set("code_verifier", other.Request.Verifier)
		t.WantRefused(t.Token(c, form), "the verifier belongs to another code")
	},
	"RFC7636/4.4.1/required-of-public": func(t *T) { wantError(t, withoutChallenge(t), "invalid_request") },
	"RFC7636/4.4.1/missing-explained":  func(t *T) { wantExplained(t, withoutChallenge(t)) },
	"RFC7636/4.4.1/unknown-method":     func(t *T) { wantError(t, withUnknownMethod(t), "invalid_request") },
	"RFC7636/4.4.1/unlisted-method": func(t *T) {
		if methods := optionalList(t, t.Metadata(), "code_challenge_methods_supported"); len(methods) == 0 ||
			slices.Contains(methods, "plain") {
			t.Skipf("the rule applies to a server whose metadata lists methods without plain: this one lists %q", methods)
		}
		wantNoPlain(t, t.Client(need.Code))
	},
	"RFC7636/4.4.1/unknown-method-explained": func(t *T) { wantExplained(t, withUnknownMethod(t)) },
	"RFC7636/4.6/verifier-compared": func(t *T) {
		supportsPKCE(t, t.Client(need.Code))
		wantVerifierCompared(t, t.Client(need.Code))
	},
	"RFC7636/4.6/verifier-required-of-public": func(t *T) {
		c := t.Client(need.Public)
		supportsPKCE(t, c)
		t.Grant(c)
		form := t.Code(t.Request(c)).Form()
		form.Del("code_verifier")
		t.WantRefused(t.Token(c, form), "the verifier is missing")
	},
	"RFC7636/4.6/invalid-grant": func(t *T) {
		c := t.Client(need.Code)
		supportsPKCE(t, c)
		t.Grant(c)
		t.WantError(wrongVerifier(t, c), "invalid_grant")
	},
	"RFC7636/4.6/verifier-43-to-128": func(t *T) {
		c := t.Client(need.Code)
		supportsPKCE(t, c)
		t.Grant(c)
		for _, verifier := range []string{strings.Repeat("aB3-._~", 7)[:43], strings.Repeat("aB3-._~", 19)[:128]} {
			t.WantGranted(t.Redeem(t.Code(withVerifier(t, need.Code, verifier))))
		}
	},
	"RFC7636/4.6/wrong-verifier-spends-nothing": func(t *T) {
		c := t.Client(need.Code)
		code := t.Code(t.Request(c))
		form := code.Form()
		other, _ := check.NewPKCE()
		form.Set("code_verifier", other)
		t.Refused(t.Token(c, form))
		t.WantGranted(t.Redeem(code))
	},
	"RFC7636/5/without-pkce": func(t *T) {
		c := t.Client(need.Code)
		t.Grant(c)
		r := settled(t, t.Authorize(t.Request(c).Del("code_challenge", "code_challenge_method")))
		if r.Params.Get("code") == "" {
			t.Failf("a request without code_challenge gets no code: %s", r)
		}
		t.WantGranted(t.Redeem(t.CodeOf(r)))
	},
	"RFC7636/7.2/plain-not-offered": func(t *T) {
		optionalList(t, t.Metadata(), "code_challenge_methods_supported")
		wantPlainNotListed(t)
	},
	"RFC7636/7.2/plain-not-accepted": func(t *T) {
		supportsPKCE(t, t.Client(need.Code))
		wantNoPlain(t, t.Client(need.Code))
	},
}

// withVerifier returns a request with the challenge of a verifier.
func withVerifier(t *T, role Need, verifier string) *check.Request {
	r := t.Request(t.Client(role)).Set("code_challenge", check.Challenge(verifier))
	r.Verifier = verifier
	return r
}

// wantPlainNotListed asserts that the metadata does not list the method plain.
func wantPlainNotListed(t *T) {
	if t.Metadata().Lists("code_challenge_methods_supported", "plain") {
		publishedMetadata(t) // the failure shows it
		t.Failf("code_challenge_methods_supported contains plain")
	}
}

// wantNoPlain asserts that a code with the method plain, which is also the default, cannot be redeemed with the
// challenge itself.
func wantNoPlain(t *T, c *target.Client) {
	t.Grant(c)
	for _, named := range []bool{true, false} {
		r := t.Request(c).Del("code_challenge_method")
		if r.Set("code_challenge", r.Verifier); named {
			r.Set("code_challenge_method", "plain")
		}
		response := settled(t, t.Authorize(r))
		if response.Params.Get("code") == "" {
			continue
		}
		t.WantRefused(t.Redeem(t.CodeOf(response)), "the request had the challenge in plain, which discloses the verifier")
	}
}

// supportsPKCE skips the check if the server does not support PKCE: if its metadata lists no method, and it issues
// tokens for a wrong verifier.
func supportsPKCE(t *T, c *target.Client) {
	if methods, _ := t.Metadata().List("code_challenge_methods_supported"); len(methods) > 0 {
		return
	}
	if wrongVerifier(t, c).Granted() {
		t.Skipf("the rule applies to a server with PKCE: the metadata of this one has no code_challenge_methods_supported, " +
			"and it issues tokens for a wrong code_verifier")
	}
}

// wrongVerifier redeems a code with the verifier of another challenge.
func wrongVerifier(t *T, c *target.Client) *wire.Answer {
	form := t.Code(t.Request(c)).Form()
	other, _ := check.NewPKCE()
	form.Set("code_verifier", other)
	return t.Token(c, form)
}

// wantPKCE asserts that PKCE with S256 has an effect: the correct verifier returns tokens, and a wrong one does not.
func wantPKCE(t *T, c *target.Client) {
	wantTokens(t, t.Redeem(t.Code(t.Request(c))))
	t.WantRefused(wrongVerifier(t, c), "the verifier does not match the challenge")
}

// wantVerifierCompared asserts that a code is refused with any other verifier than the correct one.
func wantVerifierCompared(t *T, c *target.Client) {
	t.Grant(c)
	other, _ := check.NewPKCE()
	request := t.Request(c)
	for _, verifier := range []string{"", other, request.Params.Get("code_challenge"), strings.ToUpper(request.Verifier),
		request.Verifier + "A"} {
		form := t.Code(request).Form()
		form.Set("code_verifier", verifier)
		t.WantRefused(t.Token(c, form), "the verifier does not match the challenge")
	}
}

// withoutChallenge returns the response to a request of the client public without a challenge. If the server does not
// require PKCE, the check is skipped.
func withoutChallenge(t *T) *check.Response {
	c := t.Client(need.Public)
	t.Code(t.Request(c))
	r := settled(t, t.Authorize(t.Request(c).Del("code_challenge", "code_challenge_method")))
	if r.Params.Get("code") != "" {
		t.Skipf("the rule applies to a server that requires PKCE of the client public: this one issues a code without a " +
			"challenge")
	}
	return r
}

// withUnknownMethod returns the response to a request with a method that does not exist. If the server does not support
// PKCE, the check is skipped.
func withUnknownMethod(t *T) *check.Response {
	c := t.Client(need.Code)
	supportsPKCE(t, c)
	t.Code(t.Request(c))
	return t.Authorize(t.Request(c).Set("code_challenge_method", "S512"))
}

// wantExplained asserts that an error has an explanation. Its words and its language are the server's.
func wantExplained(t *T, r *check.Response) {
	t.WithError(settled(t, r))
	if r.Params.Get("error_description") == "" && r.Params.Get("error_uri") == "" {
		t.At(r.Answer)
		t.Failf("the error %s has neither error_description nor error_uri", r.ErrorCode())
	}
}
