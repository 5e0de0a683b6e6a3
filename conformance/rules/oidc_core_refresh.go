package rules

import (
	"math"
	"slices"

	"mandate/conformance/check"
	"mandate/conformance/jose"
	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// oidcOffline returns the rules about offline access (OIDC Core §11).
func oidcOffline() []Rule {
	return []Rule{
		{
			ID: "OIDCCore/11/refresh-token", Level: Should,
			Text:  "A client that is granted offline_access gets a working refresh token.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				wantsScope(t, "offline_access")
				c := t.Client(need.Code)
				tokens := t.GrantFor(t.OpenID(c, "offline_access").Set("prompt", "consent"))
				if tokens.Refresh == "" {
					t.Failf("the response has no refresh token")
				}
				t.WantGranted(t.Refresh(c, tokens.Refresh))
			},
		},
		{
			ID: "OIDCCore/11/consent-or-ignored", Level: Must,
			Text:     "The server ignores offline_access if the person is not asked and no other condition allows it.",
			TestedBy: "conformance/mandate/openid_logout_test.go:TestOIDCCore_11_offline_access",
		},
		{
			ID: "OIDCCore/11/code-only", Level: Must,
			Text:         "The server ignores offline_access if the response type includes no code.",
			Inapplicable: "Mandate supports only the response type code.",
		},
		{
			ID: "OIDCCore/11/always-consent", Level: Must,
			Text:  "With prompt=consent the server grants offline access after it has asked the person, and not before.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				wantsScope(t, "offline_access")
				r := t.Try(t.OpenID(t.Client(need.Code), "offline_access").Set("prompt", "consent"))
				if r.Stuck != "" {
					t.Blockedf("%s", r)
				}
				wantAsked(t, r)
			},
		},
		{
			ID: "OIDCCore/11/web-consent", Level: Must,
			Text:         "Offline access for a web application requires the person's consent.",
			Inapplicable: "It repeats the rules above for one type of client; Mandate treats all types alike.",
		},
		{
			ID: "OIDCCore/11/native-consent", Level: Should,
			Text:  "Offline access for a native application requires the person's consent.",
			Needs: []Need{need.Authorization, need.Public, need.User, need.OpenID},
			Check: func(t *T) {
				wantsScope(t, "offline_access")
				r := t.Try(t.OpenID(t.Client(need.Public), "offline_access").Set("prompt", "consent"))
				wantAsked(t, r)
			},
		},
		{
			ID: "OIDCCore/11/refresh-token-otherwise", Level: May,
			Text:  "The server also issues a refresh token without offline_access, which ends with the login.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				if t.GrantFor(t.OpenID(t.Client(need.Code))).Refresh == "" {
					t.Failf("the response has no refresh token")
				}
			},
		},
	}
}

