package demo

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"mandate/templates"
)

// read is the step at which the site reads its ID token. It is an error if the
// token is not good.
func (d *codeFlow) read(t *idToken, accessToken string, keys keySet) (templates.WalkStep, error) {
	checks, err := d.checkIDToken(t, accessToken, keys)
	if err != nil {
		return templates.WalkStep{}, err
	}
	return templates.WalkStep{
		Title:  "The site reads the ID token",
		Text:   "It came at step 2: a header, the claims and a signature, each in base64url, with dots between them. It is signed and not encrypted. So anybody can read it, and nothing in it counts before it is checked.",
		Token:  &templates.WalkToken{Header: pretty(t.header), Claims: pretty(t.claims), Meanings: meanings(t.claims)},
		Checks: checks,
	}, nil
}

// checkIDToken is OIDC Core §3.1.3.7. It returns what has been found to hold.
func (d *codeFlow) checkIDToken(t *idToken, accessToken string, keys keySet) ([]string, error) {
	key := keys.rsa(t.head.KeyID)
	signature := "The signature is the one that the client secret makes of these claims: whoever wrote them knows the secret, and nobody has changed them."
	if d.site.algorithm == "RS256" {
		signature = "The signature is good by the public key that has this kid: the server wrote these claims, and nobody has changed them."
	}
	sum := sha256.Sum256([]byte(accessToken))
	var held []string
	for _, check := range []struct {
		holds bool
		what  string
	}{
		{t.head.Algorithm == d.site.algorithm, "alg is " + d.site.algorithm + ", which the site has registered: a token has no say in how it is checked."},
		{d.site.signedBy(t.signed, t.signature, key), signature},
		{!d.site.signedBy(t.forged(), t.signature, key), "The site tried it the other way round, too: with another sub, the same signature is refused."},
		{t.says.Issuer == d.client.cast.issuer, "iss is the server that was asked."},
		{t.says.Audience == d.site.id, "aud is this site: the token was not made for another one and passed on."},
		{time.Now().Unix() < t.says.Expires, "exp is still to come."},
		{t.says.Nonce == d.nonce, "nonce is the one that this browser set out with: the token answers this very request."},
		// OIDC Core §3.1.3.8
		{t.says.AccessHash == base64.RawURLEncoding.EncodeToString(sum[:16]), "at_hash is that of the access token: the two came together."},
	} {
		if !check.holds {
			return nil, refusal("The site does not take the ID token, because this does not hold: " + check.what)
		}
		held = append(held, check.what)
	}
	return held, nil
}

// forged is what the signature would have to cover if it were about somebody
// else.
func (t *idToken) forged() string {
	header, _, _ := strings.Cut(t.signed, ".")
	claims := bytes.ReplaceAll(t.claims, []byte(t.says.Subject), []byte("somebody-else"))
	return header + "." + base64.RawURLEncoding.EncodeToString(claims)
}

// meanings explains the claims that are there, in the order of OIDC Core §2.
func meanings(claims []byte) []templates.Fact {
	var there map[string]any
	_ = json.Unmarshal(claims, &there) // it has been read before
	var facts []templates.Fact
	for _, fact := range []templates.Fact{
		{Name: "iss", Value: "Who says all this: the server."},
		{Name: "sub", Value: "Whom it is about: a name that stays the same for ever and is nobody else's, unlike an email address."},
		{Name: "aud", Value: "Whom it is told to: the client id of the site."},
		{Name: "exp", Value: "Until when it is good, in seconds since 1970."},
		{Name: "iat", Value: "When it was written."},
		{Name: "auth_time", Value: "When the person signed in at the server, which may be long before."},
		{Name: "nonce", Value: "The random word that the site had sent along."},
		{Name: "at_hash", Value: "Half of a hash of the access token that came with it."},
		{Name: "acr", Value: "How well the server has made sure of the person: as well as a password can."},
		{Name: "amr", Value: "By what the person showed who they are: pwd is a password."},
		{Name: "sid", Value: "Which session of the person's this is, should the site have to name it later."},
	} {
		if there[fact.Name] != nil {
			facts = append(facts, fact)
		}
	}
	return facts
}
