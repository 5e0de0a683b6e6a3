package rules

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// rfc9700Grants has the checks of the rules about redirect-based flows, the code grant and the implicit grant (RFC 9700
// §2.1).
var rfc9700Grants = checks{
	"RFC9700/2.1/a3-no-open-redirector": func(t *T) { wantNoOpenRedirector(t, t.Request(t.Client(need.Code))) },
	"RFC9700/2.1.1/a10-pkce-supported":  func(t *T) { wantPKCE(t, t.Client(need.Code)) },
	"RFC9700/2.1.1/a12-required-of-public": func(t *T) {
		t.Code(t.Request(t.Client(need.Public)))
		r := t.Authorize(t.Request(t.Client(need.Public)).Del("code_challenge", "code_challenge_method"))
		t.WantNoCode(r, "the request of a public client has no challenge")
	},
	"RFC9700/2.1.1/a15-pkce-detectable": func(t *T) {
		methods, is := publishedMetadata(t).List("code_challenge_methods_supported")
		if !is {
			t.Skipf("the rule applies to a server whose metadata has code_challenge_methods_supported: no request shows " +
				"another way to find out")
		}
		if len(methods) == 0 {
			t.Failf("code_challenge_methods_supported is empty, which says that the server does not support PKCE")
		}
	},
	"RFC9700/2.1.1/a15-pkce-in-metadata": func(t *T) {
		if publishedMetadata(t)["code_challenge_methods_supported"] == nil {
			t.Failf("the rule applies to a server whose metadata has code_challenge_methods_supported")
		}
	},
	"RFC9700/2.1.1/a16-no-plain": func(t *T) {
		supportsPKCE(t, t.Client(need.Code))
		wantPlainNotListed(t)
		wantNoPlain(t, t.Client(need.Code))
	},
	"RFC9700/2.1.2/a18-no-token-from-authorization-endpoint": func(t *T) {
		for _, kind := range []string{"token", "id_token token", "code token", "code id_token token"} {
			r := t.Authorize(t.Request(t.Client(need.Code)).Set("response_type", kind).Set("nonce", t.Random()))
			if r.Params.Has("access_token") {
				t.At(r.Answer)
				t.Failf("the response type %q returned an access token through the browser", kind)
			}
		}
	},
}

// rfc9700Tokens has the checks of the rules about tokens and the password grant (RFC 9700 §2.2.1 to §2.4).
var rfc9700Tokens = checks{
	"RFC9700/2.2.1/a19-sender-constrained": func(t *T) {
		m := publishedMetadata(t)
		if algorithms, _ := m.List("dpop_signing_alg_values_supported"); len(algorithms) == 0 &&
			!m.Is("tls_client_certificate_bound_access_tokens") {
			t.Failf("the metadata has neither dpop_signing_alg_values_supported nor tls_client_certificate_bound_access_tokens")
		}
	},
	"RFC9700/2.2.2/a20-public-refresh-tokens-rotated": func(t *T) { wantNoLastingRefreshToken(t, t.Client(need.Public)) },
	"RFC9700/2.2.2/a24-replaced-token-bound-to-client": func(t *T) {
		c, thief := t.Client(need.Code), t.Client(need.Second)
		t.Grant(thief)
		first := t.GrantRefresh(c)
		if t.Granted(t.Refresh(c, first.Refresh)).Refresh == first.Refresh {
			t.Skipf(
				"the rule needs a server that replaces refresh tokens, and this one returned the same again",
			)
		}
		t.WantRefused(
			t.Refresh(thief, first.Refresh),
			"the refresh token was issued to another client, and was replaced",
		)
	},
	"RFC9700/2.3/a30-restricted-to-actions": func(t *T) {
		all := t.Scopes(t.Machine(), t.Client(need.Machine).Scope)
		less := t.Machine("scope", all[0])
		got := strings.Fields(less.Scope)
		if less.Scope == "" {
			got = all[:1] // RFC 6749 §5.1
		}
		// A server can add scopes that every client has.
		if !slices.ContainsFunc(all, func(scope string) bool { return !slices.Contains(got, scope) }) &&
			!grantsOnRequest(t, slices.Concat(all, got)) {
			t.Failf("the scope %s was requested, but the token has all scopes of the client: %q", all[0], less.Scope)
		}
	},
	"RFC9700/2.4/a31-no-password-grant": func(t *T) {
		tried := 0
		for _, role := range []Need{need.Code, need.Public, need.Machine} {
			if c := t.OptionalClient(role); c != nil {
				tried++
				t.WantRefused(t.Token(c, passwordForm(t)), "the request of the client "+string(role)+" used the password grant")
			}
		}
		if tried == 0 {
			t.Skipf("the target has none of the clients code, public and machine: name one under clients")
		}
	},
	"RFC9700/2.4/a31-password-grant-not-offered": func(t *T) {
		if slices.Contains(optionalList(t, publishedMetadata(t), "grant_types_supported"), "password") {
			t.Failf("grant_types_supported contains password")
		}
	},
}

