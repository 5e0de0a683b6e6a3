package keysets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mandate/provider/jose"
	"mandate/provider/outbound"
	"mandate/provider/places"
)

const address = "https://issuer.example/keys"

// site answers requests for a key set.
type site struct {
	keys  []jose.JWK
	err   error
	slow  time.Duration
	asked int
}

func (s *site) read(_ context.Context, _ string) ([]byte, error) {
	s.asked++
	time.Sleep(s.slow)
	if s.err != nil {
		return nil, s.err
	}
	return json.Marshal(jose.JWKSet{Keys: s.keys})
}

// newKey returns a public key with this id.
func newKey(t *testing.T, kind, id string) jose.JWK {
	t.Helper()
	private, err := jose.Generate(kind)
	if err != nil {
		t.Fatal(err)
	}
	k, err := jose.NewJWK(private.Public())
	if err != nil {
		t.Fatal(err)
	}
	k.ID = id
	return k
}

func header(id string) jose.Header { return jose.Header{Algorithm: "ES256", KeyID: id} }

func wantKey(t *testing.T, s *Sets, id string) {
	t.Helper()
	keys, err := s.Keys(t.Context(), address, header(id))
	if err != nil || len(keys) != 1 {
		t.Errorf("key %q: %d keys, %v", id, len(keys), err)
	}
}

func wantError(t *testing.T, s *Sets, id string, want error) {
	t.Helper()
	keys, err := s.Keys(t.Context(), address, header(id))
	if keys != nil || !errors.Is(err, want) {
		t.Errorf("key %q: %d keys, %v, want %v", id, len(keys), err, want)
	}
}

func TestKeysAreFetchedAndKept(t *testing.T) {
	old, next := newKey(t, "EC", "old"), newKey(t, "EC", "next")
	down := errors.New("no route")
	synctest.Test(t, func(t *testing.T) {
		web := &site{keys: []jose.JWK{old}, slow: time.Millisecond}
		s := newSets(web.read)
		var asking sync.WaitGroup
		for range 64 {
			asking.Go(func() { wantKey(t, s, "old") })
		}
		asking.Wait()
		if web.asked != 1 {
			t.Errorf("64 requests caused %d fetches", web.asked)
		}
		// Invented key ids cause at most one fetch in each pause.
		time.Sleep(pause)
		for i := range 100 {
			wantError(t, s, fmt.Sprint("invented ", i), jose.ErrInvalid)
		}
		if web.asked != 2 {
			t.Errorf("100 invented key ids caused %d fetches, want one", web.asked-1)
		}
		// A new key is found as soon as the pause has ended, and a removed one is refused when
		// the set is not fresh any more.
		web.keys = []jose.JWK{next}
		time.Sleep(pause)
		wantKey(t, s, "next")
		wantError(t, s, "old", jose.ErrInvalid)
		web.keys = []jose.JWK{old}
		wantKey(t, s, "next")
		time.Sleep(fresh)
		wantError(t, s, "next", jose.ErrInvalid)
		// While the set cannot be fetched, its keys are used for a while. Whether another key
		// is in it, nobody knows.
		web.err = down
		time.Sleep(fresh)
		wantKey(t, s, "old")
		wantError(t, s, "next", down)
		asked := web.asked
		wantError(t, s, "next", down)
		if web.asked != asked {
			t.Error("a fetch that has failed is repeated at once")
		}
		time.Sleep(kept)
		wantError(t, s, "old", down)
		web.err = nil
		time.Sleep(pause)
		wantKey(t, s, "old")
		time.Sleep(kept)
		s.Drop()
		if len(s.sets) != 0 {
			t.Error("an old set is kept")
		}
	})
}

func TestUnusableSets(t *testing.T) {
	secret := jose.JWK{Type: "oct", ID: "k"}
	for _, keys := range [][]jose.JWK{nil, {secret}} {
		synctest.Test(t, func(t *testing.T) {
			s := newSets((&site{keys: keys}).read)
			_, err := s.Keys(t.Context(), address, header("k"))
			if err == nil || errors.Is(err, jose.ErrInvalid) {
				t.Error(err)
			}
		})
	}
}

