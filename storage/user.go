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
	Auditor           bool   `db:"auditor"`  // sees what administrators see, and changes nothing of it
	Delegate          bool   `db:"delegate"` // administers a group; only read, never written
	CreatedAt         int64  `db:"created_at"`
	PasswordChangedAt int64  `db:"password_changed_at"`
	Profile           string `db:"profile"`    // a JSON object of claims
	Attributes        string `db:"attributes"` // a JSON object of those that the operator has defined; empty: none
	UpdatedAt         int64  `db:"updated_at"`
	Language          string `db:"language"`      // of the browser in which the person last signed in; may be empty
	FactorDueAt       int64  `db:"factor_due_at"` // when the person must have a second factor; 0: nobody has asked for one
	Generation        int64  `db:"generation"`    // browsers of an earlier one are not known any more; only read
}

// FullName returns the first and the last name, or "".
func (u User) FullName() string { return strings.TrimSpace(u.FirstName + " " + u.LastName) }

const userColumns = `id, number, username, username_key, email, first_name, last_name, password, active, ` +
	`administrator, auditor, created_at, password_changed_at, profile, attributes, updated_at, language, ` +
	`factor_due_at, generation, ` +
	`EXISTS (SELECT 1 FROM group_administrators WHERE user_id = users.id) AS delegate`

// AddUser stores a person and their groups. It returns ErrConflict if the username is
// taken.
func (s *Store) AddUser(ctx context.Context, u User, groups []string) error {
	return s.atomically(ctx, func(t tx) error { return t.addUser(u, groups) })
}

// NewUser is a person with their groups.
type NewUser struct {
	User
	Groups []string
}

