package conformance

import (
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"
)

// oidcLogoutNotice is who is told, how, and what else ends.
func oidcLogoutNotice() []Rule {
	return []Rule{
		{
			ID: "OIDCBackChannel/2.1/supported", Level: Must,
			Text:  "The metadata says that clients are told of logouts.",
			Needs: []Need{NeedOpenID, NeedBackchannel},
			Check: func(t *T) {
				t.Client(NeedBackchannel)
				if !t.discovered().is("backchannel_logout_supported") {
					t.Failf("backchannel_logout_supported is not true")
				}
			},
		},
		{
			ID: "OIDCBackChannel/2.1/session-supported", Level: Must, Alone: true,
			Text:  "sid is in the logout token only where the metadata says that sessions have names, and then in the ID token too.",
			Needs: hearing(),
			Check: func(t *T) {
				said := t.discovered().is("backchannel_logout_session_supported")
				j, v := t.logoutToken()
				if j.Claims["sid"] != nil && (!said || v.id.Claims["sid"] == nil) {
					t.Failf("backchannel_logout_session_supported is %t; sid is %v, and in the ID token %v", said, j.Claims["sid"], v.id.Claims["sid"])
				}
			},
		},
		{
			ID: "OIDCBackChannel/2.2/https", Level: Should,
			Text:      "The registered address begins with https, or for a confidential client with http.",
			Elsewhere: "conformance/mandate/openid_backchannel_test.go:TestBackChannel_2_5_server_calls_no_special_address_and_follows_no_redirect",
		},
		{
			ID: "OIDCBackChannel/2.2/no-fragment", Level: Must,
			Text:      "The registered address has no fragment.",
			Elsewhere: "conformance/mandate/openid_backchannel_test.go:TestBackChannel_2_5_server_calls_no_special_address_and_follows_no_redirect",
		},
		{
			ID: "OIDCBackChannel/2.2/session-required", Level: Must,
			Text:         "A client that registers backchannel_logout_session_required gets a sid.",
			Inapplicable: "Each client gets a sid, so that none needs to ask for it.",
		},
		{
			ID: "OIDCBackChannel/2.3/remembered", Level: Must, Alone: true,
			Text:  "A client is told of the end of a session that a person signed in to it by, also if another client ended it.",
			Needs: hearing(NeedCode),
			Check: func(t *T) {
				v := t.visit(NeedBackchannel)
				other := t.visitIn(v.browser, NeedCode)
				n := t.hears(func() {
					t.leave(other.browser, params("id_token_hint", other.tokens.ID))
					t.gone(other)
				}, v)
				if n == nil {
					t.Failf("the client was not told")
				}
			},
		},
		{
			ID: "OIDCBackChannel/2.3/others-not-told", Level: May, Alone: true,
			Text:  "A client is not told of the end of a session that it has no part in.",
			Needs: hearing(NeedCode),
			Check: func(t *T) {
				v, other := t.visit(NeedBackchannel), t.visit(NeedCode)
				if v.id.Claims["sid"] == nil {
					t.Skipf("sessions have no names: without, all of the person's may be meant")
				}
				n := t.hears(func() {
					t.leaves(other)
					t.leaves(v)
				}, v, other)
				if n == nil {
					t.Blockedf("the client was not told of its own session")
				}
				if j, err := readJWT(n.token); err != nil || j.Claims["sid"] != v.id.Claims["sid"] {
					t.Failf("the client was told of another session than its own, %v", v.id.Claims["sid"])
				}
			},
		},
		{
			ID: "OIDCBackChannel/2.5/post", Level: Must, Alone: true,
			Text:  "The client is told by POST at its registered address.",
			Needs: hearing(),
			Check: func(t *T) {
				v := t.visit(NeedBackchannel)
				n := t.hears(func() { t.leaves(v) }, v)
				if n == nil {
					t.Failf("the client was not told")
				}
				if n.method != http.MethodPost {
					t.Failf("the client was told by %s", n.method)
				}
			},
		},
		{
			ID: "OIDCBackChannel/2.5/form", Level: Must, Alone: true,
			Text:  "The body is form-encoded.",
			Needs: hearing(),
			Check: func(t *T) {
				n, _ := t.notified()
				if kind, _, err := mime.ParseMediaType(n.contentType); err != nil || kind != formEncoded {
					t.Failf("the body is of the type %q", n.contentType)
				}
			},
		},
		{
			ID: "OIDCBackChannel/2.5/logout-token", Level: Must, Alone: true,
			Text:  "The body has the parameter logout_token, once.",
			Needs: hearing(),
			Check: func(t *T) {
				n, _ := t.notified()
				if _, err := readJWT(n.token); err != nil || len(n.form["logout_token"]) != 1 {
					t.Failf("logout_token came %d times, and the first is %d characters long", len(n.form["logout_token"]), len(n.token))
				}
			},
		},
		{
			ID: "OIDCBackChannel/2.5/once", Level: Should,
			Text:      "A client that has heard is not told again.",
			Elsewhere: "provider/backchannel_test.go:TestBackChannel_2_8_application_is_told_at_once_and_once",
		},
		{
			ID: "OIDCBackChannel/2.5/redirect-waits", Level: May, Alone: true,
			Text:  "The browser is sent on at once, while the clients are told: a client that is slow keeps nobody waiting.",
			Needs: hearing(),
			Check: func(t *T) {
				const slow = 4 * time.Second
				l, v := t.listener(), t.visit(NeedBackchannel)
				l.slow(slow)
				defer l.slow(0)
				var took time.Duration
				t.hears(func() {
					began := time.Now()
					t.leave(v.browser, params("id_token_hint", v.tokens.ID))
					took = time.Since(began)
				}, v)
				if took >= slow/2 {
					t.Failf("the browser waited %s", took.Round(time.Second/10))
				}
			},
		},
		{
			ID: "OIDCBackChannel/2.7/every-way", Level: May,
			Text:      "Clients are told of each end of a session: by a client, by the person, by an administrator, by a new password.",
			Elsewhere: "conformance/mandate/openid_backchannel_test.go:TestBackChannel_2_7_every_way_to_end_a_session_tells_every_application",
		},
		{
			ID: "OIDCBackChannel/2.7/refresh-tokens-end", Level: Should, Alone: true,
			Text:  "A refresh token without offline_access ends with the session.",
			Needs: hearing(),
			Check: func(t *T) {
				v := t.visit(NeedBackchannel)
				if v.tokens.Refresh == "" || slices.Contains(strings.Fields(v.tokens.Scope), "offline_access") {
					t.Skipf("the server gives no refresh token without offline_access")
				}
				t.leaves(v)
				t.WantRefused(t.Refresh(v.client, v.tokens.Refresh), "the session has ended")
			},
		},
		{
			ID: "OIDCBackChannel/2.7/offline-access-stays", Level: Should, Alone: true,
			Text:  "A refresh token with offline_access does not end with the session.",
			Needs: hearing(),
			Check: func(t *T) {
				if !t.discovered().lists("scopes_supported", "offline_access") {
					t.Skipf("the server does not list offline_access")
				}
				v := t.visit(NeedBackchannel, "offline_access")
				if v.tokens.Refresh == "" {
					t.Skipf("the server gives no refresh token with offline_access")
				}
				t.leaves(v)
				t.WantGranted(t.Refresh(v.client, v.tokens.Refresh))
			},
		},
		{
			ID: "OIDCBackChannel/2.8/no-content", Level: Should,
			Text:      "An answer of 204 is as good as one of 200.",
			Elsewhere: "provider/outbound_test.go:TestOutboundClientWantsASuccess",
		},
		{
			ID: "OIDCBackChannel/2.8/again", Level: May,
			Text:      "A client that does not answer, or with a failure, is told again for some hours.",
			Elsewhere: "provider/backchannel_test.go:TestBackChannel_2_8_application_that_does_not_answer_is_told_again",
		},
	}
}
