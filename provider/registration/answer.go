package registration

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"maps"
	"strings"

	"mandate/provider/clients"
	"mandate/provider/metadata"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/possession"
	"mandate/provider/seal"
	"mandate/storage"
)

// registrationPrefix begins each registration access token, so that programs that search
// for leaked secrets find it.
const registrationPrefix = "mrg_"

// registrationToken returns the registration access token of an application. It is derived
// from the server key, so the database holds nothing that works as one, and an identical
// registration gets the same token.
func (p *Registrations) registrationToken(a storage.Application) string {
	return registrationPrefix + base64.RawURLEncoding.EncodeToString(seal.Mac(p.key, a.ID+" "+a.ClientID))
}

// answer describes an application to its registrant: all metadata as it now stands (RFC
// 7591 §3.2.1, RFC 7592 §3). It has no empty strings, which some clients refuse. secret is
// the new client secret, or "".
func (p *Registrations) answer(a storage.Application, d description, secret string) map[string]any {
	now := p.rules.Effective(a)
	known := metadata.Client{
		ClientID:         a.ClientID,
		ClientSecret:     secret,
		Name:             a.Name,
		RedirectURIs:     d.registration.RedirectURIs,
		GrantTypes:       policy.GrantTypes(now),
		Scope:            strings.Join(p.rules.AllowedScopes(a), " "),
		DPoPBound:        a.SenderConstraint == possession.DPoP,
		CertificateBound: a.SenderConstraint == possession.Certificate,
		DefaultACR:       strings.Fields(a.DefaultACR),
	}
	if a.JWKS != "" {
		known.JWKS = json.RawMessage(a.JWKS)
	}
	if policy.HasGrant(now, policy.GrantCode) {
		known.ResponseTypes = []string{"code"}
	}
	if p.config.OpenID {
		known.IDTokenAlgorithm, known.UserInfoAlgorithm, known.SubjectType = cmp.Or(a.Algorithm, policy.DefaultAlgorithm),
			a.UserInfoAlgorithm, "public"
		known.ClaimsInIDToken = a.ClaimsInIDToken
		if a.Sector != "" {
			known.SubjectType = "pairwise"
		}
	}
	answer := d.kept.Members()
	maps.Copy(answer, known.Members())
	for _, f := range clients.Fields() {
		if value := f.Stored(&a); value != nil && (f.Answered || f.Plain) {
			answer[f.MetadataName()] = value
		}
	}
	if member, value, found := strings.Cut(a.CertificateSubject, "="); found {
		answer[member] = value
	}
	answer["client_id_issued_at"] = a.CreatedAt
	if secret != "" {
		// RFC 7591 §3.2.1: it stands beside each secret. 0: the secret does not expire.
		answer["client_secret_expires_at"] = 0
	}
	// RFC 7592 §3: both are in each answer. Some clients fail without the address.
	answer["registration_client_uri"] = p.config.URL + a.ClientID + "/"
	answer["registration_access_token"] = p.registrationToken(a)
	return answer
}

// describeStored returns the description that an application has in the database. The redirect
// URIs of a shared application are those of its first registrant; the others differ at
// most in the port of a loopback address.
func describeStored(a storage.Application) description {
	return description{registration: clients.Registration{RedirectURIs: oauth.Lines(a.RedirectURIs)},
		kept: clients.MetadataOf(a)}
}
