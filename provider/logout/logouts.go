// Package logout ends browser sessions when an application or the person asks for it
// (OIDC RP-Logout), and notifies the applications of sessions that have ended (OIDC
// Back-Channel).
package logout

import (
	"context"
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
	Issuer        string
	AlwaysPrompt  bool // ask the person, whatever the ID token proves
	RefuseExpired bool // refuse an id_token_hint that has expired
	KeepTokens    bool // do not revoke the tokens when an application ends the session
	Redirects     redirect.Policy
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

// Notify notifies applications of ended sessions, until ctx ends.
func (p *Logouts) Notify(ctx context.Context, right func() bool) { newNotifier(p).run(ctx, right) }

// NotifyDue sends the notifications that are due now, and waits for the responses.
func (p *Logouts) NotifyDue(ctx context.Context) error {
	t := newNotifier(p)
	defer t.calls.Wait()
	return t.sendDue(ctx)
}
