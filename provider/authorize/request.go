package authorize

import (
	"context"
	"net/url"
	"slices"

	"mandate/provider/oauth"
)

// Request is an authorization request as a value: its parameters, and where they came from.
// It is resolved before anything else reads it: what a request refers to or encloses
// replaces its parameters as a whole.
type Request struct {
	Parameters url.Values
	Signed     bool   // the client has signed the parameters: a request object enclosed them
	pushed     pushed // if the client sent the parameters itself (RFC 9126)
	opened     opened // how the same browser comes back to this request
	// refused says why the parameters that this request encloses cannot be used, or is nil.
	// Parameters then only say where the error goes.
	refused *oauth.Error
}

// resolve returns the request that a browser has brought. Each way to send the parameters
// other than as they are is one case here. Nothing that checks a request, and nothing of
// fosite, reads the parameters request_uri and request.
//
// A parameter that no case takes stays in the request, and is refused by checkAuthorization.
func (p *Authorizations) resolve(ctx context.Context, sent url.Values) (Request, error) {
	switch {
	case isPushed(sent):
		return p.openPushed(ctx, sent)
	case hasValue(sent, "request"):
		return p.openObject(ctx, sent)
	case p.config.ObjectsByReference && hasValue(sent, "request_uri"):
		return p.openReference(ctx, sent)
	}
	return Request{Parameters: sent}, nil
}

// hasValue reports whether a parameter has a value that is not empty.
func hasValue(sent url.Values, name string) bool {
	return slices.ContainsFunc(sent[name], func(value string) bool { return value != "" })
}
