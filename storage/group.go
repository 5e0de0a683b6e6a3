package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Group is a named set of people.
type Group struct {
	Name    string `db:"name"`
	Members int    `db:"members"`
}

// AddGroup stores a group. It returns ErrConflict if the name is taken.
func (s *Store) AddGroup(ctx context.Context, name string, now int64) error {
	_, err := s.exec(ctx, `INSERT INTO groups (name, created_at) VALUES ($1, $2)`, name, now)
	return err
}

// Groups lists all groups by name, with the number of members of each.
func (s *Store) Groups(ctx context.Context, now int64) ([]Group, error) {
	var groups []Group
	err := s.all(ctx, &groups, `SELECT g.name, COUNT(m.user_id) AS members FROM groups g LEFT
		JOIN memberships m ON m.group_name = g.name AND `+inForce("$1")+` GROUP BY g.name ORDER BY g.name`, now)
	return groups, err
}

// groupsOf selects the names of the groups of a person, at a time.
var groupsOf = `SELECT m.group_name FROM memberships m WHERE m.user_id = $1 AND ` + inForce("$2") +
	` ORDER BY m.group_name`

// GroupsOf lists the names of a person's groups.
func (s *Store) GroupsOf(ctx context.Context, userID string, now int64) ([]string, error) {
	var names []string
	err := s.all(ctx, &names, groupsOf, userID, now)
	return names, err
}

// MembersOf lists the usernames of the members of a group.
func (s *Store) MembersOf(ctx context.Context, name string, now int64) ([]string, error) {
	var names []string
	err := s.all(ctx, &names, `SELECT u.username FROM memberships m JOIN users u ON u.id = m.user_id
		WHERE m.group_name = $1 AND `+inForce("$2")+` ORDER BY u.number`, name, now)
	return names, err
}

// RenameGroup gives a group another name. Its members and administrators stay, and open invitations lead to it.
// inClaims changes the name in the claim rules of an application. It returns ErrNotFound if there is no such group, and
// ErrConflict if the new name is taken. Additions and changes of people wait for it, so that nobody joins the group
// under its former name meanwhile.
func (s *Store) RenameGroup(ctx context.Context, from, to string, inClaims func(rules string) (string, error)) error {
	return s.atomically(ctx, func(t tx) error {
		_, err := t.exec(lockPeople)
		if err == nil {
			err = t.meets(ErrNotFound, `INSERT INTO groups (name, created_at) SELECT CAST($2 AS TEXT), created_at FROM groups
				WHERE name = $1`, from, to)
		}
		if err == nil {
			_, err = t.exec(`UPDATE memberships SET group_name = $2 WHERE group_name = $1`, from, to)
		}
		if err == nil {
			_, err = t.exec(`UPDATE group_administrators SET group_name = $2 WHERE group_name = $1`, from, to)
		}
		if err == nil {
			err = t.renameInvited(from, to)
		}
		if err == nil {
			err = t.renameRestricted(from, to)
		}
		if err == nil {
			err = t.rewriteClaims(inClaims)
		}
		if err == nil {
			_, err = t.exec(`DELETE FROM groups WHERE name = $1`, from)
		}
		return err
	})
}

// naming selects something of the applications that name the group $1.
func naming(columns string) string {
	return `SELECT ` + columns + ` FROM applications a, (SELECT CAST($1 AS TEXT) AS group_name) m WHERE ` +
		inList("a.allowed_groups") + ` OR ` + inList("a.denied_groups") + ` ORDER BY LOWER(a.name), a.id`
}

// renamed is a list by line in which the name $2 is $3.
func renamed(list string) string {
	return `TRIM(REPLACE(` + padded(list) + `, ` + padded("$2") + `, ` + padded("$3") + `), '` + "\n" + `')`
}

// renameRestricted changes the name of a group in the lists of the applications.
func (t tx) renameRestricted(from, to string) error {
	ids, err := t.texts(naming("a.id"), from)
	for _, id := range ids {
		t.changed(OfApplication, id)
		if err == nil {
			_, err = t.exec(`UPDATE applications SET allowed_groups = `+renamed("allowed_groups")+`, denied_groups = `+
				renamed("denied_groups")+`, version = version + 1 WHERE id = $1`, id, from, to)
		}
	}
	return err
}

// renameInvited changes the name of a group in the invitations.
func (t tx) renameInvited(from, to string) error {
	lists, err := t.texts(`SELECT DISTINCT group_names FROM invitations WHERE group_names LIKE $1 ESCAPE '!'`,
		"%"+likeEscape.Replace(from)+"%")
	for _, list := range lists {
		names := strings.Split(list, "\n")
		for n := range names {
			if names[n] == from {
				names[n] = to
			}
		}
		if err == nil {
			_, err = t.exec(`UPDATE invitations SET group_names = $2 WHERE group_names = $1`, list, strings.Join(names, "\n"))
		}
	}
	return err
}

// GroupInUse means that applications name a group, so it cannot be deleted.
type GroupInUse struct{ Applications []string } // their names

func (e *GroupInUse) Error() string {
	return "the group is named by the applications " + strings.Join(e.Applications, ", ")
}

