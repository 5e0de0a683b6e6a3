package dpop

import (
	"strings"
	"testing"
	"time"
)

func newNonces(t *testing.T, key string) *Nonces {
	t.Helper()
	n, err := NewNonces([]byte(strings.Repeat(key, 32)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// RFC 9449 §8: nonces are accepted for a short time, and cannot be made without the key.
func TestNonces(t *testing.T) {
	n, now := newNonces(t, "k"), time.Unix(1_800_000_000, 0) // the first second of a slot
	nonce := n.Current(now)
	for after, want := range map[time.Duration]bool{
		0: true, nonceSlot: true, 2*nonceSlot - time.Second: true, 2 * nonceSlot: false, time.Hour: false,
		-time.Second: true, -nonceSlot: true, -nonceSlot - time.Second: false, -time.Hour: false,
	} {
		if got := n.Valid(nonce, now.Add(after)); got != want {
			t.Errorf("after %s: %t, want %t", after, got, want)
		}
	}
	if n.Current(now.Add(nonceSlot-time.Second)) != nonce || n.Current(now.Add(nonceSlot)) == nonce {
		t.Error("a nonce is given out for another time than a slot")
	}
	if newNonces(t, "k").Current(now) != nonce || newNonces(t, "x").Valid(nonce, now) {
		t.Error("the key and the time alone must make a nonce")
	}
	for _, wrong := range []string{"", "x", nonce[1:], nonce + "A", strings.ToLower(nonce)} {
		if n.Valid(wrong, now) {
			t.Errorf("%q is valid", wrong)
		}
	}
	if _, err := NewNonces(make([]byte, 31)); err == nil {
		t.Error("a short key is accepted")
	}
	key := []byte(strings.Repeat("k", 32))
	copied, _ := NewNonces(key)
	clear(key)
	if copied.Current(now) != nonce {
		t.Error("the nonces change with the caller's key")
	}
}

func TestProofWithNonce(t *testing.T) {
	key, _ := newKey(t, "EC")
	rules := Rules{Nonces: newNonces(t, "k")}
	try := func(claims map[string]any) error {
		_, err := Verify(request(forge(t, key, nil, claims)), rules)
		return err
	}
	now := time.Now()
	if err := try(map[string]any{"nonce": rules.Nonces.Current(now)}); err != nil {
		t.Error(err)
	}
	refused(t, try(nil), UseNonce, "must have the nonce")
	refused(t, try(map[string]any{"nonce": 7}), UseNonce, "must have the nonce")
	refused(t, try(map[string]any{"nonce": rules.Nonces.Current(now.Add(-time.Hour))}), UseNonce, "too old or unknown")
	refused(t, try(map[string]any{"nonce": newNonces(t, "x").Current(now)}), UseNonce, "too old or unknown")
	// A nonce does not make an old proof, or one for another request, valid.
	refused(t, try(map[string]any{"nonce": rules.Nonces.Current(now), "iat": now.Unix() - 3600}), InvalidProof, "old")
	refused(t, try(map[string]any{"nonce": rules.Nonces.Current(now), "htm": "GET"}), InvalidProof, "htm")
}
