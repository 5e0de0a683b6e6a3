package people

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"mandate/provider/acr"
	"mandate/provider/events"
	"mandate/provider/limits"
	"mandate/provider/notices"
	"mandate/provider/oauth"
	"mandate/provider/passkey"
	"mandate/provider/seal"
	"mandate/storage"
)

// Passkeys manages the passkeys of people, and signs people in with them (Web Authentication).
type Passkeys struct {
	people  *People
	party   *passkey.Party // nil: browsers offer no passkeys at the address of this server
	tickets seal.Sealer
	handles []byte // the key for user handles
}

// NewPasskeys makes the component for a server whose pages have this origin. tickets seals what a
// browser keeps between a request to an authenticator and the response. handles is the key that user
// handles are derived from.
func NewPasskeys(p *People, origin *url.URL, tickets seal.Sealer, handles []byte) (*Passkeys, error) {
	k := &Passkeys{people: p, tickets: tickets, handles: handles}
	if !passkey.Usable(origin) {
		return k, nil
	}
	var err error
	k.party, err = passkey.New(origin, cmp.Or(p.config.Name, "Mandate"))
	return k, err
}

// Offered reports whether people can use passkeys at the address of this server.
func (k *Passkeys) Offered() bool { return k.party != nil }

// MaxPasskeys is how many passkeys a person may have.
const MaxPasskeys = 20

// withPasskey returns the methods of a login at which the person has used a passkey too. Its
// authenticator has verified the person.
func withPasskey(login string) string { return acr.Add(login, acr.POP, acr.User, acr.Verified) }

// Of returns the passkeys of a person, the oldest first.
func (k *Passkeys) Of(ctx context.Context, userID string) ([]storage.Passkey, error) {
	found, err := k.people.store.PasskeysOf(ctx, userID)
	return found, oauth.Stored(err)
}

// One returns a passkey of a person, or ErrNotFound.
func (k *Passkeys) One(ctx context.Context, userID, id string) (storage.Passkey, error) {
	found, err := k.people.store.Passkey(ctx, id)
	if err == nil && found.UserID != userID {
		err = storage.ErrNotFound
	}
	return found, oauth.Stored(err)
}

// handle returns the user handle of a person. Nobody but this server can derive it from the subject.
func (k *Passkeys) handle(userID string) []byte { return seal.Mac(k.handles, userID) }

// Ceremony is a request to an authenticator, for the page, and the ticket that the page returns with
// the response.
type Ceremony struct{ Options, Ticket string }

// ceremonyLife is how long a person may take to answer, in seconds.
const ceremonyLife = 300

// pending is what a ticket contains.
type pending struct {
	Challenge string
	At        int64
}

// begin seals the challenge of a request for one purpose. The purpose names the browser too.
func (k *Passkeys) begin(o passkey.Options, purpose string) (Ceremony, error) {
	text, err := json.Marshal(pending{o.Challenge, oauth.Now()})
	if err != nil {
		return Ceremony{}, fmt.Errorf("seal the challenge for a passkey: %w", err)
	}
	return Ceremony{o.JSON, k.tickets.Seal(text, purpose)}, nil
}

// open returns what a ticket contains, or an Error if it has expired or is of another browser or
// purpose.
func (k *Passkeys) open(ticket, purpose string) (pending, error) {
	var p pending
	text, err := k.tickets.Open(ticket, purpose)
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil || oauth.Now()-p.At > ceremonyLife {
		return p, oauth.Refuse("invalid_grant", "This page was open for too long. Try again.").Because(err)
	}
	return p, nil
}

// spend uses a challenge. A second response to it is refused, also on another node.
//
// WebAuthn-3 §13.4.3: a challenge is for one response.
func (k *Passkeys) spend(ctx context.Context, p pending) error {
	err := k.people.store.SeeOnce(ctx, storage.OneTime{Digest: seal.Digest("passkey\x00" + p.Challenge), ExpiresAt: p.At + 2*ceremonyLife, Now: oauth.Now()})
	if errors.Is(err, storage.ErrSpent) {
		return refusePasskey(errors.New("its challenge was used already"))
	}
	if err != nil {
		return oauth.Unavailable(err)
	}
	return nil
}

// refusePasskey returns the one Error for every response that is not accepted. The cause is for the
// log.
func refusePasskey(cause error) *oauth.Error {
	return oauth.Refuse("invalid_grant", "This passkey was not accepted. It may have been removed from your account. Try again, or sign in in another way.").Because(cause)
}

