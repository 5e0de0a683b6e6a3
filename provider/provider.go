package provider

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mandate/provider/access"
	"mandate/provider/authorize"
	"mandate/provider/clients"
	"mandate/provider/clock"
	"mandate/provider/copies"
	"mandate/provider/device"
	"mandate/provider/events"
	"mandate/provider/grant"
	"mandate/provider/keys"
	"mandate/provider/launcher"
	"mandate/provider/limits"
	"mandate/provider/logout"
	"mandate/provider/notices"
	"mandate/provider/outbound"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/provider/possession"
	"mandate/provider/registration"
	"mandate/provider/resources"
	"mandate/provider/seal"
	"mandate/provider/sites"
	"mandate/provider/tokens"
	"mandate/storage"
)

// Provider makes the protocol decisions. Each method takes a request and returns a value or an
// error, and writes no response. Only Run and Listen start work in the background.
type Provider struct {
	Keys           *keys.Ring
	People         *people.People
	Access         *access.Access
	Passkeys       *people.Passkeys
	Identities     *people.Identities
	Invitations    *people.Invitations
	Clients        *clients.Clients
	Launcher       *launcher.Launcher
	Resources      *resources.Resources
	Tokens         *tokens.Tokens
	Logouts        *logout.Logouts
	Authorizations *authorize.Authorizations
	Grants         *grant.Grants
	Devices        *device.Devices
	Registrations  *registration.Registrations
	Sites          *sites.Sites
	Proofs         *possession.Checks
	Notices        *notices.Notices
	Events         *events.Log
	Refusals       *events.Refusals
	Rules          *policy.Rules

	config   Config
	store    *storage.Store
	log      *slog.Logger
	limits   *limits.Limits
	sealers  sealers
	changes  *copies.Changes
	counters counters
	clock    *clock.Clock
	node     string // names this process in the database
	probe    probe
	unready  atomic.Bool // Ready has failed the last time
}

// counters holds numbers since the start of the process: the time of the last successful
// clean-up, the failed clean-ups, and the lost connections for notifications.
type counters struct{ swept, sweepsFailed, lost atomic.Int64 }

