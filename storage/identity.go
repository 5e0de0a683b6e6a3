package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Identity is a person of another server, with which a person signs in here.
type Identity struct {
	Issuer     string `db:"issuer"`
	Subject    string `db:"subject"`
	UserID     string `db:"user_id"`
	CreatedAt  int64  `db:"created_at"`
	LastUsedAt int64  `db:"last_used_at"` // 0: never
}

const identityColumns = `issuer, subject, user_id, created_at, last_used_at`

// ErrLastWay means that the person could not sign in any more.
var ErrLastWay = errors.New("no way to sign in would be left")

// Ways says which ways to sign in a person can use at this server, beside the password.
type Ways struct {
	Passkeys bool
	Issuers  []string // of identities
}

// Identity reads an identity.
func (s *Store) Identity(ctx context.Context, issuer, subject string) (Identity, error) {
	var i Identity
	err := s.get(ctx, &i, `SELECT `+identityColumns+` FROM identities WHERE issuer = $1 AND subject = $2`, issuer, subject)
	return i, err
}

// IdentitiesOf lists the identities of a person, the oldest first.
func (s *Store) IdentitiesOf(ctx context.Context, userID string) ([]Identity, error) {
	var found []Identity
	err := s.all(ctx, &found, `SELECT `+identityColumns+` FROM identities WHERE user_id = $1 ORDER BY created_at, issuer,
		subject`, userID)
	return found, err
}

// addIdentity stores an identity, or returns ErrConflict if anybody has it.
func (t tx) addIdentity(i Identity) error {
	return t.meets(ErrConflict, `INSERT INTO identities (`+identityColumns+`) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (issuer, subject) DO NOTHING`,
		i.Issuer, i.Subject, i.UserID, i.CreatedAt, i.LastUsedAt)
}

// AddIdentity stores an identity that a person adds in a session, which is renewed. It returns ErrSpent if the session
// has ended, ErrFull if the person has most identities already, and ErrConflict if anybody has this
// one. The person is locked, so that the second of two concurrent calls counts the first one.
func (s *Store) AddIdentity(ctx context.Context, i Identity, r Renewal, most int, notices ...NewMail) error {
	r.Session.UserID = i.UserID
	return s.atomically(ctx, func(t tx) error {
		err := t.spend(`UPDATE users SET active = active WHERE id = $1 AND active`, i.UserID)
		if err == nil {
			err = t.renew(r)
		}
		var n int
		if err == nil {
			err = t.get(&n, `SELECT COUNT(*) FROM identities WHERE user_id = $1`, i.UserID)
		}
		if err == nil && n >= most {
			err = ErrFull
		}
		if err == nil {
			err = t.addIdentity(i)
		}
		if err == nil {
			err = t.addNotices(notices)
		}
		return err
	})
}

// IdentityLink is an identity for a person whose address and profile led to it. It is stored together with the session
// that begins with it: before that, the person has not shown the second factor.
type IdentityLink struct {
	Identity
	Email, Profile string // as they were read
	Most           int    // how many identities the person may have
}

// link stores an identity. It returns ErrSpent if the address or the profile has changed, or the person has or had an
// identity of this issuer: somebody else may have the address there by now. It returns ErrFull if the person has most
// identities already, and ErrConflict if anybody has this one.
func (t tx) link(l IdentityLink) error {
	err := t.spend(`UPDATE users SET active = active WHERE id = $1 AND active AND email = $2 AND profile = $3 AND NOT `+
		hadIdentity(1, 4), l.UserID, l.Email, l.Profile, l.Issuer)
	var n int
	if err == nil {
		err = t.get(&n, `SELECT COUNT(*) FROM identities WHERE user_id = $1`, l.UserID)
	}
	if err == nil && n >= l.Most {
		err = ErrFull
	}
	if err == nil {
		err = t.addIdentity(l.Identity)
	}
	return err
}

// hadIdentity is the condition that a person has or had an identity of an issuer.
func hadIdentity(user, issuer int) string {
	return fmt.Sprintf(`(EXISTS (SELECT 1 FROM identities WHERE user_id = $%[1]d AND issuer = $%[2]d) OR EXISTS (SELECT 1
		FROM former_identities WHERE user_id = $%[1]d AND issuer = $%[2]d))`, user, issuer)
}

// HadIdentity reports whether a person has or had an identity of an issuer.
func (s *Store) HadIdentity(ctx context.Context, userID, issuer string) (bool, error) {
	var had bool
	err := s.get(ctx, &had, `SELECT `+hadIdentity(1, 2), userID, issuer)
	return had, err
}

// Invited says what the invitations for the address of a new person are to AddUserWithIdentity.
type Invited int

const (
	InvitedIgnored Invited = iota // they stay: nobody has shown the address to a server that counts
	InvitedTaken                  // they are used, if there are any
	InvitedNeeded                 // there must be one, and they are used
)

// AddUserWithIdentity stores a person who has signed in with another server for the first time. It may use
// the invitations for the address, and returns their groups that do not exist any more. It returns
// ErrSpent if anybody has the identity by now, or if the person needs an invitation and there is none,
// ErrConflict if somebody else has the username, ErrFormerName if somebody else has had it, and ErrAddressTaken if
// somebody has the address. Additions and changes of people run one after another, so each sees the addresses of the
// earlier ones.
func (s *Store) AddUserWithIdentity(ctx context.Context, u User, i Identity, invited Invited) ([]string, error) {
	var missing []string
	err := s.atomically(ctx, func(t tx) error {
		err := t.addNewcomer(u)
		if err != nil {
			return err
		}
		err = t.addIdentity(i)
		if errors.Is(err, ErrConflict) {
			return ErrSpent
		}
		if err == nil {
			err = t.addressFree(u.Email, u.ID)
		}
		var groups []string
		if err == nil && invited != InvitedIgnored {
			groups, err = t.takeInvitations(u.Email, u.CreatedAt)
		}
		if err == nil && invited == InvitedNeeded && len(groups) == 0 {
			err = ErrSpent
		}
		if err == nil {
			missing, err = t.join(u.ID, groups, u.CreatedAt)
		}
		return err
	})
	return missing, err
}

