package provider

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"strings"
	"sync"
	"time"

	"mandate/storage"
)

// A stored client secret says itself how it is to be checked:
//
//	sha256:...   one that we made: 256 random bits need no slow hash
//	$argon2id$   one that a person chose, as a password
//	sealed:...   one that must stay readable, encrypted under the server's key,
//	             with a word on whether we made it
const (
	storedDigest = "sha256:"
	storedMade   = "sealed:made:"
	storedChosen = "sealed:chosen:"
)

func readable(stored string) bool {
	return strings.HasPrefix(stored, storedMade) || strings.HasPrefix(stored, storedChosen)
}

// chosen says that a person thought of the secret: it may be guessed, and where
// it is hashed each guess costs a password hash.
func chosen(stored string) bool {
	return stored != "" && !strings.HasPrefix(stored, storedMade) && !strings.HasPrefix(stored, storedDigest)
}

// storeSecret gives the form in which a secret is kept. made says that it is
// one of ours.
func (p *Provider) storeSecret(ctx context.Context, applicationID, secret string, made, hash bool) (string, error) {
	switch {
	case !hash && made:
		return storedMade + p.secrets.seal([]byte(secret), applicationID), nil
	case !hash:
		return storedChosen + p.secrets.seal([]byte(secret), applicationID), nil
	case made:
		return storedDigest + digest(secret), nil
	default:
		return p.machine.hash(ctx, secret)
	}
}

// readSecret opens a secret that was kept readable.
func (p *Provider) readSecret(applicationID, stored string) (string, error) {
	text, err := p.secrets.open(stored[strings.LastIndexByte(stored, ':')+1:], applicationID)
	return string(text), err
}

// secretMatches compares without telling by its time how much was right. An
// empty secret, stored or sent, never matches.
func (p *Provider) secretMatches(ctx context.Context, applicationID, stored, secret string) (bool, error) {
	switch {
	case stored == "" || secret == "":
		return false, nil
	case strings.HasPrefix(stored, storedDigest):
		return subtle.ConstantTimeCompare([]byte(stored[len(storedDigest):]), []byte(digest(secret))) == 1, nil
	case readable(stored):
		clear, err := p.readSecret(applicationID, stored)
		if err != nil {
			return false, unavailable(err)
		}
		return clear != "" && subtle.ConstantTimeCompare([]byte(digest(clear)), []byte(digest(secret))) == 1, nil
	}
	if p.proven.has(applicationID, stored, secret) {
		return true, nil
	}
	ok, _, err := p.machine.matches(ctx, stored, secret)
	if ok && err == nil {
		p.proven.add(applicationID, stored, secret)
	}
	return ok, err
}

// proofs remembers secrets that were right, so that the slow hash is worked for
// once and not at each request. What it keeps is a digest under a key that this
// process alone has, and it never outlives a change of what is stored.
type proofs struct {
	once sync.Once
	key  []byte
	mu   sync.Mutex
	kept map[[sha256.Size]byte]time.Time
}

const (
	proofLife = 10 * time.Minute
	maxProofs = 1000
)

func (p *proofs) name(applicationID, stored, secret string) [sha256.Size]byte {
	p.once.Do(func() { p.key, p.kept = []byte(random(32)), map[[sha256.Size]byte]time.Time{} })
	mac := hmac.New(sha256.New, p.key)
	mac.Write([]byte(applicationID + "\x00" + stored + "\x00" + secret))
	return [sha256.Size]byte(mac.Sum(nil))
}

func (p *proofs) has(applicationID, stored, secret string) bool {
	name := p.name(applicationID, stored, secret)
	p.mu.Lock()
	defer p.mu.Unlock()
	end, ok := p.kept[name]
	return ok && time.Now().Before(end)
}

func (p *proofs) add(applicationID, stored, secret string) {
	name := p.name(applicationID, stored, secret)
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.kept) < maxProofs {
		p.kept[name] = time.Now().Add(proofLife)
	}
}

// drop forgets those whose time is up.
func (p *proofs) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, end := range p.kept {
		if !time.Now().Before(end) {
			delete(p.kept, name)
		}
	}
}

// checkSecret accepts the current secret, and the one before it until its
// overlap ends.
func (p *Provider) checkSecret(ctx context.Context, a storage.Application, secret string) (bool, error) {
	ok, err := p.secretMatches(ctx, a.ID, a.Secret, secret)
	if ok || err != nil || a.OldSecretExpiresAt <= now() {
		return ok, err
	}
	return p.secretMatches(ctx, a.ID, a.OldSecret, secret)
}
