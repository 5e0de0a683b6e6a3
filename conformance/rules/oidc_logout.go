package rules

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"mandate/conformance/check"
	"mandate/conformance/jose"
	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// logoutNeeds returns what a check of the logout endpoint needs. Such a check ends sessions, so its rule must be Alone.
func logoutNeeds(more ...Need) []Need {
	return append([]Need{need.OpenID, need.Authorization, need.Token, need.EndSession, need.Logout, need.User}, more...)
}

// oidcRPLogout returns the rules of OpenID Connect RP-Initiated Logout.
func oidcRPLogout() []Rule { return slices.Concat(oidcLogoutRequest(), oidcLogoutRedirect()) }

// oidcLogoutRequest returns the rules about who is signed out, and when the person is asked first.
func oidcLogoutRequest() []Rule {
	return []Rule{
		{
			ID: "OIDCRPLogout/2/get", Level: Must, Alone: true,
			Text:  "The server accepts a logout request by GET.",
			Needs: logoutNeeds(),
			Check: func(t *T) {
				v := t.Visit(need.Logout)
				wantSignedOut(t, v, t.Logout(v.Browser, wire.Params("id_token_hint", v.Tokens.ID)))
			},
		},
		{
			ID: "OIDCRPLogout/2/post", Level: Must, Alone: true,
			Text:  "The server accepts a logout request by POST from another site.",
			Needs: logoutNeeds(),
			Check: func(t *T) {
				v := t.Visit(need.Logout)
				wantSignedOut(t, v, t.LogoutByPost(v.Browser, wire.Params("id_token_hint", v.Tokens.ID)))
			},
		},
		{
			ID: "OIDCRPLogout/2/asks", Level: Should, Alone: true,
			Text:  "The server asks the person, even if the request has an ID token of this session.",
			Needs: logoutNeeds(),
			Check: func(t *T) {
				logsOut(t)
				v := t.Visit(need.Logout)
				d := t.OpenLogout(v.Browser, wire.Params("id_token_hint", v.Tokens.ID))
				if !t.StillSignedIn(v) {
					t.At(d.Answer)
					t.Failf("the server signed the person out without asking")
				}
			},
			Waived: "Such an ID token proves that the request comes from the application where the person signed in; OIDC_RP_INITIATED_LOGOUT_ALWAYS_PROMPT makes Mandate ask anyway.",
		},
		{
			ID: "OIDCRPLogout/2/asks-without-hint", Level: Must, Alone: true,
			Text:  "Without an ID token the server asks the person.",
			Needs: logoutNeeds(),
			Check: func(t *T) {
				logsOut(t)
				v := t.Visit(need.Logout)
				for _, request := range []url.Values{{}, wire.Params("client_id", v.Client.ID), t.LogoutRequest(v, "client_id", v.Client.ID)} {
					wantNoEffect(t, v, request, "the request has no id_token_hint, and the person was not asked")
				}
			},
		},
		{
			ID: "OIDCRPLogout/2/asks-with-hint-of-somebody-else", Level: Must,
			Text:     "The server asks the person if the ID token belongs to another person or another session.",
			TestedBy: "conformance/mandate/openid_logout_test.go:TestRPLogout_2_person_is_asked_where_nothing_proves_the_request",
		},
		{
			ID: "OIDCRPLogout/2/asks-with-hint-of-other-session", Level: May, Alone: true,
			Text:  "An ID token of the same person's session in another browser is no proof either.",
			Needs: logoutNeeds(),
			Check: func(t *T) {
				asksWithoutHint(t)
				here, there := t.Visit(need.Logout), t.Visit(need.Logout)
				wantNoEffect(t, here, wire.Params("id_token_hint", there.Tokens.ID), "the ID token is of another session")
			},
		},
		{
			ID: "OIDCRPLogout/2/yes", Level: Must, Alone: true,
			Text:  "A person who confirms is signed out.",
			Needs: logoutNeeds(),
			Check: func(t *T) {
				v := t.Visit(need.Logout)
				d := t.Logout(v.Browser, wire.Params("client_id", v.Client.ID))
				if d.Away == "" && d.Answer.Status >= http.StatusBadRequest {
					t.Skipf("the rule applies to a server that asks the person: this one answers a logout request without id_token_hint with %s", d.Answer)
				}
				if !d.Confirmed && t.StillSignedIn(v) {
					usablePage(t, d)
					t.At(d.Answer)
					t.Skipf("the rule applies to a server that asks the person: this one answers a logout request without id_token_hint with %s, asks nothing and ends no session", d.Answer)
				}
				wantSignedOut(t, v, d)
			},
		},
		{
			ID: "OIDCRPLogout/2/other-browsers-stay", Level: May, Alone: true,
			Text:  "Only the session of this browser ends.",
			Needs: logoutNeeds(),
			Check: func(t *T) {
				t.WantRemembered() // it signs in, so it comes before the logout
				here, there := t.Visit(need.Logout), t.Visit(need.Logout)
				t.SignOut(here)
				t.WantSignedIn(there, "the person signed out in another browser")
			},
		},
		{
			ID: "OIDCRPLogout/2/issuer-of-hint", Level: Must, Alone: true,
			Text:  "The server ignores an ID token that it did not issue.",
			Needs: logoutNeeds(),
			Check: func(t *T) {
				asksWithoutHint(t)
				v := t.Visit(need.Logout)
				for _, hint := range append(jose.Altered(v.Tokens.ID), jose.Unsigned(v.Tokens.ID)[0]) {
					wantNoEffect(t, v, t.LogoutRequest(v, "id_token_hint", hint), "the ID token is forged")
				}
			},
		},
		{
			ID: "OIDCRPLogout/2/client-of-hint", Level: Must, Alone: true,
			Text:  "client_id must be the client to which the ID token was issued.",
			Needs: logoutNeeds(need.Code),
			Check: func(t *T) {
				asksWithoutHint(t)
				v := t.Visit(need.Logout)
				request := t.LogoutRequest(v, "id_token_hint", v.Tokens.ID, "client_id", t.Client(need.Code).ID)
				wantNoEffect(t, v, request, "client_id is not the client of the ID token")
			},
		},
		{
			// The document defines this use of client_id without a keyword.
			ID: "OIDCRPLogout/2/hint-and-client", Level: Should, Alone: true,
			Text:  "An ID token together with its client_id is accepted.",
			Needs: logoutNeeds(),
			Check: func(t *T) { wantLogoutWith(t, "client_id", t.Client(need.Logout).ID) },
		},
		{
			ID: "OIDCRPLogout/2/expired-hint", Level: Should,
			Text:     "The server accepts an expired ID token as a hint.",
			TestedBy: "conformance/mandate/openid_logout_test.go:TestRPLogout_2_expired_hint_is_one",
		},
		{
			ID: "OIDCRPLogout/2/hint-of-old-session", Level: Should,
			Text:     "A hint whose sid is not that of the session is suspect: the server asks the person.",
			TestedBy: "conformance/mandate/openid_logout_test.go:TestRPLogout_2_person_is_asked_where_nothing_proves_the_request",
		},
		{
			ID: "OIDCRPLogout/2/encrypted-hint", Level: May,
			Text:         "An encrypted ID token is decrypted with the key of the client in client_id.",
			Inapplicable: "Mandate does not encrypt ID tokens.",
		},
		{
			ID: "OIDCRPLogout/2/logout-hint", Level: May, Alone: true,
			Text:  "The server ignores logout_hint: the session and the ID token identify the person.",
			Needs: logoutNeeds(),
			Check: func(t *T) { wantLogoutWith(t, "logout_hint", "conformance") },
		},
		{
			ID: "OIDCRPLogout/2/ui-locales", Level: Should, Alone: true,
			Text:  "An unsupported language causes no error.",
			Needs: logoutNeeds(),
			Check: func(t *T) { wantLogoutWith(t, "ui_locales", "x-conformance") },
		},
		{
			ID: "OIDCRPLogout/2.1/end-session-endpoint", Level: Must,
			Text:  "If the server has a logout endpoint, the metadata names it.",
			Needs: []Need{need.OpenID, need.EndSession},
			Check: func(t *T) {
				t.Endpoint(need.EndSession)
				wantNamed(t, discoveredMetadata(t), need.EndSession)
			},
		},
		{
			ID: "OIDCRPLogout/2.1/https", Level: Must,
			Text:  "The logout endpoint uses TLS.",
			Needs: []Need{need.EndSession},
			Check: func(t *T) {
				if t.MetadataAddress() != "" {
					provider(t) // a failure shows it
				}
				wantTLS(t, t.Endpoint(need.EndSession))
			},
		},
	}
}

