package people

import (
	"context"
	"crypto/subtle"
	"errors"

	"mandate/provider/events"
	"mandate/provider/oauth"
	"mandate/provider/seal"
	"mandate/storage"
)

// SetupLink returns the secret part of the first administrator's link, or "" if the
// server has an account already.
func (p *People) SetupLink(ctx context.Context) (string, error) {
	somebody, err := p.store.HasUsers(ctx)
	if err != nil || somebody {
		return "", err
	}
	return p.setup, nil
}

// NoAccount reports whether the server has no account yet. It asks the database only
// until there is one, because anybody can open the start page.
func (p *People) NoAccount(ctx context.Context) (bool, error) {
	if p.settled.Load() {
		return false, nil
	}
	somebody, err := p.store.HasUsers(ctx)
	if err != nil {
		return false, oauth.Unavailable(err)
	}
	p.settled.Store(somebody)
	return !somebody, nil
}

// Setup creates the first administrator, or returns ErrNotFound if the link is wrong or
// used. The link works once: the store refuses to add a first account if there is another
// one.
func (p *People) Setup(ctx context.Context, link string, person Person) error {
	err := p.CheckSetup(ctx, link)
	if err != nil {
		return err
	}
	u, err := p.newUser(ctx, person)
	if err != nil {
		return err
	}
	u.Administrator = true
	added := events.Event{Kind: events.PersonAdded, Person: u, By: events.Nobody(), Detail: "first"}
	err = p.store.AddFirstUser(events.Attach(ctx, added,
		events.Event{Kind: events.PersonPromoted, Person: u, By: events.Nobody()}), u)
	if errors.Is(err, storage.ErrSpent) {
		return oauth.ErrNotFound
	}
	if err != nil {
		return oauth.Unavailable(err)
	}
	return nil
}

// CheckSetup returns ErrNotFound if the link is wrong or used.
func (p *People) CheckSetup(ctx context.Context, link string) error {
	// The secret is compared before the database is read, because anybody can send a
	// link.
	if subtle.ConstantTimeCompare([]byte(seal.Digest(link)), []byte(seal.Digest(p.setup))) != 1 {
		return oauth.ErrNotFound
	}
	stands, err := p.SetupLink(ctx)
	if err != nil {
		return oauth.Unavailable(err)
	}
	if stands == "" {
		return oauth.ErrNotFound
	}
	return nil
}
