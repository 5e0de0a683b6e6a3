package grant

import (
	"context"
	"net/http"
	"strings"

	"github.com/ory/fosite"
	"github.com/ory/fosite/handler/oauth2"

	"mandate/provider/framework"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/possession"
	"mandate/provider/resources"
	"mandate/provider/tokens"
	"mandate/storage"
)

// accessTokens stores the access tokens that fosite's client credentials grant issues. The
// embedded interface is nil, because only unused handlers of fosite call its other methods.
type accessTokens struct {
	oauth2.AccessTokenStorage
	p *Grants
}

// CreateAccessTokenSession stores an opaque access token under its digest, and sets the
// session's answer.
func (s accessTokens) CreateAccessTokenSession(ctx context.Context, signature string, r fosite.Requester) error {
	c, issued := r.GetClient().(*framework.Client), r.GetSession().(*Session)
	at := oauth.Now()
	issued.Answer = &tokens.TokenResponse{ExpiresIn: s.p.rules.AccessLifetime(*issued.issues), Scope: strings.Join(r.GetGrantedScopes(), " ")}
	return s.p.clients.AddToken(ctx, storage.Token{Digest: signature, ApplicationID: &c.ID, Scope: issued.Answer.Scope,
		IssuedAt: at, ExpiresAt: at + issued.Answer.ExpiresIn, ChargedTo: policy.ChargedTo(*c.Application), Resource: issued.audience.Stored(), Generation: c.Generation, CNF: string(issued.bound)})
}

// Session is fosite's session of a token request. It passes values from the first step of a
// grant, which checks the request, to the last, which issues the tokens.
type Session struct {
	framework.Session
	grant  *storage.Grant        // the grant of the code, for the authorization code grant
	token  *storage.RefreshToken // the refresh token of the request, for the refresh grant
	person *storage.User         // the person whose password was right, for the password grant
	scope  []string              // the scope of the new access token
	Answer *tokens.TokenResponse // the token response

	from    tokens.Source // what the tokens are made from, for the refresh grant
	repeats bool          // another request has got the same tokens, for the refresh grant

	leftOut policy.LeftOut // the scopes of the request that the application cannot get

	sent  *http.Request      // the token request
	bound possession.Binding // what the new tokens are bound to
	proof possession.Proof   // by which they are; each grant uses it once it has found what the request presents

	shown    bool                 // proof is what the request proves: it was verified, or there is none
	audience resources.Audience   // what the new access token is for
	issues   *storage.Application // the application as this audience issues its tokens, for the client credentials grant
}

// NewSession returns the session of a token request.
func NewSession(sent *http.Request) *Session { return &Session{sent: sent} }

// Clone returns a copy. fosite requires this method.
func (s *Session) Clone() fosite.Session { copied := *s; return &copied }
