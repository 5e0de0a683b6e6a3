package keys

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"mandate/provider/oauth"
	"mandate/provider/seal"
	"mandate/storage"
)

func ring(t *testing.T) *Ring {
	t.Helper()
	store, err := storage.Open(t.Context(), "sqlite:///"+filepath.Join(t.TempDir(), "mandate.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	_, err = store.Migrate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sealer, err := seal.New(make([]byte, 32), "signing-key")
	if err != nil {
		t.Fatal(err)
	}
	r, err := New(t.Context(), Config{OpenID: true, IDTokenLifetime: time.Hour}, store, sealer, func() bool { return true }, func() error { return nil }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A request that arrives after a change does not wait for a read that began before the
// change.
func TestKeysAreReadAgainAfterAChange(t *testing.T) {
	r := ring(t)
	r.mu.Lock()
	r.read, r.reading = time.Time{}, &keyReading{done: make(chan struct{})} // a read that never ends
	r.mu.Unlock()
	wait, stop := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer stop()
	_, err := r.all(wait)
	if e, ok := errors.AsType[*oauth.Error](err); !ok || e.Status != 503 {
		t.Error(err)
	}
	r.Forget()
	keys, err := r.all(t.Context())
	if err != nil || len(keys) == 0 {
		t.Errorf("%d keys, %v", len(keys), err)
	}
}
