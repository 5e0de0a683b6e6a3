package faults

import (
	"net/http"
	"sync/atomic"
	"time"

	"mandate/conformance/need"
	"mandate/conformance/wire"
)

const parPath = "/o/par/"

// push is a pushed request, as the proxy keeps it by its request URI.
type push struct {
	ask ask
	at  time.Time
}

// pushFaults are faults of pushed authorization requests (RFC 9126).
func pushFaults() []fault {
	var number atomic.Int64
	pushed := func(change func(p *proxy, a *wire.Answer)) spoiler {
		return func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if a.Text("request_uri") != "" {
				change(p, a)
			}
			return a
		}
	}
	// opening changes what opens a pushed request.
	opening := func(change func(p *proxy, q *ask, of push) *wire.Answer) spoiler {
		return func(p *proxy, q *ask) *wire.Answer {
			if q.path == parPath {
				sent := push{ask{q.method, q.path, q.query, q.body, q.header.Clone()}, time.Now()}
				a := p.real(q)
				p.keep("pushed "+a.Text("request_uri"), sent)
				return a
			}
			of, known := p.value("pushed " + q.params().Get("request_uri")).(push)
			if !known {
				return p.real(q)
			}
			return change(p, q, of)
		}
	}
	// again pushes a request again, so that the request URI works again.
	again := func(p *proxy, q *ask, of push) *wire.Answer {
		of.ask.header = of.ask.header.Clone()
		q.setQuery("request_uri", p.real(&of.ask).Text("request_uri"))
		return p.real(q)
	}
	const both = authorizePath + " " + parPath
	without := func(names ...string) spoiler { // without these parameters
		return spoiling(func(_ *proxy, q *ask) {
			for _, name := range names {
				q.set(name, "")
			}
		})
	}
	return []fault{
		{name: "a pushed request needs no authentication", at: parPath, spoil: spoiling(func(p *proxy, q *ask) {
			if !p.proven(q) {
				c := p.target.Clients[need.Code]
				q.as(c)
				q.set("client_id", c.ID)
			}
		}), fails: "RFC9126/2/client-authenticated"},
		{name: "a pushed request without authentication is invalid_request", at: parPath,
			spoil: miscalling("invalid_client", "invalid_request"),
			fails: "RFC9126/2.3/invalid-client", passes: "RFC9126/2/client-authenticated"},
		{name: "a pushed request may name a request URI", at: parPath, spoil: without("request_uri"),
			fails: "RFC9126/2.1/no-request-uri"},
		{name: "the redirect URI of a pushed request is not validated", at: parPath, spoil: spoiling(func(p *proxy, q *ask) {
			if q.form().Get("redirect_uri") != p.target.Clients[need.Code].RedirectURI() {
				q.set("redirect_uri", p.target.Clients[need.Code].RedirectURI())
			}
		}), fails: "RFC9126/2.1/validated"},
		{name: "a client pushes requests for others", at: parPath, spoil: spoiling(func(p *proxy, q *ask) {
			if of := p.client(q.form().Get("client_id")); p.proven(q) && of != nil {
				q.as(of)
				q.set("client_id", of.ID)
			}
		}), fails: "RFC9126/2.1/own-request"},
		{name: "a push is answered with 200", at: parPath,
			spoil: pushed(func(_ *proxy, a *wire.Answer) { a.Status = http.StatusOK }), fails: "RFC9126/2.2/response"},
		{name: "a push does not tell the lifetime", at: parPath,
			spoil: pushed(func(_ *proxy, a *wire.Answer) { edit(a, put("expires_in", "12")) }), fails: "RFC9126/2.2/response",
			skips: "RFC9126/4/expired"},
		{name: "request URIs count up", at: parPath, spoil: pushed(func(_ *proxy, a *wire.Answer) {
			edit(a, put("request_uri", "urn:ietf:params:oauth:request_uri:"+string(rune('a'+number.Add(1)%26))))
		}), fails: "RFC9126/2.2/unguessable"},
		{name: "any client opens a pushed request", at: both, spoil: opening(func(p *proxy, q *ask, of push) *wire.Answer {
			q.setQuery("client_id", of.ask.form().Get("client_id"))
			return p.real(q)
		}), fails: "RFC9126/2.2/bound"},
		{name: "a push by GET is a bad request", at: parPath,
			spoil: refusingIf(func(_ *proxy, q *ask) bool { return q.method == http.MethodGet }, badRequest),
			fails: "RFC9126/2.3/method"},
		{name: "a refused push has the status 422", at: parPath, spoil: refusing(status(http.StatusUnprocessableEntity)),
			fails: "RFC9126/2.3/error"},
		{name: "the state of a pushed request is changed", at: parPath,
			spoil: spoiling(func(_ *proxy, q *ask) { q.set("state", "x") }), fails: "RFC9126/4/works"},
		{name: "a request URI works for ever", at: both, spoil: opening(again), fails: "RFC9126/4/expired RFC9126/4/once"},
		{name: "a request URI works until it expires", at: both, spoil: opening(func(p *proxy, q *ask, of push) *wire.Answer {
			if time.Since(of.at) < 5*time.Second {
				return again(p, q, of)
			}
			return p.real(q)
		}), fails: "RFC9126/4/once", passes: "RFC9126/4/expired"},
		{name: "a request URI is opened once", at: both, spoil: opening(func(p *proxy, q *ask, _ push) *wire.Answer {
			uri := q.params().Get("request_uri")
			if p.has("opened " + uri) {
				return badRequest()
			}
			p.keep("opened "+uri, true)
			return p.real(q)
		}), fails: "RFC9126/4/opened-again"},
		{name: "the metadata requires pushed requests, and the server does not",
			spoil: publishing(put("require_pushed_authorization_requests", true)), fails: "RFC9126/4/required"},
		{name: "the metadata does not say whether requests must be pushed",
			spoil: publishing(put("require_pushed_authorization_requests", nil)), fails: "RFC9126/5/metadata"},
		{name: "a registration forgets that requests must be pushed", at: registerPath,
			spoil: answering(func(a *wire.Answer) {
				edit(a, put("require_pushed_authorization_requests", nil))
			}), fails: "RFC9126/6/client-metadata", skips: "RFC9126/6/required-of-client"},
		{name: "that requests of a client must be pushed is only said", at: registerPath,
			spoil: onlySaid("require_pushed_authorization_requests"), fails: "RFC9126/6/required-of-client"},
	}
}
