package dpop

import (
	"encoding/binary"
	"errors"
	"sync"
	"time"
)

// ErrFull says that a proof could not be remembered, so it must not be accepted: the request may
// be tried again later (503).
var ErrFull = errors.New("the memory of DPoP proofs is full")

// Seen remembers the proofs that one node of an API has accepted, so that none is accepted twice
// while it is valid (RFC 9449 §11.1). Another node, or the same after a restart, knows nothing of
// them. Many goroutines can use it.
//
// The memory is bounded, and never forgets a proof that is still valid: that would let a flood
// make a stolen proof useful again. While it is full, new proofs are refused. Only proofs that
// Verify accepted for a token get into it, and one key can use half of it: a client that floods
// the API with one key shuts out itself and not the others. One that has tokens for several keys
// is a matter for the API's own limit of requests.
type Seen struct {
	most int
	life time.Duration

	mu    sync.Mutex
	began time.Time // of the newer generation
	// A proof is in the generation in which it came. A generation takes proofs for one life
	// of a proof, and is kept for one more.
	newer, older generation
}

// generation has 64 bits of each digest: a new proof is taken for an old one once in 10^13
// requests, if there are a million.
type generation struct {
	proofs map[uint64]struct{}
	perKey map[string]int
}

// NewSeen makes a memory for the proofs that are valid under the rules. It has room for most
// proofs in each window of time in which a proof is valid, and uses up to about 200 bytes for one.
func NewSeen(most int, rules Rules) *Seen {
	return &Seen{most: most, life: rules.life()}
}

// Add remembers a proof that Verify accepted. It returns an *Error if the proof was used before,
// and ErrFull if there is no room.
func (s *Seen) Add(p Proof) error {
	print := binary.BigEndian.Uint64(p.Digest[:])
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn(time.Now())
	_, again := s.newer.proofs[print]
	if !again {
		_, again = s.older.proofs[print]
	}
	switch {
	case again:
		return invalid("was used before: make a new proof, with a new jti, for each request")
	case len(s.newer.proofs) >= s.most || s.newer.perKey[p.Key] >= max(1, s.most/2):
		return ErrFull
	}
	s.newer.proofs[print] = struct{}{}
	s.newer.perKey[p.Key]++
	return nil
}

// turn begins a new generation if the newer one has lasted for the life of a proof.
func (s *Seen) turn(now time.Time) {
	age := now.Sub(s.began)
	if age < s.life && s.newer.proofs != nil {
		return
	}
	s.older = s.newer
	if age >= 2*s.life {
		s.older = generation{}
	}
	s.newer, s.began = generation{map[uint64]struct{}{}, map[string]int{}}, now
}
