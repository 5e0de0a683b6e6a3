package clients

import (
	"fmt"
	"slices"
	"strings"

	"mandate/provider/jose"
	"mandate/provider/metadata"
	"mandate/provider/oauth"
	"mandate/storage"
)

// Messages says how an application signs its authorization requests, and how the server signs
// the responses.
type Messages struct {
	ObjectAlgorithm   string   // the only one of its request objects; "": each of ObjectAlgorithms
	RequireSigned     bool     // refuse requests that are in no request object (RFC 9101 §10.5)
	RequestURIs       []string // the only addresses of its request objects
	ResponseAlgorithm string   // signs its responses (JARM §3); "": RS256
	ResponseModes     []string // the only response modes that it may use; none: each
}

// maxRequestURI is the largest size of a request URI in bytes.
//
// RFC 9101 §5.2: it should not be longer, because browsers carry it.
const maxRequestURI = 512

// ResponseModes lists all response modes that an application can register. A server without
// OpenID Connect, or without a signing key, supports some of them only.
func ResponseModes() []string {
	return []string{"query", "form_post", "jwt", "query.jwt", "form_post.jwt"}
}

// checkMessages checks how the messages of an application are to be signed.
func (p *Clients) checkMessages(found *oauth.Invalid, r Registration, was storage.Application) {
	said := r.Messages
	if said.ObjectAlgorithm != "" && !slices.Contains(ObjectAlgorithms(), said.ObjectAlgorithm) {
		found.Add("object_algorithm", "The algorithm %q is not supported: use %s.", oauth.Clip(said.ObjectAlgorithm, 40),
			oauth.OneOf(ObjectAlgorithms()))
	}
	// The server could verify no request of this application.
	if said.RequireSigned && r.Authentication.JWKS == "" && r.Authentication.JWKSURI == "" {
		found.Add("require_signed", "Register the public keys of the application first: they verify its request objects.")
	}
	// JARM §3: the algorithm none is not allowed.
	if said.ResponseAlgorithm != "" && !slices.Contains(jose.Algorithms(), said.ResponseAlgorithm) {
		found.Add("response_algorithm", "The algorithm %q is not supported: use %s.", oauth.Clip(said.ResponseAlgorithm, 40),
			oauth.OneOf(jose.Algorithms()))
	}
	for _, mode := range said.ResponseModes {
		if !slices.Contains(ResponseModes(), mode) {
			found.Add("response_modes", "There is no response mode %q on this server: use %s.", oauth.Clip(mode, 40),
				oauth.OneOf(ResponseModes()))
		}
	}
	registered := oauth.Lines(was.RequestURIs)
	switch {
	case oauth.SameSet(said.RequestURIs, registered):
	case !p.config.ObjectsByReference && !oauth.Covers(registered, said.RequestURIs):
		found.Add("request_uris", "This server reads no request objects at an address: its operator can allow it with "+
			"REQUEST_OBJECTS_BY_REFERENCE.")
	default:
		checkURIs(found, "request_uris", said.RequestURIs, func(uri string) string { return p.wrongRequestURI(uri, was) })
	}
}

// wrongRequestURI says what is wrong with the address of a request object, or returns "".
func (p *Clients) wrongRequestURI(uri string, was storage.Application) string {
	if len(uri) > maxRequestURI {
		return fmt.Sprintf("must be at most %d bytes long", maxRequestURI)
	}
	// OIDC Core §6.2: the fragment may be the digest of the object.
	address, _, _ := strings.Cut(uri, "#")
	return p.wrongFetchedURI(address, was)
}

// MessagesFrom returns what the metadata of a client says. It leaves out the response modes that
// this server does not have, and the addresses of request objects if the server reads none.
func (p *Clients) MessagesFrom(c *metadata.Client) Messages {
	said := Messages{c.RequestAlgorithm, c.RequireSigned, c.RequestURIs, c.ResponseAlgorithm,
		oauth.Narrow(c.ResponseModes, ResponseModes())}
	if !p.config.ObjectsByReference {
		said.RequestURIs = nil
	}
	if len(c.ResponseModes) > 0 && len(said.ResponseModes) == 0 {
		said.ResponseModes = c.ResponseModes // refused: an empty list would be every mode
	}
	return said
}
