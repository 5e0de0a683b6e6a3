package faults

import (
	"net/url"
	"slices"
	"strings"

	"mandate/conformance/wire"
)

// codeFaults are faults of the exchange of codes (RFC 6749 §4.1.2, §4.1.3).
func codeFaults() []fault {
	return []fault{
		{name: "a code works twice", at: tokenPath, spoil: func(p *proxy, q *ask) *wire.Answer {
			// The true server has revoked the tokens of the code. This fault returns them again, but they do not
			// work.
			a := p.real(q)
			name := "answer " + q.form().Get("code")
			first, again := p.value(name).(*wire.Answer)
			if again && p.proven(q) {
				return first
			}
			if q.form().Has("code") && a.Granted() {
				p.keep(name, a)
			}
			return a
		}, fails: "RFC6749/4.1.2/code-once RFC9700/4.2.4/a42-code-once OIDCCore/3.1.3.2/code-once"},
		{name: "reuse of a code revokes nothing", at: tokenPath, spoil: func(p *proxy, q *ask) *wire.Answer {
			code := q.form().Get("code")
			if code != "" && p.has("spent "+code) {
				return badGrant()
			}
			a := p.real(q)
			if code != "" && a.Granted() {
				p.keep("spent "+code, true)
			}
			return a
		}, fails: "RFC6749/4.1.2/replay-revokes RFC9700/4.2.4/a43-replay-revokes OIDCCore/16.9/use-recorded"},
		{name: "a code works for any client", at: tokenPath, spoil: codes(func(p *proxy, q *ask, from url.Values) {
			if id, _ := q.client(); id != "" && id != from.Get("client_id") {
				q.as(p.client(from.Get("client_id")))
				q.set("redirect_uri", from.Get("redirect_uri"))
			}
		}), fails: "RFC6749/4.1.3/code-bound-to-client RFC6749/4.1.3/code-bound-to-public-client " +
			"OIDCCore/3.1.3.2/code-of-client RFC9700/4.2.4/a44-code-bound"},
		{name: "a public client's code works for any client", at: tokenPath,
			spoil: codes(func(p *proxy, q *ask, from url.Values) {
				c := p.client(from.Get("client_id"))
				if id, _ := q.client(); id != "" && id != c.ID && c.Secret == "" {
					q.as(c)
				}
			}), fails: "RFC6749/4.1.3/code-bound-to-public-client"},
		{name: "a public client need not send its client_id", at: tokenPath,
			spoil: codes(func(p *proxy, q *ask, from url.Values) {
				if id, _ := q.client(); id == "" {
					q.as(p.client(from.Get("client_id")))
				}
			}), fails: "RFC6749/4.1.3/public-identifies"},
		{name: "a truncated code works", at: tokenPath, spoil: spoiling(func(p *proxy, q *ask) {
			if code := q.form().Get("code"); code != "" {
				q.set("code", p.resembling("code ", code))
			}
		}), fails: "RFC6749/4.1.3/code-valid OIDCCore/3.1.3.2/code-valid"},
		{name: "redirect_uri is not compared at the token endpoint", at: tokenPath,
			spoil: codes(func(_ *proxy, q *ask, from url.Values) {
				if q.form().Has("redirect_uri") {
					q.set("redirect_uri", from.Get("redirect_uri"))
				}
			}), fails: "RFC6749/4.1.3/redirect-uri-identical OIDCCore/3.1.3.2/redirect-uri-identical " +
				"OAuth21/10.2/redirect-uri-enforced", hides: "RFC6749/4.1.3/failure-spends-nothing"},
		{name: "any registered redirect_uri is accepted at the token endpoint", at: tokenPath,
			spoil: codes(func(p *proxy, q *ask, from url.Values) {
				if slices.Contains(p.client(from.Get("client_id")).RedirectURIs, q.form().Get("redirect_uri")) {
					q.set("redirect_uri", from.Get("redirect_uri"))
				}
			}), fails: "RFC6749/4.1.3/redirect-uri-identical"},
		{name: "a refused request invalidates the code", at: tokenPath, spoil: func(p *proxy, q *ask) *wire.Answer {
			code := q.form().Get("code")
			if p.has("spent " + code) {
				return badGrant()
			}
			a := p.real(q)
			if p.codes(code) != nil && a.Status >= 400 {
				p.keep("spent "+code, true)
			}
			return a
		}, fails: "RFC6749/4.1.3/failure-spends-nothing RFC7636/4.6/wrong-verifier-spends-nothing"},
		{name: "codes yield no token", at: tokenPath, spoil: refusingIf(func(p *proxy, q *ask) bool {
			return p.codes(q.form().Get("code")) != nil && p.proven(q)
		}, badGrant), fails: "RFC6749/2.1/public-allowed RFC6749/4.1.4/granted RFC6749/4.1.3/failure-spends-nothing " +
			"RFC7636/4.2/s256 RFC7636/4.2/s256-public RFC7636/4.6/wrong-verifier-spends-nothing " +
			"MCP/M9/pre-registered RFC8252/6/pkce-supported RFC8252/8.5/no-shared-secret RFC9700/2.1.1/a10-pkce-supported " +
			"OIDCCore/9/basic-by-default",
			blocks: "RFC6749/4.1.3/client-authenticated RFC6749/4.1.3/code-bound-to-client " +
				"RFC6749/4.1.3/code-bound-to-public-client RFC6749/4.1.3/code-valid " +
				"RFC6749/4.1.3/redirect-uri-present RFC6749/4.1.3/only-redirect-uri-present RFC6749/4.1.3/redirect-uri-identical " +
				"RFC6749/4.1.3/public-identifies " +
				"RFC7636/4.4/challenge-bound-to-code RFC7636/4.6/verifier-compared RFC7636/4.6/verifier-required-of-public " +
				"RFC7636/4.6/invalid-grant RFC7636/4.6/verifier-43-to-128 RFC7636/5/without-pkce " +
				"MCP/M5/resource-taken RFC8414/2/challenge-methods-true",
			hides: "RFC6749/4.1.2 RFC6749/4.1.4 RFC6749/5.2 RFC6749/6 RFC6749/10.3 RFC6749/10.4 RFC6750/5.3 RFC7009/2 " +
				"RFC7662/2.2 RFC7662/4 RFC7662/5 " +
				"RFC6750/2.3/private-userinfo RFC7636/4.1/short-verifier-refused RFC7636/4.4.1/unlisted-method " +
				"RFC7636/7.2/plain-not-accepted"},
		{name: "the code grant issues no refresh token", at: tokenPath, spoil: func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if q.form().Has("code") && a.Granted() {
				edit(a, put("refresh_token", nil))
			}
			return a
		}, fails: "RFC6749/4.1.4/refresh-token MCP/M14/refresh-token-unasked OIDCCore/11/refresh-token " +
			"OIDCCore/11/refresh-token-otherwise",
			skips: "RFC6749/5.2/invalid-refresh-token", hides: "RFC6749/6 RFC6749/10.4 RFC7009/2 RFC7662/2.2"},
	}
}

