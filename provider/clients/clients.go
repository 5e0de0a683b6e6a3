// Package clients registers applications (RFC 6749 §2), and checks what a registration may contain. Its
// component authenticates them too, by package clientauth.
package clients

import (
	"context"
	"log/slog"
	"time"

	"mandate/provider/clientauth"
	"mandate/provider/copies"
	"mandate/provider/documents"
	"mandate/provider/events"
	"mandate/provider/keys"
	"mandate/provider/limits"
	"mandate/provider/outbound"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/provider/redirect"
	"mandate/provider/resources"
	"mandate/provider/seal"
	"mandate/storage"
)

// Config is what an operator decides about clients.
type Config struct {
	clientauth.Config
	OpenID             bool
	ObjectsByReference bool // read request objects at registered addresses
	StrictURIs         bool // post-logout redirect URIs with http:// are for confidential applications only
	Redirects          redirect.Policy
	Open               OpenConfig
	// SampleSecret is the client secret of the sample API, the same on every node.
	SampleSecret string
}

// Clients manages the registered applications and their secrets, and authenticates
// them.
type Clients struct {
	*clientauth.Checks
	config       Config
	rules        *policy.Rules
	store        *storage.Store
	limits       *limits.Limits
	keys         *keys.Ring
	people       *people.People
	apis         *resources.Resources
	outbound     *outbound.Client
	strangers    *outbound.Client
	applications *copies.Copies[storage.Application]
	changes      *copies.Changes
	documents    *documents.Documents[described]
	logos        *documents.Documents[[]byte]
	objects      policy.ByStanding[*documents.Documents[string]] // at request URIs
	names        []byte
	uses         uses[string]
	withoutPKCE  uses[string]
	keyUses      keyUses
	refusals     *events.Refusals
	log          *slog.Logger
}

// Parts are what the component uses.
type Parts struct {
	Rules     *policy.Rules
	Store     *storage.Store
	Limits    *limits.Limits
	Keys      *keys.Ring
	People    *people.People
	Resources *resources.Resources
	Outbound  *outbound.Client
	Strangers *outbound.Client // to addresses that were registered by nobody who is responsible
	Secrets   seal.Sealer      // encrypts client secrets that must stay readable
	LogoNames []byte           // the key of the names of logos
	Changes   *copies.Changes
	Refusals  *events.Refusals
	Log       *slog.Logger
}

// New makes the component.
func New(config Config, with Parts) *Clients {
	p := &Clients{
		config:       config,
		rules:        with.Rules,
		store:        with.Store,
		limits:       with.Limits,
		keys:         with.Keys,
		people:       with.People,
		apis:         with.Resources,
		outbound:     with.Outbound,
		strangers:    with.Strangers,
		names:        with.LogoNames,
		applications: copies.New(10_000, with.Changes, applicationChanged),
		changes:      with.Changes,
		refusals:     with.Refusals,
		log:          with.Log,
	}
	p.Checks = clientauth.New(config.Config,
		clientauth.Parts{Rules: with.Rules, Store: with.Store, Limits: with.Limits, Outbound: with.Outbound,
			Strangers: with.Strangers, Secrets: with.Secrets, Log: with.Log},
		clientauth.Applications{
			Client:           p.Client,
			ClientOrDocument: p.clientOrDocument,
			Described:        p.isDescribed,
			Used:             p.usedKey,
		})
	p.documents = documents.New(with.Strangers, documents.Metadata(p.readDocument), with.Log)
	p.logos = documents.New(with.Strangers, logos(), with.Log)
	p.objects = policy.ByStanding[*documents.Documents[string]]{
		Administrators: documents.New(with.Outbound, objects(), with.Log),
		Persons:        documents.New(with.Outbound, objects(), with.Log),
		Open:           documents.New(with.Strangers, objects(), with.Log),
	}
	return p
}

// copyBytes is the size of the largest application that is copied. The owner decides
// the size, so there must be a limit.
const copyBytes = 4096

// Client returns the application with a client id, with the rights that it has now, or
// storage.ErrNotFound. It uses a copy if there is one, because nearly every request
// needs an application.
func (p *Clients) Client(ctx context.Context, clientID string) (storage.Application, error) {
	read := func(ctx context.Context, clientID string) (storage.Application, error) {
		a, err := p.store.ApplicationByClientID(ctx, clientID)
		return p.rules.Effective(a), err
	}
	return p.applications.Get(ctx, clientID, read, func(a storage.Application) bool {
		return len(a.Name)+len(a.RedirectURIs)+len(a.PostLogoutURIs)+len(a.RequestURIs)+len(a.Metadata)+len(a.JWKS)+
			len(a.JWKSURI)+len(a.Claims) <= copyBytes
	})
}

func applicationChanged(c *copies.Changes, read time.Time, a *storage.Application) bool {
	return c.Has(storage.OfApplication, &a.ID, read) || c.Has(storage.OfUser, a.OwnerID, read)
}

// DropCopies removes the copies and the remembered secrets that are too old.
func (p *Clients) DropCopies() {
	p.applications.Drop()
	p.documents.Drop()
	p.logos.Drop()
	p.Checks.DropCopies()
	p.objects.Drop()
}

// DocumentStats returns how often a metadata document that is kept was used, how often one was
// fetched, and how many are kept.
func (p *Clients) DocumentStats() (hits, misses int64, entries int) { return p.documents.Stats() }

// DocumentCounts returns how many metadata documents were fetched, how many of the fetches
// gave no usable document, and how many requests were refused because of a limit.
func (p *Clients) DocumentCounts() (fetched, unusable, refused int64) { return p.documents.Counts() }

// CopyStats returns how often a copy of an application was used, how often the database
// was read, and how many copies there are.
func (p *Clients) CopyStats() (hits, misses int64, entries int) { return p.applications.Stats() }
