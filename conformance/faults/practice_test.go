package faults

import (
	"net/url"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// practiceFaults are faults that the best current practice and MCP are about (RFC 9700).
func practiceFaults() []fault {
	verifier, challenge := check.NewPKCE()
	owned := func(p *proxy, q *ask) *target.Client { return p.owner(q.form().Get("token")) }
	machines := func(name string, value func(p *proxy) any) spoiler {
		return func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if c := owned(p, q); c != nil && c == p.target.Clients[need.Machine] && a.JSON()["active"] == true {
				edit(a, put(name, value(p)))
			}
			return a
		}
	}
	return []fault{
		{name: "a code_verifier is accepted without a code_challenge", spoil: func(p *proxy, q *ask) *wire.Answer {
			v, from := q.params(), p.codes(q.form().Get("code"))
			switch {
			case q.path == authorizePath && v.Get("client_id") == p.target.Clients[need.Code].ID && !v.Has("code_challenge"):
				q.setQuery("code_challenge", challenge, "code_challenge_method", "S256")
			case q.path == tokenPath && from != nil && !from.Has("code_challenge"):
				q.set("code_verifier", verifier)
			}
			return p.real(q)
		}, fails: "RFC9700/4.8.2/a14-no-downgrade RFC6749/4.1.3/only-redirect-uri-present"},
		{name: "no codes are issued", at: authorizePath, spoil: func(*proxy, *ask) *wire.Answer { return badPage() },
			aim: func(*target.Target) {},
			blocks: "RFC8414/2/response-types-true RFC8414/2/response-modes-true RFC8414/2/challenge-methods-true " +
				"OIDCDiscovery/3/response-types-true " +
				"OIDCDiscovery/3/response-modes-true OIDCDiscovery/3/display-values-true RFC9700/2.1.1/a12-required-of-public " +
				"RFC9700/4.8.2/a14-no-downgrade " +
				"RFC9207/2/in-response RFC9207/2/in-refusal RFC9207/2.3/issuer-known MCP/M5/resource-taken"},
		{name: "the client code needs no consent", at: authorizePath,
			spoil: approving(need.Code, func(*proxy, url.Values) bool { return true }), aim: func(*target.Target) {},
			skips: "RFC9207/2/in-refusal"},
		{name: "a code without a code_challenge yields no token", spoil: func(p *proxy, q *ask) *wire.Answer {
			if v := q.params(); q.path == authorizePath && v.Has("client_id") && !v.Has("code_challenge") {
				q.setQuery("code_challenge", challenge, "code_challenge_method", "S256")
			}
			return p.real(q)
		}, aim: func(*target.Target) {}, blocks: "RFC9700/4.8.2/a14-no-downgrade", fails: "RFC7636/5/without-pkce"},
		{name: "a refresh returns no refresh token, and the old one still works", at: tokenPath,
			spoil: func(p *proxy, q *ask) *wire.Answer {
				old := q.form().Get("refresh_token")
				if next := p.note("next " + old); next != "" {
					q.set("refresh_token", next)
				}
				a := p.real(q)
				if old != "" && a.Granted() {
					p.keep("next "+old, a.Text("refresh_token"))
					edit(a, put("refresh_token", nil))
				}
				return a
			}, aim: func(*target.Target) {}, fails: "RFC9700/2.2.2/a20-public-refresh-tokens-rotated MCP/M12/public-rotated"},
		{name: "an error is redirected before anybody has signed in", at: authorizePath,
			spoil: func(p *proxy, q *ask) *wire.Answer {
				if v := q.params(); v.Get("scope") == "conformance-unknown" && q.header.Get("Cookie") == "" {
					return moved(v.Get("redirect_uri") + "?error=invalid_scope&state=" + url.QueryEscape(v.Get("state")))
				}
				return p.real(q)
			}, fails: "RFC9700/4.11.2/a5-person-first"},
		{name: "responses have an empty fragment", spoil: func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if to := p.away(a); to != nil && to.Query().Has("code") {
				a.Header.Set("Location", to.String()+"#_")
			}
			return a
		}, fails: "RFC9700/4.1.3/a53-fragment"},
		{name: "scripts cannot call the token endpoint", at: tokenPath,
			spoil: answering(header("Access-Control-Allow-Origin", "")), fails: "RFC9700/2.6/a38-cors"},
		{name: "client tokens carry a username", at: introspectPath,
			spoil: machines("username", func(p *proxy) any { return p.target.User.Username }),
			fails: "RFC9700/4.15.1/a36-no-person"},
		{name: "client tokens have another subject", at: introspectPath,
			spoil: machines("sub", func(*proxy) any { return "machine" }), fails: "RFC9700/4.15.1/a36-told-apart"},
		{name: "only one of two scopes is granted", at: tokenPath, spoil: func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if scopes := strings.Fields(p.codes(q.form().Get("code")).Get("scope")); len(scopes) == 2 && a.Granted() {
				edit(a, put("scope", scopes[1]))
			}
			return a
		}, fails: "MCP/M15/step-up"},
	}
}
