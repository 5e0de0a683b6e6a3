// Package keys holds the server's signing keys. It generates, stores and rotates them,
// and publishes their public keys as a JWK Set (RFC 7517 §5).
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

// SigningKey is a stored key whose private key has been decrypted.
type SigningKey struct {
	storage.Key
	private crypto.Signer
	jwk     jose.JWK
}

// signsAt reports whether a key signs at a time: it is active, and not yet retired.
func signsAt(k storage.Key, at int64) bool {
	return k.ActiveAt <= at && (k.RetiredAt == 0 || at < k.RetiredAt)
}

// Config is what an operator decides about keys.
type Config struct {
	// RSAPrivateKey is an RSA private key of your own in PEM. It signs RS256 and PS256 instead of the server's key. If
	// it is empty, the server manages all keys.
	RSAPrivateKey string `key:"OIDC_RSA_PRIVATE_KEY" default:"" secret:"true" subject:"Signing keys"`
	// RSAInactiveKeys are RSA private keys in PEM that no longer sign. They stay published, so that their signatures
	// can still be verified. A file contains them one after the other.
	RSAInactiveKeys []string `key:"OIDC_RSA_PRIVATE_KEYS_INACTIVE" default:"[]" secret:"true"`
	// JWKSMaxAge is the number of seconds for which others may cache the published keys.
	//
	// The server publishes a new key for twice as long, and for at least an hour, before the key signs.
	JWKSMaxAge time.Duration `key:"OIDC_JWKS_MAX_AGE_SECONDS" default:"3600" min:"0" max:"604800"`
	// KeyLifetime is the number of seconds for which one of the server's keys signs before the next one replaces it. 0
	// disables rotation.
	KeyLifetime time.Duration `key:"OIDC_KEY_ROTATION_SECONDS" default:"7776000" min:"0" max:"315360000"`

	OpenID                 bool
	SessionLifetime        time.Duration
	IDTokenLifetime        time.Duration
	MaxStaleness           time.Duration
	JWTAccessTokenLifetime time.Duration
	JWTMax                 int64 // seconds; no signed access token lives longer
	// the longest lifetime of a configured resource with signed access tokens; -1: there is none
	LongestSigned int64
}

// Ring holds the server's signing keys. It reads them from the database, and keeps a
// copy for a short time.
type Ring struct {
	config    Config
	store     *storage.Store
	sealer    seal.Sealer
	listening func() bool  // reports whether this node receives the changes of the other nodes
	clock     func() error // returns an error while the clock of this node is wrong
	log       *slog.Logger
	own       []SigningKey // the operator's keys, from the configuration

	mu      sync.Mutex
	keys    []SigningKey
	read    time.Time
	reading *keyReading // nil: no read is in progress, or the keys have changed since it began
}

// keyReading is one read of the keys. All callers that arrive during the read share it.
type keyReading struct {
	done chan struct{} // closed when keys and err are set
	keys []SigningKey
	err  error
}

// copyLife is how long a copy of the keys is used.
const copyLife = 5 * time.Second

// databaseWait is how long JWKSet waits for the database. It is shorter than the
// timeouts of the callers that fetch the JWK Set.
const databaseWait = time.Second

// all returns the keys: the copy, if it is recent enough, or the result of a read
// that all present callers share. If ctx ends first, it returns Unavailable, so that no
// caller waits longer for the database than it wants to.
func (r *Ring) all(ctx context.Context) ([]SigningKey, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.read) < r.keyLifetime() {
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

// keyLifetime returns how long a copy of the keys is used. The time is shorter while this
// node does not receive the changes of other nodes.
func (r *Ring) keyLifetime() time.Duration {
	if r.listening() {
		return copyLife
	}
	return min(copyLife, r.config.MaxStaleness)
}

// readKeys reads the keys for all waiting callers. If the keys change during the read,
// its result may be too old: Forget has removed the read from the ring, and a later
// caller starts another one.
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
	// An expired key still verifies an id_token_hint, which a browser may send for as
	// long as its session lasts.
	kept, err := r.store.Keys(ctx, oauth.Now()-oauth.Seconds(r.config.SessionLifetime))
	if err != nil {
		return nil, oauth.Unavailable(err)
	}
	opened, last := append([]SigningKey{}, r.own...), r.lastKeys()
	for _, k := range kept {
		if slices.ContainsFunc(opened, func(own SigningKey) bool { return own.ID == k.ID }) {
			continue // both imported and in the configuration
		}
		key, err := r.openKeyOnce(k, last)
		if err != nil {
			return nil, fmt.Errorf("key %s: %w", k.ID, err)
		}
		opened = append(opened, key)
	}
	return opened, nil
}

// openKeyOnce takes a key from the last reading, if it was opened then: to open an RSA key
// takes much time.
func (r *Ring) openKeyOnce(k storage.Key, last []SigningKey) (SigningKey, error) {
	for _, old := range last {
		if old.ID == k.ID && old.Sealed == k.Sealed {
			k.Kind = old.Kind
			return SigningKey{k, old.private, old.jwk}, nil
		}
	}
	return r.openKey(k)
}

// lastKeys returns the keys of the last successful read, or nil if there was none.
func (r *Ring) lastKeys() []SigningKey {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.keys
}

// Forget drops the copy of the keys, so that the next caller of all reads them from
// the database.
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
		return SigningKey{}, errors.New("is a private key that cannot sign")
	}
	return newSigningKey(k, signer)
}