// oidcLogoutRedirect returns the rules about the redirect after a logout.
func oidcLogoutRedirect() []Rule {
	return []Rule{
		{
			// The client requests the redirect, and no sentence with a keyword requires it.
			ID: "OIDCRPLogout/3/back-to-client", Level: Should, Alone: true,
			Text:  "With an ID token and a registered post_logout_redirect_uri the server redirects there after the logout.",
			Needs: logoutNeeds(),
			Check: func(t *T) {
				t.SignOut(t.Visit(need.Logout))
				v := t.Visit(need.Logout)
				wantSentBack(t, v, t.Logout(v.Browser, t.LogoutRequest(v, "id_token_hint", v.Tokens.ID)))
			},
		},
		{
			// The document says this without a keyword.
			ID: "OIDCRPLogout/3/state", Level: Should, Alone: true,
			Text:  "If the server redirects after a logout, it returns state unchanged.",
			Needs: logoutNeeds(),
			Check: func(t *T) {
				v := t.Visit(need.Logout)
				request := t.LogoutRequest(v, "id_token_hint", v.Tokens.ID)
				request.Set("state", "a b&c=d+ä/")
				d := sentBack(t, v, t.Logout(v.Browser, request))
				if got := wire.ParseURL(d.Away).Query().Get("state"); got != request.Get("state") {
					t.At(d.Answer)
					t.Failf("the state of the request is %q, but that of the redirect is %q", request.Get("state"), got)
				}
			},
		},
		{
			ID: "OIDCRPLogout/3/no-state", Level: May, Alone: true,
			Text:  "Without state in the request the server adds none, and redirects to the registered address unchanged.",
			Needs: logoutNeeds(),
			Check: func(t *T) {
				v := t.Visit(need.Logout)
				uri := v.Client.PostLogoutRedirectURIs[0]
				d := sentBack(t, v, t.Logout(v.Browser, wire.Params("id_token_hint", v.Tokens.ID, "post_logout_redirect_uri", uri)))
				if target, err := url.Parse(d.Away); err != nil || target.Query().Has("state") {
					t.At(d.Answer)
					t.Failf("the browser was sent to %s", d.Away)
				}
			},
		},
		{
			// The document allows it if the server has other means to verify the address, such as the clients of the session.
			ID: "OIDCRPLogout/3/not-without-proof", Level: May, Alone: true,
			Text:  "If nothing in the request identifies the client of a post_logout_redirect_uri, the server does not redirect there, even if the person confirms.",
			Needs: logoutNeeds(),
			Check: func(t *T) {
				logsOut(t)
				v := t.Visit(need.Logout)
				t.WantNotSent(t.Logout(v.Browser, t.LogoutRequest(v)), v.Client.PostLogoutRedirectURIs[0])
			},
		},
		{
			ID: "OIDCRPLogout/3/client-id-as-proof", Level: May, Alone: true,
			Text:  "client_id identifies the client without an ID token: the server redirects after the person has confirmed.",
			Needs: logoutNeeds(),
			Check: func(t *T) {
				v := t.Visit(need.Logout)
				wantSentBack(t, v, t.Logout(v.Browser, t.LogoutRequest(v, "client_id", v.Client.ID)))
			},
		},
		{
			ID: "OIDCRPLogout/3/exact-match", Level: Must, Alone: true,
			Text:  "The server redirects only to a registered address, compared character by character.",
			Needs: logoutNeeds(),
			Check: func(t *T) {
				redirectsAfterLogout(t)
				c := t.Client(need.Logout)
				uri := c.PostLogoutRedirectURIs[0]
				for _, wrong := range []string{"https://attacker.example/", uri + "/more", uri + "&more=1", strings.ToUpper(uri), c.RedirectURI() + "x"} {
					v := t.Visit(need.Logout)
					request := wire.Params("id_token_hint", v.Tokens.ID, "post_logout_redirect_uri", wrong)
					t.WantNotSent(t.Logout(v.Browser, request), wire.ParseURL(wrong).String())
				}
			},
		},
		{
			ID: "OIDCRPLogout/3/of-this-client", Level: Must, Alone: true,
			Text:  "The server does not redirect to an address that another client registered.",
			Needs: logoutNeeds(need.Code),
			Check: func(t *T) {
				redirectsAfterLogout(t)
				v, uri := t.Visit(need.Code), t.Client(need.Logout).PostLogoutRedirectURIs[0]
				if slices.Contains(v.Client.PostLogoutRedirectURIs, uri) {
					t.Skipf("the clients code and logout have the same post_logout_redirect_uri: register different ones")
				}
				t.WantNotSent(t.Logout(v.Browser, wire.Params("id_token_hint", v.Tokens.ID, "post_logout_redirect_uri", uri)), uri)
			},
		},
		{
			// The document says this without a keyword. A client that has the logout token, and has not answered yet, is
			// still being notified.
			ID: "OIDCRPLogout/3/redirect-after-notice", Level: Should, Alone: true,
			Text:  "The server redirects the browser after it has finished to notify the clients.",
			Needs: backchannelNeeds(need.Logout),
			Check: func(t *T) {
				const slow = 1500 * time.Millisecond // shorter than the time after which servers give up
				l, v := t.Listener(), t.Visit(need.Backchannel)
				other := t.VisitIn(v.Browser, need.Logout)
				l.Slow(slow)
				defer l.Slow(0)
				var d *check.LogoutOutcome
				var took time.Duration
				n := t.LogoutTokenDuring(func() {
					began := time.Now()
					d = t.Logout(other.Browser, t.LogoutRequest(other, "id_token_hint", other.Tokens.ID))
					took = time.Since(began)
				}, v)
				sentBack(t, other, d)
				t.At(d.Answer)
				if n == nil {
					t.Blockedf("the client backchannel received no logout token (OIDCBackChannel/2.3/remembered)")
				}
				if took < slow {
					t.Failf("the browser was redirected before the client backchannel had answered its logout token, which took %s", slow)
				}
			},
			Waived: "A client that does not answer would delay each logout: Mandate redirects at once, and repeats the logout tokens until they are accepted.",
		},
		{
			ID: "OIDCRPLogout/3.1/http-for-confidential", Level: May,
			Text:     "With a setting, only confidential clients can register a post_logout_redirect_uri with http.",
			TestedBy: "conformance/mandate/openid_logout_test.go:TestRPLogout_settings",
		},
		{
			ID: "OIDCRPLogout/4/invalid-not-used", Level: Must, Alone: true,
			Text:  "If a part of the request is invalid, the server neither ends the session for it nor redirects.",
			Needs: logoutNeeds(),
			Check: func(t *T) {
				asksWithoutHint(t)
				v := t.Visit(need.Logout)
				for _, request := range []url.Values{t.LogoutRequest(v, "id_token_hint", "conformance"), t.LogoutRequest(v, "client_id", "conformance-"+t.Random()),
					t.LogoutRequest(v, "id_token_hint", v.Tokens.Access)} {
					wantNoEffect(t, v, request, "the request is invalid")
				}
			},
		},
		{
			// The document says this without a keyword.
			ID: "OIDCRPLogout/4/idempotent", Level: Should, Alone: true,
			Text:  "A logout of a person who is already signed out is no error.",
			Needs: logoutNeeds(),
			Check: func(t *T) {
				v := t.Visit(need.Logout)
				request := t.LogoutRequest(v, "id_token_hint", v.Tokens.ID)
				t.Logout(v.Browser, request)
				t.SignedOut(v)
				if d := t.Logout(v.Browser, request); d.Away == "" && d.Answer.Status >= http.StatusBadRequest {
					t.At(d.Answer)
					t.Failf("the second logout request is answered with %s", d.Answer)
				}
			},
		},
	}
}
