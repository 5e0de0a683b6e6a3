package resource

import (
	"net/http"
	"slices"
	"strings"

	"mandate/provider/parameter"
)

// maxToken limits the length of an access token. It is far above the length of real
// tokens (a signed token with many claims has about 4 KiB). It prevents that a client
// makes this server send a very long token to the introspection endpoint.
const maxToken = 16 << 10

// The schemes of the header Authorization.
const (
	schemeBearer = "Bearer"
	schemeDPoP   = "DPoP"
)

// credentials is an access token, and the scheme with which it was sent. Both are "" if there is
// no token.
type credentials struct{ scheme, token string }

// credentials returns the access token of a request. problem says what is wrong with the
// way the client sent the token; it is "" if nothing is wrong. The client receives the
// problem in the answer.
func (g *Guard) credentials(r *http.Request) (sent credentials, problem string) {
	schemes := []string{schemeBearer}
	if g.proofs != nil {
		schemes = append(schemes, schemeDPoP)
	}
	sent, problem = parseAuthorization(r.Header["Authorization"], schemes)
	if sent.token == "" {
		return sent, problem
	}
	// RFC 6750 §2: a client uses one method to send its token. The guard does not read
	// the form body, which belongs to the handler, and ignores a token there.
	if parameter.In(r.URL.RawQuery, "access_token") != "" {
		return credentials{scheme: sent.scheme}, "The access token is sent in the Authorization header and in the query"
	}
	return sent, ""
}

// namesDPoP reports whether a request has the scheme DPoP.
func namesDPoP(r *http.Request) bool {
	sent, _ := parseAuthorization(r.Header["Authorization"], []string{schemeDPoP})
	return sent.scheme != ""
}

// parseAuthorization returns the token of a request's Authorization headers, and what
// is wrong with them. There is no token if there is no header or if its scheme is not one
// of these.
func parseAuthorization(headers, schemes []string) (sent credentials, problem string) {
	if len(headers) == 0 {
		return credentials{}, ""
	}
	// RFC 9110 §11.6.2: a request has one Authorization header. If there are two, a
	// proxy on the way may have used the other one.
	if len(headers) > 1 {
		return credentials{}, "The request has more than one Authorization header"
	}
	scheme, rest := headers[0], ""
	if end := strings.IndexAny(scheme, " \t"); end >= 0 {
		scheme, rest = scheme[:end], scheme[end:]
	}
	// RFC 9110 §11.1: the name of a scheme is case-insensitive.
	i := slices.IndexFunc(schemes, func(known string) bool { return strings.EqualFold(scheme, known) })
	if i < 0 {
		return credentials{}, ""
	}
	// RFC 6750 §2.1: one or more spaces, then a b64token. RFC 9449 §7.1: a token68, which is the
	// same.
	token := strings.TrimLeft(rest, " ")
	if !isB64Token(token) {
		return credentials{scheme: schemes[i]}, "The Authorization header contains no well-formed " +
			map[string]string{schemeBearer: "bearer", schemeDPoP: "DPoP"}[schemes[i]] + " token"
	}
	return credentials{schemes[i], token}, ""
}

// isB64Token reports whether s is a b64token of RFC 6750 and not too long.
func isB64Token(s string) bool {
	body := strings.TrimRight(s, "=")
	if body == "" || len(s) > maxToken {
		return false
	}
	for i := range len(body) {
		c := body[i]
		alphanumeric := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !alphanumeric && strings.IndexByte("-._~+/", c) < 0 {
			return false
		}
	}
	return true
}
