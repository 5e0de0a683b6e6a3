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

// oidcLogoutRequest has the checks of the rules about who is signed out, and when the person is asked first.
var oidcLogoutRequest = checks{
	"OIDCRPLogout/2/get": func(t *T) {
		v := t.Visit(need.Logout)
		wantSignedOut(t, v, t.Logout(v.Browser, wire.Params("id_token_hint", v.Tokens.ID)))
	},
	"OIDCRPLogout/2/post": func(t *T) {
		v := t.Visit(need.Logout)
		wantSignedOut(t, v, t.LogoutByPost(v.Browser, wire.Params("id_token_hint", v.Tokens.ID)))
	},
	"OIDCRPLogout/2/asks": func(t *T) {
		logsOut(t)
		v := t.Visit(need.Logout)
		d := t.OpenLogout(v.Browser, wire.Params("id_token_hint", v.Tokens.ID))
		if !t.StillSignedIn(v) {
			t.At(d.Answer)
			t.Failf("the server signed the person out without asking")
		}
	},
	"OIDCRPLogout/2/asks-without-hint": func(t *T) {
		logsOut(t)
		v := t.Visit(need.Logout)
		for _, request := range []url.Values{{}, wire.Params("client_id", v.Client.ID),
			t.LogoutRequest(v, "client_id", v.Client.ID)} {
			wantNoEffect(t, v, request, "the request has no id_token_hint, and the person was not asked")
		}
	},
	"OIDCRPLogout/2/asks-with-hint-of-other-session": func(t *T) {
		asksWithoutHint(t)
		here, there := t.Visit(need.Logout), t.Visit(need.Logout)
		wantNoEffect(t, here, wire.Params("id_token_hint", there.Tokens.ID), "the ID token is of another session")
	},
	"OIDCRPLogout/2/yes": func(t *T) {
		v := t.Visit(need.Logout)
		d := t.Logout(v.Browser, wire.Params("client_id", v.Client.ID))
		if d.Away == "" && d.Answer.Status >= http.StatusBadRequest {
			t.Skipf("the rule applies to a server that asks the person: this one answers a logout request without "+
				"id_token_hint with %s", d.Answer)
		}
		if !d.Confirmed && t.StillSignedIn(v) {
			usablePage(t, d)
			t.At(d.Answer)
			t.Skipf("the rule applies to a server that asks the person: this one answers a logout request without "+
				"id_token_hint with %s, asks nothing and ends no session", d.Answer)
		}
		wantSignedOut(t, v, d)
	},
	"OIDCRPLogout/2/other-browsers-stay": func(t *T) {
		t.WantRemembered() // it signs in, so it comes before the logout
		here, there := t.Visit(need.Logout), t.Visit(need.Logout)
		t.SignOut(here)
		t.WantSignedIn(there, "the person signed out in another browser")
	},
	"OIDCRPLogout/2/issuer-of-hint": func(t *T) {
		asksWithoutHint(t)
		v := t.Visit(need.Logout)
		for _, hint := range append(jose.Altered(v.Tokens.ID), jose.Unsigned(v.Tokens.ID)[0]) {
			wantNoEffect(t, v, t.LogoutRequest(v, "id_token_hint", hint), "the ID token is forged")
		}
	},
	"OIDCRPLogout/2/client-of-hint": func(t *T) {
		asksWithoutHint(t)
		v := t.Visit(need.Logout)
		request := t.LogoutRequest(v, "id_token_hint", v.Tokens.ID, "client_id", t.Client(need.Code).ID)
		wantNoEffect(t, v, request, "client_id is not the client of the ID token")
	},
	"OIDCRPLogout/2/hint-and-client": func(t *T) { wantLogoutWith(t, "client_id", t.Client(need.Logout).ID) },
	"OIDCRPLogout/2/logout-hint":     func(t *T) { wantLogoutWith(t, "logout_hint", "conformance") },
	"OIDCRPLogout/2/ui-locales":      func(t *T) { wantLogoutWith(t, "ui_locales", "x-conformance") },
	"OIDCRPLogout/2.1/end-session-endpoint": func(t *T) {
		t.Endpoint(need.EndSession)
		wantNamed(t, discoveredMetadata(t), need.EndSession)
	},
	"OIDCRPLogout/2.1/https": func(t *T) {
		if t.MetadataAddress() != "" {
			provider(t) // a failure shows it
		}
		wantTLS(t, t.Endpoint(need.EndSession))
	},
}

