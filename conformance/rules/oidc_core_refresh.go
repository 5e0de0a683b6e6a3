package rules

import (
	"math"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/jose"
	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// oidcOffline has the checks of the rules about offline access (OIDC Core §11).
var oidcOffline = checks{
	"OIDCCore/11/refresh-token": func(t *T) {
		wantsScope(t, "offline_access")
		c := t.Client(need.Code)
		tokens := t.GrantFor(t.OpenID(c, "offline_access").Set("prompt", "consent"))
		if withoutOffline(tokens) {
			t.Skipf("the rule needs a client code that is granted offline_access: the scope of the response is %q", tokens.Scope)
		}
		if tokens.Refresh == "" {
			t.Failf("offline_access was granted, and the response has no refresh token")
		}
		t.WantGranted(t.Refresh(c, tokens.Refresh))
	},
	"OIDCCore/11/always-consent": func(t *T) { wantAsked(t, t.Client(need.Code)) },
	"OIDCCore/11/native-consent": func(t *T) { wantAsked(t, t.Client(need.Public)) },
	"OIDCCore/11/refresh-token-otherwise": func(t *T) {
		if t.GrantFor(t.OpenID(t.Client(need.Code))).Refresh == "" {
			t.Failf("offline_access was not requested, and the response has no refresh token")
		}
	},
}

// oidcRefresh has the checks of the rules about refresh tokens (OIDC Core §12).
var oidcRefresh = checks{
	"OIDCCore/12.1/client-authenticated": func(t *T) {
		c := t.Client(need.Code)
		wantAuthenticated(t, c, func() url.Values {
			return wire.Params("grant_type", "refresh_token", "refresh_token", ownOffline(t, c).Refresh)
		})
	},
	"OIDCCore/12.1/token-valid": func(t *T) {
		c := t.Client(need.Code)
		refreshes(t, c)
		for _, token := range Spoilt(ownOffline(t, c).Refresh) {
			t.WantRefused(t.Refresh(c, token), "the server did not issue the refresh token")
		}
	},
	"OIDCCore/12.1/token-of-client": func(t *T) {
		refreshes(t, t.Client(need.Second))
		token := ownOffline(t, t.Client(need.Code)).Refresh
		t.WantRefused(t.Refresh(t.Client(need.Second), token), "the refresh token was issued to another client")
	},
	"OIDCCore/12.2/answer": func(t *T) {
		c := t.Client(need.Code)
		t.WantGranted(t.Refresh(c, t.GrantOffline(c).Refresh))
	},
	"OIDCCore/12.2/id-token": func(t *T) {
		c := t.Client(need.Code)
		if t.Granted(t.Refresh(c, t.GrantOffline(c).Refresh)).ID == "" {
			t.Failf("the response to a refresh has no id_token")
		}
	},
	"OIDCCore/12.2/iss": refreshedClaim("iss"),
	"OIDCCore/12.2/sub": refreshedClaim("sub"),
	"OIDCCore/12.2/aud": refreshedClaim("aud"),
	"OIDCCore/12.2/iat": func(t *T) {
		first, second, tokens := refreshedIDToken(t, true)
		t.At(tokens.Answer)
		iat := wantNumber(t, second, "iat")
		if iat <= first.Number("iat") {
			t.Failf("iat of the refreshed ID token is not later than iat of the first one")
		}
		if math.Abs(iat-t.DateOf(tokens.Answer)) > 60 {
			t.Failf("iat of the refreshed ID token differs from the time of the refresh by more than a minute")
		}
	},
	"OIDCCore/12.2/auth-time": func(t *T) {
		first, second, tokens := refreshedIDToken(t, true)
		if !reflect.DeepEqual(optionalOf(t, refreshedTokens, second, "auth_time"), optional(t, first, "auth_time")) {
			t.At(tokens.Answer)
			t.Failf("auth_time of the refreshed ID token is not that of the first one, although the person did not sign in " +
				"again")
		}
	},
	"OIDCCore/12.2/auth-time-of-own-login": oidcCoreAuthTimeOfOwnLogin,
	"OIDCCore/12.2/no-nonce": func(t *T) {
		_, second, tokens := refreshedIDToken(t, false)
		if _, there := second.Claims["nonce"]; there {
			t.At(tokens.Answer)
			t.Failf("the refreshed ID token has a nonce")
		}
	},
	"OIDCCore/12.2/same-nonce": func(t *T) {
		first, second, tokens := refreshedIDToken(t, false)
		if !reflect.DeepEqual(optionalOf(t, refreshedTokens, second, "nonce"), first.Claims["nonce"]) {
			t.At(tokens.Answer)
			t.Failf("nonce of the refreshed ID token is not that of the first one")
		}
	},
	"OIDCCore/12.2/same-rules": func(t *T) {
		_, second, tokens := refreshedIDToken(t, false)
		wantSignature(t, second, t.Client(need.Code))
		wantHash(t, second, tokens)
		t.At(tokens.Answer)
		if wantNumber(t, second, "exp") <= t.DateOf(tokens.Answer) {
			t.Failf("exp of the refreshed ID token is not later than the time of the refresh")
		}
	},
	"OIDCCore/12.3/error": func(t *T) {
		refreshes(t, t.Client(need.Code)) // unauthorized_client is correct for a client without refresh tokens
		t.WantError(t.Refresh(t.Client(need.Code), "conformance-invalid"), "invalid_grant")
	},
}

func oidcCoreAuthTimeOfOwnLogin(t *T) {
	c := t.Client(need.Code)
	granted := t.WithRefresh(c, t.GrantIn(t.NewBrowser(), t.Refreshable(c).Set("max_age", "36000")))
	own := loginTime(t, granted)
	t.WaitPast(own, 0)
	elsewhere := loginTime(t, withMaxAge(t, t.NewBrowser()))
	if elsewhere <= own {
		t.Blockedf("the person signed in again later, in another browser, and auth_time of this login is not later " +
			"(OIDCCore/2/auth-time-of-login)")
	}
	tokens := withID(t, t.Granted(t.Refresh(c, granted.Refresh)))
	if got := optionalOf(t, refreshedTokens, t.IDToken(tokens), "auth_time"); got == any(elsewhere) {
		t.At(tokens.Answer)
		t.Failf("auth_time of the refreshed ID token is that of a later login of the person in another browser")
	} else if got != any(own) {
		t.Blockedf("auth_time of the refreshed ID token is that of neither login (OIDCCore/12.2/auth-time)")
	}
}

const refreshedTokens = "ID tokens of a refresh"

// withoutOffline reports whether the scope of a token response shows that offline_access was not granted.
func withoutOffline(tokens *check.Tokens) bool {
	return tokens.Scope != "" && !slices.Contains(strings.Fields(tokens.Scope), "offline_access")
}

// wantAsked asserts that a client gets no refresh token for offline access without a question to the person. A server
// that never asks the person about this client can have their consent otherwise, or ignore offline_access: then the
// check is skipped.
func wantAsked(t *T, c *target.Client) {
	wantsScope(t, "offline_access")
	r := settled(t, t.Walk(t.NewBrowser(), t.OpenID(c, "offline_access").Set("prompt", "consent"), true))
	if r.Asked || r.Params.Get("code") == "" {
		return
	}
	if plain := t.Walk(t.NewBrowser(), t.OpenID(c).Set("prompt", "consent"), true); !plain.Asked {
		t.Skipf("the rule needs a client %s about which the server asks the person: with prompt=consent it never asks, and "+
			"may have the consent in another way", c.Role)
	}
	tokens := tokensOf(t, r)
	if tokens.Refresh == "" || withoutOffline(tokens) {
		return // offline_access was ignored
	}
	t.At(r.Answer)
	t.Failf("offline access was granted with prompt=consent, but the person was not asked")
}

// ownOffline gets tokens in a browser of its own: some servers end the session of a refresh token that is misused.
func ownOffline(t *T, c *target.Client) *check.Tokens {
	return t.WithRefresh(c, t.GrantIn(t.NewBrowser(), t.Refreshable(c)))
}

// refreshes blocks or skips the check if a client gets no refresh token that works.
func refreshes(t *T, c *target.Client) { t.Granted(t.Refresh(c, t.GrantOffline(c).Refresh)) }

// refreshedIDToken returns the ID tokens of a login with a nonce and of a refresh. If later is true, it waits until
// the server's time has changed.
func refreshedIDToken(t *T, later bool) (first, second *jose.JWT, tokens *check.Tokens) {
	c := t.Client(need.Code)
	granted := t.WithRefresh(c,
		t.GrantIn(t.NewBrowser(), t.Refreshable(c).Set("max_age", "36000").Set("nonce", t.Random())))
	first = t.IDToken(granted)
	if later {
		t.WaitPast(first.Number("iat"), 0)
	}
	tokens = withID(t, t.Granted(t.Refresh(c, granted.Refresh)))
	return first, t.IDToken(tokens), tokens
}

// refreshedClaim checks that a refresh does not change a claim.
func refreshedClaim(name string) func(*T) {
	return func(t *T) {
		first, second, tokens := refreshedIDToken(t, false)
		same := first.Text(name) == second.Text(name)
		if name == "aud" {
			same = slices.Equal(first.Audience(), second.Audience())
		}
		if !same {
			t.At(tokens.Answer)
			t.Failf("%s of the refreshed ID token is not that of the first one", name)
		}
	}
}
