package clients

import (
	"mandate/provider/metadata"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/possession"
	"mandate/storage"
)

// SenderConstraint returns the sender constraint that the metadata of a client asks for. An
// error is always a *metadata.Error.
//
// A token is bound to one thing, so a client cannot ask for both.
func SenderConstraint(said *metadata.Client) (string, error) {
	switch {
	case said.DPoPBound && said.CertificateBound:
		return "", &metadata.Error{Member: "dpop_bound_access_tokens", Problem: "and tls_client_certificate_bound_access_tokens must not both be true: a token is bound to a key or to a certificate"}
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
			found.Add("sender_constraint", "This server gets no certificates: its operator can set MTLS_LISTEN, or MTLS_CERTIFICATE_HEADER for a reverse proxy. Or use %s.", possession.DPoP)
		}
	default:
		found.Add("sender_constraint", "The sender constraint %q is not supported: use %s or %s, or leave it out.", oauth.Clip(r.SenderConstraint, 40), possession.DPoP, possession.Certificate)
	}
}

// checkPKCE checks whether the authorization requests of an application need a code challenge. Anybody may demand it, and
// only an administrator may let an application come without.
func checkPKCE(found *oauth.Invalid, actor policy.Actor, r Registration, was storage.Application, may policy.Allowance) {
	switch {
	case r.PKCE == "" || r.PKCE == policy.PKCERequired:
	case r.PKCE != policy.PKCEIfSent:
		found.Add("pkce", "The value %q is not supported: use %s, or leave it out.", oauth.Clip(r.PKCE, 40), oauth.OneOf(policy.PKCEValues()))
	// RFC 9700 §2.1.1: public clients use PKCE.
	case r.ClientType == policy.Public:
		found.Add("pkce", "A public application has no secret, so it needs PKCE.")
	case r.PKCE == was.PKCE:
	case !actor.Administers():
		found.Add("pkce", "Only an administrator may let an application come without PKCE.")
	case !may.AdministratorRights:
		found.Add("pkce", "No administrator is responsible for this application: take it over first.")
	}
}

// checkRotation checks whether the refresh tokens of an application are to be rotated. Rotation finds
// out that a refresh token was copied (RFC 9700 §4.14.2), so anybody may switch it on, and only an
// administrator may switch it off.
func checkRotation(found *oauth.Invalid, actor policy.Actor, said string, was storage.Application, may policy.Allowance) {
	switch {
	case said == "" || said == policy.RotationOn || said == was.RefreshRotation:
	case said != policy.RotationOff:
		found.Add("refresh_rotation", "The value %q is not supported: use %s, or leave it out.", oauth.Clip(said, 40), oauth.OneOf(policy.Rotations()))
	case !actor.Administers():
		found.Add("refresh_rotation", "Only an administrator may switch the rotation off.")
	case !may.AdministratorRights:
		found.Add("refresh_rotation", "No administrator is responsible for this application: take it over first.")
	}
}
