package people

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"mandate/provider/acr"
	"mandate/provider/events"
	"mandate/provider/notices"
	"mandate/provider/oauth"
	"mandate/provider/passkey"
	"mandate/provider/policy"
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
	err := k.people.store.SeeOnce(ctx,
		storage.OneTime{Digest: seal.Digest("passkey\x00" + p.Challenge), ExpiresAt: p.At + 2*ceremonyLife, Now: oauth.Now()})
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
	return oauth.Refuse("invalid_grant", "This passkey was not accepted. It may have been removed from your account. "+
		"Try again, or sign in in another way.").Because(cause)
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
		// it was one
		person.Passkeys = append(person.Passkeys,
			passkey.Credential{ID: one.ID, PublicKey: one.PublicKey, SignCount: uint32(one.SignCount),
				BackupEligible: one.BackupEligible, BackedUp: one.BackedUp, Transports: strings.Fields(one.Transports)})
	}
	return person
}

// Response is what a page sends after an authenticator has answered.
type Response struct{ Ticket, JSON string }

// Add stores the passkey that an authenticator has made, under a name that the person can change. The
// ticket is proof that the person had signed in a moment before the request. The authenticator has
// verified the person, so the session becomes as strong as one that begins with this passkey.
func (k *Passkeys) Add(ctx context.Context, s *storage.SignedIn, r Response, name string) (storage.Passkey,
	*SignIn, error) {
	stored, err := k.made(ctx, s, r, name)
	if err != nil {
		return stored, nil, err
	}
	renewal, in := renewal(s)
	renewal.Session.AMR = withPasskey(s.Session.AMR)
	added := events.Event{Kind: events.FactorAdded, Person: s.User, Object: events.Passkey(stored)}
	err = k.people.store.AddPasskey(events.Attach(ctx, added, strengthened(renewal.Session)), stored, renewal, MaxPasskeys,
		k.people.notices.FactorChanged(s.User, notices.PasskeyAdded)...)
	switch {
	case errors.Is(err, storage.ErrFull):
		return stored, nil, ErrTooManyPasskeys
	case errors.Is(err, storage.ErrConflict):
		return stored, nil, refusePasskey(err) // somebody has added it at this moment
	}
	in, err = k.people.renewed(in, err)
	return stored, in, err
}

// made returns the passkey that an authenticator has made for the person of a session.
func (k *Passkeys) made(ctx context.Context, s *storage.SignedIn, r Response, name string) (storage.Passkey, error) {
	p, err := k.open(r.Ticket, forCreation(s))
	if err == nil {
		err = k.people.strongEnough(ctx, s)
	}
	if err != nil {
		return storage.Passkey{}, err
	}
	made, err := k.party.Created(k.person(s.User), p.Challenge, []byte(r.JSON))
	if err != nil {
		return storage.Passkey{}, refusePasskey(err)
	}
	// WebAuthn-3 §7.1: nobody has this credential ID. Whoever adds a passkey again uses no challenge, which would be a
	// row.
	_, err = k.people.store.Passkey(ctx, made.ID)
	switch {
	case err == nil:
		return storage.Passkey{}, refusePasskey(storage.ErrConflict)
	case !errors.Is(err, storage.ErrNotFound):
		return storage.Passkey{}, oauth.Unavailable(err)
	}
	// Before the challenge is used: each is a row, and there may be many requests of before.
	stored, err := k.Of(ctx, s.User.ID)
	if err == nil && len(stored) >= MaxPasskeys {
		err = ErrTooManyPasskeys
	}
	if err != nil {
		return storage.Passkey{}, err
	}
	return storedPasskey(made, s.User.ID, name), k.spend(ctx, p)
}

// storedPasskey returns the record of a new passkey. A name that cannot be is replaced.
func storedPasskey(made passkey.Credential, userID, name string) storage.Passkey {
	if checkPasskeyName(name) != nil {
		name = "Passkey"
	}
	return storage.Passkey{ID: made.ID, UserID: userID, PublicKey: made.PublicKey, Name: name,
		SignCount:      int64(made.SignCount),
		BackupEligible: made.BackupEligible, BackedUp: made.BackedUp, Transports: strings.Join(made.Transports, " "),
		AAGUID: made.AAGUID, CreatedAt: oauth.Now()}
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

// RemoveOf is Remove by another administrator, who must have signed in a moment ago. No session ends.
func (k *Passkeys) RemoveOf(ctx context.Context, actor policy.Actor, userID, id string) error {
	u, err := k.people.helped(ctx, actor, userID, "remove a passkey of somebody")
	if err != nil {
		return err
	}
	one, err := k.One(ctx, u.ID, id)
	if err != nil {
		return err
	}
	removed := events.Event{Kind: events.FactorRemoved, Person: u, Object: events.Passkey(one)}
	err = k.people.store.DeletePasskey(events.Attach(ctx, removed), u.ID, id, k.people.ways(), nil,
		k.people.notices.FactorChanged(u, notices.PasskeyRemoved)...)
	k.people.notices.Wake()
	return theirOnlyWay(err)
}

// Remove deletes a passkey of a person who has signed in a moment ago. The session gets another cookie. It returns
// ErrConfirm if that is longer ago, an Error if the person could not sign in any more, and ErrNotFound if the person
// has no such passkey.
func (k *Passkeys) Remove(ctx context.Context, s *storage.SignedIn, id string) (*SignIn, error) {
	err := k.people.Confirmed(ctx, s)
	if err != nil {
		return nil, err
	}
	one, err := k.One(ctx, s.User.ID, id)
	if err != nil {
		return nil, err
	}
	r, in := renewal(s)
	removed := events.Event{Kind: events.FactorRemoved, Person: s.User, Object: events.Passkey(one)}
	err = k.people.store.DeletePasskey(events.Attach(ctx, removed), s.User.ID, id, k.people.ways(), &r,
		k.people.notices.FactorChanged(s.User, notices.PasskeyRemoved)...)
	if errors.Is(err, storage.ErrLastWay) {
		return nil, onlyWay(err)
	}
	return k.people.renewed(in, err)
}