// AddUsers stores all of these people, or none. It returns ErrConflict if one of the usernames or IDs is
// taken, and ErrNotFound if a group does not exist.
func (s *Store) AddUsers(ctx context.Context, list []NewUser) error {
	return s.atomically(ctx, func(t tx) error {
		for _, one := range list {
			err := t.addUser(one.User, one.Groups)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// AddFirstUser stores a person if there is no other person; otherwise it returns
// ErrSpent.
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

// addUser takes the person's number from a counter, so the number of a deleted person
// is never used again. The counter's row is also a lock: additions run one after
// another, and each sees the earlier ones.
func (t tx) addUser(u User, groups []string) error {
	_, err := t.exec(`INSERT INTO settings (name, value) VALUES ('last_user_number', '1')
		ON CONFLICT (name) DO UPDATE SET value = CAST(CAST(settings.value AS BIGINT) + 1 AS TEXT)`)
	if err != nil {
		return err
	}
	_, err = t.exec(`INSERT INTO users (id, username, username_key, email, first_name, last_name, password, active,
		administrator, created_at, password_changed_at, updated_at, profile, auditor, attributes, number)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10, $10, $11, $12, $13, (SELECT CAST(value AS BIGINT) FROM settings
			WHERE name = 'last_user_number'))`,
		u.ID, u.Username, u.UsernameKey, u.Email, u.FirstName, u.LastName, u.Password, u.Active, u.Administrator,
		u.CreatedAt, u.Profile, u.Auditor, u.Attributes)
	if err != nil {
		return err
	}
	return t.setGroups(u.ID, groups, u.CreatedAt)
}

// UserByID reads a person by id, which is also their subject identifier.
func (s *Store) UserByID(ctx context.Context, id string) (User, error) {
	var u User
	err := s.get(ctx, &u, `SELECT `+userColumns+` FROM users WHERE id = $1`, id)
	return u, err
}

// UserByKey reads a person by their username in folded form.
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

// HasUsers reports whether there is any person.
func (s *Store) HasUsers(ctx context.Context) (bool, error) {
	var somebody bool
	err := s.get(ctx, &somebody, `SELECT EXISTS (SELECT 1 FROM users)`)
	return somebody, err
}

// userMatches is the condition that a person matches a search: both patterns of likePatterns.
const userMatches = `username_key LIKE $1 ESCAPE '!' OR LOWER(email) LIKE $1 ESCAPE '!'
	OR LOWER(first_name || ' ' || last_name) LIKE $1 ESCAPE '!'
	OR email LIKE $2 ESCAPE '!' OR first_name || ' ' || last_name LIKE $2 ESCAPE '!'`

// Users lists people by number, and returns the number of all that match. An empty
// search matches everyone.
func (s *Store) Users(ctx context.Context, search string, limit, offset int) ([]User, int, error) {
	const where = ` FROM users WHERE ` + userMatches
	folded, written := likePatterns(search)
	var total int
	err := s.get(ctx, &total, `SELECT COUNT(*)`+where, folded, written)
	if err != nil {
		return nil, 0, err
	}
	var users []User
	err = s.all(ctx, &users, `SELECT `+userColumns+where+` ORDER BY number LIMIT $3 OFFSET $4`, folded, written,
		limit, offset)
	return users, total, err
}

var likeEscape = strings.NewReplacer("!", "!!", "%", "!%", "_", "!_")

// likePatterns returns two LIKE patterns: the search in lower case, and the search as
// written. The second is for letters that the database's LOWER does not convert; in
// SQLite these are all letters outside ASCII.
func likePatterns(search string) (string, string) {
	written := "%" + likeEscape.Replace(search) + "%"
	return strings.ToLower(written), written
}

// confirm locks the person's row while a transaction stores something that depends on
// their password. Checking a password takes time. If the password has changed in the
// meantime, the result is ErrSpent. The lock is an UPDATE, because both databases lock
// rows only for writes. It stores the language of the person, unless it is empty.
func (t tx) confirm(userID, hash, language string) error {
	return t.spend(`UPDATE users SET active = TRUE, language = CASE WHEN $3 = '' THEN language ELSE $3 END WHERE id = $1
		AND active AND password = $2`, userID, hash, language)
}

// ErrLastAdministrator means that the change would leave no active administrator.
var ErrLastAdministrator = errors.New("no active administrator would be left")

// lockPeople locks the counter of addUser.
const lockPeople = `UPDATE settings SET value = value WHERE name = 'last_user_number'`

// keepAdministrator runs a change of a person. It returns ErrLastAdministrator if the
// change removes the last enabled administrator, and the transaction is rolled back. The
// counter's row is a lock: two administrators may demote each other at the same moment.
func (t tx) keepAdministrator(change func() error) error {
	const anybody = `SELECT EXISTS (SELECT 1 FROM users WHERE administrator AND active)`
	_, err := t.exec(lockPeople)
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

// UpdateUser writes the changeable columns of a person, and their groups. Whoever becomes an
// administrator is signed out everywhere. Disabling a person ends their sessions and revokes their tokens. Enabling
// does the same, so that a login that started while the person was disabled does not become valid. Unless it is nil,
// still is the person as the caller read it: if anything that UpdateUser writes has changed since then, the result is
// ErrSpent.
func (s *Store) UpdateUser(ctx context.Context, u User, groups []string, still *NewUser, also Beside) error {
	return s.atomically(ctx, func(t tx) error {
		return t.keepAdministrator(func() error {
			var err error
			if also.By != nil {
				err = t.renew(*also.By)
			}
			if err == nil && still != nil {
				err = t.isStill(u.ID, *still, u.UpdatedAt)
			}
			if err == nil {
				err = t.updateUser(u, groups)
			}
			if err == nil && also.Administers != nil {
				err = t.setAdministered(u.ID, *also.Administers, u.UpdatedAt)
			}
			if err == nil {
				_, err = t.exec(endInvitations, u.ID)
			}
			if err == nil && also.Password != "" {
				err = t.setPassword(u.ID, also.Password, u.UpdatedAt, nil)
			}
			if err == nil {
				err = t.addNotices(also.Notices)
			}
			return err
		})
	})
}

// Beside is what changes together with a person.
type Beside struct {
	// By is of the session in which a person changes their own account: if it has ended, the result is ErrSpent. nil:
	// somebody else does.
	By       *Renewal
	Password string // the hash of a new one, with all that SetPassword ends; "": it stays
	Notices  []NewMail
	// Administers is which groups the person administers; nil: they stay.
	Administers *Administering
}

// isStill locks a person's row, and returns ErrSpent if the person is another one than the caller has read. Whoever
// changes the groups of one person has locked the row too.
func (t tx) isStill(id string, was NewUser, now int64) error {
	err := t.spend(`UPDATE users SET active = active WHERE id = $1 AND username = $2 AND email = $3 AND first_name = $4
		AND last_name = $5 AND administrator = $6 AND profile = $7 AND active = $8 AND auditor = $9
		AND attributes = $10`,
		id, was.Username, was.Email, was.FirstName, was.LastName, was.Administrator, was.Profile, was.Active,
		was.Auditor, was.Attributes)
	if err != nil {
		return err
	}
	groups, err := t.texts(groupsOf, id, now)
	slices.Sort(groups)
	if err == nil && !slices.Equal(groups, slices.Sorted(slices.Values(was.Groups))) {
		err = ErrSpent
	}
	return err
}

func (t tx) updateUser(u User, groups []string) error {
	t.changed(OfUser, u.ID)
	wasDisabled, err := t.exec(`UPDATE users SET active = FALSE WHERE id = $1 AND NOT active`, u.ID)
	if err == nil && (u.Administrator || u.Auditor) {
		err = t.endSessionsOfPromoted(u)
	}
	if err != nil {
		return err
	}
	err = t.leaveName(u.ID, u.UsernameKey, u.UpdatedAt)
	if err != nil {
		return err
	}
	// Whoever gives an account another address knows better than the former ones.
	_, err = t.exec(`DELETE FROM links WHERE user_id = $1 AND EXISTS (SELECT 1 FROM users u WHERE u.id = $1
		AND u.email <> $2)`, u.ID, u.Email)
	if err != nil {
		return err
	}
	n, err := t.exec(`UPDATE users SET username = $2, username_key = $3, email = $4, first_name = $5, last_name = $6,
		active = $7, administrator = $8, profile = $9, updated_at = $10, auditor = $11, attributes = $12,
		delegate_disabled = delegate_disabled AND NOT $7 WHERE id = $1`,
		u.ID, u.Username, u.UsernameKey, u.Email, u.FirstName, u.LastName, u.Active, u.Administrator, u.Profile,
		u.UpdatedAt, u.Auditor, u.Attributes)
	if err != nil {
		return err
	}
	if n == 0 {
		return ErrNotFound
	}
	if !u.Active || wasDisabled > 0 {
		err = t.endSessionsAndGrants(u.ID, u.UpdatedAt)
	}
	if err != nil {
		return err
	}
	return t.setGroups(u.ID, groups, u.UpdatedAt)
}

// endSessionsOfPromoted ends the sessions of a person who becomes an administrator or an auditor: they may be weaker
// than those of an administrator have to be, and somebody else may have one.
func (t tx) endSessionsOfPromoted(u User) error {
	promoted, err := t.exec(`UPDATE users SET active = active WHERE id = $1 AND NOT administrator
		AND ($2 OR NOT auditor)`, u.ID, u.Administrator)
	if err == nil && promoted > 0 {
		_, err = t.endSessions(u.UpdatedAt, false, `user_id = $1`, u.ID)
	}
	return err
}

// SetPassword replaces the password hash of a person: a reset by somebody else. A
// stolen password must be useless afterwards. So SetPassword ends all sessions, revokes
// all token families and deletes all consents of the person.
func (s *Store) SetPassword(ctx context.Context, userID, hash string, now int64, notices ...NewMail) error {
	return s.atomically(ctx, func(t tx) error { return t.setPassword(userID, hash, now, notices) })
}

func (t tx) setPassword(userID, hash string, now int64, notices []NewMail) error {
	n, err := t.exec(`UPDATE users SET password = $2, password_changed_at = $3 WHERE id = $1`, userID, hash, now)
	if err != nil {
		return err
	}
	if n == 0 {
		return ErrNotFound
	}
	err = t.endSessionsAndGrants(userID, now)
	if err == nil {
		err = t.endApprovals(userID)
	}
	if err != nil {
		return err
	}
	return t.addNotices(notices)
}

// ChangePassword replaces the password hash that the person has proved. It returns
// ErrSpent if the stored hash is another one by now. It renews the current session, ends all others,
// and revokes the token families of password grants. Unless keepApprovals
// is set, it also revokes all token families, deletes all consents, and tells the applications of the
// current session that it has ended: it must get another ID.
func (s *Store) ChangePassword(ctx context.Context, was, hash string, now int64, r Renewal, keepApprovals bool,
	notices ...NewMail) error {
	userID := r.Session.UserID
	return s.atomically(ctx, func(t tx) error {
		err := t.spend(`UPDATE users SET password = $3, password_changed_at = $4, generation = generation + 1 WHERE id = $1
			AND password = $2`, userID, was, hash, now)
		if err == nil {
			err = t.renew(r)
		}
		if err == nil && !keepApprovals {
			t.changed(OfSession, r.ID)
			err = t.notifyLogins(r.ID, now)
		}
		if err != nil {
			return err
		}
		_, err = t.endSessions(now, false, `user_id = $1 AND id <> $2`, userID, r.Session.ID)
		if err != nil {
			return err
		}
		t.changed(OfUser, userID)
		_, err = t.exec(`DELETE FROM grants WHERE user_id = $1 AND grant_type = 'password'`, userID)
		if err == nil {
			_, err = t.exec(endLinks, userID)
		}
		if err == nil && !keepApprovals {
			err = t.endApprovals(userID)
		}
		if err != nil {
			return err
		}
		return t.addNotices(notices)
	})
}

// Rehash replaces a hash by another hash of the same password, unless the password has
// changed in the meantime.
func (s *Store) Rehash(ctx context.Context, userID, old, hash string) error {
	_, err := s.exec(ctx, `UPDATE users SET password = $3 WHERE id = $1 AND password = $2`, userID, old, hash)
	return err
}

// endLinks ends the links that were sent to a person. The way back to a former address stays.
const endLinks = `DELETE FROM links WHERE user_id = $1 AND kind <> '` + LinkFormerAddress + `'`

// forgetBrowsers begins another generation of a person's browsers: none is known any more.
const forgetBrowsers = `UPDATE users SET generation = generation + 1 WHERE id = $1`

// endSessionsAndGrants ends all sessions and links of a person, forgets their browsers, and revokes all their token
// families.
func (t tx) endSessionsAndGrants(id string, now int64) error {
	t.changed(OfUser, id)
	_, err := t.exec(forgetBrowsers, id)
	if err == nil {
		_, err = t.endSessions(now, false, `user_id = $1`, id)
	}
	if err != nil {
		return err
	}
	_, err = t.exec(`DELETE FROM grants WHERE user_id = $1`, id)
	if err == nil {
		_, err = t.exec(endLinks, id)
	}
	return err
}

// DisableUser disables an account, ends its sessions and revokes its token
// families.
func (s *Store) DisableUser(ctx context.Context, id string, now int64) error {
	return s.disableThen(ctx, id, now, func(tx) error { return nil })
}

// ErrResponsible means that the person is responsible for applications and the caller did
// not decide what happens to them.
var ErrResponsible = errors.New("the person is responsible for applications")

// Handover decides what happens to the applications for which only the deleted person is
// responsible. Applications for which the operator is responsible stay.
type Handover struct {
	Delete      bool    // delete the applications
	Responsible string  // otherwise, who is responsible from now on; empty: not decided
	Owner       *string // the new owner; nil: none

	// Shown lists the applications that the decision covers. If the person is
	// responsible for others, the result is ErrResponsible. nil covers all of them.
	Shown []string

	Each *Event // of one of the applications; nil: none
}

// DeleteUser deletes a person, and treats their applications as the handover says.
func (s *Store) DeleteUser(ctx context.Context, id string, now int64, b Handover) error {
	return s.disableThen(ctx, id, now, func(t tx) error {
		err := t.handOver(id, now, b)
		if err == nil {
			err = t.leaveName(id, "", now)
		}
		if err == nil {
			_, err = t.exec(`DELETE FROM users WHERE id = $1`, id)
		}
		return err
	})
}

func (t tx) handOver(id string, now int64, b Handover) error {
	var ids []string
	var err error
	switch {
	case b.Delete:
		ids, err = t.deleteApplications(b.Each, `owner_id = $1 AND responsible = 'owner'`, id)
	case b.Responsible != "":
		ids, err = t.assign(b.Each, b.Owner, b.Responsible, now, `owner_id = $4 AND responsible = 'owner'`, id)
	default:
		b.Shown = []string{}
		ids, err = t.texts(`SELECT id FROM applications WHERE owner_id = $1 AND responsible = 'owner'`, id)
	}
	if err == nil && b.Shown != nil &&
		slices.ContainsFunc(ids, func(id string) bool { return !slices.Contains(b.Shown, id) }) {
		err = ErrResponsible
	}
	return err
}

// disableThen disables an account, ends its sessions, revokes its token families, and
// then runs last.
func (s *Store) disableThen(ctx context.Context, id string, now int64, last func(tx) error) error {
	return s.atomically(ctx, func(t tx) error {
		return t.keepAdministrator(func() error {
			err := t.disable(id, false, now)
			if err == nil {
				err = last(t)
			}
			return err
		})
	})
}

// EnableUser lets a person sign in again. Their earlier sessions and tokens stay ended.
// Their applications work again.
func (s *Store) EnableUser(ctx context.Context, id string, now int64) error {
	return s.atomically(ctx, func(t tx) error {
		return t.enable(id, now)
	})
}
