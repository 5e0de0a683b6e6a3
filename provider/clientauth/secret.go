package clientauth

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"slices"
	"strings"
	"sync"
	"time"

	"mandate/provider/limits"
	"mandate/provider/oauth"
	"mandate/provider/seal"
	"mandate/provider/throttle"
	"mandate/provider/typed"
	"mandate/storage"
)

// A stored client secret begins with the method by which it is checked:
//
//	sha256:...   a generated secret: 256 random bits need no slow hash
//	$argon2id$   a secret that a person chose, hashed like a password
//	sealed:...   a secret that must stay readable, encrypted under the server's
//	             key; the next word reports whether it was generated
const (
	storedDigest = "sha256:"
	storedMade   = "sealed:made:"
	storedChosen = "sealed:chosen:"
)

// Readable reports whether the server can read a stored secret back.
func Readable(stored string) bool {
	return strings.HasPrefix(stored, storedMade) || strings.HasPrefix(stored, storedChosen)
}

// SecretIsReadable reports whether the server can read the stored client secret back,
// which it must to sign with it.
func SecretIsReadable(a storage.Application) bool { return Readable(a.Secret) }

// chosen reports whether a person chose the secret. Such a secret can be guessed, and if
// it is hashed, each guess costs a password hash.
func chosen(stored string) bool {
	return stored != "" && !strings.HasPrefix(stored, storedMade) && !strings.HasPrefix(stored, storedDigest)
}

// Digest returns the form in which a generated secret is stored that the server cannot read back.
func Digest(secret string) string { return storedDigest + seal.Digest(secret) }

// StoreSecret returns the form in which a secret is stored. made says that the server
// generated the secret. hash says that it is not kept readable.
func (p *Checks) StoreSecret(ctx context.Context, applicationID, secret string, made, hash bool) (string, error) {
	switch {
	case !hash && made:
		return storedMade + p.secrets.Seal([]byte(secret), applicationID), nil
	case !hash:
		return storedChosen + p.secrets.Seal([]byte(secret), applicationID), nil
	case made:
		return storedDigest + seal.Digest(secret), nil
	default:
		return p.limits.Programs.Hash(ctx, secret)
	}
}

// ReadSecret decrypts a stored secret that is readable.
func (p *Checks) ReadSecret(applicationID, stored string) (string, error) {
	text, err := p.secrets.Open(stored[strings.LastIndexByte(stored, ':')+1:], applicationID)
	return string(text), err
}

// secretMatches compares a secret with a stored one, in a time that does not depend on
// how much of it is right. An empty secret, stored or sent, never matches. slow says
// that only a slow hash can decide.
func (p *Checks) secretMatches(applicationID, stored, secret string) (ok, slow bool, err error) {
	switch {
	case stored == "" || secret == "":
		return false, false, nil
	case strings.HasPrefix(stored, storedDigest):
		return subtle.ConstantTimeCompare([]byte(stored[len(storedDigest):]), []byte(seal.Digest(secret))) == 1, false, nil
	case Readable(stored):
		clear, err := p.ReadSecret(applicationID, stored)
		if err != nil {
			return false, false, oauth.Unavailable(err)
		}
		return clear != "" && subtle.ConstantTimeCompare(
			[]byte(seal.Digest(typed.Secret(clear))), []byte(seal.Digest(typed.Secret(secret))),
		) == 1, false, nil
	}
	ok = p.proven.has(p.proven.name(applicationID, stored, secret))
	return ok, !ok, nil
}

// ProveSecret accepts the present secret, and the one before it until its overlap ends.
// If neither can be guessed, the comparison is all it does.
func (p *Checks) ProveSecret(ctx context.Context, a storage.Application, secret string) error {
	var toHash []string
	guessable := canBeGuessed(a)
	for _, form := range validSecrets(a) {
		ok, slow, err := p.secretMatches(a.ID, form, secret)
		if err != nil {
			return err
		}
		if ok && guessable {
			return p.provenAt(ctx, a)
		}
		if ok {
			return nil
		}
		if slow {
			toHash = append(toHash, form)
		}
	}
	if len(toHash) == 0 {
		return p.wrongClient(p.guessAtSecret(ctx, a)...)
	}
	return p.hashSecret(ctx, a.ID, toHash, secret, p.guessAtSecret(ctx, a))
}

// validSecrets returns the present secret of a client, and the one before it until its overlap ends.
func validSecrets(a storage.Application) []string {
	stored := append(make([]string, 0, 2), a.Secret)
	if a.OldSecretExpiresAt > oauth.Now() {
		stored = append(stored, a.OldSecret)
	}
	return stored
}

// canBeGuessed reports whether a person chose a secret that is valid now.
func canBeGuessed(a storage.Application) bool { return slices.ContainsFunc(validSecrets(a), chosen) }

// guessAtSecret returns the tries that a guess at a client's secret uses: one of the network and, if the
// secret can be guessed, one of the client. A network in which the client has authenticated before shares one
// with others of that kind: strangers who guess elsewhere do not keep the client out.
func (p *Checks) guessAtSecret(ctx context.Context, a storage.Application) []throttle.Try {
	address, client := AddressOf(ctx), "new "+a.ID
	pair := throttle.From(limits.OfClient, a.ID+" ", address)
	if !canBeGuessed(a) {
		return []throttle.Try{pair}
	}
	if p.proven.knows(at(a.ID, address)) {
		client = "known " + a.ID
		pair.Site = "" // its neighbours do not keep it out either
	}
	return []throttle.Try{pair, {Kind: limits.OfSecret, Key: client, Wide: client}}
}

