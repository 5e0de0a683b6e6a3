package tokens

import (
	"context"
	"errors"
	"net/http"

	"mandate/provider/clientauth"
	"mandate/provider/events"
	"mandate/provider/oauth"
	"mandate/storage"
)

// Revocation says what a request to revoke a token was about.
type Revocation struct {
	Client  string // the client id of the caller, as far as it is known
	Unknown bool   // there is no such token
}

// Revoke revokes a token at the request of the client that it was issued to (RFC 7009).
func (p *Tokens) Revoke(ctx context.Context, r *http.Request, address string) (Revocation, error) {
	call := clientauth.From(ctx, address)
	form, err := oauth.ReadForm(r)
	if err != nil {
		return Revocation{}, p.clients.UseUnread(call, r, err, nil)
	}
	a, err := p.clients.Authenticate(call, r, form)
	if err != nil {
		return Revocation{}, err
	}
	by := Revocation{Client: a.ClientID}
	if form.Get("token") == "" {
		return by, oauth.Refuse("invalid_request", "token is missing.")
	}
	token, err := p.FindToken(ctx, form.Get("token"))
	// RFC 7009 §2.2: a request to revoke an unknown token succeeds. The token may be unknown because of an earlier
	// request, whose revocation can still be lost with the primary of the database.
	if errors.Is(err, storage.ErrNotFound) {
		err = p.store.Settle(ctx)
		if err == nil {
			token, err = p.FindToken(ctx, form.Get("token"))
		}
	}
	if errors.Is(err, storage.ErrNotFound) {
		return Revocation{a.ClientID, true}, nil
	}
	if err != nil {
		return by, oauth.Unavailable(err)
	}
	// RFC 7009 §2.1: only the client that a token was issued to may revoke it. Another
	// client gets an error.
	if token.Application != a.ID {
		return by, oauth.Refuse("invalid_grant", "The token was issued to another client.")
	}
	return by, p.revokeFamily(ctx, token)
}

// RevokeByOperator revokes a token at the request of the operator. It returns ErrNotFound for
// an unknown token.
func (p *Tokens) RevokeByOperator(ctx context.Context, text string) error {
	token, err := p.FindToken(ctx, text)
	if err != nil {
		return oauth.Stored(err)
	}
	a, err := p.store.Application(ctx, token.Application)
	if err != nil {
		return oauth.Stored(err)
	}
	revoked := events.Event{Kind: events.TokenRevoked,
		Person: storage.User{ID: oauth.Deref(token.UserID), Username: oauth.Deref(token.Username)},
		Object: events.Application(a)}
	return p.revokeFamily(events.Attach(ctx, revoked), token)
}

// revokeFamily revokes a token and its whole token family. RFC 7009 §2.1 requires that for a
// refresh token and allows it for an access token: a client that revokes one token is
// finished, and must not keep another with which it can get more.
func (p *Tokens) revokeFamily(ctx context.Context, token Found) error {
	var err error
	switch {
	case token.GrantID != nil:
		err = p.store.RevokeGrant(ctx, *token.GrantID)
	case token.name != "" && token.exp <= oauth.Now():
		return nil // it has expired
	case token.name != "":
		// RFC 7009 §2: a revoked token stays revoked. A signed token is not stored, so
		// the database stores its revocation until the token's own expiry: a lower limit
		// of the standing may rise again.
		revoked := token.Token
		revoked.ExpiresAt = token.exp
		err = p.store.RevokeSigned(ctx, revoked, oauth.Now())
	default:
		err = p.store.RevokeToken(ctx, token.Digest)
	}
	if err != nil {
		return oauth.Unavailable(err)
	}
	return nil
}