// New returns a provider that uses this store. The store must be open and migrated.
func New(ctx context.Context, config Config, store *storage.Store, log *slog.Logger) (*Provider, error) {
	if len(config.ServerKey) != 32 {
		return nil, errors.New("the server key must be 32 bytes")
	}
	p := &Provider{
		Events:   events.New(store),
		Refusals: events.NewRefusals(store, log),
		config:   config,
		Rules:    config.rules(),
		store:    store,
		log:      log,
		changes:  copies.NewChanges(config.MaxStaleness),
		clock:    clock.New(store.Embedded()),
		node:     seal.Random(16),
		limits:   limits.New(config.Hashing.Cost, config.Hashing.Concurrency),
	}
	calls := outbound.New(outbound.Config{
		Networks: config.Outbound.Networks,
		Trace:    config.TraceOutbound,
	}) // to addresses that applications registered, and to configured servers
	strangers := outbound.New(config.open().Outbound) // to addresses of applications for which nobody is responsible
	err := p.compareClocks(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the time of the database: %w", err)
	}
	p.sealers, err = newSealers(config.ServerKey)
	if err != nil {
		return nil, err
	}
	// The salt makes the setup link valid for this database only.
	salt, err := store.AddSetting(ctx, "setup_salt", seal.Random(16))
	if err != nil {
		return nil, fmt.Errorf("read the setup link's salt: %w", err)
	}
	setup, err := seal.Derive(config.ServerKey, "first-administrator/"+salt)
	if err != nil {
		return nil, err
	}
	sender, err := config.mail()
	if err != nil {
		return nil, err
	}
	recipients, err := seal.Key(config.ServerKey, "mail-recipient")
	if err != nil {
		return nil, err
	}
	mail := config.Notices
	mail.Base = config.tokens().Audience()
	p.Notices = notices.New(mail, store, sender, config.Letters, p.sealers.mails, recipients, log)
	sealers := people.Sealers{Devices: p.sealers.devices, Flashes: p.sealers.flashes, Factors: p.sealers.factors,
		SignIns: p.sealers.signIns}
	p.People = people.New(config.people(), p.Rules, store, p.limits, p.Notices, sealers, setup, log)
	p.Access = access.New(p.Rules, store, p.People)
	err = p.checkServerKey(ctx)
	if err != nil {
		return nil, err
	}
	handles, err := seal.Key(config.ServerKey, "passkey-handle")
	if err != nil {
		return nil, err
	}
	p.Passkeys, err = people.NewPasskeys(p.People, config.origin(), p.sealers.passkeys, handles)
	if err != nil {
		return nil, err
	}
	p.Identities = people.NewIdentities(p.People, calls, p.sealers.identities)
	p.Invitations = people.NewInvitations(p.People, p.Passkeys, p.sealers.signUps)
	pairwise, err := seal.Key(config.ServerKey, "pairwise")
	if err != nil {
		return nil, err
	}
	userCodes, err := seal.Key(config.ServerKey, "user-code")
	if err != nil {
		return nil, err
	}
	nonces, err := seal.Key(config.ServerKey, "dpop-nonce")
	if err != nil {
		return nil, err
	}
	p.Proofs, err = possession.New(config.possession(), store, nonces)
	if err != nil {
		return nil, err
	}
	p.Keys, err = keys.New(ctx, config.keys(p.Rules), store, p.sealers.signingKeys, p.changes.Receiving, p.clock.Err, log)
	if err != nil {
		return nil, err
	}
	sampleSecret, err := seal.Derive(config.ServerKey, "sample-api")
	if err != nil {
		return nil, err
	}
	p.Resources, err = resources.New(config.resources(), p.Rules, store, p.Keys, p.changes)
	if err != nil {
		return nil, err
	}
	registrations, err := seal.Key(config.ServerKey, "registration")
	if err != nil {
		return nil, err
	}
	logoNames, err := seal.Key(config.ServerKey, "logo-name")
	if err != nil {
		return nil, err
	}
	p.Clients = clients.New(config.clients(sampleSecret), clients.Parts{
		Rules:     p.Rules,
		Store:     store,
		Limits:    p.limits,
		Keys:      p.Keys,
		People:    p.People,
		Resources: p.Resources,
		Outbound:  calls,
		Strangers: strangers,
		Secrets:   p.sealers.secrets,
		LogoNames: logoNames,
		Changes:   p.changes,
		Refusals:  p.Refusals,
		Log:       log,
	})
	p.Launcher = launcher.New(p.Rules, store, p.Clients)
	p.Registrations = registration.New(
		config.registration(), p.Rules, store, p.limits, p.Clients, calls, strangers, registrations, log,
	)
	p.Tokens = tokens.New(
		config.tokens(), p.Rules, store, p.Keys, p.Clients, p.People, p.Resources, p.Proofs, p.sealers.jtis, pairwise,
		p.changes,
	)
	p.Logouts = logout.New(
		config.logout(), p.Rules, store, p.Clients, p.Tokens, calls, strangers, p.sealers.tickets, p.People.Ended, log,
	)
	p.Authorizations = authorize.New(
		config.authorize(p.People.ACRValues()), p.Rules, store, p.limits, p.Clients, p.Access, p.Tokens, p.Resources,
		p.Proofs, p.sealers.tickets,
	)
	p.Grants = grant.New(
		config.Grant, p.Rules, store, p.limits, p.People, p.Clients, p.Tokens,
		p.Resources, p.Proofs, log,
	)
	p.Devices = device.New(
		config.device(), p.Rules, store, p.limits, p.Clients, p.Access, p.Tokens, p.Resources, userCodes, p.sealers.tickets,
	)
	p.Sites = sites.New(sites.Config{Issuer: config.Issuer, OpenID: config.OpenID}, store, p.Clients, p.People, p.Keys,
		p.sealers.sites, p.changes)
	store.OnChange(p.changed) // here, and not by the caller: who forgets it uses old copies
	return p, nil
}

// sealers encrypt and decrypt with keys that are derived from the server key. Each one has one
// purpose.
type sealers struct {
	secrets     seal.Sealer // client secrets that the server can read back
	tickets     seal.Sealer // requests that wait for the person, in the browser
	devices     seal.Sealer // the cookie that identifies a known browser
	flashes     seal.Sealer // messages that a page shows once
	signingKeys seal.Sealer // signing keys
	factors     seal.Sealer // the secrets of authenticator apps
	signIns     seal.Sealer // sign-ins that wait for the second factor, in the browser
	passkeys    seal.Sealer // challenges for passkeys, in the browser
	identities  seal.Sealer // sign-ins at other servers, in the browser
	signUps     seal.Sealer // accounts that wait for their passkey, in the browser
	jtis        seal.Sealer // the jti of signed access tokens
	mails       seal.Sealer // messages that wait to be sent
	sites       seal.Sealer // sign-ins to sites, in the browser
	checks      seal.Sealer // what a check of the server asks it, and the answer
}

