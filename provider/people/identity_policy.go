package people

import (
	"context"
	"errors"
	"slices"
	"strings"

	"mandate/provider/events"
	"mandate/provider/oauth"
	"mandate/provider/origin"
	"mandate/provider/seal"
	"mandate/provider/upstream"
	"mandate/storage"
)

// person returns the person here whom another server has identified, with an enabled account. A person
// who is not known here yet is added if the operator allows it. One whose address leads to an account gets the
// link, which is stored with the session: until then nobody has shown the second factor.
func (i *Identities) person(ctx context.Context, s *server, p upstream.Person) (storage.User, storage.Identity,
	*link, error) {
	u, identity, err := i.known(ctx, s, p)
	if !errors.Is(err, storage.ErrNotFound) {
		return u, identity, nil, err
	}
	identity = storage.Identity{Issuer: p.Issuer, Subject: p.Subject, CreatedAt: oauth.Now()}
	u, err = i.linkable(ctx, s, p)
	if err != nil {
		return u, identity, nil, err
	}
	if u.ID != "" {
		identity.UserID = u.ID
		mapped, member := s.memberships(p)
		return u, identity, newLinkOf(u, identity, mapped, member), nil
	}
	u, err = i.newPerson(s, p)
	if err != nil {
		return u, identity, nil, err
	}
	identity.UserID = u.ID
	missing, err := i.addNew(ctx, s, u, identity)
	if errors.Is(err, storage.ErrFormerName) { // the other server may have given the address to somebody else
		u.Username = anyUsername()
		u.UsernameKey = FoldName(u.Username)
		missing, err = i.addNew(ctx, s, u, identity)
	}
	i.people.logMissing(u.ID, missing)
	switch {
	case errors.Is(err, storage.ErrConflict), errors.Is(err, storage.ErrAddressTaken):
		return u, identity, nil, s.addressTaken()
	case errors.Is(err, storage.ErrSpent):
		// The same person has signed in twice at this moment: what is stored by now decides.
		u, identity, err = i.known(ctx, s, p)
		if errors.Is(err, storage.ErrNotFound) {
			err = s.unknown()
		}
		return u, identity, nil, err
	case err != nil:
		return u, identity, nil, oauth.Unavailable(err)
	}
	return u, identity, nil, nil
}

// addNew stores a person who comes without an account.
func (i *Identities) addNew(
	ctx context.Context,
	s *server,
	u storage.User,
	identity storage.Identity,
) ([]string, error) {
	added := events.Event{
		Kind:   events.PersonAdded,
		Person: u,
		By:     events.By(u),
		Object: i.people.server(identity.Issuer),
		Detail: "server",
	}
	return i.people.store.AddUserWithIdentity(events.Attach(ctx, added), u, identity, s.invitations())
}

// link is an identity that is stored with the session, because an address led to its person.
type link struct {
	Issuer, Subject string
	State           string   // a digest of the address and the profile that led to the person
	Mapped, Member  []string `json:",omitempty"` // groups, as setGroups has them

	stored storage.IdentityLink
}

func newLinkOf(u storage.User, one storage.Identity, mapped, member []string) *link {
	return &link{one.Issuer, one.Subject, seal.Digest(u.Email + "\x00" + u.Profile), mapped, member,
		storage.IdentityLink{Identity: one, Email: u.Email, Profile: u.Profile, Most: MaxIdentities}}
}

// resume returns a link of a ticket for its person, or nil if the address or the profile has changed.
func (l *link) resume(u storage.User) *link {
	again := newLinkOf(u, storage.Identity{Issuer: l.Issuer, Subject: l.Subject, UserID: u.ID, CreatedAt: oauth.Now()},
		l.Mapped, l.Member)
	if again.State != l.State {
		return nil
	}
	return again
}

// known returns the person who has an identity. It returns storage.ErrNotFound if nobody has it.
//
// OIDC Core §5.7: only iss and sub together identify a person.
func (i *Identities) known(ctx context.Context, s *server, p upstream.Person) (storage.User, storage.Identity, error) {
	identity, err := i.people.store.Identity(ctx, p.Issuer, p.Subject)
	var u storage.User
	if err == nil {
		u, err = i.people.store.UserByID(ctx, identity.UserID)
	}
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return u, identity, err
	case err != nil:
		return u, identity, oauth.Unavailable(err)
	case !u.Active:
		return u, identity, s.refuse("the account is disabled", "Your account here is disabled. Ask an administrator of "+
			"this server.")
	}
	return u, identity, nil
}

