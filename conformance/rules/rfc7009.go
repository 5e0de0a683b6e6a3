package rules

import (
	"net/http"

	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/target"
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
				token := liveRefreshToken(t, c)
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
			ID: "RFC7009/2/public-client", Level: Should, Alone: true,
			Text:  "A public client can revoke its tokens.",
			Needs: []Need{need.Authorization, need.Token, need.Revocation, need.Public, need.User},
			Check: func(t *T) {
				c := t.Client(need.Public)
				token := liveRefreshToken(t, c)
				wantRevoked(t, t.Revoke(c, token))
				t.WantRefused(t.Refresh(c, token), "the refresh token was revoked")
			},
		},
		{
			ID: "RFC7009/2.1/client-authenticated", Level: Should, Alone: true,
			Text:  "A confidential client must use its secret to revoke a token.",
			Needs: revocationNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				token := workingTokens(t, t.Grant(c)).Access
				for _, wrong := range []struct {
					why string
					as  wire.Auth
				}{{"no secret was sent", wire.InBody(c.ID, "")}, {"the secret was wrong", c.With("wrong-" + t.Random())}} {
					a := t.Post(t.Endpoint(need.Revocation), wire.Params("token", token), wrong.as)
					if !t.Works(token) {
						t.At(a)
						t.Failf("the token was revoked, although %s", wrong.why)
					}
					if a.Status/100 == 2 {
						t.At(a)
						t.Failf("the answer is %s, although %s", a, wrong.why)
					}
				}
				revokeOK(t, t.Revoke(c, token))
			},
		},
		{
			ID: "RFC7009/2.1/own-tokens-only", Level: Should, Alone: true,
			Text:  "A client cannot revoke a token of another client.",
			Needs: revocationNeeds(need.Second),
			Check: func(t *T) {
				c, other := t.Client(need.Code), t.Client(need.Second)
				tokens := workingTokens(t, t.Grant(c))
				if a := t.Revoke(other, tokens.Access); !t.Works(tokens.Access) {
					t.At(a)
					t.Failf("another client revoked the access token")
				}
				if tokens.Refresh != "" {
					refresh := liveRefreshToken(t, c)
					if a := t.Revoke(other, refresh); !t.Refresh(c, refresh).Granted() {
						t.At(a)
						t.Failf("another client revoked the refresh token")
					}
					return
				}
				revokeOK(t, t.Revoke(c, tokens.Access))
				if t.Works(tokens.Access) {
					t.Skipf("%s", notRevocable)
				}
			},
		},
		{
			ID: "RFC7009/2.1/refusal-is-reported", Level: Should, Alone: true,
			Text:  "A client that is not allowed to revoke a token receives an error.",
			Needs: revocationNeeds(need.Second),
			Check: func(t *T) {
				c := t.Client(need.Code)
				token := t.Grant(c).Access
				a := t.Revoke(t.Client(need.Second), token)
				revokeOK(t, t.Revoke(c, token))
				if a.Status/100 != 4 {
					t.At(a)
					t.Failf("the request for another client's token is answered with %s", a)
				}
			},
		},
		{
			ID: "RFC7009/2.1/at-once", Level: Should, Alone: true,
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
			Text:  "Revoking a refresh token also revokes the access tokens of the same grant, if the server can revoke access tokens.",
			Needs: revocationNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				tokens := workingTokens(t, t.GrantRefresh(c))
				revokeOK(t, t.Revoke(c, tokens.Refresh))
				if !t.Works(tokens.Access) {
					return
				}
				shown := t.Last()
				alone := workingTokens(t, t.Grant(c)).Access
				if t.Revoke(c, alone); t.Works(alone) {
					t.Skipf("%s", notRevocable)
				}
				t.At(shown)
				t.Failf("the refresh token was revoked, but its access token still works")
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
				refreshRevocable(t, c)
				token := liveRefreshToken(t, c)
				// Without the hint the revocation has worked.
				wantRevoked(t, t.Revoke(c, token, "token_type_hint", "access_token"))
				t.WantRefused(t.Refresh(c, token), "the refresh token was revoked")
			},
		},
		{
			// REQUIRED binds the client. The error is the one that RFC 6749 §5.2 defines.
			ID: "RFC7009/2.1/token-required", Level: Should,
			Text:  "A request without a token is refused with invalid_request.",
			Needs: []Need{need.Revocation, need.Code},
			Check: func(t *T) {
				c := t.Client(need.Code)
				revokerKnown(t, c)
				a := t.Post(t.Endpoint(need.Revocation), wire.Params("token_type_hint", "access_token"), c.Credentials())
				t.WantError(a, "invalid_request")
			},
		},
		{
			ID: "RFC7009/2.2/status-200", Level: Should, Alone: true,
			Text:  "The server answers a revocation with 200.",
			Needs: revocationNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				tokens := t.Grant(c)
				a := t.Revoke(c, tokens.Access)
				if a.Text("error") == "unsupported_token_type" && tokens.Refresh != "" {
					a = t.Revoke(c, tokens.Refresh)
				}
				t.WantStatus(a, http.StatusOK)
			},
		},
		{
			ID: "RFC7009/2.2/invalid-token-200", Level: Should, Alone: true,
			Text:  "For an unknown token the server answers 200 and no error.",
			Needs: revocationNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				t.WantStatus(t.Revoke(c, "conformance-"+t.Random()), http.StatusOK)
				token := t.Grant(c).Access
				if t.Revoke(c, token).Status/100 == 2 {
					t.WantStatus(t.Revoke(c, token), http.StatusOK)
				}
			},
		},
		{
			ID: "RFC7009/2.2/invalid-hint-ignored", Level: Should, Alone: true,
			Text:  "An unknown token_type_hint does not change the response.",
			Needs: revocationNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				refreshRevocable(t, c)
				token := liveRefreshToken(t, c)
				wantRevoked(t, t.Revoke(c, token, "token_type_hint", "conformance"))
				t.WantRefused(t.Refresh(c, token), "the refresh token was revoked")
			},
		},
		{
			// §2.2.1 refers to RFC 6749 §5.2, where the member error is REQUIRED.
			ID: "RFC7009/2.2.1/invalid-client", Level: Must,
			Text:  "The error for a client that cannot authenticate is invalid_client.",
			Needs: []Need{need.Revocation, need.Code},
			Check: func(t *T) {
				c := t.Client(need.Code)
				revokerKnown(t, c)
				a := t.Post(t.Endpoint(need.Revocation), wire.Params("token", "conformance"), c.With("wrong-"+t.Random()))
				if a.Status/100 == 2 {
					t.Blockedf("a request with a wrong secret is answered with %s: §2.1 wants a refusal", a)
				}
				t.WantError(a, "invalid_client")
			},
		},
		{
			ID: "RFC7009/2.2.1/unavailable-503", Level: Should,
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

// notRevocable is the reason to skip a rule whose condition is that access tokens can be revoked.
const notRevocable = "the server does not revoke access tokens: the rule needs a server that does"

// refreshRevocable blocks the check if the revocation of a refresh token without a hint has no effect.
func refreshRevocable(t *T, c *target.Client) {
	token := liveRefreshToken(t, c)
	revokeOK(t, t.Revoke(c, token))
	if t.Refresh(c, token).Granted() {
		t.Blockedf("a revoked refresh token still works without a hint, so hints show nothing")
	}
}

// revokerKnown blocks the check if the revocation endpoint refuses the correct credentials of a client.
func revokerKnown(t *T, c *target.Client) {
	if a := t.Revoke(c, "conformance-"+t.Random()); a.Status == http.StatusUnauthorized || a.Text("error") == "invalid_client" {
		t.Blockedf("the revocation endpoint refuses the client %s with the credentials of the target: %s", c.Role, t.Failure(a))
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
		if t.Introspects() {
			t.Blockedf("%s", inactive)
		}
		t.Blockedf("a new access token does not work: %s answers %s. Name an api in the target that accepts the tokens of the client %s", wire.Bare(t.Last().URL), t.Last(), need.Code)
	}
	return tokens
}
