package grant

import (
	"context"
	"errors"
	"strings"

	"mandate/provider/framework"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/possession"
	"mandate/provider/resources"
	"mandate/provider/seal"
	"mandate/provider/tokens"
	"mandate/storage"
)

// refreshGrant issues new tokens of a token family for a refresh token (RFC 6749 §6). It
// replaces fosite's handler, which ignores scope, does not limit the lifetime of a token
// family, and returns invalid_request if two requests with one token race.
type refreshGrant struct{ p *Grants }

// renewal is a request with a refresh token.
type renewal struct {
	*Request
	token    storage.RefreshToken
	audience resources.Audience // of the new access token
	scope    []string           // of the new access token
	from     tokens.Source      // what the tokens are made from
	repeats  bool               // another request has got the same tokens
}

// Check checks the refresh token and the scope. If the token was used before, it calls usedBefore.
func (g *refreshGrant) Check(ctx context.Context, r *Request) (approved, error) {
	text := r.Form.Get("refresh_token")
	if text == "" {
		return approved{}, oauth.Refuse("invalid_request", "refresh_token is missing.")
	}
	token, err := g.p.store.RefreshTokenByDigest(ctx, seal.Digest(text), oauth.Now())
	if errors.Is(err, storage.ErrNotFound) {
		return approved{}, invalidRefresh()
	}
	if err != nil {
		return approved{}, oauth.Unavailable(err)
	}
	// RFC 6749 §6: a refresh token is bound to the client it was issued to.
	if token.Grant.ApplicationID != r.Client.ID {
		return approved{}, oauth.Refuse("invalid_grant", "The refresh token was issued to another client.")
	}
	r.bound = g.p.proofs.OfRefresh(ctx, possession.Of(token.Token), r.bound)
	err = checkBinding(*r.Client, possession.Of(token.Token), r.bound)
	if err == nil {
		err = g.p.use(ctx, r)
	}
	if err != nil {
		return approved{}, err
	}
	// RFC 6749 §10.4: the server limits how long a refresh token is valid. The limit is that
	// of the application's standing now, as for the other lifetimes.
	if g.p.rules.RefreshEnd(*r.Client, token.Token) <= oauth.Now() {
		return approved{}, invalidRefresh()
	}
	if !policy.HasGrant(*r.Client, token.Grant.GrantType) {
		return approved{}, oauth.Refuse(
			"invalid_grant",
			"The application is no longer registered for the grant type %s, from which this refresh token comes.",
			oauth.Own(token.Grant.GrantType),
		)
	}
	n := &renewal{Request: r, token: token}
	if token.UsedAt != nil {
		err = g.usedBefore(ctx, n)
	} else {
		err = g.narrow(ctx, n)
	}
	if err != nil {
		return approved{}, err
	}
	return approved{token.Grant.UserID, func(ctx context.Context) (*tokens.TokenResponse, error) {
		return g.renew(ctx, n)
	}}, nil
}

// narrow sets the audience and the scope of the new access token.
func (g *refreshGrant) narrow(ctx context.Context, n *renewal) error {
	err := g.narrowAudience(ctx, n)
	if err == nil {
		n.scope, err = g.scope(*n.Client, n.token.Scope, n.audience, n.Form.Get("scope"))
	}
	return err
}

func (g *refreshGrant) narrowAudience(ctx context.Context, n *renewal) error {
	var err error
	n.audience, err = g.p.audience(ctx, n.token.Resource, n.Form)
	if err == nil {
		err = g.p.aim(ctx, n.Request, n.audience)
	}
	return err
}

// invalidRefresh returns the error for a refresh token that is not valid.
func invalidRefresh() *oauth.Error {
	return oauth.Refuse("invalid_grant", "The refresh token is unknown, expired, or revoked.")
}

// checkBinding checks that the request proves what the refresh token is bound to. Nothing is
// used or revoked if it does not: whoever has only the refresh token can do nothing with it.
//
// RFC 9449 §5: the refresh token of a public client is bound to its key. That of a client that
// authenticates is bound to the client, and needs a proof by any key: without one, a stolen
// refresh token would give tokens that are bound to nothing. RFC 8705 §4 says the same of
// certificates.
func checkBinding(a storage.Application, bound, shown possession.Binding) error {
	// Such a token was issued while the client authenticated. Now nothing would stop a thief with
	// a key of their own.
	if a.ClientType == policy.Public && bound != "" && bound.Confirmation() == nil {
		return oauth.Refuse(
			"invalid_grant",
			"The refresh token was issued while this client authenticated, and is bound to no key or certificate of its own: "+
				"send the person through the authorization endpoint again.",
		)
	}
	if bound.Allows(shown) {
		return nil
	}
	if shown != "" && bound.Kind() == shown.Kind() {
		return oauth.Refuse(
			"invalid_grant", "The refresh token is bound to another key or certificate than the one of this request.",
		)
	}
	return oauth.Refuse(
		"invalid_grant",
		"The refresh token is sender-constrained: send a DPoP proof, or use the client certificate, as in the request that "+
			"it was issued for.",
	)
}

// scope returns the scope of the new access token: the scopes of the request, without those
// that the application may no longer have. The scopes of a request without the parameter
// scope are all scopes of the authorization grant that a token for the audience may have.
func (g *refreshGrant) scope(
	a storage.Application,
	granted string,
	audience resources.Audience,
	parameter string,
) ([]string, error) {
	asked, err := requestedScope(granted, parameter)
	if err != nil {
		return nil, err
	}
	if parameter != "" && len(audience.Scopes(asked)) < len(asked) {
		return nil, oauth.Refuse("invalid_scope", "scope contains a scope that is no scope of the requested resource.")
	}
	return g.p.scopesFor(a, audience, asked)
}

