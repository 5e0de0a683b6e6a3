package resource

import (
	"net/http"
	"net/url"
	"strings"
)

// maxToken is far above any token in use (a signed one with many claims has
// some 4 KiB) and keeps a client from having us post its megabyte onwards.
const maxToken = 16 << 10

// bearer returns the access token of a request, "" if it carries none, and what
// is wrong with the way it is sent, "" if nothing. The client is told the latter.
func bearer(r *http.Request) (token, problem string) {
	token, problem = parseAuthorization(r.Header["Authorization"])
	if token == "" {
		return "", problem
	}
	// RFC 6750 §2: a client uses one method to send its token. The form body is
	// not looked at, it is the handler's to read; a token there is ignored.
	if hasParam(r.URL.RawQuery, "access_token") {
		return "", "The access token is sent in the Authorization header and in the query"
	}
	return token, ""
}

// hasParam reports whether a query has the parameter, without decoding it all.
func hasParam(query, name string) bool {
	for pair := range strings.SplitSeq(query, "&") {
		escaped, _, _ := strings.Cut(pair, "=")
		found, err := url.QueryUnescape(escaped)
		if err == nil && found == name {
			return true
		}
	}
	return false
}

// parseAuthorization returns the token of a request's Authorization headers, ""
// if there is none, or none of our scheme, and what is wrong with them.
func parseAuthorization(headers []string) (token, problem string) {
	if len(headers) == 0 {
		return "", ""
	}
	// RFC 9110 §11.6.2: a request has one Authorization header. With two, somebody
	// else on the way may have believed the other one.
	if len(headers) > 1 {
		return "", "The request has more than one Authorization header"
	}
	scheme, rest := headers[0], ""
	if end := strings.IndexAny(scheme, " \t"); end >= 0 {
		scheme, rest = scheme[:end], scheme[end:]
	}
	// RFC 9110 §11.1: the name of a scheme is case-insensitive.
	if !strings.EqualFold(scheme, "Bearer") {
		return "", ""
	}
	// RFC 6750 §2.1: one or more spaces, then a b64token.
	token = strings.TrimLeft(rest, " ")
	if !isB64Token(token) {
		return "", "The Authorization header holds no well-formed bearer token"
	}
	return token, ""
}

// isB64Token reports whether s is what RFC 6750 calls b64token, and not too long.
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
