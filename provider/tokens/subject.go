package tokens

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
)

// Subject returns the identifier of a person for a sector. Without a sector it is the
// same for all applications. Otherwise two sectors cannot find out whether their
// subjects are the same person (OIDC Core §8.1).
func (p *Tokens) Subject(sector, userID string) string {
	if sector == "" {
		return userID
	}
	mac := hmac.New(sha256.New, p.pairwise)
	mac.Write([]byte(sector + "\x00" + userID))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// SID returns the identifier of a session for a sector. Applications that must not
// compare the subjects of a person must not compare the sessions either (OIDC Core
// §8.1).
func (p *Tokens) SID(sector, sessionID string) string {
	if sector == "" {
		return sessionID
	}
	mac := hmac.New(sha256.New, p.pairwise)
	mac.Write([]byte("sid\x00" + sector + "\x00" + sessionID))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:16])
}
