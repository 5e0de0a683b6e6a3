package provider

import (
	"context"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/tokens"
	"mandate/storage"
	"strings"

	"github.com/ory/fosite"
	"github.com/ory/fosite/handler/oauth2"
)

// accessTokens stores what fosite's client credentials grant issues. The rest
// of the interface is nil: only the token halves that are not used call it.
type accessTokens struct {
	oauth2.AccessTokenStorage
	p *Grants
}

func (s accessTokens) CreateAccessTokenSession(ctx context.Context, signature string, r fosite.Requester) error {
	c, issued := r.GetClient().(*client), r.GetSession().(*session)
	at := oauth.Now()
	issued.answer = &tokens.TokenResponse{ExpiresIn: s.p.rules.AccessLifetime(c.Application), Scope: strings.Join(r.GetGrantedScopes(), " ")}
	return oauth.Stored(s.p.store.AddToken(ctx, storage.Token{Digest: signature, ApplicationID: &c.ID, Scope: issued.answer.Scope,
		IssuedAt: at, ExpiresAt: at + issued.answer.ExpiresIn, ChargedTo: policy.ChargedTo(c.Application)}))
}

// session is what a token request carries through fosite from its first step to its
// last.
type session struct {
	baseSession
	grant  *storage.Grant     // of the code that is exchanged
	token  *storage.LiveToken // that is refreshed
	person *storage.User      // whose password was right
	scope  []string           // of the access token
	answer *tokens.TokenResponse
}

// Clone is required by fosite.
func (s *session) Clone() fosite.Session { copied := *s; return &copied }
