package storage

import (
	"context"
	"slices"
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
	err := s.all(ctx, &groups, `SELECT g.name, COUNT(m.user_id) AS members FROM groups g LEFT JOIN memberships m ON m.group_name = g.name GROUP BY g.name ORDER BY g.name`)
	return groups, err
}

// GroupsOf lists the names of a person's groups.
func (s *Store) GroupsOf(ctx context.Context, userID string) ([]string, error) {
	var names []string
	err := s.all(ctx, &names, `SELECT group_name FROM memberships WHERE user_id = $1 ORDER BY group_name`, userID)
	return names, err
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
		n, err := t.exec(`INSERT INTO memberships (user_id, group_name) SELECT u.id, g.name FROM users u, groups g WHERE u.id = $1 AND g.name = $2`, userID, name)
		if err != nil {
			return err
		}
		if n == 0 {
			return ErrNotFound
		}
	}
	return nil
}
