package storage

import "context"

// Login is an application that a person is signed in to by one session. Once
// the session has ended the application is to be told.
type Login struct {
	SessionID     string `db:"session_id"`
	ApplicationID string `db:"application_id"`
	UserID        string `db:"user_id"`
	Sector        string `db:"sector"`
	Owner         string `db:"owner"`    // who has the application, or itself where nobody has
	DueAt         int64  `db:"due_at"`   // 0: the session goes on
	Attempts      int64  `db:"attempts"` // to tell the application
}

// tellFor is how long it is tried to tell an application, in seconds.
const tellFor = 24 * 60 * 60

// endSessions ends the sessions that a condition names. Their applications
// become due to be told, and the families that last as long as a session end
// with it, unless they are to be kept.
//
// The session's row goes first: whoever is about to add to the session holds
// that row, and what they added is seen by the statements after it.
func (t tx) endSessions(now int64, keepFamilies bool, where string, args ...any) (int, error) {
	ids, err := t.texts(`DELETE FROM sessions WHERE `+where+` RETURNING id`, args...)
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		t.changed(OfSession, id)
		_, err = t.exec(`UPDATE logins SET due_at = $2, expires_at = $3 WHERE session_id = $1`, id, now, now+tellFor)
		if err == nil && !keepFamilies {
			_, err = t.exec(`DELETE FROM grants WHERE session_id = $1 AND session_ends_at > 0`, id)
		}
		if err != nil {
			return 0, err
		}
	}
	return len(ids), nil
}

// EndSession ends one session of one person.
func (s *Store) EndSession(ctx context.Context, userID, id string, now int64, keepFamilies bool) error {
	return s.atomically(ctx, func(t tx) error {
		n, err := t.endSessions(now, keepFamilies, `user_id = $1 AND id = $2`, userID, id)
		if err == nil && n == 0 {
			err = ErrNotFound
		}
		return err
	})
}

// EndSessions ends every session of one person, and says how many there were.
func (s *Store) EndSessions(ctx context.Context, userID string, now int64) (int, error) {
	var n int
	err := s.atomically(ctx, func(t tx) error {
		var err error
		n, err = t.endSessions(now, false, `user_id = $1`, userID)
		if err == nil {
			// And what was kept when a session ended before.
			t.changed(OfUser, userID)
			_, err = t.exec(`DELETE FROM grants WHERE user_id = $1 AND session_ends_at > 0`, userID)
		}
		return err
	})
	return n, err
}

// DueLogins lists logins whose application is to be told by now, the longest
// due first, and of each owner's at most so many: nobody's applications keep those
// of others waiting.
func (s *Store) DueLogins(ctx context.Context, now int64, each, limit int) ([]Login, error) {
	var due []Login
	err := s.all(ctx, &due, `SELECT session_id, application_id, user_id, sector, owner, due_at, attempts FROM (
			SELECT session_id, application_id, user_id, sector, owner, due_at, attempts,
				ROW_NUMBER() OVER (PARTITION BY owner ORDER BY due_at, session_id) AS place
			FROM logins WHERE due_at > 0 AND due_at <= $1
		) x WHERE place <= $2 ORDER BY due_at, session_id LIMIT $3`, now, each, limit)
	return due, err
}

// PauseLogins puts off all that an application is due to be told: it does not
// answer.
func (s *Store) PauseLogins(ctx context.Context, applicationID string, attempts, next int64) error {
	_, err := s.exec(ctx, `UPDATE logins SET due_at = $3, attempts = $2 WHERE application_id = $1 AND due_at > 0`, applicationID, attempts, next)
	return err
}

// ForgetLogins removes all that an application was due to be told, and says how
// much that was.
func (s *Store) ForgetLogins(ctx context.Context, applicationID string) (int64, error) {
	return s.exec(ctx, `DELETE FROM logins WHERE application_id = $1 AND due_at > 0`, applicationID)
}

// ClaimLogin makes a due login this node's to tell until next: of several
// nodes one gets it, the others ErrSpent.
func (s *Store) ClaimLogin(ctx context.Context, l Login, next int64) error {
	n, err := s.exec(ctx, `UPDATE logins SET due_at = $4, attempts = attempts + 1 WHERE session_id = $1 AND application_id = $2 AND due_at = $3`,
		l.SessionID, l.ApplicationID, l.DueAt, next)
	if err == nil && n == 0 {
		err = ErrSpent
	}
	return err
}

// ForgetLogin removes a login whose application was told, or never will be.
func (s *Store) ForgetLogin(ctx context.Context, l Login) error {
	_, err := s.exec(ctx, `DELETE FROM logins WHERE session_id = $1 AND application_id = $2`, l.SessionID, l.ApplicationID)
	return err
}

// EndSessionsBeyond ends the sessions of one person that were used longest ago,
// so that most are left: the one of a digest in any case.
func (s *Store) EndSessionsBeyond(ctx context.Context, userID, digest string, most int, now int64) (int, error) {
	var n int
	err := s.atomically(ctx, func(t tx) error {
		var err error
		n, err = t.endSessions(now, false, `user_id = $1 AND id NOT IN (SELECT id FROM sessions WHERE user_id = $1 ORDER BY CASE WHEN digest = $3 THEN 0 ELSE 1 END, seen_at DESC, id LIMIT $2)`, userID, most, digest)
		return err
	})
	return n, err
}
