package faults

import (
	"net/http"
	"net/url"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/wire"
)

const describedPath = "/.well-known/oauth-protected-resource"

// apiFaults are faults of the metadata of an API (RFC 9728).
func apiFaults() []fault {
	changed := func(name string, value func(is any) any) spoiler {
		return func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if q.path == describedPath {
				edit(a, func(m map[string]any) { put(name, value(m[name]))(m) })
			}
			return a
		}
	}
	to := func(value any) func(any) any { return func(any) any { return value } }
	followed := func(more string) func(any) any {
		return func(is any) any { text, _ := is.(string); return text + more }
	}
	unpointed := challenging(`,? *resource_metadata="[^"]*"`, "")
	return []fault{
		{name: "the identifier of an API has http", at: describedPath,
			spoil: changed("resource", to("http://api.example/resource")),
			fails: "RFC9728/1.2/https RFC9728/3.3/identical RFC9728/3.3/of-request"},
		{name: "the identifier of an API has a fragment", at: describedPath, spoil: changed("resource", followed("#api")),
			fails: "RFC9728/1.2/no-fragment RFC9728/3.3/identical"},
		{name: "the identifier of an API is left out", at: describedPath, spoil: changed("resource", to(nil)),
			fails: "RFC9728/2/resource RFC9728/5.1/challenge"},
		{name: "the identifier of an API has another final slash", at: describedPath,
			spoil: changed("resource", followed("/")), fails: "RFC9728/3.3/identical"},
		{name: "the identifier of an API is that of another one", at: describedPath,
			spoil: changed("resource", followed("/other")),
			fails: "RFC9728/3/well-known RFC9728/3.3/identical RFC9728/3.3/of-request"},
		{name: "the issuer has another final slash at the API", at: describedPath,
			spoil: func(p *proxy, q *ask) *wire.Answer {
				return changed("authorization_servers", to([]any{p.front.Front + "/o/"}))(p, q)
			}, fails: "RFC9728/2/authorization-servers MCP/M17/resource-metadata"},
		{name: "an API names no authorization server", at: describedPath, spoil: changed("authorization_servers", to(nil)),
			fails: "MCP/M17/resource-metadata", skips: "RFC9728/2/authorization-servers"},
		{name: "the metadata of an API is bare", at: describedPath, spoil: func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if q.path == describedPath {
				edit(a, func(m map[string]any) {
					delete(m, "scopes_supported")
					delete(m, "resource_name")
					m["bearer_methods_supported"], m["resource_policy_uri"] = []any{"cookie"}, ""
				})
				a.Header.Set("Cache-Control", "no-store")
			}
			return a
		}, fails: "RFC9728/2/scopes RFC9728/2/name RFC9728/2/bearer-methods RFC9728/3.2/no-empty RFC9728/7.10/cacheable"},
		{name: "an API lists offline_access", at: describedPath,
			spoil: changed("scopes_supported", to([]any{"read", "offline_access"})), fails: "MCP/M17/no-offline-access"},
		{name: "the metadata of an API is text", at: describedPath, spoil: answering(header("Content-Type", "text/plain")),
			fails: "RFC9728/3.2/json"},
		{name: "the metadata of an API is elsewhere", spoil: func(p *proxy, q *ask) *wire.Answer {
			switch q.path {
			case describedPath:
				return refusal(http.StatusNotFound, "not_found")
			case "/metadata":
				q.path = describedPath
			}
			a := p.real(q)
			a.Header.Set("WWW-Authenticate", strings.Replace(a.Header.Get("WWW-Authenticate"), describedPath, "/metadata", 1))
			return a
		}, fails: "RFC9728/3/well-known RFC9728/3.3/identical"},
		{name: "the challenge of an API leads nowhere", spoil: func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			a.Header.Set("WWW-Authenticate", strings.Replace(a.Header.Get("WWW-Authenticate"), describedPath, "/metadata", 1))
			return a
		}, fails: "MCP/M17/resource-metadata", blocks: "RFC9728/3.3/identical RFC9728/5.1/challenge"},
		{name: "challenges do not lead to the metadata of the API", spoil: unpointed,
			fails: "RFC9728/5.1/challenge RFC9728/5.1/insufficient-scope MCP/M17/resource-metadata"},
		{name: "an API has no metadata", spoil: func(p *proxy, q *ask) *wire.Answer {
			if q.path == describedPath {
				return refusal(http.StatusNotFound, "not_found")
			}
			return unpointed(p, q)
		}, fails: "MCP/M17/resource-metadata", skips: "RFC9728/2/resource RFC9728/3/well-known RFC9728/3.2/json " +
			"RFC9728/5.1/challenge RFC10017/6.3.3.4/resource-metadata"},
		{name: "a challenge without a token names no scope", at: widerPath, spoil: func(p *proxy, q *ask) *wire.Answer {
			if q.header.Get("Authorization") != "" {
				return p.real(q)
			}
			return challenging(`,? *scope="[^"]*"`, "")(p, q)
		}, fails: "MCP/M17/scope-in-challenge"},
	}
}

