package storage

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func newKey(id string) Key {
	return Key{ID: id, Kind: "EC", Sealed: "sealed " + id, CreatedAt: at, ActiveAt: at}
}

func TestKeyEndsTheOneBeforeIt(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		first, second := newKey("first"), newKey("second")
		second.ActiveAt = at + 10
		must(t, w.AddKey(t.Context(), first, later))
		must(t, w.AddKey(t.Context(), Key{ID: "other", Kind: "RSA", Sealed: "s", CreatedAt: at, ActiveAt: at}, later))
		must(t, w.AddKey(t.Context(), second, later))
		is(t, "AddKey again", w.AddKey(t.Context(), second, later), ErrConflict)
		first.RetiredAt, first.ExpiresAt = at+10, later
		got, err := w.Keys(t.Context(), at)
		must(t, err)
		if d := cmp.Diff([]Key{first, {ID: "other", Kind: "RSA", Sealed: "s", CreatedAt: at, ActiveAt: at}, second},
			got); d != "" {
			t.Error(d)
		}
		got, err = w.Keys(t.Context(), later)
		must(t, err)
		if len(got) != 2 {
			t.Errorf("%d keys are published after the first has expired", len(got))
		}
	})
}

// If two nodes rotate keys at the same time, one succeeds: each kind has one key that
// is not retired.
func TestKeyIsRotatedOnce(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		stores := w.pair(t)
		race(16, func(i int) error { return stores[i%2].AddKey(t.Context(), newKey(string(rune('a'+i))), later) })
		keys, err := w.Keys(t.Context(), at)
		must(t, err)
		going := 0
		for _, k := range keys {
			if k.RetiredAt == 0 {
				going++
			}
		}
		if going != 1 {
			t.Errorf("%d keys have no end", going)
		}
	})
}

func TestRetiredKeyIsGoneAtOnce(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		must(t, w.AddKey(t.Context(), newKey("k"), later))
		must(t, w.RetireKey(t.Context(), "k", at))
		is(t, "RetireKey again", w.RetireKey(t.Context(), "k", at), ErrNotFound)
		got, err := w.Keys(t.Context(), at)
		must(t, err)
		if len(got) != 0 {
			t.Errorf("%d keys are published", len(got))
		}
	})
}
