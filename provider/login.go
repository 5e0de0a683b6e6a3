package provider

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
	User    User
}

// wrongPassword is one text for all: nobody learns which names exist.
func wrongPassword() *oauth.Error {
	return oauth.Refuse("invalid_grant", "The username or the password is not right.")
}

// Login checks a person's password and begins a session. An old session of the
// same browser ends: its id may have been planted there.
func (p *Provider) Login(ctx context.Context, username, password string, b Browser) (*SignIn, error) {
	key := foldName(username)
	in := attempt{p.limits.People, limits.GuessAt(limits.AtPage, key, b.Address), []string{"address " + throttle.Network(b.Address)}}
	if device, err := p.devices.Open(b.Device, "device"); err == nil && string(device) == key {
		// All of them together too: each login makes another one.
		in.tries, in.queue = []throttle.Try{{Kind: limits.OfDevice, Key: key + " " + seal.Digest(b.Device), Wide: key}, {Kind: limits.OfAccount, Key: "devices " + key, Wide: key}}, []string{"person " + key}
	}
	u, err := p.checkPassword(ctx, in, key, password)
	if err != nil {
		return nil, err
	}
	cookie, at := seal.Random(32), oauth.Now()
	err = p.store.AddSession(ctx, Session{
		ID: seal.Random(16), Digest: seal.Digest(cookie), UserID: u.ID, AuthTime: at, SeenAt: at,
		ExpiresAt: at + oauth.Seconds(p.config.SessionLifetime), UserAgent: oauth.Clip(b.UserAgent, 256), Address: b.Address,
	}, seal.Digest(b.Session), u.Password, p.idleSince(at))
	if errors.Is(err, storage.ErrSpent) { // the password was changed meanwhile
		return nil, wrongPassword()
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
			p.tellNow()
		}
	}
	return &SignIn{Session: cookie, MaxAge: p.config.SessionLifetime, Device: p.devices.Seal([]byte(key), "device"), User: u}, nil
}

// attempt is how a password is checked: what hashes it, what counts it, and whose
// part of the queue of hashes it takes.
type attempt struct {
	hasher limits.Hasher
	tries  []throttle.Try
	queue  []string
}

// checkPassword takes as long for a name that nobody has as for a wrong
// password.
func (p *Provider) checkPassword(ctx context.Context, by attempt, key, password string) (User, error) {
	giveBack, err := p.limits.Take(by.tries...)
	if err != nil {
		return User{}, err
	}
	hasher := by.hasher
	leave, err := hasher.Enter(by.queue...)
	if err != nil {
		giveBack()
		return User{}, err
	}
	defer leave()
	u, err := p.store.UserByKey(ctx, key)
	if errors.Is(err, storage.ErrNotFound) {
		err = hasher.Pretend(ctx, password)
		if err != nil {
			giveBack()
			return User{}, err
		}
		return User{}, wrongPassword()
	}
	if err != nil {
		giveBack()
		return User{}, oauth.Unavailable(err)
	}
	ok, stale, err := hasher.Matches(ctx, u.Password, password)
	if err != nil {
		giveBack()
		return User{}, err
	}
	if !ok || !u.Active {
		return User{}, wrongPassword()
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
func (p *Provider) rehash(ctx context.Context, hasher limits.Hasher, u User, password string) string {
	hash, err := hasher.Hash(ctx, password)
	if err == nil {
		err = p.store.Rehash(ctx, u.ID, u.Password, hash)
	}
	var stands User
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
func (p *Provider) SignedIn(ctx context.Context, cookie string) (*SignedIn, error) {
	if cookie == "" {
		return nil, oauth.ErrNotFound
	}
	at := oauth.Now()
	found, err := p.store.SessionByDigest(ctx, seal.Digest(cookie), at, p.idleSince(at))
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

func (p *Provider) idleSince(at int64) int64 {
	if p.config.SessionIdle == 0 {
		return 0
	}
	return at - oauth.Seconds(p.config.SessionIdle)
}

// SetupLink is the secret part of the first administrator's link, or "" where
// somebody is there already.
func (p *Provider) SetupLink(ctx context.Context) (string, error) {
	somebody, err := p.store.HasUsers(ctx)
	if err != nil || somebody {
		return "", err
	}
	return p.setup, nil
}

// Setup makes the first administrator. The link works once: the store refuses
// a first user where there is one.
func (p *Provider) Setup(ctx context.Context, link string, person Person) error {
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
func (p *Provider) CheckSetup(ctx context.Context, link string) error {
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
