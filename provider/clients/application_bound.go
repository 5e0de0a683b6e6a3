package clients

import (
	"mandate/provider/metadata"
	"mandate/provider/oauth"
	"mandate/provider/possession"
)

// SenderConstraint returns the sender constraint that the metadata of a client asks for. An
// error is always a *metadata.Error.
//
// A token is bound to one thing, so a client cannot ask for both.
func SenderConstraint(said *metadata.Client) (string, error) {
	switch {
	case said.DPoPBound && said.CertificateBound:
		return "", &metadata.Error{Member: "dpop_bound_access_tokens",
			Problem: "and tls_client_certificate_bound_access_tokens must not both be true: a token is bound to a key or to a " +
				"certificate"}
	case said.DPoPBound:
		return possession.DPoP, nil
	case said.CertificateBound:
		return possession.Certificate, nil
	}
	return "", nil
}

// checkConstraint checks the sender constraint of an application.
func (p *Clients) checkConstraint(found *oauth.Invalid, r Registration, was string) {
	switch r.SenderConstraint {
	case "", possession.DPoP:
	case possession.Certificate:
		if !p.config.Certificates && was != possession.Certificate {
			found.Add("sender_constraint", "This server gets no certificates: its operator can set MTLS_LISTEN, or "+
				"MTLS_CERTIFICATE_HEADER for a reverse proxy. Or use %s.", possession.DPoP)
		}
	default:
		found.Add("sender_constraint", "The sender constraint %q is not supported: use %s or %s, or leave it out.",
			oauth.Clip(r.SenderConstraint, 40), possession.DPoP, possession.Certificate)
	}
}
