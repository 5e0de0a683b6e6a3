package rules

import (
	"net/http"
	"strings"

	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// rfc10017 has the checks of what the best current practice for browser-based applications requires of a server whose
// clients are such applications without a server of their own (§6.3).
var rfc10017 = checks{
	"RFC10017/6.3.3.4/token": func(t *T) {
		wantCallable(t, http.MethodPost, t.Endpoint(need.Token), "authorization", "content-type")
	},
	"RFC10017/6.3.3.4/metadata": func(t *T) {
		publishedMetadata(t)
		wantCallable(t, http.MethodGet, t.MetadataAddress())
	},
	"RFC10017/6.3.3.4/keys": func(t *T) { wantCallable(t, http.MethodGet, t.Endpoint(need.Keys)) },
	"RFC10017/6.3.3.4/revocation": func(t *T) {
		wantCallable(t, http.MethodPost, t.Endpoint(need.Revocation), "authorization", "content-type")
	},
	"RFC10017/6.3.3.4/userinfo": func(t *T) {
		wantCallable(t, http.MethodGet, t.Endpoint(need.UserInfo), "authorization")
	},
	"RFC10017/6.3.3.4/challenge": func(t *T) {
		a := t.Get(t.Endpoint(need.UserInfo), crossOrigin, wire.Bearer("conformance-"+t.Random()))
		if said := strings.ToLower(a.Header.Get("Access-Control-Expose-Headers")); said != "*" &&
			!strings.Contains(said, "www-authenticate") {
			t.Failf("Access-Control-Expose-Headers is %q", said)
		}
	},
	"RFC10017/6.3.3.4/sender-constrained": func(t *T) {
		publishedMetadata(t)
		wantCallable(t, http.MethodPost, t.Endpoint(need.Token), "dpop")
		wantCallable(t, http.MethodGet, t.MetadataAddress(), "mcp-protocol-version")
	},
	"RFC10017/6.3.3.4/resource-metadata": func(t *T) {
		describedAPI(t)
		wantCallable(t, http.MethodGet, describedAt(t).URL.String())
	},
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
			t.Failf("a script of %s cannot read the response of %s to %s: Access-Control-Allow-Origin is %q", site,
				place(address), a.Method, allowed)
		}
	}
	if len(headers) > 0 {
		// The browser sends no credentials with this request.
		a := t.Send(http.MethodOptions, address, "", "", origin, wire.Header("Access-Control-Request-Method", method),
			wire.Header("Access-Control-Request-Headers", strings.Join(headers, ",")))
		if a.Status/100 != 2 {
			t.Failf("the preflight request is answered with %s", a)
		}
		readable(a)
		said := strings.ToLower(strings.Join(a.Header.Values("Access-Control-Allow-Headers"), ","))
		for _, name := range headers {
			// Fetch: the asterisk does not stand for Authorization.
			if !strings.Contains(said, name) && (name == "authorization" || !strings.Contains(said, "*")) {
				t.At(a)
				t.Failf("the preflight request to %s is answered with Access-Control-Allow-Headers %q, without %s", place(address),
					said, name)
			}
		}
	}
	if method == http.MethodPost {
		readable(t.Post(address, wire.Params("grant_type", "conformance"), origin))
		return
	}
	readable(t.Get(address, origin))
}