// UsersByAddress reads at most two of the people who have an address. Upper and lower case make no
// difference.
func (s *Store) UsersByAddress(ctx context.Context, address string) ([]User, error) {
	var found []User
	err := s.all(ctx, &found, `SELECT `+userColumns+` FROM users WHERE LOWER(email) = LOWER($1) LIMIT 2`, address)
	return found, err
}

// DeleteIdentity deletes an identity of a person. If the person does it, by is their session; nil: somebody else does.
// It returns ErrNotFound if the person has no such identity, ErrLastWay if the person could not sign in any more, and
// ErrSpent if the session has ended. That the person had an identity of this issuer is remembered.
func (s *Store) DeleteIdentity(ctx context.Context, i Identity, ways Ways, by *Renewal, notices ...NewMail) error {
	const remember = `INSERT INTO former_identities (user_id, issuer) VALUES ($1, $2) ON CONFLICT (user_id,
		issuer) DO NOTHING`
	return s.deleteIdentity(ctx, i, ways, by, remember, notices)
}

// ForgetIdentity is DeleteIdentity by somebody who lets the address of the person link an identity of this issuer
// again.
func (s *Store) ForgetIdentity(ctx context.Context, i Identity, ways Ways, notices ...NewMail) error {
	const forget = `DELETE FROM former_identities WHERE user_id = $1 AND issuer = $2`
	return s.deleteIdentity(ctx, i, ways, nil, forget, notices)
}

func (s *Store) deleteIdentity(ctx context.Context, i Identity, ways Ways, by *Renewal, former string,
	notices []NewMail) error {
	return s.atomically(ctx, func(t tx) error {
		err := t.lockUser(i.UserID)
		if err == nil && by != nil {
			err = t.renew(*by)
		}
		if err == nil {
			err = t.one(`DELETE FROM identities WHERE issuer = $1 AND subject = $2 AND user_id = $3`, i.Issuer,
				i.Subject, i.UserID)
		}
		if err == nil {
			_, err = t.exec(former, i.UserID, i.Issuer)
		}
		if err == nil {
			err = t.keepWay(i.UserID, ways)
		}
		if err == nil {
			err = t.addNotices(notices)
		}
		return err
	})
}

// lockUser locks a person's row until the end of the transaction. Whatever adds or ends what belongs to a person does
// it before it locks anything else: two calls must not both leave the other's way to sign in as the last one, and then
// delete it, and what is ended must not miss what is being added.
func (t tx) lockUser(id string) error {
	return t.one(`UPDATE users SET active = active WHERE id = $1`, id)
}

// keepWay returns ErrLastWay if a person has no way to sign in. The caller has locked the person.
func (t tx) keepWay(userID string, ways Ways) error {
	var direct bool
	err := t.get(&direct, `SELECT EXISTS (SELECT 1 FROM users WHERE id = $1 AND password <> '') OR $2 AND EXISTS (SELECT 1
		FROM passkeys WHERE user_id = $1)`, userID, ways.Passkeys)
	if err != nil || direct {
		return err
	}
	issuers, err := t.texts(`SELECT issuer FROM identities WHERE user_id = $1`, userID)
	if err == nil && !slices.ContainsFunc(issuers,
		func(issuer string) bool { return slices.Contains(ways.Issuers, issuer) }) {
		err = ErrLastWay
	}
	return err
}

// useIdentity stores the use of the identity with which a session begins. It returns ErrSpent if the
// person does not have it any more.
func (t tx) useIdentity(n Session) error {
	if n.Issuer == "" {
		return nil
	}
	return t.spend(`UPDATE identities SET last_used_at = $4 WHERE issuer = $1 AND subject = $2 AND user_id = $3`, n.Issuer,
		n.Subject, n.UserID, n.SeenAt)
}

// SetMappedGroups makes a person a member of those of the mapped groups that are in member, and of no
// other mapped group. Groups that are not mapped stay as they are, and a mapped group that does not
// exist is skipped. It returns the names of those.
func (s *Store) SetMappedGroups(ctx context.Context, userID string, mapped, member []string, now int64) ([]string,
	error) {
	var missing []string
	err := s.atomically(ctx, func(t tx) error {
		missing = nil
		// The person is locked: of two sign-ins at the same moment, the second one decides.
		err := t.lockUser(userID)
		var was []string
		if err == nil {
			was, err = t.texts(groupsOf, userID, now)
		}
		if err != nil {
			return err
		}
		var r regrouping
		for _, group := range slices.Compact(slices.Sorted(slices.Values(mapped))) {
			switch wanted := slices.Contains(member, group); {
			case wanted == slices.Contains(was, group):
			case wanted:
				r.join = append(r.join, group)
			default:
				r.leave = append(r.leave, group)
			}
		}
		if len(r.join)+len(r.leave) > 0 {
			missing, err = t.regroup(userID, r, now)
		}
		if len(missing) == len(r.join)+len(r.leave) {
			t.unchanged()
		} else {
			t.changed(OfUser, userID)
		}
		return err
	})
	return missing, err
}
