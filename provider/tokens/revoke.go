package tokens

import (
	"context"
	"errors"
	"net/http"

	"mandate/provider/clients"
	"mandate/provider/oauth"
	"mandate/storage"
)

// Revoke ends a token at the wish of the client it was issued to (RFC 7009),
// and says which client that is.
func (p *Tokens) Revoke(ctx context.Context, r *http.Request, address string) (string, error) {
	form, err := oauth.ReadForm(r)
	if err != nil {
		return "", err
	}
	a, err := p.clients.Authenticate(clients.WithCall(ctx, &clients.Call{Address: address}), r, form)
	if err != nil {
		return "", err
	}
	if form.Get("token") == "" {
		return a.ClientID, oauth.Refuse("invalid_request", "token is missing.")
	}
	token, err := p.FindToken(ctx, form.Get("token"))
	// RFC 7009 §2.2: a token that is not there is as good as revoked.
	if errors.Is(err, storage.ErrNotFound) {
		return a.ClientID, nil
	}
	if err != nil {
		return a.ClientID, oauth.Unavailable(err)
	}
	// RFC 7009 §2.1: only its own client may end it, and others are told so.
	if token.Application != a.ID {
		return a.ClientID, oauth.Refuse("invalid_grant", "The token was issued to another client.")
	}
	return a.ClientID, p.End(ctx, token)
}

// EndToken ends a token at the operator's wish, or gives ErrNotFound.
func (p *Tokens) EndToken(ctx context.Context, text string) error {
	token, err := p.FindToken(ctx, text)
	if err != nil {
		return oauth.Stored(err)
	}
	return p.End(ctx, token)
}

// end revokes a token with all of its family. RFC 7009 §2.1 asks for that of
// a refresh token and allows it of an access token: a client that gives one
// back is done, and must not leave the means to get another.
func (p *Tokens) End(ctx context.Context, token knownToken) error {
	var err error
	switch {
	case token.GrantID != nil:
		err = p.store.RevokeGrant(ctx, *token.GrantID)
	case token.name != "" && token.ExpiresAt <= oauth.Now():
		return nil // it has ended by itself
	case token.name != "":
		// It is somewhere else, so what is kept is that it is no longer good.
		err = p.store.RevokeSigned(ctx, token.Token, oauth.Now())
	default:
		err = p.store.RevokeToken(ctx, token.Digest)
	}
	if err != nil {
		return oauth.Unavailable(err)
	}
	return nil
}
