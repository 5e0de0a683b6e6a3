package storage

import (
	"context"
	"slices"
)

// Holder is a person with the rights that decide who may act on the account.
type Holder struct {
	User
	Groups      []string
	Administers []string // the groups that the person administers
	Owns        bool     `db:"owns"`    // applications
	Stopped     bool     `db:"stopped"` // an administrator, and none of a group, has disabled the account
}

// The acts of an administrator of a group on a member.
const (
	ActRemove  = "remove"  // from the group
	ActDisable = "disable" // the account
	ActEnable  = "enable"
	ActFactors = "factors" // removes the second factor
	ActLink    = "link"    // sends a link that sets a new password
)

// Delegated is what an administrator of a group does to a member.
type Delegated struct {
	By, Of string // the IDs of both
	Group  string
	Act    string
	At     int64

	// May returns an error unless By may do this to Of. It is called in the transaction, after which nobody gets a right
	// before the act is stored.
	May     func(by, of Holder) error
	Link    *NewLink // of ActLink
	Notices []NewMail
}

// Delegate does what an administrator of a group does to a member. It returns ErrNotFound if one of them is missing,
// and the error of May. It returns ErrSpent if the person of a link is disabled.
func (s *Store) Delegate(ctx context.Context, d Delegated) error {
	return s.atomically(ctx, func(t tx) error {
		err := t.mayDelegate(d)
		if err != nil {
			return err
		}
		switch d.Act {
		case ActRemove:
			t.changed(OfUser, d.Of)
			_, err = t.regroup(d.Of, regrouping{leave: []string{d.Group}}, d.At)
		case ActDisable:
			err = t.disable(d.Of, true, d.At)
		case ActEnable:
			err = t.enable(d.Of, d.At)
		case ActFactors:
			err = t.resetFactors(d.Of, d.At)
		case ActLink:
			err = t.addLink(*d.Link)
		}
		if err == nil {
			err = t.addNotices(d.Notices)
		}
		return err
	})
}

// mayDelegate asks May about both people as they are. Changes of people, of their groups and of who administers which
// group wait, and so do registrations of applications by the member.
func (t tx) mayDelegate(d Delegated) error {
	_, err := t.exec(lockPeople)
	if err == nil {
		err = t.lockUser(d.Of)
	}
	if err != nil {
		return err
	}
	by, err := t.holder(d.By, d.At)
	if err != nil {
		return err
	}
	of, err := t.holder(d.Of, d.At)
	if err != nil {
		return err
	}
	return d.May(by, of)
}

const holdingUser = `SELECT ` + userColumns + `, EXISTS (SELECT 1 FROM applications WHERE owner_id = $1) AS owns,
	NOT active AND NOT delegate_disabled AS stopped FROM users WHERE id = $1`

func (t tx) holder(id string, now int64) (Holder, error) {
	var h Holder
	err := t.get(&h, holdingUser, id)
	if err == nil {
		h.Groups, err = t.texts(groupsOf, id, now)
	}
	if err == nil {
		h.Administers, err = t.texts(administered, id)
	}
	return h, err
}

// HolderOf reads a person with the rights that decide who may act on the account.
func (s *Store) HolderOf(ctx context.Context, id string, now int64) (Holder, error) {
	var h Holder
	err := s.get(ctx, &h, holdingUser, id)
	if err == nil {
		err = s.all(ctx, &h.Groups, groupsOf, id, now)
	}
	if err == nil {
		err = s.all(ctx, &h.Administers, administered, id)
	}
	return h, err
}

const administered = `SELECT group_name FROM group_administrators WHERE user_id = $1 ORDER BY group_name`

// Administered lists the groups that a person administers.
func (s *Store) Administered(ctx context.Context, userID string) ([]string, error) {
	var names []string
	err := s.all(ctx, &names, administered, userID)
	return names, err
}

// MemberList lists the members of a group by number, and returns the number of all.
func (s *Store) MemberList(ctx context.Context, group string, now int64, limit, offset int) ([]User, int, error) {
	members := ` FROM users WHERE id IN (SELECT m.user_id FROM memberships m WHERE m.group_name = $1 AND ` +
		inForce("$2") + `)`
	var total int
	err := s.get(ctx, &total, `SELECT COUNT(*)`+members, group, now)
	if err != nil {
		return nil, 0, err
	}
	var found []User
	err = s.all(ctx, &found, `SELECT `+userColumns+members+` ORDER BY number LIMIT $3 OFFSET $4`, group, now, limit,
		offset)
	return found, total, err
}

// Administering is the groups that a person administers, before and after a change.
type Administering struct{ Was, Is []string }

// setAdministered makes a person the administrator of exactly these groups. It returns ErrSpent if the person
// administered others than the caller has read, and ErrNotFound if a name is not the name of a group. Whoever gets a
// group is signed out everywhere, as a new administrator is.
func (t tx) setAdministered(userID string, a Administering, now int64) error {
	stored, err := t.texts(administered, userID)
	if err == nil && !slices.Equal(stored, slices.Sorted(slices.Values(a.Was))) {
		err = ErrSpent
	}
	if err == nil {
		_, err = t.exec(`DELETE FROM group_administrators WHERE user_id = $1`, userID)
	}
	more := false
	for _, name := range a.Is {
		if err == nil {
			err = t.meets(ErrNotFound, `INSERT INTO group_administrators (user_id, group_name)
				SELECT CAST($1 AS TEXT), name FROM groups WHERE name = $2`, userID, name)
		}
		more = more || !slices.Contains(stored, name)
	}
	if err == nil && more {
		_, err = t.endSessions(now, false, `user_id = $1`, userID)
	}
	return err
}

// disable disables an account, and ends what hangs on it. byDelegate says that an administrator of a group does it:
// what an administrator has disabled before stays so.
func (t tx) disable(id string, byDelegate bool, now int64) error {
	err := t.one(`UPDATE users SET active = FALSE, delegate_disabled = $2 AND (active OR delegate_disabled) WHERE id = $1`,
		id, byDelegate)
	if err == nil {
		err = t.endSessionsAndGrants(id, now)
	}
	if err == nil {
		_, err = t.exec(endInvitations, id)
	}
	return err
}

// enable lets a person sign in again.
func (t tx) enable(id string, now int64) error {
	wasDisabled, err := t.exec(`UPDATE users SET active = TRUE, delegate_disabled = FALSE
		WHERE id = $1 AND NOT active`, id)
	if err == nil && wasDisabled > 0 {
		// A login that began while the person was disabled must not become valid.
		err = t.endSessionsAndGrants(id, now)
	}
	return err
}