// oidcRefresh returns the rules about refresh tokens (OIDC Core §12).
func oidcRefresh() []Rule {
	return []Rule{
		{
			ID: "OIDCCore/12.1/client-authenticated", Level: Must,
			Text:  "A client with a secret must use it to refresh.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				wantSecret(t, c, wire.Params("grant_type", "refresh_token", "refresh_token", t.GrantOffline(c).Refresh))
			},
		},
		{
			ID: "OIDCCore/12.1/token-valid", Level: Must,
			Text:  "The server refuses a refresh token that it did not issue, or that is truncated.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				for _, token := range Spoilt(t.GrantOffline(c).Refresh) {
					t.WantRefused(t.Refresh(c, token), "the server did not issue the refresh token")
				}
			},
		},
		{
			ID: "OIDCCore/12.1/token-of-client", Level: Must,
			Text:  "A refresh token works only for the client to which it was issued.",
			Needs: loginNeeds(need.Second),
			Check: func(t *T) {
				token := t.GrantOffline(t.Client(need.Code)).Refresh
				t.WantRefused(t.Refresh(t.Client(need.Second), token), "the refresh token was issued to another client")
			},
		},
		{
			ID: "OIDCCore/12.2/answer", Level: Must,
			Text:  "The response to a refresh contains an access token, like the response for a code.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				t.WantGranted(t.Refresh(c, t.GrantOffline(c).Refresh))
			},
		},
		{
			ID: "OIDCCore/12.2/id-token", Level: May,
			Text:  "Every refresh returns an ID token.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				if t.Granted(t.Refresh(c, t.GrantOffline(c).Refresh)).ID == "" {
					t.Failf("the response has no id_token")
				}
			},
		},
		refreshedClaim("iss", "A refreshed ID token has the same iss."),
		refreshedClaim("sub", "A refreshed ID token has the same sub."),
		refreshedClaim("aud", "A refreshed ID token has the same aud."),
		{
			ID: "OIDCCore/12.2/iat", Level: Must,
			Text:  "iat of a refreshed ID token is the time of the refresh.",
			Needs: loginNeeds(need.Keys),
			Check: func(t *T) {
				first, second, tokens := refreshedIDToken(t, true)
				if second.Number("iat") <= first.Number("iat") || math.Abs(second.Number("iat")-check.ServerTime(tokens.Answer)) > 60 {
					t.At(tokens.Answer)
					t.Failf("iat was %.0f, and is %v; the time is %.0f", first.Number("iat"), second.Claims["iat"], check.ServerTime(tokens.Answer))
				}
			},
		},
		{
			ID: "OIDCCore/12.2/auth-time", Level: Must,
			Text:  "auth_time of a refreshed ID token, if present, is the time of the login.",
			Needs: loginNeeds(need.Keys),
			Check: func(t *T) {
				first, second, tokens := refreshedIDToken(t, true)
				if at, there := second.Claims["auth_time"]; there && first.Claims["auth_time"] != nil && at != first.Claims["auth_time"] {
					t.At(tokens.Answer)
					t.Failf("auth_time was %v, but is %v", first.Claims["auth_time"], at)
				}
			},
		},
		{
			ID: "OIDCCore/12.2/azp", Level: Must,
			Text:         "azp of a refreshed ID token equals that of the first one.",
			Inapplicable: "This concerns extensions that use azp, and Mandate has none.",
		},
		{
			ID: "OIDCCore/12.2/no-nonce", Level: Should,
			Text:  "A refreshed ID token has no nonce.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				_, second, tokens := refreshedIDToken(t, false)
				if nonce, there := second.Claims["nonce"]; there {
					t.At(tokens.Answer)
					t.Failf("nonce is %v", nonce)
				}
			},
		},
		{
			ID: "OIDCCore/12.2/same-nonce", Level: Must,
			Text:  "nonce of a refreshed ID token, if present, equals that of the first one.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				first, second, tokens := refreshedIDToken(t, false)
				if nonce, there := second.Claims["nonce"]; there && nonce != first.Claims["nonce"] {
					t.At(tokens.Answer)
					t.Failf("nonce was %v, but is %v", first.Claims["nonce"], nonce)
				}
			},
		},
		{
			ID: "OIDCCore/12.2/same-rules", Level: Must,
			Text:  "A refreshed ID token is signed, expires in the future, and has the at_hash of the new access token.",
			Needs: loginNeeds(need.Keys),
			Check: func(t *T) {
				_, second, tokens := refreshedIDToken(t, false)
				wantSignature(t, second, t.Client(need.Code))
				wantHash(t, second, tokens)
				if second.Number("exp") <= check.ServerTime(tokens.Answer) {
					t.At(tokens.Answer)
					t.Failf("exp is %v, and the time is %.0f", second.Claims["exp"], check.ServerTime(tokens.Answer))
				}
			},
		},
		{
			ID: "OIDCCore/12.3/error", Level: Must,
			Text:  "The server refuses an invalid refresh token with invalid_grant.",
			Needs: []Need{need.Token, need.Code, need.OpenID},
			Check: func(t *T) {
				t.WantError(t.Refresh(t.Client(need.Code), "conformance-"+t.Random()), "invalid_grant")
			},
		},
	}
}

// wantAsked asserts that no code was issued without asking the person.
func wantAsked(t *T, r *check.Response) {
	if !r.Asked && r.Params.Get("code") != "" {
		t.At(r.Answer)
		t.Failf("a code was issued, but the person was not asked")
	}
}

// refreshedIDToken returns the ID tokens of a login with a nonce and of a refresh. If later is true, it waits until
// the server's time has changed.
func refreshedIDToken(t *T, later bool) (first, second *jose.JWT, tokens *check.Tokens) {
	c := t.Client(need.Code)
	granted := t.WithRefresh(c, t.GrantFor(t.Refreshable(c).Set("max_age", "36000").Set("nonce", t.Random())))
	first = t.IDToken(granted)
	if later {
		t.WaitPast(first.Number("iat"), 0)
	}
	tokens = withID(t, t.Granted(t.Refresh(c, granted.Refresh)))
	return first, t.IDToken(tokens), tokens
}

// refreshedClaim returns the rule that a refresh does not change a claim.
func refreshedClaim(name, text string) Rule {
	return Rule{
		ID: "OIDCCore/12.2/" + name, Level: Must, Text: text,
		Needs: loginNeeds(),
		Check: func(t *T) {
			first, second, tokens := refreshedIDToken(t, false)
			same := first.Text(name) == second.Text(name)
			if name == "aud" {
				same = slices.Equal(first.Audience(), second.Audience())
			}
			if !same {
				t.At(tokens.Answer)
				t.Failf("%s was %v, but is %v", name, first.Claims[name], second.Claims[name])
			}
		},
	}
}
