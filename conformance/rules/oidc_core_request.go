package rules

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"mandate/conformance/browser"
	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// oidcRequest has the checks of the rules about the authentication request, except those about the login (OIDC Core
// §3.1.2, §3.1.2.1).
var oidcRequest = checks{
	"OIDCCore/3.1/tokens-from-token-endpoint": func(t *T) {
		r := t.Authorize(t.OpenID(t.Client(need.Code)))
		t.CodeOf(r)
		for _, name := range []string{"access_token", "id_token", "refresh_token"} {
			if r.Params.Has(name) {
				t.At(r.Answer)
				t.Errorf("%s was returned with the code", name)
			}
		}
	},
	"OIDCCore/3.1.2/tls": func(t *T) { wantTLS(t, t.Endpoint(need.Authorization)) },
	"OIDCCore/3.1.2.1/get": func(t *T) {
		asked, r := t.AsksPassword(t.NewBrowser(), t.OpenID(t.Client(need.Code)))
		if !asked {
			wantUnderstood(t, r, "GET")
		}
	},
	"OIDCCore/3.1.2.1/post": func(t *T) {
		// Nobody is signed in, so that the login page shows that the server has read the form.
		c := t.Client(need.Code)
		byGet, b := t.LoginPage(t.OpenID(c)), t.NewBrowser()
		if r := t.Posted(b, t.OpenID(c)); !samePage(byGet.Page, b.Page) {
			wantUnderstood(t, r, "POST")
		}
	},
	"OIDCCore/3.1.2.1/unknown-scope-ignored": func(t *T) {
		t.CodeOf(t.Authorize(t.OpenID(t.Client(need.Code))))
		r := t.Authorize(t.OpenID(t.Client(need.Code), "conformance-unknown"))
		wantCode(t, r, "a request with an unknown scope beside openid")
	},
	"OIDCCore/3.1.2.1/without-openid": func(t *T) {
		if tokens := plainGrant(t); tokens.ID != "" {
			t.Failf("the response has an ID token, although the scope openid was neither requested nor granted")
		}
	},
	"OIDCCore/3.1.2.1/redirect-uri-registered": func(t *T) {
		c := t.Client(need.Code)
		t.Code(t.OpenID(c))
		for _, uri := range append(almost(c.RedirectURI()), "https://attacker.example/callback") {
			r := t.Authorize(t.OpenID(c).Set("redirect_uri", uri))
			t.WantNoCode(r, fmt.Sprintf("%s is not the registered %s", uri, c.RedirectURI()))
			wantNoRedirect(t, r)
		}
	},
	"OIDCCore/3.1.2.1/response-mode-query": func(t *T) {
		wantTaken(t, t.OpenID(t.Client(need.Code)).Set("response_mode", "query"), "response_mode")
	},
	"OIDCCore/3.1.2.1/nonce-optional": func(t *T) {
		c := t.Client(need.Code)
		without := settled(t, t.Authorize(t.OpenID(c).Del("nonce")))
		if without.Params.Get("code") != "" {
			return
		}
		if with := t.Authorize(t.OpenID(c).Set("nonce", t.Random())); with.Params.Get("code") == "" {
			t.Blockedf("a request with nonce gets no code either: %s", with)
		}
		t.At(without.Answer)
		t.Failf("a request gets a code with nonce, and without it does not: %s", without)
	},
	"OIDCCore/3.1.2.1/display-page": func(t *T) {
		c := t.Client(need.Code)
		without, again := t.LoginPage(t.OpenID(c)).Page, t.LoginPage(t.OpenID(c)).Page
		if !samePage(without, again) {
			t.Blockedf("the fields of the login page differ each time, also without display")
		}
		with := t.LoginPage(t.OpenID(c).Set("display", "page")).Page
		if !samePage(without, with) {
			t.Failf("without display the page has the fields %s, but with display=page %s", fieldsOf(without), fieldsOf(with))
		}
	},
	"OIDCCore/3.1.2.1/display-wap": func(t *T) {
		// The browser of the checks runs no scripts.
		c := t.Client(need.Code)
		r := settled(t, t.Walk(t.NewBrowser(), t.OpenID(c).Set("display", "wap"), true))
		if r.Params.Get("code") != "" {
			return
		}
		t.CodeOf(t.Walk(t.NewBrowser(), t.OpenID(c), true))
		t.At(r.Answer)
		t.Failf("with display=wap the request gets no code, and without it does: %s", r)
	},
	"OIDCCore/3.1.2.1/display-unknown": func(t *T) {
		t.Code(t.OpenID(t.Client(need.Code)))
		t.WantRedirectError(t.Authorize(t.OpenID(t.Client(need.Code)).Set("display", "conformance")), "invalid_request")
	},
	"OIDCCore/3.1.2.1/ui-locales": func(t *T) {
		wantTaken(t, t.OpenID(t.Client(need.Code)).Set("ui_locales", "tlh qaa-Latn-x-conformance"), "ui_locales")
	},
	"OIDCCore/3.1.2.1/login-hint": func(t *T) {
		const hint = "conformance@client.example"
		b := t.LoginPage(t.OpenID(t.Client(need.Code)).Set("login_hint", hint))
		for _, f := range browser.Parse(b.Page).Forms {
			for _, values := range f.Values {
				if slices.Contains(values, hint) {
					return
				}
			}
		}
		t.Failf("login_hint was %s, and no field of the login page contains it", hint)
	},
	"OIDCCore/3.1.2.1/acr-values": func(t *T) {
		c := t.Client(need.Code)
		for _, r := range []*check.Request{t.OpenID(c), t.OpenID(c).Set("acr_values", "urn:conformance:unknown 0")} {
			if t.IDToken(t.GrantFor(r)).Text("acr") == "" {
				t.Errorf("acr_values was %q, and the ID token has no acr", r.Params.Get("acr_values"))
			}
		}
	},
}

