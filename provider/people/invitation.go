package people

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"mandate/provider/events"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/seal"
	"mandate/storage"
)

// The policies about accounts that people make themselves. An empty policy is SignUpOff.
const (
	SignUpOff     = "off"
	SignUpInvited = "invited" // people who were invited
	SignUpOpen    = "open"    // everybody who has an address
)

const (
	// MostInvites is how many people can be invited at once.
	MostInvites = 1000
	// mostInvitations is how many invitations can wait. The same number of links that people asked for can
	// wait beside them.
	mostInvitations = 10_000
	// The shortest and the longest time for which an invitation works.
	shortestInvitation = time.Minute
	longestInvitation  = 365 * 24 * time.Hour
)

// Invitations lets people make accounts of their own: with the link of an invitation, or with a link
// that they asked for.
type Invitations struct {
	people   *People
	passkeys *Passkeys
	tickets  seal.Sealer
}

// NewInvitations makes the component. tickets seals what a browser keeps between the request for a passkey
// and the response.
func NewInvitations(p *People, k *Passkeys, tickets seal.Sealer) *Invitations {
	return &Invitations{people: p, passkeys: k, tickets: tickets}
}

// Offered reports whether an invitation has a use: on the page of this server, or by signing in with
// another server.
func (i *Invitations) Offered() bool {
	return i.MakesAccounts() ||
		slices.ContainsFunc(i.people.config.Servers, func(s Server) bool { return s.NewPeople == NewPeopleInvited })
}

// MakesAccounts reports whether people make accounts on a page of this server.
func (i *Invitations) MakesAccounts() bool {
	return i.people.config.SignUp == SignUpInvited || i.people.config.SignUp == SignUpOpen
}

// Lifetime is how long an invitation works, unless it says otherwise.
func (i *Invitations) Lifetime() time.Duration { return i.people.config.InvitationLifetime }

// Invite is a person to invite.
type Invite struct {
	Email  string
	Groups []string
	Line   int // in the list of which it is a part; 0: it is alone
}

// Inviting says how people are invited.
type Inviting struct {
	Lifetime time.Duration // 0: the usual one
	ByHand   bool          // no message is sent: the inviter passes the link on
	Language string        // of the message: a language tag; "": English
}

// Invited is an invitation, and its link unless a message has it.
type Invited struct {
	storage.Invitation
	Link string
}

// Mails reports whether an invitation is sent to the person by mail.
func (i *Invitations) mails(how Inviting) bool { return i.people.notices.On() && !how.ByHand }

// Invite invites all of these people, or none. It returns an Invalid that names every mistake: of a person
// who is alone at the fields, of others at the field list, with the line of each.
func (i *Invitations) Invite(ctx context.Context, actor policy.Actor, list []Invite, how Inviting) ([]Invited, error) {
	err := actor.MustAdminister("invite people")
	if err != nil {
		return nil, err
	}
	if !i.Offered() {
		return nil, oauth.ErrNotFound
	}
	err = i.check(ctx, list, how)
	if err != nil {
		return nil, err
	}
	made, stored := make([]Invited, len(list)), make([]storage.NewInvitation, len(list))
	for n, one := range list {
		made[n], stored[n] = i.invitation(actor, one.Email, one.Groups, how)
	}
	inviter, _ := actor.Takes()
	added := make([]events.Event, len(list))
	for n, one := range made {
		added[n] = events.Event{Kind: events.InvitationAdded, Person: invitee(one.Invitation),
			Object: events.Invitation(one.Invitation)}
	}
	err = i.people.store.AddInvitations(events.Attach(ctx, added...), inviter, stored, mostInvitations)
	if err != nil {
		return nil, invitationError(err)
	}
	i.people.notices.Wake()
	return made, nil
}

// invitation makes an invitation with a new link.
func (i *Invitations) invitation(actor policy.Actor, email string, groups []string, how Inviting) (Invited,
	storage.NewInvitation) {
	life := how.Lifetime
	if life == 0 {
		life = i.Lifetime()
	}
	secret, at := seal.Random(32), oauth.Now()
	one := storage.Invitation{ID: seal.Identifier(), Digest: seal.Digest(secret), Email: email, Mailed: i.mails(how),
		Groups: strings.Join(groups, "\n"), Language: how.Language, CreatedAt: at, ExpiresAt: at + oauth.Seconds(life)}
	one.InviterID, _ = actor.Takes()
	made, stored := Invited{Invitation: one}, storage.NewInvitation{Invitation: one}
	if one.Mailed {
		m := i.people.notices.Invitation(one, cmp.Or(actor.Person().FullName(), actor.Person().Username), i.url(secret))
		stored.Mail = &m
	} else {
		made.Link = i.url(secret)
	}
	return made, stored
}

