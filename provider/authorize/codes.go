package authorize

import (
	"context"
	"errors"
	"strings"

	"github.com/ory/fosite"
	"github.com/ory/fosite/handler/oauth2"

	"mandate/provider/framework"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/seal"
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
// person was signed out meanwhile.
func (s authorizationCodes) CreateAuthorizeCodeSession(ctx context.Context, signature string, r fosite.Requester) error {
	c, by := r.GetClient().(*framework.Client), r.GetSession().(*approval)
	err := s.p.tokens.MayApprove(ctx, c.Application, by.signedIn.User.ID)
	if err != nil {
		return err
	}
	at := oauth.Now()
	end := at + oauth.Seconds(s.p.config.CodeLifetime)
	owner := "" // of an application that must be notified of the logout
	if s.p.config.OpenID && c.BackchannelURI != "" && r.GetGrantedScopes().Has("openid") {
		owner = c.ID
		if c.OwnerID != nil {
			owner = *c.OwnerID
		}
	}
	err = s.p.store.AddGrant(ctx, storage.Grant{
		ID: seal.Random(16), GrantType: policy.GrantCode, ApplicationID: c.ID, UserID: by.signedIn.User.ID, SessionID: by.signedIn.Session.ID,
		Scope: strings.Join(r.GetGrantedScopes(), " "), AuthTime: by.signedIn.Session.AuthTime, CreatedAt: at, ExpiresAt: end,
		CodeDigest: &signature, CodeExpiresAt: end, CodeChallenge: r.GetRequestForm().Get("code_challenge"),
		RedirectURI: r.GetRequestForm().Get("redirect_uri"), RedirectSent: by.redirectSent,
		Resource: by.resource, ChargedTo: policy.ChargedTo(c.Application), Sector: c.Sector, Nonce: by.openID.nonce, Claims: by.openID.claims, SessionEndsAt: s.p.sessionEnd(r.GetGrantedScopes(), by.signedIn.Session),
	}, owner)
	if errors.Is(err, storage.ErrSpent) {
		return loggedOut()
	}
	if err == nil {
		s.p.codes.Add(1)
	}
	return oauth.Stored(err)
}

// approval is fosite's session of an authorization request.
type approval struct {
	framework.Session
	signedIn     *storage.SignedIn
	redirectSent bool
	openID       *OpenIDRequest
	resource     string // the audience of the grant, as it is stored
}

// Clone returns a copy. fosite requires this method.
func (s *approval) Clone() fosite.Session { copied := *s; return &copied }