// codes changes requests that redeem an issued code.
func codes(change func(p *proxy, q *ask, from url.Values)) spoiler {
	return spoiling(func(p *proxy, q *ask) {
		if from := p.codes(q.form().Get("code")); from != nil {
			change(p, q, from)
		}
	})
}

// refreshFaults are faults of refreshing (RFC 6749 §6).
func refreshFaults() []fault {
	return []fault{
		{name: "a refresh token works for any client", at: tokenPath, spoil: refreshes(func(p *proxy, q *ask) {
			if id, _ := q.client(); id != p.owner(q.form().Get("refresh_token")).ID {
				q.as(p.owner(q.form().Get("refresh_token")))
			}
		}), fails: "RFC6749/6/bound-to-client RFC9700/2.2.2/a24-refresh-token-bound-to-client OIDCCore/12.1/token-of-client"},
		{name: "a truncated refresh token works", at: tokenPath, spoil: spoiling(func(p *proxy, q *ask) {
			if token := q.form().Get("refresh_token"); token != "" {
				q.set("refresh_token", p.resembling("refresh ", token))
			}
		}), fails: "RFC6749/6/validated OIDCCore/12.1/token-valid RFC9700/4.14.2/a27-integrity"},
		{name: "refresh tokens yield no token", at: tokenPath, spoil: refusingIf(func(_ *proxy, q *ask) bool {
			return q.form().Has("refresh_token")
		}, badGrant), fails: "RFC6749/6/granted OIDCCore/11/refresh-token OIDCCore/12.2/answer",
			blocks: "RFC6749/6/client-authenticated RFC6749/6/bound-to-client RFC6749/6/validated RFC7009/2/refresh-tokens " +
				"RFC7009/2/public-client",
			hides: "RFC6749/6 RFC6749/10.4 RFC7009/2"},
		{name: "a refresh grants any requested scope", at: tokenPath, spoil: func(p *proxy, q *ask) *wire.Answer {
			scope, token := q.form().Get("scope"), q.form().Get("refresh_token")
			a := p.real(q)
			if token == "" || scope == "" || a.Granted() {
				return a
			}
			q.set("scope", "")
			a = p.real(q)
			edit(a, put("scope", scope))
			return a
		}, fails: "RFC6749/6/scope-not-widened RFC9700/4.14.2/a23-bound-to-scope"},
		{name: "a refresh without scope grants less", at: tokenPath, spoil: func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if q.form().Has("refresh_token") && !q.form().Has("scope") && a.Granted() {
				edit(a, put("scope", "read"))
			}
			return a
		}, fails: "RFC6749/6/scope-omitted RFC6749/6/new-token-same-scope"},
		{name: "a narrower refresh reduces the grant permanently", at: tokenPath, spoil: func(p *proxy, q *ask) *wire.Answer {
			scope, token := q.form().Get("scope"), q.form().Get("refresh_token")
			if scope == "" && token != "" && p.has("narrow "+token) {
				scope = p.note("narrow " + token)
				q.set("scope", scope)
			}
			a := p.real(q)
			if token != "" && scope != "" && a.Granted() {
				p.keep("narrow "+a.Text("refresh_token"), scope)
			}
			return a
		}, fails: "RFC6749/6/new-token-same-scope"},
		{name: "a rotated refresh token stays valid", at: tokenPath, spoil: func(p *proxy, q *ask) *wire.Answer {
			first := q.form().Get("refresh_token")
			token := first
			for p.has("successor " + token) {
				token = p.note("successor " + token)
			}
			if token != first {
				q.set("refresh_token", token)
			}
			a := p.real(q)
			if token != "" && a.Granted() {
				p.keep("successor "+token, a.Text("refresh_token"))
			}
			return a
		}, fails: "RFC6749/6/rotated RFC6749/10.4/abuse-detected RFC9700/4.14.2/a20-one-successor"},
		{name: "a replaced refresh token returns its successor to anybody", at: tokenPath,
			spoil: replaced(func(p *proxy, q *ask) bool {
				id, _ := q.client()
				return id != p.owner(q.form().Get("refresh_token")).ID
			}), fails: "RFC9700/2.2.2/a24-replaced-token-bound-to-client"},
		{name: "a replaced refresh token returns its successor after a revocation",
			spoil: func(p *proxy, q *ask) *wire.Answer {
				if q.path == revokePath {
					p.keep("revoked "+q.form().Get("token"), true)
					return p.real(q)
				}
				return replaced(func(p *proxy, q *ask) bool {
					successor, _ := p.value("answer " + q.form().Get("refresh_token")).(*wire.Answer)
					return p.has("revoked " + successor.Text("refresh_token"))
				})(p, q)
			}, fails: "RFC9700/4.14.2/a26-replaced-ends-too"},
		{name: "refresh tokens are not rotated", spoil: unrotated(),
			fails: "RFC6749/6/rotated RFC6749/10.4/abuse-detected RFC9700/2.2.2/a20-public-refresh-tokens-rotated " +
				"RFC10017/6.3.2.3/rotated " +
				"MCP/M12/public-rotated",
			skips: "RFC6749/6/new-token-same-scope RFC9700/2.2.2/a24-replaced-token-bound-to-client " +
				"RFC9700/4.14.2/a26-replaced-ends-too"},
		{name: "a refresh ignores the requested scope", at: tokenPath, spoil: spoiling(func(_ *proxy, q *ask) {
			if q.form().Has("refresh_token") {
				q.set("scope", "")
			}
		}), skips: "RFC6749/6/new-token-same-scope"},
		{name: "reuse of a refresh token revokes nothing", at: tokenPath, spoil: func(p *proxy, q *ask) *wire.Answer {
			token := q.form().Get("refresh_token")
			if p.has("spent " + token) {
				return badGrant()
			}
			a := p.real(q)
			if token != "" && a.Granted() {
				p.keep("spent "+token, true)
			}
			return a
		}, fails: "RFC6749/10.4/abuse-detected RFC9700/4.14.2/a21-replay-detected"},
		{name: "a refresh revokes the previous access token", spoil: func(p *proxy, q *ask) *wire.Answer {
			if q.path == introspectPath && p.has("dead "+q.form().Get("token")) {
				q.set("token", "dead")
			}
			a := p.real(q)
			if token := q.form().Get("refresh_token"); token != "" && q.path == tokenPath && a.Granted() {
				p.keep("dead "+p.note("beside "+token), true)
			}
			return a
		}, fails: "RFC6749/6/old-access-token-lives"},
	}
}

