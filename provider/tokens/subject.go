package tokens

import (
	"encoding/base64"

	"mandate/provider/seal"
)

// Subject returns the identifier of a person for a sector. Without a sector it is the
// same for all applications. Otherwise two sectors cannot find out whether their
// subjects are the same person (OIDC Core §8.1).
func (p *Tokens) Subject(sector, userID string) string {
	if sector == "" {
		return userID
	}
	return base64.RawURLEncoding.EncodeToString(seal.Mac(p.pairwise, sector+"\x00"+userID))
}

// SID returns the identifier of a session for a sector. Applications that must not
// compare the subjects of a person must not compare the sessions either (OIDC Core
// §8.1).
func (p *Tokens) SID(sector, sessionID string) string {
	if sector == "" {
		return sessionID
	}
	return base64.RawURLEncoding.EncodeToString(seal.Mac(p.pairwise, "sid\x00"+sector+"\x00"+sessionID)[:16])
}
