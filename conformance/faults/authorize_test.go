package faults

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// needsCode are the rules that cannot be checked without a code.
const needsCode = "RFC6749/2.1 RFC6749/3.1 RFC6749/4.1 RFC6749/5.2 " +
	"RFC6749/6 RFC6749/10.1 RFC6749/10.2 RFC6749/10.3 RFC6749/10.4 RFC6749/10.10 RFC6750/5.3 RFC7009 RFC7636 RFC7662"

// authorizeFaults are faults of authorization requests and responses (RFC 6749 §3.1, §4.1.1, §4.1.2).
func authorizeFaults() []fault {
	return []fault{
		{name: "GET is refused at the authorization endpoint", at: authorizePath,
			spoil: refusingIf(func(_ *proxy, q *ask) bool { return q.method == http.MethodGet },
				func() *wire.Answer { return shown(http.StatusMethodNotAllowed, "no") }),
			fails: "RFC6749/3.1/get OIDCCore/3.1.2.1/get",
			blocks: "RFC6749/3.1/post RFC6749/3.1/person-verified RFC6749/3.1/not-repeated " +
				"RFC6749/3.1.1/response-type-missing RFC6749/3.1.1/response-type-unknown " +
				"RFC6749/3.1.2.3/registered RFC6749/3.1.2.3/required-with-several RFC6749/3.1.2.3/simple-string-comparison " +
				"RFC6749/3.1.2.4/not-redirected " +
				"RFC6749/3.1.2.4/person-informed RFC6749/4.1.2/code-issued RFC6749/4.1.2.1/invalid-request " +
				"RFC6749/4.1.2.1/unsupported-response-type " +
				"RFC6749/4.1.2.1/invalid-scope RFC6749/4.1.2.1/unknown-client-not-redirected RFC6749/4.1.2.1/unknown-client-told " +
				"RFC6749/10.14/sanitized " +
				"RFC7636/4.4.1/required-of-public RFC7636/4.4.1/unknown-method",
			hides: needsCode + " RFC6749/10.12 RFC6749/4.2/left-out RFC6750/2.3/private-userinfo"},
		{name: "POST is refused at the authorization endpoint", at: authorizePath,
			spoil: refusingIf(func(_ *proxy, q *ask) bool { return q.method == http.MethodPost },
				func() *wire.Answer { return shown(http.StatusMethodNotAllowed, "no") }),
			fails: "RFC6749/3.1/post OIDCCore/3.1.2.1/post"},
		{name: "a code is issued before anybody has signed in", at: authorizePath,
			spoil: func(p *proxy, q *ask) *wire.Answer {
				if q.method == http.MethodGet && q.header.Get("Cookie") == "" && p.client(q.params().Get("client_id")) != nil &&
					slices.Contains(p.client(q.params().Get("client_id")).RedirectURIs, q.params().Get("redirect_uri")) &&
					q.params().Get("response_type") == "code" {
					return moved(q.params().Get("redirect_uri") + "?code=made-up&state=" + url.QueryEscape(q.params().Get("state")))
				}
				return p.real(q)
			}, fails: "RFC6749/3.1/person-verified " +
				"OIDCCore/3.1.2.3/nobody-signed-in OIDCCore/3.1.2.1/prompt-none-no-page " +
				"RFC9700/4.11.2/a5-person-first", passes: "OIDCCore/3.1.2.6/error-required",
			hides: "RFC6749/10.12/csrf RFC6750/5.3/not-in-cookies"},
		{name: "an empty scope is refused", at: authorizePath,
			spoil: refusingAsk(func(v url.Values) bool { return v.Has("scope") && v.Get("scope") == "" }, "invalid_scope"),
			fails: "RFC6749/3.1/empty-is-absent"},
		{name: "an unknown parameter is refused", at: authorizePath,
			spoil: refusingAsk(func(v url.Values) bool { return v.Has("conformance_unknown") }, "invalid_request"),
			fails: "RFC6749/3.1/unknown-ignored OIDCCore/3.1.2.2/unknown-parameters-ignored"},
		{name: "a repeated parameter is accepted", at: authorizePath,
			spoil: spoiling(func(_ *proxy, q *ask) { q.query = once(q.params()).Encode() }),
			fails: "RFC6749/3.1/not-repeated", passes: "OIDCCore/3.1.2.2/oauth-parameters"},
		{name: "a missing response_type means code", at: authorizePath,
			spoil: challenges(func(_ *proxy, q *ask, v url.Values) {
				if v.Has("client_id") && !v.Has("response_type") {
					q.setQuery("response_type", "code")
				}
			}), fails: "RFC6749/3.1.1/response-type-missing RFC6749/4.1.2.1/invalid-request " +
				"OIDCCore/3.1.2.2/required-parameters"},
		{name: "any response_type means code", at: authorizePath, spoil: challenges(func(_ *proxy, q *ask, v url.Values) {
			if strings.HasPrefix(v.Get("response_type"), "conf") {
				q.setQuery("response_type", "code")
			}
		}), fails: "RFC6749/3.1.1/response-type-unknown RFC6749/4.1.2.1/unsupported-response-type " +
			"OIDCCore/3.1.2.2/error-answered OIDCCore/3.1.2.2/oauth-parameters"},
		{name: "an access token is in the authorization response", spoil: func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if to := p.away(a); to != nil && p.request(to.Query().Get("state")).Get("response_type") == "token" {
				a.Header.Set("Location", p.request(to.Query().Get("state")).Get("redirect_uri")+
					"#access_token=made-up&token_type=Bearer&expires_in=1")
			}
			return a
		}, fails: "RFC6749/4.2/left-out RFC9700/2.1.2/a18-no-token-from-authorization-endpoint"},
		{name: "codes are in the fragment", spoil: func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if to := p.away(a); to != nil && to.Query().Has("code") {
				a.Header.Set("Location", strings.Replace(to.String(), "?", "#", 1))
			}
			return a
		}, fails: "RFC6749/4.1.2/in-query OIDCCore/3.1.2.5/in-query RFC9700/4.1.3/a53-fragment " +
			"OIDCDiscovery/3/response-modes-true"},
		{name: "codes are not returned", spoil: sending(func(_ *proxy, sent url.Values) { sent.Del("code") }),
			fails: "RFC6749/4.1.2/code-issued " +
				"RFC8707/2.1/left-out", hides: needsCode + " RFC6749/10.12 RFC6749/4.2/left-out RFC6750/2.3/private-userinfo"},
		{name: "state is not returned", spoil: sending(func(_ *proxy, sent url.Values) {
			if sent.Has("code") {
				sent.Del("state")
			}
		}), fails: "RFC6749/4.1.2/state-returned OIDCCore/3.1.2.5/in-query"},
		{name: "state is not returned with an error", spoil: sending(func(_ *proxy, sent url.Values) {
			if sent.Has("error") {
				sent.Del("state")
			}
		}), fails: "RFC6749/4.1.2.1/state-returned OIDCCore/3.1.2.6/state-required"},
		{name: "state is returned decoded once more", spoil: sending(func(_ *proxy, sent url.Values) {
			if state, err := url.QueryUnescape(sent.Get("state")); err == nil && sent.Has("state") {
				sent.Set("state", state)
			}
		}), fails: "RFC6749/4.1.2/state-returned"},
		{name: "state is returned though the client sent none", spoil: sending(func(_ *proxy, sent url.Values) {
			if !sent.Has("state") {
				sent.Set("state", "made-up")
			}
		}), fails: "RFC6749/4.1.1/state-optional"},
		{name: "state is required", at: authorizePath,
			spoil: refusingAsk(func(v url.Values) bool { return !v.Has("state") }, "invalid_request"),
			fails: "RFC6749/4.1.1/state-optional"},
		{name: "a long state is refused", at: authorizePath,
			spoil: refusingAsk(func(v url.Values) bool { return len(v.Get("state")) > 1000 }, "invalid_request"),
			fails: "RFC6749/4.1.1/long-state"},
		{name: "a long state is truncated", spoil: sending(func(_ *proxy, sent url.Values) {
			if state := sent.Get("state"); len(state) > 255 {
				sent.Set("state", state[:255])
			}
		}), fails: "RFC6749/4.1.1/long-state"},
		{name: "denial is reported as server_error", spoil: erring("access_denied", "server_error"),
			fails: "RFC6749/4.1.2.1/access-denied OIDCCore/3.1.2.6/denied"},
		{name: "invalid_request is reported as server_error", spoil: erring("invalid_request", "server_error"),
			fails: "RFC6749/3.1.1/response-type-missing RFC6749/4.1.2.1/invalid-request RFC7636/4.4.1/required-of-public " +
				"RFC7636/4.4.1/unknown-method"},
		{name: "unsupported_response_type is reported as server_error",
			spoil: erring("unsupported_response_type", "server_error"),
			fails: "RFC6749/3.1.1/response-type-unknown RFC6749/4.1.2.1/unsupported-response-type RFC6749/4.2/left-out"},
		{name: "invalid_scope is reported as server_error", spoil: erring("invalid_scope", "server_error"),
			fails: "RFC6749/4.1.2.1/invalid-scope"},
		{name: "error descriptions at the redirect URI contain quotes", spoil: sending(func(_ *proxy, sent url.Values) {
			if sent.Has("error") {
				sent.Set("error_description", `no "method", no challéngé: challenge`)
			}
		}), fails: "RFC6749/4.1.2.1/ascii"},
		{name: "error descriptions repeat the request's values", spoil: sending(func(p *proxy, sent url.Values) {
			if sent.Get("error") == "unsupported_response_type" {
				sent.Set("error_description", "there is no "+p.request(sent.Get("state")).Get("response_type"))
			}
		}), fails: "RFC6749/4.1.2.1/ascii"},
		{name: "iss is missing in the response", spoil: sending(func(_ *proxy, sent url.Values) { sent.Del("iss") }),
			fails: "RFC9207/2/in-response RFC9207/2/in-refusal RFC9207/2/in-error RFC9700/4.4.2.1/a45-iss MCP/M6/iss " +
				"RFC9207/4/other-countermeasures FAPI2/5.3.2.2/iss",
			blocks: "RFC9207/2/url RFC9207/2.3/as-in-metadata"},
		{name: "iss is neither sent nor announced", spoil: func(p *proxy, q *ask) *wire.Answer {
			a := sending(func(_ *proxy, sent url.Values) { sent.Del("iss") })(p, q)
			if strings.Contains(q.path, "/.well-known/o") {
				edit(a, put("authorization_response_iss_parameter_supported", nil))
			}
			return a
		}, skips: "RFC9207/2/in-response RFC9207/2/in-refusal RFC9207/2/in-error RFC9207/2/url RFC9207/2.3/issuer-known " +
			"RFC9207/2.3/as-in-metadata RFC9207/2.3/advertised " +
			"RFC9207/4/other-countermeasures"},
		{name: "iss is sent with codes only, and not announced", spoil: func(p *proxy, q *ask) *wire.Answer {
			a := sending(func(_ *proxy, sent url.Values) {
				if sent.Has("error") {
					sent.Del("iss")
				}
			})(p, q)
			if strings.Contains(q.path, "/.well-known/o") {
				edit(a, put("authorization_response_iss_parameter_supported", nil))
			}
			return a
		}, fails: "RFC9207/2/in-refusal RFC9207/2/in-error RFC9207/2.3/advertised", skips: "RFC9207/3/boolean"},
		{name: "errors are shown on a page", spoil: func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if to := p.away(a); to != nil && to.Query().Has("error") {
				return badPage()
			}
			return a
		}, aim: func(*target.Target) {}, blocks: "RFC9207/2/in-error"},
		{name: "iss is missing in an error response", spoil: sending(func(_ *proxy, sent url.Values) {
			if sent.Has("error") {
				sent.Del("iss")
			}
		}), fails: "RFC9207/2/in-refusal RFC9207/2/in-error"},
		{name: "iss is that of another server", spoil: sending(func(_ *proxy, sent url.Values) {
			if sent.Has("iss") {
				sent.Set("iss", "https://attacker.example")
			}
		}), fails: "RFC9207/2.3/as-in-metadata"},
	}
}

