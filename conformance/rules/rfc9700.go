package rules

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// rfc9700 returns the rules of the security best current practice. The name of a rule begins with the line of the
// project's notes on this document. Some of these lines bind clients, and a server can only enforce them. Such a rule
// is a MAY here.
func rfc9700() []Rule {
	return slices.Concat(rfc9700Grants(), rfc9700Tokens(), rfc9700Others(), rfc9700Redirects(), rfc9700Pages(), rfc9700Refresh(), rfc9700Clients())
}

// sameCheckAs returns a rule with the check of another document's rule.
func sameCheckAs(known []Rule, id string, r Rule) Rule {
	for _, other := range known {
		if other.ID == id {
			r.Needs, r.Check, r.Alone = other.Needs, other.Check, other.Alone
			r.Fact = cmp.Or(r.Fact, other.Fact, other.Text)
		}
	}
	return r
}

// rfc9700Grants returns the rules about redirect-based flows, the code grant and the implicit grant (RFC 9700 §2.1).
func rfc9700Grants() []Rule {
	core, pkce := rfc6749(), rfc7636()
	return []Rule{
		sameCheckAs(core, "RFC6749/3.1.2.3/simple-string-comparison", Rule{
			ID: "RFC9700/2.1/a1-exact-redirect-uri", Level: Must,
			Text: "A redirect URI is accepted only if it equals a registered one as a string.",
		}),
		{
			ID: "RFC9700/2.1/a3-no-open-redirector", Level: Must,
			Text:  "The server is no open redirector: neither the login page nor an address with common parameter names redirects to where a parameter says.",
			Needs: authorizationNeeds(),
			Check: func(t *T) { wantNoOpenRedirector(t, t.Request(t.Client(need.Code))) },
		},
		{
			ID: "RFC9700/2.1/a8-credentials-not-forwarded", Level: Must,
			Text:         "A redirect does not forward the person's credentials.",
			Inapplicable: "It repeats §4.12, whose rules are checked.",
		},
		{
			ID: "RFC9700/2.1.1/a10-pkce-supported", Level: Must,
			Text:  "The server supports PKCE: a code with a challenge works with its verifier, and not with another one.",
			Needs: codeFlowNeeds(),
			Check: func(t *T) { wantPKCE(t, t.Client(need.Code)) },
		},
		sameCheckAs(pkce, "RFC7636/4.6/verifier-compared", Rule{
			ID: "RFC9700/2.1.1/a11-verifier-enforced", Level: Must,
			Text: "If a challenge was sent, a code is useless without the correct verifier.",
		}),
		{
			ID: "RFC9700/2.1.1/a12-required-of-public", Level: May,
			Text:  "A public client, which must use PKCE, gets no code without a challenge.",
			Needs: publicNeeds(),
			Check: func(t *T) {
				t.Code(t.Request(t.Client(need.Public)))
				r := t.Authorize(t.Request(t.Client(need.Public)).Del("code_challenge", "code_challenge_method"))
				t.WantNoCode(r, "the request of a public client has no challenge")
			},
		},
		{
			// The document recommends it to the client. It does not let the server require it.
			ID: "RFC9700/2.1.1/a13-required-of-confidential", Level: May,
			Text:     "The server can require PKCE of confidential clients, for which it is recommended.",
			TestedBy: "conformance/mandate/pkce_test.go:TestPKCE",
		},
		{
			ID: "RFC9700/2.1.1/a14-no-downgrade", Level: Must,
			Text:         "A verifier is refused if the authorization request had no challenge.",
			Inapplicable: "It repeats §4.8.2, whose rule is checked.",
		},
		{
			ID: "RFC9700/2.1.1/a15-pkce-detectable", Level: Must,
			Text: "A client can find out that the server supports PKCE.",
			Check: func(t *T) {
				methods, is := publishedMetadata(t).List("code_challenge_methods_supported")
				if !is {
					t.Skipf("the rule applies to a server whose metadata has code_challenge_methods_supported: no request shows another way to find out")
				}
				if len(methods) == 0 {
					t.Failf("code_challenge_methods_supported is empty, which says that the server does not support PKCE")
				}
			},
		},
		{
			ID: "RFC9700/2.1.1/a15-pkce-in-metadata", Level: Should,
			Text: "The metadata has code_challenge_methods_supported.",
			Check: func(t *T) {
				if publishedMetadata(t)["code_challenge_methods_supported"] == nil {
					t.Failf("the rule applies to a server whose metadata has code_challenge_methods_supported")
				}
			},
		},
		{
			ID: "RFC9700/2.1.1/a16-no-plain", Level: May,
			Text:  "The server supports no method that discloses the verifier in the authorization request.",
			Needs: codeFlowNeeds(),
			Check: func(t *T) {
				supportsPKCE(t, t.Client(need.Code))
				wantPlainNotListed(t)
				wantNoPlain(t, t.Client(need.Code))
			},
		},
		{
			ID: "RFC9700/2.1.1/a17-constant-challenge", Level: May,
			Text:         "The server detects a client that always sends the same challenge or nonce.",
			Inapplicable: "Mandate does not compare the challenges of different requests.",
		},
		{
			ID: "RFC9700/2.1.2/a18-no-token-from-authorization-endpoint", Level: May,
			Text:  "The authorization endpoint issues no access token.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				for _, kind := range []string{"token", "id_token token", "code token", "code id_token token"} {
					r := t.Authorize(t.Request(t.Client(need.Code)).Set("response_type", kind).Set("nonce", t.Random()))
					if r.Params.Has("access_token") {
						t.At(r.Answer)
						t.Failf("the response type %q returned an access token through the browser", kind)
					}
				}
			},
		},
	}
}

