package storage

import (
	"context"
	"errors"
)

// The kinds of links.
const (
	LinkReset   = "reset"   // to the page that sets a new password
	LinkAddress = "address" // to the page that confirms an address

	LinkNewAddress    = "new-address"    // to the page that confirms another address, which it was sent to
	LinkFormerAddress = "former-address" // to the page that undoes that
)

// Link leads a person to a page that works once. The database holds only the digest of the
// secret in it. It ends when its person is disabled or deleted, gets another password or another
// address. One that was sent to a former address stays then: whoever has taken the account over may change both.
type Link struct {
	Digest    string `db:"digest"`
	Kind      string `db:"kind"`
	UserID    string `db:"user_id"`
	Email     string `db:"email"` // the address of the person, to which it was sent
	CreatedAt int64  `db:"created_at"`
	ExpiresAt int64  `db:"expires_at"`
	NextEmail string `db:"next_email"` // the address that the person gets by it
	SessionID string `db:"session_id"` // the only session in which it works; "": in any
}

// NewLink is a link, and the message that contains it, if there is one.
type NewLink struct {
	Link
	Mail  *NewMail
	Event *Event // of AnswerMail; nil: none
}

// AddLink stores a link, and its message. It returns ErrSpent if the person is disabled or has
// another address, and ErrFull if there are too many messages.
func (s *Store) AddLink(ctx context.Context, l NewLink) error {
	return s.atomically(ctx, func(t tx) error { return t.addLink(l) })
}

func (t tx) addLink(l NewLink) error {
	// The person's row is a lock. A change of the address or of the password waits for this
	// link, and then ends it.
	err := t.spend(`UPDATE users SET active = TRUE WHERE id = $1 AND active AND email = $2`, l.UserID, l.Email)
	if err == nil && l.Mail != nil {
		err = t.countMail(*l.Mail)
	}
	if err == nil {
		_, err = t.exec(`INSERT INTO links (`+linkColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
			l.Digest, l.Kind, l.UserID, l.Email, l.CreatedAt, l.ExpiresAt, l.NextEmail, l.SessionID)
	}
	if err != nil || l.Mail == nil {
		return err
	}
	counted := *l.Mail
	counted.Limit.Recipient = ""
	err = t.addMail(counted)
	if errors.Is(err, ErrFull) {
		// A link that nobody gets must not remain.
		_, gone := t.exec(`DELETE FROM links WHERE digest = $1`, l.Digest)
		err = errors.Join(err, gone)
	}
	return err
}

// whoMay is the condition under which a link works: its person is enabled and still has the
// address, unless it is the way back from another one.
const whoMay = `links.kind = $2 AND links.expires_at > $3 AND EXISTS (SELECT 1 FROM users u WHERE u.id = links.user_id
	AND u.active AND (u.email = links.email OR links.kind = '` + LinkFormerAddress + `'))`

// LinkByDigest reads a link that works, and its person. It changes nothing.
func (s *Store) LinkByDigest(ctx context.Context, digest, kind string, now int64) (User, error) {
	var u User
	err := s.get(ctx, &u, `SELECT `+userColumns+` FROM users WHERE id = (SELECT user_id FROM links WHERE digest = $1
		AND `+whoMay+`)`, digest, kind, now)
	return u, err
}

// useLink uses a link. Only one of several calls succeeds, and the others get ErrSpent.
func (t tx) useLink(digest, kind string, now int64) (Link, error) {
	var l Link
	err := t.write(&l, `DELETE FROM links WHERE digest = $1 AND `+whoMay+
		` RETURNING `+linkColumns, digest, kind, now)
	return l, spentIfNone(err)
}

// ResetByLink uses a link to replace the password of its person, as SetPassword does.
func (s *Store) ResetByLink(ctx context.Context, digest, hash string, now int64, notices ...NewMail) error {
	return s.atomically(ctx, func(t tx) error {
		l, err := t.useLink(digest, LinkReset, now)
		if err != nil {
			return err
		}
		return t.setPassword(l.UserID, hash, now, notices)
	})
}

// ConfirmByLink uses a link of this person, and changes the profile while the address is the one
// to which the link was sent. confirmed returns the changed profile. The session in which the person does so is
// renewed: people sign in with a confirmed address.
func (s *Store) ConfirmByLink(ctx context.Context, digest string, r Renewal, now int64,
	confirmed func(profile string) (string, error)) error {
	userID := r.Session.UserID
	return s.atomically(ctx, func(t tx) error {
		err := t.spend(`UPDATE users SET active = TRUE WHERE id = $1 AND active`, userID) // a lock
		if err == nil {
			err = t.renew(r)
		}
		if err != nil {
			return err
		}
		l, err := t.useLink(digest, LinkAddress, now)
		if err == nil && l.UserID != userID {
			err = ErrSpent // the transaction is rolled back, so the link stays
		}
		if err != nil {
			return err
		}
		var profile string
		err = t.get(&profile, `SELECT profile FROM users WHERE id = $1`, userID)
		if err == nil {
			profile, err = confirmed(profile)
		}
		if err != nil {
			return err
		}
		t.changed(OfUser, userID)
		_, err = t.exec(`UPDATE users SET profile = $2, updated_at = $3 WHERE id = $1`, userID, profile, now)
		return err
	})
}

// UsersByEmail lists enabled people with an address, in any case.
func (s *Store) UsersByEmail(ctx context.Context, email string, limit int) ([]User, error) {
	var users []User
	err := s.all(ctx, &users, `SELECT `+userColumns+` FROM users WHERE LOWER(email) = LOWER($1) AND active
		ORDER BY number LIMIT $2`, email, limit)
	return users, err
}
