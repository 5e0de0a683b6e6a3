package resource

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"time"
)

const (
	keysFresh = 5 * time.Minute  // for so long nobody looks whether a key has gone
	keysKept  = 24 * time.Hour   // for so long they are believed where they cannot be had again
	keysPause = 10 * time.Second // between two fetches, whatever the tokens name
	maxKeys   = 256 << 10        // bytes of a set
)

// keySet is a copy of somebody's public keys (RFC 7517 §5). Whoever makes up key
// ids makes it fetch once each keysPause and not more.
type keySet struct {
	url    string
	client *http.Client

	mu    sync.Mutex
	keys  map[string]*publicKey
	read  time.Time     // when they were
	asked time.Time     // last
	err   error         // of what was asked last
	done  chan struct{} // closed when the fetch under way is over; nil where none is
}

func newKeySet(c SignedConfig) (*keySet, error) {
	u, err := url.Parse(c.KeysURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Fragment != "" {
		return nil, errors.New("RESOURCE_SERVER_JWKS_URL: set an absolute https URL without credentials and fragment")
	}
	// RFC 8414 §2: jwks_uri is https. Who can change the keys on their way signs what they like.
	if u.Scheme == "http" && !isLoopback(u.Hostname()) && !c.AllowHTTP {
		return nil, errors.New("RESOURCE_SERVER_JWKS_URL: use https, since who can change the keys on their way can make tokens")
	}
	if c.Timeout < 0 {
		return nil, errors.New("signed: set a positive timeout")
	}
	k := &keySet{url: c.KeysURL, client: &http.Client{Transport: c.Transport, Timeout: c.Timeout, CheckRedirect: refuseRedirect}}
	if c.Timeout == 0 {
		k.client.Timeout = 5 * time.Second
	}
	if c.Transport == nil {
		k.client.Transport = newTransport()
	}
	return k, nil
}

func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}

// find gives the key of an id and a kind, nil where the set has none, or an error
// where the set cannot be had.
func (k *keySet) find(ctx context.Context, id, kind string) (*publicKey, error) {
	k.mu.Lock()
	key := k.known(id, kind)
	if time.Since(k.read) >= keysFresh || key == nil {
		k.ask()
	}
	done := k.done
	k.mu.Unlock()
	// A key that is known is used while somebody looks whether it still is one.
	if key == nil && done != nil {
		select {
		case <-done:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the keys: %w", ctx.Err())
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if key == nil {
		key = k.known(id, kind)
	}
	if key == nil && k.err != nil {
		return nil, k.err
	}
	return key, nil
}

// known looks into the set, unless that is too old to be believed.
func (k *keySet) known(id, kind string) *publicKey {
	key := k.keys[id]
	if key == nil || key.kind != kind || time.Since(k.read) >= keysKept {
		return nil
	}
	return key
}

// ask begins a fetch, on behalf of all who wait for it, unless one is under way or
// was a moment ago.
func (k *keySet) ask() {
	if k.done != nil || time.Since(k.asked) < keysPause {
		return
	}
	k.asked, k.done = time.Now(), make(chan struct{})
	go func() {
		keys, err := k.fetch()
		k.mu.Lock()
		defer k.mu.Unlock()
		k.err = err
		if err == nil {
			k.keys, k.read = keys, k.asked
		}
		close(k.done)
		k.done = nil
	}()
}

func (k *keySet) fetch() (map[string]*publicKey, error) {
	resp, err := k.client.Get(k.url)
	if err != nil {
		return nil, fmt.Errorf("fetch the keys: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxKeys+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("fetch the keys: %w", err)
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("the keys are answered with %d: look at RESOURCE_SERVER_JWKS_URL", resp.StatusCode)
	case len(body) > maxKeys:
		return nil, fmt.Errorf("the set of keys has more than %d bytes", maxKeys)
	}
	return readKeys(body)
}

// webKey is a key as it is published (RFC 7517 §4).
type webKey struct {
	Type       string   `json:"kty"`
	Use        string   `json:"use"`
	Operations []string `json:"key_ops"`
	Algorithm  string   `json:"alg"`
	ID         string   `json:"kid"`
	Curve      string   `json:"crv"`
	X          string   `json:"x"`
	Y          string   `json:"y"`
	N          string   `json:"n"`
	E          string   `json:"e"`
}

// readKeys takes the keys that can check a signature. RFC 7517 §5: others are
// passed over.
func readKeys(body []byte) (map[string]*publicKey, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	err := json.Unmarshal(body, &set)
	if err != nil {
		return nil, errors.New("what is at RESOURCE_SERVER_JWKS_URL is no set of keys")
	}
	keys := map[string]*publicKey{}
	for _, raw := range set.Keys {
		var w webKey
		if json.Unmarshal(raw, &w) != nil || keys[w.ID] != nil {
			continue
		}
		if key := w.read(); key != nil {
			keys[w.ID] = key
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("what is at RESOURCE_SERVER_JWKS_URL holds no key that a signature can be checked with")
	}
	return keys, nil
}

func (w webKey) read() *publicKey {
	// RFC 7517 §4.2, §4.3
	if w.Use != "" && w.Use != "sig" || len(w.Operations) > 0 && !slices.Contains(w.Operations, "verify") {
		return nil
	}
	number := func(text string) []byte {
		raw, _ := base64.RawURLEncoding.DecodeString(text) // what is wrong is no key
		return raw
	}
	key := &publicKey{kind: w.Type, algorithm: w.Algorithm}
	switch {
	case w.Type == "RSA":
		n, e := new(big.Int).SetBytes(number(w.N)), new(big.Int).SetBytes(number(w.E))
		// RFC 7518 §3.3: at least 2048 bits. A huge one would take a second to check with.
		if n.BitLen() < 2048 || n.BitLen() > 8192 || e.BitLen() > 31 || e.Int64() < 3 {
			return nil
		}
		key.public = &rsa.PublicKey{N: n, E: int(e.Int64())}
	case w.Type == "EC" && w.Curve == "P-256":
		point := slices.Concat([]byte{4}, number(w.X), number(w.Y))
		public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
		if err != nil {
			return nil
		}
		key.public = public
	case w.Type == "OKP" && w.Curve == "Ed25519" && len(number(w.X)) == ed25519.PublicKeySize:
		key.public = ed25519.PublicKey(number(w.X))
	default:
		return nil
	}
	return key
}
