package clients

import (
	"context"
	"errors"
	"slices"
	"strings"

	"mandate/provider/clientauth"
	"mandate/provider/jose"
	"mandate/provider/keysets"
	"mandate/provider/limits"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/requestobject"
	"mandate/storage"
)

// ObjectAlgorithms lists the signature algorithms that a request object may have.
//
// RFC 9101 §10.1: the algorithm none is never accepted. Nor is one with a shared secret, because
// the server would know the key of the signature.
func ObjectAlgorithms() []string { return clientauth.KeyAlgorithms() }

// wrongObject returns the Error for a request object that cannot be used (RFC 9101 §7).
func wrongObject(format string, args ...any) *oauth.Error {
	return oauth.Refuse("invalid_request_object", format, args...)
}

// ObjectClaims returns the claims of a request object, as JSON, after it has verified that the
// application signed it (RFC 9101 §6.2). What the claims say is not checked. by is the client that has
// pushed the object, or nil.
func (p *Clients) ObjectClaims(
	ctx context.Context,
	by *clientauth.Caller,
	a storage.Application,
	object string,
) ([]byte, error) {
	may := objectAlgorithms(a)
	looked, giveBack := false, func() {}
	raw, err := jose.Verifier{
		Algorithms: may,
		Types:      requestobject.Types(),
		Keys: func(h jose.Header, _ []byte) ([]any, error) {
			looked = true
			// RFC 9101 §6.2: the kid chooses one of the keys that the client has registered. A key
			// that the header itself has, or an address of one, proves nothing.
			keys, err := p.FindKeys(ctx, a, func(set jose.JWKSet) []any { return set.For(h) })
			if err != nil && !errors.Is(err, jose.ErrInvalid) {
				return nil, err
			}
			// Anybody can send an object with the client id of anybody, and to verify one costs time. A right one
			// gives the try back. A client that has authenticated must not wait because of its neighbours.
			if by == nil || !by.Accountable() {
				back, limited := p.limits.Request(limits.At(limits.AtObject, clientauth.AddressOf(ctx)))
				if limited != nil {
					return nil, limited
				}
				giveBack = back
			}
			if err != nil {
				return nil, err
			}
			return keys, p.MayVerify(ctx, a, "object ")
		},
	}.Verify(object)
	refused, limited := errors.AsType[*oauth.Error](err)
	switch {
	case err == nil:
		giveBack()
		return raw, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case limited:
		giveBack() // nothing was verified
		return nil, refused
	// RFC 9101 §6.1: this server decrypts nothing.
	case strings.Count(object, ".") == 4:
		return nil, wrongObject("The request object is encrypted, which this server does not support: sign it, and do not " +
			"encrypt it.")
	case !looked:
		return nil, wrongObject(
			"The request object must be one signed JWT whose header has the alg %s, no typ or the typ oauth-authz-req+jwt or "+
				"JWT, and no crit.",
			oauth.OneOf(may),
		)
	case errors.Is(err, keysets.ErrBusy):
		return nil, clientauth.BusyKeys()
	case errors.Is(err, jose.ErrInvalid):
		return nil, wrongObject("The signature of the request object is not that of a key which this client has " +
			"registered: check jwks or jwks_uri of the registration, and the kid in the header.")
	}
	return nil, wrongObject("The keys at the jwks_uri of this client cannot be read now. Try again in a moment.").
		Because(err)
}

// objectAlgorithms returns the signature algorithms that the request objects of an application
// may have.
//
// OIDC Registration §2: request_object_signing_alg is the only one, if it is registered.
func objectAlgorithms(a storage.Application) []string {
	return slices.DeleteFunc(
		policy.Algorithms(a, ObjectAlgorithms()),
		func(name string) bool { return a.ObjectAlgorithm != "" && name != a.ObjectAlgorithm },
	)
}
