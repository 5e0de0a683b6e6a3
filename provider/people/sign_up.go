package people

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"mandate/provider/acr"
	"mandate/provider/events"
	"mandate/provider/limits"
	"mandate/provider/oauth"
	"mandate/provider/seal"
	"mandate/provider/throttle"
	"mandate/storage"
)

// SignUpLife is how long a link works that somebody asked for.
const SignUpLife = 24 * time.Hour

// Open reports whether everybody may ask for an account. Without mail nobody could show an address.
func (i *Invitations) Open() bool {
	return i.people.config.SignUp == SignUpOpen && i.people.notices.On()
}

// Domains returns the only domains of the addresses of people who may ask for an account. None: there is
// no limit.
func (i *Invitations) Domains() []string { return i.people.config.SignUpDomains }

// Ask notes that somebody asks for an account. The caller does not learn whether there is one with the
// address: the same note is stored for each, and it is answered later.
func (i *Invitations) Ask(ctx context.Context, email string, b Browser) error {
	if !i.Open() {
		return oauth.ErrNotFound
	}
	found := &oauth.Invalid{}
	email, wrong := readAddress(email)
	if wrong != "" {
		found.Fields = append(found.Fields, oauth.FieldError{Field: "email", Message: wrong})
	} else if !i.people.hasDomain(email) {
		found.Add("email", "Use an address that ends in @%s.", strings.Join(i.Domains(), ", @"))
	}
	if err := found.Err(); err != nil {
		return err
	}
	// The tries are never given back: each request may send a message.
	_, err := i.people.limits.Request(limits.MessageTo("sign-up ", strings.ToLower(email), b.Address)...)
	if err != nil {
		return err
	}
	err = i.people.store.AddMail(ctx, i.people.notices.AskedSignUp(email, b.Language, throttle.Site(b.Address)))
	if errors.Is(err, storage.ErrFull) {
		return oauth.Later(http.StatusServiceUnavailable, 10*time.Minute,
			"Too many people ask for an account at this moment. Try again later.")
	}
	if err != nil {
		return oauth.Unavailable(err)
	}
	i.people.notices.Wake()
	return nil
}

// Answer sends a link to the address that Ask noted. Somebody who has an account gets a message that says
// so. A person whose account is disabled gets none.
func (i *Invitations) Answer(ctx context.Context, note storage.Mail, email, language string) error {
	taken, err := i.people.store.UsersByAddress(ctx, email)
	if err != nil {
		return err
	}
	var link *storage.NewInvitation
	var known []storage.NewMail
	switch {
	case len(taken) > 0:
		for _, u := range taken {
			if u.Active && sameAddress(u.Email, email) {
				known = append(known, i.people.notices.Known(u, language, note.Network))
			}
		}
	case i.Open() && i.people.hasDomain(email):
		secret, at := seal.Random(32), oauth.Now()
		one := storage.Invitation{ID: seal.Identifier(), Digest: seal.Digest(secret), Email: email, Mailed: true, Asked: true,
			Language: language, Network: note.Network, CreatedAt: at, ExpiresAt: at + oauth.Seconds(SignUpLife)}
		m := i.people.notices.SignUp(one, i.url(secret))
		link = &storage.NewInvitation{Invitation: one, Mail: &m}
	}
	err = i.people.store.AnswerSignUp(ctx, note, link, mostInvitations, known...)
	if errors.Is(err, storage.ErrSpent) {
		return nil // another node has answered
	}
	return err
}

// ErrAddressTaken means that somebody has the address of an invitation.
var ErrAddressTaken = storage.ErrAddressTaken

// ByLink returns the invitation of a link that works. It changes nothing: mail scanners open links too. It
// returns ErrNotFound if the link does not work, and ErrAddressTaken if somebody has an account with the
// address by now.
func (i *Invitations) ByLink(ctx context.Context, secret string) (storage.Invitation, error) {
	found, err := i.people.store.InvitationByDigest(ctx, seal.Digest(secret), oauth.Now())
	if err != nil {
		return found, oauth.Stored(err)
	}
	if !i.Offered() || found.Asked && !(i.Open() && i.people.hasDomain(found.Email)) {
		return found, oauth.ErrNotFound // the operator has changed the setting
	}
	taken, err := i.people.store.UsersByAddress(ctx, found.Email)
	if err != nil {
		return found, oauth.Unavailable(err)
	}
	if len(taken) > 0 {
		err = ErrAddressTaken
	}
	return found, err
}

