// Package pkce checks the Proof Key for Code Exchange (RFC 7636): the code challenge of
// an authorization request, and the code verifier of a token request. It accepts the
// method S256 only (RFC 9700 §2.1.1).
package pkce

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/url"
	"strings"

	"mandate/provider/oauth"
)

// CheckChallenge checks code_challenge and code_challenge_method of an authorization
// request. Without a remedy, the request may omit both. It returns nil, or the error for the client.
func CheckChallenge(remedy string, form url.Values) error {
	challenge, method := form.Get("code_challenge"), form.Get("code_challenge_method")
	if challenge == "" {
		if method != "" {
			return oauth.Refuse("invalid_request", "code_challenge_method is sent without code_challenge.")
		}
		if remedy == "" {
			return nil
		}
		return oauth.Refuse("invalid_request", "code_challenge is missing: this application must use PKCE (RFC 7636) with "+
			"code_challenge_method=S256. %s", oauth.Own(remedy))
	}
	// RFC 7636 §4.3: without code_challenge_method the method is plain. The method
	// plain shows the verifier to everyone who can read the request (RFC 9700 §2.1.1).
	if method != "S256" {
		return oauth.Refuse("invalid_request", "code_challenge_method must be S256.")
	}
	// RFC 7636 §4.2: the challenge is the base64url of a SHA-256 digest, without
	// padding. The decoder ignores line feeds, so the length is checked too.
	sum, err := base64.RawURLEncoding.Strict().DecodeString(challenge)
	if err != nil || len(sum) != sha256.Size || len(challenge) != 43 {
		return oauth.Refuse("invalid_request", "code_challenge must be the base64url of a SHA-256 digest: 43 characters, "+
			"no padding.")
	}
	return nil
}

// CheckVerifier checks that the verifier of a token request belongs to the challenge of the
// authorization request. It returns nil, or the error for the client. It does not
// invalidate the code: after a wrong verifier, the client can still send the right one.
func CheckVerifier(challenge, verifier string) error {
	if challenge == "" {
		if verifier != "" {
			// RFC 9700 §2.1.1: an attacker removed the challenge from the request
			// (PKCE downgrade).
			return oauth.Refuse("invalid_grant", "code_verifier is sent, but the authorization request had no code_challenge.")
		}
		return nil
	}
	// RFC 7636 §4.6: a verifier that is missing does not belong to the challenge either.
	if verifier == "" {
		return oauth.Refuse("invalid_grant", "code_verifier is missing: the authorization request had a code_challenge.")
	}
	// RFC 7636 §4.1: a verifier has 43 to 128 unreserved characters.
	if len(verifier) < 43 || len(verifier) > 128 ||
		strings.ContainsFunc(verifier, func(r rune) bool { return !unreserved(r) }) {
		return oauth.Refuse("invalid_grant", "code_verifier must be 43 to 128 characters of A-Z a-z 0-9 - . _ ~.")
	}
	sum := sha256.Sum256([]byte(verifier))
	// RFC 7636 §4.6: the challenge is the digest of the verifier.
	if subtle.ConstantTimeCompare([]byte(base64.RawURLEncoding.EncodeToString(sum[:])), []byte(challenge)) != 1 {
		return oauth.Refuse("invalid_grant", "code_verifier does not belong to the code_challenge of the authorization "+
			"request.")
	}
	return nil
}

// unreserved reports whether r is an unreserved character (RFC 3986).
func unreserved(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-._~", r)
}
