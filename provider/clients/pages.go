package clients

import (
	"maps"
	"slices"
	"strings"

	"mandate/provider/metadata"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/provider/policy"
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
//
// OIDC Registration §2.1: a page may be there for the reader's language.
func PagesOf(a storage.Application, language string) Pages {
	kept, uris := MetadataOf(a), oauth.Lines(a.RedirectURIs)
	if a.Origin == storage.FromDocument {
		uris = append(uris, a.ClientID)
	}
	own := func(member, page string) string {
		if in := translated(kept, member, language); strings.HasPrefix(in, "https:") && SharedHost(in, uris) {
			return in
		}
		if strings.HasPrefix(page, "https:") && SharedHost(page, uris) {
			return page
		}
		return ""
	}
	// The logo that this server keeps is the one without a language.
	return Pages{own("client_uri", kept.ClientURI), own("policy_uri", kept.PolicyURI), own("tos_uri", kept.TermsURI),
		own("", kept.LogoURI)}
}

// NameIn returns the name of an application in a language, or else its usual one (OIDC Registration §2.1,
// RFC 7591 §2.2). Whoever takes an application over, or changes it on its page, sees the usual name, and stands for
// that one alone.
func NameIn(a storage.Application, language string) string {
	if !policy.DescribesItself(a) {
		return a.Name
	}
	name, wrong := translated(MetadataOf(a), "client_name", language), &oauth.Invalid{}
	people.CheckText(wrong, "client_name", name)
	if wrong.Err() != nil || strings.TrimSpace(name) == "" {
		return a.Name
	}
	return name
}

// translated returns the value of a member in a language, or "". A value for a region, such as client_name#de-CH, is
// for all who read the language, if there is none for the language itself.
//
// RFC 5646 §2.1.1: upper and lower case of a tag make no difference.
func translated(kept metadata.Client, member, language string) string {
	best := ""
	for _, name := range slices.Sorted(maps.Keys(kept.Translated)) {
		of, tag, _ := strings.Cut(name, "#")
		base, region, _ := strings.Cut(strings.ToLower(tag), "-")
		switch {
		case of != member || base != language:
		case region == "":
			return kept.Translated[name]
		case best == "":
			best = kept.Translated[name]
		}
	}
	return best
}

// MetadataOf returns the metadata of an application that decides nothing. An application
// that did not register itself has none.
func MetadataOf(a storage.Application) metadata.Client {
	kept, _ := keptOf(a)
	return kept
}

// keptOf returns the metadata of an application that decides nothing, and what is wrong with members of it that are
// left out: they were stored before a rule was.
func keptOf(a storage.Application) (metadata.Client, []*metadata.Error) {
	if a.Metadata == "" {
		return metadata.Client{}, nil
	}
	said, dropped := metadata.Kept([]byte(a.Metadata))
	// Kept sets defaults for members that are columns.
	said.AuthMethod, said.GrantTypes, said.ResponseTypes = "", nil, nil
	return *said, dropped
}
