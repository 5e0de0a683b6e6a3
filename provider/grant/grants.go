// Package grant implements the token endpoint (RFC 6749 §3.2) and its grants: authorization
// code, client credentials, the resource owner's password, refresh token (RFC 6749 §4, §6),
// and device code (RFC 8628 §3.4). Each grant has one method, Check. One adapter calls it for
// fosite. This package replaces fosite's own handlers, of which only the one for client
// credentials is used.
package grant

import (
	"log/slog"

	"github.com/ory/fosite"
	"github.com/ory/fosite/handler/oauth2"

	"mandate/provider/clients"
	"mandate/provider/framework"
	"mandate/provider/limits"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/provider/possession"
	"mandate/provider/resources"
	"mandate/provider/tokens"
	"mandate/storage"
)

// New returns the component.
func New(
	config Config,
	rules *policy.Rules,
	store *storage.Store,
	l *limits.Limits,
	people *people.People,
	c *clients.Clients,
	t *tokens.Tokens,
	apis *resources.Resources,
	proofs *possession.Checks,
	log *slog.Logger,
) *Grants {
	p := &Grants{
		config:  config,
		rules:   rules,
		store:   store,
		limits:  l,
		people:  people,
		clients: c,
		tokens:  t,
		apis:    apis,
		proofs:  proofs,
		log:     log,
	}
	p.grants = map[string]Grant{
		policy.GrantCode:     &codeGrant{p},
		policy.GrantRefresh:  &refreshGrant{p},
		policy.GrantClient:   &clientGrant{p, framework.ClientCredentials(rules, accessTokens{p: p})},
		policy.GrantPassword: &passwordGrant{p},
		policy.GrantDevice:   &deviceGrant{p},
	}
	p.fosite = framework.Token(c, rules, adapter{p})
	return p
}

// Framework returns what calls the grants, for tests.
func (p *Grants) Framework() *fosite.Fosite { return p.fosite }

// ClientCredentials returns what issues the opaque tokens of the client credentials grant, for tests.
func (p *Grants) ClientCredentials() *oauth2.ClientCredentialsGrantHandler {
	return p.grants[policy.GrantClient].(*clientGrant).fosite
}
