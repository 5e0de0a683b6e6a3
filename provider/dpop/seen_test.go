package dpop

import (
	"crypto/sha256"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func numbered(key string, n int) Proof {
	return Proof{Key: key, Digest: sha256.Sum256([]byte(key + " " + strconv.Itoa(n)))}
}

// RFC 9449 §11.1: a proof is accepted once while it is valid.
func TestSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSeen(100, Rules{})
		key, _ := newKey(t, "EC")
		time.Sleep(35 * time.Second) // some time into a generation
		if err := s.Add(numbered("other", 1)); err != nil {
			t.Fatal(err)
		}
		for _, ahead := range []int64{10, 0, -60} {
			p, err := Verify(request(forge(t, key, nil, map[string]any{"iat": time.Now().Unix() + ahead})), Rules{})
			if err != nil {
				t.Fatal(err)
			}
			p.Digest[0]++ // each ahead has the same jti
			p.Digest[1] = byte(ahead)
			if err := s.Add(p); err != nil {
				t.Fatal(err)
			}
			for step := 0; time.Now().Unix() < p.Until; step++ {
				refused(t, s.Add(p), InvalidProof, "used before")
				if err := s.Add(numbered("flood"+strconv.Itoa(step), int(ahead))); err != nil && !errors.Is(err, ErrFull) {
					t.Error(err)
				}
				time.Sleep(time.Second)
			}
		}
		// What was long ago takes no room.
		time.Sleep(3 * s.life)
		if err := s.Add(numbered("other", 2)); err != nil || len(s.older.proofs) > 0 || len(s.newer.proofs) != 1 {
			t.Error(err, len(s.older.proofs), len(s.newer.proofs))
		}
	})
}

// A proof that came late in a generation is remembered in the next one as long as it is valid.
func TestSeenAcrossGenerations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, late := range []time.Duration{0, time.Second, 59 * time.Second, 69 * time.Second, 70 * time.Second,
			71*time.Second - 1} {
			s := NewSeen(100, Rules{})
			if err := s.Add(numbered("a", 1)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(late)
			if err := s.Add(numbered("a", 2)); err != nil {
				t.Fatal(err)
			}
			for range 70 {
				time.Sleep(time.Second)
				if err := s.Add(numbered("a", 2)); err == nil || errors.Is(err, ErrFull) {
					t.Fatalf("%s: %v", late, err)
				}
			}
		}
	})
}

func TestSeenIsBoundedAndForgetsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSeen(10, Rules{})
		for n := range 5 {
			if err := s.Add(numbered("flood", n)); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Add(numbered("flood", 5)); !errors.Is(err, ErrFull) {
			t.Error("one key has more than half:", err)
		}
		for n := range 5 {
			if err := s.Add(numbered("key"+strconv.Itoa(n), n)); err != nil {
				t.Error("another client is shut out:", err)
			}
		}
		if err := s.Add(numbered("new", 1)); !errors.Is(err, ErrFull) {
			t.Error("more than the most:", err)
		}
		refused(t, s.Add(numbered("flood", 0)), InvalidProof, "used before")
		time.Sleep(s.life)
		if err := s.Add(numbered("flood", 6)); err != nil {
			t.Error("no room after a life:", err)
		}
		refused(t, s.Add(numbered("flood", 0)), InvalidProof, "used before")
	})
}

func TestSeenOfManyAtOnce(t *testing.T) {
	s := NewSeen(1000, Rules{})
	var accepted atomic.Int64
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for n := range 100 {
				if s.Add(numbered("a", n)) == nil {
					accepted.Add(1)
				}
			}
		})
	}
	wait.Wait()
	if accepted.Load() != 100 {
		t.Errorf("%d accepted, want 100", accepted.Load())
	}
}

func BenchmarkSeen(b *testing.B) {
	s := NewSeen(1<<30, Rules{})
	b.ReportAllocs()
	p := numbered("a", 1)
	for n := 0; b.Loop(); n++ {
		p.Digest[0], p.Digest[1], p.Digest[2], p.Digest[3] = byte(n), byte(n>>8), byte(n>>16), byte(n>>24)
		if err := s.Add(p); err != nil {
			b.Fatal(err)
		}
	}
}
