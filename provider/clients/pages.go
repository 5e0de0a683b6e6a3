package clients

import (
	"strings"

	"mandate/provider/metadata"
	"mandate/provider/oauth"
	"mandate/storage"
)

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
	kept, uris := MetadataOf(a), oauth.Lines(a.RedirectURIs)
	if a.Origin == storage.FromDocument {
		uris = append(uris, a.ClientID)
	}
	own := func(page string) string {
		if strings.HasPrefix(page, "https:") && SharedHost(page, uris) {
			return page
		}
		return ""
	}
	return Pages{own(kept.ClientURI), own(kept.PolicyURI), own(kept.TermsURI), own(kept.LogoURI)}
}

// MetadataOf returns the metadata of an application that decides nothing. An application
// that did not register itself has none.
func MetadataOf(a storage.Application) metadata.Client {
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
