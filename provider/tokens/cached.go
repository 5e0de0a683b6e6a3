package tokens

import (
	"context"
	"time"

	"mandate/provider/copies"
	"mandate/provider/oauth"
	"mandate/provider/seal"
	"mandate/storage"
)

// token reads a token for those who only look at it. Of refresh tokens there is
// no copy: they are spent without a word to anybody. A copy of a signed one
// saves the look at its signature too.
func (p *Tokens) token(ctx context.Context, text string) (knownToken, error) {
	find := func(ctx context.Context, _ string) (knownToken, error) { return p.FindToken(ctx, text) }
	return p.copies.Get(ctx, seal.Digest(text), find, func(t knownToken) bool {
		return !t.Refresh && len(oauth.Deref(t.Claims)) <= copyBytes
	})
}

func tokenChanged(c *copies.Changes, read time.Time, t knownToken) bool {
	return c.Of(storage.OfToken, &t.Digest, read) || c.Of(storage.OfApplication, &t.Application, read) ||
		c.Of(storage.OfGrant, t.GrantID, read) || c.Of(storage.OfUser, t.UserID, read) || c.Of(storage.OfUser, t.OwnerID, read) || c.Of(storage.OfSession, t.SessionID, read) ||
		t.name != "" && c.Of(storage.OfKeys, new(string), read) // which names no key
}

// copyBytes bounds the size of a token that is copied, which the application decides.
const copyBytes = 1024
