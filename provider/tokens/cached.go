package tokens

import (
	"context"

	"mandate/provider/oauth"
	"mandate/provider/seal"
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

// copyBytes limits the size of the claims parameter in a copied token. The application
// decides that size.
const copyBytes = 1024
