package people

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"mandate/provider/acr"
	"mandate/provider/clock"
	"mandate/provider/events"
	"mandate/provider/limits"
	"mandate/provider/notices"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/seal"
	"mandate/provider/throttle"
	"mandate/storage"
)

// ACRValues returns the values of acr that a login at this server can reach, the weakest one first.
func (p *People) ACRValues() []string {
	if p.config.Passkeys {
		return acr.Values()
	}
	return acr.UpTo(acr.MFA)
}

// The ways to answer a Challenge.
const (
	ByTOTP     = "totp"     // a code of the authenticator app
	ByRecovery = "recovery" // a recovery code
	ByPasskey  = "passkey"  // a passkey: Passkeys.Answer
	ByNewTOTP  = "new-totp" // the first code of an authenticator app that the person adds
	// ByNewPasskey is a passkey that the person adds on the account page.
	ByNewPasskey = "new-passkey"
)

// Factors says what a person has beside the password.
type Factors = storage.Factors

// hasFactor reports whether a person has a second factor. Recovery codes are none: they replace one.
func hasFactor(f Factors) bool { return f.TOTPSince > 0 || f.Passkeys > 0 }

// needed returns the acr of a login with a second factor, for a person who has one. Any of them
// suffices: a person who has lost a passkey removes it after a sign-in with another factor.
func needed(f Factors) string {
	if hasFactor(f) {
		return acr.MFA
	}
	return acr.Password
}

// Challenge asks a person for a second factor: at the sign-in after the password, or in a session
// that is too weak for what the person wants.
type Challenge struct {
	User    storage.User
	Factors Factors

	login   login
	session *storage.Session // nil: the person is signing in, and has no session yet
	bound   string           // to what the secret of a new authenticator app is bound
	fresh   bool             // the person may add a factor
}

// Ways returns the ways in which the person can reach a login of this acr; "" is any with a second
// factor. A person without a fitting factor must add one.
func (c *Challenge) Ways(wanted string) []string {
	var ways []string
	if c.Factors.Passkeys > 0 {
		ways = append(ways, ByPasskey)
	}
	if acr.Stronger(wanted, acr.MFA) != acr.MFA { // no code suffices
		if len(ways) == 0 {
			ways = append(ways, ByNewPasskey)
		}
		return ways
	}
	if c.Factors.TOTPSince > 0 {
		ways = append(ways, ByTOTP)
	}
	if len(ways) > 0 && c.Factors.RecoveryCodes > 0 {
		ways = append(ways, ByRecovery)
	}
	if len(ways) == 0 {
		ways = append(ways, ByNewTOTP)
	}
	return ways
}

// SignInLife is how long a person may take for the second step of a sign-in.
const SignInLife = 10 * time.Minute

// freshLife is the largest age, in seconds, of a sign-in after which a person may change how they
// sign in, and an administrator may do what would take over an account.
const freshLife = 300

// ErrConfirm means that the person must sign in again before this change.
var ErrConfirm = oauth.ErrConfirm

// ticket is the first step of a sign-in: a person whose password was right, or who has signed in at
// another server. It is in a cookie of the browser. No page but that of the second step reads it.
type ticket struct {
	ID       string
	User     string
	Hash     string // a digest of the stored password hash: with another password, the ticket is not valid
	At       int64
	Method   string
	LoginAt  int64  `json:",omitempty"` // of a login at another server
	Old      bool   `json:",omitempty"` // likewise
	Identity string `json:",omitempty"` // its identityID, if it is stored
	Link     *link  `json:",omitempty"` // otherwise
}

const ticketPurpose = "second step"

func (p *People) sealTicket(u storage.User, by login) (string, error) {
	t := ticket{ID: seal.Random(16), User: u.ID, Hash: seal.Digest(u.Password), At: oauth.Now(), Method: by.methods,
		LoginAt: by.at, Old: by.old}
	if by.link != nil {
		t.Link = by.link
	} else if by.with.Issuer != "" {
		t.Identity = identityID(by.with)
	}
	text, err := json.Marshal(t)
	if len(text) > mostTicketText && t.Link != nil {
		t.Link.Mapped, t.Link.Member = nil, nil // they are set at the next sign-in
		text, err = json.Marshal(t)
	}
	return p.signIns.Seal(text, ticketPurpose), err
}

// mostTicketText is the size of a ticket before it is sealed, so that it is not longer than MostTicket.
const mostTicketText = 2400

