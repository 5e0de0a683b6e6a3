// Package password hashes passwords with Argon2id (RFC 9106), and verifies hashes that other programs
// made. It limits the memory that all hashes together take, and the queue of those that wait.
package password

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/argon2"

	"mandate/provider/typed"
)

// Hasher hashes passwords. Each hash takes much memory, so only a few run at once: a
// flood of guesses waits here and slows nothing else.
type Hasher struct {
	Cost             Cost
	slots            *turns
	large            *turns // the slot of a hash that takes more memory than one of this Cost
	decoy            phc    // matches no password, and costs as much as another hash
	waiting, refused atomic.Int64

	mu     sync.Mutex
	queued map[string]int // hashes that run or wait, by party
}

// Cost is the memory and the number of passes of one hash (RFC 9106 §3.1).
type Cost struct {
	// MemoryKiB is the memory of one Argon2id hash in KiB (RFC 9106 §3.1).
	MemoryKiB uint32 `key:"PASSWORD_HASH_MEMORY_KIB" default:"19456" min:"7168" max:"1048576" subject:"People and sign-in" after:"SIGN_IN_SERVERS"`
	// Iterations is the number of passes of one Argon2id hash. Memory times passes must be at least 35840, the weakest
	// parameters in the OWASP password storage cheat sheet.
	Iterations uint32 `key:"PASSWORD_HASH_ITERATIONS" default:"2" min:"1" max:"64"`
}

// QueueEach is how many hashes one client, address or person may have running or
// waiting for each slot: about half a second of work.
const QueueEach = 16

// The highest cost of one hash, whether it is made here or imported.
const (
	maxMemoryKiB  = 1 << 20
	maxIterations = 64
)

const memoryBound = 256 << 10 // KiB that all hashes together may take

var (
	// ErrBusy says that no slot was free for 10 seconds, or that the request was
	// cancelled before one was free.
	ErrBusy = errors.New("too many passwords are being hashed")
	// ErrQueue says that one client, address or person has too many hashes in the queue.
	ErrQueue = errors.New("too many hashes are in the queue for the same client, address or person")
)

// New makes a hasher. concurrency is how many hashes run at once; 0 derives it from the
// processors and the memory of one hash.
func New(cost Cost, concurrency int) *Hasher {
	p := &Hasher{Cost: Cost{cmp.Or(cost.MemoryKiB, 19<<10), cmp.Or(cost.Iterations, 2)}}
	if concurrency == 0 {
		// One processor remains for other requests.
		concurrency = max(1, min(runtime.GOMAXPROCS(0)-1, int(memoryBound/p.Cost.MemoryKiB)))
	}
	p.slots, p.large, p.queued = newTurns(concurrency), newTurns(1), map[string]int{}
	p.decoy = phc{p.Cost.MemoryKiB, p.Cost.Iterations, 1, make([]byte, 16), make([]byte, 32)}
	return p
}

func (p *Hasher) encode(salt, sum []byte) string {
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=19$m=%d,t=%d,p=1$%s$%s", p.Cost.MemoryKiB, p.Cost.Iterations, b64.EncodeToString(salt),
		b64.EncodeToString(sum))
}

// Hash returns the PHC string of a password, in its one form (typed.Secret), under a new salt.
func (p *Hasher) Hash(ctx context.Context, password string) (string, error) {
	salt := make([]byte, 16)
	rand.Read(salt) // never fails
	sum, err := p.sum(ctx, typed.Secret(password), salt, p.Cost, 1)
	if err != nil {
		return "", err
	}
	return p.encode(salt, sum), nil
}

func (p *Hasher) sum(ctx context.Context, password string, salt []byte, cost Cost, lanes uint8) ([]byte, error) {
	var sum []byte
	err := p.run(ctx, cost.MemoryKiB,
		func() { sum = argon2.IDKey([]byte(password), salt, cost.Iterations, cost.MemoryKiB, lanes, 32) })
	return sum, err
}

// run computes a hash in a slot. Of those that take more memory than a hash of the present cost, one runs at a time.
func (p *Hasher) run(ctx context.Context, memoryKiB uint32, compute func()) error {
	if memoryKiB > p.Cost.MemoryKiB {
		err := p.take(ctx, p.large)
		if err != nil {
			return err
		}
		defer p.large.release()
	}
	err := p.Acquire(ctx)
	if err != nil {
		return err
	}
	defer p.Release()
	compute()
	return nil
}

