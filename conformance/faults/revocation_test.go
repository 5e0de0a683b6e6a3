package faults

import (
	"net/http"
	"strings"

	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// revocationFaults are faults of revocation (RFC 7009).
func revocationFaults() []fault {
	done := func() *wire.Answer { return &wire.Answer{Status: http.StatusOK, Header: http.Header{}} }
	own := func(p *proxy, q *ask) bool {
		id, _ := q.client()
		c := p.owner(q.form().Get("token"))
		return c != nil && c.ID == id && p.proven(q)
	}
	refresh := func(p *proxy, q *ask) bool { return p.has("refresh " + q.form().Get("token")) }
	const accessEnds = "RFC7009/2/access-tokens RFC7009/2.1/at-once RFC7662/4/revoked " +
		"RFC7009/2.1/access-token-ends-refresh-token"
	const refreshEnds = "RFC7009/2/refresh-tokens RFC7009/2/public-client"
	const hints = "RFC7009/2.1/hint-is-a-hint RFC7009/2.2/invalid-hint-ignored"
	return []fault{
		{name: "nothing is revoked", at: revokePath, spoil: refusingIf(own, done), fails: accessEnds + " " + refreshEnds,
			blocks: hints, skips: "RFC7009/2.1/refresh-token-ends-access-tokens"},
		{name: "access tokens are not revoked", at: revokePath,
			spoil: refusingIf(func(p *proxy, q *ask) bool { return own(p, q) && !refresh(p, q) }, done), fails: accessEnds},
		{name: "refresh tokens are not revoked", at: revokePath,
			spoil: refusingIf(func(p *proxy, q *ask) bool { return own(p, q) && refresh(p, q) }, done),
			fails: refreshEnds + " RFC7009/2.1/refresh-token-ends-access-tokens", blocks: hints},
		{name: "refresh tokens cannot be revoked", at: revokePath,
			spoil: refusingIf(refresh, func() *wire.Answer { return refusal(http.StatusBadRequest, "unsupported_token_type") }),
			fails: "RFC7009/2/refresh-tokens RFC7009/2/public-client", blocks: hints, hides: "RFC7009/2.1"},
		{name: "access tokens cannot be revoked", at: revokePath,
			spoil: refusingIf(func(p *proxy, q *ask) bool { return own(p, q) && !refresh(p, q) },
				func() *wire.Answer { return refusal(http.StatusBadRequest, "unsupported_token_type") }),
			fails: "RFC7009/2/access-tokens", hides: "RFC7009/2.1 RFC7662/4/revoked"},
		{name: "no token can be revoked", at: revokePath,
			spoil: refusingIf(own, func() *wire.Answer { return refusal(http.StatusBadRequest, "unsupported_token_type") }),
			fails: "RFC7009/2/access-tokens RFC7009/2/refresh-tokens RFC7009/2/public-client RFC7009/2.2/status-200",
			hides: "RFC7009/2.1 RFC7009/2.2/invalid-hint-ignored RFC7662/4/revoked"},
		{name: "the revocation endpoint refuses every request", at: revokePath,
			spoil: func(*proxy, *ask) *wire.Answer { return unknownClient() },
			fails: "RFC7009/2/access-tokens RFC7009/2/refresh-tokens RFC7009/2/public-client RFC7009/2.2/status-200 " +
				"RFC7009/2.2/invalid-token-200 RFC7009/2.3/cors",
			blocks: "RFC7009/2.1/client-authenticated RFC7009/2.1/refusal-is-reported RFC7009/2.1/at-once " +
				"RFC7009/2.1/refresh-token-ends-access-tokens " +
				"RFC7009/2.1/token-required RFC7009/2.2.1/invalid-client RFC7662/4/revoked " + hints, hides: "RFC7009/2.1"},
		{name: "revocation takes effect only at the second introspection", spoil: func(p *proxy, q *ask) *wire.Answer {
			if q.path == revokePath && own(p, q) && !refresh(p, q) {
				p.keep("waits "+q.form().Get("token"), q.body)
				p.keep("header "+q.form().Get("token"), q.header)
				return done()
			}
			a := p.real(q)
			if token := q.form().Get("token"); q.path == introspectPath && p.note("waits "+token) != "" {
				header, _ := p.value("header " + token).(http.Header)
				p.real(&ask{http.MethodPost, revokePath, "", p.note("waits " + token), header})
			}
			return a
		}, fails: "RFC7009/2/access-tokens RFC7009/2.1/at-once RFC7662/4/revoked " +
			"RFC7009/2.1/access-token-ends-refresh-token"},
		{name: "access tokens outlive their refresh token", spoil: func(p *proxy, q *ask) *wire.Answer {
			if access := p.note("beside " + q.form().Get("token")); q.path == revokePath && access != "" && own(p, q) {
				p.keep("outlives "+access,
					p.real(&ask{http.MethodPost, introspectPath, "", wire.Params("token", access).Encode(), p.asIntrospecting()}))
			}
			if first, is := p.value("outlives " + q.form().Get("token")).(*wire.Answer); is && q.path == introspectPath {
				return first
			}
			return p.real(q)
		}, fails: "RFC7009/2.1/refresh-token-ends-access-tokens"},
		{name: "refresh tokens outlive their access token", spoil: func(p *proxy, q *ask) *wire.Answer {
			token := q.form().Get("token")
			switch {
			case q.path == revokePath && own(p, q) && !refresh(p, q):
				p.keep("dead "+token, true)
				return done()
			case q.path == introspectPath && p.has("dead "+token):
				q.set("token", "dead")
			}
			return p.real(q)
		}, fails: "RFC7009/2.1/access-token-ends-refresh-token"},
		{name: "public clients cannot revoke", at: revokePath, spoil: refusingIf(func(p *proxy, q *ask) bool {
			id, _ := q.client()
			return id == p.target.Clients[need.Public].ID
		}, unknownClient), fails: "RFC7009/2/public-client"},
		{name: "secrets are not compared at revocation", at: revokePath, spoil: spoiling(func(p *proxy, q *ask) {
			id, _ := q.client()
			q.as(p.client(id))
		}), fails: "RFC7009/2.1/client-authenticated", blocks: "RFC7009/2.2.1/invalid-client"},
		{name: "a wrong secret revokes nothing and is answered with 200", at: revokePath,
			spoil: refusingIf(func(p *proxy, q *ask) bool { return !p.proven(q) }, done),
			fails: "RFC7009/2.1/client-authenticated", blocks: "RFC7009/2.2.1/invalid-client"},
		{name: "any client revokes any token", at: revokePath, spoil: spoiling(func(p *proxy, q *ask) {
			if c := p.owner(q.form().Get("token")); c != nil && p.proven(q) {
				q.as(c)
			}
		}), fails: "RFC7009/2.1/own-tokens-only RFC7009/2.1/refusal-is-reported"},
		{name: "a refused revocation is answered with 200", at: revokePath, spoil: refusingIf(func(p *proxy, q *ask) bool {
			return p.owner(q.form().Get("token")) != nil && !own(p, q) && p.proven(q)
		}, done), fails: "RFC7009/2.1/refusal-is-reported"},
		{name: "a wrong token_type_hint prevents revocation", at: revokePath, spoil: refusingIf(func(p *proxy, q *ask) bool {
			return refresh(p, q) && q.form().Get("token_type_hint") == "access_token"
		}, done), fails: "RFC7009/2.1/hint-is-a-hint"},
		{name: "a wrong token_type_hint is an error at revocation", at: revokePath,
			spoil: refusingIf(func(p *proxy, q *ask) bool {
				return refresh(p, q) && q.form().Get("token_type_hint") == "access_token"
			}, func() *wire.Answer { return refusal(http.StatusBadRequest, "invalid_request") }),
			fails: "RFC7009/2.1/hint-is-a-hint"},
		{name: "revocation without a token is answered with 200", at: revokePath,
			spoil: refusingIf(func(_ *proxy, q *ask) bool { return !q.form().Has("token") }, done),
			fails: "RFC7009/2.1/token-required"},
		{name: "revocation is answered with 204", at: revokePath, spoil: answering(func(a *wire.Answer) {
			if a.Status == http.StatusOK {
				a.Status, a.Body = http.StatusNoContent, nil
			}
		}), fails: "RFC7009/2.2/status-200 RFC7009/2.2/invalid-token-200"},
		{name: "revocation of an unknown token is an error", at: revokePath, spoil: refusingIf(func(p *proxy, q *ask) bool {
			return strings.HasPrefix(q.form().Get("token"), "conformance-")
		}, func() *wire.Answer { return refusal(http.StatusBadRequest, "invalid_token") }),
			fails: "RFC7009/2.2/invalid-token-200"},
		{name: "a second revocation is an error", at: revokePath, spoil: func(p *proxy, q *ask) *wire.Answer {
			token := q.form().Get("token")
			if p.has("revoked " + token) {
				return refusal(http.StatusBadRequest, "invalid_token")
			}
			if own(p, q) {
				p.keep("revoked "+token, true)
			}
			return p.real(q)
		}, fails: "RFC7009/2.2/invalid-token-200"},
		{name: "an unknown hint is refused", at: revokePath, spoil: refusingIf(func(_ *proxy, q *ask) bool {
			return q.form().Get("token_type_hint") == "conformance"
		}, func() *wire.Answer { return refusal(http.StatusBadRequest, "unsupported_token_type") }),
			fails: "RFC7009/2.2/invalid-hint-ignored"},
		{name: "an unknown hint revokes nothing", at: revokePath, spoil: refusingIf(func(_ *proxy, q *ask) bool {
			return q.form().Get("token_type_hint") == "conformance"
		}, done), fails: "RFC7009/2.2/invalid-hint-ignored"},
		{name: "invalid_client is reported as invalid_request at revocation", at: revokePath,
			spoil: miscalling("invalid_client", "invalid_request"), fails: "RFC7009/2.2.1/invalid-client"},
		{name: "invalid_request is reported as invalid_client at revocation", at: revokePath,
			spoil: miscalling("invalid_request", "invalid_client"), fails: "RFC7009/2.1/token-required"},
		{name: "scripts cannot revoke", at: revokePath, spoil: answering(header("Access-Control-Allow-Origin", "")),
			fails: "RFC7009/2.3/cors"},
	}
}

// asIntrospecting returns a header with the credentials of the introspection client.
func (p *proxy) asIntrospecting() http.Header {
	q := &ask{header: http.Header{"Content-Type": {wire.FormEncoded}}}
	q.as(p.target.Clients[need.Introspect])
	return q.header
}
