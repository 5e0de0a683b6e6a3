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
)

// clientGrant is the client credentials grant (RFC 6749 §4.4). It extends fosite's handler,
// which grants no scope and returns the wrong error to a public client.
type clientGrant struct {
	*oauth2.ClientCredentialsGrantHandler
	p *Grants
}

// HandleTokenEndpointRequest checks that the application may use this grant, and grants
// the scopes of the request.
func (g *clientGrant) HandleTokenEndpointRequest(ctx context.Context, request fosite.AccessRequester) error {
	a, err := g.p.begin(ctx, request, policy.GrantClient)
	if err != nil {
		return err
	}
	form, issued := request.GetRequestForm(), request.GetSession().(*Session)
	audience, err := g.p.apis.Requested(ctx, a, form[oauth.Resource])
	if err == nil {
		err = g.p.aim(ctx, issued, audience)
	}
	if err != nil {
		return err
	}
	issues, err := issued.audience.Issues(a)
	if err != nil {
		return err
	}
	issued.issues = &issues
	requested, err := g.p.rules.ScopesWithoutLogin(a, form.Get("scope"), issued.audience)
	if err != nil {
		return err
	}
	issued.leftOut = requested.LeftOut
	request.SetRequestedScopes(requested.Names) // fosite refuses any other
	err = g.p.proofs.Use(ctx, &issued.proof)
	if err != nil {
		return err
	}
	for _, name := range requested.Names {
		request.GrantScope(name)
	}
	return g.ClientCredentialsGrantHandler.HandleTokenEndpointRequest(ctx, request)
}

// PopulateTokenEndpointResponse issues the access token. fosite's handler makes and stores an
// opaque token. A signed token is made here and is not stored.
func (g *clientGrant) PopulateTokenEndpointResponse(ctx context.Context, request fosite.AccessRequester, responder fosite.AccessResponder) error {
	if !g.CanHandleTokenEndpointRequest(ctx, request) {
		return fosite.ErrUnknownRequest
	}
	issued, at := request.GetSession().(*Session), oauth.Now()
	a := *issued.issues
	if a.AccessTokenFormat != policy.FormatJWT {
		return g.ClientCredentialsGrantHandler.PopulateTokenEndpointResponse(ctx, request, responder)
	}
	scope := strings.Join(request.GetGrantedScopes(), " ")
	access, err := g.p.tokens.SignAccess(ctx, a, tokens.Family{Bound: issued.bound}, scope, issued.audience, at, at+g.p.rules.AccessLifetime(a))
	if err != nil {
		return framework.Failed(err)
	}
	issued.give(&tokens.TokenResponse{AccessToken: access.Text, ExpiresIn: access.End - at, Scope: scope}, responder)
	return nil
}