// refusingAsk answers some requests with an error to the client.
func refusingAsk(is func(url.Values) bool, code string) spoiler {
	return func(p *proxy, q *ask) *wire.Answer {
		v := q.params()
		c := p.client(v.Get("client_id"))
		if q.method != http.MethodGet || c == nil || !is(v) {
			return p.real(q)
		}
		to, err := url.Parse(c.RedirectURI())
		if err != nil {
			return p.real(q)
		}
		sent := wire.Params("error", code, "state", v.Get("state"))
		if !v.Has("state") {
			sent.Del("state")
		}
		to.RawQuery = sent.Encode()
		return moved(to.String())
	}
}

// erring changes the code of an error in the redirect.
func erring(code, other string) spoiler {
	return sending(func(_ *proxy, sent url.Values) {
		if sent.Get("error") == code {
			sent.Set("error", other)
		}
	})
}

// redirectFaults are faults of redirect URIs (RFC 6749 §3.1.2).
func redirectFaults() []fault {
	return []fault{
		{name: "errors are sent to any redirect URI", at: authorizePath, spoil: func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if uri := q.params().Get("redirect_uri"); uri != "" && q.method == http.MethodGet && a.Status >= 400 &&
				p.client(q.params().Get("client_id")) != nil {
				return moved(uri + "?error=invalid_request")
			}
			return a
		}, fails: "RFC6749/3.1.2.3/registered RFC6749/3.1.2.3/simple-string-comparison RFC6749/3.1.2.4/not-redirected " +
			"RFC6749/10.1/public-otherwise-known " +
			"RFC6749/3.1.2.4/person-informed RFC9700/2.1/a1-exact-redirect-uri RFC10017/6.3.3.2/exact-redirect-uri " +
			"OIDCCore/3.1.2.6/invalid-redirect-uri"},
		{name: "errors are sent to a page of another host", at: authorizePath, spoil: func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if q.method == http.MethodGet && a.Status >= 400 {
				return moved("https://errors.example/")
			}
			return a
		}, blocks: "RFC6749/3.1.2.3/registered RFC6749/3.1.2.3/simple-string-comparison " +
			"RFC6749/3.1.2.3/required-with-several RFC6749/3.1.2.4/not-redirected " +
			"RFC6749/3.1.2.4/person-informed RFC6749/4.1.2.1/unknown-client-not-redirected " +
			"RFC6749/4.1.2.1/unknown-client-told RFC6749/10.1/public-otherwise-known " +
			"RFC8252/8.4/https-exact RFC8252/8.4/private-use-exact RFC8252/8.4/loopback-exact-but-for-port"},
		{name: "errors are sent to the registered redirect URI", at: authorizePath,
			spoil: func(p *proxy, q *ask) *wire.Answer {
				a := p.real(q)
				if c := p.client(q.params().Get("client_id")); q.method == http.MethodGet && a.Status >= 400 && c != nil &&
					q.params().Has("redirect_uri") {
					return moved(c.RedirectURI() + "?error=invalid_request")
				}
				return a
			}, fails: "RFC6749/3.1.2.4/person-informed"},
		{name: "redirect URIs are compared by prefix",
			spoil: misdirected(func(sent, registered string) bool { return strings.HasPrefix(sent, registered) }),
			fails: "RFC6749/3.1.2.3/simple-string-comparison MCP/M10/exact-redirect-uri " +
				"OIDCCore/3.1.2.1/redirect-uri-registered OIDCRegistration/2/redirect-uris RFC8252/8.4/private-use-exact " +
				"RFC8252/8.4/https-exact"},
		{name: "redirect URIs are compared without regard to case", spoil: misdirected(strings.EqualFold),
			fails: "RFC6749/3.1.2.3/simple-string-comparison"},
		{name: "redirect URIs are compared by host", spoil: misdirected(func(sent, registered string) bool {
			u, err := url.Parse(sent)
			return err == nil && u.Host == wire.ParseURL(registered).Host
		}), fails: "RFC6749/3.1.2.3/simple-string-comparison"},
		{name: "any redirect URI is accepted", spoil: misdirected(func(string, string) bool { return true }),
			fails: "RFC6749/3.1.2.3/registered RFC6749/3.1.2.3/simple-string-comparison RFC6749/3.1.2.4/not-redirected " +
				"RFC6749/3.1.2.4/person-informed RFC6749/10.1/public-otherwise-known"},
		{name: "a missing redirect_uri means the first registered one", at: authorizePath,
			spoil: challenges(func(p *proxy, q *ask, v url.Values) {
				if c := p.client(v.Get("client_id")); c != nil && !v.Has("redirect_uri") {
					q.setQuery("redirect_uri", c.RedirectURI())
				}
			}), fails: "RFC6749/3.1.2.3/required-with-several OIDCCore/3.1.2.2/redirect-uri-of-several " +
				"OIDCCore/3.1.2.2/required-parameters"},
		{name: "redirect_uri is required", at: authorizePath, spoil: refusingIf(func(_ *proxy, q *ask) bool {
			return q.params().Has("client_id") && !q.params().Has("redirect_uri")
		}, badPage), fails: "RFC6749/3.1.2.3/optional-with-one"},
		{name: "only the first redirect URI of a client is accepted", at: authorizePath,
			spoil: refusingIf(func(p *proxy, q *ask) bool {
				return q.params().Get("redirect_uri") == p.target.Clients[need.Several].RedirectURIs[1]
			}, badPage), fails: "RFC6749/3.1.2.2/several", hides: "RFC6749/3.1.2/query-kept"},
		{name: "the query of redirect URIs is lost", spoil: sending(func(_ *proxy, sent url.Values) { sent.Del("tenant") }),
			fails: "RFC6749/3.1.2/query-kept"},
		{name: "the error page for a redirect URI is empty", at: authorizePath,
			spoil: badURIs(func(a *wire.Answer) { a.Body = nil }), fails: "RFC6749/3.1.2.4/person-informed"},
		{name: "an error for an unknown client is redirected", at: authorizePath, spoil: func(p *proxy, q *ask) *wire.Answer {
			v := q.params()
			if uri := v.Get("redirect_uri"); strings.HasPrefix(uri, "https://client.example/") &&
				p.client(v.Get("client_id")) == nil {
				return moved(uri + "?error=unauthorized_client")
			}
			return p.real(q)
		}, fails: "RFC6749/4.1.2.1/unknown-client-not-redirected RFC9700/4.11.2/a4-invalid-pair-not-redirected " +
			"RFC6749/4.1.2.1/unknown-client-told"},
		{name: "the error page for an unknown client is empty", at: authorizePath,
			spoil: func(p *proxy, q *ask) *wire.Answer {
				a := p.real(q)
				if a.Status >= 400 && p.client(q.params().Get("client_id")) == nil {
					a.Body = nil
				}
				return a
			}, fails: "RFC6749/4.1.2.1/unknown-client-told"},
	}
}

