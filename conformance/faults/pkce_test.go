package faults

import (
	"net/url"
	"regexp"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// pkceFaults are faults of PKCE (RFC 7636).
func pkceFaults() []fault {
	right := func(challenge, verifier string) bool {
		return check.Challenge(verifier) == challenge && len(verifier) >= 43 && len(verifier) <= 128
	}
	anyVerifier := proving(func(*proxy, string, string) bool { return true })
	return []fault{
		{name: "verifiers are not compared", spoil: anyVerifier,
			fails: "RFC6749/4.1.3/redirect-uri-present RFC6749/4.1.3/only-redirect-uri-present " +
				"RFC7636/4.1/short-verifier-refused RFC7636/4.4/challenge-bound-to-code RFC7636/4.6/verifier-compared " +
				"RFC7636/4.6/verifier-required-of-public " +
				"RFC9700/2.1.1/a10-pkce-supported RFC9700/2.1.1/a11-verifier-enforced RFC8252/6/pkce-supported " +
				"OIDCCore/16.11/code-substitution RFC8414/2/challenge-methods-true",
			hides: "RFC7636/4.6/invalid-grant RFC7636/4.6/wrong-verifier-spends-nothing"},
		{name: "the code_verifier is optional", spoil: proving(func(_ *proxy, challenge, verifier string) bool {
			return verifier == "" || right(challenge, verifier)
		}), fails: "RFC6749/4.1.3/redirect-uri-present RFC6749/4.1.3/only-redirect-uri-present " +
			"RFC7636/4.6/verifier-compared RFC7636/4.6/verifier-required-of-public"},
		{name: "the code_challenge is accepted as code_verifier",
			spoil: proving(func(_ *proxy, challenge, verifier string) bool {
				return verifier == challenge || right(challenge, verifier)
			}), fails: "RFC7636/4.6/verifier-compared"},
		{name: "the code_verifier of any code is accepted", spoil: proving(func(p *proxy, _, verifier string) bool {
			return right(check.Challenge(verifier), verifier) && p.has("challenge "+check.Challenge(verifier))
		}), fails: "RFC7636/4.4/challenge-bound-to-code"},
		{name: "verifiers may be of any length", spoil: proving(func(_ *proxy, challenge, verifier string) bool {
			return check.Challenge(verifier) == challenge
		}), fails: "RFC7636/4.1/short-verifier-refused"},
		{name: "verifiers may have 127 characters at most", spoil: proving(func(_ *proxy, challenge, verifier string) bool {
			return right(challenge, verifier) && len(verifier) < 128
		}), fails: "RFC7636/4.6/verifier-43-to-128"},
		{name: "codes of public clients yield no token", at: tokenPath, spoil: refusingIf(func(p *proxy, q *ask) bool {
			id, _ := q.client()
			return p.codes(q.form().Get("code")) != nil && id == p.target.Clients[need.Public].ID
		}, badGrant), fails: "RFC6749/2.1/public-allowed RFC7636/4.2/s256-public OIDCCore/9/none",
			blocks: "RFC6749/4.1.3/code-bound-to-public-client RFC6749/4.1.3/public-identifies RFC6749/6/bound-to-client " +
				"RFC7636/4.6/verifier-required-of-public",
			hides: "RFC6749/10.4/abuse-detected RFC7009/2/public-client"},
		{name: "the method plain is accepted", at: authorizePath, spoil: challenges(func(_ *proxy, q *ask, v url.Values) {
			if method := v.Get("code_challenge_method"); v.Has("code_challenge") && (method == "" || method == "plain") {
				q.setQuery("code_challenge", check.Challenge(v.Get("code_challenge")), "code_challenge_method", "S256")
			}
		}), fails: "RFC7636/4.3/plain-refused RFC7636/4.4.1/unlisted-method RFC7636/7.2/plain-not-accepted " +
			"RFC9700/2.1.1/a16-no-plain"},
		{name: "a missing method means plain", at: authorizePath, spoil: challenges(func(_ *proxy, q *ask, v url.Values) {
			if v.Has("code_challenge") && !v.Has("code_challenge_method") {
				q.setQuery("code_challenge", check.Challenge(v.Get("code_challenge")), "code_challenge_method", "S256")
			}
		}), fails: "RFC7636/4.3/plain-refused RFC7636/4.4.1/unlisted-method RFC7636/7.2/plain-not-accepted " +
			"RFC9700/2.1.1/a16-no-plain"},
		{name: "an unknown method means S256", at: authorizePath, spoil: challenges(func(_ *proxy, q *ask, v url.Values) {
			if v.Get("code_challenge_method") == "S512" {
				q.setQuery("code_challenge_method", "S256")
			}
		}), fails: "RFC7636/4.4.1/unknown-method", hides: "RFC7636/4.4.1/unknown-method-explained"},
		{name: "public clients need no PKCE", at: authorizePath, spoil: challenges(func(p *proxy, q *ask, v url.Values) {
			if !v.Has("code_challenge") && v.Get("client_id") == p.target.Clients[need.Public].ID {
				unproven(q)
			}
		}), fails: "RFC9700/2.1.1/a12-required-of-public RFC10017/6.3.2.1/pkce OAuth21/4.1.2.1/pkce-of-public",
			skips: "RFC7636/4.4.1/required-of-public RFC7636/4.4.1/missing-explained"},
		{name: "confidential clients need PKCE", at: authorizePath, spoil: refusingAsk(func(v url.Values) bool {
			return v.Get("response_type") == "code" && !v.Has("code_challenge") &&
				!strings.HasSuffix(v.Get("redirect_uri"), "/public")
		}, "invalid_request"), fails: "RFC7636/5/without-pkce"},
		{name: "any text is accepted as code_challenge", at: authorizePath,
			spoil: challenges(func(_ *proxy, q *ask, v url.Values) {
				if v.Has("code_challenge") && v.Get("code_challenge_method") == "S256" &&
					!digest.MatchString(v.Get("code_challenge")) {
					unproven(q)
				}
			}), fails: "RFC7636/4.2/challenge-form"},
		{name: "codes contain the code_challenge", spoil: func(p *proxy, q *ask) *wire.Answer {
			if code := p.note("shown " + q.form().Get("code")); code != "" {
				q.set("code", code)
			}
			a := p.real(q)
			if to := p.away(a); to != nil && to.Query().Has("code") {
				sent := to.Query()
				longer := sent.Get("code") + p.request(sent.Get("state")).Get("code_challenge")
				p.keep("shown "+longer, sent.Get("code"))
				sent.Set("code", longer)
				to.RawQuery = sent.Encode()
				a.Header.Set("Location", to.String())
			}
			return a
		}, fails: "RFC7636/4.4/challenge-not-exposed"},
		{name: "errors at the redirect URI have no description", spoil: sending(func(_ *proxy, sent url.Values) {
			if sent.Has("error") {
				sent.Del("error_description")
				sent.Del("error_uri")
			}
		}), fails: "RFC7636/4.4.1/missing-explained RFC7636/4.4.1/unknown-method-explained"},
		{name: "the method plain is listed",
			spoil: publishing(put("code_challenge_methods_supported", []string{"plain", "S256"})),
			fails: "RFC7636/7.2/plain-not-offered RFC9700/2.1.1/a16-no-plain RFC8414/2/challenge-methods-true",
			hides: "RFC7636/4.4.1/unlisted-method"},
		{name: "PKCE is not listed", spoil: publishing(put("code_challenge_methods_supported", nil)),
			fails: "RFC9700/2.1.1/a15-pkce-in-metadata MCP/M4/s256-in-metadata",
			hides: "RFC7636/7.2/plain-not-offered RFC7636/4.4.1/unlisted-method"},
		{name: "PKCE is not listed and has no effect", spoil: func(p *proxy, q *ask) *wire.Answer {
			if strings.Contains(q.path, "/.well-known/o") {
				return publishing(put("code_challenge_methods_supported", nil))(p, q)
			}
			if q.path == authorizePath && q.params().Has("code_challenge_method") {
				q.setQuery("code_challenge_method", "S256")
			}
			return anyVerifier(p, q)
		}, fails: "RFC6749/4.1.3/redirect-uri-present RFC6749/4.1.3/only-redirect-uri-present " +
			"RFC7636/4.1/short-verifier-refused RFC7636/4.3/plain-refused RFC8252/6/pkce-supported",
			skips: "RFC7636/4.2/s256 RFC7636/4.2/s256-public RFC7636/4.4/challenge-bound-to-code RFC7636/4.4.1/unknown-method " +
				"RFC7636/4.4.1/unknown-method-explained " +
				"RFC7636/4.6/verifier-43-to-128 RFC7636/4.6/verifier-compared RFC7636/4.6/verifier-required-of-public " +
				"RFC7636/4.6/invalid-grant " +
				"RFC7636/4.4.1/unlisted-method RFC7636/7.2/plain-not-accepted",
			hides: "RFC7636/4.6/wrong-verifier-spends-nothing RFC7636/7.2/plain-not-offered"},
	}
}

// digest returns the S256 challenge of a verifier.
var digest = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// challenges changes authorization requests.
func challenges(change func(p *proxy, q *ask, v url.Values)) spoiler {
	return spoiling(func(p *proxy, q *ask) { change(p, q, q.params()) })
}

// unproven replaces the challenge by one whose verifier nobody knows.
func unproven(q *ask) {
	_, challenge := check.NewPKCE()
	q.setQuery("code_challenge", challenge, "code_challenge_method", "S256")
}

// proving uses its own verifier at the true server, and applies another rule to the client's.
func proving(accept func(p *proxy, challenge, verifier string) bool) spoiler {
	verifier, challenge := check.NewPKCE()
	return func(p *proxy, q *ask) *wire.Answer {
		sent, redeemed := q.params(), p.codes(q.form().Get("code"))
		switch {
		case q.path == authorizePath && digest.MatchString(sent.Get("code_challenge")) &&
			sent.Get("code_challenge_method") == "S256":
			p.keep("challenge "+sent.Get("code_challenge"), true)
			q.setQuery("code_challenge", challenge)
		case q.path == tokenPath && redeemed.Has("code_challenge"):
			proof := verifier
			if !accept(p, redeemed.Get("code_challenge"), q.form().Get("code_verifier")) {
				proof = strings.Repeat("x", 43)
			}
			q.set("code_verifier", proof)
		}
		return p.real(q)
	}
}
