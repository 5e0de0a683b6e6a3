package rules

import (
	"net/http"
	"strings"

	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// rfc10017 returns what the best current practice for browser-based applications requires of a server whose clients are
// such applications without a server of their own (§6.3).
func rfc10017() []Rule {
	best, native := rfc9700(), rfc8252()
	return []Rule{
		sameCheckAs(best, "RFC9700/2.1.1/a12-required-of-public", Rule{
			ID: "RFC10017/6.3.2.1/pkce", Level: Must,
			Text: "The server supports PKCE and requires it of public clients.",
		}),
		sameCheckAs(best, "RFC9700/2.2.2/a20-public-refresh-tokens-rotated", Rule{
			ID: "RFC10017/6.3.2.3/rotated", Level: Must,
			Text: "A refresh token of such an application works once, or is bound to a key.",
		}),
		{
			ID: "RFC10017/6.3.2.3/expires", Level: Must,
			Text:     "A refresh token has a maximum lifetime, or expires if it is not used.",
			TestedBy: "provider/grant_refresh_test.go:TestRefreshLifetime",
		},
		{
			ID: "RFC10017/6.3.2.3/not-extended", Level: Must,
			Text:     "A new refresh token does not live longer than the first one would have.",
			TestedBy: "conformance/mandate/spec_refresh_test.go:TestSpecFamilyLifetime",
		},
		{
			ID: "RFC10017/6.3.2.3/ends-with-session", Level: Should,
			Text:     "The lifetime of a refresh token depends on the person's session: with openid and without offline_access it ends with it.",
			TestedBy: "conformance/mandate/openid_logout_test.go:TestOIDCCore_11_offline_access",
		},
		sameCheckAs(native, "RFC8252/8.5/no-shared-secret", Rule{
			ID: "RFC10017/6.3.3.1/no-shared-secret", Level: Must,
			Text: "The server does not require a secret of such an application.",
		}),
		sameCheckAs(best, "RFC9700/2.1/a1-exact-redirect-uri", Rule{
			ID: "RFC10017/6.3.3.2/exact-redirect-uri", Level: Must,
			Text: "A redirect URI is accepted only if it equals a registered one.",
		}),
		{
			ID: "RFC10017/6.3.3.4/token", Level: Must,
			Text:  "A script of the application can call the token endpoint and read its response (CORS).",
			Needs: []Need{need.Token},
			Check: func(t *T) {
				wantCallable(t, http.MethodPost, t.Endpoint(need.Token), "authorization", "content-type")
			},
		},
		{
			ID: "RFC10017/6.3.3.4/metadata", Level: Should,
			Text: "A script of any site can read the metadata of the server.",
			Check: func(t *T) {
				publishedMetadata(t)
				wantCallable(t, http.MethodGet, t.MetadataAddress())
			},
		},
		{
			ID: "RFC10017/6.3.3.4/keys", Level: Should,
			Text:  "A script of any site can read the keys of the server.",
			Needs: []Need{need.Keys},
			Check: func(t *T) { wantCallable(t, http.MethodGet, t.Endpoint(need.Keys)) },
		},
		{
			ID: "RFC10017/6.3.3.4/revocation", Level: Should,
			Text:  "A script of the application can call the revocation endpoint.",
			Needs: []Need{need.Revocation},
			Check: func(t *T) {
				wantCallable(t, http.MethodPost, t.Endpoint(need.Revocation), "authorization", "content-type")
			},
		},
		{
			ID: "RFC10017/6.3.3.4/userinfo", Level: Should,
			Text:  "A script of the application can call UserInfo.",
			Needs: []Need{need.UserInfo, need.OpenID},
			Check: func(t *T) { wantCallable(t, http.MethodGet, t.Endpoint(need.UserInfo), "authorization") },
		},
		{
			ID: "RFC10017/6.3.3.4/challenge", Level: May,
			Text:  "A script can read why UserInfo refused its token: the response exposes WWW-Authenticate.",
			Needs: []Need{need.UserInfo, need.OpenID},
			Check: func(t *T) {
				a := t.Get(t.Endpoint(need.UserInfo), crossOrigin, wire.Bearer("conformance-"+t.Random()))
				if said := strings.ToLower(a.Header.Get("Access-Control-Expose-Headers")); said != "*" && !strings.Contains(said, "www-authenticate") {
					t.Failf("Access-Control-Expose-Headers is %q", said)
				}
			},
		},
		{
			ID: "RFC10017/6.3.3.4/sender-constrained", Level: May,
			Text:  "A script can send the header DPoP to the token endpoint, and MCP-Protocol-Version for the metadata.",
			Needs: []Need{need.Token},
			Check: func(t *T) {
				publishedMetadata(t)
				wantCallable(t, http.MethodPost, t.Endpoint(need.Token), "dpop")
				wantCallable(t, http.MethodGet, t.MetadataAddress(), "mcp-protocol-version")
			},
		},
		{
			ID: "RFC10017/6.3.3.4/resource-metadata", Level: Should,
			Text:  "A script of any site can read the metadata of an API (RFC 9728).",
			Needs: []Need{need.API},
			Check: func(t *T) {
				describedAPI(t)
				wantCallable(t, http.MethodGet, describedAt(t).URL.String())
			},
		},
		{
			ID: "RFC10017/6.3.3.4/resource", Level: Must,
			Text:     "A script of an allowed origin can call the API, and read its response and its challenge.",
			TestedBy: "conformance/mandate/browser_application_test.go:TestBrowserApplication",
		},
	}
}

// wantCallable asserts that a script of another site can send a request with these headers, and read the response. A
// server may allow the origins of its clients only.
func wantCallable(t *T, method, address string, headers ...string) {
	site := "https://spa.example"
	if c := t.OptionalClient(need.Public); c != nil && isURL(c.RedirectURI()) {
		site = wire.Origin(c.RedirectURI())
	}
	origin := wire.Header("Origin", site)
	readable := func(a *wire.Answer) {
		if allowed := a.Header.Get("Access-Control-Allow-Origin"); allowed != "*" && allowed != site {
			t.At(a)
			t.Failf("a script of %s cannot read the response of %s to %s: Access-Control-Allow-Origin is %q", site, place(address), a.Method, allowed)
		}
	}
	if len(headers) > 0 {
		// The browser sends no credentials with this request.
		a := t.Send(http.MethodOptions, address, "", "", origin, wire.Header("Access-Control-Request-Method", method), wire.Header("Access-Control-Request-Headers", strings.Join(headers, ",")))
		if a.Status/100 != 2 {
			t.Failf("the preflight request is answered with %s", a)
		}
		readable(a)
		said := strings.ToLower(strings.Join(a.Header.Values("Access-Control-Allow-Headers"), ","))
		for _, name := range headers {
			// Fetch: the asterisk does not stand for Authorization.
			if !strings.Contains(said, name) && (name == "authorization" || !strings.Contains(said, "*")) {
				t.At(a)
				t.Failf("the preflight request to %s is answered with Access-Control-Allow-Headers %q, without %s", place(address), said, name)
			}
		}
	}
	if method == http.MethodPost {
		readable(t.Post(address, wire.Params("grant_type", "conformance"), origin))
		return
	}
	readable(t.Get(address, origin))
}