func badPage() *wire.Answer { return shown(http.StatusBadRequest, "no") }

// badURIs changes the answers to requests with an unregistered redirect URI.
func badURIs(change func(*wire.Answer)) spoiler {
	return func(p *proxy, q *ask) *wire.Answer {
		a := p.real(q)
		if a.Status >= 400 && strings.HasPrefix(q.params().Get("redirect_uri"), "https://attacker.example/") {
			change(a)
		}
		return a
	}
}

// misdirected accepts similar redirect URIs as the registered one, and sends the response to them.
func misdirected(alike func(sent, registered string) bool) spoiler {
	return func(p *proxy, q *ask) *wire.Answer {
		v := q.params()
		c := p.client(v.Get("client_id"))
		if q.path == authorizePath && c != nil && len(c.RedirectURIs) == 1 && v.Has("state") {
			registered := c.RedirectURI()
			if uri := v.Get("redirect_uri"); uri != "" && uri != registered && alike(uri, registered) {
				p.keep("elsewhere "+v.Get("state"), uri)
				q.setQuery("redirect_uri", registered)
			}
		}
		a := p.real(q)
		if to := p.away(a); to != nil && p.has("elsewhere "+to.Query().Get("state")) {
			uri := p.note("elsewhere " + to.Query().Get("state"))
			separator := "?"
			if strings.Contains(uri, "?") {
				separator = "&"
			}
			a.Header.Set("Location", uri+separator+to.RawQuery)
		}
		return a
	}
}