// Acquire takes a slot, and waits for one for at most 10 seconds.
func (p *Hasher) Acquire(ctx context.Context) error { return p.take(ctx, p.slots) }

func (p *Hasher) take(ctx context.Context, slots *turns) error {
	wait, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	p.waiting.Add(1)
	defer p.waiting.Add(-1)
	err := slots.take(wait)
	if err == nil {
		return nil
	}
	if ctx.Err() == nil { // the request still waits for its answer
		p.refused.Add(1)
	}
	return fmt.Errorf("%w: %w", ErrBusy, err)
}

// Release gives a slot back.
func (p *Hasher) Release() { p.slots.release() }

// Enter takes a place in the queue for each party of one check, such as a client and
// its address, until leave is called. A party with too many places gets ErrQueue at
// once, so that it cannot fill the queue for the others.
func (p *Hasher) Enter(who ...string) (leave func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range who {
		if p.queued[one] >= QueueEach*p.slots.most {
			p.refused.Add(1)
			return nil, ErrQueue
		}
	}
	for _, one := range who {
		p.queued[one]++
	}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, one := range who {
			p.queued[one]--
			if p.queued[one] == 0 {
				delete(p.queued, one)
			}
		}
	}, nil
}

// Matches reports whether a stored hash is of this password: in its one form (typed.Secret), or as it was typed, for a
// hash that was made without that form. An empty password or an empty hash never matches. stale says that the hash was
// made at another cost, in another form, or by another program.
func (p *Hasher) Matches(ctx context.Context, stored, password string) (ok, stale bool, err error) {
	form := typed.Secret(password)
	ok, stale, err = p.matches(ctx, stored, form)
	if ok || err != nil || form == password {
		return ok, stale, err
	}
	ok, _, err = p.matches(ctx, stored, password)
	return ok, ok, err
}

func (p *Hasher) matches(ctx context.Context, stored, password string) (ok, stale bool, err error) {
	parsed, err := parsePHC(stored)
	if err != nil && password != "" {
		foreign, err := parseImported(stored)
		if err == nil {
			err = p.run(ctx, foreign.memoryKiB, func() { ok = foreign.matches(password) })
			return ok, ok, err
		}
	}
	possible := err == nil && password != ""
	if !possible {
		// A check that cannot succeed costs as much as any other.
		parsed = p.decoy
	}
	sum, err := p.sum(ctx, password, parsed.salt, Cost{parsed.memory, parsed.iterations}, parsed.lanes)
	if err != nil {
		return false, false, err
	}
	ok = possible && subtle.ConstantTimeCompare(sum, parsed.sum) == 1
	return ok, ok && (parsed.memory != p.Cost.MemoryKiB || parsed.iterations != p.Cost.Iterations || parsed.lanes != 1),
		nil
}

// Pretend takes as much time as a check. It is for a user name that does not exist.
func (p *Hasher) Pretend(ctx context.Context, password string) error {
	_, _, err := p.Matches(ctx, "", password)
	return err
}

type phc struct {
	memory, iterations uint32
	lanes              uint8
	salt, sum          []byte
}

var errPHC = errors.New("not an Argon2id hash")

func parsePHC(stored string) (phc, error) {
	var h phc
	parts := strings.Split(stored, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != "v=19" {
		return h, errPHC
	}
	n, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &h.memory, &h.iterations, &h.lanes)
	if err != nil || n != 3 || h.iterations == 0 || h.lanes == 0 || h.memory > maxMemoryKiB ||
		h.iterations > maxIterations {
		return h, errPHC
	}
	h.salt, err = base64.RawStdEncoding.DecodeString(parts[4])
	if err != nil {
		return h, errPHC
	}
	h.sum, err = base64.RawStdEncoding.DecodeString(parts[5])
	if err != nil || len(h.sum) != 32 {
		return h, errPHC
	}
	return h, nil
}

// Stats is the state of a hasher.
type Stats struct {
	Slots, InUse, Waiting int
	Parties               int   // clients, addresses and people with places in the queue
	Refused               int64 // since the start of the process
}

// Stats returns the state of the hasher.
func (p *Hasher) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Stats{p.slots.most, p.slots.inUse(), int(p.waiting.Load()), len(p.queued), p.refused.Load()}
}