// take is ByLink for an account that is made on a page of this server. With a link, somebody could try out which
// usernames exist. So take also uses a try of the network, and giveBack gives it back.
func (i *Invitations) take(ctx context.Context, secret string, b Browser) (one storage.Invitation, giveBack func(),
	err error) {
	giveBack, err = i.people.limits.Take(limits.At(limits.AtSignUp, b.Address))
	if err != nil {
		return one, nil, err
	}
	err = oauth.ErrNotFound
	if i.MakesAccounts() {
		one, err = i.ByLink(ctx, secret)
	}
	if err != nil {
		giveBack() // the secret is too long for guesses
	}
	return one, giveBack, err
}

// NewAccount is what a person chooses who makes an account.
type NewAccount struct {
	Username, FirstName, LastName string
	Password                      string
}

// account returns the account that a person makes with an invitation. It returns an Invalid for mistakes in
// the form.
func (i *Invitations) account(ctx context.Context, one storage.Invitation, a NewAccount, id string,
	passwordless bool) (storage.User, error) {
	person := Person{Username: a.Username, Email: one.Email, FirstName: a.FirstName, LastName: a.LastName,
		Profile: &Profile{EmailVerified: one.Mailed}}
	found := &oauth.Invalid{}
	person.check(found)
	// A username that looks like the address of somebody else would mislead whoever reads it.
	if strings.Contains(a.Username, "@") && !sameAddress(a.Username, one.Email) {
		found.Add("username", "Use your own email address, or a name without @.")
	}
	if mixesScripts(a.Username) {
		found.Add("username", "Use letters of one script only. A name of several scripts could look like that of somebody "+
			"else.")
	}
	for field, name := range map[string]string{"username": a.Username, "first_name": a.FirstName,
		"last_name": a.LastName} {
		if misleadingMarks(name) {
			found.Add(field, hardToSee)
		}
	}
	if !passwordless {
		i.people.config.checkNewPassword(found, "password", a.Password, person.account())
	}
	if err := found.Err(); err != nil {
		return storage.User{}, err
	}
	// This check comes before the slow hash and before a passkey is made. What counts is the one when the
	// account is stored.
	err := i.people.checkUsername(ctx, a.Username)
	if err == nil {
		err = i.people.checkChosen(ctx, a.Username)
	}
	if err != nil {
		return storage.User{}, err
	}
	u, err := person.record("")
	u.ID = id
	return u, err
}

// WithPassword makes an account with a password, and signs the person in as Login does. It returns
// ErrNotFound if the link does not work, ErrAddressTaken, or an Invalid for mistakes in the form. In these
// cases the link is not used.
func (i *Invitations) WithPassword(ctx context.Context, secret string, a NewAccount, b Browser) (*SignIn, error) {
	one, giveBack, err := i.take(ctx, secret, b)
	if err != nil {
		return nil, err
	}
	u, err := i.account(ctx, one, a, seal.Identifier(), false)
	if err != nil {
		return nil, err
	}
	// A network can have many links.
	leave, err := i.people.limits.People.Enter("sign-up "+one.ID, limits.InQueue(b.Address))
	if err != nil {
		return nil, err
	}
	defer leave()
	u.Password, err = i.people.limits.People.Hash(ctx, a.Password)
	if err != nil {
		return nil, err
	}
	err = i.accept(ctx, one, u, nil)
	if err != nil {
		return nil, err
	}
	giveBack()
	return i.begin(ctx, u, acr.PWD, b)
}

// accept uses an invitation.
func (i *Invitations) accept(ctx context.Context, one storage.Invitation, u storage.User, key *storage.Passkey) error {
	how := "invitation"
	if one.Asked {
		how = "sign-up"
	}
	made := []events.Event{{Kind: events.PersonAdded, Person: u, By: events.By(u), Object: events.Invitation(one),
		Detail: how}}
	if key != nil {
		made = append(made, events.Event{Kind: events.FactorAdded, Person: u, By: events.By(u), Object: events.Passkey(*key)})
	}
	missing, err := i.people.store.AcceptInvitation(events.Attach(ctx, made...), one.Digest, u, key)
	switch {
	case errors.Is(err, storage.ErrSpent):
		return oauth.ErrNotFound
	case errors.Is(err, storage.ErrConflict):
		return personError(err)
	case errors.Is(err, storage.ErrFormerName):
		return formerName()
	case errors.Is(err, storage.ErrFactorUsed):
		return newPasskeyRefused(err)
	case errors.Is(err, storage.ErrAddressTaken):
		return err
	case err != nil:
		return oauth.Unavailable(err)
	}
	i.people.settled.Store(true)
	i.people.logMissing(u.ID, missing)
	return nil
}