func forCreation(s *storage.SignedIn) string { return "create " + s.Session.ID }

// NewPasskey returns the request for a new passkey of a person who has signed in a moment ago. It
// returns ErrConfirm if that is longer ago, and ErrFull if the person has as many as they may have.
func (k *Passkeys) NewPasskey(ctx context.Context, s *storage.SignedIn) (Ceremony, error) {
	err := k.people.Confirmed(ctx, s)
	if err != nil {
		return Ceremony{}, err
	}
	stored, err := k.Of(ctx, s.User.ID)
	if err != nil {
		return Ceremony{}, err
	}
	if len(stored) >= MaxPasskeys {
		return Ceremony{}, ErrTooManyPasskeys
	}
	o, err := k.party.Create(k.person(s.User, stored...))
	if err != nil {
		return Ceremony{}, err
	}
	return k.begin(o, forCreation(s))
}

// ErrTooManyPasskeys means that a person has as many passkeys as they may have.
var ErrTooManyPasskeys = errors.New("the person has as many passkeys as allowed")

func (k *Passkeys) person(u storage.User, stored ...storage.Passkey) passkey.Person {
	person := passkey.Person{Handle: k.handle(u.ID), Name: u.Username}
	for _, one := range stored {
		person.Passkeys = append(person.Passkeys, passkey.Credential{ID: one.ID, PublicKey: one.PublicKey, SignCount: uint32(one.SignCount), // it was one
			BackupEligible: one.BackupEligible, BackedUp: one.BackedUp, Transports: strings.Fields(one.Transports)})
	}
	return person
}

// Response is what a page sends after an authenticator has answered.
type Response struct{ Ticket, JSON string }

// Add stores the passkey that an authenticator has made, under a name that the person can change. The
// ticket is proof that the person had signed in a moment before the request. The authenticator has
// verified the person, so the session becomes as strong as one that begins with this passkey.
func (k *Passkeys) Add(ctx context.Context, s *storage.SignedIn, r Response, name string) (storage.Passkey, *SignIn, error) {
	stored, err := k.add(ctx, s, r, name)
	if err != nil {
		return stored, nil, err
	}
	in, err := k.people.strengthen(ctx, s.User, s.Session, withPasskey(s.Session.AMR), storage.FactorUse{})
	if errors.Is(err, storage.ErrSpent) {
		err = oauth.ErrNotFound // the session has ended meanwhile
	}
	return stored, in, err
}

func (k *Passkeys) add(ctx context.Context, s *storage.SignedIn, r Response, name string) (storage.Passkey, error) {
	p, err := k.open(r.Ticket, forCreation(s))
	if err != nil {
		return storage.Passkey{}, err
	}
	made, err := k.party.Created(k.person(s.User), p.Challenge, []byte(r.JSON))
	if err != nil {
		return storage.Passkey{}, refusePasskey(err)
	}
	err = k.spend(ctx, p)
	if err != nil {
		return storage.Passkey{}, err
	}
	stored := storedPasskey(made, s.User.ID, name)
	added := events.Event{Kind: events.FactorAdded, Person: s.User, Object: events.Passkey(stored)}
	err = k.people.store.AddPasskey(events.Attach(ctx, added), stored, s.Session.ID, MaxPasskeys, k.people.notices.FactorChanged(s.User, notices.PasskeyAdded)...)
	k.people.notices.Wake()
	switch {
	case errors.Is(err, storage.ErrSpent):
		return stored, oauth.Refuse("invalid_grant", "You were signed out meanwhile. Sign in and try again.")
	case errors.Is(err, storage.ErrFull):
		return stored, ErrTooManyPasskeys
	case errors.Is(err, storage.ErrConflict):
		// WebAuthn-3 §7.1: nobody else has this credential ID.
		return stored, refusePasskey(err)
	case err != nil:
		return stored, oauth.Unavailable(err)
	}
	return stored, nil
}

// storedPasskey returns the record of a new passkey. A name that cannot be is replaced.
func storedPasskey(made passkey.Credential, userID, name string) storage.Passkey {
	if checkPasskeyName(name) != nil {
		name = "Passkey"
	}
	return storage.Passkey{ID: made.ID, UserID: userID, PublicKey: made.PublicKey, Name: name, SignCount: int64(made.SignCount),
		BackupEligible: made.BackupEligible, BackedUp: made.BackedUp, Transports: strings.Join(made.Transports, " "), AAGUID: made.AAGUID, CreatedAt: oauth.Now()}
}

