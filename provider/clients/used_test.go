package clients

import (
	"context"
	"fmt"
	"maps"
	"sync/atomic"
	"testing"

	"mandate/provider/oauth"
	"mandate/storage"
	"mandate/storage/storagetest"
	"mandate/testkit"
)

func newStore(t *testing.T) *storage.Store {
	t.Helper()
	store, _ := storagetest.Open(t)
	return store
}

// The times of use are stored together, and not lost by an error.
func TestUsesAreStored(t *testing.T) {
	store := newStore(t)
	p, now := &Clients{store: store}, oauth.Now()
	used := func(id string) int64 {
		t.Helper()
		a, err := store.Application(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return a.LastUsedAt
	}
	use := func(id string, last int64) {
		t.Helper()
		err := p.Used(t.Context(), storage.Application{ID: id, LastUsedAt: last})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"first", "later", "busy"} {
		err := store.AddApplication(t.Context(), storage.Application{ID: id, ClientID: id, Responsible: storage.ByOperator},
			0)
		if err == nil && id != "first" {
			err = store.NoteUses(t.Context(), map[string]int64{id: 1})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	use("first", 0)
	use("later", 1)
	use("busy", now-UseInterval+5)
	if used("first") < now || used("later") != 1 {
		t.Errorf("before StoreUses: %d, %d", used("first"), used("later"))
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if p.StoreUses(ended) == nil {
		t.Error("StoreUses reports no error")
	}
	err := p.StoreUses(t.Context())
	if err != nil || used("later") < now || used("busy") != 1 {
		t.Errorf("after StoreUses: %d, %d, %v", used("later"), used("busy"), err)
	}
}

// One code without PKCE in each interval is stored, with the other uses.
func TestWithoutPKCEIsStored(t *testing.T) {
	store := newStore(t)
	err := store.AddApplication(t.Context(), storage.Application{ID: "a", ClientID: "a", Responsible: storage.ByOperator},
		0)
	if err != nil {
		t.Fatal(err)
	}
	p, now := &Clients{store: store}, oauth.Now()
	stored := func() int64 {
		t.Helper()
		if err := p.StoreUses(t.Context()); err != nil {
			t.Fatal(err)
		}
		a, err := store.Application(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		return a.LastWithoutPKCEAt
	}
	p.WithoutPKCE(storage.Application{ID: "a", LastWithoutPKCEAt: now - UseInterval + 5})
	if at := stored(); at != 0 {
		t.Errorf("within the interval %d is stored", at)
	}
	p.WithoutPKCE(storage.Application{ID: "a", LastWithoutPKCEAt: now - UseInterval})
	if at := stored(); at < now {
		t.Errorf("after the interval %d is stored", at)
	}
}

// Strangers can make many applications, so the memory is bounded.
func TestUsesAreBounded(t *testing.T) {
	u := &uses[string]{}
	for i := range maxUses + 5 {
		u.add(fmt.Sprint(i), 1)
	}
	u.add("0", 7)
	if len(u.at) != maxUses || u.at["0"] != 7 {
		t.Errorf("%d uses wait, the first at %d", len(u.at), u.at["0"])
	}
	if n := len(u.take()); n != useBatch || len(u.at) != maxUses-useBatch {
		t.Errorf("%d uses are stored together, and %d wait", n, len(u.at))
	}
}

// One use of a key in each interval is stored, and the memory is bounded.
func TestKeyUsesAreRare(t *testing.T) {
	u, key := &keyUses{}, storage.KeyUse{ApplicationID: "a", KeyID: "k"}
	for _, step := range []struct {
		at   int64
		want int
	}{{1000, 1}, {1001, 0}, {1000 + UseInterval - 1, 0}, {1000 + UseInterval, 1}} {
		u.note(key, step.at)
		if taken := u.take(); len(taken) != step.want || step.want > 0 && taken[key] != step.at {
			t.Errorf("at %d %v is stored, want %d", step.at, taken, step.want)
		}
	}
	for i := range 2 * maxUses {
		u.note(storage.KeyUse{ApplicationID: "a", KeyID: fmt.Sprint(i)}, 9000)
	}
	if len(u.noted) > maxUses || len(u.at) > maxUses {
		t.Errorf("%d keys are remembered, and %d wait", len(u.noted), len(u.at))
	}
}

// No use is lost while others are taken.
func TestUsesAtOnce(t *testing.T) {
	var u uses[int64]
	var next atomic.Int64
	taken := map[int64]int64{}
	testkit.AtOnce(func() { u.add(next.Add(1), 1) }, func() { u.add(next.Add(1), 1) },
		func() { maps.Copy(taken, u.take()) })
	for rest := u.take(); len(rest) > 0; rest = u.take() {
		maps.Copy(taken, rest)
	}
	if len(taken) != int(next.Load()) {
		t.Errorf("%d of %d uses are known", len(taken), next.Load())
	}
}
