package tokens

import (
	"context"
	"time"

	"mandate/provider/copies"
	"mandate/provider/oauth"
	"mandate/provider/seal"
	"mandate/storage"
)

// token returns a token, from a copy if there is one, for requests that do not change
// it. Refresh tokens are not copied, because their use is not announced to other nodes.
// The copy of a signed token also saves the verification of its signature.
func (p *Tokens) token(ctx context.Context, text string) (Found, error) {
	find := func(ctx context.Context, _ string) (Found, error) { return p.FindToken(ctx, text) }
	return p.copies.Get(ctx, seal.Digest(text), find, func(t Found) bool {
		return !t.Refresh && len(oauth.Deref(t.Claims)) <= copyBytes
	})
}

// tokenChanged reports whether a record that a copied token depends on has changed.
func tokenChanged(c *copies.Changes, read time.Time, t *Found) bool {
	return c.Has(storage.OfToken, &t.Digest, read) || c.Has(storage.OfApplication, &t.Application, read) ||
		c.Has(storage.OfGrant, t.GrantID, read) || c.Has(storage.OfUser, t.UserID, read) ||
		c.Has(storage.OfUser, t.OwnerID, read) || c.Has(storage.OfSession, t.SessionID, read) ||
		t.name != "" && c.Has(storage.OfKeys, new(string), read) // the change does not name a key
}

// copyBytes limits the size of the claims parameter in a copied token. The application
// decides that size.
const copyBytes = 1024
