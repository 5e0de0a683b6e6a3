package authorize

import (
	"context"
	"errors"
	"maps"
	"net/url"
	"slices"

	"mandate/provider/clientauth"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/requestobject"
	"mandate/provider/seal"
	"mandate/storage"
)

// openObject returns the request that a request object encloses (RFC 9101 §5.1). Of what the
// browser brought beside it, client_id alone is read.
func (p *Authorizations) openObject(ctx context.Context, sent url.Values) (Request, error) {
	id := sent["client_id"]
	if len(id) != 1 || !oauth.PlainText(id[0]) {
		return Request{Parameters: sent}, nil // checked like any request, which fails
	}
	// RFC 9101 §5: the two are never used together.
	if hasValue(sent, "request_uri") {
		return Request{Parameters: sent, refused: oauth.Refuse("invalid_request", "Send either request or request_uri.")}, nil
	}
	if len(sent["request"]) != 1 {
		return Request{
			Parameters: sent,
			refused:    oauth.Refuse("invalid_request", "The parameter request is sent more than once."),
		}, nil
	}
	a, err := p.client(ctx, id[0])
	if err != nil {
		return Request{}, err
	}
	return p.readObject(ctx, a, sent, sent.Get("request"))
}

// openReference returns the request that a request object at an address encloses (RFC 9101 §5.2).
// Nothing is proven if it cannot be read, so the error is shown on a page.
func (p *Authorizations) openReference(ctx context.Context, sent url.Values) (Request, error) {
	for _, name := range []string{"client_id", "request_uri"} {
		if len(sent[name]) != 1 || !oauth.PlainText(sent[name][0]) {
			return Request{}, oauth.Refuse("invalid_request", "Send %s exactly once.", oauth.Own(name))
		}
	}
	a, err := p.client(ctx, sent.Get("client_id"))
	if err != nil {
		return Request{}, err
	}
	object, err := p.clients.ObjectAt(ctx, a, sent.Get("request_uri"))
	if err != nil {
		return Request{}, err
	}
	return p.readObject(ctx, a, sent, object)
}

// readObject returns the request that a request object of an application encloses. sent is what
// the browser brought.
//
// RFC 9101 §6.3: only the parameters in the object count.
func (p *Authorizations) readObject(
	ctx context.Context,
	a storage.Application,
	sent url.Values,
	object string,
) (Request, error) {
	digest := seal.Digest(object)
	at, again := p.openedBefore(ctx, digest, sent)
	parameters, err := p.enclosed(ctx, nil, a, object, at)
	// RFC 9101 §7: the client gets this error if the parameters outside say where it goes.
	if refused, ok := errors.AsType[*oauth.Error](err); ok && refused.Code == wrongObject {
		return Request{Parameters: sent, refused: refused}, nil
	}
	if err != nil {
		return Request{}, err
	}
	return Request{
		Parameters: parameters,
		Signed:     true,
		opened:     opened{digest, maps.Clone(sent), at, again},
		refused:    p.wrongOutside(sent, parameters),
	}, nil
}

const wrongObject = "invalid_request_object"

// enclosed returns the parameters in a request object, at a time. by is the client that has pushed it, or nil.
func (p *Authorizations) enclosed(
	ctx context.Context,
	by *clientauth.Caller,
	a storage.Application,
	object string,
	at int64,
) (url.Values, error) {
	raw, err := p.clients.ObjectClaims(ctx, by, a, object)
	if err != nil {
		return nil, err
	}
	parameters, err := requestobject.Parameters(raw, requestobject.Rules{
		ClientID: a.ClientID,
		Issuer:   p.config.Issuer,
		Bounded:  policy.SignsMessages(a),
	}, at)
	if wrong, ok := errors.AsType[*requestobject.Error](err); ok {
		e := oauth.Refuse(wrongObject, "%s", wrong)
		e.LogText = "The request object " + wrong.Problem // without the name that the client chose
		return nil, e
	}
	return parameters, err
}

// wrongOutside checks the parameters beside a request object that has no other mistake.
//
// RFC 9101 §5: a request has client_id and the object, and nothing else is needed outside. OIDC
// Core §6.1 wants response_type and the scope openid there too, which common clients leave out, so
// RFC 9101 is followed. OIDC Core §6.1: a response_type outside is that of the object.
func (p *Authorizations) wrongOutside(sent, inside url.Values) *oauth.Error {
	if sent.Has("response_type") && !slices.Equal(sent["response_type"], inside["response_type"]) {
		return oauth.Refuse(
			"invalid_request",
			"The parameter response_type outside the request object must be the same as inside: leave it out.",
		)
	}
	return nil
}

// pushedObject returns the parameters of a request object that was pushed.
func (p *Authorizations) pushedObject(
	ctx context.Context,
	by *clientauth.Caller,
	a storage.Application,
	form url.Values,
) (url.Values, error) {
	for name := range form {
		// RFC 9126 §3: only what authenticates the client stands beside the object. All
		// parameters of the request are in it.
		if name != "request" && name != "client_id" && !slices.Contains(credentials[:], name) {
			return nil, oauth.Refuse(
				"invalid_request",
				"Beside a request object only client_id and the credentials of the client may be pushed: move %s into the object.",
				oauth.Clip(name, 80),
			)
		}
	}
	return p.enclosed(ctx, by, a, form.Get("request"), oauth.Now())
}
