package rules

import (
	"mime"
	"net/http"
	"slices"
	"strings"

	"mandate/conformance/jose"
	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// oidcLogoutNotice has the checks of the rules about who receives logout tokens, how, and what else ends.
var oidcLogoutNotice = checks{
	"OIDCBackChannel/2.1/supported": func(t *T) {
		m := discoveredMetadata(t)
		if m.Is("backchannel_logout_supported") {
			return
		}
		if n, _ := noticeOfLogout(t); n == nil {
			t.Skipf("the rule applies to a server that sends logout tokens: here the client backchannel received none, and " +
				"the metadata does not say that the server sends them")
		}
		t.Failf("the client received a logout token, but backchannel_logout_supported is %s",
			Quoted(m["backchannel_logout_supported"]))
	},
	"OIDCBackChannel/2.1/session-supported": func(t *T) {
		said := discoveredMetadata(t)["backchannel_logout_session_supported"]
		j, v := logoutToken(t)
		if j.Claims["sid"] == nil {
			t.Skipf("the rule applies to a server whose logout tokens have sid, which is optional")
		}
		if said != true {
			t.Errorf("the logout token has a sid, but backchannel_logout_session_supported is %s", Quoted(said))
		}
		if v.ID.Claims["sid"] == nil {
			t.Errorf("the logout token has a sid, but the ID token has none")
		}
	},
	"OIDCBackChannel/2.3/remembered": func(t *T) {
		v := t.Visit(need.Backchannel)
		other := t.VisitIn(v.Browser, need.Code)
		n := t.LogoutTokenDuring(func() {
			t.Logout(other.Browser, wire.Params("id_token_hint", other.Tokens.ID))
			t.SignedOut(other)
		}, v)
		if n == nil {
			t.WantRemembered()
			t.Failf("the client backchannel received no logout token, although the person signed in there with the session " +
				"that ended")
		}
	},
	"OIDCBackChannel/2.3/others-not-told": oidcBackChannelOthersNotTold,
	"OIDCBackChannel/2.5/post": func(t *T) {
		n, _ := noticeOfLogout(t)
		if n == nil {
			t.WantRemembered()
			t.Failf("the client received no logout token, although the person signed out and the metadata says " +
				"backchannel_logout_supported")
		}
		if n.Method != http.MethodPost {
			t.Failf("the client received the logout token by %s", n.Method)
		}
	},
	"OIDCBackChannel/2.5/form": func(t *T) {
		n, _ := notified(t)
		if kind, _, err := mime.ParseMediaType(n.ContentType); err != nil || kind != wire.FormEncoded {
			t.Failf("the body has the type %q", n.ContentType)
		}
	},
	"OIDCBackChannel/2.5/logout-token": func(t *T) {
		n, _ := notified(t)
		if _, err := jose.Read(n.Token); err != nil || len(n.Form["logout_token"]) != 1 {
			t.Failf("logout_token appears %d times, and the first has %d characters", len(n.Form["logout_token"]), len(n.Token))
		}
	},
	"OIDCBackChannel/2.7/refresh-tokens-end": func(t *T) {
		v := t.Visit(need.Backchannel)
		if v.Tokens.Refresh == "" || slices.Contains(strings.Fields(v.Tokens.Scope), "offline_access") {
			t.Skipf("the rule applies to a server that issues refresh tokens without offline_access: the client backchannel " +
				"received none")
		}
		token := refreshedOnce(t, v.Client, v.Tokens)
		t.SignOut(v)
		t.WantRefused(t.Refresh(v.Client, token), "the session has ended")
	},
	"OIDCBackChannel/2.7/offline-access-stays": func(t *T) {
		if !provider(t).Lists("scopes_supported", "offline_access") {
			t.Skipf("the rule applies to a server that supports the scope offline_access: scopes_supported in its metadata " +
				"does not list it")
		}
		v := t.Visit(need.Backchannel, "offline_access")
		if v.Tokens.Refresh == "" {
			t.Skipf("the rule needs a client backchannel that receives a refresh token with offline_access: allow it to " +
				"request this scope")
		}
		token := refreshedOnce(t, v.Client, v.Tokens)
		t.SignOut(v)
		t.WantGranted(t.Refresh(v.Client, token))
	},
}

func oidcBackChannelOthersNotTold(t *T) {
	v, other := t.Visit(need.Backchannel), t.Visit(need.Code)
	if v.ID.Claims["sid"] == nil {
		t.Skipf("the rule applies to a server that uses sid: a logout token without sid can mean all sessions of the person")
	}
	n := t.LogoutTokenDuring(func() {
		t.SignOut(other)
		t.SignOut(v)
	}, v, other)
	if n == nil {
		t.WantRemembered()
		t.Blockedf("the client received no logout token for its own session")
	}
	if j, err := jose.Read(n.Token); err != nil || j.Claims["sid"] != v.ID.Claims["sid"] {
		t.Failf("the client received a logout token for a session in which nobody signed in to it")
	}
}
