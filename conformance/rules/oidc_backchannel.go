package rules

import (
	"slices"
	"strings"

	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// LogoutEvent is the member of events in a logout token.
const LogoutEvent = "http://schemas.openid.net/event/backchannel-logout"

// whereAnnounced returns checks that are skipped if the metadata of the server does not announce back-channel logout
// (OIDC Back-Channel §2.1).
func whereAnnounced(all checks) checks {
	wrapped := checks{}
	for id, f := range all {
		if id == "OIDCBackChannel/2.1/supported" {
			wrapped[id] = f
			continue
		}
		wrapped[id] = func(t *T) {
			if t.MetadataAddress() != "" && !provider(t).Is("backchannel_logout_supported") {
				t.Skipf("the rule applies to a server whose metadata says backchannel_logout_supported")
			}
			f(t)
		}
	}
	return wrapped
}

// oidcLogoutToken has the checks of the rules about the content of a logout token.
var oidcLogoutToken = checks{
	"OIDCBackChannel/2.4/iss": func(t *T) {
		if j, _ := logoutToken(t); j.Claims["iss"] != t.Issuer() {
			t.Failf("iss of the logout token is %s, want %s", Quoted(j.Claims["iss"]), t.Issuer())
		}
	},
	"OIDCBackChannel/2.4/aud": func(t *T) {
		if j, v := logoutToken(t); !slices.Contains(j.Audience(), v.Client.ID) {
			t.Failf("aud of the logout token is %s, want the client_id %s", Quoted(j.Claims["aud"]), v.Client.ID)
		}
	},
	"OIDCBackChannel/2.4/iat": func(t *T) {
		j, _ := logoutToken(t)
		if at, is := j.Claims["iat"].(float64); !is || at < 1e9 || at > 1e11 {
			t.Failf("iat of the logout token is %s, which is no time in seconds", Quoted(j.Claims["iat"]))
		}
	},
	"OIDCBackChannel/2.4/exp": func(t *T) {
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
	"OIDCBackChannel/2.4/jti": func(t *T) {
		one, _ := logoutToken(t)
		other, _ := logoutToken(t)
		if one.Text("jti") == "" {
			t.Failf("jti of the logout token is %s, want a text", Quoted(one.Claims["jti"]))
		}
		if one.Claims["jti"] == other.Claims["jti"] {
			t.Failf("two logout tokens have the same jti, %q", one.Text("jti"))
		}
	},
	"OIDCBackChannel/2.4/events": func(t *T) {
		j, _ := logoutToken(t)
		events, _ := j.Claims["events"].(map[string]any)
		if _, is := events[LogoutEvent].(map[string]any); !is {
			t.Failf("events of the logout token is %s", Quoted(j.Claims["events"]))
		}
	},
	"OIDCBackChannel/2.4/event-empty": func(t *T) {
		j, _ := logoutToken(t)
		events, _ := j.Claims["events"].(map[string]any)
		if event, is := events[LogoutEvent].(map[string]any); !is || len(event) > 0 {
			t.Failf("events of the logout token is %s", Quoted(j.Claims["events"]))
		}
	},
	"OIDCBackChannel/2.4/sub-or-sid": func(t *T) {
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
	"OIDCBackChannel/2.4/sub-and-sid": func(t *T) {
		if j, _ := logoutToken(t); j.Claims["sub"] == nil || j.Claims["sid"] == nil {
			t.Failf("the logout token has a sub: %t, a sid: %t", j.Claims["sub"] != nil, j.Claims["sid"] != nil)
		}
	},
	"OIDCBackChannel/2.4/no-nonce": func(t *T) {
		if j, _ := logoutToken(t); j.Claims["nonce"] != nil {
			t.Failf("the logout token has a nonce")
		}
	},
	"OIDCBackChannel/2.4/signed": func(t *T) {
		j, v := logoutToken(t)
		wantSignature(t, j, v.Client)
	},
	"OIDCBackChannel/2.4/typed": func(t *T) {
		j, _ := logoutToken(t)
		if kind, _ := j.Header["typ"].(string); !strings.EqualFold(strings.TrimPrefix(kind, "application/"), "logout+jwt") {
			t.Failf("typ of the logout token is %s, want logout+jwt", Quoted(j.Header["typ"]))
		}
	},
	"OIDCBackChannel/2.6/algorithm": func(t *T) {
		j, v := logoutToken(t)
		if j.Header["alg"] != v.ID.Header["alg"] {
			t.Failf("alg of the logout token is %s, but that of the ID token %s", Quoted(j.Header["alg"]),
				Quoted(v.ID.Header["alg"]))
		}
	},
	"OIDCBackChannel/2.6/not-unsigned": func(t *T) {
		if j, _ := logoutToken(t); strings.EqualFold(j.Algorithm(), "none") {
			t.Failf("alg of the logout token is none")
		}
	},
	"OIDCBackChannel/4/short-life": func(t *T) {
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
	"OIDCBackChannel/4.1/no-id-token": func(t *T) {
		n, _ := notified(t)
		v := t.Visit(need.Backchannel)
		wantNoEffect(t, v, wire.Params("id_token_hint", n.Token), "the hint is a logout token")
	},
}
