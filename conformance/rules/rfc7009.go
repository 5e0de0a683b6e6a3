package rules

import (
	"net/http"

	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// revocationNeeds returns what a check of the revocation endpoint needs.
func revocationNeeds(more ...Need) []Need { return append(codeFlowNeeds(need.Revocation), more...) }

// rfc7009 returns the rules about token revocation.
func rfc7009() []Rule {
	return []Rule{
		{
			ID: "RFC7009/2/tls", Level: Must,
			Text:  "The revocation endpoint uses TLS.",
			Needs: []Need{need.Revocation},
			Check: func(t *T) { wantTLS(t, t.Endpoint(need.Revocation)) },
		},
		{
			ID: "RFC7009/2/refresh-tokens", Level: Must, Alone: true,
			Text:  "A refresh token can be revoked, and is invalid from then on.",
			Needs: revocationNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				token := t.GrantRefresh(c).Refresh
				wantRevoked(t, t.Revoke(c, token, "token_type_hint", "refresh_token"))
				t.WantRefused(t.Refresh(c, token), "the refresh token was revoked")
			},
		},
		{
			ID: "RFC7009/2/access-tokens", Level: Should, Alone: true,
			Text:  "An access token can be revoked, and is invalid from then on.",
			Needs: revocationNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				token := workingTokens(t, t.Grant(c)).Access
				wantRevoked(t, t.Revoke(c, token, "token_type_hint", "access_token"))
				if t.Works(token) {
					t.Failf("the access token was revoked, but still works")
				}
			},
		},
		{
			ID: "RFC7009/2/public-client", Level: Must, Alone: true,
			Text:  "A public client can revoke its tokens.",
			Needs: []Need{need.Authorization, need.Token, need.Revocation, need.Public, need.User},
			Check: func(t *T) {
				c := t.Client(need.Public)
				token := t.GrantRefresh(c).Refresh
				wantRevoked(t, t.Revoke(c, token))
				t.WantRefused(t.Refresh(c, token), "the refresh token was revoked")
			},
		},
		{
			ID: "RFC7009/2.1/client-authenticated", Level: Must, Alone: true,
			Text:  "A confidential client must use its secret to revoke a token.",
			Needs: revocationNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				token := workingTokens(t, t.Grant(c)).Access
				refused := t.Post(t.Endpoint(need.Revocation), wire.Params("token", token), wire.InBody(c.ID, ""))
				wrong := t.Post(t.Endpoint(need.Revocation), wire.Params("token", token), c.With("wrong-"+t.Random()))
				if !t.Works(token) {
					t.Failf("a request without the secret revoked a token")
				}
				for _, a := range []*wire.Answer{refused, wrong} {
					if a.Status/100 == 2 {
						t.At(a)
						t.Errorf("a request without the secret is answered with %s", a)
					}
				}
			},
		},
		{
			ID: "RFC7009/2.1/own-tokens-only", Level: Must, Alone: true,
			Text:  "A client cannot revoke a token of another client.",
			Needs: revocationNeeds(need.Second),
			Check: func(t *T) {
				tokens := workingTokens(t, t.Grant(t.Client(need.Code)))
				other := t.Client(need.Second)
				t.Revoke(other, tokens.Access)
				if tokens.Refresh != "" {
					t.Revoke(other, tokens.Refresh)
				}
				if !t.Works(tokens.Access) {
					t.Failf("another client revoked the token")
				}
			},
		},
		{
			ID: "RFC7009/2.1/refusal-is-reported", Level: Must, Alone: true,
			Text:  "A client that is not allowed to revoke a token receives an error.",
			Needs: revocationNeeds(need.Second),
			Check: func(t *T) {
				a := t.Revoke(t.Client(need.Second), t.Grant(t.Client(need.Code)).Access)
				if a.Status/100 != 4 {
					t.Failf("the request for another client's token is answered with %s", a)
				}
			},
		},
		{
			ID: "RFC7009/2.1/at-once", Level: Must, Alone: true,
			Text:  "A revoked token is invalid as soon as the response arrives.",
			Needs: revocationNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				for range 3 {
					token := workingTokens(t, t.Grant(c)).Access
					revokeOK(t, t.Revoke(c, token))
					if t.Works(token) {
						t.Failf("the access token was revoked, but still works")
					}
				}
			},
		},
		{
			ID: "RFC7009/2.1/refresh-token-ends-access-tokens", Level: Should, Alone: true,
			Text:  "Revoking a refresh token also revokes the access tokens of the same grant.",
			Needs: revocationNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				tokens := workingTokens(t, t.GrantRefresh(c))
				revokeOK(t, t.Revoke(c, tokens.Refresh))
				if t.Works(tokens.Access) {
					t.Failf("the refresh token was revoked, but its access token still works")
				}
			},
		},
		{
			ID: "RFC7009/2.1/access-token-ends-refresh-token", Level: May, Alone: true,
			Text:  "Revoking an access token also revokes its refresh token.",
			Needs: revocationNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				tokens := t.GrantRefresh(c)
				revokeOK(t, t.Revoke(c, tokens.Access))
				t.WantRefused(t.Refresh(c, tokens.Refresh), "its access token was revoked")
			},
		},
		{
			ID: "RFC7009/2.1/hint-is-a-hint", Level: Must, Alone: true,
			Text:  "The server finds a token even if token_type_hint is wrong.",
			Needs: revocationNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				token := t.GrantRefresh(c).Refresh
				revokeOK(t, t.Revoke(c, token, "token_type_hint", "access_token"))
				t.WantRefused(t.Refresh(c, token), "the refresh token was revoked")
			},
		},
		{
			ID: "RFC7009/2.1/token-required", Level: Must,
			Text:  "A request without a token is refused with invalid_request.",
			Needs: []Need{need.Revocation, need.Code},
			Check: func(t *T) {
				c := t.Client(need.Code)
				a := t.Post(t.Endpoint(need.Revocation), wire.Params("token_type_hint", "access_token"), c.Credentials())
				t.WantError(a, "invalid_request")
			},
		},
		{
			ID: "RFC7009/2.2/status-200", Level: Must, Alone: true,
			Text:  "The server answers a revocation with 200.",
			Needs: revocationNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				t.WantStatus(t.Revoke(c, t.Grant(c).Access), http.StatusOK)
			},
		},
		{
			ID: "RFC7009/2.2/invalid-token-200", Level: Must, Alone: true,
			Text:  "For an unknown token the server answers 200 and no error.",
			Needs: revocationNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				t.WantStatus(t.Revoke(c, "conformance-"+t.Random()), http.StatusOK)
				token := t.Grant(c).Access
				revokeOK(t, t.Revoke(c, token))
				t.WantStatus(t.Revoke(c, token), http.StatusOK)
			},
		},
		{
			ID: "RFC7009/2.2/invalid-hint-ignored", Level: Must, Alone: true,
			Text:  "An unknown token_type_hint does not change the response.",
			Needs: revocationNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				token := t.GrantRefresh(c).Refresh
				wantRevoked(t, t.Revoke(c, token, "token_type_hint", "conformance"))
				t.WantRefused(t.Refresh(c, token), "the refresh token was revoked")
			},
		},
		{
			ID: "RFC7009/2.2.1/invalid-client", Level: Must,
			Text:  "A client that cannot authenticate is refused with invalid_client.",
			Needs: []Need{need.Revocation, need.Code},
			Check: func(t *T) {
				c := t.Client(need.Code)
				a := t.Post(t.Endpoint(need.Revocation), wire.Params("token", "conformance"), c.With("wrong-"+t.Random()))
				t.WantError(a, "invalid_client")
			},
		},
		{
			ID: "RFC7009/2.2.1/unavailable-503", Level: Must,
			Text:     "If the server cannot revoke at the moment, it answers 503, so that the client knows that the token is still valid.",
			TestedBy: "conformance/mandate/outage_test.go:TestOutage",
		},
		{
			ID: "RFC7009/2.3/cors", Level: May,
			Text:  "Scripts of any site can call the revocation endpoint (CORS).",
			Needs: []Need{need.Revocation, need.Code},
			Check: func(t *T) {
				a := t.Post(t.Endpoint(need.Revocation), wire.Params("token", "conformance"), t.Client(need.Code).Credentials(), wire.Header("Origin", "https://spa.example"))
				if a.Header.Get("Access-Control-Allow-Origin") == "" {
					t.Failf("there is no Access-Control-Allow-Origin")
				}
			},
		},
		{
			ID: "RFC7009/5/guessing-slowed", Level: Must,
			Text:     "The revocation endpoint limits guesses of client secrets like the token endpoint.",
			TestedBy: "provider/client_test.go:TestChosenSecretIsSlowed",
		},
	}
}

// wantRevoked asserts that a revocation succeeded. Another rule checks its status.
func wantRevoked(t *T, a *wire.Answer) {
	if a.Status/100 != 2 {
		t.At(a)
		t.Failf("the revocation is refused: %s", a.Failure())
	}
}

// revokeOK blocks the check if a revocation failed.
func revokeOK(t *T, a *wire.Answer) {
	if a.Status/100 != 2 {
		t.Blockedf("the revocation failed: %s", a.Failure())
	}
}

// workingTokens blocks the check if the access token does not work at first.
func workingTokens(t *T, tokens *check.Tokens) *check.Tokens {
	if !t.Works(tokens.Access) {
		t.Blockedf("the access token does not work at first")
	}
	return tokens
}
