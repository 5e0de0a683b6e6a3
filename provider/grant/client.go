package grant

import (
	"context"
	"strings"

	"github.com/ory/fosite"
	"github.com/ory/fosite/handler/oauth2"

	"mandate/provider/clientauth"
	"mandate/provider/framework"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/resources"
	"mandate/provider/tokens"
	"mandate/storage"
)

// clientGrant is the client credentials grant (RFC 6749 §4.4). fosite's handler makes the opaque tokens. It
// grants no scope and returns the wrong error to a public client, so Check comes before it.
type clientGrant struct {
	p      *Grants
	fosite *oauth2.ClientCredentialsGrantHandler
}

// Check grants the scopes of the request.
func (g *clientGrant) Check(ctx context.Context, r *Request) (approved, error) {
	audience, err := g.p.apis.Requested(ctx, *r.Client, r.Form[oauth.Resource])
	if err == nil {
		err = g.p.aim(ctx, r, audience)
	}
	if err != nil {
		return approved{}, err
	}
	issues, err := audience.Issues(*r.Client)
	if err != nil {
		return approved{}, err
	}
	requested, err := g.p.rules.ScopesWithoutLogin(*r.Client, r.Form.Get("scope"), audience)
	if err == nil {
		err = g.p.proofs.Use(ctx, &r.proof)
	}
	if err != nil {
		return approved{}, err
	}
	return approved{issue: func(ctx context.Context) (*tokens.TokenResponse, error) {
		answer, err := g.issue(ctx, r, &issues, audience, requested.Names)
		if err == nil {
			answer.LeftOut = requested.LeftOut
		}
		return answer, err
	}}, nil
}

// issue issues an access token. issues is the application as this audience issues its tokens.
func (g *clientGrant) issue(
	ctx context.Context,
	r *Request,
	issues *storage.Application,
	audience resources.Audience,
	names []string,
) (*tokens.TokenResponse, error) {
	if issues.AccessTokenFormat == policy.FormatJWT {
		return g.signed(ctx, r, issues, audience, names)
	}
	return g.opaque(ctx, r, issues, audience, names)
}

// signed issues a signed access token, which is not stored.
func (g *clientGrant) signed(
	ctx context.Context,
	r *Request,
	issues *storage.Application,
	audience resources.Audience,
	names []string,
) (*tokens.TokenResponse, error) {
	scope, at := strings.Join(names, " "), oauth.Now()
	end, family := at+g.p.rules.AccessLifetime(*issues), tokens.Family{Bound: r.bound}
	access, err := g.p.tokens.SignAccess(ctx, *issues, family, scope, audience, at, end)
	if err != nil {
		return nil, framework.Failed(err)
	}
	return &tokens.TokenResponse{AccessToken: access.Text, ExpiresIn: access.End - at, Scope: scope}, nil
}

// opaque issues an opaque access token: fosite's handler makes and stores it.
func (g *clientGrant) opaque(
	ctx context.Context,
	r *Request,
	issues *storage.Application,
	audience resources.Audience,
	names []string,
) (*tokens.TokenResponse, error) {
	scope, at, life := strings.Join(names, " "), oauth.Now(), g.p.rules.AccessLifetime(*issues)
	own := &ownToken{client: framework.NewClient(r.Client, g.p.rules), by: r.by, token: storage.Token{
		ApplicationID: &r.Client.ID, Scope: scope, IssuedAt: at, ExpiresAt: at + life, ChargedTo: policy.ChargedTo(*r.Client),
		Resource: audience.Stored(), Generation: r.Client.Generation, CNF: string(r.bound)}}
	request := &fosite.AccessRequest{GrantTypes: fosite.Arguments{policy.GrantClient},
		Request: fosite.Request{Client: &own.client, Session: own, RequestedScope: names, GrantedScope: names}}
	response := fosite.NewAccessResponse()
	err := g.fosite.HandleTokenEndpointRequest(ctx, request)
	if err == nil {
		err = g.fosite.PopulateTokenEndpointResponse(ctx, request, response)
	}
	if err != nil {
		return nil, err
	}
	return &tokens.TokenResponse{AccessToken: response.AccessToken, ExpiresIn: life, Scope: scope}, nil
}

// ownToken is fosite's session of a token that an application obtains for itself.
type ownToken struct {
	framework.Session
	client framework.Client
	by     *clientauth.Caller
	token  storage.Token
}

// Clone returns a copy. fosite requires this method.
func (s *ownToken) Clone() fosite.Session { copied := *s; return &copied }

// accessTokens stores the access tokens that fosite's client credentials grant issues. The
// embedded interface is nil, because only unused handlers of fosite call its other methods.
type accessTokens struct {
	oauth2.AccessTokenStorage
	p *Grants
}

// CreateAccessTokenSession stores an opaque access token under its digest.
func (s accessTokens) CreateAccessTokenSession(ctx context.Context, signature string, r fosite.Requester) error {
	own := r.GetSession().(*ownToken)
	own.token.Digest = signature
	return s.p.clients.AddToken(ctx, own.by, own.token)
}
