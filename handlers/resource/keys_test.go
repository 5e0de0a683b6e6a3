package resource

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// The keys are fetched when they are first needed, then kept, and fetched again when
// they are old. The number of requests is limited.
func TestSignedKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &publisher{err: &net.DNSError{Err: "no such host", Name: "auth.example"}}
		s := newSigned(t, p)
		verify := func(kid string) error {
			_, err := s.Verify(t.Context(), issue(t, "ES256", kid, "at+jwt", nil))
			synctest.Wait()
			return err
		}
		asked := func(want int, what string) {
			t.Helper()
			if p.asked != want {
				t.Errorf("%s: fetched %d times, want %d", what, p.asked, want)
			}
		}
		for range 3 {
			if err := verify("ec"); err == nil || errors.Is(err, ErrInactive) {
				t.Error("a token was checked without keys:", err)
			}
		}
		asked(1, "the keys cannot be fetched")
		p.set(func(p *publisher) { p.err, p.body = nil, allKeys() })
		time.Sleep(keysPause)
		for range 3 {
			if err := verify("ec"); err != nil {
				t.Error(err)
			}
		}
		asked(2, "the keys can be fetched")
		time.Sleep(keysPause)
		for n := range 100 {
			if err := verify("made up " + string(rune('a'+n%26))); !errors.Is(err, ErrInactive) {
				t.Error(err)
			}
		}
		asked(3, "tokens with invented key ids")
		// The server rotates its keys. The new key is fetched when the first token names
		// it.
		p.set(func(p *publisher) { p.body = setOf(published("new", testKeys()["ES256"].Public())) })
		time.Sleep(keysPause)
		if err := verify("new"); err != nil {
			t.Error(err)
		}
		asked(4, "a new key")
		if err := verify("ec"); !errors.Is(err, ErrInactive) {
			t.Error("a removed key is still accepted:", err)
		}
		// The server withdraws all of its keys, and then publishes one again.
		p.set(func(p *publisher) { p.body = setOf() })
		time.Sleep(keysFresh)
		_ = verify("new") // starts the request
		synctest.Wait()
		if err := verify("new"); err == nil || errors.Is(err, ErrInactive) {
			t.Error("all keys are withdrawn:", err)
		}
		asked(5, "the keys are fetched again")
		p.set(func(p *publisher) { p.body = setOf(published("new", testKeys()["ES256"].Public())) })
		time.Sleep(keysPause)
		if err := verify("new"); err != nil {
			t.Error(err)
		}
		asked(6, "no known key")
		// The server withdraws a key while no token comes.
		p.set(func(p *publisher) { p.body = setOf(published("other", testKeys()["ES256"].Public())) })
		time.Sleep(2 * keysFresh)
		if err := verify("new"); !errors.Is(err, ErrInactive) {
			t.Error("a key that was withdrawn meanwhile is accepted once more:", err)
		}
		asked(7, "after a time without tokens")
		p.set(func(p *publisher) { p.body = setOf(published("new", testKeys()["ES256"].Public())) })
		time.Sleep(keysPause)
		if err := verify("new"); err != nil {
			t.Error(err)
		}
		asked(8, "no known key")
		// The server is down. The keys are used for one day, and then no token is
		// accepted.
		p.set(func(p *publisher) { p.status, p.body = 503, "" })
		time.Sleep(keysFresh)
		if err := verify("new"); err != nil {
			t.Error("the server is down:", err)
		}
		asked(9, "the keys are fetched again")
		time.Sleep(keysKept - keysFresh)
		if err := verify("new"); err == nil || errors.Is(err, ErrInactive) {
			t.Error("after a day:", err)
		}
		p.set(func(p *publisher) { p.status, p.body = 0, setOf(published("new", testKeys()["ES256"].Public())) })
		time.Sleep(keysPause)
		if err := verify("new"); err != nil {
			t.Error("the server answers again:", err)
		}
	})
	for what, change := range map[string]func(*publisher){
		"no JSON":      func(p *publisher) { p.body = "<html>" },
		"an error":     func(p *publisher) { p.status = 500 },
		"elsewhere":    func(p *publisher) { p.status = http.StatusFound },
		"endless":      func(p *publisher) { p.body = strings.Repeat(" ", maxKeys) + allKeys() },
		"an empty set": func(p *publisher) { p.body = setOf() },
		"other uses": func(p *publisher) {
			p.body = setOf(with(published("ec", testKeys()["ES256"].Public()), "use", "enc"))
		},
		"other actions": func(p *publisher) {
			p.body = setOf(with(published("ec", testKeys()["ES256"].Public()), "key_ops", []string{"sign"}))
		},
	} {
		p := &publisher{body: allKeys()}
		change(p)
		_, err := newSigned(t, p).Verify(t.Context(), issue(t, "ES256", "ec", "at+jwt", nil))
		if err == nil || errors.Is(err, ErrInactive) {
			t.Errorf("the set is %s: %v", what, err)
		}
	}
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	_, err = readKeys([]byte(setOf(published("small", small.Public()))))
	if err == nil {
		t.Error("RFC7518/3.3 a key of 1024 bits is accepted")
	}
	p := &publisher{body: setOf(with(published("rsa", testKeys()["RS256"].Public()), "alg", "PS256"))}
	s := newSigned(t, p)
	for algorithm, want := range map[string]error{"RS256": ErrInactive, "PS256": nil} {
		_, err := s.Verify(t.Context(), issue(t, algorithm, "rsa", "at+jwt", nil))
		if !errors.Is(err, want) {
			t.Errorf("RFC7517/4.4 %s by a key for PS256: %v", algorithm, err)
		}
	}
}

func with(k map[string]any, name string, value any) map[string]any {
	k[name] = value
	return k
}

// Concurrent requests share a fetch. A request that is cancelled does not affect the
// others.
func TestSignedKeysTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &publisher{body: allKeys()}
		s := newSigned(t, p, func(c *SignedConfig) { c.Transport = slow{p} })
		text := issue(t, "RS256", "rsa", "at+jwt", nil)
		gone, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			_, err := s.Verify(gone, text)
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
		for range 10 {
			all.Go(func() {
				_, err := s.Verify(t.Context(), text)
				if err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		leave()
		all.Wait()
		if p.asked != 1 {
			t.Errorf("fetched %d times", p.asked)
		}
	})
}

type slow struct{ of http.RoundTripper }

func (s slow) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(time.Second)
	return s.of.RoundTrip(r)
}
