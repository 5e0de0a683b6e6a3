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

// oidcToken returns the rules about the token endpoint (OIDC Core §3.1.3).
func oidcToken() []Rule {
	return []Rule{
		{
			ID: "OIDCCore/3.1.3/tls", Level: Must,
			Text:  "The token endpoint uses TLS.",
			Needs: []Need{need.Token, need.OpenID},
			Check: func(t *T) { wantTLS(t, t.Endpoint(need.Token)) },
		},
		{
			ID: "OIDCCore/3.1.3.2/client-authenticated", Level: Must,
			Text:  "A client with a secret must use it to redeem a code.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				wantAuthenticated(t, c, func() url.Values { return ownCode(t, t.OpenID(c)).Form() })
			},
		},
		{
			ID: "OIDCCore/3.1.3.2/code-of-client", Level: Must,
			Text:  "A code works only for the client to which it was issued.",
			Needs: loginNeeds(need.Second),
			Check: func(t *T) {
				t.GrantFor(t.OpenID(t.Client(need.Second))) // so that a refusal is not because of the client
				code := ownCode(t, t.OpenID(t.Client(need.Code)))
				t.WantRefused(t.Token(t.Client(need.Second), code.Form()), "the code was issued to another client")
			},
		},
		{
			ID: "OIDCCore/3.1.3.2/code-valid", Level: Must,
			Text:  "The server refuses a code that it did not issue, or that is truncated.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				t.GrantFor(t.OpenID(t.Client(need.Code))) // so that a refusal is because of the code
				wantWhole(t, ownCode(t, t.OpenID(t.Client(need.Code))))
			},
		},
		{
			ID: "OIDCCore/3.1.3.2/code-once", Level: Must, Alone: true,
			Text:  "The server refuses a code that is used a second time.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				code := ownCode(t, t.OpenID(t.Client(need.Code)))
				t.Granted(t.Redeem(code))
				t.WantRefused(t.Redeem(code), "the code was used before")
			},
		},
		{
			ID: "OIDCCore/3.1.3.2/redirect-uri-identical", Level: Must,
			Text:  "The redirect URI of the token request equals that of the authentication request.",
			Needs: []Need{need.Authorization, need.Token, need.Several, need.User, need.OpenID},
			Check: func(t *T) {
				c := t.Client(need.Several)
				t.GrantFor(t.OpenID(c)) // so that a refusal is because of the redirect URI
				for _, uri := range []string{c.RedirectURIs[1], c.RedirectURIs[0] + "/"} {
					form := ownCode(t, t.OpenID(c)).Form()
					form.Set("redirect_uri", uri)
					t.WantRefused(t.Token(c, form), "the redirect URI is not the one of the authentication request")
				}
			},
		},
		{
			ID: "OIDCCore/3.1.3.2/redirect-uri-left-out", Level: May,
			Text:         "A client with one redirect URI can omit it, if it omits it in both requests.",
			Inapplicable: "Mandate requires it in each authentication request (OIDC Core §3.1.2.1).",
		},
		{
			ID: "OIDCCore/3.1.3.2/redirect-uri-once-named", Level: May,
			Text:  "A redirect URI in the authentication request is required in the token request too, unless it has a code_challenge.",
			Needs: loginNeeds(),
			Check: func(t *T) { wantBound(t, func() *check.Request { return t.OpenID(t.Client(need.Code)) }) },
		},
		{
			ID: "OIDCCore/3.1.3.2/code-of-authentication", Level: Must,
			Text:  "The server distinguishes the code of an authentication request from others: it returns an ID token.",
			Needs: loginNeeds(),
			Check: func(t *T) {
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
		},
		{
			ID: "OIDCCore/3.1.3.3/id-token", Level: Must,
			Text:  "The response contains an ID token in addition to the access token.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				a := t.Redeem(t.Code(t.OpenID(t.Client(need.Code))))
				wantTokens(t, a)
				if a.Text("id_token") == "" {
					t.Failf("the response has no id_token")
				}
			},
		},
		{
			ID: "OIDCCore/3.1.3.3/json", Level: Must,
			Text:  "The response has the type application/json.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				a := t.GrantFor(t.OpenID(t.Client(need.Code))).Answer
				if a.MediaType() != "application/json" {
					t.Failf("Content-Type is %q", a.Header.Get("Content-Type"))
				}
			},
		},
		{
			ID: "OIDCCore/3.1.3.3/token-type", Level: Must,
			Text:  "token_type is Bearer, unless the client registered another type.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				a := t.GrantFor(t.OpenID(t.Client(need.Code))).Answer
				if kind := a.Text("token_type"); !strings.EqualFold(kind, "Bearer") {
					t.Failf("token_type is %q", kind)
				}
			},
		},
		{
			ID: "OIDCCore/3.1.3.3/bearer-supported", Level: Should,
			Text:         "The server supports bearer tokens.",
			Inapplicable: "Mandate has no other type of tokens, and the rule about token_type is checked.",
		},
		{
			// RFC 6749 §5.1, to which §3.1.3.3 leads.
			ID: "OIDCCore/3.1.3.3/left-out-scope-told", Level: Must,
			Text:  "If the server ignores a scope of the request, the token response has the scope of the access token.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				r := settled(t, t.Authorize(t.OpenID(t.Client(need.Code), badScopes[0])))
				if r.ErrorCode() != "" {
					t.Skipf("the server refuses a request with an unknown scope: the rule needs one that ignores it")
				}
				wantToldScope(t, tokensOf(t, r), r.Request.Params.Get("scope"))
			},
		},
		{
			ID: "OIDCCore/3.1.3.3/not-stored", Level: Must,
			Text:  "A response with tokens has Cache-Control: no-store.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				wantHeader(t, t.GrantFor(t.OpenID(t.Client(need.Code))).Answer, "Cache-Control", "no-store")
			},
		},
		{
			ID: "OIDCCore/3.1.3.4/error", Level: Must,
			Text:  "The response to an invalid token request has the parameter error.",
			Needs: []Need{need.Token, need.Code, need.OpenID},
			Check: func(t *T) {
				if a := refusedCode(t); a.Text("error") == "" {
					t.Failf("the code is invalid, and the response (%s) is no JSON object with error", a)
				}
			},
		},
		{
			ID: "OIDCCore/3.1.3.4/json", Level: Must,
			Text:  "The response to an invalid token request has the type application/json.",
			Needs: []Need{need.Token, need.Code, need.OpenID},
			Check: func(t *T) {
				if a := refusedCode(t); a.MediaType() != "application/json" {
					t.Failf("Content-Type is %q", a.Header.Get("Content-Type"))
				}
			},
		},
		{
			ID: "OIDCCore/3.1.3.4/status-400", Level: Should,
			Text:  "The response to an invalid token request has the status 400.",
			Needs: []Need{need.Token, need.Code, need.OpenID},
			Check: func(t *T) { t.WantStatus(refusedCode(t), http.StatusBadRequest) },
		},
	}
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

