package grant

import (
	"context"
	"errors"
	"strings"

	"github.com/ory/fosite"

	"mandate/provider/events"
	"mandate/provider/framework"
	"mandate/provider/oauth"
	"mandate/provider/pkce"
	"mandate/provider/policy"
	"mandate/provider/possession"
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
	a, err := g.p.begin(ctx, request, policy.GrantCode)
	if err != nil {
		return err
	}
	form := request.GetRequestForm()
	if form.Get("code") == "" {
		return oauth.Refuse("invalid_request", "code is missing.")
	}
	grant, err := g.p.grantOf(ctx, policy.GrantCode, seal.Digest(form.Get("code")))
	if errors.Is(err, storage.ErrNotFound) {
		return invalidCode()
	}
	if err != nil {
		return oauth.Unavailable(err)
	}
	err = checkCode(grant, a, form.Get("redirect_uri"), form.Get("code_verifier"))
	issued := request.GetSession().(*Session)
	if err == nil {
		err = checkKey(grant, issued.bound)
	}
	if err == nil {
		err = g.p.use(ctx, issued)
	}
	if err != nil {
		return err
	}
	if grant.CodeExpiresAt <= oauth.Now() && grant.CodeUsedAt == nil {
		return invalidCode()
	}
	return g.p.prepare(ctx, request, grant)
}

// grantOf returns the grant of a code, or storage.ErrNotFound. A code that was issued for
// another grant type is unknown: it was issued under other checks.
func (p *Grants) grantOf(ctx context.Context, grantType, digest string) (storage.Grant, error) {
	grant, err := p.store.GrantByCode(ctx, digest)
	if err == nil && grant.GrantType != grantType {
		err = storage.ErrNotFound
	}
	return grant, err
}

func invalidCode() *oauth.Error {
	return oauth.Refuse("invalid_grant", "The authorization code is unknown, expired, or already used.")
}

// prepare checks what the client gets for the code of a grant: whether the code is unused and
// the person may still be acted for, and then the audience and the scope of the tokens.
func (p *Grants) prepare(ctx context.Context, request fosite.AccessRequester, grant storage.Grant) error {
	if grant.CodeUsedAt != nil {
		return p.replayed(ctx, request, &grant)
	}
	if !grant.UserActive || grant.SessionEndsAt > 0 && grant.SessionEndsAt <= oauth.Now() {
		return oauth.Refuse("invalid_grant", "The approval has ended: the person was signed out, or the account was disabled.")
	}
	a := *request.GetClient().(*framework.Client).Application
	// Everything that the application held was revoked since then.
	if grant.Generation < a.Generation {
		return oauth.Refuse("invalid_grant", "The approval has ended: it was revoked. Ask the person again.")
	}
	issued := request.GetSession().(*Session)
	issued.grant = &grant
	audience, err := p.audience(ctx, grant.Resource, request.GetRequestForm())
	if err == nil {
		err = p.aim(ctx, issued, audience)
	}
	if err != nil {
		return err
	}
	issued.scope, err = p.scopesFor(a, issued.audience, strings.Fields(grant.Scope))
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

// checkKey checks that the request proves the key to which the code is bound.
//
// RFC 9449 §10: a code that was requested with dpop_jkt works only with a proof by that key.
func checkKey(grant storage.Grant, shown possession.Binding) error {
	switch {
	case grant.DPoPKey == "" || shown.Key() == grant.DPoPKey:
		return nil
	case shown.Key() == "":
		return oauth.Refuse("invalid_grant", "The authorization code is bound to the key of dpop_jkt, or of the DPoP proof of the pushed request: send a DPoP proof that is signed with this key.")
	}
	return oauth.Refuse("invalid_grant", "The DPoP proof is signed with another key than the one that the authorization code is bound to: that of dpop_jkt, or of the DPoP proof of the pushed request.")
}

// replayed revokes the token family of a code that is used a second time (RFC 6749 §4.1.2).
// One of the two requests may come from an attacker, and the server cannot know which one. It
// returns the error for the client.
func (p *Grants) replayed(ctx context.Context, request fosite.AccessRequester, grant *storage.Grant) error {
	a := request.GetClient().(*framework.Client).Application
	u, err := p.people.User(ctx, grant.UserID)
	if err == nil || errors.Is(err, oauth.ErrNotFound) {
		reused := events.Event{Kind: events.TokenReused, Person: u, By: events.ByApplication(*a), Object: events.Application(*a), Detail: "code"}
		err = p.revokeReused(ctx, grant.ID, reused)
	}
	if err != nil {
		return oauth.Stored(err)
	}
	p.log.Warn("a code was used a second time: its token family was revoked", "grant", grant.ID, "grant_type", grant.GrantType)
	return oauth.Refuse("invalid_grant", "The code was already used. The tokens that were issued for it have been revoked.")
}

// revokeReused revokes the token family of a value that was used a second time. An application can do that
// as often as it likes, so the event is counted. It is stored first: nobody would find the family again.
func (p *Grants) revokeReused(ctx context.Context, grantID string, reused events.Event) error {
	err := events.Failed(ctx, p.store, reused)
	if err != nil {
		return err
	}
	return oauth.Stored(p.store.RevokeGrant(ctx, grantID))
}

// PopulateTokenEndpointResponse makes the tokens, and then redeems the code and stores the
// tokens in one step.
func (g *codeGrant) PopulateTokenEndpointResponse(ctx context.Context, request fosite.AccessRequester, responder fosite.AccessResponder) error {
	if !g.CanHandleTokenEndpointRequest(ctx, request) {
		return fosite.ErrUnknownRequest
	}
	return g.p.redeem(ctx, request, responder)
}

// redeem makes the tokens of a grant, redeems its code and stores the tokens.
func (p *Grants) redeem(ctx context.Context, request fosite.AccessRequester, responder fosite.AccessResponder) error {
	issued, a := request.GetSession().(*Session), *request.GetClient().(*framework.Client).Application
	// The tokens are signed before the code is redeemed. If signing fails, the client can
	// still use the code.
	made, err := p.tokens.NewPair(ctx, a, tokens.FamilyOf(issued.grant, issued.bound), issued.scope, issued.audience, tokens.Anew())
	if err != nil {
		return err
	}
	err = p.tokens.AddIDToken(ctx, made.Answer, issued.scope, tokens.IDTokenFor{
		Application: a, UserID: issued.grant.UserID, AuthTime: issued.grant.AuthTime, ACR: issued.grant.ACR, AMR: issued.grant.AMR, Sector: issued.grant.Sector,
		SessionID: issued.grant.SessionID, Nonce: issued.grant.Nonce, Claims: issued.grant.Claims, Audience: issued.audience})
	if err != nil {
		return framework.Failed(err)
	}
	err = p.store.RedeemCode(ctx, issued.grant.ID, oauth.Now(), made.ExpiresAt, made.Tokens)
	if errors.Is(err, storage.ErrSpent) {
		return p.replayed(ctx, request, issued.grant)
	}
	if err != nil {
		return oauth.Unavailable(err)
	}
	issued.give(made.Answer, responder)
	return nil
}
