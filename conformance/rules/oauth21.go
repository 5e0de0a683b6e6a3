package rules

import (
	"mandate/conformance/check"
	"mandate/conformance/need"
)

// oauth21 returns what OAuth 2.1 adds to the documents that it contains. The profile oauth21 has these documents too.
func oauth21() []Rule {
	core, best := rfc6749(), rfc9700()
	return []Rule{
		sameCheckAs(best, "RFC9700/2.6/a39-no-cors-at-authorization", Rule{
			ID: "OAuth21/3.1/no-cors", Level: Must,
			Text: "A script of another site cannot call the authorization endpoint.",
		}),
		sameCheckAs(best, "RFC9700/2.1.1/a12-required-of-public", Rule{
			ID: "OAuth21/4.1.2.1/pkce-of-public", Level: Must,
			Text: "A request of a public client without a challenge is refused.",
		}),
		{
			ID: "OAuth21/4.1.2.1/pkce-of-others", Level: Must,
			// Mandate takes as assurance openid with a nonce, or the administrator who is responsible for the client.
			Text:     "Another client needs a challenge too, unless the server is assured that it prevents code injection otherwise.",
			TestedBy: "provider/policy/pkce_test.go:TestNeedsPKCE",
		},
		{
			// The document removes the parameter without a keyword.
			ID: "OAuth21/10.2/redirect-uri-left-out", Level: Should,
			Text:  "A token request does not need redirect_uri: the code_verifier shows that the code belongs to the client.",
			Needs: codeFlowNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				supportsPKCE(t, c)
				t.Grant(c)
				t.WantGranted(t.Token(c, formWithout(t.Code(t.Request(c)), "redirect_uri")))
			},
		},
		sameCheckAs(core, "RFC6749/4.1.3/redirect-uri-identical", Rule{
			ID: "OAuth21/10.2/redirect-uri-enforced", Level: Must,
			Text: "If a token request has redirect_uri, it is the one of the authorization request.",
		}),
	}
}

// formWithout returns the token request for a code without some of its parameters.
func formWithout(code *check.Code, names ...string) map[string][]string {
	form := code.Form()
	for _, name := range names {
		form.Del(name)
	}
	return form
}