// oidcLogoutRedirect has the checks of the rules about the redirect after a logout.
var oidcLogoutRedirect = checks{
	"OIDCRPLogout/3/back-to-client": func(t *T) {
		t.SignOut(t.Visit(need.Logout))
		v := t.Visit(need.Logout)
		wantSentBack(t, v, t.Logout(v.Browser, t.LogoutRequest(v, "id_token_hint", v.Tokens.ID)))
	},
	"OIDCRPLogout/3/state": func(t *T) {
		v := t.Visit(need.Logout)
		request := t.LogoutRequest(v, "id_token_hint", v.Tokens.ID)
		request.Set("state", "a b&c=d+ä/")
		d := sentBack(t, v, t.Logout(v.Browser, request))
		if got := wire.ParseURL(d.Away).Query().Get("state"); got != request.Get("state") {
			t.At(d.Answer)
			t.Failf("the state of the request is %q, but that of the redirect is %q", request.Get("state"), got)
		}
	},
	"OIDCRPLogout/3/no-state": func(t *T) {
		v := t.Visit(need.Logout)
		uri := v.Client.PostLogoutRedirectURIs[0]
		d := sentBack(t, v, t.Logout(v.Browser, wire.Params("id_token_hint", v.Tokens.ID, "post_logout_redirect_uri", uri)))
		if target, err := url.Parse(d.Away); err != nil || target.Query().Has("state") {
			t.At(d.Answer)
			t.Failf("the browser was sent to %s", d.Away)
		}
	},
	"OIDCRPLogout/3/not-without-proof": func(t *T) {
		logsOut(t)
		v := t.Visit(need.Logout)
		t.WantNotSent(t.Logout(v.Browser, t.LogoutRequest(v)), v.Client.PostLogoutRedirectURIs[0])
	},
	"OIDCRPLogout/3/client-id-as-proof": func(t *T) {
		v := t.Visit(need.Logout)
		wantSentBack(t, v, t.Logout(v.Browser, t.LogoutRequest(v, "client_id", v.Client.ID)))
	},
	"OIDCRPLogout/3/exact-match": func(t *T) {
		redirectsAfterLogout(t)
		c := t.Client(need.Logout)
		uri := c.PostLogoutRedirectURIs[0]
		for _, wrong := range []string{"https://attacker.example/", uri + "/more", uri + "&more=1", strings.ToUpper(uri),
			c.RedirectURI() + "x"} {
			v := t.Visit(need.Logout)
			request := wire.Params("id_token_hint", v.Tokens.ID, "post_logout_redirect_uri", wrong)
			t.WantNotSent(t.Logout(v.Browser, request), wire.ParseURL(wrong).String())
		}
	},
	"OIDCRPLogout/3/of-this-client": func(t *T) {
		redirectsAfterLogout(t)
		v, uri := t.Visit(need.Code), t.Client(need.Logout).PostLogoutRedirectURIs[0]
		if slices.Contains(v.Client.PostLogoutRedirectURIs, uri) {
			t.Skipf("the clients code and logout have the same post_logout_redirect_uri: register different ones")
		}
		t.WantNotSent(t.Logout(v.Browser, wire.Params("id_token_hint", v.Tokens.ID, "post_logout_redirect_uri", uri)), uri)
	},
	"OIDCRPLogout/3/redirect-after-notice": oidcRPLogoutRedirectAfterNotice,
	"OIDCRPLogout/4/invalid-not-used": func(t *T) {
		asksWithoutHint(t)
		v := t.Visit(need.Logout)
		for _, request := range []url.Values{t.LogoutRequest(v, "id_token_hint", "conformance"),
			t.LogoutRequest(v, "client_id", "conformance-"+t.Random()),
			t.LogoutRequest(v, "id_token_hint", v.Tokens.Access)} {
			wantNoEffect(t, v, request, "the request is invalid")
		}
	},
	"OIDCRPLogout/4/idempotent": func(t *T) {
		v := t.Visit(need.Logout)
		request := t.LogoutRequest(v, "id_token_hint", v.Tokens.ID)
		t.Logout(v.Browser, request)
		t.SignedOut(v)
		if d := t.Logout(v.Browser, request); d.Away == "" && d.Answer.Status >= http.StatusBadRequest {
			t.At(d.Answer)
			t.Failf("the second logout request is answered with %s", d.Answer)
		}
	},
}

func oidcRPLogoutRedirectAfterNotice(t *T) {
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
}
