package faults

import (
	"net/http"
	"strings"
	"time"

	"mandate/conformance/jose"
	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// proof returns the proof of a request (RFC 9449), or nil.
func (q *ask) proof() *jose.JWT {
	j, err := jose.Read(q.header.Get("Dpop"))
	if err != nil {
		return nil
	}
	return j
}

// presented returns the access token in the header of a request, with any scheme.
func (q *ask) presented() string {
	_, token, _ := strings.Cut(q.header.Get("Authorization"), " ")
	return token
}

// issued returns an answer with a token, which works nowhere.
func issued() *wire.Answer {
	a := refusal(http.StatusOK, "")
	a.Body = []byte(`{"access_token":"mat_of_the_proxy","token_type":"Bearer","expires_in":60}`)
	return a
}

// got returns a good answer of a resource.
func got() *wire.Answer {
	return &wire.Answer{Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: []byte(`{"sub":"somebody"}`)}
}

// challenged returns the answer of a resource to a wrong proof.
func challenged(code string) *wire.Answer {
	a := refusal(http.StatusUnauthorized, code)
	a.Header.Set("WWW-Authenticate", `DPoP error="`+code+`"`)
	return a
}

// proofFaults are faults of tokens that are bound to a key (RFC 9449).
func proofFaults() []fault {
	type condition func(p *proxy, j *jose.JWT) bool
	at := func(path, name string, spoil spoiler, fails string) fault {
		return fault{name: name, at: path, apart: true, spoil: spoil, fails: fails}
	}
	// forgiving takes a token request with such a proof as one without a proof.
	forgiving := func(is condition) spoiler {
		return spoiling(func(p *proxy, q *ask) {
			if j := q.proof(); j != nil && is(p, j) {
				q.header.Del("Dpop")
			}
		})
	}
	refused := func() *wire.Answer { return refusal(http.StatusBadRequest, "invalid_dpop_proof") }
	kept := func() *wire.Answer { return challenged("invalid_dpop_proof") }
	// fussy refuses requests with such a proof.
	fussy := func(is func(j *jose.JWT) bool, answer func() *wire.Answer) spoiler {
		return refusingIf(func(_ *proxy, q *ask) bool { j := q.proof(); return j != nil && is(j) }, answer)
	}
	spelt := func(j *jose.JWT) bool { return strings.Contains(j.Text("htu"), "?") }
	// unproven grants such a request without a proof.
	unproven := func(grant string) spoiler {
		return refusingIf(func(_ *proxy, q *ask) bool {
			return q.form().Get("grant_type") == grant && q.header.Get("Dpop") == ""
		}, issued)
	}
	known := func(p *proxy, q *ask) bool {
		return p.has("token "+q.presented()) || p.has("token "+q.params().Get("access_token"))
	}
	demanding := func(status int, nonce string) spoiler {
		return refusingIf(func(_ *proxy, q *ask) bool { j := q.proof(); return j != nil && j.Text("nonce") == "" },
			func() *wire.Answer {
				a := challenged("use_dpop_nonce")
				if a.Status = status; nonce != "" {
					a.Header.Set("DPoP-Nonce", nonce)
				}
				return a
			})
	}
	demands := at(tokenPath, "the token endpoint demands nonces", demanding(http.StatusBadRequest, "nonce"), "")
	demands.passes = "RFC9449/8/nonce-of-server RFC9449/4.2/claims RFC9449/11.1/once-for-tokens"
	typed := at(tokenPath, "the typ of a proof is not compared",
		forgiving(func(_ *proxy, j *jose.JWT) bool { return j.Header["typ"] == "JWT" }), "RFC9449/4.3/checks")
	typed.passes = "RFC9449/4.2/claims RFC9449/11.6/signature-algorithms"
	open := at(resourcePath, "the resource ignores proofs", refusingIf(known, got),
		"RFC9449/4.3/token RFC9449/7/bound-key RFC9449/7/not-unbound RFC9449/7.1/not-without-proof RFC9449/7.2/not-bearer "+
			"RFC9449/11.1/once FAPI2/5.3.4/header FAPI2/5.3.4/sender-constrained FAPI2/5.3.4/revoked")
	open.blocks = "RFC9449/7.1/challenge"
	return []fault{
		demands, typed, open,
		at(tokenPath, "the token endpoint ignores proofs", spoiling(func(_ *proxy, q *ask) { q.header.Del("Dpop") }),
			"RFC9449/5/bound RFC9449/5/token-type RFC9449/6.1/jwt RFC9449/6.2/introspection "+
				"RFC9449/4.2/claims RFC9449/4.3/checks RFC9449/4.3/request RFC9449/11.1/short-time RFC9449/11.1/once-for-tokens "+
				"RFC9449/11.6/signature-algorithms"),
		at(tokenPath, "a wrong proof is invalid_request", miscalling("invalid_dpop_proof", "invalid_request"),
			"RFC9449/5/invalid-proof"),
		at(tokenPath, "a proof needs no jti", forgiving(func(_ *proxy, j *jose.JWT) bool { return j.Claims["jti"] == nil }),
			"RFC9449/4.2/claims"),
		at(tokenPath, "the htm of a proof is not compared",
			forgiving(func(_ *proxy, j *jose.JWT) bool { return j.Text("htm") == "PUT" }), "RFC9449/4.3/request"),
		at(tokenPath, "a proof of the future is accepted",
			forgiving(func(_ *proxy, j *jose.JWT) bool { return j.Number("iat") > float64(time.Now().Unix()+600) }),
			"RFC9449/11.1/short-time"),
		at(tokenPath, "a proof has alg none", forgiving(func(_ *proxy, j *jose.JWT) bool { return j.Algorithm() == "none" }),
			"RFC9449/11.6/signature-algorithms"),
		at(tokenPath, "a proof works twice", forgiving(func(p *proxy, j *jose.JWT) bool {
			used := p.has("jti " + j.Text("jti"))
			p.keep("jti "+j.Text("jti"), true)
			return used
		}), "RFC9449/11.1/once-for-tokens"),
		at(tokenPath, "an htu must not have a query", fussy(spelt, refused), "RFC9449/4.3/normalized"),
		at(tokenPath, "a proof has no other claims",
			fussy(func(j *jose.JWT) bool { return j.Claims["conformance"] != nil }, refused), "RFC9449/4.2/other-claims"),
		at(tokenPath, "a refresh token needs no proof", unproven("refresh_token"),
			"RFC9449/5/refresh-token-of-public-client"),
		at(tokenPath, "a code needs no proof", unproven(need.GrantCode),
			"RFC9449/5.2/always RFC9449/10/code-bound RFC9449/10.1/header-binds"),
		at(tokenPath, "a nonce is demanded, and none is sent", demanding(http.StatusBadRequest, ""),
			"RFC9449/8/nonce-of-server"),
		at(tokenPath, "an answer has two nonces", func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			a.Header["Dpop-Nonce"] = []string{"one", "two"}
			return a
		}, "RFC9449/8/one-header"),
		at(parPath, "dpop_jkt may be another key", spoiling(func(_ *proxy, q *ask) {
			if q.proof() != nil {
				q.set("dpop_jkt", "")
			}
		}), "RFC9449/10.1/both-agree"),
		at(resourcePath, "a resource demands nonces with 400", demanding(http.StatusBadRequest, "nonce"),
			"RFC9449/9/use-nonce"),
		at(resourcePath, "the scheme DPoP has a case",
			refusingIf(func(_ *proxy, q *ask) bool { return strings.HasPrefix(q.header.Get("Authorization"), "dpop ") }, kept),
			"RFC9449/7.1/scheme"),
		at(resourcePath, "an htu at the resource must not have a query", fussy(spelt, kept), "RFC9449/7.1/normalized"),
		at(resourcePath, "a wrong proof is an invalid token", answering(func(a *wire.Answer) {
			for i, c := range a.Header["Www-Authenticate"] {
				a.Header["Www-Authenticate"][i] = strings.ReplaceAll(c, "invalid_dpop_proof", "invalid_token")
			}
		}), "RFC9449/7.1/challenge"),
		at(resourcePath, "the challenge names Bearer only",
			refusingIf(func(_ *proxy, q *ask) bool { return q.presented() == "" }, func() *wire.Answer {
				a := challenged("")
				a.Header.Set("WWW-Authenticate", `Bearer realm="api"`)
				return a
			}), "RFC9449/7.2/both-challenges"),
		at(userInfoPath, "UserInfo ignores proofs", refusingIf(known, got), "RFC9449/7.1/userinfo"),
	}
}
