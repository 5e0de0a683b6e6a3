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

// oidcLogoutNotice returns the rules about who receives logout tokens, how, and what else ends.
func oidcLogoutNotice() []Rule {
	return []Rule{
		{
			// The member is optional, and its default is false.
			ID: "OIDCBackChannel/2.1/supported", Level: Should, Alone: true,
			Text:  "If the server sends logout tokens, the metadata says so.",
			Needs: backchannelNeeds(),
			Check: func(t *T) {
				m := discoveredMetadata(t)
				if m.Is("backchannel_logout_supported") {
					return
				}
				if n, _ := noticeOfLogout(t); n == nil {
					t.Skipf("the rule applies to a server that sends logout tokens: here the client backchannel received none, and the metadata does not say that the server sends them")
				}
				t.Failf("the client received a logout token, but backchannel_logout_supported is %s", Quoted(m["backchannel_logout_supported"]))
			},
		},
		{
			// The document says this without a keyword.
			ID: "OIDCBackChannel/2.1/session-supported", Level: Should, Alone: true,
			Text:  "The logout token has sid only if the metadata says so, and then the ID token has it too.",
			Needs: backchannelNeeds(),
			Check: func(t *T) {
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
		},
		{
			ID: "OIDCBackChannel/2.2/https", Level: Should,
			Text:     "The registered URI uses https, or for a confidential client http.",
			TestedBy: "conformance/mandate/openid_backchannel_test.go:TestBackChannel_2_5_server_calls_no_special_address_and_follows_no_redirect",
		},
		{
			ID: "OIDCBackChannel/2.2/no-fragment", Level: Must,
			Text:     "The registered URI has no fragment.",
			TestedBy: "conformance/mandate/openid_backchannel_test.go:TestBackChannel_2_5_server_calls_no_special_address_and_follows_no_redirect",
		},
		{
			ID: "OIDCBackChannel/2.2/session-required", Level: Must,
			Text:         "A client that registers backchannel_logout_session_required receives sid.",
			Inapplicable: "Every client receives sid, so no client needs to ask for it.",
		},
		{
			// The document says this without a keyword.
			ID: "OIDCBackChannel/2.3/remembered", Level: Should, Alone: true,
			Text:  "When a session ends, each client to which the person signed in with this session receives a logout token, even if another client ended the session.",
			Needs: backchannelNeeds(need.Code),
			Check: func(t *T) {
				v := t.Visit(need.Backchannel)
				other := t.VisitIn(v.Browser, need.Code)
				n := t.LogoutTokenDuring(func() {
					t.Logout(other.Browser, wire.Params("id_token_hint", other.Tokens.ID))
					t.SignedOut(other)
				}, v)
				if n == nil {
					t.WantRemembered()
					t.Failf("the client backchannel received no logout token, although the person signed in there with the session that ended")
				}
			},
		},
		{
			ID: "OIDCBackChannel/2.3/others-not-told", Level: May, Alone: true,
			Text:  "A client to which nobody signed in with the session receives no logout token.",
			Needs: backchannelNeeds(need.Code),
			Check: func(t *T) {
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
			},
		},
		{
			ID: "OIDCBackChannel/2.5/post", Level: Must, Alone: true,
			Text:  "The server sends the logout token by POST to the registered URI.",
			Needs: backchannelNeeds(),
			Check: func(t *T) {
				n, _ := noticeOfLogout(t)
				if n == nil {
					t.WantRemembered()
					t.Failf("the client received no logout token, although the person signed out and the metadata says backchannel_logout_supported")
				}
				if n.Method != http.MethodPost {
					t.Failf("the client received the logout token by %s", n.Method)
				}
			},
		},
		{
			ID: "OIDCBackChannel/2.5/form", Level: Must, Alone: true,
			Text:  "The body is form-encoded.",
			Needs: backchannelNeeds(),
			Check: func(t *T) {
				n, _ := notified(t)
				if kind, _, err := mime.ParseMediaType(n.ContentType); err != nil || kind != wire.FormEncoded {
					t.Failf("the body has the type %q", n.ContentType)
				}
			},
		},
		{
			ID: "OIDCBackChannel/2.5/logout-token", Level: Must, Alone: true,
			Text:  "The body has the parameter logout_token exactly once.",
			Needs: backchannelNeeds(),
			Check: func(t *T) {
				n, _ := notified(t)
				if _, err := jose.Read(n.Token); err != nil || len(n.Form["logout_token"]) != 1 {
					t.Failf("logout_token appears %d times, and the first has %d characters", len(n.Form["logout_token"]), len(n.Token))
				}
			},
		},
		{
			ID: "OIDCBackChannel/2.5/once", Level: Should,
			Text:     "After a client has accepted a logout token, the server does not send it again.",
			TestedBy: "provider/backchannel_test.go:TestBackChannel_2_8_application_is_told_at_once_and_once",
		},
		{
			ID: "OIDCBackChannel/2.7/every-way", Level: May,
			Text:     "Clients receive logout tokens whenever a session ends: by a client, by the person, by an administrator, by a new password.",
			TestedBy: "conformance/mandate/openid_backchannel_test.go:TestBackChannel_2_7_every_way_to_end_a_session_tells_every_application",
		},
		{
			ID: "OIDCBackChannel/2.7/refresh-tokens-end", Level: Should, Alone: true,
			Text:  "A refresh token without offline_access ends with the session.",
			Needs: backchannelNeeds(),
			Check: func(t *T) {
				v := t.Visit(need.Backchannel)
				if v.Tokens.Refresh == "" || slices.Contains(strings.Fields(v.Tokens.Scope), "offline_access") {
					t.Skipf("the rule applies to a server that issues refresh tokens without offline_access: the client backchannel received none")
				}
				token := refreshedOnce(t, v.Client, v.Tokens)
				t.SignOut(v)
				t.WantRefused(t.Refresh(v.Client, token), "the session has ended")
			},
		},
		{
			ID: "OIDCBackChannel/2.7/offline-access-stays", Level: Should, Alone: true,
			Text:  "A refresh token with offline_access does not end with the session.",
			Needs: backchannelNeeds(),
			Check: func(t *T) {
				if !provider(t).Lists("scopes_supported", "offline_access") {
					t.Skipf("the rule applies to a server that supports the scope offline_access: scopes_supported in its metadata does not list it")
				}
				v := t.Visit(need.Backchannel, "offline_access")
				if v.Tokens.Refresh == "" {
					t.Skipf("the rule needs a client backchannel that receives a refresh token with offline_access: allow it to request this scope")
				}
				token := refreshedOnce(t, v.Client, v.Tokens)
				t.SignOut(v)
				t.WantGranted(t.Refresh(v.Client, token))
			},
		},
		{
			ID: "OIDCBackChannel/2.8/no-content", Level: May,
			Text:     "The server accepts the status 204 like 200.",
			TestedBy: "provider/outbound/outbound_test.go:TestOutboundClientWantsASuccess",
		},
		{
			ID: "OIDCBackChannel/2.8/again", Level: May,
			Text:     "If a client does not answer, or answers with an error, the server tries again for some hours.",
			TestedBy: "provider/backchannel_test.go:TestBackChannel_2_8_application_that_does_not_answer_is_told_again",
		},
	}
}
