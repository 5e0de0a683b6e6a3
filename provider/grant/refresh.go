package grant

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/ory/fosite"

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

// CanSkipClientAuth returns false: every client must authenticate or identify itself.
func (*refreshGrant) CanSkipClientAuth(context.Context, fosite.AccessRequester) bool { return false }

// CanHandleTokenEndpointRequest reports whether the request has the grant type refresh_token.
func (*refreshGrant) CanHandleTokenEndpointRequest(_ context.Context, r fosite.AccessRequester) bool {
	return r.GetGrantTypes().ExactOne(policy.GrantRefresh)
}

// HandleTokenEndpointRequest checks the refresh token and the scope. If the token was used
// before, it calls usedBefore.
func (g *refreshGrant) HandleTokenEndpointRequest(ctx context.Context, request fosite.AccessRequester) error {
	a, err := g.p.begin(ctx, request, policy.GrantRefresh)
	if err != nil {
		return err
	}
	text := request.GetRequestForm().Get("refresh_token")
	if text == "" {
		return oauth.Refuse("invalid_request", "refresh_token is missing.")
	}
	token, err := g.p.store.RefreshTokenByDigest(ctx, seal.Digest(text))
	if errors.Is(err, storage.ErrNotFound) {
		return invalidRefresh()
	}
	if err != nil {
		return oauth.Unavailable(err)
	}
	// RFC 6749 §6: a refresh token is bound to the client it was issued to.
	if token.Grant.ApplicationID != a.ID {
		return oauth.Refuse("invalid_grant", "The refresh token was issued to another client.")
	}
	issued := request.GetSession().(*Session)
	issued.bound = g.p.proofs.OfRefresh(ctx, possession.Of(token.Token), issued.bound)
	err = checkBinding(a, possession.Of(token.Token), issued.bound)
	if err == nil {
		err = g.p.use(ctx, issued)
	}
	if err != nil {
		return err
	}
	// RFC 6749 §10.4: the server limits how long a refresh token is valid. The limit is that
	// of the application's standing now, as for the other lifetimes.
	if g.p.rules.RefreshEnd(a, token.Token) <= oauth.Now() {
		return invalidRefresh()
	}
	if !policy.HasGrant(a, token.Grant.GrantType) {
		return oauth.Refuse("invalid_grant", "The application is no longer registered for the grant type %s, from which this refresh token comes.", oauth.Own(token.Grant.GrantType))
	}
	issued.token = &token
	form := request.GetRequestForm()
	if token.UsedAt != nil {
		return g.usedBefore(ctx, a, form, issued)
	}
	audience, err := g.p.audience(ctx, token.Resource, form)
	if err == nil {
		err = g.p.aim(ctx, issued, audience)
	}
	if err != nil {
		return err
	}
	issued.scope, err = g.scope(a, token.Scope, issued.audience, form.Get("scope"))
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
		return oauth.Refuse("invalid_grant", "The refresh token was issued while this client authenticated, and is bound to no key or certificate of its own: send the person through the authorization endpoint again.")
	}
	if bound.Allows(shown) {
		return nil
	}
	if shown != "" && bound.Kind() == shown.Kind() {
		return oauth.Refuse("invalid_grant", "The refresh token is bound to another key or certificate than the one of this request.")
	}
	return oauth.Refuse("invalid_grant", "The refresh token is sender-constrained: send a DPoP proof, or use the client certificate, as in the request that it was issued for.")
}

