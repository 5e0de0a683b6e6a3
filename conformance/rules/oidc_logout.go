package rules

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

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
				t.Logout(v.Browser, wire.Params("id_token_hint", v.Tokens.ID))
				t.WantSignedOut(v)
			},
		},
		{
			ID: "OIDCRPLogout/2/post", Level: Must, Alone: true,
			Text:  "The server accepts a logout request by POST from another site.",
			Needs: logoutNeeds(),
			Check: func(t *T) {
				v := t.Visit(need.Logout)
				t.LogoutByPost(v.Browser, wire.Params("id_token_hint", v.Tokens.ID))
				t.WantSignedOut(v)
			},
		},
		{
			ID: "OIDCRPLogout/2/asks", Level: Should, Alone: true,
			Text:  "The server asks the person, even if the request has an ID token of this session.",
			Needs: logoutNeeds(),
			Check: func(t *T) {
				v := t.Visit(need.Logout)
				t.OpenLogout(v.Browser, wire.Params("id_token_hint", v.Tokens.ID))
				if !t.StillSignedIn(v) {
					t.Failf("the server logged the person out without asking")
				}
			},
			Waived: "Such an ID token proves that the request comes from the application where the person signed in; OIDC_RP_INITIATED_LOGOUT_ALWAYS_PROMPT makes Mandate ask anyway.",
		},
		{
			ID: "OIDCRPLogout/2/asks-without-hint", Level: Must, Alone: true,
			Text:  "Without an ID token the server asks the person.",
			Needs: logoutNeeds(),
			Check: func(t *T) {
				v := t.Visit(need.Logout)
				for _, request := range []url.Values{{}, wire.Params("client_id", v.Client.ID), t.LogoutRequest(v, "client_id", v.Client.ID)} {
					t.WantIgnored(v, request, "the person was not asked")
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
				here, there := t.Visit(need.Logout), t.Visit(need.Logout)
				t.OpenLogout(here.Browser, wire.Params("id_token_hint", there.Tokens.ID))
				t.WantSignedIn(here, "the ID token is of another session")
			},
		},
		{
			ID: "OIDCRPLogout/2/yes", Level: Must, Alone: true,
			Text:  "A person who confirms is signed out.",
			Needs: logoutNeeds(),
			Check: func(t *T) {
				v := t.Visit(need.Logout)
				t.Logout(v.Browser, wire.Params("client_id", v.Client.ID))
				t.WantSignedOut(v)
			},
		},
		{
			ID: "OIDCRPLogout/2/other-browsers-stay", Level: May, Alone: true,
			Text:  "Only the session of this browser ends.",
			Needs: logoutNeeds(),
			Check: func(t *T) {
				here, there := t.Visit(need.Logout), t.Visit(need.Logout)
				t.Logout(here.Browser, wire.Params("id_token_hint", here.Tokens.ID))
				t.WantSignedOut(here)
				t.WantSignedIn(there, "the person signed out in another browser")
			},
		},
		{
			ID: "OIDCRPLogout/2/issuer-of-hint", Level: Must, Alone: true,
			Text:  "The server ignores an ID token that it did not issue.",
			Needs: logoutNeeds(),
			Check: func(t *T) {
				v := t.Visit(need.Logout)
				for _, hint := range append(jose.Altered(v.Tokens.ID), jose.Unsigned(v.Tokens.ID)[0]) {
					t.WantIgnored(v, t.LogoutRequest(v, "id_token_hint", hint), "the ID token is forged")
				}
			},
		},
		{
			ID: "OIDCRPLogout/2/client-of-hint", Level: Must, Alone: true,
			Text:  "client_id must be the client to which the ID token was issued.",
			Needs: logoutNeeds(need.Code),
			Check: func(t *T) {
				v := t.Visit(need.Logout)
				request := t.LogoutRequest(v, "id_token_hint", v.Tokens.ID, "client_id", t.Client(need.Code).ID)
				t.WantIgnored(v, request, "client_id is another client's")
			},
		},
		{
			ID: "OIDCRPLogout/2/hint-and-client", Level: Must, Alone: true,
			Text:  "An ID token together with its client_id is accepted.",
			Needs: logoutNeeds(),
			Check: func(t *T) {
				v := t.Visit(need.Logout)
				t.Logout(v.Browser, wire.Params("id_token_hint", v.Tokens.ID, "client_id", v.Client.ID))
				t.WantSignedOut(v)
			},
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
			Check: func(t *T) {
				v := t.Visit(need.Logout)
				t.Logout(v.Browser, wire.Params("id_token_hint", v.Tokens.ID, "logout_hint", "conformance"))
				t.WantSignedOut(v)
			},
		},
		{
			ID: "OIDCRPLogout/2/ui-locales", Level: Should, Alone: true,
			Text:  "An unsupported language causes no error.",
			Needs: logoutNeeds(),
			Check: func(t *T) {
				v := t.Visit(need.Logout)
				t.Logout(v.Browser, wire.Params("id_token_hint", v.Tokens.ID, "ui_locales", "x-conformance"))
				t.WantSignedOut(v)
			},
		},
		{
			ID: "OIDCRPLogout/2.1/end-session-endpoint", Level: Must,
			Text:  "The metadata has the logout endpoint.",
			Needs: []Need{need.OpenID, need.Logout},
			Check: func(t *T) {
				t.Client(need.Logout)
				wantNamed(t, discoveredMetadata(t), need.EndSession)
			},
		},
		{
			ID: "OIDCRPLogout/2.1/https", Level: Must,
			Text:  "The logout endpoint uses TLS.",
			Needs: []Need{need.EndSession},
			Check: func(t *T) { wantTLS(t, t.Endpoint(need.EndSession)) },
		},
	}
}

