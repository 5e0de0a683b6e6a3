package jose

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/golang-jwt/jwt/v5"
)

// Sign makes a JWT. kind is its typ (RFC 8725 §3.11), keyID its kid or "". key is a
// private key, or the secret as []byte for HS256.
func Sign(algorithm, kind, keyID string, key any, claims map[string]any) (string, error) {
	header := map[string]any{"alg": algorithm, "typ": kind}
	if keyID != "" {
		header["kid"] = keyID
	}
	return SignHeader(header, key, claims)
}

// SignHeader makes a JWT with a whole header. Its alg chooses the algorithm.
func SignHeader(header map[string]any, key any, claims map[string]any) (string, error) {
	algorithm, _ := header["alg"].(string)
	m := method(algorithm)
	if m == nil || algorithm != HS256 && KindOf(algorithm) == "" {
		return "", fmt.Errorf("the algorithm %.40q is not supported", algorithm)
	}
	token := jwt.NewWithClaims(m, jwt.MapClaims(claims))
	token.Header = header
	return token.SignedString(key)
}

// Header is the header of a JWT that is not yet verified.
type Header struct {
	Algorithm string          `json:"alg"`
	Type      string          `json:"typ"`
	KeyID     string          `json:"kid"`
	Critical  json.RawMessage `json:"crit"`
	// Key is the public key that the header holds (RFC 7515 §4.1.3). Whoever signed has put
	// it there: it says nothing about who that is.
	Key json.RawMessage `json:"jwk"`
}

// Verifier says which JWTs are accepted.
type Verifier struct {
	// Algorithms that a signature may have. The algorithm none is never accepted.
	Algorithms []string
	// Types that typ may have, in lower case; "" accepts a JWT without typ. A JWT for
	// one purpose is not accepted for another (RFC 8725 §3.11).
	Types []string
	// Keys returns the keys with which the signature may have been made: public keys, or
	// secrets as []byte for HS256. The verifier chooses them by what is registered; the
	// header and the claims, which nobody has verified, only say where to look. It
	// returns ErrInvalid if there is no such key, and another error if it cannot say.
	Keys func(h Header, unverified []byte) ([]any, error)
}

// ErrInvalid says that a text is not a JWT that the verifier accepts.
var ErrInvalid = errors.New("not a valid JWT")

// Verify returns the claims of a JWT, as JSON. The caller checks what they say.
func (v Verifier) Verify(text string) ([]byte, error) {
	parts := strings.Split(text, ".")
	// The decoder ignores line breaks, and a token has none: else it would have any
	// number of texts.
	if len(parts) != 3 || strings.ContainsAny(text, "\r\n") {
		return nil, ErrInvalid
	}
	header, err := v.header(parts[0])
	if err != nil {
		return nil, err
	}
	claims, err := Decode(parts[1])
	if err != nil {
		return nil, ErrInvalid
	}
	signature, err := Decode(parts[2])
	if err != nil {
		return nil, ErrInvalid
	}
	keys, err := v.Keys(header, claims)
	if err != nil {
		return nil, err
	}
	m := method(header.Algorithm)
	for _, key := range keys {
		if m.Verify(parts[0]+"."+parts[1], signature, key) == nil {
			return claims, nil
		}
	}
	return nil, ErrInvalid
}

func (v Verifier) header(part string) (Header, error) {
	var h Header
	raw, err := Decode(part)
	if err != nil || json.Unmarshal(raw, &h) != nil {
		return h, ErrInvalid
	}
	// RFC 7515 §4.1.9: a media type has no case, and may be written without application/.
	kind := strings.TrimPrefix(strings.ToLower(h.Type), "application/")
	// RFC 7515 §4.1.11: crit names an extension, and the server understands none.
	if !slices.Contains(v.Types, kind) || h.Critical != nil || !slices.Contains(v.Algorithms, h.Algorithm) ||
		method(h.Algorithm) == nil {
		return h, ErrInvalid
	}
	return h, nil
}

// Decode decodes a part of a JWT (RFC 7515 §2).
func Decode(part string) ([]byte, error) { return base64.RawURLEncoding.Strict().DecodeString(part) }

// Claims is the JSON object that a JWT carries (RFC 7519 §4).
type Claims map[string]any

// ParseClaims reads the claims that Verify gave.
func ParseClaims(raw []byte) (Claims, error) {
	var c Claims
	err := json.Unmarshal(raw, &c)
	if err != nil || c == nil {
		return nil, ErrInvalid
	}
	return c, nil
}

// Text returns a claim that is text, or "".
func (c Claims) Text(name string) string {
	text, _ := c[name].(string)
	return text
}

// Time returns a claim that is a NumericDate (RFC 7519 §2), without its fraction, and
// whether it is one.
func (c Claims) Time(name string) (int64, bool) {
	at, ok := c[name].(float64)
	if !ok || math.Abs(at) >= 1<<53 {
		return 0, false
	}
	return int64(at), true
}

// Audience returns the audiences, of which there may be one as text or several in a list
// (RFC 7519 §4.1.3).
func (c Claims) Audience() []string {
	list, err := jwt.MapClaims(c).GetAudience()
	if err != nil {
		return nil
	}
	return list
}
