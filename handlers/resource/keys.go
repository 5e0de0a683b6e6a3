package resource

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"mandate/provider/jose"
	"mandate/provider/loopback"
	"mandate/provider/recovered"
)

const (
	keysFresh = 5 * time.Minute  // how long the keys are used without a new request
	keysKept  = 24 * time.Hour   // how long they are used if no request succeeds
	keysPause = 10 * time.Second // the shortest time between two requests
	maxKeys   = 256 << 10        // the largest key set, in bytes
)

// keySet is a copy of an issuer's public keys (RFC 7517 §5). Tokens with invented key
// ids cause at most one request in each keysPause.
type keySet struct {
	url    string
	client *http.Client

	mu    sync.Mutex
	keys  map[string]*jose.JWK
	read  time.Time     // when the keys were fetched
	asked time.Time     // when the last request began
	err   error         // the error of the last request
	done  chan struct{} // closed when the running request ends; nil if none is running
}

func newKeySet(c SignedConfig) (*keySet, error) {
	u, err := url.Parse(c.KeysURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Fragment != "" {
		return nil, errors.New("RESOURCE_SERVER_JWKS_URL: set an absolute https URL without credentials and fragment")
	}
	// RFC 8414 §2: jwks_uri is https. An attacker who can replace the keys on the
	// network can sign any token.
	if u.Scheme == "http" && !loopback.Is(u.Hostname()) && !c.AllowHTTP {
		return nil, errors.New("RESOURCE_SERVER_JWKS_URL: use https, since everybody who can change the keys in transit " +
			"can forge tokens")
	}
	if c.Timeout < 0 {
		return nil, errors.New("signed: set a positive timeout")
	}
	k := &keySet{url: c.KeysURL,
		client: &http.Client{Transport: c.Transport, Timeout: c.Timeout, CheckRedirect: refuseRedirect}}
	if c.Timeout == 0 {
		k.client.Timeout = 5 * time.Second
	}
	if c.Transport == nil {
		k.client.Transport = newTransport()
	}
	return k, nil
}

// find returns the key with this id and type, or nil if the set has none. It returns an
// error if the set cannot be fetched.
func (k *keySet) find(ctx context.Context, id, kind string) (*jose.JWK, error) {
	k.mu.Lock()
	key := k.known(id, kind)
	if time.Since(k.read) >= keysFresh || key == nil {
		k.ask()
	}
	// A known key is used while a request checks whether it is still published. But after a time
	// without any token nobody has checked that for long. If the keys could not be fetched the last
	// time, nobody waits for them again.
	if time.Since(k.read) >= 2*keysFresh && k.err == nil {
		key = nil
	}
	done := k.done
	k.mu.Unlock()
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

// known returns a key from the set, unless the set is too old.
func (k *keySet) known(id, kind string) *jose.JWK {
	key := k.keys[id]
	if key == nil || key.Type != kind || time.Since(k.read) >= keysKept {
		return nil
	}
	return key
}

// ask starts a request for the keys, shared by all who wait for it. It does nothing if
// a request is running or has started less than keysPause ago.
func (k *keySet) ask() {
	if k.done != nil || time.Since(k.asked) < keysPause {
		return
	}
	k.asked, k.done = time.Now(), make(chan struct{})
	go func() {
		var keys map[string]*jose.JWK
		err := recovered.Do(nil, "read the keys", func() (err error) { // who waits reports the error
			keys, err = k.fetch()
			return err
		})
		k.mu.Lock()
		defer k.mu.Unlock()
		k.err = err
		if err == nil || errors.Is(err, errNoKeys) { // the issuer can also withdraw all keys
			k.keys, k.read = keys, k.asked
		}
		close(k.done)
		k.done = nil
	}()
}

func (k *keySet) fetch() (map[string]*jose.JWK, error) {
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
		return nil, fmt.Errorf("the request for the keys was answered with status %d: check RESOURCE_SERVER_JWKS_URL",
			resp.StatusCode)
	case len(body) > maxKeys:
		return nil, fmt.Errorf("the set of keys has more than %d bytes", maxKeys)
	}
	return readKeys(body)
}

var errNoKeys = errors.New("RESOURCE_SERVER_JWKS_URL returns no key that can verify a signature")

// readKeys reads the keys that can verify a signature, or returns errNoKeys. RFC 7517 §5: other
// keys are ignored.
func readKeys(body []byte) (map[string]*jose.JWK, error) {
	set, err := jose.ParseSet(body)
	if err != nil {
		return nil, errors.New("RESOURCE_SERVER_JWKS_URL does not return a set of keys")
	}
	keys := map[string]*jose.JWK{}
	for _, k := range set.Keys {
		if k.Public() != nil && keys[k.ID] == nil {
			keys[k.ID] = &k
		}
	}
	if len(keys) == 0 {
		return nil, errNoKeys
	}
	return keys, nil
}