// A set whose last key was removed was fetched: that key verifies nothing any more.
func TestRemovedLastKey(t *testing.T) {
	k := newKey(t, "EC", "k")
	for _, left := range [][]jose.JWK{{}, {{Type: "oct", ID: "k"}}} {
		synctest.Test(t, func(t *testing.T) {
			web := &site{keys: []jose.JWK{k}}
			s := newSets(web.read)
			wantKey(t, s, "k")
			web.keys = left
			time.Sleep(fresh)
			keys, err := s.Keys(t.Context(), address, header("k"))
			if keys != nil || err == nil {
				t.Errorf("%d keys, %v", len(keys), err)
			}
		})
	}
	// Something else than a set says nothing about the keys.
	synctest.Test(t, func(t *testing.T) {
		web := &site{keys: []jose.JWK{k}}
		s := newSets(web.read)
		wantKey(t, s, "k")
		web.keys = nil // {"keys":null}
		time.Sleep(fresh)
		wantKey(t, s, "k")
	})
}

func TestWhoeverLeavesDoesNotEndTheFetch(t *testing.T) {
	k := newKey(t, "EC", "k")
	synctest.Test(t, func(t *testing.T) {
		web := &site{keys: []jose.JWK{k}, slow: time.Second}
		s := newSets(web.read)
		gone, leave := context.WithTimeout(t.Context(), time.Millisecond)
		defer leave()
		if _, err := s.Keys(gone, address, header("k")); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		wantKey(t, s, "k")
		if web.asked != 1 {
			t.Error(web.asked)
		}
	})
}

// Strangers can name many key sets. They fill neither the memory nor the network.
func TestLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := &site{err: errors.New("no route"), slow: time.Second}
		var mu sync.Mutex
		most, now := 0, 0
		s := newSets(func(ctx context.Context, address string) ([]byte, error) {
			mu.Lock()
			now++
			most = max(most, now)
			mu.Unlock()
			time.Sleep(web.slow)
			mu.Lock()
			now--
			mu.Unlock()
			return nil, web.err
		})
		var asking sync.WaitGroup
		for i := range 3 * maxSets {
			asking.Go(func() {
				_, err := s.Keys(t.Context(), fmt.Sprintf("https://%d.example/keys", i), header("k"))
				if err == nil || errors.Is(err, jose.ErrInvalid) {
					t.Error(err)
				}
			})
		}
		asking.Wait()
		if most != places.Most || len(s.sets) > maxSets {
			t.Errorf("%d fetches at once, %d sets", most, len(s.sets))
		}
		// A host that answers slowly does not take the places of others.
		time.Sleep(pause)
		most = 0
		var busy atomic.Int32
		for i := range 2 * places.Most {
			asking.Go(func() {
				_, err := s.Keys(t.Context(), fmt.Sprint(address, i), header("k"))
				if errors.Is(err, ErrBusy) {
					busy.Add(1)
				}
			})
		}
		asking.Wait()
		if most != places.PerHost || busy.Load() != 2*places.Most-places.PerHost || s.places.Taken() != 0 {
			t.Errorf("%d fetches from one host at once, %d were refused, %d places are taken", most, busy.Load(),
				s.places.Taken())
		}
	})
}

// hanging is a host that does not answer before it is told to, but for the addresses that it knows.
type hanging struct {
	known map[string][]byte
	mu    sync.Mutex
	asked map[string]bool
	done  chan struct{}
}

func (h *hanging) read(_ context.Context, address string) ([]byte, error) {
	h.mu.Lock()
	h.asked[address] = true
	answer, done := h.known[address], h.done
	h.mu.Unlock()
	if answer != nil {
		return answer, nil
	}
	<-done
	return nil, errors.New("no answer")
}

