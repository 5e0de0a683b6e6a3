package tokens

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
)

// subject names a person to a sector: the same for all that have none, or one
// which no two sectors can compare (OIDC Core §8.1).
func (p *Tokens) Subject(sector, userID string) string {
	if sector == "" {
		return userID
	}
	mac := hmac.New(sha256.New, p.pairwise)
	mac.Write([]byte(sector + "\x00" + userID))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// sid names a session to a sector. Those that must not be able to compare
// a person's subjects cannot compare the sessions either (OIDC Core §8.1).
func (p *Tokens) SID(sector, sessionID string) string {
	if sector == "" {
		return sessionID
	}
	mac := hmac.New(sha256.New, p.pairwise)
	mac.Write([]byte("sid\x00" + sector + "\x00" + sessionID))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:16])
}
