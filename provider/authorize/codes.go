package authorize

import (
	"context"
	"errors"

	"github.com/ory/fosite"
	"github.com/ory/fosite/handler/oauth2"

	"mandate/provider/access"
	"mandate/provider/acr"
	"mandate/provider/framework"
	"mandate/provider/indicator"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/storage"
)

// authorizationCodes stores the authorization codes that fosite's authorization endpoint
// issues. The embedded interface is nil: fosite calls its other methods only at the token
// endpoint, where this server has its own handlers.
type authorizationCodes struct {
	oauth2.CoreStorage
	p *Authorizations
}

// CreateAuthorizeCodeSession stores the authorization grant with the digest of its code. It
// returns an error if the application may not get an authorization grant now, or if the
// person was signed out meanwhile, or if a pushed request has its answer already.
func (s authorizationCodes) CreateAuthorizeCodeSession(ctx context.Context, signature string,
	r fosite.Requester) error {
	c, by := r.GetClient().(*framework.Client), r.GetSession().(*approval)
	err := s.p.tokens.MayApprove(ctx, *c.Application, by.signedIn.User.ID)
	if err != nil {
		return err
	}
	grant, owner := s.p.tokens.GrantBy(by.signedIn, policy.GrantCode, *c.Application, r.GetGrantedScopes())
	grant.CodeDigest, grant.CodeExpiresAt, grant.CodeChallenge = &signature,
		grant.CreatedAt+s.p.codeLifetime(*c.Application), r.GetRequestForm().Get("code_challenge")
	grant.ExpiresAt, grant.Resource, grant.DPoPKey = grant.CodeExpiresAt, by.resource, by.dpopKey
	grant.RedirectURI, grant.RedirectSent = r.GetRequestForm().Get("redirect_uri"), by.redirectSent
	grant.Nonce, grant.Claims = by.openID.nonce, by.openID.claims
	grant.ACR, grant.Consent = acr.Claim(grant.AMR, by.openID.acr.values), by.consent
	err = s.p.addGrant(ctx, grant, owner, by)
	if errors.Is(err, storage.ErrSpent) {
		return loggedOut()
	}
	if errors.Is(err, storage.ErrExcluded) {
		return access.Excluded()
	}
	if errors.Is(err, storage.ErrRevoked) {
		return revoked()
	}
	if errors.Is(err, storage.ErrNotFound) && by.pushed != "" {
		return answered()
	}
	if err == nil {
		s.p.codes.Add(1)
	}
	return oauth.Stored(err)
}

// mostChanges is how often a consent may change while a grant that relies on it is stored.
const mostChanges = 20

// addGrant stores the grant of an approval. If the consent on which it relies has changed since it was read, it decides
// what is stored by now: another approval of the person at the same time only adds to it.
func (p *Authorizations) addGrant(ctx context.Context, grant storage.Grant, owner string, by *approval) error {
	for range mostChanges {
		err := p.store.AddGrant(ctx, grant, owner, by.pushed)
		if !errors.Is(err, storage.ErrRevoked) {
			return err
		}
		now, failed := p.store.Consent(ctx, grant.UserID, grant.ApplicationID)
		switch {
		case errors.Is(failed, storage.ErrNotFound):
			return err
		case failed != nil:
			return failed
		case now.Generation != grant.Generation || !approved(now).Covers(by.access()):
			return err
		}
		grant.Consent = &now
	}
	return storage.ErrRevoked
}

// codeLifetime returns the lifetime of the codes of an application in seconds.
func (p *Authorizations) codeLifetime(a storage.Application) int64 {
	life := oauth.Seconds(p.config.CodeLifetime)
	if policy.HasProfile(a) {
		life = min(life, policy.FAPICodeLifetime)
	}
	return life
}

// approval is fosite's session of an authorization request.
type approval struct {
	framework.Session
	signedIn     *storage.SignedIn
	redirectSent bool
	openID       *OpenIDRequest
	resource     string                    // the audience of the grant, as it is stored
	pushed       string                    // the digest of the pushed request, or empty
	dpopKey      string                    // the thumbprint of the key to which the code is bound, or empty
	consent      *storage.Consent          // on which the grant relies, or nil
	access       func() indicator.Approved // what the grant gives, which the consent must cover
}

// Clone returns a copy. fosite requires this method.
func (s *approval) Clone() fosite.Session { copied := *s; return &copied }
