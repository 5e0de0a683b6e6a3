package possession

import (
	"errors"
	"path/filepath"
	"testing"

	"mandate/provider/dpop"
	"mandate/provider/oauth"
	"mandate/storage"
)

// RFC 9449 §11.1: a node whose clock is ahead cleans up, and the proof is still valid on the
// others.
func TestUsedProofOutlivesTheCleanUpOfANodeThatIsAhead(t *testing.T) {
	store, err := storage.Open(t.Context(), "sqlite:///"+filepath.Join(t.TempDir(), "mandate.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	_, err = store.Migrate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	checks, err := New(Config{}, store, nil)
	if err != nil {
		t.Fatal(err)
	}
	proof := dpop.Proof{Key: "key", ID: "one", Until: oauth.Now() + 20}
	err = checks.Use(t.Context(), proof)
	if err != nil {
		t.Fatal(err)
	}
	_, err = store.Sweep(t.Context(), oauth.Now()+50, 10)
	if err != nil {
		t.Fatal(err)
	}
	err = checks.Use(t.Context(), proof)
	if refused, ok := errors.AsType[*oauth.Error](err); !ok || refused.Code != dpop.InvalidProof {
		t.Errorf("the second use: %v", err)
	}
}
