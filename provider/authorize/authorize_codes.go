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

// authorizationCodes stores what the authorize half of fosite's code grant
// issues; the rest is nil as above.
type authorizationCodes struct {
	oauth2.CoreStorage
	p *Authorizations
}

func (s authorizationCodes) CreateAuthorizeCodeSession(ctx context.Context, signature string, r fosite.Requester) error {
	c, by := r.GetClient().(*framework.Client), r.GetSession().(*approval)
	err := s.p.tokens.MayApprove(ctx, c.Application, by.signedIn.User.ID)
	if err != nil {
		return err
	}
	at := oauth.Now()
	end := at + oauth.Seconds(s.p.config.CodeLifetime)
	owner := "" // of an application that is to be told
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
		ChargedTo: policy.ChargedTo(c.Application), Sector: c.Sector, Nonce: by.OpenID.nonce, Claims: by.OpenID.Claims, SessionEndsAt: s.p.SessionBound(r.GetGrantedScopes(), by.signedIn.Session),
	}, owner)
	if errors.Is(err, storage.ErrSpent) {
		return loggedOut()
	}
	if err == nil {
		s.p.codes.Add(1)
	}
	return oauth.Stored(err)
}

// approval is the session that an authorization request carries through fosite.
type approval struct {
	framework.Session
	signedIn     *storage.SignedIn
	redirectSent bool
	OpenID       *OpenIDRequest
}

// Clone is required by fosite.
func (s *approval) Clone() fosite.Session { copied := *s; return &copied }