// SecondStep returns the challenge for the ticket of a SignIn. It returns ErrNotFound if the ticket
// is not valid any more, and the person must begin again.
func (p *People) SecondStep(ctx context.Context, sealed string) (*Challenge, error) {
	var t ticket
	text, err := p.signIns.Open(sealed, ticketPurpose)
	if err == nil {
		err = json.Unmarshal(text, &t)
	}
	if err != nil || oauth.Now()-t.At > oauth.Seconds(SignInLife) {
		return nil, oauth.ErrNotFound
	}
	u, err := p.User(ctx, t.User)
	if err != nil {
		return nil, err
	}
	if !u.Active || seal.Digest(u.Password) != t.Hash {
		return nil, oauth.ErrNotFound
	}
	factors, needed, err := p.secondFactor(ctx, u)
	if err == nil && !needed {
		err = oauth.ErrNotFound // the factor was removed meanwhile
	}
	by := login{methods: t.Method, at: t.LoginAt, old: t.Old}
	if err == nil && t.Identity != "" {
		by.with, err = p.identity(ctx, u.ID, t.Identity)
	}
	if err == nil && t.Link != nil {
		by.link = t.Link.resume(u)
		if by.link == nil {
			return nil, oauth.ErrNotFound
		}
		by.with = by.link.stored.Identity
	}
	return &Challenge{User: u, Factors: factors, login: by, bound: t.ID, fresh: true}, err
}

// StepUp returns the challenge for a person who is signed in and needs a stronger login.
func (p *People) StepUp(ctx context.Context, s *storage.SignedIn) (*Challenge, error) {
	factors, err := p.Factors(ctx, s.User.ID)
	return &Challenge{User: s.User, Factors: factors, login: login{methods: s.Session.AMR}, session: &s.Session,
		bound: s.Session.ID, fresh: isFresh(s, factors)}, err
}

// Factors returns what a person has beside the password.
func (p *People) Factors(ctx context.Context, userID string) (Factors, error) {
	factors, err := p.store.Factors(ctx, userID)
	if !p.config.Passkeys {
		factors.Passkeys = 0 // browsers do not offer them at the address of this server
	}
	return factors, oauth.Stored(err)
}

// secondFactor returns what a person has beside the password, and whether a sign-in by password
// needs a second step: the person has a second factor, or must add one.
func (p *People) secondFactor(ctx context.Context, u storage.User) (Factors, bool, error) {
	factors, err := p.Factors(ctx, u.ID)
	if err != nil || hasFactor(factors) {
		return factors, true, err
	}
	overdue, err := p.factorOverdue(ctx, u)
	return factors, overdue, err
}

// Answer is what a person sends in answer to a Challenge.
type Answer struct {
	By     string // one of Challenge.Ways
	Code   string // as typed
	Secret string // for ByNewTOTP: the sealed secret of the NewTOTP that the page showed
}

// wrongCode returns the one Error for every code that is not accepted.
func wrongCode(by string) *oauth.Error {
	if by == ByRecovery {
		return oauth.Refuse("invalid_grant", "This recovery code is wrong, or it was used already.")
	}
	return oauth.Refuse("invalid_grant", "This code is wrong, or it was used already. Wait for the next code of your "+
		"app, then try again.")
}

// Answer checks the answer to a challenge. It begins the session, or makes the session stronger. It
// returns an Error for a code that is not accepted. It returns ErrConfirm if the person must sign
// in again before adding a factor, and ErrNotFound if the sign-in or the session has ended meanwhile.
func (p *People) Answer(ctx context.Context, c *Challenge, a Answer, b Browser) (*SignIn, error) {
	// The attempt is counted before anything is compared. A right code gives back its own try.
	giveBack, err := p.limits.Take(p.guess(c, b)...)
	if err != nil {
		return nil, err
	}
	use, err := p.shown(ctx, c, a)
	if err != nil {
		if !isRefused(err) {
			giveBack()
			return nil, err
		}
		return nil, p.codeRefused(ctx, c, a.By, err)
	}
	err = p.maySignIn(c.User)
	if err != nil {
		giveBack()
		return nil, err
	}
	in, err := p.finish(ctx, c, acr.Add(c.login.methods, acr.OTP), use, b)
	switch {
	case errors.Is(err, storage.ErrFactorUsed):
		return nil, p.codeRefused(ctx, c, a.By, wrongCode(a.By))
	case errors.Is(err, storage.ErrSpent):
		return nil, oauth.ErrNotFound
	}
	giveBack()
	return in, err
}

// codeRefused stores that a code was refused, and returns the error for the person.
func (p *People) codeRefused(ctx context.Context, c *Challenge, by string, refusal error) error {
	switch by {
	case ByTOTP, ByRecovery, ByNewTOTP:
	default:
		by = "" // the form may have any text
	}
	return p.factorRefused(ctx, c, by, refusal)
}

