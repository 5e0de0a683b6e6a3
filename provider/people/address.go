package people

import (
	"context"
	"errors"
	"net/http"
	"time"

	"mandate/provider/events"
	"mandate/provider/oauth"
	"mandate/provider/seal"
	"mandate/storage"
)

// addressLife is how long a link that confirms an address works.
const addressLife = 24 * time.Hour

// changedProfile returns the profile that an administrator's form gives a person. Another address
// is not a verified one, unless the form itself says so: a box that was ticked for the former
// address says nothing. A command names what it changes, so its Verified says that of the new address.
func changedProfile(before storage.User, person Person) (string, error) {
	former, err := ProfileOf(before)
	if err != nil {
		return "", err
	}
	next := former
	if person.Profile != nil {
		next = *person.Profile
	} else if before.Email == person.Email {
		return before.Profile, nil
	}
	if before.Email != person.Email && former.EmailVerified && !person.Verified {
		next.EmailVerified = false
	}
	return next.store()
}

// MayVerify reports whether a person can ask for a message that verifies the address.
func (p *People) MayVerify(u storage.User) (bool, error) {
	profile, err := ProfileOf(u)
	return p.notices.On() && u.Email != "" && !profile.EmailVerified, err
}

// AskAddress sends a person a link that verifies the address.
func (p *People) AskAddress(ctx context.Context, s *storage.SignedIn) error {
	may, err := p.MayVerify(s.User)
	if err != nil {
		return err
	}
	if !may {
		return oauth.ErrNotFound
	}
	l, secret := newLink(s.User, storage.LinkAddress, addressLife)
	m := p.notices.Address(s.User, l.Link, p.config.Base+"/account/address/"+secret+"/")
	l.Mail = &m
	err = p.store.AddLink(events.Attach(ctx, events.Event{Kind: events.AddressLink, Person: s.User}), l)
	if errors.Is(err, storage.ErrFull) {
		return oauth.Later(http.StatusTooManyRequests, time.Hour, "Too many messages were sent to this address. Try again "+
			"in an hour.")
	}
	if errors.Is(err, storage.ErrSpent) {
		return oauth.ErrNotFound // the address has changed at this moment
	}
	if err != nil {
		return oauth.Unavailable(err)
	}
	p.notices.Wake()
	return nil
}

// AddressLink returns ErrNotFound unless a link verifies the address of this person. It changes
// nothing.
func (p *People) AddressLink(ctx context.Context, s *storage.SignedIn, secret string) error {
	u, err := p.linked(ctx, secret, storage.LinkAddress)
	if err == nil && u.ID != s.User.ID {
		err = oauth.ErrNotFound
	}
	return err
}

// VerifyAddress uses a link that verifies the address. The person must be signed in. Otherwise
// somebody with another person's address in the account could make that person confirm it, and
// would be taken for that person by applications that trust a verified address. The session gets another cookie.
func (p *People) VerifyAddress(ctx context.Context, s *storage.SignedIn, secret string) (*SignIn, error) {
	r, in := renewal(s)
	err := p.store.ConfirmByLink(events.Attach(ctx, events.Event{Kind: events.AddressVerified, Person: s.User}),
		seal.Digest(secret), r, oauth.Now(), confirmedAddress(s.User.ID))
	if errors.Is(err, storage.ErrSpent) {
		return nil, oauth.ErrNotFound
	}
	return in, oauth.Stored(err)
}

// confirmedAddress returns what a profile becomes when its person has shown that they read the mail of the address.
func confirmedAddress(id string) func(string) (string, error) {
	return func(stored string) (string, error) {
		profile, err := ProfileOf(storage.User{ID: id, Profile: stored})
		if err != nil {
			return "", err
		}
		profile.EmailVerified = true
		return profile.store()
	}
}
