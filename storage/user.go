package storage

import (
	"context"
	"errors"
	"slices"
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
	Profile           string `db:"profile"` // a JSON object of claims
	UpdatedAt         int64  `db:"updated_at"`
}

const userColumns = `id, number, username, username_key, email, first_name, last_name, password, active, administrator, created_at, password_changed_at, profile, updated_at`

// AddUser stores a person with their groups, or gives ErrConflict where the
// name is taken.
func (s *Store) AddUser(ctx context.Context, u User, groups []string) error {
	return s.atomically(ctx, func(t tx) error { return t.addUser(u, groups) })
}

// AddFirstUser stores a person only while there is nobody.
func (s *Store) AddFirstUser(ctx context.Context, u User) error {
	return s.atomically(ctx, func(t tx) error {
		err := t.addUser(u, nil)
		if err == ErrConflict {
			return ErrSpent
		}
		if err != nil {
			return err
		}
		var others bool
		err = t.get(&others, `SELECT EXISTS (SELECT 1 FROM users WHERE id <> $1)`, u.ID)
		if err == nil && others {
			return ErrSpent
		}
		return err
	})
}

// addUser draws the person's number from a counter: the number of somebody who
// was deleted is never given again. The counter's row is a lock too, so that
// people are added one after the other and each sees those before.
func (t tx) addUser(u User, groups []string) error {
	_, err := t.exec(`INSERT INTO settings (name, value) VALUES ('last_user_number', '1')
		ON CONFLICT (name) DO UPDATE SET value = CAST(CAST(settings.value AS BIGINT) + 1 AS TEXT)`)
	if err != nil {
		return err
	}
	_, err = t.exec(`INSERT INTO users (id, username, username_key, email, first_name, last_name, password, active, administrator, created_at, password_changed_at, updated_at, profile, number)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10, $10, $11, (SELECT CAST(value AS BIGINT) FROM settings WHERE name = 'last_user_number'))`,
		u.ID, u.Username, u.UsernameKey, u.Email, u.FirstName, u.LastName, u.Password, u.Active, u.Administrator, u.CreatedAt, u.Profile)
	if err != nil {
		return err
	}
	return t.setGroups(u.ID, groups)
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

// HasUsers says whether there is anybody.
func (s *Store) HasUsers(ctx context.Context) (bool, error) {
	var somebody bool
	err := s.get(ctx, &somebody, `SELECT EXISTS (SELECT 1 FROM users)`)
	return somebody, err
}

// Users lists people by number, and how many match in all. An empty search
// matches everybody.
func (s *Store) Users(ctx context.Context, search string, limit, offset int) ([]User, int, error) {
	const where = ` FROM users WHERE username_key LIKE $1 ESCAPE '!' OR LOWER(email) LIKE $1 ESCAPE '!' OR LOWER(first_name || ' ' || last_name) LIKE $1 ESCAPE '!'
		OR email LIKE $2 ESCAPE '!' OR first_name || ' ' || last_name LIKE $2 ESCAPE '!'`
	folded, written := contains(search)
	var total int
	err := s.get(ctx, &total, `SELECT COUNT(*)`+where, folded, written)
	if err != nil {
		return nil, 0, err
	}
	var users []User
	err = s.all(ctx, &users, `SELECT `+userColumns+where+` ORDER BY number LIMIT $3 OFFSET $4`, folded, written, limit, offset)
	return users, total, err
}

var likeEscape = strings.NewReplacer("!", "!!", "%", "!%", "_", "!_")

// contains makes two patterns: the search without case, and as it is written.
// The second is for letters that LOWER of the database does not know, which in
// SQLite are all but ASCII.
func contains(search string) (string, string) {
	written := "%" + likeEscape.Replace(search) + "%"
	return strings.ToLower(written), written
}

// confirm holds the person's row while something is stored that their password
// was checked for: checking takes a while, and a password that was changed
// meanwhile must not open anything. It is a write because that is the lock both
// databases have.
func (t tx) confirm(userID, hash string) error {
	return t.spend(`UPDATE users SET active = TRUE WHERE id = $1 AND active AND password = $2`, userID, hash)
}

// ErrLastAdministrator: the change would leave nobody to look after the server.
var ErrLastAdministrator = errors.New("the last administrator")

// keepAdministrator runs a change of a person, and undoes it if it takes away
// the last active administrator. The counter's row makes such changes wait for
// each other: two administrators may demote one another at the same moment.
func (t tx) keepAdministrator(change func() error) error {
	const anybody = `SELECT EXISTS (SELECT 1 FROM users WHERE administrator AND active)`
	_, err := t.exec(`UPDATE settings SET value = value WHERE name = 'last_user_number'`)
	if err != nil {
		return err
	}
	var before, after bool
	err = t.get(&before, anybody)
	if err == nil {
		err = change()
	}
	if err == nil {
		err = t.get(&after, anybody)
	}
	if err == nil && before && !after {
		err = ErrLastAdministrator
	}
	return err
}

// UpdateUser writes what may change of a person, and their groups. Whoever is
// no longer active is signed out and their tokens end. Whoever was not active
// begins anew: a login under way while they were disabled is not to come alive.
func (s *Store) UpdateUser(ctx context.Context, u User, groups []string) error {
	return s.atomically(ctx, func(t tx) error {
		return t.keepAdministrator(func() error { return t.updateUser(u, groups) })
	})
}

func (t tx) updateUser(u User, groups []string) error {
	t.changed(OfUser, u.ID)
	dormant, err := t.exec(`UPDATE users SET active = FALSE WHERE id = $1 AND NOT active`, u.ID)
	if err != nil {
		return err
	}
	n, err := t.exec(`UPDATE users SET username = $2, username_key = $3, email = $4, first_name = $5, last_name = $6, active = $7, administrator = $8, profile = $9, updated_at = $10 WHERE id = $1`,
		u.ID, u.Username, u.UsernameKey, u.Email, u.FirstName, u.LastName, u.Active, u.Administrator, u.Profile, u.UpdatedAt)
	if err != nil {
		return err
	}
	if n == 0 {
		return ErrNotFound
	}
	if !u.Active || dormant > 0 {
		err = t.endUser(u.ID, u.UpdatedAt)
		if err != nil {
			return err
		}
	}
	return t.setGroups(u.ID, groups)
}

// SetPassword stores a hash in the place of whatever there was: a reset, by
// somebody else. A stolen password must be worth nothing after, so everything
// of the person ends, and nothing that they allowed is remembered.
func (s *Store) SetPassword(ctx context.Context, userID, hash string, now int64) error {
	return s.atomically(ctx, func(t tx) error {
		n, err := t.exec(`UPDATE users SET password = $2, password_changed_at = $3 WHERE id = $1`, userID, hash, now)
		if err != nil {
			return err
		}
		if n == 0 {
			return ErrNotFound
		}
		err = t.endUser(userID, now)
		if err != nil {
			return err
		}
		return t.endApprovals(userID, "")
	})
}

// ChangePassword stores a hash in the place of the one that the person proved:
// where that is theirs no longer, ErrSpent. Every session but the one they sit
// at ends, and so does every family that was given for the old password. Unless
// the approvals are to be kept, whatever was allowed in another session ends too,
// also in one that ended before.
func (s *Store) ChangePassword(ctx context.Context, userID, was, hash string, now int64, session string, keepApprovals bool) error {
	return s.atomically(ctx, func(t tx) error {
		err := t.spend(`UPDATE users SET password = $3, password_changed_at = $4 WHERE id = $1 AND password = $2`, userID, was, hash, now)
		if err != nil {
			return err
		}
		_, err = t.endSessions(now, false, `user_id = $1 AND id <> $2`, userID, session)
		if err != nil {
			return err
		}
		t.changed(OfUser, userID)
		_, err = t.exec(`DELETE FROM grants WHERE user_id = $1 AND grant_type = 'password'`, userID)
		if err != nil || keepApprovals {
			return err
		}
		return t.endApprovals(userID, session)
	})
}

// Rehash replaces a stored hash by one of the same password, unless the
// password was changed meanwhile.
func (s *Store) Rehash(ctx context.Context, userID, old, hash string) error {
	_, err := s.exec(ctx, `UPDATE users SET password = $3 WHERE id = $1 AND password = $2`, userID, old, hash)
	return err
}

// endUser signs a person out everywhere and revokes every family of theirs.
func (t tx) endUser(id string, now int64) error {
	t.changed(OfUser, id)
	_, err := t.endSessions(now, false, `user_id = $1`, id)
	if err != nil {
		return err
	}
	_, err = t.exec(`DELETE FROM grants WHERE user_id = $1`, id)
	return err
}

// DisableUser deactivates a person and ends all they had.
func (s *Store) DisableUser(ctx context.Context, id string, now int64) error {
	return s.endsUser(ctx, id, now, func(tx) error { return nil })
}

// ErrAnswers: the person answers for applications, and it was not said what becomes
// of these.
var ErrAnswers = errors.New("the person answers for applications")

// Bequest says what becomes of the applications for which only a person answers
// that is deleted. Those that the operator answers for stay.
type Bequest struct {
	Delete      bool    // they are deleted
	Responsible string  // or who answers for them from now on; empty: it was not said
	Owner       *string // and the new owner; nil: none

	// Shown are the applications that the decision is about. Where the person
	// answers for others: ErrAnswers. nil is all of them.
	Shown []string
}

// DeleteUser removes a person, and their applications as the bequest says.
func (s *Store) DeleteUser(ctx context.Context, id string, now int64, b Bequest) error {
	return s.endsUser(ctx, id, now, func(t tx) error {
		err := t.bequeath(id, now, b)
		if err == nil {
			_, err = t.exec(`DELETE FROM users WHERE id = $1`, id)
		}
		return err
	})
}

func (t tx) bequeath(id string, now int64, b Bequest) error {
	var ids []string
	var err error
	switch {
	case b.Delete:
		ids, err = t.deleteApplications(`owner_id = $1 AND responsible = 'owner'`, id)
	case b.Responsible != "":
		ids, err = t.assign(b.Owner, b.Responsible, now, `owner_id = $4 AND responsible = 'owner'`, id)
	default:
		b.Shown = []string{}
		ids, err = t.texts(`SELECT id FROM applications WHERE owner_id = $1 AND responsible = 'owner'`, id)
	}
	if err == nil && b.Shown != nil && slices.ContainsFunc(ids, func(id string) bool { return !slices.Contains(b.Shown, id) }) {
		err = ErrAnswers
	}
	return err
}

// endsUser deactivates a person, ends all they had, and does what is left to do.
func (s *Store) endsUser(ctx context.Context, id string, now int64, last func(tx) error) error {
	return s.atomically(ctx, func(t tx) error {
		return t.keepAdministrator(func() error {
			n, err := t.exec(`UPDATE users SET active = FALSE WHERE id = $1`, id)
			if err == nil && n == 0 {
				err = ErrNotFound
			}
			if err == nil {
				err = t.endUser(id, now)
			}
			if err == nil {
				err = last(t)
			}
			return err
		})
	})
}

// EnableUser lets a person sign in again. Their sessions and tokens stay ended, and
// their applications work again.
func (s *Store) EnableUser(ctx context.Context, id string, now int64) error {
	return s.atomically(ctx, func(t tx) error {
		dormant, err := t.exec(`UPDATE users SET active = TRUE WHERE id = $1 AND NOT active`, id)
		if err == nil && dormant > 0 {
			// A login that began while they were disabled is not to come alive.
			err = t.endUser(id, now)
		}
		return err
	})
}
