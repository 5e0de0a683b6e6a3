package clientauth

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"mandate/provider/limits"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/storage"
)

// Authenticate returns the client that a request comes from, after client
// authentication (RFC 6749 §2.3). Every endpoint that requires client authentication
// calls it, Present or PresentAny.
func (p *Checks) Authenticate(ctx context.Context, r *http.Request, form url.Values) (storage.Application, error) {
	return p.authenticate(ctx, r, form, manner{}, &Caller{})
}

// Present authenticates a client as Authenticate does, and leaves the client assertion unused: a
// client that gets use_dpop_nonce repeats the request with the same one (RFC 9449 §8). The endpoint
// uses it with UseAssertion or AddToken before the request has an effect, and with UseFailed if the
// request fails. The Caller is never nil: an assertion is used also if the authentication has failed.
func (p *Checks) Present(ctx context.Context, r *http.Request, form url.Values) (*Caller, error) {
	by := &Caller{}
	a, err := p.authenticate(ctx, r, form, manner{later: true}, by)
	return by.authenticated(a, err)
}

// PresentAny authenticates a client as Present does, at an endpoint that begins an
// authorization. The metadata document of a client says how it authenticates there: the client
// may push its first request before any approval has stored it (RFC 9126 §2), and a key that it
// has removed from the document must not work.
func (p *Checks) PresentAny(ctx context.Context, r *http.Request, form url.Values) (*Caller, error) {
	by, id := &Caller{}, form.Get("client_id")
	if !SendsCredentials(r, form) && p.find.Described(ctx, id) {
		a, err := p.proveDescribed(ctx, id)
		return by.authenticated(a, err)
	}
	a, err := p.authenticate(ctx, r, form, manner{documents: true, later: true}, by)
	return by.authenticated(a, err)
}

// proveDescribed returns the client whose metadata document is at its client id, if it needs no
// credentials but its certificate.
func (p *Checks) proveDescribed(ctx context.Context, id string) (storage.Application, error) {
	a, err := p.find.ClientOrDocument(ctx, id)
	method := registered(a)[0]
	// CIMD-02 §8.2: a client whose document has a method with a key must use it.
	switch _, refused := errors.AsType[*oauth.Error](err); {
	case err == nil && method.Needs == Certificate:
		err = method.prove(p, ctx, a, credentials{id: id})
		if err != nil {
			err = refusalOf(a, err)
		}
		return a, err
	case err == nil && a.ClientType != policy.Public:
		return a, refusalOf(
			a,
			invalidClient(
				"The metadata document of this client has the method %s: send a client assertion.", oauth.Own(a.AuthMethod),
			),
		)
	case err == nil || refused || ctx.Err() != nil:
		return a, err
	}
	return a, oauth.Unavailable(err)
}

// authenticate is Authenticate and Present. It notes in by what the credentials leave to be done.
func (p *Checks) authenticate(
	ctx context.Context,
	r *http.Request,
	form url.Values,
	how manner,
	by *Caller,
) (storage.Application, error) {
	sent, err := clientCredentials(r, form)
	if err != nil {
		return storage.Application{}, p.useUnread(ctx, r, err, nil, how)
	}
	if sent.assertion != "" {
		return p.proveAssertion(ctx, r, sent, how, by)
	}
	a, err := p.identify(ctx, sent)
	if err != nil {
		return storage.Application{}, sent.explain(err)
	}
	by.secret = sent.secret
	return a, nil
}

// explain names a likely reason for a wrong secret: many programs send the client id and the secret as they are, and
// decoding changes each + and each % with two digits. The reason is the same for an unknown client.
//
// RFC 6749 §2.3.1: both are form-encoded.
func (c credentials) explain(err error) error {
	e, refused := errors.AsType[*oauth.Error](err)
	if !c.decoded || !refused || e.Description != wrongSecret().Description {
		return err
	}
	told := *e
	told.Description += " The client id and the secret were form-decoded: percent-encode each + and % in them before " +
		"joining them (RFC 6749, 2.3.1)."
	return &told
}

// identify finds the application and verifies its secret. Failed attempts are limited
// per client and network. A correct secret that the server generated is never refused
// by that limit: nobody can guess it, and a program that still uses an old secret must
// not lock out the others. A correct secret that a person chose is refused while the
// limit is reached.
func (p *Checks) identify(ctx context.Context, sent credentials) (storage.Application, error) {
	a, err := p.find.Client(ctx, sent.id)
	if errors.Is(err, storage.ErrNotFound) {
		// There is no end of unknown client ids, so only the address is counted.
		return storage.Application{}, p.wrongClient(limits.At(limits.AtUnknownClient, AddressOf(ctx)))
	}
	if err != nil {
		return storage.Application{}, oauth.Unavailable(err)
	}
	err = p.prove(ctx, a, sent)
	if err != nil {
		return storage.Application{}, refusalOf(a, err)
	}
	return a, nil
}

// prove checks that credentials are those of an application, and that it may use them.
func (p *Checks) prove(ctx context.Context, a storage.Application, sent credentials) error {
	suspended, method := p.rules.WhySuspended(a), registered(a)[0]
	if method.Strength == Nothing && suspended != "" {
		return suspendedClient(suspended)
	}
	err := method.prove(p, ctx, a, sent)
	switch {
	case err != nil:
		return err
	case suspended != "":
		return suspendedClient(suspended)
	case sent.secret != "" && !sendsBy(a, sent.method):
		// RFC 7591 §2: the client authenticates by the method that it has registered.
		return invalidClient(
			"This application is registered for %s, and sent its secret by %s.", oauth.Own(cmp.Or(a.AuthMethod, methodsOf(a))),
			oauth.Own(sent.method),
		)
	}
	return nil
}

// sendsBy reports whether an application may send its secret by a method.
func sendsBy(a storage.Application, method string) bool {
	if a.AuthMethod != "" {
		return a.AuthMethod == method
	}
	return slices.ContainsFunc(registered(a), func(m Method) bool { return m.Name == method })
}
