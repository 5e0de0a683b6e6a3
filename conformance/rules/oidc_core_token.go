package rules

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// oidcToken has the checks of the rules about the token endpoint (OIDC Core §3.1.3).
var oidcToken = checks{
	"OIDCCore/3.1.3/tls": func(t *T) { wantTLS(t, t.Endpoint(need.Token)) },
	"OIDCCore/3.1.3.2/client-authenticated": func(t *T) {
		c := t.Client(need.Code)
		wantAuthenticated(t, c, func() url.Values { return ownCode(t, t.OpenID(c)).Form() })
	},
	"OIDCCore/3.1.3.2/code-of-client": func(t *T) {
		t.GrantFor(t.OpenID(t.Client(need.Second))) // so that a refusal is not because of the client
		code := ownCode(t, t.OpenID(t.Client(need.Code)))
		t.WantRefused(t.Token(t.Client(need.Second), code.Form()), "the code was issued to another client")
	},
	"OIDCCore/3.1.3.2/code-valid": func(t *T) {
		t.GrantFor(t.OpenID(t.Client(need.Code))) // so that a refusal is because of the code
		wantWhole(t, ownCode(t, t.OpenID(t.Client(need.Code))))
	},
	"OIDCCore/3.1.3.2/code-once": func(t *T) {
		code := ownCode(t, t.OpenID(t.Client(need.Code)))
		t.Granted(t.Redeem(code))
		t.WantRefused(t.Redeem(code), "the code was used before")
	},
	"OIDCCore/3.1.3.2/redirect-uri-identical": func(t *T) {
		c := t.Client(need.Several)
		t.GrantFor(t.OpenID(c)) // so that a refusal is because of the redirect URI
		for _, uri := range []string{c.RedirectURIs[1], c.RedirectURIs[0] + "/"} {
			form := ownCode(t, t.OpenID(c)).Form()
			form.Set("redirect_uri", uri)
			t.WantRefused(t.Token(c, form), "the redirect URI is not the one of the authentication request")
		}
	},
	"OIDCCore/3.1.3.2/redirect-uri-once-named": func(t *T) {
		wantBound(t, func() *check.Request { return t.OpenID(t.Client(need.Code)) })
	},
	"OIDCCore/3.1.3.2/code-of-authentication": func(t *T) {
		c := t.Client(need.Code)
		code := ownCode(t, t.OpenID(c))
		// Between the two the server issues a code of plain OAuth 2.0, if it supports that. It comes from
		// another session, since some servers keep one grant for a session and a client.
		if other := t.Walk(t.NewBrowser(), plainRequest(t, c), true); other.Params.Get("code") != "" {
			t.Redeem(t.CodeOf(other))
		}
		if tokens := t.Granted(t.Redeem(code)); tokens.ID == "" {
			t.Failf("the code of an authentication request was redeemed, and the response has no id_token")
		}
	},
	"OIDCCore/3.1.3.3/id-token": func(t *T) {
		a := t.Redeem(t.Code(t.OpenID(t.Client(need.Code))))
		wantTokens(t, a)
		if a.Text("id_token") == "" {
			t.Failf("the response has no id_token")
		}
	},
	"OIDCCore/3.1.3.3/json": func(t *T) {
		a := t.GrantFor(t.OpenID(t.Client(need.Code))).Answer
		if a.MediaType() != "application/json" {
			t.Failf("Content-Type is %q", a.Header.Get("Content-Type"))
		}
	},
	"OIDCCore/3.1.3.3/token-type": func(t *T) {
		a := t.GrantFor(t.OpenID(t.Client(need.Code))).Answer
		if kind := a.Text("token_type"); !strings.EqualFold(kind, "Bearer") {
			t.Failf("token_type is %q", kind)
		}
	},
	"OIDCCore/3.1.3.3/left-out-scope-told": func(t *T) {
		r := settled(t, t.Authorize(t.OpenID(t.Client(need.Code), badScopes[0])))
		if r.ErrorCode() != "" {
			t.Skipf("the server refuses a request with an unknown scope: the rule needs one that ignores it")
		}
		wantToldScope(t, tokensOf(t, r), r.Request.Params.Get("scope"))
	},
	"OIDCCore/3.1.3.3/not-stored": func(t *T) {
		wantHeader(t, t.GrantFor(t.OpenID(t.Client(need.Code))).Answer, "Cache-Control", "no-store")
	},
	"OIDCCore/3.1.3.4/error": func(t *T) {
		if a := refusedCode(t); a.Text("error") == "" {
			t.Failf("the code is invalid, and the response (%s) is no JSON object with error", a)
		}
	},
	"OIDCCore/3.1.3.4/json": func(t *T) {
		if a := refusedCode(t); a.MediaType() != "application/json" {
			t.Failf("Content-Type is %q", a.Header.Get("Content-Type"))
		}
	},
	"OIDCCore/3.1.3.4/status-400": func(t *T) { t.WantStatus(refusedCode(t), http.StatusBadRequest) },
}

