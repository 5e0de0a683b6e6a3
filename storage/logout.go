package storage

import (
	"context"
	"errors"
)

// Login records that a person is signed in to an application within one session. After
// the session has ended, the application must receive a logout notification.
type Login struct {
	SessionID     string `db:"session_id"`
	ApplicationID string `db:"application_id"`
	UserID        string `db:"user_id"`
	Sector        string `db:"sector"`
	Owner         string `db:"owner"`    // whose turn it takes: the application's owner, or what stands for one
	DueAt         int64  `db:"due_at"`   // 0: the session has not ended
	Attempts      int64  `db:"attempts"` // to send the notification
}

// DueLogin is a login whose logout notification is due, with what decides when it is sent.
type DueLogin struct {
	Login
	Turn               int64  `db:"turn"` // 1 for the first one of its owner
	BackchannelURI     string `db:"backchannel_logout_uri"`
	Responsible        string `db:"responsible"`     // of the application, as the following are
	OwnerActive        *bool  `db:"owner_is_active"` // nil: it has no owner
	OwnerAdministrator *bool  `db:"owner_is_admin"`
}

// notifyFor is how long a logout notification is retried, in seconds.
const notifyFor = 24 * 60 * 60

// endSessions ends the sessions that a condition selects. Logout notifications to their
// applications become due. The token families that end with a session are revoked,
// unless keepFamilies is set.
//
// The session's row is deleted first. A transaction that adds to the session holds a
// lock on that row, so the statements after the DELETE see what it added.
func (t tx) endSessions(now int64, keepFamilies bool, where string, args ...any) (int, error) {
	ids, err := t.texts(`DELETE FROM sessions WHERE `+where+` RETURNING id`, args...)
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		t.changed(OfSession, id)
		err = t.notifyLogins(id, now)
		if err == nil && !keepFamilies {
			_, err = t.exec(`DELETE FROM grants WHERE session_id = $1 AND session_ends_at > 0`, id)
		}
		if err != nil {
			return 0, err
		}
	}
	return len(ids), nil
}

// notifyLogins makes the logout notifications to the applications of a session due.
func (t tx) notifyLogins(sessionID string, now int64) error {
	_, err := t.exec(`UPDATE logins SET due_at = $2, expires_at = $3 WHERE session_id = $1`, sessionID, now, now+notifyFor)
	return err
}

// EndSession ends one session of a person.
func (s *Store) EndSession(ctx context.Context, userID, id string, now int64, keepFamilies bool) error {
	return s.atomically(ctx, func(t tx) error {
		n, err := t.endSessions(now, keepFamilies, `user_id = $1 AND id = $2`, userID, id)
		if err == nil && n == 0 {
			err = ErrNotFound
		}
		return err
	})
}

// EndSessions ends all sessions of a person, forgets their browsers, and returns the number of the sessions.
func (s *Store) EndSessions(ctx context.Context, userID string, now int64) (int, error) {
	var n int
	err := s.atomically(ctx, func(t tx) error {
		// A sign-in that is being stored ends too.
		err := t.lockUser(userID)
		if err == nil {
			n, err = t.endAllSessions(userID, now)
		}
		if errors.Is(err, ErrNotFound) {
			err = nil
		}
		return err
	})
	return n, err
}

func (t tx) endAllSessions(userID string, now int64) (int, error) {
	n, err := t.endSessions(now, false, `user_id = $1`, userID)
	if err == nil {
		// This also revokes families that were kept when their session ended earlier.
		t.changed(OfUser, userID)
		_, err = t.exec(`DELETE FROM grants WHERE user_id = $1 AND session_ends_at > 0`, userID)
	}
	if err == nil {
		_, err = t.exec(forgetBrowsers, userID)
	}
	return n, err
}

// DueLogins lists the logins whose logout notification is due. The owners take turns: the first login of each owner
// comes before the second of any. It returns at most each logins per owner, and at most limit of each kind of who is
// responsible, so that nobody displaces the applications of those in whom the operator has more trust.
func (s *Store) DueLogins(ctx context.Context, now int64, each, limit int) ([]DueLogin, error) {
	var due []DueLogin
	err := s.all(ctx, &due, `SELECT session_id, application_id, user_id, sector, owner, due_at, attempts, turn,
		backchannel_logout_uri, responsible, owner_is_active, owner_is_admin FROM (
			SELECT x.session_id, x.application_id, x.user_id, x.sector, x.owner, x.due_at, x.attempts, x.turn,
				COALESCE(a.backchannel_logout_uri, '') AS backchannel_logout_uri, COALESCE(a.responsible, 'nobody') AS responsible,
					u.active AS owner_is_active, u.administrator AS owner_is_admin,
				ROW_NUMBER() OVER (PARTITION BY a.responsible, u.active, u.administrator ORDER BY x.turn, x.due_at,
					x.session_id) AS place
			FROM (
				SELECT session_id, application_id, user_id, sector, owner, due_at, attempts,
					ROW_NUMBER() OVER (PARTITION BY owner ORDER BY due_at, session_id) AS turn
				FROM logins WHERE due_at > 0 AND due_at <= $1
			) x LEFT JOIN applications a ON a.id = x.application_id LEFT JOIN users u ON u.id = a.owner_id
			WHERE x.turn <= $2
		) y WHERE place <= $3 ORDER BY turn, due_at, session_id`, now, each, limit)
	return due, err
}

// PauseLogins postpones all due notifications to an application that does not answer.
func (s *Store) PauseLogins(ctx context.Context, applicationID string, attempts, next int64) error {
	_, err := s.exec(ctx, `UPDATE logins SET due_at = $3, attempts = $2 WHERE application_id = $1 AND due_at > 0`,
		applicationID, attempts, next)
	return err
}

// ForgetLogins deletes all due notifications to an application and returns their
// number.
func (s *Store) ForgetLogins(ctx context.Context, applicationID string) (int64, error) {
	return s.exec(ctx, `DELETE FROM logins WHERE application_id = $1 AND due_at > 0`, applicationID)
}

// ClaimLogin reserves a due notification for this node until next. If several nodes
// try, one succeeds and the others get ErrSpent.
func (s *Store) ClaimLogin(ctx context.Context, l Login, next int64) error {
	n, err := s.exec(ctx, `UPDATE logins SET due_at = $4, attempts = attempts + 1 WHERE session_id = $1
		AND application_id = $2 AND due_at = $3`,
		l.SessionID, l.ApplicationID, l.DueAt, next)
	if err == nil && n == 0 {
		err = ErrSpent
	}
	return err
}

// ForgetLogin deletes a login after its notification was delivered or given up.
func (s *Store) ForgetLogin(ctx context.Context, l Login) error {
	_, err := s.exec(ctx, `DELETE FROM logins WHERE session_id = $1 AND application_id = $2`, l.SessionID, l.ApplicationID)
	return err
}

// EndSessionsBeyond ends the least recently used sessions of a person, so that at most
// most sessions remain. It always keeps the session with this digest.
func (s *Store) EndSessionsBeyond(ctx context.Context, userID, digest string, most int, now int64) (int, error) {
	var n int
	err := s.atomically(ctx, func(t tx) error {
		var err error
		n, err = t.endSessions(now, false, `user_id = $1 AND id NOT IN (SELECT id FROM sessions WHERE user_id = $1
			ORDER BY CASE WHEN digest = $3 THEN 0 ELSE 1 END, seen_at DESC, id LIMIT $2)`, userID, most, digest)
		if n == 0 {
			t.unchanged()
		}
		return err
	})
	return n, err
}
