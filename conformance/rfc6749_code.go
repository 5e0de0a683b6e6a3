package conformance

// The authorization code grant (RFC 6749 §4.1).
func rfc6749Code() []Rule {
	return []Rule{
		{
			ID: "RFC6749/4.1.2/code-issued", Level: Must,
			Text:  "Where the person approves, the client is sent a code at its redirect URI.",
			Needs: []Need{NeedAuthorization, NeedCode, NeedUser},
			Check: func(t *T) {
				response := t.Authorize(t.Request(t.Client(NeedCode)))
				if response.Stuck != "" {
					t.Blockedf("%s", response)
				}
				if !response.Arrived() || response.Params.Get("code") == "" {
					t.Failf("no code came to the redirect URI: %s", response)
				}
			},
		},
		{
			ID: "RFC6749/4.1.3/code-bound-to-client", Level: Must,
			Text:  "A code works only for the client that it was issued to.",
			Needs: []Need{NeedAuthorization, NeedToken, NeedCode, NeedSecond, NeedUser},
			Check: func(t *T) {
				code := t.Code(t.Request(t.Client(NeedCode)))
				thief := t.Client(NeedSecond)
				t.WantRefused(t.Token(thief, code.Form()), "the code was issued to another client")
			},
		},
	}
}
