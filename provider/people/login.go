package people

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"mandate/provider/acr"
	"mandate/provider/events"
	"mandate/provider/limits"
	"mandate/provider/notices"
	"mandate/provider/oauth"
	"mandate/provider/origin"
	"mandate/provider/policy"
	"mandate/provider/seal"
	"mandate/provider/throttle"
	"mandate/storage"
)

// Browser is what is known about the sender of a request.
type Browser struct {
	Address   string // the client's address, as the trusted proxies report it
	UserAgent string
	Language  string // the tag of the language in which its person reads pages; "": it is not known
	Session   string // the session cookie, or ""
	Device    string // the cookie of a browser in which a person has signed in before, or ""
}

// SignIn is what a browser gets for a correct password, or for a second factor.
type SignIn struct {
	Session string // the new session cookie; "": the person must show a second factor first
	MaxAge  time.Duration
	Device  string // the new device cookie; "": it does not change
	Ticket  string // for SecondStep, if there is no session yet
	User    storage.User
	Old     bool // the login was at another server, and it is not a new one
}

// WrongPassword returns the one Error for an unknown user name and for a wrong
// password, so that it does not say which names exist.
func WrongPassword() *oauth.Error {
	return oauth.Refuse("invalid_grant", "The username or the password is wrong.")
}

// Login checks a person's password. The name is a user name or a verified address. If the person needs no second
// factor, it begins a session; otherwise it returns the ticket for SecondStep. It returns WrongPassword if the person
// cannot sign in.
func (p *People) Login(ctx context.Context, username, password string, b Browser) (*SignIn, error) {
	// A network that has used up its tries does not reach the database. A known browser has tries of its own.
	if _, ok := p.marked(b.Device); !ok {
		err := p.limits.CheckOnly(limits.At(limits.AtPage, b.Address))
		if err != nil {
			return nil, err
		}
	}
	key, err := p.accountKey(ctx, username)
	if err != nil {
		return nil, err
	}
	// Two names can lead to one account, and a stranger must not learn which: only the limits of the typed name are seen.
	in := Attempt{Hasher: p.limits.People, Tries: limits.GuessAt(limits.AtPage, FoldName(username), b.Address),
		Silent: limits.GuessAtAccount(key, b.Address), Queue: []string{limits.InQueue(b.Address)}}
	known, err := p.knowsBy(ctx, b, key)
	if err != nil {
		return nil, err
	}
	if known {
		// All devices of a person are also counted together, because each login makes
		// another device cookie.
		in.Silent = nil
		in.Tries, in.Queue = []throttle.Try{{Kind: limits.OfBrowser, Key: key + " " + seal.Digest(b.Device), Wide: key},
			{Kind: limits.OfAccount, Key: "devices " + key, Wide: key}}, []string{"person " + key}
	}
	u, err := p.CheckPassword(ctx, in, key, password)
	if err != nil {
		return nil, err
	}
	signedIn, err := p.firstStep(ctx, u, login{methods: acr.PWD}, b)
	if errors.Is(err, storage.ErrSpent) { // the password was changed meanwhile
		return nil, WrongPassword()
	}
	return signedIn, err
}

// namesakesAtLogin is how many people with one address are compared. With more of them, the address signs nobody in.
const namesakesAtLogin = 20

// accountKey returns the key of the user name of whoever signs in with a name: the user name, or the address if
// exactly one person with an enabled account has verified it. A user name comes first, so nobody loses it to an
// address. Of any other name it returns the name itself. Each name that could be an address takes the same two
// statements.
func (p *People) accountKey(ctx context.Context, name string) (string, error) {
	key, address := FoldName(name), lookedUp(name)
	if !strings.Contains(address, "@") {
		return key, nil
	}
	_, err := p.store.UserByKey(ctx, key)
	known := err == nil
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return "", oauth.Unavailable(err)
	}
	found, err := p.store.UsersByEmail(ctx, address, namesakesAtLogin+1)
	if err != nil {
		return "", oauth.Unavailable(err)
	}
	if known || len(found) > namesakesAtLogin {
		return key, nil
	}
	var owner string
	for _, u := range found {
		// An address that somebody has only typed says nothing.
		profile, err := ProfileOf(u)
		if err != nil {
			return "", err
		}
		if !profile.EmailVerified || !sameAddress(u.Email, address) {
			continue
		}
		if owner != "" {
			return key, nil
		}
		owner = u.UsernameKey
	}
	return cmp.Or(owner, key), nil
}