// DeleteGroup deletes a group, and the invitations of its administrators. Its members are not deleted. It returns a
// GroupInUse if applications name it: the group would be another one if somebody made it again.
func (s *Store) DeleteGroup(ctx context.Context, name string) error {
	return s.atomically(ctx, func(t tx) error {
		_, err := t.exec(lockPeople)
		var by []string
		if err == nil {
			by, err = t.texts(naming("a.name"), name)
		}
		if err == nil && len(by) > 0 {
			err = &GroupInUse{by}
		}
		if err == nil {
			err = t.one(`DELETE FROM groups WHERE name = $1`, name)
		}
		if err == nil {
			_, err = t.exec(`DELETE FROM invitations WHERE group_names = $1 AND NOT `+inviterMay, name)
		}
		return err
	})
}

// setGroups makes a person a member of exactly these groups. A membership that lasts until a time keeps it. It returns
// ErrNotFound if a name is not the name of a group.
func (t tx) setGroups(userID string, names []string, now int64) error {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	was, err := t.texts(groupsOf, userID, now)
	if err != nil {
		return err
	}
	var missing []string
	missing, err = t.regroup(userID, regrouping{join: without(names, was), leave: without(was, names)}, now)
	if err == nil && len(missing) > 0 {
		err = ErrNotFound
	}
	return err
}

func without(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
}

// regrouping is a change of the groups of a person.
type regrouping struct {
	join  []string
	until int64 // of the new memberships; 0: without an end
	leave []string
}

// regroup changes the groups of a person, and ends what applications have of the person and may not have any more. It
// returns the names that no group has. No other function makes or ends memberships. The caller has locked the row of
// the person.
func (t tx) regroup(userID string, r regrouping, now int64) (missing []string, err error) {
	for _, name := range r.leave {
		if err == nil {
			_, err = t.exec(`DELETE FROM memberships WHERE user_id = $1 AND group_name = $2`, userID, name)
		}
	}
	for _, name := range r.join {
		n := int64(1)
		if err == nil {
			n, err = t.exec(`INSERT INTO memberships (user_id, group_name, expires_at)
				SELECT u.id, g.name, CAST($3 AS BIGINT) FROM users u, groups g WHERE u.id = $1 AND g.name = $2
				ON CONFLICT (user_id, group_name) DO UPDATE SET expires_at = excluded.expires_at`, userID, name, r.until)
		}
		if n == 0 {
			missing = append(missing, name)
		}
	}
	if err == nil {
		err = t.endExcluded(userID, now)
	}
	return missing, err
}

// Membership is a group of a person.
type Membership struct {
	UserID    string `db:"user_id"`
	Username  string `db:"username"`
	Group     string `db:"group_name"`
	ExpiresAt int64  `db:"expires_at"` // 0: it does not end by itself
}

// TemporaryMemberships lists those memberships of a group, or of a person, that end by themselves. The other one is "".
func (s *Store) TemporaryMemberships(ctx context.Context, group, userID string, now int64) ([]Membership, error) {
	var found []Membership
	err := s.all(ctx, &found, `SELECT m.user_id, u.username, m.group_name, m.expires_at FROM memberships m
		JOIN users u ON u.id = m.user_id WHERE (m.group_name = $1 OR m.user_id = $2) AND m.expires_at > $3
		ORDER BY m.group_name, u.number`, group, userID, now)
	return found, err
}

// SetMembership makes a person a member of a group until a time (0: without an end), also if they are a member already.
// It returns ErrNotFound if there is no such person or group.
func (s *Store) SetMembership(ctx context.Context, userID, group string, until, now int64) error {
	return s.atomically(ctx, func(t tx) error {
		err := t.lockUser(userID)
		var missing []string
		if err == nil {
			t.changed(OfUser, userID)
			missing, err = t.regroup(userID, regrouping{join: []string{group}, until: until}, now)
		}
		if err == nil && len(missing) > 0 {
			err = ErrNotFound
		}
		return err
	})
}

// EndMemberships ends at most limit memberships whose time has come, with what hangs on them, and returns their number.
// each is the event of one of them.
func (s *Store) EndMemberships(ctx context.Context, now int64, limit int, each Event) (int64, error) {
	var over []Membership
	err := s.all(ctx, &over, `SELECT m.user_id, u.username, m.group_name, m.expires_at FROM memberships m
		JOIN users u ON u.id = m.user_id WHERE m.expires_at > 0 AND m.expires_at <= $1
		ORDER BY m.expires_at, m.user_id, m.group_name LIMIT $2`, now, limit)
	for i, one := range over {
		e := each
		e.ID = fmt.Sprint(e.ID, "-", i)
		if err == nil {
			err = s.endMembership(ctx, one, now, e)
		}
	}
	return int64(len(over)), err
}

func (s *Store) endMembership(ctx context.Context, m Membership, now int64, e Event) error {
	return s.atomically(ctx, func(t tx) error {
		err := t.lockUser(m.UserID)
		if errors.Is(err, ErrNotFound) {
			return nil // the person was deleted
		}
		var still bool
		if err == nil {
			err = t.get(&still, `SELECT EXISTS (SELECT 1 FROM memberships WHERE user_id = $1 AND group_name = $2
				AND expires_at > 0 AND expires_at <= $3)`, m.UserID, m.Group, now)
		}
		if err != nil || !still {
			return err // another node was faster, or somebody has prolonged it
		}
		t.changed(OfUser, m.UserID)
		e.PersonID, e.PersonName, e.ObjectID, e.ObjectName = m.UserID, m.Username, m.Group, m.Group
		t.happened(e)
		_, err = t.regroup(m.UserID, regrouping{leave: []string{m.Group}}, now)
		return err
	})
}
