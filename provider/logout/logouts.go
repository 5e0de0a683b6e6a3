package logout

import (
	"context"
	"log/slog"
	"sync/atomic"

	"mandate/provider/outbound"
	"mandate/provider/redirect"
	"mandate/provider/seal"
	"mandate/provider/tokens"
	"mandate/storage"
)

// LogoutConfig is what an application may do to log people out (OIDC RP-Logout).
type Config struct {
	Issuer        string
	AlwaysPrompt  bool // ask the person, whatever the application proves
	RefuseExpired bool // an ID token that has expired is no hint
	KeepTokens    bool // the tokens do not end with the session
	Redirects     redirect.Policy
}

// Logouts end sessions, and notify the applications of it.
type Logouts struct {
	config    Config
	redirects redirect.Policy
	store     *storage.Store
	tokens    *tokens.Tokens
	outbound  *outbound.Client
	tickets   seal.Sealer   // requests that wait for a person
	ended     chan struct{} // a session has ended at this node
	log       *slog.Logger

	told, callsFailed, givenUp atomic.Int64
}

// NewLogouts makes the component.
func New(config Config, store *storage.Store, t *tokens.Tokens, out *outbound.Client, tickets seal.Sealer, log *slog.Logger) *Logouts {
	return &Logouts{config: config, redirects: config.Redirects, store: store, tokens: t, outbound: out, tickets: tickets, ended: make(chan struct{}, 1), log: log}
}

const pageLife = 3600 // seconds in which a person answers the logout page

// Counts gives how many applications were notified, how many calls failed and how many
// notifications were given up, since the start of the process.
func (p *Logouts) Counts() (told, failed, givenUp int64) {
	return p.told.Load(), p.callsFailed.Load(), p.givenUp.Load()
}

// Notify notifies applications of ended sessions until ctx ends.
func (p *Logouts) Notify(ctx context.Context) { newTeller(p).run(ctx) }

// NotifyDue sends the notifications that are due now, and waits for the answers.
func (p *Logouts) NotifyDue(ctx context.Context) error {
	t := newTeller(p)
	defer t.calls.Wait()
	return t.round(ctx)
}
