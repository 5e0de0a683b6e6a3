package tokens

import (
	"crypto/subtle"
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
// §8.1). Only this server can read the session from it: SessionOf.
//
// It is a digest of the session, and the session encrypted under this digest, as with a synthetic initialization vector
// (RFC 5297 §2.6): equal for the same session, and without the key it cannot be told from random bytes.
func (p *Tokens) SID(sector, sessionID string) string {
	if sector == "" {
		return sessionID
	}
	digest := p.sidDigest(sector, sessionID)
	return base64.RawURLEncoding.EncodeToString(append(digest, p.sidMask(sector, digest, []byte(sessionID))...))
}

// SessionOf returns the session that a text names for a sector, or "" if SID has not made it.
func (p *Tokens) SessionOf(sector, sid string) string {
	if sector == "" {
		return sid
	}
	raw, err := base64.RawURLEncoding.DecodeString(sid)
	if err != nil || len(raw) <= sidDigest {
		return ""
	}
	session := string(p.sidMask(sector, raw[:sidDigest], raw[sidDigest:]))
	if p.SID(sector, session) != sid {
		return ""
	}
	return session
}

const sidDigest = 16 // bytes

func (p *Tokens) sidDigest(sector, sessionID string) []byte {
	return seal.Mac(p.pairwise, "sid\x00"+sector+"\x00"+sessionID)[:sidDigest:sidDigest]
}

// sidMask encrypts and decrypts: a session has fewer bytes than the mask.
func (p *Tokens) sidMask(sector string, digest, text []byte) []byte {
	mask := seal.Mac(p.pairwise, "sid mask\x00"+sector+"\x00"+string(digest))
	masked := make([]byte, min(len(text), len(mask)))
	subtle.XORBytes(masked, text, mask)
	return masked
}