// factorRefused stores that the answer to a challenge was refused, and returns the error for the person.
func (p *People) factorRefused(ctx context.Context, c *Challenge, by string, refusal error) error {
	failed := events.Event{Kind: events.FactorFailed, Person: c.User, Detail: by}
	if c.session == nil {
		failed.By = events.Nobody()
	}
	if issuer := c.login.with.Issuer; issuer != "" {
		failed.Object = p.server(issuer)
	}
	err := events.Failed(ctx, p.store, failed)
	if err == nil && c.session == nil {
		err = p.tellRefused(ctx, c.User, cmp.Or(failed.Object.Name, failed.Object.ID))
	}
	if err != nil {
		return err
	}
	return refusal
}

// tellRefused tells a person that somebody knows the password, or has signed in at the named server, and not more.
func (p *People) tellRefused(ctx context.Context, u storage.User, server string) error {
	for _, m := range p.notices.FactorRefused(u, server) {
		err := p.store.AddMail(ctx, m)
		if err != nil && !errors.Is(err, storage.ErrFull) {
			return oauth.Unavailable(err)
		}
	}
	p.notices.Wake()
	return nil
}

// guess returns the tries that one guess at a code uses. Whoever knows the password uses up none of the tries of a
// session, and none of a browser in which the person has signed in before. Each of these has its own, so that a copy of
// one does not use up those of the others.
func (p *People) guess(c *Challenge, b Browser) []throttle.Try {
	account := throttle.Try{Kind: limits.OfFactor, Key: c.User.ID, Wide: c.User.ID}
	known := func(what, which string) {
		all := what + c.User.ID
		account = throttle.Try{Kind: limits.OfKnownFactor, Key: all + " " + which, Site: all, Wide: all}
	}
	switch {
	case c.session != nil:
		known("session ", c.session.SignIn())
	case p.knows(b, c.User):
		known("browser ", seal.Digest(b.Device))
	}
	return append([]throttle.Try{account}, p.at(limits.AtFactor, b)...)
}

// shown checks a code, and returns what has to be used up together with the session.
func (p *People) shown(ctx context.Context, c *Challenge, a Answer) (storage.FactorUse, error) {
	switch {
	case a.By == ByTOTP && c.Factors.TOTPSince > 0:
		return p.shownTOTP(ctx, c, a)
	case a.By == ByRecovery && hasFactor(c.Factors):
		digest := recoveryDigest(c.User.ID, a.Code)
		if digest == "" {
			return storage.FactorUse{}, wrongCode(a.By)
		}
		return storage.FactorUse{Recovery: digest}, nil // it exists only until it is used
	case a.By == ByNewTOTP && c.Factors.TOTPSince == 0 && (c.session != nil || !hasFactor(c.Factors)):
		// At a sign-in, only a person without a second factor adds one: whoever has one shows it.
		return p.shownNewTOTP(c, a)
	}
	return storage.FactorUse{}, wrongCode(a.By)
}

// finish stores the session of a person who has shown a second factor, with all methods of the login,
// and uses up what was shown. It returns ErrSpent if the password has changed, or the session has
// ended.
func (p *People) finish(ctx context.Context, c *Challenge, methods string, use storage.FactorUse,
	b Browser) (*SignIn, error) {
	if c.session == nil {
		by := c.login
		by.methods = methods
		return p.beginSession(ctx, c.User, by, use, b)
	}
	return p.strengthen(ctx, &storage.SignedIn{Session: *c.session, User: c.User}, methods, use)
}

// renewal returns what gives a session another cookie, and that cookie. It is part of each change of how the person of
// the session signs in: somebody else may have a copy of the old cookie.
func renewal(s *storage.SignedIn) (storage.Renewal, *SignIn) {
	cookie := seal.Random(32)
	r := storage.Renewal{ID: s.Session.ID, Was: s.Session.Digest, Session: s.Session}
	r.Session.Digest = seal.Digest(cookie)
	return r, &SignIn{Session: cookie, MaxAge: time.Duration(s.Session.ExpiresAt-oauth.Now()) * time.Second, User: s.User}
}

// renewed returns the new cookie of a session, or the error of the store. A session that has ended meanwhile, or was
// renewed by somebody else, is ErrNotSignedIn.
func (p *People) renewed(in *SignIn, err error) (*SignIn, error) {
	if errors.Is(err, storage.ErrSpent) {
		return nil, ErrNotSignedIn
	}
	if err != nil {
		return nil, oauth.Stored(err)
	}
	p.notices.Wake()
	return in, nil
}

// ErrNotSignedIn means that the session has ended meanwhile.
var ErrNotSignedIn = errors.New("the session has ended")

// strengthen stores the methods of a login in a session, and gives it another cookie.
func (p *People) strengthen(ctx context.Context, s *storage.SignedIn, methods string, use storage.FactorUse) (*SignIn,
	error) {
	r, in := renewal(s)
	r.Session.AMR, r.Session.Factor = methods, use
	err := p.store.StrengthenSession(events.Attach(ctx, append(factorEvents(s.User, use), strengthened(r.Session))...), r,
		p.factorNotices(s.User, use)...)
	if err != nil {
		return nil, factorError(err)
	}
	p.notices.Wake()
	return in, nil
}

