// Package tokens makes, finds, describes and revokes access tokens, refresh tokens and
// ID tokens. It implements the token response (RFC 6749 §5.1), token revocation (RFC
// 7009), token introspection (RFC 7662), signed access tokens (RFC 9068), and ID
// tokens, claims and UserInfo of OpenID Connect (OIDC Core §2, §5).
package tokens

import (
	"context"
	"errors"
	"time"

	"mandate/provider/clients"
	"mandate/provider/copies"
	"mandate/provider/jose"
	"mandate/provider/keys"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/provider/possession"
	"mandate/provider/resources"
	"mandate/provider/seal"
	"mandate/storage"
)

// Config is what an operator decides about tokens.
type Config struct {
	// IDTokenLifetime is the lifetime of an ID token in seconds.
	IDTokenLifetime time.Duration `key:"ID_TOKEN_EXPIRE_SECONDS" default:"3600" min:"1" max:"31536000" subject:"OpenID Connect" after:"OIDC_ENABLED"`

	Issuer                  string
	OpenID                  bool
	RefreshTokenMaxLifetime time.Duration // of a whole token family
	PersonTokensPerMinute   int
	OpenTokensPerMinute     int
}

// Tokens makes, finds, describes and revokes the access tokens, refresh tokens and ID
// tokens.
type Tokens struct {
	config   Config
	rules    *policy.Rules
	store    *storage.Store
	keys     *keys.Ring
	clients  *clients.Clients
	people   *people.People
	apis     *resources.Resources
	proofs   *possession.Checks
	names    seal.Sealer // encrypts the jti of signed access tokens
	pairwise []byte      // the key for subjects that two sectors cannot compare
	copies   *copies.Copies[Found]
	quotas   quotas
}

// New makes the component.
func New(config Config, rules *policy.Rules, store *storage.Store, ring *keys.Ring, c *clients.Clients,
	people *people.People, apis *resources.Resources, proofs *possession.Checks, names seal.Sealer, pairwise []byte,
	changes *copies.Changes) *Tokens {
	p := &Tokens{config: config, rules: rules, store: store, keys: ring, clients: c, people: people, apis: apis,
		proofs: proofs, names: names, pairwise: pairwise,
		copies: copies.New(50_000, changes, tokenChanged)}
	p.quotas.rate = newRates(config)
	return p
}

// tokenChanged reports whether a record that a copied token depends on has changed, or a membership has ended.
func tokenChanged(c *copies.Changes, read time.Time, t *Found) bool {
	return t.ChangesAt > 0 && t.ChangesAt <= oauth.Now() ||
		c.Has(storage.OfToken, &t.Digest, read) || c.Has(storage.OfApplication, &t.Application, read) ||
		c.Has(storage.OfGrant, t.GrantID, read) || c.Has(storage.OfUser, t.UserID, read) ||
		c.Has(storage.OfUser, t.OwnerID, read) || c.Has(storage.OfSession, t.SessionID, read) ||
		t.name != "" && c.Has(storage.OfKeys, new(string), read) // the change does not name a key
}

// keyFor returns the key that the header of a JWT names, if the key is of the
// algorithm's kind. Otherwise it returns jose.ErrInvalid.
func (p *Tokens) keyFor(ctx context.Context, h jose.Header) (keys.SigningKey, error) {
	key, err := p.keys.ByID(ctx, h.KeyID)
	if errors.Is(err, oauth.ErrNotFound) || err == nil && key.Kind != jose.KindOf(h.Algorithm) {
		err = jose.ErrInvalid
	}
	return key, err
}

// DropCopies removes the copies that are too old.
func (p *Tokens) DropCopies() { p.copies.Drop() }

// CopyStats returns how often a copy of a token was used, how often the token was read,
// and how many copies there are.
func (p *Tokens) CopyStats() (hits, misses int64, entries int) { return p.copies.Stats() }
