package provider

import (
	"context"
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"mandate/provider/jose"
	"mandate/provider/oauth"
	"mandate/storage"
)

// signingKey is a key that has been opened.
type signingKey struct {
	storage.Key
	private crypto.Signer
	jwk     jose.JWK
}

func signsAt(k storage.Key, at int64) bool {
	return k.ActiveAt <= at && (k.RetiredAt == 0 || at < k.RetiredAt)
}

// keyring is this node's copy of the keys, for a moment.
type keyring struct {
	mu      sync.Mutex
	keys    []signingKey
	read    time.Time
	reading *keyReading // nil: nobody reads, or a change has come since

	own []signingKey // the operator's, from the configuration
}

// keyReading is one reading, for all who ask meanwhile.
type keyReading struct {
	done chan struct{} // closed when the rest is known
	keys []signingKey
	err  error
}

const keyringLife = 5 * time.Second

// keysPatience is less than what those wait who ask for the public keys.
const keysPatience = time.Second

// keys gives the keys, which one reads for all who ask meanwhile. A database that
// is silent holds nobody for longer than they want to wait.
func (p *Provider) keys(ctx context.Context) ([]signingKey, error) {
	p.ring.mu.Lock()
	defer p.ring.mu.Unlock()
	if time.Since(p.ring.read) < p.keysLive() {
		return p.ring.keys, nil
	}
	r := p.ring.reading
	if r == nil {
		r = &keyReading{done: make(chan struct{})}
		p.ring.reading = r
		go p.readKeys(context.WithoutCancel(ctx), r)
	}
	p.ring.mu.Unlock()
	defer p.ring.mu.Lock()
	select {
	case <-r.done:
		return r.keys, r.err
	case <-ctx.Done():
		return nil, oauth.Unavailable(ctx.Err())
	}
}

// keysLive is less where this node does not hear what others do with the keys.
func (p *Provider) keysLive() time.Duration {
	if p.changes.Hears() {
		return keyringLife
	}
	return min(keyringLife, p.config.MaxStaleness)
}

// readKeys reads for all who wait. What was told of meanwhile may be in it or not:
// then whoever asks after that reads again.
func (p *Provider) readKeys(ctx context.Context, r *keyReading) {
	at := time.Now()
	r.keys, r.err = p.openKeys(ctx)
	p.ring.mu.Lock()
	defer p.ring.mu.Unlock()
	if p.ring.reading == r {
		p.ring.reading = nil
		if r.err == nil {
			p.ring.keys, p.ring.read = r.keys, at
		}
	}
	close(r.done)
}

func (p *Provider) openKeys(ctx context.Context) ([]signingKey, error) {
	// Older ones are still good for a hint, which a person's browser may bring
	// back for as long as their session lasts.
	kept, err := p.store.Keys(ctx, oauth.Now()-oauth.Seconds(p.config.SessionLifetime))
	if err != nil {
		return nil, oauth.Unavailable(err)
	}
	opened := append([]signingKey{}, p.ring.own...)
	for _, k := range kept {
		if slices.ContainsFunc(opened, func(own signingKey) bool { return own.ID == k.ID }) {
			continue // imported, and in the configuration too
		}
		key, err := p.openKey(k)
		if err != nil {
			return nil, fmt.Errorf("key %s: %w", k.ID, err)
		}
		opened = append(opened, key)
	}
	return opened, nil
}

// lastKeys gives the keys as they were read last; nil: never.
func (p *Provider) lastKeys() []signingKey {
	p.ring.mu.Lock()
	defer p.ring.mu.Unlock()
	return p.ring.keys
}

func (p *Provider) forgetKeys() {
	p.ring.mu.Lock()
	defer p.ring.mu.Unlock()
	p.ring.read, p.ring.reading = time.Time{}, nil
}

func (p *Provider) openKey(k storage.Key) (signingKey, error) {
	der, err := p.keySeal.Open(k.Sealed, k.ID)
	if err != nil {
		return signingKey{}, err
	}
	private, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return signingKey{}, err
	}
	signer, ok := private.(crypto.Signer)
	if !ok {
		return signingKey{}, errors.New("is not a private key that signs")
	}
	return newSigningKey(k, signer)
}

func newSigningKey(k storage.Key, private crypto.Signer) (signingKey, error) {
	jwk, err := jose.NewJWK(private.Public())
	if err != nil {
		return signingKey{}, err
	}
	k.ID, k.Kind = jwk.ID, jwk.Type
	return signingKey{k, private, jwk}, nil
}

// public is the key that verifies what this one signs; nil for none.
func (k signingKey) public() crypto.PublicKey {
	if k.private == nil {
		return nil
	}
	return k.private.Public()
}

// JWKSet lists the public keys: those that sign, those that will, and those
// whose signatures may still be about. Where nothing was ever to be signed there
// is no set.
func (p *Provider) JWKSet(ctx context.Context) (*jose.JWKSet, error) {
	wait, stop := context.WithTimeout(ctx, keysPatience)
	defer stop()
	keys, err := p.keys(wait)
	if err != nil {
		// What was public a moment ago is that still, and who checks a signature now
		// needs no database for it.
		keys = p.lastKeys()
		if keys == nil {
			return nil, err
		}
	}
	set := &jose.JWKSet{}
	for _, k := range keys {
		if k.published() {
			set.Keys = append(set.Keys, k.jwk)
		}
	}
	if len(set.Keys) == 0 {
		return nil, oauth.ErrNotFound
	}
	return set, nil
}

func (k signingKey) published() bool { return k.ExpiresAt == 0 || k.ExpiresAt > oauth.Now() }

// signer finds the key that signs by an algorithm now. The operator's own key
// goes before ours; of two, the one that became active last.
func (p *Provider) signer(ctx context.Context, algorithm string) (signingKey, error) {
	keys, err := p.keys(ctx)
	if err != nil {
		return signingKey{}, err
	}
	if len(keys) == 0 {
		// Another node may have made the first ones a moment ago.
		p.forgetKeys()
		keys, err = p.keys(ctx)
		if err != nil {
			return signingKey{}, err
		}
	}
	found := signingKey{}
	for _, k := range keys {
		if k.Kind == jose.KindOf(algorithm) && signsAt(k.Key, oauth.Now()) && (found.private == nil || !found.own() && k.ActiveAt >= found.ActiveAt) {
			found = k
		}
	}
	if found.private == nil {
		return found, fmt.Errorf("no key signs %s now", algorithm)
	}
	return found, nil
}

func (k signingKey) own() bool { return k.Sealed == "" }

// keyByID finds a key, published or kept for hints alone.
func (p *Provider) keyByID(ctx context.Context, id string) (signingKey, error) {
	keys, err := p.keys(ctx)
	if err != nil {
		return signingKey{}, err
	}
	for _, k := range keys {
		if k.ID == id {
			return k, nil
		}
	}
	return signingKey{}, oauth.ErrNotFound
}
