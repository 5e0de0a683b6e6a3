package clients

import (
	"cmp"
	"encoding/json"
	"maps"
	"strings"

	"mandate/provider/metadata"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/storage"
)

// answer describes an application to its registrant: all metadata as it now stands (RFC
// 7591 §3.2.1, RFC 7592 §3). It has no empty strings, which some clients refuse. secret is
// the new client secret, or "".
func (p *Clients) answer(a storage.Application, d description, secret string) map[string]any {
	now := p.rules.Effective(a)
	known := metadata.Client{ClientID: a.ClientID, ClientSecret: secret, Name: a.Name, RedirectURIs: d.registration.RedirectURIs, AuthMethod: a.AuthMethod,
		GrantTypes: policy.GrantTypes(now), Scope: strings.Join(p.rules.AllowedScopes(a), " "), PostLogoutURIs: oauth.Lines(a.PostLogoutURIs), BackchannelURI: a.BackchannelURI}
	if policy.HasGrant(now, policy.GrantCode) {
		known.ResponseTypes = []string{"code"}
	}
	if p.config.OpenID {
		known.IDTokenAlgorithm, known.UserInfoAlgorithm, known.SubjectType = cmp.Or(a.Algorithm, policy.DefaultAlgorithm), a.UserInfoAlgorithm, "public"
		if a.Sector != "" {
			known.SubjectType = "pairwise"
		}
	}
	answer := d.kept.Members()
	maps.Copy(answer, known.Members())
	answer["client_id_issued_at"] = a.CreatedAt
	if secret != "" {
		// RFC 7591 §3.2.1: it stands beside each secret. 0: the secret does not expire.
		answer["client_secret_expires_at"] = 0
	}
	// RFC 7592 §3: both are in each answer. Some clients fail without the address.
	answer["registration_client_uri"] = p.config.RegistrationURL + a.ClientID + "/"
	answer["registration_access_token"] = p.registrationToken(a)
	return answer
}

// describeStored returns the description that an application has in the database. The redirect
// URIs of a shared application are those of its first registrant; the others differ at
// most in the port of a loopback address.
func describeStored(a storage.Application) description {
	return description{registration: Registration{RedirectURIs: oauth.Lines(a.RedirectURIs)}, kept: metadataOf(a)}
}

// metadataOf returns the metadata of an application that decides nothing. An application
// that did not register itself has none.
func metadataOf(a storage.Application) metadata.Client {
	var kept metadata.Client
	if a.Metadata == "" {
		return kept
	}
	said, err := metadata.Parse([]byte(a.Metadata))
	if err != nil {
		return kept
	}
	// Parse sets defaults for members that are columns.
	kept = *said
	kept.AuthMethod, kept.GrantTypes, kept.ResponseTypes = "", nil, nil
	return kept
}

// Pages are web pages of an application, for people, and its logo, which only this server
// fetches. An empty address means that there is none.
type Pages struct{ Home, Policy, Terms, Logo string }

// PagesOf returns the pages and the logo that an application names in its metadata, as far as
// they have https and the host of one of its redirect URIs, or of its metadata document: the
// consent page names both.
//
// RFC 7591 §5: a client that registers itself could name a page of somebody else, or one
// that attacks its visitors, or wear the logo of somebody else.
func PagesOf(a storage.Application) Pages {
	kept, uris := metadataOf(a), oauth.Lines(a.RedirectURIs)
	if a.Origin == storage.FromDocument {
		uris = append(uris, a.ClientID)
	}
	own := func(page string) string {
		if strings.HasPrefix(page, "https:") && sharedHost(page, uris) {
			return page
		}
		return ""
	}
	return Pages{own(kept.ClientURI), own(kept.PolicyURI), own(kept.TermsURI), own(kept.LogoURI)}
}

// Limits is what an initial access token allows.
type Limits struct {
	Grants        []string `json:"grants"`
	Introspection bool     `json:"introspection,omitempty"`
	Scopes        []string `json:"scopes,omitempty"` // none: every scope
}

// ParseLimits reads stored limits. An application without limits may change nothing that
// depends on them.
func ParseLimits(text string) (Limits, error) {
	var l Limits
	if text == "" {
		return l, nil
	}
	err := json.Unmarshal([]byte(text), &l)
	return l, err
}
