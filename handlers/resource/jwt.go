package resource

import (
	"context"
	"crypto"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
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

// kindOf is the type of key that each algorithm takes (RFC 7518 §3.1, RFC 8037
// §3.1). One that verifies by a shared secret is not among them: a public key is
// no secret (RFC 8725 §3.1).
var kindOf = map[string]string{"RS256": "RSA", "PS256": "RSA", "ES256": "EC", "EdDSA": "OKP"}

// NewSigned returns a Signed, or an error that names the setting to change.
func NewSigned(c SignedConfig) (*Signed, error) {
	if c.Issuer == "" || c.Audience == "" {
		return nil, errors.New("set RESOURCE_SERVER_ISSUER and RESOURCE_SERVER_AUDIENCE: without them a token of anybody, for anybody, would do")
	}
	algorithms := c.Algorithms
	if algorithms == nil {
		algorithms = slices.Sorted(maps.Keys(kindOf))
	}
	for _, name := range algorithms {
		if kindOf[name] == "" {
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
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		if s.opaque == nil {
			return nil, ErrInactive
		}
		return s.opaque.Verify(ctx, token)
	}
	// Go's base64 passes over line breaks; a token has none.
	header, ok := s.header(parts[0])
	if !ok || !isB64Token(token) {
		return nil, ErrInactive
	}
	key, err := s.keys.find(ctx, header.KeyID, kindOf[header.Algorithm])
	if err != nil {
		return nil, err
	}
	signature, err := base64.RawURLEncoding.Strict().DecodeString(parts[2])
	if err != nil || key == nil || !key.takes(header.Algorithm) {
		return nil, ErrInactive
	}
	// RFC 9068 §4: by the algorithm of the header, which is one of those that we take.
	err = jwt.GetSigningMethod(header.Algorithm).Verify(parts[0]+"."+parts[1], signature, key.public)
	if err != nil {
		return nil, ErrInactive
	}
	return s.claims(parts[1])
}

type signedHeader struct {
	Algorithm string          `json:"alg"`
	Type      string          `json:"typ"`
	KeyID     string          `json:"kid"`
	Critical  json.RawMessage `json:"crit"`
}

// header reads the header, and says whether the rest is worth a look.
func (s *Signed) header(part string) (signedHeader, bool) {
	var h signedHeader
	raw, err := base64.RawURLEncoding.Strict().DecodeString(part)
	if err != nil || json.Unmarshal(raw, &h) != nil {
		return h, false
	}
	// RFC 9068 §4: the type, which keeps out ID tokens and whatever else the same keys
	// sign. RFC 7515 §4.1.9: a media type, which has no case.
	kind := strings.ToLower(h.Type)
	if kind != "at+jwt" && kind != "application/at+jwt" {
		return h, false
	}
	// RFC 7515 §4.1.11: what must be understood, and is not.
	if h.Critical != nil {
		return h, false
	}
	// RFC 9068 §4: none is no algorithm.
	return h, slices.Contains(s.algorithms, h.Algorithm)
}

// claims reads what a signature stands for, and checks it (RFC 9068 §4).
func (s *Signed) claims(part string) (*Token, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(part)
	var claims map[string]json.RawMessage
	if err != nil || json.Unmarshal(raw, &claims) != nil {
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
	kind, algorithm string // algorithm is empty where the set does not restrict it
	public          crypto.PublicKey
}

// takes says whether the key is for an algorithm: never one of another kind
// (RFC 8725 §3.1).
func (k *publicKey) takes(algorithm string) bool {
	return k.kind == kindOf[algorithm] && (k.algorithm == "" || k.algorithm == algorithm)
}
