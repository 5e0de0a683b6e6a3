package command

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"mandate/app/config"
)

func (p *program) resourceServerCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "resource-server",
		Short: "Protect an API: forward the requests that an access token allows",
		Args:  arguments(),
		Long: `Protect an API that does not implement OAuth. A request is forwarded to UPSTREAM
if its access token allows it, and refused otherwise. RULES says which scopes a
path and a method need. Tokens are introspected at
RESOURCE_SERVER_INTROSPECTION_URL, with RESOURCE_SERVER_AUTH_TOKEN or
RESOURCE_SERVER_INTROSPECTION_CREDENTIALS. If RESOURCE_SERVER_JWKS_URL is set,
signed tokens are verified with the keys at that URL instead. With
RESOURCE_SERVER_ISSUER and RESOURCE_SERVER_AUDIENCE, clients find the authorization
server by the metadata of the API. This process opens no database.`,
		RunE: func(c *cobra.Command, _ []string) error {
			return stopped(c.Context(), p.resourceServer(c.Context()))
		},
	}
}

func (p *program) resourceServer(ctx context.Context) error {
	settings, err := config.Load(p.config, p.Environ)
	if err != nil {
		return err
	}
	if settings.Upstream == "" {
		return errors.New("UPSTREAM is not set: set it to the URL of the API to protect, and RULES to the scopes that each " +
			"path needs")
	}
	process, end := p.longRunning(settings)
	defer end()
	return process.Protect(ctx, settings)
}
