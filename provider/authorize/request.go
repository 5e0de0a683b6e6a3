package authorize

import (
	"context"
	"net/url"
)

// Request is an authorization request as a value: its parameters, and where they came from.
// It is resolved before anything else reads it: what a request refers to or encloses
// replaces its parameters as a whole.
type Request struct {
	Parameters url.Values
	Origin     Origin
	pushed     pushed // if Origin is Pushed
}

// Origin is where the parameters of a request came from.
type Origin int

// The origins.
const (
	Sent   Origin = iota // the browser brought them, in the query or in a form
	Pushed               // the client sent them itself (RFC 9126)
)

// resolve returns the request that a browser has brought. Each way to send the parameters
// other than as they are is one case here. Nothing that checks a request, and nothing of
// fosite, reads the parameters request_uri and request.
//
// A parameter that no case takes stays in the request, and is refused by checkAuthorization.
func (p *Authorizations) resolve(ctx context.Context, sent url.Values) (Request, error) {
	if isPushed(sent) {
		return p.openPushed(ctx, sent)
	}
	return Request{Parameters: sent, Origin: Sent}, nil
}
