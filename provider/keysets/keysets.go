// Package keysets fetches the key sets of others (RFC 7517 §5) and keeps them for a while, to
// verify what these others sign. It selects the keys that a signature can be verified with.
package keysets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"mandate/provider/jose"
	"mandate/provider/outbound"
	"mandate/provider/places"
	"mandate/provider/recovered"
)

// MaxBytes is the size of the largest key set that is read.
const MaxBytes = 64 << 10

// The times of a key set. Keys that were removed from it verify nothing after the first of
// them, and after the second if the set cannot be fetched.
const (
	fresh = 5 * time.Minute  // how long a set is used without a new fetch
	kept  = time.Hour        // how long it is used if no fetch succeeds
	pause = 10 * time.Second // the shortest time between the starts of two fetches of one set
)

// maxSets is the limit of the memory.
const maxSets = 500

// ErrBusy means that too many key sets are being fetched, from everywhere, from this host, or for who has
// registered the address.
var ErrBusy = errors.New("too many key sets are being fetched")

// errNoKey says that a set was fetched, and that none of its keys can be used: those that were in it
// before have been removed.
var errNoKey = errors.New("it has no key that can verify a signature, and no certificate")

// Sets keeps the key sets that were fetched. Each node has its own.
type Sets struct {
	read func(ctx context.Context, address string) ([]byte, error)
	log  *slog.Logger

	mu     sync.Mutex
	sets   map[string]*set
	places *places.Places
}

// Asked is the address of a key set, and who has registered it.
type Asked struct {
	Address string
	For     string // "": the operator or an administrator, who has no limit
}

// set is one key set. Signatures with invented key ids cause at most one fetch in each pause.
type set struct {
	keys  jose.JWKSet
	since time.Time     // when the fetch of the keys began; zero: there was none that succeeded
	asked time.Time     // when the last fetch began
	who   string        // who has registered the address
	err   error         // of the last fetch
	done  chan struct{} // closed when the running fetch ends; nil: none is running
}

// New makes the component. All its fetches use one client.
func New(out *outbound.Client, log *slog.Logger) *Sets {
	s := newSets(func(ctx context.Context, address string) ([]byte, error) {
		document, err := out.Get(ctx, address, "application/jwk-set+json, application/json", MaxBytes)
		return document.Body, err
	})
	s.log = log
	return s
}

func newSets(read func(context.Context, string) ([]byte, error)) *Sets {
	return &Sets{read: read, sets: map[string]*set{}, places: places.New()}
}

// Keys returns the keys of the set at an address with which a signature may have been made.
// Its errors are those of Find.
func (s *Sets) Keys(ctx context.Context, address string, h jose.Header) ([]any, error) {
	return s.Find(ctx, Asked{Address: address}, func(set jose.JWKSet) []any { return set.For(h) })
}

// Find returns those keys of the set at an address that a search finds. It returns
// jose.ErrInvalid if there is no such key, and another error if the set cannot be fetched now:
// then nobody knows whether there is one.
func (s *Sets) Find(ctx context.Context, asked Asked, search func(jose.JWKSet) []any) ([]any, error) {
	s.mu.Lock()
	one := s.of(asked)
	keys := one.find(search)
	if keys == nil || time.Since(one.since) >= fresh {
		s.ask(asked, one)
	}
	done := one.done
	if keys != nil && time.Since(one.since) < fresh {
		done = nil
	}
	s.mu.Unlock()
	if done != nil {
		select {
		case <-done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	keys = one.find(search)
	switch {
	case keys != nil:
		return keys, nil
	case one.err != nil:
		return nil, one.err
	}
	return nil, jose.ErrInvalid
}

// Kept returns the set at an address as it was last read, and fetches nothing.
func (s *Sets) Kept(address string) jose.JWKSet {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.sets[address]; one != nil && time.Since(one.since) < kept {
		return one.keys
	}
	return jose.JWKSet{}
}

// find returns the keys that a search finds, unless the set is too old.
func (one *set) find(search func(jose.JWKSet) []any) []any {
	if time.Since(one.since) >= kept {
		return nil
	}
	return search(one.keys)
}

// of returns the set at an address, and makes room for it if it is new.
func (s *Sets) of(asked Asked) *set {
	one := s.sets[asked.Address]
	if one != nil {
		return one
	}
	if len(s.sets) >= maxSets {
		s.makeRoom()
	}
	one = &set{who: asked.For}
	s.sets[asked.Address] = one
	return one
}

// makeRoom removes a set, and none that is being fetched.
func (s *Sets) makeRoom() {
	delete(s.sets, places.First(s.sets, func(address string, one *set) places.Entry {
		return places.Entry{Unread: one.since.IsZero(), Who: one.who, Fails: !s.places.Works(address), Last: one.asked,
			Stays: one.done != nil}
	}))
}

// ask starts a fetch, shared by all who wait for it. It does not end with the request that
// caused it. It does nothing while a fetch runs, or if the last one began a moment ago.
func (s *Sets) ask(asked Asked, one *set) {
	if one.done != nil || time.Since(one.asked) < pause {
		return
	}
	leave := s.places.Enter(asked.Address, asked.For)
	if leave == nil {
		one.err = ErrBusy
		return
	}
	one.asked, one.done = time.Now(), make(chan struct{})
	go func() {
		began := time.Now()
		var keys jose.JWKSet
		err := recovered.Do(s.log, "read the key set "+asked.Address, func() (err error) {
			keys, err = s.fetch(asked.Address)
			return err
		})
		s.mu.Lock()
		defer s.mu.Unlock()
		read := err == nil || errors.Is(err, errNoKey)
		leave()
		s.places.Note(asked.Address, asked.For, read, time.Since(began))
		one.err = err
		if read {
			one.keys, one.since = keys, one.asked
		}
		close(one.done)
		one.done = nil
	}()
}

// fetch reads a key set. RFC 7517 §5: keys that the server cannot use are ignored.
func (s *Sets) fetch(address string) (jose.JWKSet, error) {
	var usable jose.JWKSet
	body, err := s.read(context.Background(), address)
	if err != nil {
		return usable, fmt.Errorf("fetch the key set %s: %w", address, err)
	}
	var members struct {
		Keys []json.RawMessage `json:"keys"`
	}
	set, err := jose.ParseSet(body)
	if err == nil {
		err = json.Unmarshal(body, &members)
	}
	if err == nil && members.Keys == nil {
		err = errors.New("it has no array keys")
	}
	if err != nil {
		return usable, fmt.Errorf("%s is not a key set: %w", address, err)
	}
	for _, k := range set.Keys {
		if k.Public() != nil || k.Certificate() != nil {
			usable.Keys = append(usable.Keys, k)
		}
	}
	if len(usable.Keys) == 0 {
		return usable, fmt.Errorf("the key set %s cannot be used: %w", address, errNoKey)
	}
	return usable, nil
}

// Drop removes the sets that are too old to be used.
func (s *Sets) Drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for address, one := range s.sets {
		if one.done == nil && time.Since(one.since) >= kept && time.Since(one.asked) >= pause {
			delete(s.sets, address)
		}
	}
}