// plainRequest returns an authorization request without the scope openid.
func plainRequest(t *T, c *target.Client) *check.Request {
	r := t.Request(c)
	scopes := slices.DeleteFunc(strings.Fields(r.Params.Get("scope")), func(s string) bool { return s == "openid" })
	if r.Del("scope"); len(scopes) > 0 {
		r.Set("scope", strings.Join(scopes, " "))
	}
	return r
}

// plainGrant performs the code grant without the scope openid. If the server refuses this, or grants the scope
// nevertheless, the check is skipped.
func plainGrant(t *T) *check.Tokens {
	r := settled(t, t.Walk(t.NewBrowser(), plainRequest(t, t.Client(need.Code)), true))
	if slices.Contains([]string{"invalid_scope", "invalid_request", "access_denied"}, r.ErrorCode()) {
		t.Skipf("the rule applies to a server that issues tokens without the scope openid: for a request without it, %s", r)
	}
	tokens := tokensOf(t, r)
	if slices.Contains(strings.Fields(tokens.Scope), "openid") {
		t.Skipf("the rule applies to a server that issues tokens without the scope openid: here it grants this scope " +
			"although it was not requested")
	}
	return tokens
}

// wantUnderstood asserts that the server has read a request: a response reached the client. If it shows a page instead
// that is neither an error nor the login page, the check is blocked.
func wantUnderstood(t *T, r *check.Response, method string) {
	switch {
	case r.Arrived():
	case r.Stuck == "" && r.Answer.Status >= http.StatusBadRequest:
		t.At(r.Answer)
		t.Failf("an authentication request by %s is answered with %s, and neither with the login page nor with a response "+
			"to the client", method, r.Answer)
	default:
		t.Blockedf("it is unknown whether the server has read the request by %s: %s", method, r)
	}
}

// fieldsOf returns the names of the fields in the forms of a page.
func fieldsOf(a *wire.Answer) string {
	var names []string
	for _, f := range browser.Parse(a).Forms {
		for _, field := range f.Fields {
			names = append(names, field.Name)
		}
	}
	return strings.Join(names, ", ")
}

// samePage reports whether two pages have forms with the same fields.
func samePage(one, other *wire.Answer) bool {
	return fieldsOf(one) != "" && fieldsOf(one) == fieldsOf(other) && other.Status < http.StatusBadRequest
}
