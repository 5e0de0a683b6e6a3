package storage

import "context"

// AddressChanges stores the changes of addresses that people make themselves.
type AddressChanges struct{ Store *Store }

// AddressChange is what changes together with an address.
type AddressChange struct {
	Profile func(profile string) (string, error) // the profile with the new address
	Back    *NewLink                             // to the former address; nil: none
	Notices []NewMail
}

const linkColumns = `digest, kind, user_id, email, created_at, expires_at, next_email, session_id`

// Link reads a link that works, and its person. It changes nothing.
func (a AddressChanges) Link(ctx context.Context, digest, kind string, now int64) (Link, User, error) {
	var l Link
	var u User
	err := a.Store.get(ctx, &l, `SELECT `+linkColumns+` FROM links WHERE digest = $1 AND `+whoMay, digest, kind, now)
	if err == nil {
		u, err = a.Store.UserByID(ctx, l.UserID)
	}
	return l, u, err
}

// Confirm uses a link of this person and this session: the person gets the address to which it was sent. It returns
// ErrSpent if the link does not work, and ErrAddressTaken if somebody else has the address by now.
func (a AddressChanges) Confirm(ctx context.Context, digest string, r Renewal, now int64, c AddressChange) error {
	return a.Store.atomically(ctx, func(t tx) error {
		// Additions and changes of people run one after another, so each sees the addresses of the earlier ones.
		_, err := t.exec(lockPeople)
		if err == nil {
			err = spentIfNone(t.lockUser(r.Session.UserID))
		}
		if err == nil {
			err = t.renew(r)
		}
		if err != nil {
			return err
		}
		l, err := t.useLink(digest, LinkNewAddress, now)
		if err == nil && (l.UserID != r.Session.UserID || l.SessionID != r.ID) {
			err = ErrSpent // the transaction is rolled back, so the link stays
		}
		if err == nil {
			err = t.giveAddress(l, now, c)
		}
		if err == nil && c.Back != nil {
			err = t.addLink(*c.Back)
		}
		return err
	})
}

// Return uses a link that was sent to a former address: the person gets it back, whatever the address is by now. All
// sessions and token families end.
func (a AddressChanges) Return(ctx context.Context, digest string, now int64, c AddressChange) error {
	return a.Store.atomically(ctx, func(t tx) error {
		_, err := t.exec(lockPeople)
		if err != nil {
			return err
		}
		l, err := t.useLink(digest, LinkFormerAddress, now)
		if err == nil {
			err = t.giveAddress(l, now, c)
		}
		if err == nil {
			err = t.endSessionsAndGrants(l.UserID, now)
		}
		if err == nil {
			_, err = t.exec(`DELETE FROM links WHERE user_id = $1`, l.UserID)
		}
		return err
	})
}

// giveAddress gives the person of a link its next address. Links that were sent to the present one end.
func (t tx) giveAddress(l Link, now int64, c AddressChange) error {
	err := t.addressFree(l.NextEmail, l.UserID)
	var profile string
	if err == nil {
		err = t.get(&profile, `SELECT profile FROM users WHERE id = $1`, l.UserID)
	}
	if err == nil {
		profile, err = c.Profile(profile)
	}
	if err != nil {
		return err
	}
	t.changed(OfUser, l.UserID)
	_, err = t.exec(`UPDATE users SET email = $2, profile = $3, updated_at = $4 WHERE id = $1`, l.UserID, l.NextEmail,
		profile, now)
	if err == nil {
		_, err = t.exec(endLinks, l.UserID)
	}
	if err == nil {
		err = t.addNotices(c.Notices)
	}
	return err
}
