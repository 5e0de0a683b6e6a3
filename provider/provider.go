package provider

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/ory/fosite"

	"mandate/provider/authorize"
	"mandate/provider/clients"
	"mandate/provider/copies"
	"mandate/provider/framework"
	"mandate/provider/grant"
	"mandate/provider/keys"
	"mandate/provider/limits"
	"mandate/provider/logout"
	"mandate/provider/oauth"
	"mandate/provider/outbound"
	"mandate/provider/password"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/provider/seal"
	"mandate/provider/tokens"
	"mandate/storage"
)

// Provider decides. It reads requests and gives values or errors; it writes no
// response and, but for Run and Listen, starts nothing.
type Provider struct {
	*keys.Ring
	*people.People
	*clients.Clients
	*tokens.Tokens
	*logout.Logouts
	*authorize.Authorizations
	*grant.Grants
	config Config
	rules  *policy.Rules
	store  *storage.Store
	log    *slog.Logger
	fosite *fosite.Fosite
	limits *limits.Limits

	sealers sealers

	changes *copies.Changes

	outbound *outbound.Client // to addresses that somebody registered

	counters sweepCounters
}

// New makes a provider over an open, migrated store.
func New(ctx context.Context, config Config, store *storage.Store, log *slog.Logger) (*Provider, error) {
	if len(config.ServerKey) != 32 {
		return nil, errors.New("the server key must be 32 bytes")
	}
	p := &Provider{config: config, rules: config.rules(), store: store, log: log, limits: limits.New(password.Cost{MemoryKiB: config.PasswordMemoryKiB, Iterations: config.PasswordIterations}, config.PasswordConcurrency),
		outbound: outbound.New(config.OutboundNetworks, config.TraceOutbound)}

	p.changes = copies.NewChanges(config.MaxStaleness)
	var err error
	p.sealers, err = newSealers(config.ServerKey)
	if err != nil {
		return nil, err
	}
	// The link is good for this database alone.
	salt, err := store.AddSetting(ctx, "setup_salt", seal.Random(16))
	if err != nil {
		return nil, fmt.Errorf("read the setup link's salt: %w", err)
	}
	setup, err := seal.Derive(config.ServerKey, "first-administrator/"+salt)
	if err != nil {
		return nil, err
	}
	p.People = people.New(config.people(), p.rules, store, p.limits, people.Sealers{Devices: p.sealers.devices, Flashes: p.sealers.flashes}, setup, func() { p.Logouts.TellNow() }, log)
	err = p.checkServerKey(ctx)
	if err != nil {
		return nil, err
	}
	pairwise, err := seal.Key(config.ServerKey, "pairwise")
	if err != nil {
		return nil, err
	}
	p.Ring, err = keys.New(ctx, config.keys(p.rules), store, p.sealers.keySeal, p.changes.Hears, log)
	if err != nil {
		return nil, err
	}
	p.Clients = clients.New(config.clients(), p.rules, store, p.limits, p.Ring, p.People, p.outbound, p.sealers.secrets, p.changes)
	p.Tokens = tokens.New(config.tokens(), p.rules, store, p.Ring, p.Clients, p.People, p.sealers.names, pairwise, p.changes)
	p.Logouts = logout.New(config.logout(), store, p.Tokens, p.outbound, p.sealers.tickets, log)
	store.OnChange(p.changed)
	p.fosite = framework.New(config.CodeLifetime, config.AccessTokenLifetime, p.Clients, p.rules)
	p.Authorizations = authorize.New(config.authorize(), p.rules, store, p.Clients, p.Tokens, p.sealers.tickets, p.fosite)
	p.Grants = grant.New(grant.Config{RefreshGrace: config.RefreshGrace, KeepRefreshTokens: config.KeepRefreshTokens}, p.rules, store, p.limits, p.People, p.Tokens, p.fosite, log)
	return p, nil
}

// sealers encrypt under the server's key, each for one purpose.
type sealers struct {
	secrets seal.Sealer // client secrets that stay readable
	tickets seal.Sealer // requests that wait for a person
	devices seal.Sealer // browsers that are known
	flashes seal.Sealer // texts that a page shows once
	keySeal seal.Sealer // signing keys
	names   seal.Sealer // what a signed access token belongs to
}