// newSealers derives one sealer for each purpose from the server key.
func newSealers(key []byte) (sealers, error) {
	var s sealers
	for purpose, into := range map[string]*seal.Sealer{
		"client-secret": &s.secrets,
		"ticket":        &s.tickets,
		"device":        &s.devices,
		"flash":         &s.flashes,
		"signing-key":   &s.signingKeys,
		"token-name":    &s.jtis,
		"factor":        &s.factors,
		"sign-in":       &s.signIns,
		"passkey":       &s.passkeys,
		"mail":          &s.mails,
		"other-server":  &s.identities,
		"sign-up":       &s.signUps,
		"check":         &s.checks,
		"site":          &s.sites,
	} {
		sealer, err := seal.New(key, purpose)
		if err != nil {
			return s, fmt.Errorf("derive the %s key: %w", purpose, err)
		}
		*into = sealer
	}
	return s, nil
}

// changed removes the copies of changed records. The store calls it after this node or another
// one has committed changes.
func (p *Provider) changed(changes []storage.Change) {
	// The keys are removed first, so that a copy that is made after the change uses the new
	// keys.
	if slices.ContainsFunc(
		changes, func(one storage.Change) bool { return one.Kind == storage.OfKeys || one.Kind == storage.OfAll },
	) {
		p.Keys.Forget()
	}
	records := make([]copies.Change, len(changes))
	for i, one := range changes {
		if one.Kind == storage.OfAll {
			p.changes.AddAll()
			return
		}
		records[i] = copies.Change(one)
	}
	p.changes.Add(records...)
}

// checkServerKey returns an error if the values in the database were encrypted with another
// server key. It runs at the start, so that the error does not occur first at a login.
func (p *Provider) checkServerKey(ctx context.Context) error {
	mark, err := seal.Derive(p.config.ServerKey, "fingerprint")
	if err != nil {
		return err
	}
	stored, err := p.store.AddSetting(ctx, "server_key_fingerprint", mark)
	if err != nil {
		return fmt.Errorf("read the server key's fingerprint: %w", err)
	}
	if subtle.ConstantTimeCompare([]byte(stored), []byte(mark)) != 1 {
		return errors.New("the server key is not the key that this database was created with, so encrypted values cannot " +
			"be read: set SECRET_KEY to the key that all nodes share")
	}
	return nil
}

// Run does the background work until ctx ends. It deletes expired rows in small batches, so
// that the tables do not grow. It also rotates the signing keys, notifies applications of
// logouts, sends mail, and removes old copies from memory.
func (p *Provider) Run(ctx context.Context) {
	var others sync.WaitGroup
	defer others.Wait()
	others.Go(func() { p.Keys.Run(ctx) })
	if p.config.OpenID {
		others.Go(func() { p.Logouts.Notify(ctx, p.rightForOthers) })
	}
	others.Go(func() { p.watchClock(ctx) })
	others.Go(func() { p.Refusals.Run(ctx) })
	others.Go(func() {
		p.Notices.Run(ctx, p.rightForOthers, notices.Answers{Reset: p.People.AnswerReset, SignUp: p.Invitations.Answer})
	})
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
			final, stop := context.WithTimeout(context.WithoutCancel(ctx), readyPatience)
			p.storeUses(final)
			_ = p.store.EndTurn(final, p.node) // otherwise it ends by itself
			stop()
			return
		case <-sweep:
			p.sweep(ctx)
		case <-copies.C:
			p.Clients.DropCopies()
			p.Registrations.DropCopies()
			p.storeUses(ctx)
			p.Tokens.DropCopies()
			p.Sites.DropCopies()
			p.changes.Drop()
		}
	}
}

// storeUses stores when applications were last used.
func (p *Provider) storeUses(ctx context.Context) {
	err := p.Clients.StoreUses(ctx)
	if err != nil && ctx.Err() == nil {
		p.log.Warn("the times of the last use of applications could not be stored; they are stored later", "error", err)
	}
}

// Listen receives the notifications of changes that other processes make, until ctx ends. It
// connects again after an error.
func (p *Provider) Listen(ctx context.Context) {
	disconnected := false // whether the connection is lost and the log says so
	received := func(upTo time.Time) {
		p.changes.ReceivedUpTo(upTo)
		if disconnected {
			disconnected = false
			p.log.Info("this node receives notifications about changes by other processes again")
		}
	}
	for ctx.Err() == nil {
		err := p.store.Listen(ctx, received)
		if err != nil && ctx.Err() == nil && !disconnected {
			disconnected = true
			p.counters.lost.Add(1)
			p.log.Warn(
				"this node receives no notifications about changes by other processes, and sees the changes late", "seconds",
				p.config.MaxStaleness.Seconds(), "error", err,
			)
		}
		if errors.Is(err, storage.ErrNoListen) {
			return // this database has no notifications
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}
