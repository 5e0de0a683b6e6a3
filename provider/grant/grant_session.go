package grant

import (
	"context"
	"strings"

	"github.com/ory/fosite"
	"github.com/ory/fosite/handler/oauth2"

	"mandate/provider/framework"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/tokens"
	"mandate/storage"
)

// accessTokens stores what fosite's client credentials grant issues. The rest
// of the interface is nil: only the token halves that are not used call it.
type accessTokens struct {
	oauth2.AccessTokenStorage
	p *Grants
}

func (s accessTokens) CreateAccessTokenSession(ctx context.Context, signature string, r fosite.Requester) error {
	c, issued := r.GetClient().(*framework.Client), r.GetSession().(*Session)
	at := oauth.Now()
	issued.Answer = &tokens.TokenResponse{ExpiresIn: s.p.rules.AccessLifetime(c.Application), Scope: strings.Join(r.GetGrantedScopes(), " ")}
	return oauth.Stored(s.p.store.AddToken(ctx, storage.Token{Digest: signature, ApplicationID: &c.ID, Scope: issued.Answer.Scope,
		IssuedAt: at, ExpiresAt: at + issued.Answer.ExpiresIn, ChargedTo: policy.ChargedTo(c.Application)}))
}

// session is what a token request carries through fosite from its first step to its
// last.
type Session struct {
	framework.Session
	grant  *storage.Grant     // of the code that is exchanged
	token  *storage.LiveToken // that is refreshed
	person *storage.User      // whose password was right
	scope  []string           // of the access token
	Answer *tokens.TokenResponse
}

// Clone is required by fosite.
func (s *Session) Clone() fosite.Session { copied := *s; return &copied }
