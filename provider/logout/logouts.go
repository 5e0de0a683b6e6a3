// Package logout ends browser sessions when an application or the person asks for it
// (OIDC RP-Logout), and notifies the applications of sessions that have ended (OIDC
// Back-Channel).
package logout

import (
	"log/slog"
	"sync/atomic"

	"mandate/provider/bell"
	"mandate/provider/clients"
	"mandate/provider/outbound"
	"mandate/provider/policy"
	"mandate/provider/redirect"
	"mandate/provider/seal"
	"mandate/provider/tokens"
	"mandate/storage"
)

// Config is what an operator decides about logout (OIDC RP-Logout).
type Config struct {
	// Enabled lets applications send a person to `/o/logout/` to sign out (OIDC RP-Logout §2), and advertises that
	// endpoint.
	Enabled bool `key:"OIDC_RP_INITIATED_LOGOUT_ENABLED" default:"true" subject:"Logout"`
	// AlwaysPrompt asks the person to confirm every logout. `false` asks only if the request has no ID token of the
	// current session.
	AlwaysPrompt bool `key:"OIDC_RP_INITIATED_LOGOUT_ALWAYS_PROMPT" default:"false"`
	// StrictURIs lets only confidential applications register post-logout redirect URIs that begin with `http:` (such
	// URIs always lead to the person's own computer).
	StrictURIs bool `key:"OIDC_RP_INITIATED_LOGOUT_STRICT_REDIRECT_URIS" default:"false"`
	// AcceptExpired accepts an expired ID token as the hint of a logout request. Most ID tokens have expired when a
	// person signs out (OIDC RP-Logout §2).
	AcceptExpired bool `key:"OIDC_RP_INITIATED_LOGOUT_ACCEPT_EXPIRED_TOKENS" default:"true"`
	// DeleteTokens revokes the tokens of the session at a logout, except those with `offline_access`.
	DeleteTokens bool `key:"OIDC_RP_INITIATED_LOGOUT_DELETE_TOKENS" default:"true"`

	Issuer    string
	Redirects redirect.Policy `key:"-"`
}

// Logouts ends sessions and notifies applications of it.
type Logouts struct {
	config    Config
	rules     *policy.Rules
	store     *storage.Store
	clients   *clients.Clients
	tokens    *tokens.Tokens
	outbound  *outbound.Client
	strangers *outbound.Client // to the addresses of applications for which nobody is responsible
	tickets   seal.Sealer      // logout requests on which a person must decide
	ended     bell.Bell        // rings when a session has ended at this node, or a place is free again
	log       *slog.Logger

	delivered, callsFailed, givenUp atomic.Int64
}

// New makes the component.
func New(
	config Config,
	rules *policy.Rules,
	store *storage.Store,
	c *clients.Clients,
	t *tokens.Tokens,
	out, strangers *outbound.Client,
	tickets seal.Sealer,
	ended bell.Bell,
	log *slog.Logger,
) *Logouts {
	return &Logouts{
		config:    config,
		rules:     rules,
		store:     store,
		clients:   c,
		tokens:    t,
		outbound:  out,
		strangers: strangers,
		tickets:   tickets,
		ended:     ended,
		log:       log,
	}
}

const pageLife = 3600 // seconds, the time that a person has to answer the logout page

// Counts returns how many notifications were delivered, how many calls failed, and how
// many notifications were given up, since the start of the process.
func (p *Logouts) Counts() (delivered, failed, givenUp int64) {
	return p.delivered.Load(), p.callsFailed.Load(), p.givenUp.Load()
}
