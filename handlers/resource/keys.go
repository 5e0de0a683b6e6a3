package resource

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mandate/provider/jose"
	"net/http"
	"net/netip"
	"net/url"
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
	if key == nil || key.Type != kind || time.Since(k.read) >= keysKept {
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

// readKeys reads the keys that can verify a signature. RFC 7517 §5: others are left
// out.
func readKeys(body []byte) (map[string]*publicKey, error) {
	set, err := jose.ParseSet(body)
	if err != nil {
		return nil, errors.New("what is at RESOURCE_SERVER_JWKS_URL is no set of keys")
	}
	keys := map[string]*publicKey{}
	for _, k := range set.Keys {
		if public := k.Public(); public != nil && keys[k.ID] == nil {
			keys[k.ID] = &publicKey{k, public}
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("what is at RESOURCE_SERVER_JWKS_URL holds no key that a signature can be checked with")
	}
	return keys, nil
}
