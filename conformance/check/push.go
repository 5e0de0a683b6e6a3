package check

import (
	"net/url"

	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// Push sends an authorization request to the pushed authorization request endpoint (RFC 9126 §2.1), with the
// authentication of its client.
func (t *T) Push(r *Request) *wire.Answer { return t.PushAs(r.Client.Credentials(), r.Params) }

// PushAs pushes parameters with other authentication.
func (t *T) PushAs(as wire.Auth, params url.Values) *wire.Answer {
	return t.Post(t.Endpoint(need.PushedRequests), params, as)
}

// Pushed pushes a request that the server should accept. A browser opens the result by its request URI. Without a
// request URI the check is blocked.
func (t *T) Pushed(r *Request) *Request {
	a := t.Push(r)
	if a.Text("request_uri") == "" {
		t.Blockedf("the server did not accept a pushed request: %s", t.Failure(a))
	}
	pushed := *r
	pushed.URI = a.Text("request_uri")
	return &pushed
}
