package tokens

import (
	"time"

	"mandate/provider/clients"
	"mandate/provider/copies"
	"mandate/provider/keys"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/provider/seal"
	"mandate/storage"
)

// TokensConfig is what an operator decides about tokens.
type Config struct {
	Issuer                  string
	OpenID                  bool
	IDTokenLifetime         time.Duration
	RefreshTokenMaxLifetime time.Duration // of a whole token family
	PersonTokensPerMinute   int
	OpenTokensPerMinute     int
}

// Tokens are the access, refresh and ID tokens: how they are made, found, described and
// revoked.
type Tokens struct {
	config   Config
	rules    *policy.Rules
	store    *storage.Store
	keys     *keys.Ring
	clients  *clients.Clients
	people   *people.People
	names    seal.Sealer // what a signed access token belongs to
	pairwise []byte      // makes subjects that two sectors cannot compare
	copies   *copies.Copies[knownToken]
	quotas   quotas
}

// NewTokens makes the component.
func New(config Config, rules *policy.Rules, store *storage.Store, ring *keys.Ring, c *clients.Clients, people *people.People, names seal.Sealer, pairwise []byte, changes *copies.Changes) *Tokens {
	p := &Tokens{config: config, rules: rules, store: store, keys: ring, clients: c, people: people, names: names, pairwise: pairwise,
		copies: copies.New(50_000, changes, tokenChanged)}
	p.quotas.rate = newRates(config)
	return p
}

// DropCopies removes copies that are too old.
func (p *Tokens) DropCopies() { p.copies.Drop() }

// TokenStats says how the copies of tokens serve.
func (p *Tokens) CopyStats() (hits, misses int64, entries int) { return p.copies.Stats() }
