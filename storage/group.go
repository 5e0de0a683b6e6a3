package storage

import (
	"context"
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
func (s *Store) Groups(ctx context.Context) ([]Group, error) {
	var groups []Group
	err := s.all(ctx, &groups, `SELECT g.name, COUNT(m.user_id) AS members FROM groups g LEFT
		JOIN memberships m ON m.group_name = g.name GROUP BY g.name ORDER BY g.name`)
	return groups, err
}

// GroupsOf lists the names of a person's groups.
func (s *Store) GroupsOf(ctx context.Context, userID string) ([]string, error) {
	var names []string
	err := s.all(ctx, &names, `SELECT group_name FROM memberships WHERE user_id = $1 ORDER BY group_name`, userID)
	return names, err
}

// MembersOf lists the usernames of the members of a group.
func (s *Store) MembersOf(ctx context.Context, name string) ([]string, error) {
	var names []string
	err := s.all(ctx, &names, `SELECT u.username FROM memberships m JOIN users u ON u.id = m.user_id
		WHERE m.group_name = $1 ORDER BY u.number`, name)
	return names, err
}

// RenameGroup gives a group another name. Its members stay, and open invitations lead to it. It returns ErrNotFound if
// there is no such group, and ErrConflict if the new name is taken. Additions and changes of people wait for it, so
// that nobody joins the group under its former name meanwhile.
func (s *Store) RenameGroup(ctx context.Context, from, to string) error {
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
			err = t.renameInvited(from, to)
		}
		if err == nil {
			_, err = t.exec(`DELETE FROM groups WHERE name = $1`, from)
		}
		return err
	})
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

// DeleteGroup deletes a group. Its members are not deleted.
func (s *Store) DeleteGroup(ctx context.Context, name string) error {
	return s.one(ctx, `DELETE FROM groups WHERE name = $1`, name)
}

// setGroups makes a person a member of exactly these groups. It returns ErrNotFound if
// a name is not the name of a group.
func (t tx) setGroups(userID string, names []string) error {
	_, err := t.exec(`DELETE FROM memberships WHERE user_id = $1`, userID)
	if err != nil {
		return err
	}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		n, err := t.exec(`INSERT INTO memberships (user_id, group_name) SELECT u.id, g.name FROM users u, groups g
			WHERE u.id = $1 AND g.name = $2`, userID, name)
		if err != nil {
			return err
		}
		if n == 0 {
			return ErrNotFound
		}
	}
	return nil
}
