package provider

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"sync"
	"time"

	"mandate/storage"
)

// The algorithms that ID tokens and access tokens may be signed with (RFC 7518 §3.1, RFC 8037
// §3.1), by the kind of key that each takes (RFC 7518 §6.1).
var algorithmKinds = map[string]string{"RS256": "RSA", "PS256": "RSA", "ES256": "EC", "EdDSA": "OKP"}

// Algorithms lists what an application may choose, the cheapest to sign first.
func Algorithms() []string { return []string{"ES256", "EdDSA", "RS256", "PS256"} }

// signingKey is a key that has been opened.
type signingKey struct {
	storage.Key
	private crypto.Signer
	public  JWK
}

func signsAt(k storage.Key, at int64) bool {
	return k.ActiveAt <= at && (k.RetiredAt == 0 || at < k.RetiredAt)
}

// JWK is a public key (RFC 7517 §4).
type JWK struct {
	Type  string `json:"kty"`
	Use   string `json:"use"`
	ID    string `json:"kid"`
	Curve string `json:"crv,omitempty"`
	X     string `json:"x,omitempty"`
	Y     string `json:"y,omitempty"`
	N     string `json:"n,omitempty"`
	E     string `json:"e,omitempty"`
}

// JWKSet is what the server publishes (RFC 7517 §5).
type JWKSet struct {
	Keys []JWK `json:"keys"`
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
		return nil, unavailable(ctx.Err())
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
	kept, err := p.store.Keys(ctx, now()-seconds(p.config.SessionLifetime))
	if err != nil {
		return nil, unavailable(err)
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
	return newSigningKey(k, private)
}

func newSigningKey(k storage.Key, private any) (signingKey, error) {
	signer, ok := private.(crypto.Signer)
	if !ok {
		return signingKey{}, errors.New("is not a private key that signs")
	}
	jwk, err := publicJWK(signer.Public())
	if err != nil {
		return signingKey{}, err
	}
	k.ID, k.Kind = jwk.ID, jwk.Type
	return signingKey{k, signer, jwk}, nil
}

func publicJWK(public crypto.PublicKey) (JWK, error) {
	b64 := base64.RawURLEncoding.EncodeToString
	k := JWK{Use: "sig"}
	switch key := public.(type) {
	case *rsa.PublicKey:
		// RFC 7518 §3.3: at least 2048 bits.
		if key.N.BitLen() < 2048 {
			return k, fmt.Errorf("is an RSA key of %d bits: use at least 2048", key.N.BitLen())
		}
		k.Type, k.N, k.E = "RSA", b64(key.N.Bytes()), b64(big.NewInt(int64(key.E)).Bytes())
	case *ecdsa.PublicKey:
		if key.Curve != elliptic.P256() {
			return k, errors.New("is an EC key of another curve than P-256")
		}
		point, err := key.Bytes() // 4, x, y
		if err != nil {
			return k, err
		}
		k.Type, k.Curve, k.X, k.Y = "EC", "P-256", b64(point[1:33]), b64(point[33:])
	case ed25519.PublicKey:
		k.Type, k.Curve, k.X = "OKP", "Ed25519", b64(key)
	default:
		return k, fmt.Errorf("is a key of type %T", public)
	}
	k.ID = k.thumbprint()
	return k, nil
}

// thumbprint names a key by what it is (RFC 7638 §3): its required members in
// the order of their names.
func (k JWK) thumbprint() string {
	var text string
	switch k.Type {
	case "RSA":
		text = fmt.Sprintf(`{"e":%q,"kty":"RSA","n":%q}`, k.E, k.N)
	case "EC":
		text = fmt.Sprintf(`{"crv":%q,"kty":"EC","x":%q,"y":%q}`, k.Curve, k.X, k.Y)
	default:
		text = fmt.Sprintf(`{"crv":%q,"kty":"OKP","x":%q}`, k.Curve, k.X)
	}
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// JWKSet lists the public keys: those that sign, those that will, and those
// whose signatures may still be about. Where nothing was ever to be signed there
// is no set.
func (p *Provider) JWKSet(ctx context.Context) (*JWKSet, error) {
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
	set := &JWKSet{}
	for _, k := range keys {
		if k.published() {
			set.Keys = append(set.Keys, k.public)
		}
	}
	if len(set.Keys) == 0 {
		return nil, ErrNotFound
	}
	return set, nil
}

func (k signingKey) published() bool { return k.ExpiresAt == 0 || k.ExpiresAt > now() }

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
		if k.Kind == algorithmKinds[algorithm] && signsAt(k.Key, now()) && (found.private == nil || !found.own() && k.ActiveAt >= found.ActiveAt) {
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
	return signingKey{}, ErrNotFound
}
