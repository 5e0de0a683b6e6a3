package storage

import (
	"fmt"
	"maps"
	"testing"
)

func TestKeyUses(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		a, b := w.application(t, "A"), w.application(t, "B")
		want := func(of Application, expected map[string]int64) {
			t.Helper()
			got, err := w.KeyUses(t.Context(), of.ID)
			must(t, err)
			if !maps.Equal(got, expected) {
				t.Errorf("%s used %v, want %v", of.Name, got, expected)
			}
		}
		want(a, map[string]int64{})
		must(t, w.NoteKeyUses(t.Context(), map[KeyUse]int64{{a.ID, "one"}: at, {a.ID, ""}: at + 1, {b.ID, "one"}: at + 2,
			{"unknown", "one"}: at}))
		// Another node may store an earlier use later.
		must(t, w.NoteKeyUses(t.Context(), map[KeyUse]int64{{a.ID, "one"}: at - 5, {a.ID, ""}: at + 9}))
		want(a, map[string]int64{"one": at, "": at + 9})
		want(b, map[string]int64{"one": at + 2})
		// An application can use any number of keys.
		many := map[KeyUse]int64{}
		for i := range maxKeyUses {
			many[KeyUse{a.ID, fmt.Sprint("k", i)}] = at + 100 + int64(i)
		}
		must(t, w.NoteKeyUses(t.Context(), many))
		got, err := w.KeyUses(t.Context(), a.ID)
		must(t, err)
		if len(got) != maxKeyUses || got["one"] != 0 || got["k0"] == 0 {
			t.Errorf("%d keys are kept, and the oldest is among them: %v", len(got), got["one"] != 0)
		}
		must(t, w.DeleteApplication(t.Context(), a.ID))
		want(a, map[string]int64{})
		want(b, map[string]int64{"one": at + 2})
	})
}
