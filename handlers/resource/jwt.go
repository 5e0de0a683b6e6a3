package resource

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"mandate/provider/jose"
)

// SignedConfig says which signed access tokens are accepted. KeysURL, Issuer and
// Audience are required.
type SignedConfig struct {
	KeysURL  string // RESOURCE_SERVER_JWKS_URL: the issuer's public keys
	Issuer   string // RESOURCE_SERVER_ISSUER: the required value of iss
	Audience string // RESOURCE_SERVER_AUDIENCE: this service's name, which aud must contain

	// Algorithms lists the accepted signature algorithms. nil accepts all that this
	// package supports: RS256, PS256, ES256 and EdDSA.
	Algorithms []string

	// AcceptJWTTyp accepts tokens with the typ JWT too, besides at+jwt. It is for an API whose issuer signs access tokens
	// so because other libraries accept nothing else. A token with the typ JWT needs what only access tokens have.
	AcceptJWTTyp bool

	// Opaque verifies tokens that are not JWTs. If it is nil, such tokens are not
	// active.
	Opaque Verifier

	// AllowHTTP allows a KeysURL with http on another computer. An attacker on the
	// network can then replace the keys. Use it only in a test environment.
	AllowHTTP bool

	// Timeout limits one request for the keys. Zero means 5 seconds.
	Timeout time.Duration

	// Transport replaces the package's own transport.
	Transport http.RoundTripper
}

// Signed is a [Verifier] that checks JWT access tokens (RFC 9068) with the public keys
// of their issuer. It sends no request about a token, so it accepts a revoked token
// until the token expires. Give such tokens a short lifetime.
type Signed struct {
	issuer, audience string
	algorithms       []string
	types            []string
	opaque           Verifier
	keys             *keySet
}

var (
	errNotAccessToken = inactive("it is not a well-formed JWT of the type at+jwt with an accepted algorithm (for the " +
		"type JWT too: RESOURCE_SERVER_JWT_TYP)")
	errSignature = inactive("its signature is wrong")
)

// NewSigned returns a Signed, or an error that names the setting to change.
func NewSigned(c SignedConfig) (*Signed, error) {
	if c.Issuer == "" || c.Audience == "" {
		return nil, errors.New("set RESOURCE_SERVER_ISSUER and RESOURCE_SERVER_AUDIENCE: without them, tokens of every " +
			"issuer for every audience would be accepted")
	}
	algorithms := c.Algorithms
	if algorithms == nil {
		algorithms = jose.Algorithms()
	}
	for _, name := range algorithms {
		if jose.KindOf(name) == "" {
			return nil, fmt.Errorf("signed: the algorithm %q is not supported: use RS256, PS256, ES256 or EdDSA", name)
		}
	}
	types := []string{"at+jwt"}
	if c.AcceptJWTTyp {
		types = append(types, "jwt")
	}
	keys, err := newKeySet(c)
	if err != nil {
		return nil, err
	}
	return &Signed{c.Issuer, c.Audience, slices.Clone(algorithms), types, c.Opaque, keys}, nil
}

// Verify checks the token. If the keys cannot be fetched, so that no result is
// possible, the error is not [ErrInactive].
func (s *Signed) Verify(ctx context.Context, token string) (*Token, error) {
	if strings.Count(token, ".") != 2 {
		if s.opaque == nil {
			return nil, inactive("it is not a JWT, and no introspection is configured (RESOURCE_SERVER_INTROSPECTION_URL)")
		}
		return s.opaque.Verify(ctx, token)
	}
	if !isB64Token(token) {
		return nil, inactive("it is not a well-formed bearer token, or is too long")
	}
	why, typ := errNotAccessToken, ""
	claims, err := jose.Verifier{
		// RFC 9068 §4: the algorithm is one of the configured ones, and never none.
		Algorithms: s.algorithms,
		// RFC 9068 §4: the type excludes ID tokens and other JWTs that the same key has
		// signed.
		Types: s.types,
		Keys: func(h jose.Header, _ []byte) ([]any, error) {
			typ = h.Type
			key, err := s.keys.find(ctx, h.KeyID, jose.KindOf(h.Algorithm))
			if err != nil {
				return nil, err
			}
			if key == nil || !key.Supports(h.Algorithm) {
				why = inactive("RESOURCE_SERVER_JWKS_URL has no key with its kid %s for its alg %s", h.KeyID, h.Algorithm)
				return nil, jose.ErrInvalid
			}
			why = errSignature
			return []any{key.Public()}, nil
		},
	}.Verify(token)
	if errors.Is(err, jose.ErrInvalid) {
		return nil, why
	}
	if err != nil {
		return nil, err
	}
	if !strings.HasSuffix(strings.ToLower(typ), "at+jwt") && !onlyOfAccess(claims) {
		return nil, inactive("its typ is JWT, and it lacks client_id or jti, or has a claim of an ID token")
	}
	return s.claims(claims)
}

// onlyOfAccess reports whether claims are those of an access token and of no ID token.
//
// RFC 8725 §3.12: JWTs of different kinds from one issuer need rules by which each is refused as another. RFC 9068 §2.2
// requires client_id and jti, which an ID token need not have. OIDC Core §2, §3.1.3.6: nonce, at_hash and c_hash are
// for the client alone.
func onlyOfAccess(raw []byte) bool {
	var claims map[string]any
	if json.Unmarshal(raw, &claims) != nil {
		return false
	}
	for _, name := range []string{"client_id", "jti"} {
		if text, _ := claims[name].(string); text == "" {
			return false
		}
	}
	return claims["nonce"] == nil && claims["at_hash"] == nil && claims["c_hash"] == nil
}

// claims reads and checks the claims of a token whose signature is valid (RFC 9068 §4).
func (s *Signed) claims(raw []byte) (*Token, error) {
	var claims map[string]json.RawMessage
	if json.Unmarshal(raw, &claims) != nil {
		return nil, inactive("its claims are not a JSON object")
	}
	t, err := decodeClaims(claims)
	if err != nil {
		return nil, inactive("%s", err)
	}
	// RFC 9068 §4: the issuer and the audience match, and the token has not expired. A
	// token without exp is refused (§2.2).
	switch {
	case t.Issuer != s.issuer:
		return nil, inactive("its iss is %s, RESOURCE_SERVER_ISSUER is %s", t.Issuer, s.issuer)
	case !slices.Contains(t.Audience, s.audience):
		return nil, wrongAudience(t, s.audience)
	case t.ExpiresAt.IsZero():
		return nil, inactive("it has no exp")
	case !t.liveAt(time.Now()):
		return nil, t.notLive()
	}
	return t, nil
}
