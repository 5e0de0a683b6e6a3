package resource

import (
	"context"
	"crypto"
	"encoding/json"
	"errors"
	"fmt"
	"mandate/provider/jose"
	"net/http"
	"slices"
	"strings"
	"time"
)

// SignedConfig says which signed access tokens are good here. KeysURL, Issuer and
// Audience are needed.
type SignedConfig struct {
	KeysURL  string // RESOURCE_SERVER_JWKS_URL: the issuer's public keys
	Issuer   string // RESOURCE_SERVER_ISSUER: what iss must be
	Audience string // RESOURCE_SERVER_AUDIENCE: what must be in aud, this service's name

	// Algorithms are those that a signature may have; nil for all that this package
	// knows: RS256, PS256, ES256 and EdDSA.
	Algorithms []string

	// Opaque is asked about tokens that are no JWT; nil: they are not active.
	Opaque Verifier

	// AllowHTTP lets the keys travel unprotected beyond this computer, where who
	// is on the way can change them. For a laboratory.
	AllowHTTP bool

	// Timeout bounds one fetch of the keys; 5 seconds if zero.
	Timeout time.Duration

	// Transport replaces the package's own pooled transport.
	Transport http.RoundTripper
}

// Signed is a [Verifier] that checks access tokens by itself: JWTs by RFC 9068, with
// the public keys of who issues them. It asks nobody about a token, so it takes
// one that was revoked until it ends: give such tokens a short life.
type Signed struct {
	issuer, audience string
	algorithms       []string
	opaque           Verifier
	keys             *keySet
}

// NewSigned returns a Signed, or an error that names the setting to change.
func NewSigned(c SignedConfig) (*Signed, error) {
	if c.Issuer == "" || c.Audience == "" {
		return nil, errors.New("set RESOURCE_SERVER_ISSUER and RESOURCE_SERVER_AUDIENCE: without them a token of anybody, for anybody, would do")
	}
	algorithms := c.Algorithms
	if algorithms == nil {
		algorithms = jose.Algorithms()
	}
	for _, name := range algorithms {
		if jose.KindOf(name) == "" {
			return nil, fmt.Errorf("signed: the algorithm %q: use RS256, PS256, ES256 and EdDSA", name)
		}
	}
	keys, err := newKeySet(c)
	if err != nil {
		return nil, err
	}
	return &Signed{c.Issuer, c.Audience, slices.Clone(algorithms), c.Opaque, keys}, nil
}

// Verify checks the token. Where it cannot be said whether it is good, since the
// keys cannot be had, the error is not [ErrInactive].
func (s *Signed) Verify(ctx context.Context, token string) (*Token, error) {
	if strings.Count(token, ".") != 2 {
		if s.opaque == nil {
			return nil, ErrInactive
		}
		return s.opaque.Verify(ctx, token)
	}
	if !isB64Token(token) {
		return nil, ErrInactive
	}
	claims, err := jose.Verifier{
		// RFC 9068 §4: the algorithm is one of ours, and never none.
		Algorithms: s.algorithms,
		// RFC 9068 §4: the type keeps out ID tokens and other JWTs with the same signature.
		Types: []string{"at+jwt"},
		Keys: func(h jose.Header, _ []byte) ([]any, error) {
			key, err := s.keys.find(ctx, h.KeyID, jose.KindOf(h.Algorithm))
			if err != nil {
				return nil, err
			}
			if key == nil || !key.Takes(h.Algorithm) {
				return nil, jose.ErrInvalid
			}
			return []any{key.public}, nil
		},
	}.Verify(token)
	if errors.Is(err, jose.ErrInvalid) {
		return nil, ErrInactive
	}
	if err != nil {
		return nil, err
	}
	return s.claims(claims)
}

// claims reads what a signature stands for, and checks it (RFC 9068 §4).
func (s *Signed) claims(raw []byte) (*Token, error) {
	var claims map[string]json.RawMessage
	if json.Unmarshal(raw, &claims) != nil {
		return nil, ErrInactive
	}
	t, err := decodeClaims(claims)
	if err != nil {
		return nil, ErrInactive
	}
	// RFC 9068 §4: it is from who we think it is from, for us, and has not ended. One
	// without an end is none (§2.2).
	if t.Issuer != s.issuer || !slices.Contains(t.Audience, s.audience) || t.ExpiresAt.IsZero() || !t.liveAt(time.Now()) {
		return nil, ErrInactive
	}
	return t, nil
}

// publicKey is one of a set.
type publicKey struct {
	jose.JWK
	public crypto.PublicKey
}