// refreshes changes requests with an issued refresh token.
func refreshes(change func(p *proxy, q *ask)) spoiler {
	return spoiling(func(p *proxy, q *ask) {
		if p.owner(q.form().Get("refresh_token")) != nil {
			change(p, q)
		}
	})
}

// replaced repeats the answer to the first refresh for a token that was replaced, under a condition.
func replaced(when func(p *proxy, q *ask) bool) spoiler {
	return func(p *proxy, q *ask) *wire.Answer {
		token := q.form().Get("refresh_token")
		if q.path != tokenPath || token == "" {
			return p.real(q)
		}
		if first, is := p.value("answer " + token).(*wire.Answer); is && when(p, q) {
			again := *first
			return &again
		}
		a := p.real(q)
		if a.Granted() {
			p.keep("answer "+token, a)
		}
		return a
	}
}

// unrotated returns the first refresh token at each refresh, and remembers the current one.
func unrotated() spoiler {
	return func(p *proxy, q *ask) *wire.Answer {
		name := "token"
		if q.path == tokenPath {
			name = "refresh_token"
		}
		first := q.form().Get(name)
		if strings.HasPrefix(q.path, "/o/") && p.has("now "+first) {
			q.set(name, p.note("now "+first))
		}
		a := p.real(q)
		if q.path == tokenPath && first != "" && a.Granted() {
			p.keep("now "+first, a.Text("refresh_token"))
			edit(a, put("refresh_token", first))
		}
		return a
	}
}
