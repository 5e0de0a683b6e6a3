package keys

import (
	"context"
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"mandate/provider/jose"
	"mandate/provider/oauth"
	"mandate/provider/seal"
	"mandate/storage"
)

// signingKey is a key that has been opened.
type SigningKey struct {
	storage.Key
	private crypto.Signer
	jwk     jose.JWK
}

func signsAt(k storage.Key, at int64) bool {
	return k.ActiveAt <= at && (k.RetiredAt == 0 || at < k.RetiredAt)
}

// KeysConfig is what an operator decides about keys.
type Config struct {
	OpenID          bool
	RSAPrivateKey   string   // PEM; signs instead of our own RSA keys
	RSAInactiveKeys []string // PEM; published only
	KeyLifetime     time.Duration
	JWKSMaxAge      time.Duration
	SessionLifetime time.Duration
	IDTokenLifetime time.Duration
	MaxStaleness    time.Duration

	JWTAccessTokenLifetime time.Duration
	JWTMax                 int64 // seconds; no signed access token lives longer
}

// Ring holds the server's signing keys. It reads them from the database and copies them
// for a moment.
type Ring struct {
	config Config
	store  *storage.Store
	sealer seal.Sealer
	hears  func() bool // whether this node receives the changes of the others
	log    *slog.Logger
	own    []SigningKey // the operator's, from the configuration

	mu      sync.Mutex
	keys    []SigningKey
	read    time.Time
	reading *keyReading // nil: no reading is under way, or a change has come since
}

// NewRing reads the keys, and makes those that are missing.
func New(ctx context.Context, config Config, store *storage.Store, sealer seal.Sealer, hears func() bool, log *slog.Logger) (*Ring, error) {
	r := &Ring{config: config, store: store, sealer: sealer, hears: hears, log: log}
	err := r.loadOwnKeys()
	if err == nil {
		err = r.Rotate(ctx)
	}
	if err == nil {
		_, err = r.Current(ctx)
	}
	return r, err
}

// keyReading is one reading, for all who ask meanwhile.
type keyReading struct {
	done chan struct{} // closed when the rest is known
	keys []SigningKey
	err  error
}

const keyringLife = 5 * time.Second

// keysPatience is less than what those wait who ask for the public keys.
const keysPatience = time.Second

// keys gives the keys, which one reads for all who ask meanwhile. A database that
// is silent holds nobody for longer than they want to wait.
func (r *Ring) Current(ctx context.Context) ([]SigningKey, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.read) < r.keysLive() {
		return r.keys, nil
	}
	reading := r.reading
	if reading == nil {
		reading = &keyReading{done: make(chan struct{})}
		r.reading = reading
		go r.readKeys(context.WithoutCancel(ctx), reading)
	}
	r.mu.Unlock()
	defer r.mu.Lock()
	select {
	case <-reading.done:
		return reading.keys, reading.err
	case <-ctx.Done():
		return nil, oauth.Unavailable(ctx.Err())
	}
}

// keysLive is less where this node does not hear what others do with the keys.
func (r *Ring) keysLive() time.Duration {
	if r.hears() {
		return keyringLife
	}
	return min(keyringLife, r.config.MaxStaleness)
}

// readKeys reads for all who wait. What was told of meanwhile may be in it or not:
// then whoever asks after that reads again.
func (r *Ring) readKeys(ctx context.Context, reading *keyReading) {
	at := time.Now()
	reading.keys, reading.err = r.openKeys(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reading == reading {
		r.reading = nil
		if reading.err == nil {
			r.keys, r.read = reading.keys, at
		}
	}
	close(reading.done)
}

func (r *Ring) openKeys(ctx context.Context) ([]SigningKey, error) {
	// Older ones are still good for a hint, which a person's browser may bring
	// back for as long as their session lasts.
	kept, err := r.store.Keys(ctx, oauth.Now()-oauth.Seconds(r.config.SessionLifetime))
	if err != nil {
		return nil, oauth.Unavailable(err)
	}
	opened := append([]SigningKey{}, r.own...)
	for _, k := range kept {
		if slices.ContainsFunc(opened, func(own SigningKey) bool { return own.ID == k.ID }) {
			continue // imported, and in the configuration too
		}
		key, err := r.openKey(k)
		if err != nil {
			return nil, fmt.Errorf("key %s: %w", k.ID, err)
		}
		opened = append(opened, key)
	}
	return opened, nil
}

// lastKeys gives the keys as they were read last; nil: never.
func (r *Ring) lastKeys() []SigningKey {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.keys
}

func (r *Ring) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.read, r.reading = time.Time{}, nil
}

func (r *Ring) openKey(k storage.Key) (SigningKey, error) {
	der, err := r.sealer.Open(k.Sealed, k.ID)
	if err != nil {
		return SigningKey{}, err
	}
	private, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return SigningKey{}, err
	}
	signer, ok := private.(crypto.Signer)
	if !ok {
		return SigningKey{}, errors.New("is not a private key that signs")
	}
	return newSigningKey(k, signer)
}

func newSigningKey(k storage.Key, private crypto.Signer) (SigningKey, error) {
	jwk, err := jose.NewJWK(private.Public())
	if err != nil {
		return SigningKey{}, err
	}
	k.ID, k.Kind = jwk.ID, jwk.Type
	return SigningKey{k, private, jwk}, nil
}

// public is the key that verifies what this one signs; nil for none.
func (k SigningKey) Public() crypto.PublicKey {
	if k.private == nil {
		return nil
	}
	return k.private.Public()
}

// JWKSet lists the public keys: those that sign, those that will, and those
// whose signatures may still be about. Where nothing was ever to be signed there
// is no set.
func (r *Ring) JWKSet(ctx context.Context) (*jose.JWKSet, error) {
	wait, stop := context.WithTimeout(ctx, keysPatience)
	defer stop()
	keys, err := r.Current(wait)
	if err != nil {
		// What was public a moment ago is that still, and who checks a signature now
		// needs no database for it.
		keys = r.lastKeys()
		if keys == nil {
			return nil, err
		}
	}
	set := &jose.JWKSet{}
	for _, k := range keys {
		if k.Published() {
			set.Keys = append(set.Keys, k.jwk)
		}
	}
	if len(set.Keys) == 0 {
		return nil, oauth.ErrNotFound
	}
	return set, nil
}

func (k SigningKey) Published() bool { return k.ExpiresAt == 0 || k.ExpiresAt > oauth.Now() }

// signer finds the key that signs by an algorithm now. The operator's own key
// goes before ours; of two, the one that became active last.
func (r *Ring) Signer(ctx context.Context, algorithm string) (SigningKey, error) {
	keys, err := r.Current(ctx)
	if err != nil {
		return SigningKey{}, err
	}
	if len(keys) == 0 {
		// Another node may have made the first ones a moment ago.
		r.Forget()
		keys, err = r.Current(ctx)
		if err != nil {
			return SigningKey{}, err
		}
	}
	found := SigningKey{}
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

func (k SigningKey) own() bool { return k.Sealed == "" }

// keyByID finds a key, published or kept for hints alone.
func (r *Ring) ByID(ctx context.Context, id string) (SigningKey, error) {
	keys, err := r.Current(ctx)
	if err != nil {
		return SigningKey{}, err
	}
	for _, k := range keys {
		if k.ID == id {
			return k, nil
		}
	}
	return SigningKey{}, oauth.ErrNotFound
}

// Sign makes a JWT with the key.
func (k SigningKey) Sign(algorithm, kind string, claims map[string]any) (string, error) {
	return jose.Sign(algorithm, kind, k.ID, k.private, claims)
}