// rfc9700Others has the checks of the rules about client authentication and other recommendations (RFC 9700 §2.5,
// §2.6).
var rfc9700Others = checks{
	"RFC9700/2.5/a33-asymmetric-authentication": func(t *T) {
		methods := optionalList(t, publishedMetadata(t), "token_endpoint_auth_methods_supported")
		for _, method := range []string{"private_key_jwt", "tls_client_auth", "self_signed_tls_client_auth"} {
			if slices.Contains(methods, method) {
				return
			}
		}
		t.Failf("token_endpoint_auth_methods_supported contains none of private_key_jwt, tls_client_auth, " +
			"self_signed_tls_client_auth")
	},
	"RFC9700/2.6/a34-metadata-published": func(t *T) {
		if t.MetadataAddress() == "" {
			t.Get(check.MetadataAddresses(t.Issuer())[0])
			t.Failf("there is no metadata at %s", strings.Join(check.MetadataAddresses(t.Issuer()), ", "))
		}
	},
	"RFC9700/2.6/a52-tls": func(t *T) {
		addresses := []string{t.Issuer()}
		if t.MetadataAddress() != "" {
			publishedMetadata(t) // a failure shows it
		}
		for _, name := range slices.Sorted(maps.Keys(t.Metadata())) {
			if endpoint := Need(name); t.Has(endpoint) && endpoint.IsEndpoint() && isURL(t.OptionalEndpoint(endpoint)) {
				addresses = append(addresses, t.OptionalEndpoint(endpoint))
			}
		}
		wantTLS(t, addresses...)
	},
	"RFC9700/2.6/a38-cors": func(t *T) {
		wantCORS(t, t.Post(t.Endpoint(need.Token), wire.Params("grant_type", "conformance"), crossOrigin))
		if t.MetadataAddress() != "" {
			wantCORS(t, t.Get(t.MetadataAddress(), crossOrigin))
		}
		for _, endpoint := range []Need{need.Keys, need.UserInfo} {
			if t.Has(endpoint) {
				wantCORS(t, t.Get(t.OptionalEndpoint(endpoint), crossOrigin))
			}
		}
	},
	"RFC9700/2.6/a39-no-cors-at-authorization": func(t *T) {
		address := t.Request(t.Client(need.Code)).URL()
		asked := t.Send("OPTIONS", address, "", "", crossOrigin, wire.Header("Access-Control-Request-Method", "GET"))
		for _, a := range []*wire.Answer{t.Get(address, crossOrigin), asked} {
			// The server's own origin is no other site.
			if allowed := a.Header.Get("Access-Control-Allow-Origin"); allowed != "" && allowed != wire.Origin(address) {
				t.At(a)
				t.Failf("%s with Origin: https://spa.example is answered with Access-Control-Allow-Origin: %s", a.Method, allowed)
			}
		}
	},
}

// wantNoLastingRefreshToken asserts that a refresh token works once only. A server that returns no new one with the
// access token replaces nothing, but may have spent the first one.
func wantNoLastingRefreshToken(t *T, c *target.Client) {
	first := t.GrantRefresh(c)
	second := t.Granted(t.Refresh(c, first.Refresh))
	t.At(second.Answer)
	switch second.Refresh {
	case first.Refresh:
		t.Failf("the refresh returned the same refresh token again")
	case "":
		t.WantRefused(t.Refresh(c, first.Refresh), "the refresh token was used before, and no new one was returned")
	}
}

func isURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https")
}

var crossOrigin = wire.Header("Origin", "https://spa.example")

// wantCORS asserts that scripts of any site can read the response.
func wantCORS(t *T, a *wire.Answer) {
	if allowed := a.Header.Get("Access-Control-Allow-Origin"); allowed != "*" && allowed != "https://spa.example" {
		t.At(a)
		t.Errorf("%s answers to a request with Origin: https://spa.example with Access-Control-Allow-Origin %q",
			wire.Bare(a.URL), allowed)
	}
}

// forwards are the usual names of parameters that say where a server redirects next.
var forwards = []string{"next", "url", "redirect", "redirect_to", "redirect_url", "return", "return_to", "returnTo",
	"returnUrl", "continue", "goto", "target", "rd", "back"}

// elsewhere are addresses of another host that a careless check accepts as the server's own.
var elsewhere = []string{"https://attacker.example/", "//attacker.example/", `/\attacker.example/`,
	"/%09/attacker.example/", "https:attacker.example/"}

// wantNoOpenRedirector signs in at the login page of a request, with another address in the parameters of the page.
// Then it opens that page again with a session.
func wantNoOpenRedirector(t *T, r *check.Request) {
	login := t.OpenAnonymously(r).Answer
	if login == nil {
		t.Blockedf("the server shows no login page")
	}
	for _, address := range elsewhere {
		query := login.URL.Query()
		for name := range query {
			query.Set(name, address)
		}
		for _, name := range forwards {
			query.Set(name, address)
		}
		page := wire.Bare(login.URL)
		b := t.NewBrowser()
		wantNotLedAway(t, t.Walk(b, &check.Request{Client: r.Client, Params: query, Endpoint: page}, true))
		again := check.Ended(nil, b, b.Open(page+"?"+query.Encode()))
		wantNotLedAway(t, again)
	}
}

func wantNotLedAway(t *T, r *check.Response) {
	if strings.HasSuffix(wire.ParseURL(r.Location).Hostname(), "attacker.example") {
		t.At(r.Answer)
		t.Failf("the browser was redirected to %s, the value of a parameter", r.Location)
	}
}