// logMissing logs that groups of an invitation do not exist any more.
func (p *People) logMissing(subject string, missing []string) {
	if len(missing) > 0 {
		p.log.Warn("groups of an invitation do not exist any more, so the new person is no member of them", "subject",
			subject, "groups", missing)
	}
}

// begin signs a person in who has just made an account. No message says that the browser is a new one.
func (i *Invitations) begin(ctx context.Context, u storage.User, methods string, b Browser) (*SignIn, error) {
	known, err := i.people.mark(u)
	if err != nil {
		return nil, err
	}
	b.Device = known
	in, err := i.people.firstStep(ctx, u, login{methods: methods}, b)
	if errors.Is(err, storage.ErrSpent) {
		return nil, WrongPassword() // somebody has changed the account at this moment
	}
	return in, err
}

// draft is an account that waits for its passkey. The page of the passkey keeps it: nothing is stored before
// the authenticator has made the passkey.
type draft struct {
	pending
	ID                            string
	Username, FirstName, LastName string
}

func forSignUp(secret string) string { return "sign up " + seal.Digest(secret) }

// AskForPasskey returns the request for the passkey of a new account. It returns the errors of WithPassword.
// The link is not used.
func (i *Invitations) AskForPasskey(ctx context.Context, secret string, a NewAccount, b Browser) (Ceremony, error) {
	one, giveBack, err := i.take(ctx, secret, b)
	if err != nil {
		return Ceremony{}, err
	}
	u, err := i.account(ctx, one, a, seal.Identifier(), true)
	if err != nil {
		return Ceremony{}, err
	}
	giveBack()
	o, err := i.passkeys.party.Create(i.passkeys.person(u))
	if err != nil {
		return Ceremony{}, err
	}
	text, err := json.Marshal(draft{pending{o.Challenge, oauth.Now()}, u.ID, a.Username, a.FirstName, a.LastName})
	return Ceremony{o.JSON, i.tickets.Seal(text, forSignUp(secret))}, err
}

// WithPasskey makes an account with the passkey that an authenticator has made, under a name that the person
// can change, and signs the person in. The account has no password. It returns the errors of WithPassword,
// and an Error for a response that is not accepted. In these cases the link is not used.
func (i *Invitations) WithPasskey(ctx context.Context, secret string, r Response, name string,
	b Browser) (*SignIn, error) {
	one, giveBack, err := i.take(ctx, secret, b)
	if err != nil {
		return nil, err
	}
	var d draft
	text, err := i.tickets.Open(r.Ticket, forSignUp(secret))
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err != nil || oauth.Now()-d.At > ceremonyLife {
		giveBack() // it says nothing about usernames
		return nil, oauth.Refuse("invalid_grant", "The page was open for too long. Begin again.").Because(err)
	}
	u, err := i.account(ctx, one, NewAccount{Username: d.Username, FirstName: d.FirstName, LastName: d.LastName},
		d.ID, true)
	if err != nil {
		return nil, err
	}
	// WebAuthn-3 §13.4.3: a challenge is for one response. It is sealed together with the link, which works
	// once.
	made, err := i.passkeys.party.Created(i.passkeys.person(u), d.Challenge, []byte(r.JSON))
	if err != nil {
		return nil, newPasskeyRefused(err)
	}
	key := storedPasskey(made, u.ID, name)
	err = i.accept(ctx, one, u, &key)
	if err != nil {
		return nil, err
	}
	giveBack()
	return i.begin(ctx, u, withPasskey(""), b)
}

// newPasskeyRefused returns the Error for a new passkey that is not accepted. The cause is for the log.
func newPasskeyRefused(cause error) *oauth.Error {
	return oauth.Refuse("invalid_grant", "This passkey was not accepted. Try again, or choose a password.").Because(cause)
}
