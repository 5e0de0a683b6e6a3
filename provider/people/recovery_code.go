package people

import (
	"context"
	"encoding/base32"
	"strings"

	"mandate/provider/events"
	"mandate/provider/notices"
	"mandate/provider/oauth"
	"mandate/provider/seal"
	"mandate/provider/typed"
	"mandate/storage"
)

// recoveryCodes is how many recovery codes a person gets. Each has 80 random bits, so its digest
// needs no salt.
const (
	recoveryCodes = 10
	recoveryChars = 16
)

// NewRecoveryCodes makes recovery codes in place of the old ones. Only their digests are stored. The session gets
// another cookie. It returns ErrConfirm if the person must sign in again first, and ErrNotFound if the person has no
// second factor.
func (p *People) NewRecoveryCodes(ctx context.Context, s *storage.SignedIn) ([]string, *SignIn, error) {
	err := p.Confirmed(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	codes, digests := make([]string, recoveryCodes), make([]string, recoveryCodes)
	for i := range codes {
		text := seal.Identifier()[:recoveryChars]
		codes[i], digests[i] = strings.Join([]string{text[:4], text[4:8], text[8:12], text[12:]}, "-"),
			recoveryDigest(s.User.ID, text)
	}
	r, in := renewal(s)
	made := events.Event{Kind: events.CodesMade, Person: s.User}
	in, err = p.renewed(in, p.store.ReplaceRecoveryCodes(events.Attach(ctx, made), r, digests, oauth.Now(), p.ways(),
		p.notices.FactorChanged(s.User, notices.CodesMade)...))
	return codes, in, err
}

// recoveryDigest returns the digest of a recovery code, as it was typed, or "" if it cannot be one.
func recoveryDigest(userID, code string) string {
	text := typed.Code(code)
	_, err := base32.StdEncoding.DecodeString(text)
	if err != nil || len(text) != recoveryChars {
		return ""
	}
	return seal.Digest("recovery " + userID + " " + text)
}