// linkable returns the person here whose address leads to them, or nobody.
//
// An address alone proves nothing: anybody may have typed it here or there. So both servers must have
// verified it, and the operator must trust the other server for that.
func (i *Identities) linkable(ctx context.Context, s *server, p upstream.Person) (storage.User, error) {
	if !s.TrustedForEmail || s.addressOf(p) != "" {
		return storage.User{}, nil
	}
	found, err := i.people.store.UsersByAddress(ctx, p.Email)
	if err != nil {
		return storage.User{}, oauth.Unavailable(err)
	}
	// If two people have the address, it says nothing about which of them this is.
	if len(found) != 1 || !found[0].Active || !sameAddress(found[0].Email, p.Email) {
		return storage.User{}, nil
	}
	profile, err := ProfileOf(found[0])
	if err != nil || !profile.EmailVerified {
		return storage.User{}, err
	}
	// The other server may have given the address to somebody else since then, and what the person has removed must
	// not come back.
	had, err := i.people.store.HadIdentity(ctx, found[0].ID, p.Issuer)
	if err != nil {
		return storage.User{}, oauth.Unavailable(err)
	}
	if had {
		i.people.log.Info("the verified address leads to a person who has or had another account of this server, so it was "+
			"not linked", "subject", found[0].ID, "server", s.Name)
		return storage.User{}, nil
	}
	own, err := i.people.store.IdentitiesOf(ctx, found[0].ID)
	if err != nil {
		return storage.User{}, oauth.Unavailable(err)
	}
	if len(own) >= MaxIdentities {
		return storage.User{}, s.full()
	}
	return found[0], nil
}

// newPerson returns the account of a person who comes without one, or an Error if the operator does not
// allow it. The address is the user name, because the other server has verified it: names that people
// choose there could look like those of others here.
func (i *Identities) newPerson(s *server, p upstream.Person) (storage.User, error) {
	if !s.mayBeNew(p) {
		return storage.User{}, s.unknown()
	}
	person := Person{Username: p.Email, Email: p.Email, FirstName: usable(p.GivenName), LastName: usable(p.FamilyName),
		Profile: &Profile{EmailVerified: s.TrustedForEmail}}
	if person.FirstName == "" && person.LastName == "" { // the server does not say which part of the name is which
		person.FirstName = usable(p.Name)
	}
	found := &oauth.Invalid{}
	person.check(found)
	if found.At("username") != "" { // addresses have more characters than user names
		person.Username = anyUsername()
	}
	if found.At("email") != "" {
		return storage.User{}, s.unknown()
	}
	return person.record("")
}

// mayBeNew reports whether a person may come without an account here. Whether an address has an invitation
// is decided when the account is stored.
func (s *server) mayBeNew(p upstream.Person) bool {
	at := strings.LastIndex(p.Email, "@")
	if s.addressOf(p) != "" || at < 0 {
		return false
	}
	return s.NewPeople == NewPeopleInvited || s.NewPeople == NewPeopleDomains &&
		slices.Contains(s.AllowedDomains, strings.ToLower(p.Email[at+1:]))
}

// invitations says what the invitations for the address of a new person are. Their groups go to whoever has
// shown the address. The word of a server counts for that only if the operator has said so.
func (s *server) invitations() storage.Invited {
	switch {
	case s.NewPeople == NewPeopleInvited:
		return storage.InvitedNeeded
	case s.TrustedForEmail:
		return storage.InvitedTaken
	}
	return storage.InvitedIgnored
}

// usable returns a name from another server, or "" if a person could not have it here.
func usable(name string) string {
	found := &oauth.Invalid{}
	CheckText(found, "name", name)
	if found.Err() != nil {
		return ""
	}
	return name
}

// sameAddress reports whether two addresses are equal. Only ASCII letters may differ in their case: other
// letters that become equal in lower case belong to other addresses.
func sameAddress(a, b string) bool {
	return isASCII(a) && isASCII(b) && strings.EqualFold(a, b)
}

const unknownHere = "nobody here has this identity"

// unknown returns the Error for a person whom nobody here knows.
func (s *server) unknown() *oauth.Error {
	return s.refuse(unknownHere,
		"This account of %[1]s is not known here. If you have an account here, sign in with your password or a passkey, "+
			"and add %[1]s on your account page. Otherwise ask an administrator of this server.", s.Label)
}

// addressTaken returns the Error for a new person whose address somebody here has. That may be the same
// person, and it may be somebody who has typed the address of another person.
func (s *server) addressTaken() *oauth.Error {
	return s.refuse("an account has the address of the new person",
		"There is an account with your address here already. Sign in to it with your password or a passkey, and add %s on "+
			"your account page. If it is not your account, ask an administrator of this server.",
		s.Label).Because(storage.ErrAddressTaken)
}

// memberships returns the groups here to which the other server's claim is mapped, and those of them that the person is
// a member of.
func (s *server) memberships(p upstream.Person) (mapped, member []string) {
	values := p.Values(s.GroupsClaim)
	for _, m := range s.Groups {
		mapped = append(mapped, m.To)
		if slices.Contains(values, m.From) {
			member = append(member, m.To)
		}
	}
	return mapped, member
}

// setGroups makes a person a member of those of the mapped groups that are in member, and of no other one of them. It
// does not change groups to which nothing is mapped.
func (p *People) setGroups(ctx context.Context, u storage.User, issuer string, mapped, member []string) error {
	if len(mapped) == 0 {
		return nil
	}
	of := p.server(issuer)
	changed := events.Event{Kind: events.PersonChanged, Person: u, By: &origin.Actor{Kind: origin.Server}, Object: of,
		Detail: "groups"}
	missing, err := p.store.SetMappedGroups(events.Attach(ctx, changed), u.ID, mapped, member,
		oauth.Now())
	if len(missing) > 0 {
		p.log.Warn("groups of SIGN_IN_SERVERS do not exist, so nobody becomes a member: add them, or change GROUPS", "server",
			of.Name, "groups", missing)
	}
	return oauth.Stored(err)
}
