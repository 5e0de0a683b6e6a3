package clients

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
	"mandate/storage"
)

// A stored client secret says itself how it is to be checked:
//
//	sha256:...   one that we made: 256 random bits need no slow hash
//	$argon2id$   one that a person chose, as a password
//	sealed:...   one that must stay readable, encrypted under the server's key,
//	             with a word on whether we made it
const (
	StoredDigest = "sha256:"
	StoredMade   = "sealed:made:"
	StoredChosen = "sealed:chosen:"
)

func Readable(stored string) bool {
	return strings.HasPrefix(stored, StoredMade) || strings.HasPrefix(stored, StoredChosen)
}

// chosen says that a person thought of the secret: it may be guessed, and where
// it is hashed each guess costs a password hash.
func chosen(stored string) bool {
	return stored != "" && !strings.HasPrefix(stored, StoredMade) && !strings.HasPrefix(stored, StoredDigest)
}

// storeSecret gives the form in which a secret is kept. made says that it is
// one of ours.
func (p *Clients) StoreSecret(ctx context.Context, applicationID, secret string, made, hash bool) (string, error) {
	switch {
	case !hash && made:
		return StoredMade + p.secrets.Seal([]byte(secret), applicationID), nil
	case !hash:
		return StoredChosen + p.secrets.Seal([]byte(secret), applicationID), nil
	case made:
		return StoredDigest + seal.Digest(secret), nil
	default:
		return p.limits.Programs.Hash(ctx, secret)
	}
}

// readSecret opens a secret that was kept readable.
func (p *Clients) readSecret(applicationID, stored string) (string, error) {
	text, err := p.secrets.Open(stored[strings.LastIndexByte(stored, ':')+1:], applicationID)
	return string(text), err
}

// secretMatches compares without telling by its time how much was right. An
// empty secret, stored or sent, never matches. Where only a slow hash can say, it
// says that.
func (p *Clients) SecretMatches(applicationID, stored, secret string) (ok, slow bool, err error) {
	switch {
	case stored == "" || secret == "":
		return false, false, nil
	case strings.HasPrefix(stored, StoredDigest):
		return subtle.ConstantTimeCompare([]byte(stored[len(StoredDigest):]), []byte(seal.Digest(secret))) == 1, false, nil
	case Readable(stored):
		clear, err := p.readSecret(applicationID, stored)
		if err != nil {
			return false, false, oauth.Unavailable(err)
		}
		return clear != "" && subtle.ConstantTimeCompare([]byte(seal.Digest(clear)), []byte(seal.Digest(secret))) == 1, false, nil
	}
	ok = p.proven.has(p.proven.name(applicationID, stored, secret))
	return ok, !ok, nil
}

// proveSecret accepts the current secret, and the one before it until its
// overlap ends. What nobody can guess is compared and no more.
func (p *Clients) proveSecret(ctx context.Context, a storage.Application, secret string) error {
	stored := append(make([]string, 0, 2), a.Secret)
	if a.OldSecretExpiresAt > oauth.Now() {
		stored = append(stored, a.OldSecret)
	}
	guessable := slices.ContainsFunc(stored, chosen)
	var toHash []string
	for _, form := range stored {
		ok, slow, err := p.SecretMatches(a.ID, form, secret)
		if err != nil {
			return err
		}
		if ok && guessable {
			// Where the tries are used up, a guess that is right is refused too.
			return p.limits.Refused(guessAtSecret(ctx, a.ID))
		}
		if ok {
			return nil
		}
		if slow {
			toHash = append(toHash, form)
		}
	}
	if len(toHash) == 0 {
		return p.wrongClient(guessAtSecret(ctx, a.ID))
	}
	return p.hashSecret(ctx, a.ID, toHash, secret, guessAtSecret(ctx, a.ID))
}

// guessAtSecret counts a guess at a client's secret from one network.
func guessAtSecret(ctx context.Context, applicationID string) throttle.Try {
	address := CallOf(ctx).Address
	return throttle.Try{Kind: limits.OfClient, Key: applicationID + " " + throttle.Network(address), Wide: applicationID + " " + throttle.WideNetwork(address)}
}

// hashSecret works for the slow hashes of a secret, once for all who send the
// same one meanwhile and are counted together: a worker's fellows begin when it does.
func (p *Clients) hashSecret(ctx context.Context, applicationID string, stored []string, secret string, tries throttle.Try) error {
	name := p.proven.name(applicationID, strings.Join(stored, "\x00")+"\x00"+tries.Key, secret)
	for {
		run, first := p.proven.join(name)
		if first {
			defer p.proven.finish(name, run)
			run.right, run.err = p.hashCounted(ctx, applicationID, stored, secret, tries)
			run.left = ctx.Err() != nil
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
		case run.left:
		case run.err != nil:
			return run.err
		default:
			return p.wrongClient(tries) // it costs everybody a try
		}
	}
}

// hashCounted takes a try before the work begins, so that guesses that come at
// once are counted before they are hashed. Who is right has it back.
func (p *Clients) hashCounted(ctx context.Context, applicationID string, stored []string, secret string, tries throttle.Try) (right bool, err error) {
	giveBack, err := p.limits.Take(tries)
	if err != nil {
		return false, err
	}
	leave, err := p.limits.Programs.Enter("client "+applicationID, "address "+throttle.Network(CallOf(ctx).Address))
	if err != nil {
		giveBack()
		return false, err
	}
	defer leave()
	for _, form := range stored {
		ok, _, err := p.limits.Programs.Matches(ctx, form, secret)
		if ok && err == nil {
			p.proven.add(p.proven.name(applicationID, form, secret))
		}
		if ok || err != nil {
			giveBack()
			return ok, err
		}
	}
	return false, nil
}

// proofs remembers secrets that were right, so that the slow hash is worked for
// once and not at each request. What it keeps is a digest under a key that this
// process alone has, and it never outlives a change of what is stored.
type proofs struct {
	once    sync.Once
	key     []byte
	mu      sync.Mutex
	kept    map[proofName]time.Time
	running map[proofName]*proof
}

type proofName [sha256.Size]byte

// proof is a slow hash that is being worked for.
type proof struct {
	done  chan struct{} // closed when the rest is known
	right bool
	err   error
	left  bool // whoever began it did not wait for the end
}

const (
	proofLife = 10 * time.Minute
	maxProofs = 1000
)

func (p *proofs) name(applicationID, stored, secret string) proofName {
	p.once.Do(func() {
		p.key, p.kept, p.running = []byte(seal.Random(32)), map[proofName]time.Time{}, map[proofName]*proof{}
	})
	mac := hmac.New(sha256.New, p.key)
	mac.Write([]byte(applicationID + "\x00" + stored + "\x00" + secret))
	return proofName(mac.Sum(nil))
}

func (p *proofs) has(name proofName) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	end, ok := p.kept[name]
	return ok && time.Now().Before(end)
}

// join finds the proof that others wait for, or begins it.
func (p *proofs) join(name proofName) (run *proof, first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	run = p.running[name]
	if run != nil {
		return run, false
	}
	run = &proof{done: make(chan struct{}), left: true}
	p.running[name] = run
	return run, true
}

func (p *proofs) finish(name proofName, run *proof) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.running, name)
	close(run.done)
}

func (p *proofs) add(name proofName) {
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