// browserFaults are faults that applications in a browser notice (RFC 10017), and of what OAuth 2.1 adds.
func browserFaults() []fault {
	verifier, challenge := check.NewPKCE()
	preflight := func(change func(a *wire.Answer)) spoiler {
		return func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if q.method == http.MethodOptions {
				change(a)
			}
			return a
		}
	}
	return []fault{
		{name: "a preflight request needs a token", spoil: preflight(status(http.StatusUnauthorized)),
			fails: "RFC10017/6.3.3.4/token RFC10017/6.3.3.4/revocation RFC10017/6.3.3.4/userinfo " +
				"RFC10017/6.3.3.4/sender-constrained"},
		{name: "a preflight request allows no credentials", spoil: preflight(header("Access-Control-Allow-Headers", "*")),
			fails: "RFC10017/6.3.3.4/token RFC10017/6.3.3.4/revocation RFC10017/6.3.3.4/userinfo"},
		{name: "a preflight request allows the usual headers only",
			spoil: preflight(header("Access-Control-Allow-Headers", "Authorization, Content-Type")),
			fails: "RFC10017/6.3.3.4/sender-constrained"},
		{name: "scripts can read nothing", spoil: answering(header("Access-Control-Allow-Origin", "")),
			fails: "RFC10017/6.3.3.4/token RFC10017/6.3.3.4/metadata RFC10017/6.3.3.4/keys RFC10017/6.3.3.4/revocation " +
				"RFC10017/6.3.3.4/userinfo RFC10017/6.3.3.4/resource-metadata " +
				"RFC7009/2.3/cors"},
		{name: "scripts cannot read a challenge", at: userInfoPath,
			spoil: answering(header("Access-Control-Expose-Headers", "")), fails: "RFC10017/6.3.3.4/challenge"},
		{name: "redirect_uri is required in the token request", at: tokenPath, spoil: refusingIf(func(_ *proxy, q *ask) bool {
			return q.form().Has("code") && !q.form().Has("redirect_uri")
		}, badRequest), fails: "OAuth21/10.2/redirect-uri-left-out"},
		{name: "nothing binds a code without a code_challenge", spoil: func(p *proxy, q *ask) *wire.Answer {
			switch from := p.codes(q.form().Get("code")); {
			case q.path == authorizePath && q.params().Has("client_id") && !q.params().Has("code_challenge"):
				q.setQuery("code_challenge", challenge, "code_challenge_method", "S256")
			case q.path == tokenPath && from != nil && !from.Has("code_challenge"):
				q.change(func(v url.Values) { v.Set("code_verifier", verifier) })
			}
			return p.real(q)
		}, fails: "RFC6749/4.1.3/redirect-uri-present RFC6749/4.1.3/only-redirect-uri-present " +
			"OIDCCore/3.1.3.2/redirect-uri-once-named",
			skips: "RFC7636/4.4.1/required-of-public RFC7636/4.4.1/missing-explained"},
	}
}
