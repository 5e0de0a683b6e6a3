package people

import (
	"context"
	"crypto/subtle"
	"errors"
	"time"

	"mandate/provider/limits"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/seal"
	"mandate/provider/throttle"
	"mandate/storage"
)

// Browser is what is known of where a request comes from.
type Browser struct {
	Address   string // of the client, behind trusted proxies
	UserAgent string
	Session   string // the session cookie, if it sent one
	Device    string // the cookie of a browser that has signed in before
}

// SignIn is what a browser gets for a right password.
type SignIn struct {
	Session string // the new session cookie
	MaxAge  time.Duration
	Device  string // the new device cookie
	User    storage.User
}

// wrongPassword is one text for all: nobody learns which names exist.
func WrongPassword() *oauth.Error {
	return oauth.Refuse("invalid_grant", "The username or the password is not right.")
}

// Login checks a person's password and begins a session. An old session of the
// same browser ends: its id may have been planted there.
func (p *People) Login(ctx context.Context, username, password string, b Browser) (*SignIn, error) {
	key := FoldName(username)
	in := Attempt{p.limits.People, limits.GuessAt(limits.AtPage, key, b.Address), []string{"address " + throttle.Network(b.Address)}}
	if device, err := p.devices.Open(b.Device, "device"); err == nil && string(device) == key {
		// All of them together too: each login makes another one.
		in.Tries, in.Queue = []throttle.Try{{Kind: limits.OfDevice, Key: key + " " + seal.Digest(b.Device), Wide: key}, {Kind: limits.OfAccount, Key: "devices " + key, Wide: key}}, []string{"person " + key}
	}
	u, err := p.CheckPassword(ctx, in, key, password)
	if err != nil {
		return nil, err
	}
	cookie, at := seal.Random(32), oauth.Now()
	err = p.store.AddSession(ctx, storage.Session{
		ID: seal.Random(16), Digest: seal.Digest(cookie), UserID: u.ID, AuthTime: at, SeenAt: at,
		ExpiresAt: at + oauth.Seconds(p.config.SessionLifetime), UserAgent: oauth.Clip(b.UserAgent, 256), Address: b.Address,
	}, seal.Digest(b.Session), u.Password, p.IdleSince(at))
	if errors.Is(err, storage.ErrSpent) { // the password was changed meanwhile
		return nil, WrongPassword()
	}
	if err != nil {
		return nil, oauth.Unavailable(err)
	}
	if most := p.rules.Allowance(policy.StandingOfPerson(u)).Quota.Sessions; most > 0 {
		n, err := p.store.EndSessionsBeyond(ctx, u.ID, seal.Digest(cookie), most, at)
		if err != nil {
			return nil, oauth.Unavailable(err)
		}
		if n > 0 {
			p.ended()
		}
	}
	return &SignIn{Session: cookie, MaxAge: p.config.SessionLifetime, Device: p.devices.Seal([]byte(key), "device"), User: u}, nil
}

// attempt is how a password is checked: what hashes it, what counts it, and whose
// part of the queue of hashes it takes.
type Attempt struct {
	Hasher limits.Hasher
	Tries  []throttle.Try
	Queue  []string
}

// checkPassword takes as long for a name that nobody has as for a wrong
// password.
func (p *People) CheckPassword(ctx context.Context, by Attempt, key, password string) (storage.User, error) {
	giveBack, err := p.limits.Take(by.Tries...)
	if err != nil {
		return storage.User{}, err
	}
	hasher := by.Hasher
	leave, err := hasher.Enter(by.Queue...)
	if err != nil {
		giveBack()
		return storage.User{}, err
	}
	defer leave()
	u, err := p.store.UserByKey(ctx, key)
	if errors.Is(err, storage.ErrNotFound) {
		err = hasher.Pretend(ctx, password)
		if err != nil {
			giveBack()
			return storage.User{}, err
		}
		return storage.User{}, WrongPassword()
	}
	if err != nil {
		giveBack()
		return storage.User{}, oauth.Unavailable(err)
	}
	ok, stale, err := hasher.Matches(ctx, u.Password, password)
	if err != nil {
		giveBack()
		return storage.User{}, err
	}
	if !ok || !u.Active {
		return storage.User{}, WrongPassword()
	}
	giveBack()
	if stale {
		u.Password = p.rehash(ctx, hasher, u, password)
	}
	return u, nil
}

// rehash stores the password at today's cost and gives the hash that stands: of
// two logins at once, one finds what the other stored. If it fails, the next
// login tries again.
func (p *People) rehash(ctx context.Context, hasher limits.Hasher, u storage.User, password string) string {
	hash, err := hasher.Hash(ctx, password)
	if err == nil {
		err = p.store.Rehash(ctx, u.ID, u.Password, hash)
	}
	var stands storage.User
	if err == nil {
		stands, err = p.store.UserByID(ctx, u.ID)
	}
	ok := stands.Password == hash
	if err == nil && !ok {
		ok, _, err = hasher.Matches(ctx, stands.Password, password)
	}
	if err != nil {
		p.log.Warn("a password could not be hashed anew", "subject", u.ID, "error", err)
	}
	if err != nil || !ok {
		return u.Password
	}
	return stands.Password
}

// SignedIn finds the session of a cookie, or gives ErrNotFound.
func (p *People) SignedIn(ctx context.Context, cookie string) (*storage.SignedIn, error) {
	if cookie == "" {
		return nil, oauth.ErrNotFound
	}
	at := oauth.Now()
	found, err := p.store.SessionByDigest(ctx, seal.Digest(cookie), at, p.IdleSince(at))
	if errors.Is(err, storage.ErrNotFound) {
		return nil, oauth.ErrNotFound
	}
	if err != nil {
		return nil, oauth.Unavailable(err)
	}
	if at-found.Session.SeenAt >= storage.Touched {
		err = p.store.TouchSession(ctx, found.Session.ID, at)
		if err != nil {
			return nil, oauth.Unavailable(err)
		}
	}
	return &found, nil
}

func (p *People) IdleSince(at int64) int64 {
	if p.config.SessionIdle == 0 {
		return 0
	}
	return at - oauth.Seconds(p.config.SessionIdle)
}

// SetupLink is the secret part of the first administrator's link, or "" where
// somebody is there already.
func (p *People) SetupLink(ctx context.Context) (string, error) {
	somebody, err := p.store.HasUsers(ctx)
	if err != nil || somebody {
		return "", err
	}
	return p.setup, nil
}

// Setup makes the first administrator. The link works once: the store refuses
// a first user where there is one.
func (p *People) Setup(ctx context.Context, link string, person Person) error {
	err := p.CheckSetup(ctx, link)
	if err != nil {
		return err
	}
	u, err := p.newUser(ctx, person)
	if err != nil {
		return err
	}
	u.Administrator = true
	err = p.store.AddFirstUser(ctx, u)
	if errors.Is(err, storage.ErrSpent) {
		return oauth.ErrNotFound
	}
	if err != nil {
		return oauth.Unavailable(err)
	}
	return nil
}

// CheckSetup gives ErrNotFound unless the link still works.
func (p *People) CheckSetup(ctx context.Context, link string) error {
	// Before anything is asked of the database: anybody can send a link.
	if subtle.ConstantTimeCompare([]byte(seal.Digest(link)), []byte(seal.Digest(p.setup))) != 1 {
		return oauth.ErrNotFound
	}
	stands, err := p.SetupLink(ctx)
	if err != nil {
		return oauth.Unavailable(err)
	}
	if stands == "" {
		return oauth.ErrNotFound
	}
	return nil
}
