package people

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"mandate/provider/events"
	"mandate/provider/limits"
	"mandate/provider/oauth"
	"mandate/provider/seal"
	"mandate/storage"
)

// formerAddressLife is how long the way back to a former address works.
const formerAddressLife = 3 * 24 * time.Hour

// MayChangeAddress returns ErrNotFound if people may not change their address, and ErrConfirm if the person must sign
// in again first.
func (p *People) MayChangeAddress(ctx context.Context, s *storage.SignedIn) error {
	if !p.Edits(OwnEmail) {
		return oauth.ErrNotFound
	}
	return p.Confirmed(ctx, s)
}

// AskNewAddress sends a link to the address that a person wants to have from now on. Nobody learns here whether another
// account has it: whoever reads its mail does. It returns an Invalid for mistakes in the form.
func (p *People) AskNewAddress(ctx context.Context, s *storage.SignedIn, email string, b Browser) error {
	err := p.MayChangeAddress(ctx, s)
	if err != nil {
		return err
	}
	u, found := s.User, &oauth.Invalid{}
	email, wrong := readAddress(email)
	switch {
	case wrong != "":
		found.Fields = append(found.Fields, oauth.FieldError{Field: "email", Message: wrong})
	case sameAddress(email, u.Email):
		found.Add("email", "This is your address already.")
	case !p.hasDomain(email):
		found.Add("email", "Use an address that ends in @%s.", strings.Join(p.config.SignUpDomains, ", @"))
	}
	if err := found.Err(); err != nil {
		return err
	}
	// The tries are never given back: each request may send a message.
	_, err = p.limits.Request(limits.MessageTo("new address ", strings.ToLower(email), b.Address)...)
	if err != nil {
		return err
	}
	taken, err := p.store.UsersByAddress(ctx, email)
	if err != nil {
		return oauth.Unavailable(err)
	}
	l, secret := newLink(u, storage.LinkNewAddress, addressLife)
	l.NextEmail, l.SessionID = email, s.Session.ID
	at := p.config.Base + "/account/email/" + secret + "/"
	if slices.ContainsFunc(taken, func(other storage.User) bool { return other.ID != u.ID }) {
		at = "" // the same is stored, and nobody has the secret of the link
	}
	m := p.notices.NewAddress(u, l.Link, at)
	l.Mail = &m
	asked := events.Event{Kind: events.AddressLink, Person: u, Detail: "new"}
	err = p.store.AddLink(events.Attach(ctx, asked), l)
	switch {
	case errors.Is(err, storage.ErrFull):
		return oauth.Later(http.StatusTooManyRequests, time.Hour, "Too many messages were sent to this address. Try again "+
			"in an hour.")
	case errors.Is(err, storage.ErrSpent):
		return oauth.ErrNotFound // the address has changed at this moment
	case err != nil:
		return oauth.Unavailable(err)
	}
	p.notices.Wake()
	return nil
}

// hasDomain reports whether people may have an address that they choose themselves.
func (p *People) hasDomain(email string) bool {
	at := strings.LastIndex(email, "@")
	return len(p.config.SignUpDomains) == 0 || slices.Contains(p.config.SignUpDomains, strings.ToLower(email[at+1:]))
}

// NewAddressLink returns the address that a link gives this person, who asked for it in this session, or ErrNotFound.
// It changes nothing: mail scanners open links too.
func (p *People) NewAddressLink(ctx context.Context, s *storage.SignedIn, secret string) (string, error) {
	l, _, err := p.addresses().Link(ctx, seal.Digest(secret), storage.LinkNewAddress, oauth.Now())
	if err == nil && (l.UserID != s.User.ID || l.SessionID != s.Session.ID || !p.Edits(OwnEmail)) {
		return "", oauth.ErrNotFound
	}
	return l.NextEmail, oauth.Stored(err)
}

// ConfirmNewAddress uses the link. The former address gets a message, with the way back if it was confirmed. The
// session gets another cookie. It returns ErrNotFound if the link does not work, or somebody has the address by now.
func (p *People) ConfirmNewAddress(ctx context.Context, s *storage.SignedIn, secret string) (*SignIn, error) {
	next, err := p.NewAddressLink(ctx, s, secret)
	if err != nil {
		return nil, err
	}
	profile, err := ProfileOf(s.User)
	if err != nil {
		return nil, err
	}
	change := storage.AddressChange{Profile: confirmedAddress(s.User.ID)}
	if former := s.User; former.Email != "" && profile.EmailVerified {
		changed := former
		changed.Email = next
		back, way := newLink(changed, storage.LinkFormerAddress, formerAddressLife)
		back.NextEmail = former.Email
		m := p.notices.FormerAddress(former, &back.Link, p.config.Base+"/account/email/back/"+way+"/")
		back.Mail, change.Back = &m, &back
	} else if former.Email != "" {
		// Nobody has shown that the former address is theirs, so it gets no way into the account.
		change.Notices = append(change.Notices, p.notices.FormerAddress(former, nil, ""))
	}
	r, in := renewal(s)
	changed := events.Event{Kind: events.PersonChanged, Person: s.User, Detail: "email"}
	err = p.addresses().Confirm(events.Attach(ctx, changed), seal.Digest(secret), r, oauth.Now(), change)
	switch {
	case errors.Is(err, storage.ErrSpent), errors.Is(err, storage.ErrAddressTaken):
		return nil, oauth.ErrNotFound
	case errors.Is(err, storage.ErrFull):
		return nil, oauth.Later(http.StatusTooManyRequests, time.Hour, "Too many messages were sent to this address. Try "+
			"again in an hour.")
	case err != nil:
		return nil, oauth.Stored(err)
	}
	p.notices.Wake()
	return in, nil
}

// FormerAddressLink returns the person to whom a link gives a former address back, and the address, or ErrNotFound. It
// changes nothing.
func (p *People) FormerAddressLink(ctx context.Context, secret string) (storage.User, string, error) {
	l, u, err := p.addresses().Link(ctx, seal.Digest(secret), storage.LinkFormerAddress, oauth.Now())
	return u, l.NextEmail, oauth.Stored(err)
}

// ReturnAddress uses the link: the account has the former address again, and everybody is signed out. It begins no
// session.
func (p *People) ReturnAddress(ctx context.Context, secret string) error {
	u, _, err := p.FormerAddressLink(ctx, secret)
	if err != nil {
		return err
	}
	by := events.By(u)
	ctx = events.Attach(ctx, events.Event{Kind: events.PersonChanged, Person: u, By: by, Detail: "email"},
		events.Event{Kind: events.AllEnded, Person: u, By: by})
	change := storage.AddressChange{Profile: confirmedAddress(u.ID)}
	if u.Email != "" {
		change.Notices = append(change.Notices, p.notices.FormerAddress(u, nil, ""))
	}
	err = p.addresses().Return(ctx, seal.Digest(secret), oauth.Now(), change)
	if errors.Is(err, storage.ErrSpent) || errors.Is(err, storage.ErrAddressTaken) {
		return oauth.ErrNotFound
	}
	if err != nil {
		return oauth.Stored(err)
	}
	p.Ended.Ring()
	p.notices.Wake()
	return nil
}

func (p *People) addresses() storage.AddressChanges { return storage.AddressChanges{Store: p.store} }
