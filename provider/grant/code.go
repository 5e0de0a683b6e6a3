package grant

import (
	"context"
	"errors"
	"strings"

	"github.com/ory/fosite"

	"mandate/provider/framework"
	"mandate/provider/oauth"
	"mandate/provider/pkce"
	"mandate/provider/policy"
	"mandate/provider/seal"
	"mandate/provider/tokens"
	"mandate/storage"
)

// codeGrant exchanges an authorization code for tokens (RFC 6749 §4.1.3). It replaces fosite's
// handlers, which have two defects. They delete the PKCE challenge before they compare it, so
// a code can be redeemed without its verifier. They read the code twice before they
// invalidate it, so a code can be redeemed more than once.
type codeGrant struct{ p *Grants }

// CanSkipClientAuth returns false: every client must authenticate or identify itself.
func (*codeGrant) CanSkipClientAuth(context.Context, fosite.AccessRequester) bool { return false }

// CanHandleTokenEndpointRequest reports whether the request has the grant type
// authorization_code.
func (*codeGrant) CanHandleTokenEndpointRequest(_ context.Context, r fosite.AccessRequester) bool {
	return r.GetGrantTypes().ExactOne(policy.GrantCode)
}

// HandleTokenEndpointRequest checks the code and everything to which it is bound. It does
// not invalidate the code, unless the code was used before.
func (g *codeGrant) HandleTokenEndpointRequest(ctx context.Context, request fosite.AccessRequester) error {
	a, err := mayUse(request, policy.GrantCode)
	if err != nil {
		return err
	}
	form := request.GetRequestForm()
	if form.Get("code") == "" {
		return oauth.Refuse("invalid_request", "code is missing.")
	}
	grant, err := g.p.store.GrantByCode(ctx, seal.Digest(form.Get("code")))
	if errors.Is(err, storage.ErrNotFound) {
		return oauth.Refuse("invalid_grant", "The authorization code is unknown, expired, or already used.")
	}
	if err != nil {
		return oauth.Unavailable(err)
	}
	err = checkCode(grant, a, form.Get("redirect_uri"), form.Get("code_verifier"))
	if err != nil {
		return err
	}
	if grant.CodeUsedAt != nil {
		return g.replayed(ctx, grant.ID)
	}
	if grant.CodeExpiresAt <= oauth.Now() || !grant.UserActive || grant.SessionEndsAt > 0 && grant.SessionEndsAt <= oauth.Now() {
		return oauth.Refuse("invalid_grant", "The authorization code is unknown, expired, or already used.")
	}
	issued := request.GetSession().(*Session)
	issued.grant = &grant
	issued.audience, err = g.p.audience(ctx, grant.Resource, form)
	if err != nil {
		return err
	}
	issued.scope, err = g.p.scopesFor(a, issued.audience, strings.Fields(grant.Scope))
	return err
}

// checkCode checks that the code was issued to this client, for this redirect URI and this
// code verifier.
func checkCode(grant storage.Grant, a storage.Application, redirectURI, verifier string) error {
	// RFC 6749 §4.1.3: a code works only for the client it was issued to.
	if grant.ApplicationID != a.ID {
		return oauth.Refuse("invalid_grant", "The authorization code was issued to another client.")
	}
	// RFC 6749 §4.1.3: redirect_uri must be the one of the authorization request, and is
	// required if the authorization request had it. It shows that the code was not injected
	// into another flow. A PKCE challenge shows that better, so OAuth 2.1 (draft -16, §10.2)
	// has no redirect_uri here, and a code with a challenge does not need it.
	if redirectURI == "" && grant.RedirectSent && grant.CodeChallenge == "" {
		return oauth.Refuse("invalid_request", "redirect_uri is missing: send the one of the authorization request.")
	}
	if redirectURI != "" && redirectURI != grant.RedirectURI {
		return oauth.Refuse("invalid_grant", "redirect_uri is not the one of the authorization request.")
	}
	return pkce.CheckVerifier(grant.CodeChallenge, verifier)
}

// replayed revokes the token family of a code that is used a second time (RFC 6749 §4.1.2).
// One of the two requests may come from an attacker, and the server cannot know which one. It
// returns the error for the client.
func (g *codeGrant) replayed(ctx context.Context, grantID string) error {
	err := g.p.store.RevokeGrant(ctx, grantID)
	if err != nil {
		return oauth.Unavailable(err)
	}
	g.p.log.Warn("an authorization code was used a second time: its token family was revoked", "grant", grantID)
	return oauth.Refuse("invalid_grant", "The authorization code was already used. The tokens that were issued for it have been revoked.")
}

// PopulateTokenEndpointResponse makes the tokens, and then redeems the code and stores the
// tokens in one step.
func (g *codeGrant) PopulateTokenEndpointResponse(ctx context.Context, request fosite.AccessRequester, responder fosite.AccessResponder) error {
	if !g.CanHandleTokenEndpointRequest(ctx, request) {
		return fosite.ErrUnknownRequest
	}
	issued := request.GetSession().(*Session)
	// The tokens are signed before the code is redeemed. If signing fails, the client can
	// still use the code.
	made, err := g.p.tokens.NewPair(ctx, request.GetClient().(*framework.Client).Application, tokens.FamilyOf(issued.grant), issued.scope, issued.audience)
	if err != nil {
		return err
	}
	err = g.p.tokens.AddIDToken(ctx, made.Answer, issued.scope, tokens.IDTokenFor{
		Application: request.GetClient().(*framework.Client).Application, UserID: issued.grant.UserID, AuthTime: issued.grant.AuthTime, Sector: issued.grant.Sector,
		SessionID: issued.grant.SessionID, Nonce: issued.grant.Nonce, Claims: issued.grant.Claims})
	if err != nil {
		return framework.Failed(err)
	}
	err = g.p.store.RedeemCode(ctx, issued.grant.ID, oauth.Now(), made.ExpiresAt, made.Tokens)
	if errors.Is(err, storage.ErrSpent) {
		return g.replayed(ctx, issued.grant.ID)
	}
	if err != nil {
		return oauth.Unavailable(err)
	}
	issued.give(made.Answer, responder)
	return nil
}