// invitee returns the person whom an event about an invitation concerns. The person has no account yet, so the address
// is the only name.
func invitee(i storage.Invitation) storage.User { return storage.User{Username: i.Email} }

// url returns the address of a link. It begins with the configured URL: the Host header of a request has
// no influence.
func (i *Invitations) url(secret string) string {
	return i.people.config.Base + "/sign-up/" + secret + "/"
}

// check returns an Invalid for people who cannot be invited.
func (i *Invitations) check(ctx context.Context, list []Invite, how Inviting) error {
	found := &mistakes{fields: map[string]string{"email": "recipient", "groups": "group"}}
	if how.Lifetime != 0 && (how.Lifetime < shortestInvitation || how.Lifetime > longestInvitation) {
		found.add(0, "expires", "Use at least one minute and at most one year.")
	}
	if languages := i.people.config.Languages; how.Language != "" && !slices.Contains(languages, how.Language) {
		found.add(0, "language",
			fmt.Sprintf("There are no messages in the language %q: use %s.", oauth.Clip(how.Language, 40),
				oauth.OneOf(languages)))
	}
	switch {
	case len(list) == 0:
		found.add(0, "list", "There is nobody to invite.")
	case len(list) > MostInvites:
		found.add(0, "list", fmt.Sprintf("Invite at most %d people at once.", MostInvites))
		return found.err()
	}
	groups, err := i.people.Groups(ctx)
	if err != nil {
		return err
	}
	lines := map[string]int{}
	for n := range list {
		one := &list[n]
		err = i.checkOne(ctx, found, one, groups)
		if err != nil {
			return err
		}
		folded := strings.ToLower(one.Email)
		if earlier := lines[folded]; earlier > 0 {
			found.add(one.Line, "email", fmt.Sprintf("The address is in line %d already.", earlier))
		}
		lines[folded] = one.Line
	}
	return found.err()
}

// checkOne puts the address of an Invite into its form, and notes what is wrong.
func (i *Invitations) checkOne(ctx context.Context, found *mistakes, one *Invite, groups []storage.Group) error {
	found.checkGroups(one.Line, one.Groups, groups)
	var wrong string
	if one.Email, wrong = readAddress(one.Email); wrong != "" {
		found.add(one.Line, "email", wrong)
		return nil
	}
	taken, err := i.people.store.UsersByAddress(ctx, one.Email)
	if err != nil {
		return oauth.Unavailable(err)
	}
	invited, err := i.people.store.IsInvited(ctx, one.Email, oauth.Now())
	if err != nil {
		return oauth.Unavailable(err)
	}
	switch {
	case len(taken) > 0:
		found.add(one.Line, "email", addressInUse)
	case invited:
		found.add(one.Line, "email", alreadyInvited)
	}
	return nil
}

const (
	addressInUse   = "Somebody here has this address already."
	alreadyInvited = "There is an invitation for this address already. Make a new link for it, or withdraw it."
)

// invitationError returns what a store's error about invitations says to the inviter.
func invitationError(err error) error {
	found := &oauth.Invalid{}
	switch {
	case errors.Is(err, storage.ErrAddressTaken):
		found.Add("recipient", addressInUse)
	case errors.Is(err, storage.ErrInvited):
		found.Add("recipient", alreadyInvited)
	case errors.Is(err, storage.ErrFull):
		found.Add("recipient", "There can be at most %d invitations. Withdraw some of them.", mostInvitations)
	case errors.Is(err, storage.ErrMailFull):
		return oauth.Later(http.StatusTooManyRequests, time.Hour, "Too many messages wait, or were sent to this address. "+
			"Try again in an hour, or pass the link on yourself.")
	case errors.Is(err, storage.ErrSpent):
		return &oauth.Error{Status: http.StatusForbidden, Code: "access_denied",
			Description: "You are no administrator any more."}
	default:
		return oauth.Stored(err)
	}
	return found
}

// List returns one page of the invitations, and the number of all that match the search.
func (i *Invitations) List(ctx context.Context, search string, limit, offset int) ([]storage.Invitation, int, error) {
	found, total, err := i.people.store.Invitations(ctx, search, limit, offset)
	return found, total, oauth.Stored(err)
}

