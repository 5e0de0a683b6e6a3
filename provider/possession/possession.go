package possession

import (
	"context"
	"errors"
	"net/http"
	"path"
	"strings"
	"time"

	"mandate/provider/dpop"
	"mandate/provider/mtls"
	"mandate/provider/oauth"
	"mandate/provider/seal"
	"mandate/storage"
)

// The sender constraints that an application can be registered for.
const (
	DPoP        = "dpop"        // dpop_bound_access_tokens (RFC 9449 §5.2)
	Certificate = "certificate" // tls_client_certificate_bound_access_tokens (RFC 8705 §3.4)
)

// maxAhead is how far the clock of another node may be ahead, in seconds.
const maxAhead = 60

// Config holds the operator's settings.
type Config struct {
	// RequireNonce refuses DPoP proofs without a nonce of this server (RFC 9449 §8).
	//
	// A client gets a nonce with each response, in the header `DPoP-Nonce`, and sends its first request twice. Clients
	// that do not know nonces cannot use DPoP then.
	RequireNonce bool `key:"DPOP_NONCE_REQUIRED" default:"false" subject:"Proofs of possession" after:"REQUIRE_PUSHED_AUTHORIZATION_REQUESTS"`

	// Bases lists the URLs below which the endpoints answer: the issuer, and the same for
	// clients with certificates.
	Bases []string
}

// Checks checks what requests prove.
type Checks struct {
	bases  []string
	store  *storage.Store
	nonces *dpop.Nonces // nil: proofs need none
}

// New makes the component. The key is for nonces.
func New(config Config, store *storage.Store, key []byte) (*Checks, error) {
	c := &Checks{bases: config.Bases, store: store}
	if !config.RequireNonce {
		return c, nil
	}
	var err error
	c.nonces, err = dpop.NewNonces(key)
	return c, err
}

// Nonce returns the nonce for the header DPoP-Nonce of each response, or "" if proofs need none.
func (c *Checks) Nonce() string {
	if c.nonces == nil {
		return ""
	}
	return c.nonces.Current(time.Now())
}

// Algorithms lists the algorithms of proofs.
func Algorithms() []string { return dpop.Algorithms() }

// Proof is a DPoP proof that was verified. It is empty if there was none.
type Proof = dpop.Proof

// OfTokenRequest returns what the tokens of a token request become bound to, and its proof, which
// is still to be used. It does not return an error for a request without a proof if the
// application needs none.
func (c *Checks) OfTokenRequest(ctx context.Context, r *http.Request, a storage.Application) (Binding, Proof, error) {
	switch sent := len(r.Header.Values("DPoP")) > 0; {
	case a.SenderConstraint == Certificate && sent:
		// A token has one binding, so it must not depend on which of two the request sends.
		return "", Proof{}, oauth.Refuse("invalid_request", "The tokens of this application are bound to its certificate: "+
			"send no header DPoP.")
	case a.SenderConstraint == Certificate:
		b, err := c.ofCertificate(ctx)
		return b, Proof{}, err
	// RFC 9449 §5.2: a client with dpop_bound_access_tokens gets no tokens without a proof.
	case a.SenderConstraint == DPoP, sent:
		proof, err := c.Verify(r)
		return toKey(proof.Key), proof, err
	}
	return "", Proof{}, nil
}

// Required returns what a token must be bound to for a resource that demands it, if the
// request has proven nothing else.
func (c *Checks) Required(ctx context.Context) (Binding, error) {
	shown, err := c.ofCertificate(ctx)
	if err != nil {
		return "", oauth.Refuse("invalid_request", "Tokens for this resource are sender-constrained: send a DPoP proof "+
			"(RFC 9449), or use a client certificate at the endpoint in mtls_endpoint_aliases (RFC 8705).")
	}
	return shown, nil
}

