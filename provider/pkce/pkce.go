package pkce

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/url"
	"strings"

	"mandate/provider/oauth"
)

// checkChallenge reads the PKCE half of an authorization request.
func CheckChallenge(optional bool, form url.Values) error {
	challenge, method := form.Get("code_challenge"), form.Get("code_challenge_method")
	if challenge == "" {
		if method != "" {
			return oauth.Refuse("invalid_request", "code_challenge_method is sent without code_challenge.")
		}
		// RFC 9700 §2.1.1: PKCE for every client; what leaves it out is a
		// setting, for applications that an administrator answers for, and never
		// for a public client.
		if optional {
			return nil
		}
		return oauth.Refuse("invalid_request", "code_challenge is missing: this server requires PKCE (RFC 7636) with code_challenge_method=S256.")
	}
	// RFC 7636 §4.3: without a method it is plain, which shows the verifier to
	// whoever sees the request (RFC 9700 §2.1.1).
	if method != "S256" {
		return oauth.Refuse("invalid_request", "code_challenge_method must be S256.")
	}
	// RFC 7636 §4.2: the base64url of a SHA-256 digest, without padding. The
	// decoder would skip line feeds, so the length is counted too.
	sum, err := base64.RawURLEncoding.Strict().DecodeString(challenge)
	if err != nil || len(sum) != sha256.Size || len(challenge) != 43 {
		return oauth.Refuse("invalid_request", "code_challenge must be the base64url of a SHA-256 digest: 43 characters, no padding.")
	}
	return nil
}

// checkVerifier compares the verifier with the challenge that the code was
// given for. It spends nothing: a wrong one can be followed by the right one,
// and by nothing less.
func CheckVerifier(challenge, verifier string) error {
	if challenge == "" {
		if verifier != "" {
			// RFC 9700 §2.1.1: somebody took the challenge out on the way.
			return oauth.Refuse("invalid_grant", "code_verifier is sent, but the authorization request had no code_challenge.")
		}
		return nil
	}
	if verifier == "" {
		return oauth.Refuse("invalid_request", "code_verifier is missing: the authorization request had a code_challenge.")
	}
	// RFC 7636 §4.1: 43 to 128 unreserved characters.
	if len(verifier) < 43 || len(verifier) > 128 || strings.ContainsFunc(verifier, func(r rune) bool { return !unreserved(r) }) {
		return oauth.Refuse("invalid_grant", "code_verifier must be 43 to 128 characters of A-Z a-z 0-9 - . _ ~.")
	}
	sum := sha256.Sum256([]byte(verifier))
	// RFC 7636 §4.6: the digest of the verifier is the challenge.
	if subtle.ConstantTimeCompare([]byte(base64.RawURLEncoding.EncodeToString(sum[:])), []byte(challenge)) != 1 {
		return oauth.Refuse("invalid_grant", "code_verifier does not belong to the code_challenge of the authorization request.")
	}
	return nil
}

func unreserved(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-._~", r)
}
