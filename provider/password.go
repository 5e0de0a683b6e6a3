package provider

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
)

// passwords hashes what a person chose, by Argon2id (RFC 9106). Each hash
// takes real memory, so that only so many run at once: a flood of guesses then
// queues here and slows nothing else.
type passwords struct {
	memory, iterations uint32
	slots              chan struct{}
	decoy              phc // matches nothing, and costs what a match costs
	waiting, refused   atomic.Int64

	mu     sync.Mutex
	queued map[string]int // whose hashes run or wait
}

// queueEach is how many hashes of one client, address or person may run or wait,
// for each place: about half a second's work.
const queueEach = 16

// The most that one hash may cost, made here or brought along.
const (
	MaxPasswordMemoryKiB  = 1 << 20
	MaxPasswordIterations = 64
)

const passwordMemoryBound = 256 << 10 // KiB that all hashes together may take

func newPasswords(c Config) *passwords {
	p := &passwords{memory: c.PasswordMemoryKiB, iterations: c.PasswordIterations}
	if p.memory == 0 {
		p.memory = 19 << 10
	}
	if p.iterations == 0 {
		p.iterations = 2
	}
	slots := c.PasswordConcurrency
	if slots == 0 {
		// One processor stays for everybody else.
		slots = max(1, min(runtime.GOMAXPROCS(0)-1, int(passwordMemoryBound/p.memory)))
	}
	p.slots, p.queued = make(chan struct{}, slots), map[string]int{}
	p.decoy = phc{p.memory, p.iterations, 1, make([]byte, 16), make([]byte, 32)}
	return p
}

func (p *passwords) encode(salt, sum []byte) string {
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=19$m=%d,t=%d,p=1$%s$%s", p.memory, p.iterations, b64.EncodeToString(salt), b64.EncodeToString(sum))
}

// hash gives the PHC string of a password under a fresh salt.
func (p *passwords) hash(ctx context.Context, password string) (string, error) {
	salt := make([]byte, 16)
	rand.Read(salt) // never fails
	sum, err := p.sum(ctx, password, salt, p.memory, p.iterations, 1)
	if err != nil {
		return "", err
	}
	return p.encode(salt, sum), nil
}

func (p *passwords) sum(ctx context.Context, password string, salt []byte, memory, iterations uint32, lanes uint8) ([]byte, error) {
	wait, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	p.waiting.Add(1)
	select {
	case p.slots <- struct{}{}:
		p.waiting.Add(-1)
	case <-wait.Done():
		p.waiting.Add(-1)
		if ctx.Err() == nil { // else nobody waits any more
			p.refused.Add(1)
		}
		return nil, tooBusy(wait.Err())
	}
	defer func() { <-p.slots }()
	return argon2.IDKey([]byte(password), salt, iterations, memory, lanes, 32), nil
}

func tooBusy(cause error) *Error {
	return &Error{Status: http.StatusServiceUnavailable, Code: "temporarily_unavailable",
		Description: "The server is busy checking passwords. Try again in a moment.", RetryAfter: 2, cause: cause}
}

// enter takes a place in the queue for each of those who have a password checked
// together, such as a client and its address, until leave is called. Who has too
// many there is refused at once, so that no one of them can fill it for the others.
func (p *passwords) enter(who ...string) (leave func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range who {
		if p.queued[one] >= queueEach*cap(p.slots) {
			p.refused.Add(1)
			return nil, &Error{Status: http.StatusTooManyRequests, Code: "temporarily_unavailable",
				Description: "Too many passwords or secrets from here are being checked. Try again in a moment.", RetryAfter: 1}
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

// matches says whether a stored hash is of this password. An empty password
// or hash matches nothing. stale asks for a new hash at today's cost.
func (p *passwords) matches(ctx context.Context, stored, password string) (ok, stale bool, err error) {
	parsed, err := parsePHC(stored)
	possible := err == nil && password != ""
	if !possible {
		// Whoever cannot match costs what everybody costs.
		parsed = p.decoy
	}
	sum, err := p.sum(ctx, password, parsed.salt, parsed.memory, parsed.iterations, parsed.lanes)
	if err != nil {
		return false, false, err
	}
	ok = possible && subtle.ConstantTimeCompare(sum, parsed.sum) == 1
	return ok, ok && (parsed.memory != p.memory || parsed.iterations != p.iterations), nil
}

// pretend costs as much time as a check, for a person who does not exist.
func (p *passwords) pretend(ctx context.Context, password string) error {
	_, _, err := p.matches(ctx, "", password)
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
	if err != nil || n != 3 || h.iterations == 0 || h.lanes == 0 || h.memory > MaxPasswordMemoryKiB || h.iterations > MaxPasswordIterations {
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

// checkNewPassword holds a password to NIST SP 800-63B-4 §3.1.1.2: a length, no
// rule on its characters, not the name itself.
func (c Config) checkNewPassword(found *Invalid, field, password, username string) {
	shortest := c.PasswordMinLength
	if shortest == 0 {
		shortest = 15
	}
	switch {
	case !utf8.ValidString(password):
		found.add(field, "The password is not valid UTF-8 text.")
	case utf8.RuneCountInString(password) < shortest:
		found.add(field, "Use at least %d characters. A few words in a row are good.", shortest)
	case len(password) > 1024:
		found.add(field, "Use at most 1024 bytes.")
	case strings.EqualFold(password, username):
		found.add(field, "The password must not be the user name.")
	}
}