// rfc9700Tokens returns the rules about tokens and the password grant (RFC 9700 §2.2.1 to §2.4).
func rfc9700Tokens() []Rule {
	core, bearerTokens := rfc6749(), rfc6750()
	return []Rule{
		{
			ID: "RFC9700/2.2.1/a19-sender-constrained", Level: Should,
			Text: "Access tokens can be bound to a key of their client, by DPoP or mutual TLS.",
			Check: func(t *T) {
				m := publishedMetadata(t)
				if algorithms, _ := m.List("dpop_signing_alg_values_supported"); len(algorithms) == 0 && !m.Is("tls_client_certificate_bound_access_tokens") {
					t.Failf("the metadata has neither dpop_signing_alg_values_supported nor tls_client_certificate_bound_access_tokens")
				}
			},
		},
		{
			ID: "RFC9700/2.2.2/a20-public-refresh-tokens-rotated", Level: Must, Alone: true,
			Text:  "If a public client's refresh token is not bound to a key, the server replaces it at each use.",
			Needs: publicCodeNeeds(),
			Check: func(t *T) { wantNoLastingRefreshToken(t, t.Client(need.Public)) },
		},
		sameCheckAs(core, "RFC6749/6/bound-to-client", Rule{
			ID: "RFC9700/2.2.2/a24-refresh-token-bound-to-client", Level: Must,
			Text: "A refresh token works only for the client to which it was issued.",
		}),
		{
			// A server can answer a replaced token for some seconds, for a client that lost the response.
			ID: "RFC9700/2.2.2/a24-replaced-token-bound-to-client", Level: Must, Alone: true,
			Text:  "A refresh token that was just replaced gives another client nothing.",
			Needs: codeFlowNeeds(need.Second),
			Check: func(t *T) {
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
		},
		{
			ID: "RFC9700/2.3/a28-least-privilege", Level: Should,
			Text:     "A token has only the privileges that the application needs: people see the requested scope, and are asked again for more.",
			TestedBy: "conformance/mandate/browser_consent_test.go:TestBrowserConsent",
		},
		sameCheckAs(bearerTokens, "RFC6750/5.3/audience", Rule{
			ID: "RFC9700/2.3/a29-audience-restricted", Level: Should,
			Text:   "An access token is restricted to certain resource servers, which it names.",
			Waived: "Resource servers read aud as a restriction (RFC 8707 §2), so Mandate shows it for tokens that name a resource, and for each JWT.",
		}),
		{
			ID: "RFC9700/2.3/a30-restricted-to-actions", Level: Should,
			Text:  "An access token is restricted to certain resources and actions: one that was requested with less scope has less.",
			Needs: machineNeeds(),
			Check: func(t *T) {
				all := t.Scopes(t.Machine(), t.Client(need.Machine).Scope)
				less := t.Machine("scope", all[0])
				got := strings.Fields(less.Scope)
				if less.Scope == "" {
					got = all[:1] // RFC 6749 §5.1
				}
				// A server can add scopes that every client has.
				if !slices.ContainsFunc(all, func(scope string) bool { return !slices.Contains(got, scope) }) && !grantsOnRequest(t, slices.Concat(all, got)) {
					t.Failf("the scope %s was requested, but the token has all scopes of the client: %q", all[0], less.Scope)
				}
			},
		},
		{
			ID: "RFC9700/2.3/r1-audience-verified", Level: Must,
			Text:     "A resource server refuses a token for another resource server.",
			TestedBy: "handlers/resource/resource_test.go:TestRFC6750",
		},
		sameCheckAs(core, "RFC6749/7/scope-covers", Rule{
			// In this document the keyword is in lower case; RFC 6749 §7 has the MUST.
			ID: "RFC9700/2.3/r2-action-verified", Level: Should,
			Text: "A resource server checks for each request that the token allows this action on this resource.",
		}),
		{
			ID: "RFC9700/2.4/a31-no-password-grant", Level: Must,
			Text:  "The password grant is not used: no client gets a token by it, except the one that the target names for it.",
			Needs: []Need{need.Token, need.User},
			Check: func(t *T) {
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
		},
		{
			ID: "RFC9700/2.4/a31-password-grant-not-offered", Level: Should,
			Text:   "The metadata does not list the password grant, which must not be used.",
			Waived: "Mandate's specification requires the grant; an application must be registered for it, and each use is logged as a warning.",
			Check: func(t *T) {
				if slices.Contains(optionalList(t, publishedMetadata(t), "grant_types_supported"), "password") {
					t.Failf("grant_types_supported contains password")
				}
			},
		},
	}
}

// rfc9700Others returns the rules about client authentication and other recommendations (RFC 9700 §2.5, §2.6).
func rfc9700Others() []Rule {
	core := rfc6749()
	return []Rule{
		sameCheckAs(core, "RFC6749/4.4.2/client-authenticated", Rule{
			ID: "RFC9700/2.5/a32-clients-authenticate", Level: Should,
			Text: "A client with a secret gets no token without it.",
		}),
		{
			ID: "RFC9700/2.5/a33-asymmetric-authentication", Level: Should,
			Text: "Clients can authenticate by a key whose private half the server does not have.",
			Check: func(t *T) {
				methods := optionalList(t, publishedMetadata(t), "token_endpoint_auth_methods_supported")
				for _, method := range []string{"private_key_jwt", "tls_client_auth", "self_signed_tls_client_auth"} {
					if slices.Contains(methods, method) {
						return
					}
				}
				t.Failf("token_endpoint_auth_methods_supported contains none of private_key_jwt, tls_client_auth, self_signed_tls_client_auth")
			},
		},
		{
			ID: "RFC9700/2.6/a34-metadata-published", Level: Should,
			Text: "The server publishes its metadata.",
			Check: func(t *T) {
				if t.MetadataAddress() == "" {
					t.Get(check.MetadataAddresses(t.Issuer())[0])
					t.Failf("there is no metadata at %s", strings.Join(check.MetadataAddresses(t.Issuer()), ", "))
				}
			},
		},
		{
			ID: "RFC9700/2.6/a35-client-id-not-chosen", Level: Should,
			Text:         "No client can choose an identifier that could belong to a person.",
			Inapplicable: "It repeats §4.15.1, whose rules are checked.",
		},
		{
			ID: "RFC9700/2.6/a52-tls", Level: Should,
			Text: "Every endpoint uses TLS.",
			Check: func(t *T) {
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
		},
		{
			ID: "RFC9700/2.6/a7-no-http-redirect-uris", Level: Must,
			Text:     "A redirect URI with http is refused, except for a program on the same computer.",
			TestedBy: "provider/redirect/redirect_test.go:TestRedirectURIAtRegistration",
		},
		{
			ID: "RFC9700/2.6/a37-origins-verified", Level: Must,
			Text:         "A response by postMessage is sent only to a verified origin.",
			Inapplicable: "Mandate sends no response by postMessage.",
		},
		{
			ID: "RFC9700/2.6/a38-cors", Level: May,
			Text:  "Scripts of any site can call the token endpoint, the metadata, the keys and UserInfo (CORS).",
			Needs: []Need{need.Token},
			Check: func(t *T) {
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
		},
		{
			ID: "RFC9700/2.6/a39-no-cors-at-authorization", Level: Must,
			Text:  "A script of another site cannot call the authorization endpoint.",
			Needs: []Need{need.Authorization, need.Code},
			Check: func(t *T) {
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
		},
	}
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
		t.Errorf("%s answers to a request with Origin: https://spa.example with Access-Control-Allow-Origin %q", wire.Bare(a.URL), allowed)
	}
}

// forwards are the usual names of parameters that say where a server redirects next.
var forwards = []string{"next", "url", "redirect", "redirect_to", "redirect_url", "return", "return_to", "returnTo", "returnUrl", "continue", "goto", "target", "rd", "back"}

// elsewhere are addresses of another host that a careless check accepts as the server's own.
var elsewhere = []string{"https://attacker.example/", "//attacker.example/", `/\attacker.example/`, "/%09/attacker.example/", "https:attacker.example/"}

// wantNoOpenRedirector signs in at the login page of a request, with another address in the parameters of the page. Then it
// opens that page again with a session.
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
