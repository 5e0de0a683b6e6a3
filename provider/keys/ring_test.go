package keys

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"mandate/provider/jose"
	"mandate/provider/oauth"
	"mandate/provider/seal"
	"mandate/storage/storagetest"
	"mandate/testkit"
)

func ring(t *testing.T) *Ring {
	t.Helper()
	store, _ := storagetest.Open(t)
	sealer, err := seal.New(make([]byte, 32), "signing-key")
	if err != nil {
		t.Fatal(err)
	}
	r, err := New(t.Context(), Config{OpenID: true, IDTokenLifetime: time.Hour}, store, sealer,
		func() bool { return true }, func() error { return nil }, slog.New(slog.DiscardHandler))
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

// RFC 7517 §4.4, §4.5: a program that accepts no key without alg, and no signature by another one, verifies each
// signature. The usual key stands first, and keeps its thumbprint as kid.
func TestEveryPublishedKeyNamesItsAlgorithm(t *testing.T) {
	r := ring(t)
	set, err := r.JWKSet(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if first := set.Keys[0]; first.Algorithm != "RS256" || first.ID != first.Thumbprint() {
		t.Errorf("the first key is %+v", first)
	}
	for _, algorithm := range jose.Algorithms() {
		key, err := r.Signer(t.Context(), algorithm)
		if err != nil {
			t.Fatal(err)
		}
		text, err := key.Sign(algorithm, "JWT", map[string]any{"a": "b"})
		if err != nil {
			t.Fatal(err)
		}
		used := ""
		_, err = jose.Verifier{Algorithms: []string{algorithm}, Types: []string{"jwt"},
			Keys: func(h jose.Header, _ []byte) ([]any, error) {
				var found []any
				for _, k := range set.Keys {
					if k.ID == h.KeyID && k.Algorithm == algorithm {
						found, used = append(found, k.Public()), k.ID
					}
				}
				if len(found) != 1 {
					t.Errorf("%s: %d keys have the kid %s", algorithm, len(found), h.KeyID)
				}
				return found, nil
			}}.Verify(text)
		if err != nil {
			t.Errorf("%s: %v", algorithm, err)
		}
		if again, err := r.ByID(t.Context(), used); err != nil || again.ID != key.ID {
			t.Errorf("%s: the server does not know its own kid %s: %v", algorithm, used, err)
		}
	}
	rsa, err := r.Signer(t.Context(), "PS256")
	if err != nil || r.Retire(t.Context(), rsa.ID+"-PS256") != nil {
		t.Errorf("the kid in the header of a token does not retire its key: %v", err)
	}
	if _, err := r.ByID(t.Context(), rsa.ID); !errors.Is(err, oauth.ErrNotFound) {
		t.Errorf("the retired key is there: %v", err)
	}
}

func TestRingAtOnce(t *testing.T) {
	r := ring(t)
	read := func() {
		keys, err := r.all(t.Context())
		if err != nil || len(keys) == 0 {
			t.Errorf("%d keys, %v", len(keys), err)
		}
	}
	read() // later reads need not open the keys
	testkit.AtOnce(read, r.Forget)
}