func at(applicationID, address string) string { return applicationID + " " + throttle.Network(address) }

// provenAt accepts a correct secret that can be guessed, unless the tries are exhausted: a correct guess is
// refused then too.
func (p *Checks) provenAt(ctx context.Context, a storage.Application) error {
	err := p.limits.CheckOnly(p.guessAtSecret(ctx, a)...)
	if err == nil {
		p.proven.know(at(a.ID, AddressOf(ctx)))
	}
	return err
}

// hashSecret compares a secret by slow hashes. Requests from the same network that send
// the same secret at the same time share one computation.
func (p *Checks) hashSecret(
	ctx context.Context,
	applicationID string,
	stored []string,
	secret string,
	tries []throttle.Try,
) error {
	name := p.proven.name(applicationID, strings.Join(stored, "\x00")+"\x00"+tries[0].Key, secret)
	for {
		run, first := p.proven.joinOrStart(name)
		if first {
			defer p.proven.finish(name, run)
			run.right, run.err = p.hashCounted(ctx, applicationID, stored, secret, tries)
			run.cancelled = ctx.Err() != nil
			if run.err == nil && !run.right {
				return wrongSecret()
			}
			return run.err
		}
		select {
		case <-run.done:
		case <-ctx.Done():
			return limits.TooBusy(ctx.Err())
		}
		switch {
		case run.right:
			return nil
		case run.cancelled:
		case run.err != nil:
			return run.err
		default:
			return p.wrongClient(tries...) // each request with a wrong secret uses a try
		}
	}
}

// hashCounted uses a try before it computes a hash, so that parallel guesses are all
// counted. A correct secret gives the try back.
func (p *Checks) hashCounted(
	ctx context.Context,
	applicationID string,
	stored []string,
	secret string,
	tries []throttle.Try,
) (right bool, err error) {
	giveBack, err := p.limits.Take(tries...)
	if err != nil {
		return false, err
	}
	leave, err := p.limits.Programs.Enter("client "+applicationID, limits.InQueue(AddressOf(ctx)))
	if err != nil {
		giveBack()
		return false, err
	}
	defer leave()
	for _, form := range stored {
		ok, _, err := p.limits.Programs.Matches(ctx, form, secret)
		if ok && err == nil {
			p.proven.know(at(applicationID, AddressOf(ctx)))
			p.proven.add(p.proven.name(applicationID, form, secret))
		}
		if ok || err != nil {
			giveBack()
			return ok, err
		}
	}
	return false, nil
}

// secretCache remembers correct secrets, so that their slow hash is computed once and not at
// each request. It keeps a digest under a key that only this process has. The digest
// covers the stored form, so it no longer matches when the stored secret changes.
type secretCache struct {
	once    sync.Once
	key     []byte
	mu      sync.Mutex
	kept    map[proofName]time.Time
	known   map[string]time.Time // client and network: until when it is known that the client is there
	running map[proofName]*computation
}

type proofName [sha256.Size]byte

// computation is a slow hash that is being computed.
type computation struct {
	done      chan struct{} // closed when the other fields are set
	right     bool
	err       error
	cancelled bool // the request that began it was cancelled
}

const (
	proofLife = 10 * time.Minute
	maxProofs = 1000
	// knownLife is how long a network is known after a client has authenticated there.
	knownLife = 30 * 24 * time.Hour
	maxKnown  = 10_000
)

func (p *secretCache) name(applicationID, stored, secret string) proofName {
	p.once.Do(func() {
		p.key, p.kept, p.running = []byte(seal.Random(32)), map[proofName]time.Time{}, map[proofName]*computation{}
	})
	mac := hmac.New(sha256.New, p.key)
	mac.Write([]byte(applicationID + "\x00" + stored + "\x00" + secret))
	return proofName(mac.Sum(nil))
}

func (p *secretCache) has(name proofName) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	end, ok := p.kept[name]
	return ok && time.Now().Before(end)
}

// joinOrStart returns the computation that is in progress for this name, or begins one. first
// says that it began one.
func (p *secretCache) joinOrStart(name proofName) (run *computation, first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	run = p.running[name]
	if run != nil {
		return run, false
	}
	run = &computation{done: make(chan struct{}), cancelled: true}
	p.running[name] = run
	return run, true
}

func (p *secretCache) finish(name proofName, run *computation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.running, name)
	close(run.done)
}

func (p *secretCache) add(name proofName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.kept) < maxProofs {
		p.kept[name] = time.Now().Add(proofLife)
	}
}

// know notes that a client has authenticated in a network. Only a correct secret or certificate does so.
func (p *secretCache) know(at string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil {
		p.known = map[string]time.Time{}
	}
	if _, again := p.known[at]; again || len(p.known) < maxKnown {
		p.known[at] = time.Now().Add(knownLife)
	}
}

func (p *secretCache) knows(at string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Now().Before(p.known[at])
}

// drop removes what has expired.
func (p *secretCache) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for at, end := range p.known {
		if !time.Now().Before(end) {
			delete(p.known, at)
		}
	}
	for name, end := range p.kept {
		if !time.Now().Before(end) {
			delete(p.kept, name)
		}
	}
}

// HashStored replaces a readable stored secret with its hash. This cannot be undone. A
// stored secret that is a hash stays as it is.
func (p *Checks) HashStored(ctx context.Context, applicationID, stored string) (string, error) {
	if !Readable(stored) {
		return stored, nil
	}
	secret, err := p.ReadSecret(applicationID, stored)
	if err != nil {
		return "", oauth.Unavailable(err)
	}
	return p.StoreSecret(ctx, applicationID, secret, strings.HasPrefix(stored, storedMade), true)
}
