package provider

import (
	"context"

	"github.com/ory/fosite"
	"github.com/ory/fosite/handler/oauth2"
)

// clientGrant is fosite's client credentials grant (RFC 6749 §4.4), which
// grants no scope by itself and answers a public client with the wrong error.
type clientGrant struct {
	*oauth2.ClientCredentialsGrantHandler
	p *Provider
}

func (g *clientGrant) HandleTokenEndpointRequest(ctx context.Context, request fosite.AccessRequester) error {
	a, err := mayUse(request, GrantClient)
	if err != nil {
		return err
	}
	names, err := g.p.config.resolveScope(a, request.GetRequestForm().Get("scope"))
	if err != nil {
		return err
	}
	for _, name := range names {
		request.GrantScope(name)
	}
	return g.ClientCredentialsGrantHandler.HandleTokenEndpointRequest(ctx, request)
}