// oidcLogoutRedirect returns the rules about the redirect after a logout.
func oidcLogoutRedirect() []Rule {
	return []Rule{
		{
			ID: "OIDCRPLogout/3/back-to-client", Level: Must, Alone: true,
			Text:  "With an ID token and a registered post_logout_redirect_uri the server redirects there after the logout.",
			Needs: logoutNeeds(),
			Check: func(t *T) {
				v := t.Visit(need.Logout)
				d := t.Logout(v.Browser, t.LogoutRequest(v, "id_token_hint", v.Tokens.ID))
				if !strings.HasPrefix(d.Away, v.Client.PostLogoutRedirectURIs[0]) {
					t.At(d.Answer)
					t.Errorf("the browser was sent to %q, want %s", d.Away, v.Client.PostLogoutRedirectURIs[0])
				}
				t.WantSignedOut(v)
			},
		},
		{
			ID: "OIDCRPLogout/3/state", Level: Must, Alone: true,
			Text:  "The server returns state unchanged.",
			Needs: logoutNeeds(),
			Check: func(t *T) {
				v := t.Visit(need.Logout)
				request := t.LogoutRequest(v, "id_token_hint", v.Tokens.ID)
				request.Set("state", "a b&c=d+ä/"+t.Random())
				d := t.Logout(v.Browser, request)
				if d.Away == "" {
					t.Blockedf("the browser was not redirected: %s", d.Answer)
				}
				target, err := url.Parse(d.Away)
				if err != nil || target.Query().Get("state") != request.Get("state") {
					t.At(d.Answer)
					t.Failf("the state was %q, but the browser was sent to %s", request.Get("state"), d.Away)
				}
			},
		},
		{
			ID: "OIDCRPLogout/3/no-state", Level: Must, Alone: true,
			Text:  "Without state in the request the server adds none, and redirects to the registered address unchanged.",
			Needs: logoutNeeds(),
			Check: func(t *T) {
				v := t.Visit(need.Logout)
				uri := v.Client.PostLogoutRedirectURIs[0]
				d := t.Logout(v.Browser, wire.Params("id_token_hint", v.Tokens.ID, "post_logout_redirect_uri", uri))
				if d.Away == "" {
					t.Blockedf("the browser was not redirected: %s", d.Answer)
				}
				if target, err := url.Parse(d.Away); err != nil || target.Query().Has("state") {
					t.At(d.Answer)
					t.Failf("the browser was sent to %s", d.Away)
				}
			},
		},
		{
			ID: "OIDCRPLogout/3/not-without-proof", Level: Must, Alone: true,
			Text:  "If nothing identifies the client of a post_logout_redirect_uri, the server does not redirect there, even if the person confirms.",
			Needs: logoutNeeds(),
			Check: func(t *T) {
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
				d := t.Logout(v.Browser, t.LogoutRequest(v, "client_id", v.Client.ID))
				if !strings.HasPrefix(d.Away, v.Client.PostLogoutRedirectURIs[0]) {
					t.At(d.Answer)
					t.Failf("the browser was sent to %q", d.Away)
				}
			},
		},
		{
			ID: "OIDCRPLogout/3/exact-match", Level: Must, Alone: true,
			Text:  "The server redirects only to a registered address, compared character by character.",
			Needs: logoutNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Logout)
				uri := c.PostLogoutRedirectURIs[0]
				for _, wrong := range []string{"https://attacker.example/", uri + "/more", uri + "&more=1", strings.ToUpper(uri), c.RedirectURI() + "x"} {
					v := t.Visit(need.Logout)
					request := wire.Params("id_token_hint", v.Tokens.ID, "post_logout_redirect_uri", wrong)
					t.WantNotSent(t.Logout(v.Browser, request), wrong)
				}
			},
		},
		{
			ID: "OIDCRPLogout/3/of-this-client", Level: Must, Alone: true,
			Text:  "The server does not redirect to an address that another client registered.",
			Needs: logoutNeeds(need.Code),
			Check: func(t *T) {
				v, uri := t.Visit(need.Code), t.Client(need.Logout).PostLogoutRedirectURIs[0]
				if slices.Contains(v.Client.PostLogoutRedirectURIs, uri) {
					t.Skipf("the client code has the same address")
				}
				t.WantNotSent(t.Logout(v.Browser, wire.Params("id_token_hint", v.Tokens.ID, "post_logout_redirect_uri", uri)), uri)
			},
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
				v := t.Visit(need.Logout)
				for _, request := range []url.Values{t.LogoutRequest(v, "id_token_hint", "conformance"), t.LogoutRequest(v, "client_id", "conformance-"+t.Random()),
					t.LogoutRequest(v, "id_token_hint", v.Tokens.Access)} {
					t.WantIgnored(v, request, "the request is invalid")
				}
			},
		},
		{
			ID: "OIDCRPLogout/4/idempotent", Level: Must, Alone: true,
			Text:  "A logout of a person who is already signed out is no error.",
			Needs: logoutNeeds(),
			Check: func(t *T) {
				v := t.Visit(need.Logout)
				request := t.LogoutRequest(v, "id_token_hint", v.Tokens.ID)
				t.Logout(v.Browser, request)
				t.WantSignedOut(v)
				if d := t.Logout(v.Browser, request); d.Away == "" && d.Answer.Status >= http.StatusBadRequest {
					t.At(d.Answer)
					t.Failf("the second logout request is answered with %s", d.Answer)
				}
			},
		},
	}
}
