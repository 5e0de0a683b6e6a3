package grant

import (
	"context"
	"errors"
	"strings"

	"mandate/provider/events"
	"mandate/provider/framework"
	"mandate/provider/oauth"
	"mandate/provider/pkce"
	"mandate/provider/policy"
	"mandate/provider/possession"
	"mandate/provider/resources"
	"mandate/provider/seal"
	"mandate/provider/tokens"
	"mandate/storage"
)

// codeGrant exchanges an authorization code for tokens (RFC 6749 §4.1.3). It replaces fosite's
// handlers, which have two defects. They delete the PKCE challenge before they compare it, so
// a code can be redeemed without its verifier. They read the code twice before they
// invalidate it, so a code can be redeemed more than once.
type codeGrant struct{ p *Grants }

// Check checks the code and everything to which it is bound. It does
// not invalidate the code, unless the code was used before.
func (g *codeGrant) Check(ctx context.Context, r *Request) (approved, error) {
	code := r.Form.Get("code")
	if code == "" {
		return approved{}, oauth.Refuse("invalid_request", "code is missing.")
	}
	grant, err := g.p.grantOf(ctx, policy.GrantCode, seal.Digest(code))
	if errors.Is(err, storage.ErrNotFound) {
		return approved{}, invalidCode()
	}
	if err != nil {
		return approved{}, oauth.Unavailable(err)
	}
	err = checkCode(grant, *r.Client, r.Form.Get("redirect_uri"), r.Form.Get("code_verifier"))
	if err == nil {
		err = checkKey(grant, r.bound)
	}
	if err == nil {
		err = g.p.use(ctx, r)
	}
	if err != nil {
		return approved{}, err
	}
	if grant.CodeExpiresAt <= oauth.Now() && grant.CodeUsedAt == nil {
		return approved{}, invalidCode()
	}
	return g.p.redemption(ctx, r, &grant)
}

// grantOf returns the grant of a code, or storage.ErrNotFound. A code that was issued for
// another grant type is unknown: it was issued under other checks.
func (p *Grants) grantOf(ctx context.Context, grantType, digest string) (storage.Grant, error) {
	grant, err := p.store.GrantByCode(ctx, digest, oauth.Now())
	if err == nil && grant.GrantType != grantType {
		err = storage.ErrNotFound
	}
	return grant, err
}

func invalidCode() *oauth.Error {
	return oauth.Refuse("invalid_grant", "The authorization code is unknown, expired, or already used.")
}

// redemption checks what the client gets for the code of a grant: whether the code is unused and
// the person may still be acted for, and then the audience and the scope of the tokens.
func (p *Grants) redemption(ctx context.Context, r *Request, grant *storage.Grant) (approved, error) {
	if grant.CodeUsedAt != nil {
		return approved{}, p.replayed(ctx, r, grant)
	}
	if !grant.UserMay || grant.SessionEndsAt > 0 && grant.SessionEndsAt <= oauth.Now() {
		return approved{}, oauth.Refuse(
			"invalid_grant", "The approval has ended: the person was signed out, the account was disabled, or the person may "+
				"not use the application any more.",
		)
	}
	// Everything that the application held was revoked since then.
	if grant.Generation < r.Client.Generation {
		return approved{}, oauth.Refuse("invalid_grant", "The approval has ended: it was revoked. Ask the person again.")
	}
	audience, err := p.audience(ctx, grant.Resource, r.Form)
	if err == nil {
		err = p.aim(ctx, r, audience)
	}
	if err != nil {
		return approved{}, err
	}
	scope, err := p.scopesFor(*r.Client, audience, strings.Fields(grant.Scope))
	if err != nil {
		return approved{}, err
	}
	return approved{grant.UserID, func(ctx context.Context) (*tokens.TokenResponse, error) {
		return p.redeem(ctx, r, grant, audience, scope)
	}}, nil
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
		return oauth.Refuse(
			"invalid_grant",
			"The authorization code is bound to the key of dpop_jkt, or of the DPoP proof of the pushed request: send a DPoP "+
				"proof that is signed with this key.",
		)
	}
	return oauth.Refuse(
		"invalid_grant",
		"The DPoP proof is signed with another key than the one that the authorization code is bound to: that of dpop_jkt, "+
			"or of the DPoP proof of the pushed request.",
	)
}

// replayed revokes the token family of a code that is used a second time (RFC 6749 §4.1.2).
// One of the two requests may come from an attacker, and the server cannot know which one. It
// returns the error for the client.
func (p *Grants) replayed(ctx context.Context, r *Request, grant *storage.Grant) error {
	a := r.Client
	u, err := p.people.User(ctx, grant.UserID)
	if err == nil || errors.Is(err, oauth.ErrNotFound) {
		reused := events.Event{
			Kind:   events.TokenReused,
			Person: u,
			By:     events.ByApplication(*a),
			Object: events.Application(*a),
			Detail: "code",
		}
		err = p.revokeReused(ctx, grant.ID, reused)
	}
	if err != nil {
		return oauth.Stored(err)
	}
	p.log.Warn(
		"a code was used a second time: its token family was revoked", "grant", grant.ID, "grant_type", grant.GrantType,
	)
	return oauth.Refuse(
		"invalid_grant", "The code was already used. The tokens that were issued for it have been revoked.",
	)
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

// redeem makes the tokens of a grant, and then redeems its code and stores the tokens in one step.
func (p *Grants) redeem(
	ctx context.Context,
	r *Request,
	grant *storage.Grant,
	audience resources.Audience,
	scope []string,
) (*tokens.TokenResponse, error) {
	// The tokens are signed before the code is redeemed. If signing fails, the client can
	// still use the code.
	made, err := p.tokens.NewPair(ctx, *r.Client, tokens.FamilyOf(grant, r.bound), scope, audience, tokens.Anew())
	if err != nil {
		return nil, err
	}
	err = p.tokens.AddIDToken(ctx, made.Answer, scope, tokens.IDTokenFor{
		Application: *r.Client, By: r.by, UserID: grant.UserID, AuthTime: grant.AuthTime, ACR: grant.ACR, AMR: grant.AMR,
		Sector: grant.Sector, SessionID: grant.SessionID, Nonce: grant.Nonce, Claims: grant.Claims, Audience: audience})
	if err != nil {
		return nil, framework.Failed(err)
	}
	err = p.store.RedeemCode(ctx, grant.ID, oauth.Now(), made.ExpiresAt, made.Tokens)
	if errors.Is(err, storage.ErrSpent) {
		return nil, p.replayed(ctx, r, grant)
	}
	if err != nil {
		return nil, oauth.Unavailable(err)
	}
	return made.Answer, nil
}