// One returns an invitation by its ID, or ErrNotFound.
func (i *Invitations) One(ctx context.Context, id string) (storage.Invitation, error) {
	found, err := i.people.store.Invitation(ctx, id)
	return found, oauth.Stored(err)
}

// Named returns an invitation by its ID or by its address, or ErrNotFound.
func (i *Invitations) Named(ctx context.Context, name string) (storage.Invitation, error) {
	if !strings.Contains(name, "@") {
		return i.One(ctx, name)
	}
	found, err := i.people.store.InvitationTo(ctx, lookedUp(name))
	return found, oauth.Stored(err)
}

// By returns how many invitations of a person wait. They end with the person's rights.
func (i *Invitations) By(ctx context.Context, userID string) (int, error) {
	n, err := i.people.store.InvitationsOf(ctx, userID, oauth.Now())
	return n, oauth.Stored(err)
}

// mostShown is how many invitations of one person MadeBy returns.
const mostShown = 50

// MadeBy returns the newest invitations of a person that wait.
func (i *Invitations) MadeBy(ctx context.Context, userID string) ([]storage.Invitation, error) {
	found, err := i.people.store.InvitationsBy(ctx, userID, oauth.Now(), mostShown)
	return found, oauth.Stored(err)
}

// Renew replaces an invitation by one with a new link, which works as long as the old one did. The old
// link ends. It returns ErrNotFound if there is no such invitation.
func (i *Invitations) Renew(ctx context.Context, actor policy.Actor, id string, byHand bool) (Invited, error) {
	err := actor.MustAdminister("invite people")
	if err != nil {
		return Invited{}, err
	}
	old, err := i.One(ctx, id)
	if err != nil {
		return Invited{}, err
	}
	made, stored := i.invitation(actor, old.Email, oauth.Lines(old.Groups),
		Inviting{time.Duration(old.ExpiresAt-old.CreatedAt) * time.Second, byHand, old.Language})
	renewed := events.Event{Kind: events.InvitationRenewed, Person: invitee(old),
		Object: events.Invitation(made.Invitation)}
	err = i.people.store.RenewInvitation(events.Attach(ctx, renewed), id, stored, mostInvitations)
	if err != nil {
		return Invited{}, invitationError(err)
	}
	i.people.notices.Wake()
	return made, nil
}

// Withdraw ends an invitation. It returns ErrNotFound if there is none with the ID.
func (i *Invitations) Withdraw(ctx context.Context, actor policy.Actor, id string) error {
	err := actor.MustAdminister("withdraw an invitation")
	if err != nil {
		return err
	}
	one, err := i.One(ctx, id)
	if err != nil {
		return err
	}
	ended := events.Event{Kind: events.InvitationEnded, Person: invitee(one), Object: events.Invitation(one)}
	return oauth.Stored(i.people.store.DeleteInvitation(events.Attach(ctx, ended), id))
}

// InviteMember invites somebody to a group that the actor administers, and to nothing else. The link goes by mail to
// the address. The answer is the same whether somebody has the address or not: otherwise whoever administers a group
// could find out who has an account.
func (i *Invitations) InviteMember(ctx context.Context, actor policy.Actor, group, address, language string) error {
	err := i.people.delegates(ctx, actor, group)
	if err == nil && !(i.Offered() && i.people.notices.On()) {
		err = oauth.ErrNotFound
	}
	if err == nil {
		err = actor.MustConfirm()
	}
	if err != nil {
		return err
	}
	address, wrong := readAddress(address)
	if wrong != "" {
		return &oauth.Invalid{Fields: []oauth.FieldError{{Field: "recipient", Message: wrong}}}
	}
	made, stored := i.invitation(actor, address, []string{group}, Inviting{Language: language})
	added := events.Event{Kind: events.InvitationAdded, Person: invitee(made.Invitation),
		Object: events.Invitation(made.Invitation)}
	inviter, _ := actor.Takes()
	err = i.people.store.AddInvitations(events.Attach(ctx, added), inviter, []storage.NewInvitation{stored},
		mostInvitations)
	if errors.Is(err, storage.ErrAddressTaken) || errors.Is(err, storage.ErrInvited) {
		return nil
	}
	i.people.notices.Wake()
	switch {
	case errors.Is(err, storage.ErrSpent):
		return oauth.ErrNotFound
	case errors.Is(err, storage.ErrFull):
		found := &oauth.Invalid{}
		found.Add("recipient", "Too many invitations wait. Invite more people when some of them were used.")
		return found
	case err != nil:
		return invitationError(err)
	}
	return nil
}
