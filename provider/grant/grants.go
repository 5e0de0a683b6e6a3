// Package grant implements the token endpoint (RFC 6749 §3.2) and its grants: authorization
// code, client credentials, the resource owner's password, refresh token (RFC 6749 §4, §6),
// and device code (RFC 8628 §3.4). Each grant is a handler of fosite. This package replaces
// fosite's own handlers, of which only the one for client credentials is used.
package grant

import (
	"log/slog"
	"sync"
	"sync/atomic"

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

// Config holds the operator's settings for the token endpoint.
type Config struct {
	KeepRefreshTokens bool // for confidential applications that say nothing else; see policy.RotatesRefresh
}

// Grants makes the decisions of the token endpoint.
type Grants struct {
	config     Config
	rules      *policy.Rules
	store      *storage.Store
	limits     *limits.Limits
	people     *people.People
	clients    *clients.Clients
	tokens     *tokens.Tokens
	apis       *resources.Resources
	proofs     *possession.Checks
	fosite     *fosite.Fosite
	log        *slog.Logger
	issued     counters
	deprecated sync.Map // the applications whose use of the password grant has been logged
}

// New returns the component. It also sets the token endpoint's handlers of f.
func New(config Config, rules *policy.Rules, store *storage.Store, l *limits.Limits, people *people.People, c *clients.Clients, t *tokens.Tokens, apis *resources.Resources, proofs *possession.Checks, f *fosite.Fosite, log *slog.Logger) *Grants {
	p := &Grants{config: config, rules: rules, store: store, limits: l, people: people, clients: c, tokens: t, apis: apis, proofs: proofs, fosite: f, log: log}
	helper := &oauth2.HandleHelper{AccessTokenStrategy: framework.TokenStrategy{}, AccessTokenStorage: accessTokens{p: p}, Config: framework.ConfigOf(f)}
	framework.ConfigOf(f).TokenEndpointHandlers = fosite.TokenEndpointHandlers{
		&codeGrant{p},
		&refreshGrant{p},
		&clientGrant{&oauth2.ClientCredentialsGrantHandler{HandleHelper: helper, Config: framework.ConfigOf(f)}, p},
		&passwordGrant{p},
		&deviceGrant{p},
	}
	return p
}

// counters hold the numbers of tokens issued since the start of the process.
type counters struct{ access, refresh, ids atomic.Int64 }

// Counts returns how many access tokens, refresh tokens and ID tokens were issued since the
// start of the process.
func (p *Grants) Counts() (access, refresh, ids int64) {
	return p.issued.access.Load(), p.issued.refresh.Load(), p.issued.ids.Load()
}

// issue counts the tokens of a token response.
func (c *counters) issue(answer *tokens.TokenResponse) {
	c.access.Add(1)
	if answer.RefreshToken != "" {
		c.refresh.Add(1)
	}
	if answer.IDToken != "" {
		c.ids.Add(1)
	}
}