// ownCode requests a code in a browser of its own: some servers end the session of a code that is misused.
func ownCode(t *T, r *check.Request) *check.Code { return t.CodeOf(t.Walk(t.NewBrowser(), r, true)) }

// refusedCode sends a token request with a code that the server did not issue.
func refusedCode(t *T) *wire.Answer {
	c := t.Client(need.Code)
	a := t.Token(c, wire.Params("grant_type", "authorization_code", "code", "conformance-invalid",
		"redirect_uri", c.RedirectURI(), "code_verifier", strings.Repeat("conformance", 5)))
	t.Refused(a)
	return a
}

// oidcOtherFlows has the checks of the rules about the implicit and the hybrid flow, and about logins that a third
// party initiates (OIDC Core §3.2, §3.3, §4).
var oidcOtherFlows = checks{
	"OIDCCore/3.2/refused": func(t *T) {
		t.Code(t.OpenID(t.Client(need.Code)))
		for _, kind := range []string{"id_token", "id_token token"} {
			r := t.Authorize(t.OpenID(t.Client(need.Code)).Set("response_type", kind).Set("nonce", t.Random()))
			wantErrorBack(t, r, "response_type is "+kind)
		}
	},
	"OIDCCore/3.3/refused": func(t *T) {
		t.Code(t.OpenID(t.Client(need.Code)))
		for _, kind := range []string{"code id_token", "code token", "code id_token token"} {
			r := t.Authorize(t.OpenID(t.Client(need.Code)).Set("response_type", kind).Set("nonce", t.Random()))
			wantErrorBack(t, r, "response_type is "+kind)
		}
	},
}

// oidcClients has the checks of the rules about client authentication (OIDC Core §9).
var oidcClients = checks{
	"OIDCCore/9/basic-by-default": func(t *T) {
		c := t.Client(need.Code)
		if c.Auth != need.SecretBasic {
			t.Skipf("the rule needs a client code that authenticates by HTTP Basic: this one uses %s", c.Auth)
		}
		code := t.Code(t.OpenID(c))
		t.WantGranted(t.Post(t.Endpoint(need.Token), code.Form(), wire.Basic(c.ID, c.Secret)))
	},
	"OIDCCore/9/post": func(t *T) {
		c := withSecret(t, t.Client(need.Code))
		code := t.Code(t.OpenID(c))
		t.WantGranted(t.Post(t.Endpoint(need.Token), code.Form(), wire.InBody(c.ID, c.Secret)))
	},
	"OIDCCore/9/none": func(t *T) { t.WantGranted(t.Redeem(t.Code(t.OpenID(t.Client(need.Public))))) },
	"OIDCCore/9/assertion-claims": func(t *T) {
		c := keyClient(t)
		for _, name := range []string{"iss", "sub", "aud", "jti", "exp"} {
			t.WantRefused(asKey(t, c.Asserting(nil, map[string]any{name: nil})), "it has no "+name)
		}
		t.WantRefused(asKey(t, c.Asserting(nil, map[string]any{"iss": "conformance-" + t.Random()})),
			"its iss is not the client")
	},
	"OIDCCore/9/assertion-audience": func(t *T) {
		t.WantRefused(asKey(t, keyClient(t).Asserting(nil, map[string]any{"aud": "https://other.example"})),
			"its aud is another server")
	},
	"OIDCCore/9/assertion-once": wantAssertionOnce,
	"OIDCCore/9/assertion-expires": func(t *T) {
		t.WantRefused(asKey(t, keyClient(t).Asserting(nil, map[string]any{"exp": time.Now().Unix() - 300})),
			"it expired five minutes ago")
	},
	"OIDCCore/9/assertion-other-claims": wantOtherClaims,
}
