// Package clients registers applications and authenticates them as clients (RFC 6749
// §2). It accepts the client secret by HTTP Basic (RFC 7617) or in the body, limits
// guesses at it, and checks what a registration may contain.
package clients

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"mandate/provider/copies"
	"mandate/provider/documents"
	"mandate/provider/events"
	"mandate/provider/keys"
	"mandate/provider/limits"
	"mandate/provider/oauth"
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
	Issuer             string   // of this server
	Bases              []string // the addresses of the endpoints without their names
	OpenID             bool
	ObjectsByReference bool // read request objects at registered addresses
	StrictURIs         bool // post-logout redirect URIs with http:// are for confidential applications only
	Redirects          redirect.Policy
	Open               OpenConfig
	// SampleSecret is the client secret of the sample API, the same on every node.
	SampleSecret string
	// Certificates says that the server gets the certificates of clients, from TLS or from a
	// reverse proxy.
	Certificates bool
	// Authorities issue the certificates of clients with tls_client_auth; nil: none does.
	Authorities *x509.CertPool
}

// Clients manages the registered applications and their secrets, and authenticates
// them.
type Clients struct {
	config       Config
	rules        *policy.Rules
	store        *storage.Store
	limits       *limits.Limits
	keys         *keys.Ring
	people       *people.People
	apis         *resources.Resources
	outbound     *outbound.Client
	strangers    *outbound.Client
	secrets      seal.Sealer
	applications *copies.Copies[storage.Application]
	changes      *copies.Changes
	documents    *documents.Documents[described]
	logos        *documents.Documents[[]byte]
	objects      byStanding[*documents.Documents[string]] // at request URIs
	proven       secretCache                              // correct secrets whose slow hash was computed
	names        []byte
	verified     verified // chains of certificates
	uses         uses[string]
	withoutPKCE  uses[string]
	keyUses      keyUses
	keysets      keySets
	refusals     *events.Refusals
	warned       sync.Map // applications, about whose audience the log has a warning
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
	p := &Clients{config: config, rules: with.Rules, store: with.Store, limits: with.Limits, keys: with.Keys, people: with.People, apis: with.Resources,
		outbound: with.Outbound, strangers: with.Strangers, secrets: with.Secrets, names: with.LogoNames,
		applications: copies.New(10_000, with.Changes, applicationChanged), changes: with.Changes, refusals: with.Refusals, log: with.Log,
		keysets: newKeySets(with.Outbound, with.Strangers, with.Log)}
	p.documents = documents.New(with.Strangers, documents.Metadata(p.readDocument), with.Log)
	p.logos = documents.New(with.Strangers, logos(), with.Log)
	p.objects = byStanding[*documents.Documents[string]]{documents.New(with.Outbound, objects(), with.Log),
		documents.New(with.Outbound, objects(), with.Log), documents.New(with.Strangers, objects(), with.Log)}
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
		return len(a.Name)+len(a.RedirectURIs)+len(a.PostLogoutURIs)+len(a.RequestURIs)+len(a.Metadata)+len(a.JWKS)+len(a.JWKSURI) <= copyBytes
	})
}

func applicationChanged(c *copies.Changes, read time.Time, a *storage.Application) bool {
	return c.Has(storage.OfApplication, &a.ID, read) || c.Has(storage.OfUser, a.OwnerID, read)
}

// HMACSecret returns the client secret, whose bytes are the key for HS256 (OIDC Core
// §10.1). While two secrets work, it returns the one that the client has used in the
// request that it has sent, if by is this client. It returns an error if the secret is stored as a hash or is too short.
func (p *Clients) HMACSecret(by *Caller, a storage.Application) (string, error) {
	if !readable(a.Secret) {
		return "", errors.New("HS256 needs the client secret, but the server keeps only a hash of it")
	}
	// RFC 7518 §3.2: a shorter secret is no key. A secret from before a rotation may be
	// older than the choice of HS256.
	if by != nil && len(by.secret) >= minHMACSecretBytes {
		return by.secret, nil
	} else if by != nil && by.secret != "" {
		return "", invalidClient("HS256 signs the ID tokens of this application with its secret, which must have at least %d bytes: use the new secret.", oauth.Own(minHMACSecretBytes))
	}
	secret, err := p.readSecret(a.ID, a.Secret)
	if err == nil && len(secret) < minHMACSecretBytes {
		err = fmt.Errorf("HS256 needs a client secret of at least %d bytes", minHMACSecretBytes)
	}
	return secret, err
}

// HMACKeys returns the secrets that may have signed a JWT by HS256: the present one,
// and the one before it while it still works.
func (p *Clients) HMACKeys(a storage.Application) ([]any, error) {
	secrets := []string{a.Secret}
	if readable(a.OldSecret) && a.OldSecretExpiresAt > oauth.Now() {
		secrets = append(secrets, a.OldSecret)
	}
	var keys []any
	for _, kept := range secrets {
		secret, err := p.readSecret(a.ID, kept)
		if err != nil {
			return nil, err
		}
		// RFC 7518 §3.2: a shorter secret can be guessed, so it verifies no signature.
		if len(secret) >= minHMACSecretBytes {
			keys = append(keys, []byte(secret))
		}
	}
	return keys, nil
}

// DropCopies removes the copies and the remembered secrets that are too old.
func (p *Clients) DropCopies() {
	p.applications.Drop()
	p.documents.Drop()
	p.logos.Drop()
	p.proven.drop()
	p.verified.drop()
	p.keysets.fetched.drop()
	p.objects.drop()
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
