package people

import (
	"context"
	"errors"

	"mandate/provider/events"
	"mandate/provider/limits"
	"mandate/provider/oauth"
	"mandate/provider/passkey"
	"mandate/storage"
)

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
	// A response without a ticket of this server costs nothing, so it does not count.
	p, err := k.open(r.Ticket, forSignIn(browser))
	if err != nil {
		return nil, err
	}
	giveBack, err := k.people.limits.Take(k.people.at(limits.AtPasskey, b)...)
	if err != nil {
		return nil, err
	}
	in, err := k.signIn(ctx, r, p, b)
	if !isRefused(err) {
		giveBack()
	}
	return in, err
}

func (k *Passkeys) signIn(ctx context.Context, r Response, p pending, b Browser) (*SignIn, error) {
	shown, err := k.check(ctx, r, p, "")
	var in *SignIn
	if err == nil {
		in, err = k.people.beginSession(ctx, shown.person, login{methods: withPasskey("")}, shown.use(), b)
		err = k.usedMeanwhile(shown, err)
	}
	if errors.Is(err, storage.ErrSpent) {
		err = refusePasskey(err) // the account was disabled, or its password changed, at this moment
	}
	if isRefused(err) {
		failed := events.Failed(ctx, k.people.store,
			events.Event{Kind: events.SignInFailed, Person: shown.person, By: events.Nobody(), Detail: "passkey"})
		if failed != nil {
			return nil, failed
		}
	}
	return in, err
}

// shownPasskey is a passkey whose response was checked, and its person.
type shownPasskey struct {
	stored storage.Passkey
	person storage.User
	after  passkey.Use
}

func (s shownPasskey) use() storage.FactorUse {
	return storage.FactorUse{Passkey: &storage.PasskeyUse{ID: s.stored.ID, SignCount: int64(s.after.SignCount),
		BackedUp: s.after.BackedUp, At: oauth.Now()}}
}

// check checks the response of an authenticator, and uses its challenge, unless the person has signed in more often
// than anybody does: then it returns an Error with status 429, and stores nothing. Unless it is empty, userID is the
// only person whose passkey is accepted.
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
	err = k.people.maySignIn(s.person)
	if err != nil {
		return s, err
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
	p, err := k.open(r.Ticket, forStep(c))
	if err != nil {
		return nil, err
	}
	giveBack, err := k.people.limits.Take(k.people.at(limits.AtPasskey, b)...)
	if err != nil {
		return nil, err
	}
	in, err := k.answer(ctx, c, r, p, b)
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
	k.people.log.Warn("a passkey was refused: there may be a copy of its authenticator, unless it was removed or used "+
		"twice at this moment", "subject", stored.UserID, "passkey", stored.ID, "error", cause)
	return refusePasskey(cause)
}
