package storagetest

import "testing"

// Each test has a database of its own, with the schema of this release.
func TestOpen(t *testing.T) {
	_, first := Open(t)
	store, second := Open(t)
	if first == second {
		t.Error("two tests share a database")
	}
	pending, err := store.Pending(t.Context())
	if err != nil || len(pending) > 0 {
		t.Error(pending, err)
	}
}
