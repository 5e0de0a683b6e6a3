package clients

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"mime"
	"net/url"
	"slices"
	"strings"
	"time"

	"mandate/provider/clientauth"
	"mandate/provider/documents"
	"mandate/provider/oauth"
	"mandate/provider/outbound"
	"mandate/provider/policy"
	"mandate/storage"
)

// maxObjectBytes is the size of the largest request object that is read at an address.
const maxObjectBytes = 16 << 10

// refusedRequestURI returns the Error for an address that cannot be used (RFC 9101 §7).
func refusedRequestURI(text string) *oauth.Error {
	return oauth.Refuse("invalid_request_uri", "%s", text)
}

// objects returns what is fetched at a request URI.
func objects() documents.Kind[string] {
	return documents.Kind[string]{
		Name:     "request objects",
		Accept:   "application/oauth-authz-req+jwt, application/jwt",
		MaxBytes: maxObjectBytes,
		MaxKept:  500,
		Longest:  5 * time.Minute,
		Read:     readObject,
		Explain: func(_ string, err error) error {
			return refusedRequestURI("The request object at request_uri cannot be read: the address must answer with the " +
				"status 200, without a redirect, with the media type application/oauth-authz-req+jwt and at most 16384 bytes.").
				Because(err)
		},
	}
}

// readObject checks the response of a request URI, and returns the request object.
func readObject(uri string, told outbound.Document) (string, error) {
	media, _, err := mime.ParseMediaType(told.Header.Get("Content-Type"))
	// RFC 9101 §5.2.3: the response has this media type. OIDC Core §6.2 uses that of any JWT.
	if err != nil || media != "application/oauth-authz-req+jwt" && media != "application/jwt" {
		return "", errors.New("the response has another media type")
	}
	u, err := url.Parse(uri)
	if err != nil {
		return "", err
	}
	digest := sha256.Sum256(told.Body)
	// OIDC Core §6.2: the fragment should be the digest of the content. It may be anything else that
	// tells one content from another, such as a number.
	said := strings.TrimRight(u.Fragment, "=")
	raw, err := base64.RawURLEncoding.DecodeString(said)
	if err == nil && len(raw) == sha256.Size && said != base64.RawURLEncoding.EncodeToString(digest[:]) {
		return "", errors.New("the digest of the response is not the fragment of the address")
	}
	return strings.TrimSpace(string(told.Body)), nil
}

// ObjectAt returns the request object at an address that the application has registered.
func (p *Clients) ObjectAt(ctx context.Context, a storage.Application, uri string) (string, error) {
	// RFC 9101 §10.4.1: the server calls no address that the client has not registered, character by
	// character. Otherwise anybody could let it call one.
	if !slices.Contains(oauth.Lines(a.RequestURIs), uri) || len(uri) > maxRequestURI {
		return "", refusedRequestURI("This request_uri is not registered for the client: register it in request_uris, or " +
			"send the object as the parameter request.")
	}
	u, err := url.Parse(uri)
	if err != nil {
		return "", refusedRequestURI("request_uri is not a URI.")
	}
	return p.objects.Of(a).Get(ctx, documents.Asked{
		URL:      u,
		ID:       uri,
		Address:  clientauth.AddressOf(ctx),
		Approved: approved(a),
		For:      clientauth.Registrant(ctx, a),
	})
}

// approved reports whether somebody has approved an application. Anybody can register one, so its row
// alone says nothing: it gets its first code after a person has approved it. A metadata document has
// a row only after that.
func approved(a storage.Application) bool {
	return policy.StandingOf(a) != policy.StandingOpen || policy.FollowsDocument(a) && a.ID != "" || a.LastUsedAt > 0
}