// requestedScope returns the scopes of the request. If parameter is empty, it returns the whole
// scope of the authorization grant.
func requestedScope(whole, parameter string) ([]string, error) {
	granted := strings.Fields(whole)
	asked, err := oauth.ParseScope(parameter)
	if err != nil {
		return nil, err
	}
	// RFC 6749 §6: a request must not ask for a scope that was not granted originally.
	if !oauth.Covers(granted, asked) {
		return nil, oauth.Refuse("invalid_scope", "scope contains a scope that was not granted: the grant has %q.", whole)
	}
	if len(asked) == 0 {
		return granted, nil
	}
	return asked, nil
}

// renew makes the new tokens, and then rotates the refresh token and
// stores the new tokens in one step. If another request was faster, it calls usedMeanwhile.
func (g *refreshGrant) renew(ctx context.Context, n *renewal) (*tokens.TokenResponse, error) {
	made, err := g.rotate(ctx, n)
	if errors.Is(err, storage.ErrSpent) {
		err = g.usedMeanwhile(ctx, n)
		if err == nil {
			made, err = g.tokens(ctx, n)
		}
	}
	return made.Answer, err
}

// rotate makes and stores the new tokens. Those of a request that repeats another one are stored already.
func (g *refreshGrant) rotate(ctx context.Context, n *renewal) (tokens.Pair, error) {
	if n.repeats {
		return g.tokens(ctx, n)
	}
	kept, text := "", n.Form.Get("refresh_token")
	if g.p.rules.AllowanceOf(*n.Client).RefreshGrace > 0 {
		t := newTrail(n)
		kept, n.from = t.String(), tokens.Derived(text, t.salt, oauth.Now())
	} else {
		n.from = tokens.Anew()
	}
	made, err := g.tokens(ctx, n)
	if err == nil {
		err = g.keepSession(ctx, &n.token)
	}
	if err == nil {
		err = g.spend(ctx, n, text, &made, kept)
	}
	return made, err
}

// tokens makes the tokens of a request.
func (g *refreshGrant) tokens(ctx context.Context, n *renewal) (tokens.Pair, error) {
	grant := &n.token.Grant
	f := tokens.FamilyOf(grant, n.bound)
	f.Scope, f.Resource = n.token.Scope, n.token.Resource
	if grant.SessionID == "" {
		f.Login, f.ACR, f.AMR = 0, "", "" // there was no login
	}
	made, err := g.p.tokens.NewPair(ctx, *n.Client, f, n.scope, n.audience, n.from)
	if err != nil {
		return made, err
	}
	// OIDC Core §12.2: the ID token is about the same login, and has no nonce.
	err = g.p.tokens.AddIDToken(ctx, made.Answer, n.scope, tokens.IDTokenFor{
		Application: *n.Client, By: n.by, UserID: f.UserID, Sector: f.Sector, Offline: f.SessionEndsAt == 0,
		AuthTime: grant.AuthTime, ACR: grant.ACR, AMR: grant.AMR, SessionID: grant.SessionID, Claims: grant.Claims,
		Audience: n.audience})
	if err != nil {
		err = framework.Failed(err)
	}
	return made, err
}

// keepSession records that the session of a login is in use, so that it does not expire for
// lack of use while an application refreshes its tokens.
func (g *refreshGrant) keepSession(ctx context.Context, token *storage.RefreshToken) error {
	if token.Grant.SessionEndsAt == 0 {
		return nil
	}
	return oauth.Stored(g.p.store.TouchSession(ctx, token.Grant.SessionID, oauth.Now(), g.p.people.TouchEvery()))
}

// spend invalidates the refresh token and stores the new tokens (rotation), or keeps the
// refresh token. The error is storage.ErrSpent if the token is no longer valid.
func (g *refreshGrant) spend(ctx context.Context, n *renewal, text string, made *tokens.Pair, kept string) error {
	token, at := &n.token, n.from.At
	bound := possession.Of(token.Token).Confirmation() != nil
	if !policy.RotatesRefresh(*n.Client, bound, g.p.config.RotateRefreshTokens) {
		made.Answer.RefreshToken = text
		last := len(made.Tokens) - 1
		return storeError(g.p.store.KeepRefresh(ctx, token.Digest, token.Grant.ID, at, made.Tokens[last].ExpiresAt,
			made.ExpiresAt, made.Tokens[:last]...))
	}
	return storeError(g.p.store.RotateRefresh(ctx, token.Digest, token.Grant.ID, kept, at, made.ExpiresAt, made.Tokens))
}

// storeError returns storage.ErrSpent unchanged, because the caller handles it. It converts every
// other error to the error for the client.
func storeError(err error) error {
	if errors.Is(err, storage.ErrSpent) {
		return err
	}
	return oauth.Stored(err)
}

// usedMeanwhile handles a request whose refresh token was used, or whose token family was revoked, after
// the request had read the token, as usedBefore does.
func (g *refreshGrant) usedMeanwhile(ctx context.Context, n *renewal) error {
	token, err := g.p.store.RefreshTokenByDigest(ctx, seal.Digest(n.Form.Get("refresh_token")), oauth.Now())
	if errors.Is(err, storage.ErrNotFound) || err == nil && token.UsedAt == nil {
		return invalidRefresh()
	}
	if err != nil {
		return oauth.Unavailable(err)
	}
	n.token = token
	return g.usedBefore(ctx, n)
}
