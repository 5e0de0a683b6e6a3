package rules

import (
	"net/http"

	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// rfc7009 has the checks of the rules about token revocation.
var rfc7009 = checks{
	"RFC7009/2/tls": func(t *T) { wantTLS(t, t.Endpoint(need.Revocation)) },
	"RFC7009/2/refresh-tokens": func(t *T) {
		c := t.Client(need.Code)
		token := liveRefreshToken(t, c)
		wantRevoked(t, t.Revoke(c, token, "token_type_hint", "refresh_token"))
		t.WantRefused(t.Refresh(c, token), "the refresh token was revoked")
	},
	"RFC7009/2/access-tokens": func(t *T) {
		c := t.Client(need.Code)
		token := workingTokens(t, t.Grant(c)).Access
		wantRevoked(t, t.Revoke(c, token, "token_type_hint", "access_token"))
		if t.Works(token) {
			t.Failf("the access token was revoked, but still works")
		}
	},
	"RFC7009/2/public-client": func(t *T) {
		c := t.Client(need.Public)
		token := liveRefreshToken(t, c)
		wantRevoked(t, t.Revoke(c, token))
		t.WantRefused(t.Refresh(c, token), "the refresh token was revoked")
	},
	"RFC7009/2.1/client-authenticated": rfc7009ClientAuthenticated,
	"RFC7009/2.1/own-tokens-only":      rfc7009OwnTokensOnly,
	"RFC7009/2.1/refusal-is-reported": func(t *T) {
		c := t.Client(need.Code)
		token := t.Grant(c).Access
		a := t.Revoke(t.Client(need.Second), token)
		revokeOK(t, t.Revoke(c, token))
		if a.Status/100 != 4 {
			t.At(a)
			t.Failf("the request for another client's token is answered with %s", a)
		}
	},
	"RFC7009/2.1/at-once": func(t *T) {
		c := t.Client(need.Code)
		for range 3 {
			token := workingTokens(t, t.Grant(c)).Access
			revokeOK(t, t.Revoke(c, token))
			if t.Works(token) {
				t.Failf("the access token was revoked, but still works")
			}
		}
	},
	"RFC7009/2.1/refresh-token-ends-access-tokens": func(t *T) {
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
	"RFC7009/2.1/access-token-ends-refresh-token": func(t *T) {
		c := t.Client(need.Code)
		tokens := t.GrantRefresh(c)
		revokeOK(t, t.Revoke(c, tokens.Access))
		t.WantRefused(t.Refresh(c, tokens.Refresh), "its access token was revoked")
	},
	"RFC7009/2.1/hint-is-a-hint": func(t *T) {
		c := t.Client(need.Code)
		refreshRevocable(t, c)
		token := liveRefreshToken(t, c)
		// Without the hint the revocation has worked.
		wantRevoked(t, t.Revoke(c, token, "token_type_hint", "access_token"))
		t.WantRefused(t.Refresh(c, token), "the refresh token was revoked")
	},
	"RFC7009/2.1/token-required": func(t *T) {
		c := t.Client(need.Code)
		revokerKnown(t, c)
		a := t.Post(t.Endpoint(need.Revocation), wire.Params("token_type_hint", "access_token"), c.Credentials())
		t.WantError(a, "invalid_request")
	},
	"RFC7009/2.2/status-200": func(t *T) {
		c := t.Client(need.Code)
		tokens := t.Grant(c)
		a := t.Revoke(c, tokens.Access)
		if a.Text("error") == "unsupported_token_type" && tokens.Refresh != "" {
			a = t.Revoke(c, tokens.Refresh)
		}
		t.WantStatus(a, http.StatusOK)
	},
	"RFC7009/2.2/invalid-token-200": func(t *T) {
		c := t.Client(need.Code)
		t.WantStatus(t.Revoke(c, "conformance-"+t.Random()), http.StatusOK)
		token := t.Grant(c).Access
		if t.Revoke(c, token).Status/100 == 2 {
			t.WantStatus(t.Revoke(c, token), http.StatusOK)
		}
	},
	"RFC7009/2.2/invalid-hint-ignored": func(t *T) {
		c := t.Client(need.Code)
		refreshRevocable(t, c)
		token := liveRefreshToken(t, c)
		wantRevoked(t, t.Revoke(c, token, "token_type_hint", "conformance"))
		t.WantRefused(t.Refresh(c, token), "the refresh token was revoked")
	},
	"RFC7009/2.2.1/invalid-client": func(t *T) {
		c := t.Client(need.Code)
		revokerKnown(t, c)
		a := t.Post(t.Endpoint(need.Revocation), wire.Params("token", "conformance"), c.With("wrong-"+t.Random()))
		if a.Status/100 == 2 {
			t.Blockedf("a request with a wrong secret is answered with %s: §2.1 wants a refusal", a)
		}
		t.WantError(a, "invalid_client")
	},
	"RFC7009/2.3/cors": func(t *T) {
		a := t.Post(t.Endpoint(need.Revocation), wire.Params("token", "conformance"), t.Client(need.Code).Credentials(),
			wire.Header("Origin", "https://spa.example"))
		if a.Header.Get("Access-Control-Allow-Origin") == "" {
			t.Failf("there is no Access-Control-Allow-Origin")
		}
	},
}

func rfc7009ClientAuthenticated(t *T) {
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
}

func rfc7009OwnTokensOnly(t *T) {
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
	if a := t.Revoke(c, "conformance-"+t.Random()); a.Status == http.StatusUnauthorized ||
		a.Text("error") == "invalid_client" {
		t.Blockedf("the revocation endpoint refuses the client %s with the credentials of the target: %s", c.Role,
			t.Failure(a))
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
		t.Blockedf("a new access token does not work: %s answers %s. Name an api in the target that accepts the tokens of "+
			"the client %s", wire.Bare(t.Last().URL), t.Last(), need.Code)
	}
	return tokens
}