func newSealers(key []byte) (sealers, error) {
	var s sealers
	for purpose, into := range map[string]*seal.Sealer{"client-secret": &s.secrets, "ticket": &s.tickets, "device": &s.devices, "flash": &s.flashes, "signing-key": &s.keySeal, "token-name": &s.names} {
		sealer, err := seal.New(key, purpose)
		if err != nil {
			return s, fmt.Errorf("derive the %s key: %w", purpose, err)
		}
		*into = sealer
	}
	return s, nil
}

// changed is called by the store when changes have been committed, by this node or
// by another.
func (p *Provider) changed(told []storage.Change) {
	// The keys first: a copy that is made after the change uses the new keys.
	if slices.ContainsFunc(told, func(one storage.Change) bool { return one.Kind == storage.OfKeys || one.Kind == storage.OfAll }) {
		p.Ring.Forget()
	}
	records := make([]copies.Change, len(told))
	for i, one := range told {
		if one.Kind == storage.OfAll {
			p.changes.TellAll()
			return
		}
		records[i] = copies.Change(one)
	}
	p.changes.Tell(records...)
}

// checkServerKey notices at the start, and not at somebody's login, that the
// database was sealed under another key.
func (p *Provider) checkServerKey(ctx context.Context) error {
	mark, err := seal.Derive(p.config.ServerKey, "fingerprint")
	if err != nil {
		return err
	}
	stands, err := p.store.AddSetting(ctx, "server_key_fingerprint", mark)
	if err != nil {
		return fmt.Errorf("read the server key's fingerprint: %w", err)
	}
	if subtle.ConstantTimeCompare([]byte(stands), []byte(mark)) != 1 {
		return errors.New("the server key is not the one this database was made with, and what it sealed could not be read: set SECRET_KEY to the one that all nodes share")
	}
	return nil
}

// Run deletes expired rows until ctx ends. It deletes small batches all the time, so that
// the tables stay as small as the live rows are. It also rotates the signing keys,
// notifies applications of logouts, and removes old copies.
func (p *Provider) Run(ctx context.Context) {
	var others sync.WaitGroup
	defer others.Wait()
	others.Go(func() { p.Ring.Run(ctx) })
	if p.config.OpenID {
		others.Go(func() { p.Logouts.Notify(ctx) })
	}
	copies := time.NewTicker(copies.Life)
	defer copies.Stop()
	var sweep <-chan time.Time
	if p.config.SweepInterval > 0 && p.config.SweepBatch > 0 {
		tick := time.NewTicker(p.config.SweepInterval)
		defer tick.Stop()
		sweep = tick.C
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-sweep:
			p.sweep(ctx)
		case <-copies.C:
			p.Clients.DropCopies()
			p.Tokens.DropCopies()
			p.changes.Drop()
		}
	}
}

// Listen hears what other processes change, until ctx ends.
func (p *Provider) Listen(ctx context.Context) {
	deaf := false // and it has been said
	heard := func(upTo time.Time) {
		p.changes.Heard(upTo)
		if deaf {
			deaf = false
			p.log.Info("this node hears again what other processes change")
		}
	}
	for ctx.Err() == nil {
		err := p.store.Listen(ctx, heard)
		if err != nil && ctx.Err() == nil && !deaf {
			deaf = true
			p.counters.lost.Add(1)
			p.log.Warn("this node does not hear what other processes change, and sees it late", "seconds", p.config.MaxStaleness.Seconds(), "error", err)
		}
		if errors.Is(err, storage.ErrDeaf) {
			return // it never will
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// departedBatch is how many times more rows are looked at for what deleted
// applications left behind: most of them stay.
const departedBatch = 10

func (p *Provider) sweep(ctx context.Context) {
	batch := p.config.SweepBatch
	for {
		at := oauth.Now()
		old, err := p.store.EndOldSessions(ctx, at, p.People.IdleSince(at), batch)
		if old > 0 {
			p.Logouts.TellNow()
		}
		var n int64
		if err == nil {
			n, err = p.store.Sweep(ctx, at, batch)
		}
		if err == nil {
			err = p.store.SweepDeparted(ctx, departedBatch*batch)
		}
		if err == nil {
			err = p.store.Reclaim(ctx)
		}
		n = max(n, old)
		if err == nil {
			p.counters.swept.Store(at)
		}
		if err != nil && ctx.Err() == nil {
			p.counters.sweepsFailed.Add(1)
			p.log.Warn("clean-up failed", "error", err)
		}
		if err != nil || n < int64(batch) {
			return
		}
	}
}
