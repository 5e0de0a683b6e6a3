package conformance

import (
	"net/http"
	"strings"
)

// Faults of revocation (RFC 7009).
func revocationFaults() []fault {
	done := func() *Answer { return &Answer{Status: http.StatusOK, Header: http.Header{}} }
	own := func(p *proxy, q *ask) bool {
		id, _ := q.client()
		c := p.owner(q.form().Get("token"))
		return c != nil && c.ID == id && p.proven(q)
	}
	refresh := func(p *proxy, q *ask) bool { return p.has("refresh " + q.form().Get("token")) }
	const accessEnds = "RFC7009/2/access-tokens RFC7009/2.1/at-once RFC7662/4/revoked RFC7009/2.1/access-token-ends-refresh-token"
	const refreshEnds = "RFC7009/2/refresh-tokens RFC7009/2/public-client RFC7009/2.1/refresh-token-ends-access-tokens RFC7009/2.1/hint-is-a-hint RFC7009/2.2/invalid-hint-ignored"
	return []fault{
		{name: "nothing is revoked", at: revokePath, spoil: refusingIf(own, done), fails: accessEnds + " " + refreshEnds},
		{name: "access tokens are not revoked", at: revokePath, spoil: refusingIf(func(p *proxy, q *ask) bool { return own(p, q) && !refresh(p, q) }, done), fails: accessEnds},
		{name: "refresh tokens are not revoked", at: revokePath, spoil: refusingIf(func(p *proxy, q *ask) bool { return own(p, q) && refresh(p, q) }, done), fails: refreshEnds},
		{name: "refresh tokens cannot be revoked", at: revokePath, spoil: refusingIf(refresh, func() *Answer { return refusal(http.StatusBadRequest, "unsupported_token_type") }),
			fails: "RFC7009/2/refresh-tokens RFC7009/2/public-client RFC7009/2.2/invalid-hint-ignored",
			hides: "RFC7009/2.1"},
		{name: "access tokens cannot be revoked", at: revokePath, spoil: refusingIf(func(p *proxy, q *ask) bool { return own(p, q) && !refresh(p, q) },
			func() *Answer { return refusal(http.StatusBadRequest, "unsupported_token_type") }),
			fails: "RFC7009/2/access-tokens RFC7009/2.2/status-200", hides: "RFC7009/2.1 RFC7009/2.2/invalid-token-200 RFC7662/4/revoked"},
		{name: "revocation takes effect at the second look", spoil: func(p *proxy, q *ask) *Answer {
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
		}, fails: "RFC7009/2/access-tokens RFC7009/2.1/at-once RFC7662/4/revoked RFC7009/2.1/access-token-ends-refresh-token"},
		{name: "access tokens outlive their refresh token", spoil: func(p *proxy, q *ask) *Answer {
			if access := p.note("beside " + q.form().Get("token")); q.path == revokePath && access != "" && own(p, q) {
				p.keep("outlives "+access, p.real(&ask{http.MethodPost, introspectPath, "", params("token", access).Encode(), p.asIntrospecting()}))
			}
			if first, is := p.value("outlives " + q.form().Get("token")).(*Answer); is && q.path == introspectPath {
				return first
			}
			return p.real(q)
		}, fails: "RFC7009/2.1/refresh-token-ends-access-tokens"},
		{name: "refresh tokens outlive their access token", spoil: func(p *proxy, q *ask) *Answer {
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
			return id == p.target.Clients[NeedPublic].ID
		}, unknownClient), fails: "RFC7009/2/public-client"},
		{name: "secrets are not compared at revocation", at: revokePath, spoil: spoiling(func(p *proxy, q *ask) {
			id, _ := q.client()
			q.as(p.client(id))
		}), fails: "RFC7009/2.1/client-authenticated RFC7009/2.2.1/invalid-client"},
		{name: "a wrong secret revokes nothing, and is not told", at: revokePath, spoil: refusingIf(func(p *proxy, q *ask) bool { return !p.proven(q) }, done),
			fails: "RFC7009/2.1/client-authenticated RFC7009/2.2.1/invalid-client"},
		{name: "any client revokes any token", at: revokePath, spoil: spoiling(func(p *proxy, q *ask) {
			if c := p.owner(q.form().Get("token")); c != nil && p.proven(q) {
				q.as(c)
			}
		}), fails: "RFC7009/2.1/own-tokens-only RFC7009/2.1/told-of-refusal"},
		{name: "who may not revoke is told that it is done", at: revokePath, spoil: refusingIf(func(p *proxy, q *ask) bool {
			return p.owner(q.form().Get("token")) != nil && !own(p, q) && p.proven(q)
		}, done), fails: "RFC7009/2.1/told-of-refusal"},
		{name: "the hint decides at revocation", at: revokePath, spoil: refusingIf(func(p *proxy, q *ask) bool {
			return refresh(p, q) && q.form().Get("token_type_hint") == "access_token"
		}, done), fails: "RFC7009/2.1/hint-is-a-hint"},
		{name: "revocation without a token is done", at: revokePath, spoil: refusingIf(func(_ *proxy, q *ask) bool { return !q.form().Has("token") }, done),
			fails: "RFC7009/2.1/token-required"},
		{name: "revocation is answered with 204", at: revokePath, spoil: answering(func(a *Answer) {
			if a.Status == http.StatusOK {
				a.Status, a.Body = http.StatusNoContent, nil
			}
		}), fails: "RFC7009/2.2/status-200 RFC7009/2.2/invalid-token-200"},
		{name: "revocation of what is not there is an error", at: revokePath, spoil: refusingIf(func(p *proxy, q *ask) bool {
			return strings.HasPrefix(q.form().Get("token"), "conformance-")
		}, func() *Answer { return refusal(http.StatusBadRequest, "invalid_token") }), fails: "RFC7009/2.2/invalid-token-200"},
		{name: "revocation a second time is an error", at: revokePath, spoil: func(p *proxy, q *ask) *Answer {
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
		}, func() *Answer { return refusal(http.StatusBadRequest, "unsupported_token_type") }), fails: "RFC7009/2.2/invalid-hint-ignored"},
		{name: "an unknown hint revokes nothing", at: revokePath, spoil: refusingIf(func(_ *proxy, q *ask) bool {
			return q.form().Get("token_type_hint") == "conformance"
		}, done), fails: "RFC7009/2.2/invalid-hint-ignored"},
		{name: "invalid_client is called invalid_request at revocation", at: revokePath, spoil: miscalling("invalid_client", "invalid_request"), fails: "RFC7009/2.2.1/invalid-client"},
		{name: "invalid_request is called invalid_client at revocation", at: revokePath, spoil: miscalling("invalid_request", "invalid_client"), fails: "RFC7009/2.1/token-required"},
		{name: "scripts cannot revoke", at: revokePath, spoil: answering(header("Access-Control-Allow-Origin", "")), fails: "RFC7009/2.3/cors"},
	}
}

// asIntrospecting is the header of a request of the client that may introspect.
func (p *proxy) asIntrospecting() http.Header {
	q := &ask{header: http.Header{"Content-Type": {formEncoded}}}
	q.as(p.target.Clients[NeedIntrospect])
	return q.header
}
