package rules

import (
	"slices"
	"strings"

	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// LogoutEvent is the member of events in a logout token.
const LogoutEvent = "http://schemas.openid.net/event/backchannel-logout"

// backchannelNeeds returns what a check of logout tokens needs.
func backchannelNeeds(more ...Need) []Need {
	return append([]Need{need.OpenID, need.Authorization, need.Token, need.EndSession, need.Backchannel, need.User}, more...)
}

// oidcBackChannel returns the rules of OpenID Connect Back-Channel Logout. They bind a server that supports it and says
// so (OIDC Back-Channel §2.1).
func oidcBackChannel() []Rule {
	rules := slices.Concat(oidcLogoutToken(), oidcLogoutNotice())
	for i, r := range rules {
		if r.Check == nil || r.ID == "OIDCBackChannel/2.1/supported" {
			continue
		}
		rules[i].Check = func(t *T) {
			if t.MetadataAddress() != "" && !provider(t).Is("backchannel_logout_supported") {
				t.Skipf("the rule applies to a server whose metadata says backchannel_logout_supported")
			}
			r.Check(t)
		}
	}
	return rules
}

// oidcLogoutToken returns the rules about the content of a logout token.
func oidcLogoutToken() []Rule {
	return []Rule{
		{
			ID: "OIDCBackChannel/2.4/iss", Level: Must, Alone: true,
			Text:  "iss is the issuer.",
			Needs: backchannelNeeds(),
			Check: func(t *T) {
				if j, _ := logoutToken(t); j.Claims["iss"] != t.Issuer() {
					t.Failf("iss of the logout token is %s, want %s", Quoted(j.Claims["iss"]), t.Issuer())
				}
			},
		},
		{
			ID: "OIDCBackChannel/2.4/aud", Level: Must, Alone: true,
			Text:  "aud contains the client_id.",
			Needs: backchannelNeeds(),
			Check: func(t *T) {
				if j, v := logoutToken(t); !slices.Contains(j.Audience(), v.Client.ID) {
					t.Failf("aud of the logout token is %s, want the client_id %s", Quoted(j.Claims["aud"]), v.Client.ID)
				}
			},
		},
		{
			ID: "OIDCBackChannel/2.4/iat", Level: Must, Alone: true,
			Text:  "iat is the time at which the logout token was issued.",
			Needs: backchannelNeeds(),
			Check: func(t *T) {
				j, _ := logoutToken(t)
				if at, is := j.Claims["iat"].(float64); !is || at < 1e9 || at > 1e11 {
					t.Failf("iat of the logout token is %s, which is no time in seconds", Quoted(j.Claims["iat"]))
				}
			},
		},
		{
			ID: "OIDCBackChannel/2.4/exp", Level: Must, Alone: true,
			Text:  "exp is the time at which the logout token expires.",
			Needs: backchannelNeeds(),
			Check: func(t *T) {
				j, _ := logoutToken(t)
				at, _ := j.Claims["iat"].(float64)
				until, is := j.Claims["exp"].(float64)
				if !is {
					t.Failf("exp of the logout token is %s, want a time in seconds", Quoted(j.Claims["exp"]))
				}
				if until <= at {
					t.Failf("exp of the logout token is not later than iat")
				}
			},
		},
		{
			ID: "OIDCBackChannel/2.4/jti", Level: Must, Alone: true,
			Text:  "jti is unique for each logout token.",
			Needs: backchannelNeeds(),
			Check: func(t *T) {
				one, _ := logoutToken(t)
				other, _ := logoutToken(t)
				if one.Text("jti") == "" {
					t.Failf("jti of the logout token is %s, want a text", Quoted(one.Claims["jti"]))
				}
				if one.Claims["jti"] == other.Claims["jti"] {
					t.Failf("two logout tokens have the same jti, %q", one.Text("jti"))
				}
			},
		},
		{
			ID: "OIDCBackChannel/2.4/events", Level: Must, Alone: true,
			Text:  "events has the member that identifies a logout token, and this member is an object.",
			Needs: backchannelNeeds(),
			Check: func(t *T) {
				j, _ := logoutToken(t)
				events, _ := j.Claims["events"].(map[string]any)
				if _, is := events[LogoutEvent].(map[string]any); !is {
					t.Failf("events of the logout token is %s", Quoted(j.Claims["events"]))
				}
			},
		},
		{
			ID: "OIDCBackChannel/2.4/event-empty", Level: Should, Alone: true,
			Text:  "The member of events is an empty object.",
			Needs: backchannelNeeds(),
			Check: func(t *T) {
				j, _ := logoutToken(t)
				events, _ := j.Claims["events"].(map[string]any)
				if event, is := events[LogoutEvent].(map[string]any); !is || len(event) > 0 {
					t.Failf("events of the logout token is %s", Quoted(j.Claims["events"]))
				}
			},
		},
		{
			ID: "OIDCBackChannel/2.4/sub-or-sid", Level: Must, Alone: true,
			Text:  "The logout token identifies the person or the session with the same values as the ID token.",
			Needs: backchannelNeeds(),
			Check: func(t *T) {
				j, v := logoutToken(t)
				if j.Claims["sub"] == nil && j.Claims["sid"] == nil {
					t.Failf("the token has neither sub nor sid")
				}
				for _, name := range []string{"sub", "sid"} {
					if told, knows := j.Claims[name], v.ID.Claims[name]; told != nil && knows != nil && told != knows {
						t.Errorf("%s of the logout token is not that of the ID token", name)
					}
				}
			},
		},
		{
			ID: "OIDCBackChannel/2.4/sub-and-sid", Level: May, Alone: true,
			Text:  "The logout token has both sub and sid.",
			Needs: backchannelNeeds(),
			Check: func(t *T) {
				if j, _ := logoutToken(t); j.Claims["sub"] == nil || j.Claims["sid"] == nil {
					t.Failf("the logout token has a sub: %t, a sid: %t", j.Claims["sub"] != nil, j.Claims["sid"] != nil)
				}
			},
		},
		{
			ID: "OIDCBackChannel/2.4/no-nonce", Level: Must, Alone: true,
			Text:  "The logout token has no nonce, so that it cannot be used as an ID token.",
			Needs: backchannelNeeds(),
			Check: func(t *T) {
				if j, _ := logoutToken(t); j.Claims["nonce"] != nil {
					t.Failf("the logout token has a nonce")
				}
			},
		},
		{
			ID: "OIDCBackChannel/2.4/signed", Level: Must, Alone: true,
			Text:  "The logout token is signed with a key that also signs ID tokens.",
			Needs: backchannelNeeds(need.Keys),
			Check: func(t *T) {
				j, v := logoutToken(t)
				wantSignature(t, j, v.Client)
			},
		},
		{
			ID: "OIDCBackChannel/2.4/encrypted", Level: May,
			Text:         "Logout tokens are encrypted with the same keys as ID tokens.",
			Inapplicable: "Mandate does not encrypt ID tokens.",
		},
		{
			ID: "OIDCBackChannel/2.4/typed", Level: Should, Alone: true,
			Text:  "typ in the header is logout+jwt.",
			Needs: backchannelNeeds(),
			Check: func(t *T) {
				j, _ := logoutToken(t)
				if kind, _ := j.Header["typ"].(string); !strings.EqualFold(strings.TrimPrefix(kind, "application/"), "logout+jwt") {
					t.Failf("typ of the logout token is %s, want logout+jwt", Quoted(j.Header["typ"]))
				}
			},
		},
		{
			ID: "OIDCBackChannel/2.6/algorithm", Level: Should, Alone: true,
			Text:  "The algorithm is that of the client's ID tokens.",
			Needs: backchannelNeeds(),
			Check: func(t *T) {
				j, v := logoutToken(t)
				if j.Header["alg"] != v.ID.Header["alg"] {
					t.Failf("alg of the logout token is %s, but that of the ID token %s", Quoted(j.Header["alg"]), Quoted(v.ID.Header["alg"]))
				}
			},
		},
		{
			ID: "OIDCBackChannel/2.6/not-unsigned", Level: Must, Alone: true,
			Text:  "The algorithm is not none.",
			Needs: backchannelNeeds(),
			Check: func(t *T) {
				if j, _ := logoutToken(t); strings.EqualFold(j.Algorithm(), "none") {
					t.Failf("alg of the logout token is none")
				}
			},
		},
		{
			// The document encourages it, without a keyword.
			ID: "OIDCBackChannel/4/short-life", Level: May, Alone: true,
			Text:  "A logout token is valid for two minutes at most, so that a stolen one is of little use.",
			Needs: backchannelNeeds(),
			Check: func(t *T) {
				j, _ := logoutToken(t)
				from, _ := j.Claims["iat"].(float64)
				until, is := j.Claims["exp"].(float64)
				if !is {
					t.Failf("the logout token has no exp")
				}
				if until-from > 120 {
					t.Failf("exp of the logout token is %.0f seconds after iat", until-from)
				}
			},
		},
		{
			ID: "OIDCBackChannel/4.1/no-id-token", Level: May, Alone: true,
			Text:  "The provider itself does not accept a logout token as an ID token.",
			Needs: backchannelNeeds(),
			Check: func(t *T) {
				n, _ := notified(t)
				v := t.Visit(need.Backchannel)
				wantNoEffect(t, v, wire.Params("id_token_hint", n.Token), "the hint is a logout token")
			},
		},
	}
}