// OfRefresh returns what a request with a refresh token proves. shown is what OfTokenRequest has
// found. The application may be registered for no constraint, and have got its tokens for a
// resource that demands one, so the refresh token too says whether the certificate counts.
func (c *Checks) OfRefresh(ctx context.Context, bound, shown Binding) Binding {
	if shown != "" || bound.Kind() != memberCertificate {
		return shown
	}
	certificate, err := c.ofCertificate(ctx)
	if err != nil {
		return shown // the request proves nothing, and is refused
	}
	return certificate
}

// ofCertificate returns the binding to the certificate of the request.
func (c *Checks) ofCertificate(ctx context.Context) (Binding, error) {
	shown, err := mtls.Of(ctx)
	if err != nil || shown == nil {
		return "", oauth.Refuse("invalid_request", "The tokens of this application are bound to its certificate, and the "+
			"request has none: use the endpoint in mtls_endpoint_aliases of the server metadata.").Because(err)
	}
	return toCertificate(shown.Thumbprint()), nil
}

// Verify returns the DPoP proof of a request without an access token. The proof is still to be
// used.
func (c *Checks) Verify(r *http.Request) (Proof, error) { return c.verify(r, "", "") }

// verify returns the DPoP proof of a request. text is the access token that the request
// presents, and key is the thumbprint of the key that it is bound to; without an access token
// both are empty.
func (c *Checks) verify(r *http.Request, text, key string) (Proof, error) {
	proof, err := dpop.Verify(dpop.Request{Method: r.Method, URLs: c.urls(r), Proofs: r.Header.Values("DPoP"), Token: text,
		Key: key}, dpop.Rules{Nonces: c.nonces})
	if wrong, ok := errors.AsType[*dpop.Error](err); ok {
		return Proof{}, oauth.Refuse(wrong.Code, "%s.",
			oauth.Own(strings.ToUpper(wrong.Description[:1])+wrong.Description[1:]))
	}
	return proof, err
}

// AsksForNonce reports whether an error asks the client for the same request with a nonce.
func AsksForNonce(err error) bool {
	e, ok := errors.AsType[*oauth.Error](err)
	return ok && e.Code == dpop.UseNonce
}

// Use uses a proof. It stores a row, so it comes after the checks by which a stranger fails, and
// before anything is spent or revoked.
//
// RFC 9449 §11.1: a proof works once, on all nodes together. It is remembered for longer than it
// is valid, because the node that cleans up can have a clock that is ahead. Use empties a proof that is
// used: after any other error nobody knows, and who has called Use does so again before it answers.
func (c *Checks) Use(ctx context.Context, proof *Proof) error {
	if proof.Key == "" {
		return nil
	}
	err := c.store.SeeOnce(ctx,
		storage.OneTime{Digest: seal.Digest("dpop\x00" + proof.Digest.String()), ExpiresAt: proof.Until + maxAhead,
			Now: oauth.Now()})
	if err == nil || errors.Is(err, storage.ErrSpent) {
		*proof = Proof{}
	}
	if errors.Is(err, storage.ErrSpent) {
		return oauth.Refuse(dpop.InvalidProof, "The DPoP proof was used before: make a new proof, with a new jti, for each "+
			"request.")
	}
	return oauth.Stored(err)
}

// finishUse is how long the server tries to use what a failed request has proven. A request that has waited for its
// whole time still gets its answer before the connection is closed.
const finishUse = 3 * time.Second

// Finish returns a context for the use of what a failed request has proven: whoever breaks the connection
// must not keep it unused.
func Finish(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), finishUse)
}

// urls lists the URLs of the endpoint of a request.
//
// RFC 9449 §4.3: htu is the URL of the request. The header Host is not used, because anybody
// can set it and a reverse proxy can change it. A path answers with and without its last slash.
func (c *Checks) urls(r *http.Request) []string {
	var urls []string
	for _, base := range c.bases {
		at := base + "/" + path.Base(path.Clean(r.URL.Path))
		urls = append(urls, at+"/", at)
	}
	return urls
}