// login is how a person has signed in so far.
type login struct {
	methods string
	at      int64            // when; 0: now
	old     bool             // it was there before this sign-in began
	with    storage.Identity // empty unless it was at another server
	link    *link            // stores it with the session; nil: it is stored
}

// firstStep begins the session of a person who has signed in so far, or returns the ticket for SecondStep if the
// person needs a second factor. It returns storage.ErrSpent as beginSession does, and an Error with status 429 if the
// person has signed in more often than anybody does.
func (p *People) firstStep(ctx context.Context, u storage.User, by login, b Browser) (*SignIn, error) {
	if !acr.Satisfies(by.methods, acr.MFA) {
		_, needed, err := p.secondFactor(ctx, u)
		if err != nil {
			return nil, err
		}
		if needed {
			ticket, err := p.sealTicket(u, by)
			return &SignIn{Ticket: ticket, User: u}, err
		}
	}
	err := p.maySignIn(u)
	if err != nil {
		return nil, err
	}
	return p.beginSession(ctx, u, by, storage.FactorUse{}, b)
}

// beginSession stores the session of a person who has signed in, and uses up what the person has
// shown. It ends an earlier session of the same browser, because somebody else may have set that
// cookie (session fixation). It returns storage.ErrSpent if the password has changed since u was
// read, or the identity was removed or cannot be linked any more, and storage.ErrFactorUsed if what was shown cannot be
// used. Each session is an event, and so is its end: the caller has asked maySignIn, before anything was stored.
func (p *People) beginSession(ctx context.Context, u storage.User, by login, shown storage.FactorUse,
	b Browser) (*SignIn, error) {
	cookie, at := seal.Random(32), oauth.Now()
	u.Language = cmp.Or(b.Language, u.Language)
	tell := p.factorNotices(u, shown)
	if !p.knows(b, u) {
		tell = append(tell, p.notices.SignedIn(u, b.UserAgent, b.Address)...)
	}
	n := storage.Session{
		ID: seal.Random(16), Digest: seal.Digest(cookie), UserID: u.ID, AuthTime: cmp.Or(by.at, at), SeenAt: at,
		AMR: by.methods, Issuer: by.with.Issuer, Subject: by.with.Subject, Factor: shown,
		ExpiresAt: at + oauth.Seconds(p.config.SessionLifetime), UserAgent: oauth.Clip(b.UserAgent, 256), Address: b.Address,
		Language: b.Language,
	}
	what := append(factorEvents(u, shown), events.Event{Kind: events.SignIn, By: events.By(u), Object: events.Session(n),
		Detail: n.AMR})
	if by.link != nil {
		n.Link = &by.link.stored
		what = append(what, events.Event{Kind: events.FactorAdded, Person: u, By: events.By(u),
			Object: p.server(by.link.Issuer), Detail: "address"})
		tell = append(tell, p.notices.FactorChanged(u, notices.AccountAdded)...)
	}
	err := p.store.AddSession(events.Attach(ctx, what...), n, seal.Digest(b.Session), u.Password, p.IdleSince(at), tell...)
	if err != nil {
		return nil, factorError(err)
	}
	p.notices.Wake()
	if l := by.link; l != nil {
		p.log.Info("an identity of another server was linked to the person who has the same verified address", "subject",
			u.ID, "server", p.server(l.Issuer).Name)
		err = p.setGroups(ctx, u, l.Issuer, l.Mapped, l.Member)
		if err != nil {
			return nil, err
		}
	}
	if most := p.rules.Allowance(policy.StandingOfPerson(u)).Quota.Sessions; most > 0 {
		beyond := events.Event{Kind: events.SessionEnded, Person: u, By: &origin.Actor{Kind: origin.Server}, Detail: "limit"}
		n, err := p.store.EndSessionsBeyond(events.Attach(ctx, beyond), u.ID, seal.Digest(cookie), most, at)
		if err != nil {
			return nil, oauth.Unavailable(err)
		}
		if n > 0 {
			p.Ended.Ring()
		}
	}
	known, err := p.mark(u)
	return &SignIn{Session: cookie, MaxAge: p.config.SessionLifetime, Device: known, User: u, Old: by.old}, err
}

