package conformance

import "net/http"

// revoking is what a check of the revocation endpoint needs.
func revoking(more ...Need) []Need { return append(codeFlow(NeedRevocation), more...) }

// Token revocation.
func rfc7009() []Rule {
	return []Rule{
		{
			ID: "RFC7009/2/tls", Level: Must,
			Text:  "The revocation endpoint is reached by TLS.",
			Needs: []Need{NeedRevocation},
			Check: func(t *T) { t.wantTLS(t.Endpoint(NeedRevocation)) },
		},
		{
			ID: "RFC7009/2/refresh-tokens", Level: Must, Alone: true,
			Text:  "A refresh token can be revoked, and works no more from then on.",
			Needs: revoking(),
			Check: func(t *T) {
				c := t.Client(NeedCode)
				token := t.GrantRefresh(c).Refresh
				t.wantRevoked(t.Revoke(c, token, "token_type_hint", "refresh_token"))
				t.WantRefused(t.Refresh(c, token), "the refresh token was revoked")
			},
		},
		{
			ID: "RFC7009/2/access-tokens", Level: Should, Alone: true,
			Text:  "An access token can be revoked, and works no more from then on.",
			Needs: revoking(),
			Check: func(t *T) {
				c := t.Client(NeedCode)
				token := t.working(t.Grant(c)).Access
				t.wantRevoked(t.Revoke(c, token, "token_type_hint", "access_token"))
				if t.Works(token) {
					t.Failf("the access token was revoked, and works")
				}
			},
		},
		{
			ID: "RFC7009/2/public-client", Level: Must, Alone: true,
			Text:  "A public client can revoke its tokens.",
			Needs: []Need{NeedAuthorization, NeedToken, NeedRevocation, NeedPublic, NeedUser},
			Check: func(t *T) {
				c := t.Client(NeedPublic)
				token := t.GrantRefresh(c).Refresh
				t.wantRevoked(t.Revoke(c, token))
				t.WantRefused(t.Refresh(c, token), "the refresh token was revoked")
			},
		},
		{
			ID: "RFC7009/2.1/client-authenticated", Level: Must, Alone: true,
			Text:  "A confidential client revokes with its secret only.",
			Needs: revoking(),
			Check: func(t *T) {
				c := t.Client(NeedCode)
				token := t.working(t.Grant(c)).Access
				refused := t.Post(t.Endpoint(NeedRevocation), params("token", token), InBody(c.ID, ""))
				wrong := t.Post(t.Endpoint(NeedRevocation), params("token", token), c.With("wrong-"+t.Random()))
				if !t.Works(token) {
					t.Failf("a token was revoked by somebody without the secret")
				}
				for _, a := range []*Answer{refused, wrong} {
					if a.Status/100 == 2 {
						t.At(a)
						t.Errorf("a request without the secret is answered with %s", a)
					}
				}
			},
		},
		{
			ID: "RFC7009/2.1/own-tokens-only", Level: Must, Alone: true,
			Text:  "A client cannot revoke a token of another.",
			Needs: revoking(NeedSecond),
			Check: func(t *T) {
				tokens := t.working(t.Grant(t.Client(NeedCode)))
				other := t.Client(NeedSecond)
				t.Revoke(other, tokens.Access)
				if tokens.Refresh != "" {
					t.Revoke(other, tokens.Refresh)
				}
				if !t.Works(tokens.Access) {
					t.Failf("another client has revoked the token")
				}
			},
		},
		{
			ID: "RFC7009/2.1/told-of-refusal", Level: Must, Alone: true,
			Text:  "A client that may not revoke a token is told so.",
			Needs: revoking(NeedSecond),
			Check: func(t *T) {
				a := t.Revoke(t.Client(NeedSecond), t.Grant(t.Client(NeedCode)).Access)
				if a.Status/100 != 4 {
					t.Failf("another client's token is answered with %s", a)
				}
			},
		},
		{
			ID: "RFC7009/2.1/at-once", Level: Must, Alone: true,
			Text:  "What was revoked works no more as soon as the answer is there.",
			Needs: revoking(),
			Check: func(t *T) {
				c := t.Client(NeedCode)
				for range 3 {
					token := t.working(t.Grant(c)).Access
					t.revoked(t.Revoke(c, token))
					if t.Works(token) {
						t.Failf("the access token was revoked, and works")
					}
				}
			},
		},
		{
			ID: "RFC7009/2.1/refresh-token-ends-access-tokens", Level: Should, Alone: true,
			Text:  "With a refresh token the access tokens of the same approval end.",
			Needs: revoking(),
			Check: func(t *T) {
				c := t.Client(NeedCode)
				tokens := t.working(t.GrantRefresh(c))
				t.revoked(t.Revoke(c, tokens.Refresh))
				if t.Works(tokens.Access) {
					t.Failf("the refresh token was revoked, and its access token works")
				}
			},
		},
		{
			ID: "RFC7009/2.1/access-token-ends-refresh-token", Level: May, Alone: true,
			Text:  "With an access token its refresh token ends too.",
			Needs: revoking(),
			Check: func(t *T) {
				c := t.Client(NeedCode)
				tokens := t.GrantRefresh(c)
				t.revoked(t.Revoke(c, tokens.Access))
				t.WantRefused(t.Refresh(c, tokens.Refresh), "its access token was revoked")
			},
		},
		{
			ID: "RFC7009/2.1/hint-is-a-hint", Level: Must, Alone: true,
			Text:  "A token is found although the hint says that it is of another type.",
			Needs: revoking(),
			Check: func(t *T) {
				c := t.Client(NeedCode)
				token := t.GrantRefresh(c).Refresh
				t.revoked(t.Revoke(c, token, "token_type_hint", "access_token"))
				t.WantRefused(t.Refresh(c, token), "the refresh token was revoked")
			},
		},
		{
			ID: "RFC7009/2.1/token-required", Level: Must,
			Text:  "A request without a token is answered with invalid_request.",
			Needs: []Need{NeedRevocation, NeedCode},
			Check: func(t *T) {
				c := t.Client(NeedCode)
				a := t.Post(t.Endpoint(NeedRevocation), params("token_type_hint", "access_token"), c.Credentials())
				t.WantError(a, "invalid_request")
			},
		},
		{
			ID: "RFC7009/2.2/status-200", Level: Must, Alone: true,
			Text:  "A revocation is answered with 200.",
			Needs: revoking(),
			Check: func(t *T) {
				c := t.Client(NeedCode)
				t.WantStatus(t.Revoke(c, t.Grant(c).Access), http.StatusOK)
			},
		},
		{
			ID: "RFC7009/2.2/invalid-token-200", Level: Must, Alone: true,
			Text:  "A token that is not there is as good as revoked: 200, and no error.",
			Needs: revoking(),
			Check: func(t *T) {
				c := t.Client(NeedCode)
				t.WantStatus(t.Revoke(c, "conformance-"+t.Random()), http.StatusOK)
				token := t.Grant(c).Access
				t.revoked(t.Revoke(c, token))
				t.WantStatus(t.Revoke(c, token), http.StatusOK)
			},
		},
		{
			ID: "RFC7009/2.2/invalid-hint-ignored", Level: Must, Alone: true,
			Text:  "A hint of no known type does not change the answer.",
			Needs: revoking(),
			Check: func(t *T) {
				c := t.Client(NeedCode)
				token := t.GrantRefresh(c).Refresh
				t.wantRevoked(t.Revoke(c, token, "token_type_hint", "conformance"))
				t.WantRefused(t.Refresh(c, token), "the refresh token was revoked")
			},
		},
		{
			ID: "RFC7009/2.2.1/invalid-client", Level: Must,
			Text:  "A client that cannot authenticate is answered with invalid_client.",
			Needs: []Need{NeedRevocation, NeedCode},
			Check: func(t *T) {
				c := t.Client(NeedCode)
				a := t.Post(t.Endpoint(NeedRevocation), params("token", "conformance"), c.With("wrong-"+t.Random()))
				t.WantError(a, "invalid_client")
			},
		},
		{
			ID: "RFC7009/2.2.1/unavailable-503", Level: Must,
			Text:      "A server that cannot revoke just now answers 503, so that the client knows that the token lives.",
			Elsewhere: "conformance/mandate/outage_test.go:TestOutage",
		},
		{
			ID: "RFC7009/2.3/cors", Level: May,
			Text:  "A script of any site can call the revocation endpoint.",
			Needs: []Need{NeedRevocation, NeedCode},
			Check: func(t *T) {
				a := t.Post(t.Endpoint(NeedRevocation), params("token", "conformance"), t.Client(NeedCode).Credentials(), Header("Origin", "https://spa.example"))
				if a.Header.Get("Access-Control-Allow-Origin") == "" {
					t.Failf("there is no Access-Control-Allow-Origin")
				}
			},
		},
		{
			ID: "RFC7009/5/guessing-slowed", Level: Must,
			Text:      "Whoever guesses at client secrets at the revocation endpoint is slowed as at the token endpoint.",
			Elsewhere: "provider/client_test.go:TestChosenSecretIsSlowed",
		},
	}
}

// wantRevoked asserts that a revocation went through. Which of the good statuses says so is another rule's business.
func (t *T) wantRevoked(a *Answer) {
	if a.Status/100 != 2 {
		t.At(a)
		t.Failf("the revocation is refused: %s", a.failure())
	}
}

// revoked blocks the check if a revocation did not go through.
func (t *T) revoked(a *Answer) {
	if a.Status/100 != 2 {
		t.Blockedf("could not revoke: %s", a.failure())
	}
}

// working blocks the check if the access token does not work to begin with.
func (t *T) working(tokens *Tokens) *Tokens {
	if !t.Works(tokens.Access) {
		t.Blockedf("the access token does not work from the beginning")
	}
	return tokens
}
