package demo

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"time"

	"mandate/templates"
)

// read is the step in which the site verifies its ID token. It returns an error if
// the token is not valid.
func (d *codeFlow) read(t *idToken, accessToken string, keys keySet) (templates.WalkStep, error) {
	checks, err := d.checkIDToken(t, accessToken, keys)
	if err != nil {
		return templates.WalkStep{}, err
	}
	return templates.WalkStep{
		Title: "The site reads the ID token",
		Text: "The site got it in step 2: a header, the claims and a signature, each in base64url, separated by dots. It " +
			"is signed, not encrypted. Everybody can read it, and a site must not use it before these checks.",
		Tokens: []templates.WalkToken{decoded(templates.WalkToken{Title: "The ID token", Clause: "OIDC Core §2, §3.1.3.7",
			Text: "It proves to the site that the server has authenticated this person, for this site and this request. " +
				"Without it, the site would have only an access token, which does not say that the person signs in to this site."},
			t.text, idTokenFacts())},
		Checks: checks,
	}, nil
}

// checkIDToken validates an ID token (OIDC Core §3.1.3.7). It returns the checks
// that succeeded.
func (d *codeFlow) checkIDToken(t *idToken, accessToken string, keys keySet) ([]string, error) {
	key := keys.rsa(t.head.KeyID)
	signature := "The signature is valid for the client secret: only the server and the site know the secret, and the " +
		"claims are unchanged."
	if d.site.algorithm == "RS256" {
		signature = "The signature is valid for the public key with this kid: the server wrote these claims, and they are " +
			"unchanged."
	}
	sum := sha256.Sum256([]byte(accessToken))
	var held []string
	for _, check := range []struct {
		holds bool
		what  string
	}{
		{t.head.Algorithm == d.site.algorithm, "alg is " + d.site.algorithm + ", which the site registered: the token does " +
			"not choose how it is verified."},
		{d.site.signedBy(t.signed, t.signature, key), signature},
		{!d.site.signedBy(t.forged(), t.signature, key), "The site also checked the reverse: with another sub, the same " +
			"signature is refused."},
		{t.says.Issuer == d.client.cast.issuer, "iss is the server that received the request."},
		{t.says.Audience == d.site.id, "aud is this site: the token was not issued to another site."},
		{time.Now().Unix() < t.says.Expires, "exp is in the future."},
		{t.says.Nonce == d.nonce, "nonce is the value that the site stored in this browser: the token belongs to this " +
			"request."},
		// OIDC Core §3.1.3.8
		{t.says.AccessHash == base64.RawURLEncoding.EncodeToString(sum[:16]),
			"at_hash is the hash of the access token: both tokens belong together."},
	} {
		if !check.holds {
			return nil, refusal("The site refuses the ID token, because this is not true: " + check.what)
		}
		held = append(held, check.what)
	}
	return held, nil
}

// forged is the signed part of a token with another subject.
func (t *idToken) forged() string {
	header, _, _ := strings.Cut(t.signed, ".")
	claims := bytes.ReplaceAll(t.claims, []byte(t.says.Subject), []byte("somebody-else"))
	return header + "." + base64.RawURLEncoding.EncodeToString(claims)
}

// idTokenFacts explains the claims of an ID token, in the order of OIDC Core §2.
func idTokenFacts() []templates.Fact {
	return []templates.Fact{
		{Name: "iss", Value: "The issuer: this server."},
		{Name: "sub", Value: "The subject: an identifier of the person that never changes and is never reused, unlike an " +
			"email address."},
		{Name: "aud", Value: "The audience: the client id of the site."},
		{Name: "exp", Value: "When the token expires, in seconds since 1970."},
		{Name: "iat", Value: "When the token was issued."},
		{Name: "auth_time", Value: "When the person signed in at the server, which may have been much earlier."},
		{Name: "nonce", Value: "The random value that the site sent with its request."},
		{Name: "at_hash", Value: "The first half of a hash of the access token that was issued with this token."},
		{Name: "acr", Value: "The authentication level: here that of a password."},
		{Name: "amr", Value: "The authentication methods: pwd means a password."},
		{Name: "sid", Value: "The session at the server, so that a logout can name it."},
	}
}