// oidcOtherFlows returns the rules about the implicit and the hybrid flow, and about logins that a third party
// initiates (OIDC Core §3.2, §3.3, §4).
func oidcOtherFlows() []Rule {
	const only = "Mandate supports only the code flow (RFC 9700 §2.1.2)."
	return []Rule{
		{
			ID: "OIDCCore/3.2/refused", Level: May,
			Text:  "The server refuses the response types of the implicit flow.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				t.Code(t.OpenID(t.Client(need.Code)))
				for _, kind := range []string{"id_token", "id_token token"} {
					r := t.Authorize(t.OpenID(t.Client(need.Code)).Set("response_type", kind).Set("nonce", t.Random()))
					wantErrorBack(t, r, "response_type is "+kind)
				}
			},
		},
		{
			ID: "OIDCCore/3.2.2.1/no-http", Level: Must, Inapplicable: only,
			Text: "In the implicit flow a redirect URI does not use http.",
		},
		{
			ID: "OIDCCore/3.2.2.5/fragment", Level: Must, Inapplicable: only,
			Text: "In the implicit flow the response is in the fragment of the redirect URI.",
		},
		{
			ID: "OIDCCore/3.2.2.5/token-type", Level: Must, Inapplicable: only,
			Text: "In the implicit flow token_type is Bearer, unless the client registered another type.",
		},
		{
			ID: "OIDCCore/3.2.2.6/fragment", Level: Must, Inapplicable: only,
			Text: "In the implicit flow an error is in the fragment of the redirect URI.",
		},
		{
			ID: "OIDCCore/3.2.2.10/nonce", Level: Must, Inapplicable: only,
			Text: "In the implicit flow a request has a nonce.",
		},
		{
			ID: "OIDCCore/3.2.2.10/at-hash", Level: Must, Inapplicable: only,
			Text: "In the implicit flow an ID token beside an access token has at_hash.",
		},
		{
			ID: "OIDCCore/3.3/refused", Level: May,
			Text:  "The server refuses the response types of the hybrid flow.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				t.Code(t.OpenID(t.Client(need.Code)))
				for _, kind := range []string{"code id_token", "code token", "code id_token token"} {
					r := t.Authorize(t.OpenID(t.Client(need.Code)).Set("response_type", kind).Set("nonce", t.Random()))
					wantErrorBack(t, r, "response_type is "+kind)
				}
			},
		},
		{
			ID: "OIDCCore/3.3.2.6/fragment", Level: Must, Inapplicable: only,
			Text: "In the hybrid flow an error is in the fragment of the redirect URI.",
		},
		{
			ID: "OIDCCore/3.3.2.11/nonce", Level: Must, Inapplicable: only,
			Text: "In the hybrid flow the ID token of the authorization endpoint has the nonce of the request.",
		},
		{
			ID: "OIDCCore/3.3.2.11/at-hash", Level: Must, Inapplicable: only,
			Text: "In the hybrid flow the ID token beside an access token of the authorization endpoint has at_hash.",
		},
		{
			ID: "OIDCCore/3.3.2.11/c-hash", Level: Must, Inapplicable: only,
			Text: "In the hybrid flow the ID token beside a code of the authorization endpoint has c_hash.",
		},
		{
			ID: "OIDCCore/3.3.3.6/same-person", Level: Must, Inapplicable: only,
			Text: "In the hybrid flow both ID tokens have the same iss and sub.",
		},
		{
			ID: "OIDCCore/4/iss", Level: Must,
			Text:         "A third party that initiates a login at a client names the issuer by an https URL.",
			Inapplicable: "Mandate does not initiate logins at clients.",
		},
	}
}

