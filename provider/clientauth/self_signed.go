package clientauth

import (
	"context"
	"errors"

	"mandate/provider/jose"
	"mandate/provider/keysets"
	"mandate/provider/metadata"
	"mandate/storage"
)

// MethodSelfSigned is a certificate that is registered itself (RFC 8705 §2.2).
const MethodSelfSigned = metadata.MethodSelfSigned

var selfSigned = Method{
	Name:     MethodSelfSigned,
	Label:    "Self-signed certificate",
	Needs:    Certificate,
	Strength: PrivateKey,
	Open:     true,
	FAPI:     true,
	offered:  func(c Config) bool { return c.Certificates },
	prove:    (*Checks).proveRegistered,
}

// proveRegistered checks that a certificate is one of those in the keys of the client.
//
// RFC 8705 §2.2: the chain is not validated. The dates are a part of that validation, so an
// expired certificate works until it is removed from the keys: whoever registered it decides.
func (p *Checks) proveRegistered(ctx context.Context, a storage.Application, sent credentials) error {
	shown, err := shownCertificate(ctx, a, sent)
	if err != nil {
		return err
	}
	kid, known := "", []jose.JWK(nil)
	keys, err := p.keysets.find(ctx, a, func(set jose.JWKSet) []any {
		known = set.Keys
		k, found := set.WithCertificate(shown.Raw)
		if !found {
			return nil
		}
		kid = k.ID
		return []any{k}
	})
	switch {
	case len(keys) > 0:
		p.find.Used(a, kid)
		return nil
	case err == nil || errors.Is(err, jose.ErrInvalid):
		return invalidClient("The client certificate is not the first one in the x5c of a key that is registered for this " +
			"application.").
			Because(errors.New("it has " + namesOn(shown) + " and x5t#S256 " + shown.Thumbprint() + ", and registered are " +
				registeredKeys(known)))
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, keysets.ErrBusy):
		return BusyKeys()
	}
	return certificateProblem(
		"The keys of the application cannot be fetched now, so nobody can tell whether the client certificate is registered.",
		err,
	)
}