// checkPasskeyName returns an Invalid for a name that a person cannot give a passkey.
func checkPasskeyName(name string) error {
	found := &oauth.Invalid{}
	if strings.TrimSpace(name) == "" {
		found.Add("name", "This field is required.")
	}
	CheckText(found, "name", name)
	return found.Err()
}

// Rename changes the name of a passkey. It returns an Invalid for a name that cannot be, and
// ErrNotFound if the person has no such passkey.
func (k *Passkeys) Rename(ctx context.Context, userID, id, name string) error {
	err := checkPasskeyName(name)
	if err != nil {
		return err
	}
	renamed, err := k.people.about(ctx, events.FactorRenamed, userID)
	if err != nil {
		return err
	}
	renamed.Object = events.Passkey(storage.Passkey{ID: id, Name: name})
	return oauth.Stored(k.people.store.RenamePasskey(events.Attach(ctx, renamed), userID, id, name))
}

// Remove deletes a passkey of a person who has signed in a moment ago. It returns ErrConfirm if that
// is longer ago, ErrLastWay if the person could not sign in any more, and ErrNotFound if the person has
// no such passkey.
func (k *Passkeys) Remove(ctx context.Context, s *storage.SignedIn, id string) error {
	err := k.people.Confirmed(ctx, s)
	if err != nil {
		return err
	}
	one, err := k.One(ctx, s.User.ID, id)
	if err != nil {
		return err
	}
	removed := events.Event{Kind: events.FactorRemoved, Person: s.User, Object: events.Passkey(one)}
	err = k.people.store.DeletePasskey(events.Attach(ctx, removed), s.User.ID, id, k.people.ways(), k.people.notices.FactorChanged(s.User, notices.PasskeyRemoved)...)
	k.people.notices.Wake()
	return removalError(err)
}

func forSignIn(browser string) string { return "sign in " + browser }

// AskForPasskey returns the request for a passkey of anybody who signs in. browser is a random name
// of the browser, which it keeps in a cookie.
func (k *Passkeys) AskForPasskey(browser string) (Ceremony, error) {
	o, err := k.party.SignIn()
	if err != nil {
		return Ceremony{}, err
	}
	return k.begin(o, forSignIn(browser))
}

// SignIn checks a passkey and begins a session, as Login does. Nobody has to type a name: the passkey
// says who the person is.
func (k *Passkeys) SignIn(ctx context.Context, r Response, browser string, b Browser) (*SignIn, error) {
	giveBack, err := k.people.limits.Take(limits.At(limits.AtPasskey, b.Address))
	if err != nil {
		return nil, err
	}
	in, err := k.signIn(ctx, r, browser, b)
	if !isRefused(err) {
		giveBack()
	}
	return in, err
}

func (k *Passkeys) signIn(ctx context.Context, r Response, browser string, b Browser) (*SignIn, error) {
	var shown shownPasskey
	p, err := k.open(r.Ticket, forSignIn(browser))
	if err != nil {
		return nil, err
	}
	shown, err = k.check(ctx, r, p, "")
	var in *SignIn
	if err == nil {
		in, err = k.people.beginSession(ctx, shown.person, login{methods: withPasskey("")}, shown.use(), b)
		err = k.usedMeanwhile(shown, err)
	}
	if errors.Is(err, storage.ErrSpent) {
		err = refusePasskey(err) // the account was disabled, or its password changed, at this moment
	}
	if isRefused(err) {
		failed := events.Failed(ctx, k.people.store, events.Event{Kind: events.SignInFailed, Person: shown.person, By: events.Nobody(), Detail: "passkey"})
		if failed != nil {
			return nil, failed
		}
	}
	return in, err
}

// isRefused reports whether an error is a refusal, and not one of the server.
func isRefused(err error) bool {
	e, ok := errors.AsType[*oauth.Error](err)
	return ok && e.Status < http.StatusInternalServerError
}

// shownPasskey is a passkey whose response was checked, and its person.
type shownPasskey struct {
	stored storage.Passkey
	person storage.User
	after  passkey.Use
}