// loadOwnKeys reads the operator's keys from the configuration: the first signs, and
// the others are only published.
func (r *Ring) loadOwnKeys() error {
	for i, text := range append([]string{r.config.RSAPrivateKey}, r.config.RSAInactiveKeys...) {
		if text == "" {
			continue
		}
		key, err := rsaKey(text)
		if err != nil {
			return fmt.Errorf("private key %d of the configuration %w", i+1, err)
		}
		if i > 0 {
			key.RetiredAt = 1
		}
		r.own = append(r.own, key)
	}
	return nil
}

// CheckRSAKey returns an error that says what is wrong with an operator's RSA key, or
// nil.
func CheckRSAKey(text string) error {
	_, err := rsaKey(text)
	return err
}

func rsaKey(text string) (SigningKey, error) {
	private, err := jose.ParsePrivate(text)
	if err != nil {
		return SigningKey{}, err
	}
	key, err := newSigningKey(storage.Key{}, private)
	if err == nil && key.Kind != "RSA" {
		err = errors.New("is not an RSA key")
	}
	return key, err
}

func newSigningKey(k storage.Key, private crypto.Signer) (SigningKey, error) {
	jwk, err := jose.NewJWK(private.Public())
	if err != nil {
		return SigningKey{}, err
	}
	k.ID, k.Kind = jwk.ID, jwk.Type
	return SigningKey{k, private, jwk}, nil
}

// Public returns the key that verifies this key's signatures, or nil for the zero
// SigningKey.
func (k SigningKey) Public() crypto.PublicKey {
	if k.private == nil {
		return nil
	}
	return k.private.Public()
}

// JWKSet returns the public keys: those that sign, those that will sign, and those
// whose signatures may still be in use. It returns ErrNotFound if no key is published.
func (r *Ring) JWKSet(ctx context.Context) (*jose.JWKSet, error) {
	wait, stop := context.WithTimeout(ctx, databaseWait)
	defer stop()
	keys, err := r.all(wait)
	if err != nil {
		// A key that was published a moment ago is still valid. A client that verifies
		// a signature now does not need the database for it.
		keys = r.lastKeys()
		if keys == nil {
			return nil, err
		}
	}
	set := &jose.JWKSet{}
	// A program that reads the first key alone, or that stops at a kind which it does not know, finds the usual one.
	for _, algorithm := range [...]string{"RS256", pss, "ES256", "EdDSA"} {
		for _, k := range keys {
			if k.Published() && k.Kind == jose.KindOf(algorithm) {
				set.Keys = append(set.Keys, k.as(algorithm))
			}
		}
	}
	if len(set.Keys) == 0 {
		return nil, oauth.ErrNotFound
	}
	return set, nil
}

// pss is the second algorithm of an RSA key.
const pss = "PS256"

// as returns the key as it is published for one of its algorithms.
//
// RFC 7517 §4.4, RFC 8725 §3.1: alg names one algorithm. Some libraries refuse a key without it, and a signature by
// another one. So a key for two algorithms is published twice.
func (k SigningKey) as(algorithm string) jose.JWK {
	published := k.jwk
	published.ID, published.Algorithm = k.idFor(algorithm), algorithm
	return published
}

// idFor returns the kid of the key for one of its algorithms.
//
// RFC 7517 §4.5: within a set, no two keys have the same kid.
func (k SigningKey) idFor(algorithm string) string {
	if algorithm == pss {
		return k.ID + "-" + pss
	}
	return k.ID
}

// Published reports whether the key is in the JWK Set. A key that is no longer published
// only verifies an id_token_hint.
func (k SigningKey) Published() bool { return k.ExpiresAt == 0 || k.ExpiresAt > oauth.Now() }

// ErrNone says that there is no key that signs by an algorithm.
var ErrNone = errors.New("there is no active signing key")

// Signer returns the key that signs by an algorithm now, or ErrNone.
// The operator's own key has precedence over a generated one. Of two generated keys it
// returns the one that became active last.
func (r *Ring) Signer(ctx context.Context, algorithm string) (SigningKey, error) {
	keys, err := r.all(ctx)
	if err != nil {
		return SigningKey{}, err
	}
	if len(keys) == 0 {
		// Another node may have generated the first keys a moment ago.
		r.Forget()
		keys, err = r.all(ctx)
		if err != nil {
			return SigningKey{}, err
		}
	}
	found := SigningKey{}
	for _, k := range keys {
		if k.Kind == jose.KindOf(algorithm) && signsAt(k.Key, oauth.Now()) &&
			(found.private == nil || !found.own() && k.ActiveAt >= found.ActiveAt) {
			found = k
		}
	}
	if found.private == nil {
		return found, fmt.Errorf("%w for %s", ErrNone, algorithm)
	}
	return found, nil
}

// own reports whether the key comes from the configuration: only stored keys are sealed.
func (k SigningKey) own() bool { return k.Sealed == "" }

// ByID returns the key with a kid, for any of its algorithms, or ErrNotFound. It also finds a key that is no
// longer published and only verifies an id_token_hint.
func (r *Ring) ByID(ctx context.Context, id string) (SigningKey, error) {
	keys, err := r.all(ctx)
	if err != nil {
		return SigningKey{}, err
	}
	for _, k := range keys {
		if k.ID == id || k.Kind == "RSA" && k.idFor(pss) == id {
			return k, nil
		}
	}
	return SigningKey{}, oauth.ErrNotFound
}

// Sign makes a JWT with the key. kind is its typ.
func (k SigningKey) Sign(algorithm, kind string, claims map[string]any) (string, error) {
	return jose.Sign(algorithm, kind, k.idFor(algorithm), k.private, claims)
}