// knowsBy is knows for the person with this key of a user name. It reads the person only for a browser that somebody
// has signed in with.
func (p *People) knowsBy(ctx context.Context, b Browser, key string) (bool, error) {
	if _, ok := p.marked(b.Device); !ok {
		return false, nil
	}
	u, err := p.store.UserByKey(ctx, key)
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return false, oauth.Unavailable(err)
	}
	return err == nil && p.knows(b, u), nil
}

// Attempt says how a password is checked: which hasher computes the hash, which
// counters are used, and for which parties it takes a place in the queue of hashes.
type Attempt struct {
	Hasher limits.Hasher
	Tries  []throttle.Try
	Silent []throttle.Try // of the account: if one is used up, each password is wrong
	Queue  []string
	Sender events.Object // the application that sends the password; empty: the person does
}

// CheckPassword returns the person with an enabled account, a user name's key (see FoldName)
// and this password, or WrongPassword. A name that does not exist takes as long as a wrong
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
		return storage.User{}, p.refused(ctx, by, storage.User{}, "password")
	}
	if err != nil {
		giveBack()
		return storage.User{}, oauth.Unavailable(err)
	}
	// The password is compared in any case, so that the time does not tell a used up limit.
	spare, wait := p.limits.Tries.Take(by.Silent...)
	ok, stale, err := hasher.Matches(ctx, u.Password, password)
	if err != nil {
		giveBack()
		if wait == 0 {
			spare()
		}
		return storage.User{}, err
	}
	switch {
	case wait > 0:
		return storage.User{}, p.refused(ctx, by, u, "limit")
	case !ok:
		return storage.User{}, p.refused(ctx, by, u, "password")
	case !u.Active:
		return storage.User{}, p.refused(ctx, by, u, "disabled")
	}
	giveBack()
	spare()
	if stale {
		u.Password = p.rehash(ctx, hasher, u, password)
	}
	return u, nil
}

// refused stores that a sign-in was refused, and returns WrongPassword. It does the same for a name that
// does not exist, so that both take the same time. Of such a name nothing is stored: people sometimes type
// their password there.
func (p *People) refused(ctx context.Context, by Attempt, u storage.User, why string) error {
	err := events.Failed(ctx, p.store,
		events.Event{Kind: events.SignInFailed, Person: u, By: events.Nobody(), Object: by.Sender, Detail: why})
	if err != nil {
		return err
	}
	return WrongPassword()
}

// rehash stores the password's hash at the present cost, and returns the hash that the
// database now has. Of two logins at the same moment, one finds the hash that the other
// stored. If storing fails, the next login tries again.
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
		p.log.Warn("a password could not be hashed with the current parameters", "subject", u.ID, "error", err)
	}
	if err != nil || !ok {
		return u.Password
	}
	return stands.Password
}

// SignedIn returns the session of a cookie with its person, or ErrNotFound. It notes
// from time to time that the session is in use.
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
	if every := p.TouchEvery(); at-found.Session.SeenAt >= every {
		err = p.store.TouchSession(ctx, found.Session.ID, at, every)
		if err != nil {
			return nil, oauth.Unavailable(err)
		}
	}
	return &found, nil
}

// StillSignedIn is SignedIn for a sign-out that has found no session. An earlier request may have ended it, and the
// session can still come back with another primary of the database.
func (p *People) StillSignedIn(ctx context.Context, cookie string) (*storage.SignedIn, error) {
	err := p.store.Settle(ctx)
	if err != nil {
		return nil, oauth.Unavailable(err)
	}
	return p.SignedIn(ctx, cookie)
}

// TouchEvery returns how many seconds pass at least between two updates of the last use of a session. It is a small
// part of the time after which an unused session ends: a session in use must not end.
func (p *People) TouchEvery() int64 {
	const longest, part = 60, 10
	if p.config.SessionIdle == 0 {
		return longest
	}
	return min(longest, oauth.Seconds(p.config.SessionIdle)/part)
}

// IdleSince returns the time before which an unused session has expired, or 0 if
// sessions do not expire by disuse.
func (p *People) IdleSince(at int64) int64 {
	if p.config.SessionIdle == 0 {
		return 0
	}
	return at - oauth.Seconds(p.config.SessionIdle)
}
