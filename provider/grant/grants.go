// Package grant implements the token endpoint (RFC 6749 §3.2) and its grants: authorization
// code, client credentials, the resource owner's password, refresh token (RFC 6749 §4, §6),
// and device code (RFC 8628 §3.4). Each grant has one method, Check. One adapter calls it for
// fosite. This package replaces fosite's own handlers, of which only the one for client
// credentials is used.
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
	// ReuseProtection revokes the whole token family if a replaced refresh token is presented again after its grace
	// period, or after its successor was used.
	//
	// It cannot be disabled (RFC 9700 §4.14.2).
	ReuseProtection bool `key:"REFRESH_TOKEN_REUSE_PROTECTION" default:"true" subject:"Lifetimes" after:"REFRESH_TOKEN_GRACE_PERIOD_SECONDS"`
	// RotateRefreshTokens replaces a refresh token when it is used.
	//
	// It is for confidential applications without a setting of their own (`mandate application update
	// --refresh-rotation`) and without a profile. Refresh tokens of public applications always rotate (RFC 9700
	// §2.2.2), unless they are bound to a key or a certificate.
	RotateRefreshTokens bool `key:"ROTATE_REFRESH_TOKEN" default:"true"`
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
	grants     map[string]Grant // by grant_type
	log        *slog.Logger
	issued     counters
	deprecated sync.Map // the applications whose use of the password grant has been logged
}

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
