package rules

import (
	"fmt"
	"slices"
	"strings"

	"mandate/conformance/browser"
	"mandate/conformance/check"
	"mandate/conformance/need"
)

// oidcRequest returns the rules about the authentication request, except those about the login (OIDC Core §3.1.2,
// §3.1.2.1).
func oidcRequest() []Rule {
	return []Rule{
		{
			ID: "OIDCCore/3.1/tokens-from-token-endpoint", Level: Should,
			Text:  "In the code flow the browser receives no tokens.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				r := t.Try(t.OpenID(t.Client(need.Code)))
				t.CodeOf(r)
				for _, name := range []string{"access_token", "id_token", "refresh_token"} {
					if r.Params.Has(name) {
						t.At(r.Answer)
						t.Errorf("%s was returned with the code", name)
					}
				}
			},
		},
		{
			ID: "OIDCCore/3.1.2/tls", Level: Must,
			Text:  "The authorization endpoint uses TLS.",
			Needs: []Need{need.Authorization, need.OpenID},
			Check: func(t *T) { wantTLS(t, t.Endpoint(need.Authorization)) },
		},
		{
			ID: "OIDCCore/3.1.2.1/get", Level: Must,
			Text:  "The server accepts an authentication request by GET.",
			Needs: []Need{need.Authorization, need.Code, need.OpenID},
			Check: func(t *T) {
				r := t.OpenAnonymously(t.OpenID(t.Client(need.Code)).Set("prompt", "none"))
				if !r.Arrived() {
					t.At(r.Answer)
					t.Failf("the request by GET was refused: %s", r)
				}
			},
		},
		{
			ID: "OIDCCore/3.1.2.1/post", Level: Must,
			Text:  "The server accepts an authentication request by POST with a form.",
			Needs: []Need{need.Authorization, need.Code, need.OpenID},
			Check: func(t *T) {
				// Nobody is signed in. The error for prompt=none shows that the server has read the form.
				r := t.Posted(t.NewBrowser(), t.OpenID(t.Client(need.Code)).Set("prompt", "none"))
				if !r.Arrived() {
					t.At(r.Answer)
					t.Failf("the request by POST was refused: %s", r)
				}
			},
		},
		{
			ID: "OIDCCore/3.1.2.1/unknown-scope-ignored", Level: Should,
			Text:   "The server ignores an unknown scope.",
			Needs:  authenticationNeeds(),
			Waived: "Mandate refuses it with invalid_scope, as RFC 6749 §3.3 allows, so that a misspelt scope is noticed.",
			Check: func(t *T) {
				r := t.Try(t.OpenID(t.Client(need.Code), "conformance-unknown"))
				wantCode(t, r, "a request with an unknown scope")
			},
		},
		{
			ID: "OIDCCore/3.1.2.1/without-openid", Level: May,
			Text:  "Without the scope openid the server issues no ID token.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				r := t.Request(t.Client(need.Code))
				scopes := slices.DeleteFunc(strings.Fields(r.Params.Get("scope")), func(s string) bool { return s == "openid" })
				if r.Del("scope"); len(scopes) > 0 {
					r.Set("scope", strings.Join(scopes, " "))
				}
				if tokens := t.GrantFor(r); tokens.ID != "" {
					t.Failf("the response has an ID token")
				}
			},
		},
		{
			ID: "OIDCCore/3.1.2.1/redirect-uri-registered", Level: Must,
			Text:  "The redirect URI equals a registered one, character by character.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				for _, uri := range append(almost(c.RedirectURI()), "https://attacker.example/callback") {
					r := t.Try(t.OpenID(c).Set("redirect_uri", uri))
					t.WantNoCode(r, fmt.Sprintf("%s is not the registered %s", uri, c.RedirectURI()))
					wantNoRedirect(t, r)
				}
			},
		},
		{
			ID: "OIDCCore/3.1.2.1/redirect-uri-https", Level: Should,
			Text:     "A redirect URI uses https, except for a program on the same computer.",
			TestedBy: "provider/redirect/redirect_test.go:TestRedirectURIAtRegistration",
		},
		{
			ID: "OIDCCore/3.1.2.1/redirect-uri-http", Level: May,
			Text:     "http is allowed only for 127.0.0.1, [::1] and localhost, even for confidential clients.",
			TestedBy: "provider/redirect/redirect_test.go:TestRedirectURIAtRegistration",
		},
		{
			ID: "OIDCCore/3.1.2.1/response-mode-query", Level: May,
			Text:  "The server accepts response_mode=query, the default of the code flow.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				wantCode(t, t.Try(t.OpenID(t.Client(need.Code)).Set("response_mode", "query")), "response_mode=query")
			},
		},
		{
			ID: "OIDCCore/3.1.2.1/nonce-optional", Level: Must,
			Text:  "In the code flow nonce is optional.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				wantCode(t, t.Try(t.OpenID(t.Client(need.Code)).Del("nonce")), "a request without nonce")
			},
		},
		{
			ID: "OIDCCore/3.1.2.1/display-page", Level: Should,
			Text:  "display=page is the default: the page has the same fields.",
			Needs: []Need{need.Authorization, need.Code, need.OpenID},
			Check: func(t *T) {
				var shown [][]browser.Field
				for _, r := range []*check.Request{t.OpenID(t.Client(need.Code)), t.OpenID(t.Client(need.Code)).Set("display", "page")} {
					b := t.LoginPage(r)
					var fields []browser.Field
					for _, f := range browser.Parse(b.Page).Forms {
						fields = append(fields, f.Fields...)
					}
					shown = append(shown, fields)
				}
				if !slices.Equal(shown[0], shown[1]) {
					t.Failf("without display the page has the fields %v, but with display=page %v", shown[0], shown[1])
				}
			},
		},
		{
			ID: "OIDCCore/3.1.2.1/display-popup", Level: Should,
			Text:     "With display=popup the pages fit a small window.",
			TestedBy: "conformance/mandate/browser_look_test.go:TestBrowserPagesFitAPhone",
		},
		{
			ID: "OIDCCore/3.1.2.1/display-touch", Level: Should,
			Text:     "With display=touch the pages can be used by touch.",
			TestedBy: "conformance/mandate/browser_look_test.go:TestBrowserPagesFitAPhone",
		},
		{
			ID: "OIDCCore/3.1.2.1/display-wap", Level: Should,
			Text:  "With display=wap the pages suit a simple telephone: they work without scripts.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				// The browser of the checks runs no scripts.
				b, r := t.NewBrowser(), t.OpenID(t.Client(need.Code)).Set("display", "wap")
				wantCode(t, t.Walk(b, r, true), "display=wap in a browser without scripts")
			},
		},
		{
			ID: "OIDCCore/3.1.2.1/display-unknown", Level: May,
			Text:  "The server refuses an unknown display with invalid_request.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				t.WantRedirectError(t.Try(t.OpenID(t.Client(need.Code)).Set("display", "conformance")), "invalid_request")
			},
		},
		{
			ID: "OIDCCore/3.1.2.1/ui-locales", Level: Should,
			Text:  "An unsupported language in ui_locales causes no error.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				r := t.Try(t.OpenID(t.Client(need.Code)).Set("ui_locales", "tlh qaa-Latn-x-conformance"))
				wantCode(t, r, "an unknown language")
			},
		},
		{
			ID: "OIDCCore/3.1.2.1/login-hint", Level: May,
			Text:  "The login page is filled in with login_hint.",
			Needs: []Need{need.Authorization, need.Code, need.OpenID},
			Check: func(t *T) {
				hint := "conformance-" + strings.ToLower(t.Random()) + "@client.example"
				b := t.LoginPage(t.OpenID(t.Client(need.Code)).Set("login_hint", hint))
				for _, f := range browser.Parse(b.Page).Forms {
					for _, values := range f.Values {
						if slices.Contains(values, hint) {
							return
						}
					}
				}
				t.Failf("no field of the login page contains %s", hint)
			},
		},
		{
			ID: "OIDCCore/3.1.2.1/acr-values", Level: May,
			Text:  "The ID token has the acr of the login, with or without acr_values in the request.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				for _, r := range []*check.Request{t.OpenID(c), t.OpenID(c).Set("acr_values", "urn:conformance:unknown 0")} {
					if t.IDToken(t.GrantFor(r)).Text("acr") == "" {
						t.Errorf("the ID token has no acr with acr_values=%q", r.Params.Get("acr_values"))
					}
				}
			},
		},
	}
}