func (s shownPasskey) use() storage.FactorUse {
	return storage.FactorUse{Passkey: &storage.PasskeyUse{ID: s.stored.ID, SignCount: int64(s.after.SignCount), BackedUp: s.after.BackedUp, At: oauth.Now()}}
}

// check checks the response of an authenticator, and uses its challenge. Unless it is empty, userID is
// the only person whose passkey is accepted.
func (k *Passkeys) check(ctx context.Context, r Response, p pending, userID string) (shownPasskey, error) {
	var s shownPasskey
	answer, err := passkey.ReadAssertion([]byte(r.JSON))
	if err != nil {
		return s, refusePasskey(err)
	}
	s.stored, s.person, err = k.owner(ctx, answer.ID())
	if err != nil {
		return s, err
	}
	if userID != "" && s.person.ID != userID {
		return s, refusePasskey(errors.New("it is the passkey of another person"))
	}
	s.after, err = k.party.Check(answer, p.Challenge, k.person(s.person, s.stored))
	if errors.Is(err, passkey.ErrCounter) {
		return s, k.copied(s.stored, err)
	}
	if err != nil {
		return s, refusePasskey(err)
	}
	return s, k.spend(ctx, p)
}

// usedMeanwhile returns the Error for a passkey that was used or removed after it was read.
func (k *Passkeys) usedMeanwhile(s shownPasskey, err error) error {
	if errors.Is(err, storage.ErrFactorUsed) {
		return k.copied(s.stored, err)
	}
	return err
}

func forStep(c *Challenge) string { return "step " + c.User.ID + " " + c.bound }

// AskForStep returns the request for a passkey of the person whom a challenge is about.
func (k *Passkeys) AskForStep(ctx context.Context, c *Challenge) (Ceremony, error) {
	stored, err := k.Of(ctx, c.User.ID)
	if err != nil {
		return Ceremony{}, err
	}
	o, err := k.party.SignIn(k.person(c.User, stored...).Passkeys...)
	if err != nil {
		return Ceremony{}, err
	}
	return k.begin(o, forStep(c))
}

// Answer answers a challenge by a passkey, as People.Answer does by a code.
func (k *Passkeys) Answer(ctx context.Context, c *Challenge, r Response, b Browser) (*SignIn, error) {
	giveBack, err := k.people.limits.Take(limits.At(limits.AtPasskey, b.Address))
	if err != nil {
		return nil, err
	}
	var in *SignIn
	p, err := k.open(r.Ticket, forStep(c))
	if err == nil {
		in, err = k.answer(ctx, c, r, p, b)
	}
	if errors.Is(err, storage.ErrSpent) {
		err = oauth.ErrNotFound
	}
	if !isRefused(err) {
		giveBack()
	}
	return in, err
}

func (k *Passkeys) answer(ctx context.Context, c *Challenge, r Response, p pending, b Browser) (*SignIn, error) {
	shown, err := k.check(ctx, r, p, c.User.ID)
	var in *SignIn
	if err == nil {
		in, err = k.people.finish(ctx, c, withPasskey(c.login.methods), shown.use(), b)
		err = k.usedMeanwhile(shown, err)
	}
	if isRefused(err) {
		err = k.people.factorRefused(ctx, c, ByPasskey, err)
	}
	return in, err
}

// owner returns a stored passkey and its person, who has an enabled account.
func (k *Passkeys) owner(ctx context.Context, id string) (storage.Passkey, storage.User, error) {
	stored, err := k.people.store.Passkey(ctx, id)
	var u storage.User
	if err == nil {
		u, err = k.people.store.UserByID(ctx, stored.UserID)
	}
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return stored, u, refusePasskey(errors.New("nobody has this passkey"))
	case err != nil:
		return stored, u, oauth.Unavailable(err)
	case !u.Active:
		return stored, u, refusePasskey(errors.New("the account is disabled"))
	}
	return stored, u, nil
}

// copied logs that there may be a copy of an authenticator, and returns the Error.
//
// WebAuthn-3 §6.1.1: this is a sign of a copy, and no proof.
func (k *Passkeys) copied(stored storage.Passkey, cause error) error {
	k.people.log.Warn("a passkey was refused: there may be a copy of its authenticator, unless it was removed or used twice at this moment", "subject", stored.UserID, "passkey", stored.ID, "error", cause)
	return refusePasskey(cause)
}