func strengthened(n storage.Session) events.Event {
	return events.Event{Kind: events.Strengthened, Object: events.Session(n), Detail: n.AMR}
}

// factorNotices returns the messages about what a person shows beside the password, if it changes
// what the person has.
func (p *People) factorNotices(u storage.User, use storage.FactorUse) []storage.NewMail {
	switch {
	case use.New != nil:
		return p.notices.FactorChanged(u, notices.TOTPAdded)
	case use.Recovery != "":
		return p.notices.FactorChanged(u, notices.CodeUsed)
	}
	return nil
}

// factorEvents returns the events of what a person shows beside the password, if it changes what the person
// has.
func factorEvents(u storage.User, use storage.FactorUse) []events.Event {
	switch {
	case use.New != nil:
		return []events.Event{{Kind: events.FactorAdded, Person: u, By: events.By(u), Object: events.TOTP()}}
	case use.Recovery != "":
		return []events.Event{{Kind: events.CodeUsed, Person: u, By: events.By(u)}}
	}
	return nil
}

// factorError returns storage.ErrSpent and storage.ErrFactorUsed unchanged, because the caller
// handles them, and Unavailable for every other error.
func factorError(err error) error {
	if errors.Is(err, storage.ErrSpent) || errors.Is(err, storage.ErrFactorUsed) {
		return err
	}
	if errors.Is(err, storage.ErrConflict) || errors.Is(err, storage.ErrFull) {
		return storage.ErrSpent // an identity that was to be linked
	}
	return oauth.Unavailable(err)
}

// isFresh reports whether a person has signed in a moment ago, and with a second factor if they have
// one. A session from the future, by a clock that was wrong, is as old as one can be.
func isFresh(s *storage.SignedIn, f Factors) bool {
	age := oauth.Now() - s.Session.AuthTime
	return -oauth.Seconds(clock.Tolerance) <= age && age <= freshLife && acr.Satisfies(s.Session.AMR, needed(f))
}

// strongEnough returns ErrConfirm if the person of a session has a second factor by now that the session has not shown.
// It is for what began while the sign-in was a fresh one.
func (p *People) strongEnough(ctx context.Context, s *storage.SignedIn) error {
	factors, err := p.Factors(ctx, s.User.ID)
	if err == nil && !acr.Satisfies(s.Session.AMR, needed(factors)) {
		err = ErrConfirm
	}
	return err
}

// Confirmed returns nil if a person has signed in a moment ago, and with a second factor if they have
// one, and otherwise ErrConfirm.
func (p *People) Confirmed(ctx context.Context, s *storage.SignedIn) error {
	factors, err := p.Factors(ctx, s.User.ID)
	if err == nil && !isFresh(s, factors) {
		err = ErrConfirm
	}
	return err
}

// Actor returns the person of a session as the actor. What MustConfirm protects needs a sign-in of a moment
// ago, as Confirmed says.
func (p *People) Actor(ctx context.Context, s *storage.SignedIn) (policy.Actor, error) {
	err := p.Confirmed(ctx, s)
	if errors.Is(err, ErrConfirm) {
		return policy.By(s.User), nil
	}
	return policy.ByConfirmed(s.User), err
}

// ResetFactors removes what a person has beside the password, for somebody who has lost it, and ends
// their sessions. The name is of a person who asked the operator for it.
func (p *People) ResetFactors(ctx context.Context, username string) error {
	u, err := p.UserByName(ctx, username)
	if err != nil {
		return err
	}
	return p.resetFactors(ctx, u)
}

func (p *People) resetFactors(ctx context.Context, u storage.User) error {
	err := p.store.ResetFactors(events.Attach(ctx, events.Event{Kind: events.FactorsReset, Person: u}), u.ID, oauth.Now(),
		p.notices.FactorChanged(u, notices.FactorsReset)...)
	p.Ended.Ring()
	p.notices.Wake()
	return oauth.Stored(err)
}

// ResetFactorsOf is ResetFactors by an administrator, who must have signed in a moment ago. An
// administrator removes their own factors on the account page.
func (p *People) ResetFactorsOf(ctx context.Context, s *storage.SignedIn, userID string) error {
	if !s.User.Administrator || s.User.ID == userID {
		return oauth.Refuse("access_denied", "Only another administrator can remove the second factor of this person.")
	}
	err := p.Confirmed(ctx, s)
	if err != nil {
		return err
	}
	u, err := p.User(ctx, userID)
	if err != nil {
		return err
	}
	return p.resetFactors(ctx, u)
}