// scope returns the scope of the new access token: the scopes of the request, without those
// that the application may no longer have. The scopes of a request without the parameter
// scope are all scopes of the authorization grant that a token for the audience may have.
func (g *refreshGrant) scope(a storage.Application, granted string, audience resources.Audience, parameter string) ([]string, error) {
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

// PopulateTokenEndpointResponse makes the new tokens, and then rotates the refresh token and
// stores the new tokens in one step. If another request was faster, it calls usedMeanwhile.
func (g *refreshGrant) PopulateTokenEndpointResponse(ctx context.Context, request fosite.AccessRequester, responder fosite.AccessResponder) error {
	if !g.CanHandleTokenEndpointRequest(ctx, request) {
		return fosite.ErrUnknownRequest
	}
	issued, form := request.GetSession().(*Session), request.GetRequestForm()
	a := *request.GetClient().(*framework.Client).Application
	made, err := g.rotate(ctx, a, form, issued)
	if errors.Is(err, storage.ErrSpent) {
		err = g.usedMeanwhile(ctx, a, form, issued)
		if err == nil {
			made, err = g.tokens(ctx, a, issued)
		}
	}
	if err != nil {
		return err
	}
	issued.give(made.Answer, responder)
	return nil
}

// rotate makes and stores the new tokens. Those of a request that repeats another one are stored already.
func (g *refreshGrant) rotate(ctx context.Context, a storage.Application, form url.Values, issued *Session) (tokens.Pair, error) {
	if issued.repeats {
		return g.tokens(ctx, a, issued)
	}
	kept := ""
	if g.p.rules.AllowanceOf(a).RefreshGrace > 0 {
		t := newTrail(issued)
		kept, issued.from = t.String(), tokens.Derived(form.Get("refresh_token"), t.salt, oauth.Now())
	} else {
		issued.from = tokens.Anew()
	}
	made, err := g.tokens(ctx, a, issued)
	if err == nil {
		err = g.keepSession(ctx, issued.token)
	}
	if err == nil {
		err = g.spend(ctx, a, form.Get("refresh_token"), issued, &made, kept)
	}
	return made, err
}

// tokens makes the tokens of a request.
func (g *refreshGrant) tokens(ctx context.Context, a storage.Application, issued *Session) (tokens.Pair, error) {
	token := issued.token
	f := tokens.FamilyOf(&token.Grant, issued.bound)
	f.Scope, f.Resource = token.Scope, token.Resource
	if token.Grant.SessionID == "" {
		f.Login, f.ACR, f.AMR = 0, "", "" // there was no login
	}
	made, err := g.p.tokens.NewPair(ctx, a, f, issued.scope, issued.audience, issued.from)
	if err != nil {
		return made, err
	}
	// OIDC Core §12.2: the ID token is about the same login, and has no nonce.
	err = g.p.tokens.AddIDToken(ctx, made.Answer, issued.scope, tokens.IDTokenFor{Application: a, UserID: f.UserID, Sector: f.Sector, Offline: f.SessionEndsAt == 0,
		AuthTime: token.Grant.AuthTime, ACR: token.Grant.ACR, AMR: token.Grant.AMR, SessionID: token.Grant.SessionID, Claims: token.Grant.Claims, Audience: issued.audience})
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
func (g *refreshGrant) spend(ctx context.Context, a storage.Application, text string, issued *Session, made *tokens.Pair, kept string) error {
	token, at := issued.token, issued.from.At
	bound := possession.Of(token.Token).Confirmation() != nil
	if !policy.RotatesRefresh(a, bound, !g.p.config.KeepRefreshTokens) {
		made.Answer.RefreshToken = text
		last := len(made.Tokens) - 1
		return storeError(g.p.store.KeepRefresh(ctx, token.Digest, token.Grant.ID, at, made.Tokens[last].ExpiresAt, made.ExpiresAt, made.Tokens[:last]...))
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
func (g *refreshGrant) usedMeanwhile(ctx context.Context, a storage.Application, form url.Values, issued *Session) error {
	token, err := g.p.store.RefreshTokenByDigest(ctx, seal.Digest(form.Get("refresh_token")))
	if errors.Is(err, storage.ErrNotFound) || err == nil && token.UsedAt == nil {
		return invalidRefresh()
	}
	if err != nil {
		return oauth.Unavailable(err)
	}
	issued.token = &token
	return g.usedBefore(ctx, a, form, issued)
}
