package storage

import (
	"context"
	"strings"
)

// User is a person who can sign in.
type User struct {
	ID                string `db:"id"`
	Number            int64  `db:"number"`
	Username          string `db:"username"`
	UsernameKey       string `db:"username_key"`
	Email             string `db:"email"`
	FirstName         string `db:"first_name"`
	LastName          string `db:"last_name"`
	Password          string `db:"password"`
	Active            bool   `db:"active"`
	Administrator     bool   `db:"administrator"`
	CreatedAt         int64  `db:"created_at"`
	PasswordChangedAt int64  `db:"password_changed_at"`
}

const userColumns = `id, number, username, username_key, email, first_name, last_name, password, active, administrator, created_at, password_changed_at`

const insertUser = `INSERT INTO users (id, username, username_key, email, first_name, last_name, password, active, administrator, created_at, password_changed_at, number)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10, `

// AddUser stores a person with their groups, or gives ErrConflict where the
// name is taken. Two that arrive together may draw one number: the second
// draws again, unless it is the name that stands in its way.
func (s *Store) AddUser(ctx context.Context, u User, groups []string) error {
	for range attempts {
		err := s.addUser(ctx, u, groups, insertUser+`(SELECT COALESCE(MAX(number), 0) + 1 FROM users))`)
		if err != ErrConflict {
			return err
		}
		_, err = s.UserByKey(ctx, u.UsernameKey)
		if err != ErrNotFound {
			break
		}
	}
	return ErrConflict
}

// AddFirstUser stores a person only while there is nobody: number 1 is unique.
func (s *Store) AddFirstUser(ctx context.Context, u User) error {
	n, err := s.CountUsers(ctx)
	if err != nil {
		return err
	}
	if n > 0 {
		return ErrSpent
	}
	err = s.addUser(ctx, u, nil, insertUser+`1)`)
	if err == ErrConflict {
		return ErrSpent
	}
	return err
}

func (s *Store) addUser(ctx context.Context, u User, groups []string, insert string) error {
	return s.atomically(ctx, func(t tx) error {
		_, err := t.exec(insert, u.ID, u.Username, u.UsernameKey, u.Email, u.FirstName, u.LastName, u.Password, u.Active, u.Administrator, u.CreatedAt)
		if err != nil {
			return err
		}
		return t.setGroups(u.ID, groups)
	})
}

// UserByID reads a person by subject.
func (s *Store) UserByID(ctx context.Context, id string) (User, error) {
	var u User
	err := s.get(ctx, &u, `SELECT `+userColumns+` FROM users WHERE id = $1`, id)
	return u, err
}

// UserByKey reads a person by folded name.
func (s *Store) UserByKey(ctx context.Context, key string) (User, error) {
	var u User
	err := s.get(ctx, &u, `SELECT `+userColumns+` FROM users WHERE username_key = $1`, key)
	return u, err
}

// UserByNumber reads a person by the number that the sample API shows.
func (s *Store) UserByNumber(ctx context.Context, number int64) (User, error) {
	var u User
	err := s.get(ctx, &u, `SELECT `+userColumns+` FROM users WHERE number = $1`, number)
	return u, err
}

// CountUsers says how many people there are.
func (s *Store) CountUsers(ctx context.Context) (int, error) {
	var n int
	err := s.get(ctx, &n, `SELECT COUNT(*) FROM users`)
	return n, err
}

// Users lists people by number, and how many match in all. An empty search
// matches everybody.
func (s *Store) Users(ctx context.Context, search string, limit, offset int) ([]User, int, error) {
	const where = ` FROM users WHERE username_key LIKE $1 ESCAPE '!' OR LOWER(email) LIKE $1 ESCAPE '!' OR LOWER(first_name || ' ' || last_name) LIKE $1 ESCAPE '!'`
	pattern := contains(search)
	var total int
	err := s.get(ctx, &total, `SELECT COUNT(*)`+where, pattern)
	if err != nil {
		return nil, 0, err
	}
	var users []User
	err = s.all(ctx, &users, `SELECT `+userColumns+where+` ORDER BY number LIMIT $2 OFFSET $3`, pattern, limit, offset)
	return users, total, err
}

var likeEscape = strings.NewReplacer("!", "!!", "%", "!%", "_", "!_")

func contains(search string) string {
	return "%" + likeEscape.Replace(strings.ToLower(search)) + "%"
}

// UpdateUser writes what may change of a person, and their groups. Whoever is
// no longer active is signed out and their tokens end.
func (s *Store) UpdateUser(ctx context.Context, u User, groups []string) error {
	return s.atomically(ctx, func(t tx) error {
		n, err := t.exec(`UPDATE users SET username = $2, username_key = $3, email = $4, first_name = $5, last_name = $6, active = $7, administrator = $8 WHERE id = $1`,
			u.ID, u.Username, u.UsernameKey, u.Email, u.FirstName, u.LastName, u.Active, u.Administrator)
		if err != nil {
			return err
		}
		if n == 0 {
			return ErrNotFound
		}
		if !u.Active {
			err = t.endUser(u.ID)
			if err != nil {
				return err
			}
		}
		return t.setGroups(u.ID, groups)
	})
}

// SetPassword stores a hash. A stolen password must be worth nothing after:
// every session but the one named ends, and so does every family that was
// given for the password itself.
func (s *Store) SetPassword(ctx context.Context, userID, hash string, now int64, keepSession string) error {
	return s.atomically(ctx, func(t tx) error {
		n, err := t.exec(`UPDATE users SET password = $2, password_changed_at = $3 WHERE id = $1`, userID, hash, now)
		if err != nil {
			return err
		}
		if n == 0 {
			return ErrNotFound
		}
		_, err = t.exec(`DELETE FROM sessions WHERE user_id = $1 AND id <> $2`, userID, keepSession)
		if err != nil {
			return err
		}
		_, err = t.exec(`DELETE FROM grants WHERE user_id = $1 AND grant_type = 'password'`, userID)
		return err
	})
}

// Rehash replaces a stored hash by one of the same password, unless the
// password was changed meanwhile.
func (s *Store) Rehash(ctx context.Context, userID, old, hash string) error {
	_, err := s.exec(ctx, `UPDATE users SET password = $3 WHERE id = $1 AND password = $2`, userID, old, hash)
	return err
}

// endUser signs a person out everywhere and revokes every family of theirs.
func (t tx) endUser(id string) error {
	_, err := t.exec(`DELETE FROM sessions WHERE user_id = $1`, id)
	if err != nil {
		return err
	}
	_, err = t.exec(`DELETE FROM grants WHERE user_id = $1`, id)
	return err
}

// DisableUser deactivates a person and ends all they had.
func (s *Store) DisableUser(ctx context.Context, id string) error {
	return s.atomically(ctx, func(t tx) error {
		n, err := t.exec(`UPDATE users SET active = FALSE WHERE id = $1`, id)
		if err != nil {
			return err
		}
		if n == 0 {
			return ErrNotFound
		}
		return t.endUser(id)
	})
}

// DeleteUser removes a person; the applications they registered stay, without
// an owner.
func (s *Store) DeleteUser(ctx context.Context, id string) error {
	return s.atomically(ctx, func(t tx) error {
		n, err := t.exec(`DELETE FROM users WHERE id = $1`, id)
		if err != nil {
			return err
		}
		if n == 0 {
			return ErrNotFound
		}
		return t.endUser(id)
	})
}