// oidcClients returns the rules about client authentication (OIDC Core §9).
func oidcClients() []Rule {
	return []Rule{
		{
			ID: "OIDCCore/9/basic-by-default", Level: Should,
			Text:  "A client authenticates by HTTP Basic if it registered no other method.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				if c.Auth != need.SecretBasic {
					t.Skipf("the rule needs a client code that authenticates by HTTP Basic: this one uses %s", c.Auth)
				}
				code := t.Code(t.OpenID(c))
				t.WantGranted(t.Post(t.Endpoint(need.Token), code.Form(), wire.Basic(c.ID, c.Secret)))
			},
		},
		{
			ID: "OIDCCore/9/post", Level: May,
			Text:  "A client with a secret can also send it in the form.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				c := withSecret(t, t.Client(need.Code))
				code := t.Code(t.OpenID(c))
				t.WantGranted(t.Post(t.Endpoint(need.Token), code.Form(), wire.InBody(c.ID, c.Secret)))
			},
		},
		{
			ID: "OIDCCore/9/none", Level: May,
			Text:  "A public client redeems its code without a secret.",
			Needs: publicCodeNeeds(need.OpenID),
			Check: func(t *T) { t.WantGranted(t.Redeem(t.Code(t.OpenID(t.Client(need.Public))))) },
		},
		{
			ID: "OIDCCore/9/assertion-claims", Level: Must,
			Text:  "A JWT for client authentication has iss and sub with the client_id, aud, jti and exp.",
			Needs: keyNeeds(need.OpenID),
			Check: func(t *T) {
				c := keyClient(t)
				for _, name := range []string{"iss", "sub", "aud", "jti", "exp"} {
					t.WantRefused(asKey(t, c.Asserting(nil, map[string]any{name: nil})), "it has no "+name)
				}
				t.WantRefused(asKey(t, c.Asserting(nil, map[string]any{"iss": "conformance-" + t.Random()})), "its iss is not the client")
			},
		},
		{
			ID: "OIDCCore/9/assertion-audience", Level: Must,
			Text:  "The server verifies that it is the audience of a JWT for client authentication.",
			Needs: keyNeeds(need.OpenID),
			Check: func(t *T) {
				t.WantRefused(asKey(t, keyClient(t).Asserting(nil, map[string]any{"aud": "https://other.example"})), "its aud is another server")
			},
		},
		{
			ID: "OIDCCore/9/assertion-once", Level: Must,
			Text:  "The server accepts a JWT for client authentication only once.",
			Needs: keyNeeds(need.OpenID),
			Check: wantAssertionOnce,
		},
		{
			ID: "OIDCCore/9/assertion-expires", Level: Must,
			Text:  "The server refuses a JWT for client authentication after exp.",
			Needs: keyNeeds(need.OpenID),
			Check: func(t *T) {
				t.WantRefused(asKey(t, keyClient(t).Asserting(nil, map[string]any{"exp": time.Now().Unix() - 300})), "it expired five minutes ago")
			},
		},
		{
			ID: "OIDCCore/9/assertion-other-claims", Level: Must,
			Text:  "The server ignores unknown members of a JWT for client authentication.",
			Needs: keyNeeds(need.OpenID),
			Check: wantOtherClaims,
		},
	}
}
