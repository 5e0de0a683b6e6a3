package people

import (
	"context"
	"errors"
	"slices"
	"strings"

	"mandate/provider/events"
	"mandate/provider/notices"
	"mandate/provider/oauth"
	"mandate/provider/origin"
	"mandate/provider/seal"
	"mandate/provider/upstream"
	"mandate/storage"
)

// person returns the person here whom another server has identified, with an enabled account. A person
// who is not known here yet is linked or added if the operator allows it.
func (i *Identities) person(ctx context.Context, s *server, p upstream.Person) (storage.User, storage.Identity, error) {
	u, identity, err := i.known(ctx, s, p)
	if !errors.Is(err, storage.ErrNotFound) {
		return u, identity, err
	}
	identity = storage.Identity{Issuer: p.Issuer, Subject: p.Subject, CreatedAt: oauth.Now()}
	u, err = i.linkable(ctx, s, p)
	if err != nil {
		return u, identity, err
	}
	if u.ID != "" {
		identity.UserID = u.ID
		linked := events.Event{Kind: events.FactorAdded, Person: u, By: events.By(u), Object: i.object(p.Issuer), Detail: "address"}
		err = i.people.store.LinkIdentity(events.Attach(ctx, linked), identity, u, i.people.notices.FactorChanged(u, notices.AccountAdded)...)
		i.people.notices.Wake()
		if err == nil {
			i.people.log.Info("an identity of another server was linked to the person who has the same verified address", "subject", u.ID, "server", s.Name)
		}
	} else {
		u, err = i.newPerson(s, p)
		if err != nil {
			return u, identity, err
		}
		identity.UserID = u.ID
		added := events.Event{Kind: events.PersonAdded, Person: u, By: events.By(u), Object: i.object(p.Issuer), Detail: "server"}
		var missing []string
		missing, err = i.people.store.AddUserWithIdentity(events.Attach(ctx, added), u, identity, s.invitations())
		i.people.logMissing(u.ID, missing)
		if errors.Is(err, storage.ErrConflict) || errors.Is(err, storage.ErrAddressTaken) {
			return u, identity, s.addressTaken()
		}
	}
	// The same person has signed in twice at this moment, or the account has changed: what is stored by
	// now decides.
	if errors.Is(err, storage.ErrSpent) || errors.Is(err, storage.ErrConflict) {
		u, identity, err = i.known(ctx, s, p)
		if errors.Is(err, storage.ErrNotFound) {
			err = s.unknown()
		}
		return u, identity, err
	}
	if err != nil {
		return u, identity, oauth.Unavailable(err)
	}
	return u, identity, nil
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
		return u, identity, s.refuse("the account is disabled", "Your account here is disabled. Ask an administrator of this server.")
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
	return found[0], nil
}

// newPerson returns the account of a person who comes without one, or an Error if the operator does not
// allow it. The address is the user name, because the other server has verified it: names that people
// choose there could look like those of others here.
func (i *Identities) newPerson(s *server, p upstream.Person) (storage.User, error) {
	if !s.mayBeNew(p) {
		return storage.User{}, s.unknown()
	}
	person := Person{Username: p.Email, Email: p.Email, FirstName: usable(p.GivenName), LastName: usable(p.FamilyName), Profile: &Profile{EmailVerified: s.TrustedForEmail}}
	if person.FirstName == "" && person.LastName == "" { // the server does not say which part of the name is which
		person.FirstName = usable(p.Name)
	}
	found := &oauth.Invalid{}
	person.check(found)
	if found.At("username") != "" { // addresses have more characters than user names
		person.Username = "person-" + seal.Identifier()[:12]
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
	return s.NewPeople == NewPeopleInvited || s.NewPeople == NewPeopleDomains && slices.Contains(s.AllowedDomains, strings.ToLower(p.Email[at+1:]))
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

// isASCII reports whether a text has only characters of ASCII that can be seen.
func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
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
		"This account of %[1]s is not known here. If you have an account here, sign in with your password or a passkey, and add %[1]s on your account page. Otherwise ask an administrator of this server.", s.Label)
}

// addressTaken returns the Error for a new person whose address somebody here has. That may be the same
// person, and it may be somebody who has typed the address of another person.
func (s *server) addressTaken() *oauth.Error {
	return s.refuse("an account has the address of the new person",
		"There is an account with your address here already. Sign in to it with your password or a passkey, and add %s on your account page. If it is not your account, ask an administrator of this server.", s.Label).Because(storage.ErrAddressTaken)
}

// setGroups makes a person a member of the groups that the other server's claim is mapped to. It does not
// change groups to which nothing is mapped.
func (i *Identities) setGroups(ctx context.Context, s *server, u storage.User, p upstream.Person) error {
	if len(s.Groups) == 0 {
		return nil
	}
	values := p.Values(s.GroupsClaim)
	var mapped, member []string
	for _, m := range s.Groups {
		mapped = append(mapped, m.To)
		if slices.Contains(values, m.From) {
			member = append(member, m.To)
		}
	}
	changed := events.Event{Kind: events.PersonChanged, Person: u, By: &origin.Actor{Kind: origin.Server}, Object: i.object(p.Issuer), Detail: "groups"}
	missing, err := i.people.store.SetMappedGroups(events.Attach(ctx, changed), u.ID, mapped, member)
	if len(missing) > 0 {
		i.people.log.Warn("groups of SIGN_IN_SERVERS do not exist, so nobody becomes a member: add them, or change GROUPS", "server", s.Name, "groups", missing)
	}
	return oauth.Stored(err)
}