// One who registers many addresses that never answer does not take the places of others: neither with
// the ports of one host, nor with many hosts, nor those of sets that have worked.
func TestAttackKeySetsOfOneStranger(t *testing.T) {
	set, err := json.Marshal(jose.JWKSet{Keys: []jose.JWK{newKey(t, "EC", "k")}})
	if err != nil {
		t.Fatal(err)
	}
	begin := func(t *testing.T, known ...string) (*Sets, *hanging, func(Asked), func(Asked) error) {
		h := &hanging{known: map[string][]byte{}, asked: map[string]bool{}, done: make(chan struct{})}
		for _, address := range known {
			h.known[address] = set
		}
		s := newSets(h.read)
		all := func(set jose.JWKSet) []any { return set.For(header("k")) }
		var waiting sync.WaitGroup
		t.Cleanup(func() { close(h.done); waiting.Wait() })
		hang := func(a Asked) { waiting.Go(func() { _, _ = s.Find(context.Background(), a, all) }) }
		return s, h, hang, func(a Asked) error { _, err := s.Find(t.Context(), a, all); return err }
	}
	count := func(h *hanging) int {
		h.mu.Lock()
		defer h.mu.Unlock()
		return len(h.asked)
	}
	t.Run("the ports of one host", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			_, h, hang, find := begin(t, "https://other.example/keys")
			for i := range 100 {
				hang(Asked{fmt.Sprintf("https://%s:%d/keys", []string{"evil.example", "EVIL.example", "evil.example."}[i%3],
					8000+i), fmt.Sprint("somebody ", i)})
			}
			synctest.Wait()
			if n := count(h); n != places.PerHost {
				t.Errorf("%d fetches from one host", n)
			}
			if err := find(Asked{"https://other.example/keys", "another"}); err != nil {
				t.Error("another host:", err)
			}
		})
	})
	t.Run("many hosts", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			_, h, hang, find := begin(t, "https://other.example/keys", "https://bank.example/keys")
			for i := range 100 {
				hang(Asked{fmt.Sprintf("https://evil-%d.example/keys", i), "mallory"})
			}
			synctest.Wait()
			if n := count(h); n != places.PerWho {
				t.Errorf("%d fetches for one", n)
			}
			for _, a := range []Asked{{"https://other.example/keys", "another"}, {"https://bank.example/keys", ""}} {
				if err := find(a); err != nil {
					t.Error(a, err)
				}
			}
		})
	})
	t.Run("administrators have no limit of their own", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			_, h, hang, _ := begin(t)
			for i := range 100 {
				hang(Asked{fmt.Sprintf("https://slow-%d.example/keys", i), ""})
			}
			synctest.Wait()
			if n := count(h); n != places.Most {
				t.Errorf("%d fetches", n)
			}
		})
	})
	t.Run("hosts that have answered once", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var evil []Asked
			works := []string{"https://bank.example/keys"}
			for i := range places.Most {
				evil = append(evil, Asked{fmt.Sprintf("https://evil-%d.example/keys", i), fmt.Sprint("somebody ", i)})
				works = append(works, evil[i].Address)
			}
			s, h, hang, find := begin(t, works...)
			for _, a := range append(evil, Asked{works[0], "bank"}) {
				if err := find(a); err != nil {
					t.Fatal(a, err)
				}
			}
			h.mu.Lock()
			clear(h.known)
			h.known[works[0]] = set
			open, first := h.done, make(chan struct{})
			h.done = first
			h.mu.Unlock()
			time.Sleep(kept)
			for _, a := range evil {
				hang(a)
			}
			synctest.Wait()
			h.mu.Lock()
			h.done = open
			h.mu.Unlock()
			close(first)
			time.Sleep(pause)
			for _, a := range evil {
				hang(a)
			}
			synctest.Wait()
			if err := find(Asked{works[0], "bank"}); err != nil {
				t.Error("a set that has always worked:", err)
			}
			if n := s.places.Taken(); n != places.Most {
				t.Errorf("%d sets that hang have places, want %d", n, places.Most)
			}
		})
	})
	t.Run("many people with many hosts", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			const works = "https://bank.example/keys"
			s, _, hang, find := begin(t, works)
			if err := find(Asked{works, "bank"}); err != nil {
				t.Fatal(err)
			}
			for i := range 3 * maxSets {
				hang(Asked{fmt.Sprintf("https://evil-%d.example/keys", i), fmt.Sprint("somebody ", i)})
			}
			synctest.Wait()
			if s.Kept(works).Keys == nil {
				t.Error("a set that works was forgotten for those that nobody has ever read")
			}
			time.Sleep(kept)
			if err := find(Asked{works, "bank"}); err != nil {
				t.Error("a set that was fetched before:", err)
			}
			if err := find(Asked{"https://new.example/keys", "new"}); !errors.Is(err, ErrBusy) {
				t.Error("a new one:", err)
			}
			if n := s.places.Taken(); n != places.Most {
				t.Errorf("%d places are taken, want those of the hosts that hang", n)
			}
		})
	})
}

