package clients

import (
	"context"
	"errors"
	"fmt"
	"time"

	"mandate/provider/copies"
	"mandate/provider/keys"
	"mandate/provider/limits"
	"mandate/provider/oauth"
	"mandate/provider/outbound"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/provider/redirect"
	"mandate/provider/seal"
	"mandate/storage"
)

// ClientsConfig is what an operator decides about clients.
type Config struct {
	OpenID     bool
	StrictURIs bool // post-logout redirect URIs with http:// are for confidential applications only
	Redirects  redirect.Policy
	ServerKey  []byte
}

// Clients are the registered applications, their secrets and their authentication.
type Clients struct {
	config       Config
	rules        *policy.Rules
	store        *storage.Store
	limits       *limits.Limits
	keys         *keys.Ring
	people       *people.People
	outbound     *outbound.Client
	secrets      seal.Sealer // client secrets that stay readable
	applications *copies.Copies[storage.Application]
	proven       proofs // secrets for which a slow hash was computed
}

// NewClients makes the component.
func New(config Config, rules *policy.Rules, store *storage.Store, l *limits.Limits, ring *keys.Ring, people *people.People, out *outbound.Client, secrets seal.Sealer, changes *copies.Changes) *Clients {
	return &Clients{config: config, rules: rules, store: store, limits: l, keys: ring, people: people, outbound: out, secrets: secrets,
		applications: copies.New(10_000, changes, applicationChanged)}
}

// copyBytes bounds the size of an application that is copied, which its owner decides.
const copyBytes = 4096

// application finds an application as nearly every request asks for one: as it may
// act now.
func (p *Clients) Client(ctx context.Context, clientID string) (storage.Application, error) {
	read := func(ctx context.Context, clientID string) (storage.Application, error) {
		a, err := p.store.ApplicationByClientID(ctx, clientID)
		return p.rules.Effective(a), err
	}
	return p.applications.Get(ctx, clientID, read, func(a storage.Application) bool {
		return len(a.Name)+len(a.RedirectURIs)+len(a.PostLogoutURIs) <= copyBytes
	})
}

func applicationChanged(c *copies.Changes, read time.Time, a storage.Application) bool {
	return c.Of(storage.OfApplication, &a.ID, read) || c.Of(storage.OfUser, a.OwnerID, read)
}

// hmacSecret is what HS256 signs with (OIDC Core §10.1): the secret in its own
// bytes, and while two secrets work the one that the client has just shown.
func (p *Clients) HMACSecret(ctx context.Context, a storage.Application) (string, error) {
	if !Readable(a.Secret) {
		return "", errors.New("HS256 needs a client secret that is kept readable")
	}
	// RFC 7518 §3.2: a shorter key is none. The one before a rotation may be older
	// than the choice of HS256.
	if shown := CallOf(ctx).Secret; len(shown) >= leastHMACSecret {
		return shown, nil
	} else if shown != "" {
		return "", invalidClient("The ID tokens of this application are signed with its secret by HS256, which takes a secret of at least %d bytes: use the new secret.", leastHMACSecret)
	}
	secret, err := p.readSecret(a.ID, a.Secret)
	if err == nil && len(secret) < leastHMACSecret {
		err = fmt.Errorf("HS256 needs a client secret of at least %d bytes", leastHMACSecret)
	}
	return secret, err
}

// hmacKeys are the secret, and the one before it while it works.
func (p *Clients) HMACKeys(a storage.Application) ([]any, error) {
	secrets := []string{a.Secret}
	if Readable(a.OldSecret) && a.OldSecretExpiresAt > oauth.Now() {
		secrets = append(secrets, a.OldSecret)
	}
	var keys []any
	for _, kept := range secrets {
		secret, err := p.readSecret(a.ID, kept)
		if err != nil {
			return nil, err
		}
		// RFC 7518 §3.2: a shorter secret can be found, so it signs nothing.
		if len(secret) >= leastHMACSecret {
			keys = append(keys, []byte(secret))
		}
	}
	return keys, nil
}

// DropCopies removes copies that are too old.
func (p *Clients) DropCopies() {
	p.applications.Drop()
	p.proven.drop()
}

// CopyStats says how the copies of applications serve.
func (p *Clients) CopyStats() (hits, misses int64, entries int) { return p.applications.Stats() }