func TestOverHTTP(t *testing.T) {
	set, err := json.Marshal(jose.JWKSet{Keys: []jose.JWK{newKey(t, "EC", "k")}})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/good":
			_, _ = w.Write(set)
		case "/large":
			_, _ = w.Write([]byte(strings.Repeat(" ", MaxBytes) + string(set)))
		case "/moved":
			http.Redirect(w, r, "/good", http.StatusFound)
		}
	}))
	defer web.Close()
	allowed := New(outbound.New(outbound.Config{Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}), nil)
	for path, good := range map[string]bool{"/good": true, "/large": false, "/moved": false, "/empty": false} {
		_, err := allowed.Keys(t.Context(), web.URL+path, header("k"))
		if (err == nil) != good || errors.Is(err, jose.ErrInvalid) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := New(outbound.New(outbound.Config{}), nil).Keys(t.Context(), web.URL+"/good", header("k")); err == nil {
		t.Error("a special-use address is called")
	}
}

// A set that works outlives those that nobody has ever read, and those that have failed since, also if it was
// asked for longer ago. A failure is forgotten after a while.
func TestSetsThatWorkAreForgottenLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSets(nil)
		s.places.Note("mended", "", true, 0)
		s.places.Note("mended", "", false, 0)
		time.Sleep(places.Distrust)
		now := time.Now()
		s.sets = map[string]*set{"works": {since: now.Add(-time.Minute), asked: now.Add(-time.Minute)}, "never": {asked: now},
			"later":  {since: now, asked: now},
			"failed": {since: now, asked: now}, "mended": {since: now.Add(-time.Second), asked: now.Add(-time.Second)}}
		for address, failed := range map[string]bool{"works": false, "later": false, "failed": true} {
			s.places.Note(address, "", true, 0)
			if failed {
				s.places.Note(address, "", false, 0)
			}
		}
		for _, want := range []string{"never", "failed", "works", "mended", "later"} {
			s.makeRoom()
			if s.sets[want] != nil {
				t.Errorf("%s is still there: %v", want, s.sets)
			}
		}
	})
}

// One registers more addresses than are kept, and all of them answer. They displace each other, and not the set of
// somebody else.
//
// Resembles CVE-2022-2879 in its class: what one sends fills the memory that is for all.
func TestAttackManyKeySetsThatAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := &site{keys: []jose.JWK{newKey(t, "EC", "k")}}
		s := newSets(web.read)
		find := func(address, who string) {
			t.Helper()
			_, err := s.Find(t.Context(), Asked{address, who}, func(set jose.JWKSet) []any { return set.For(header("k")) })
			if err != nil {
				t.Error(address, err)
			}
		}
		find(address, "bank")
		find("https://new.example/keys", "another")
		for i := range 2 * maxSets {
			time.Sleep(time.Millisecond)
			find(fmt.Sprintf("https://evil.example/%d", i), "mallory")
		}
		if s.Kept(address).Keys == nil || s.Kept("https://new.example/keys").Keys == nil || len(s.sets) != maxSets {
			t.Errorf("of %d sets, that of somebody else is not one", len(s.sets))
		}
	})
}

// A mistake in a library that reads keys and certificates does not end the server.
//
// Resembles CVE-2020-29652 in its class: what a stranger has published makes a parser panic.
func TestAttackKeySetThatMakesAParserPanic(t *testing.T) {
	var logged strings.Builder
	s := newSets(func(context.Context, string) ([]byte, error) { panic("a mistake") })
	s.log = slog.New(slog.NewTextHandler(&logged, nil))
	all := func(set jose.JWKSet) []any { return set.For(jose.Header{Algorithm: "ES256"}) }
	_, err := s.Find(t.Context(), Asked{Address: "https://evil.example/keys"}, all)
	if err == nil || errors.Is(err, jose.ErrInvalid) || !strings.Contains(err.Error(), "a mistake") {
		t.Error(err)
	}
	if s.places.Taken() != 0 || !strings.Contains(logged.String(), "https://evil.example/keys") {
		t.Errorf("%d places are taken, and the log says %q", s.places.Taken(), logged.String())
	}
}

// A set that always comes late has no place among those that work.
func TestAttackKeySetsThatComeLate(t *testing.T) {
	set, err := json.Marshal(jose.JWKSet{Keys: []jose.JWK{newKey(t, "EC", "k")}})
	if err != nil {
		t.Fatal(err)
	}
	for _, late := range []time.Duration{0, time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			s := newSets(func(context.Context, string) ([]byte, error) {
				time.Sleep(places.Slow + late)
				return set, nil
			})
			keys, err := s.Keys(t.Context(), address, header("k"))
			if err != nil || len(keys) != 1 || s.places.Works(address) != (late == 0) {
				t.Errorf("%s: %d keys (%v), the set works: %v", late, len(keys), err, s.places.Works(address))
			}
		})
	}
}
