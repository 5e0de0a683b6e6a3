package storage

import (
	"context"
	"strconv"
)

// Session is a browser session of a signed-in person. The database holds only the
// digest of the cookie. ID is for pages and claims.
type Session struct {
	ID        string `db:"id"`
	Digest    string `db:"digest"`
	UserID    string `db:"user_id"`
	AuthTime  int64  `db:"auth_time"`
	SeenAt    int64  `db:"seen_at"`
	ExpiresAt int64  `db:"expires_at"`
	UserAgent string `db:"user_agent"`
	Address   string `db:"address"`
	AMR       string `db:"amr"`    // the methods of the login, separated by spaces
	Issuer    string `db:"issuer"` // the other server with which the person signed in, or ""

	// Subject is the person of that server. It is used, and never read.
	Subject string `db:"-"`

	// Link is the identity with which the session begins, if the person does not have it yet. It is used, and never
	// read.
	Link *IdentityLink `db:"-"`

	// Language is that of the browser, or "". It is stored with the person, and never read.
	Language string `db:"-"`

	// Factor is what the person has shown beside the password. It is used, and never read.
	Factor FactorUse `db:"-"`
}

// SignIn names a session since its last sign-in, which may have kept the session.
func (n Session) SignIn() string { return n.ID + " " + strconv.FormatInt(n.AuthTime, 10) }

// AddSession stores a session and ends the one whose cookie digest is replaces. So a
// cookie that an attacker planted before the login is useless after it. A person who
// signs in again keeps the session and its id, because applications know the session by
// that id; only the cookie changes. hash is the hash of the password that was checked.
// If the person's hash is another one by now, or the person does not have the identity of the
// session any more, the result is ErrSpent. It is ErrFactorUsed if the factor of the session
// cannot be used, and one of the errors of an IdentityLink if the identity cannot be linked. The notices are stored in
// the same transaction.
func (s *Store) AddSession(ctx context.Context, n Session, replaces, hash string, idleSince int64,
	notices ...NewMail) error {
	return s.atomically(ctx, func(t tx) error {
		err := t.confirm(n.UserID, hash, n.Language)
		if err == nil {
			err = t.useFactor(n.UserID, n.Factor)
		}
		if err == nil && n.Link != nil {
			err = t.link(*n.Link)
		}
		if err == nil {
			err = t.useIdentity(n)
		}
		if err == nil {
			err = t.addNotices(notices)
		}
		if err != nil {
			return err
		}
		// The login may be older than the session: it was at another server.
		renewed, err := t.texts(`UPDATE sessions SET digest = $3, auth_time = $4, seen_at = $5, expires_at = $6,
			user_agent = $7, address = $8, amr = $10, issuer = $11
			WHERE digest = $1 AND user_id = $2 AND expires_at > $5 AND seen_at > $9 RETURNING id`, replaces, n.UserID, n.Digest,
			n.AuthTime, n.SeenAt, n.ExpiresAt, n.UserAgent, n.Address, idleSince, n.AMR, n.Issuer)
		if err == nil && len(renewed) > 0 {
			t.sessionIs(n.ID, renewed[0])
			_, err = t.exec(`UPDATE logins SET expires_at = $2 WHERE session_id = (SELECT id FROM sessions WHERE digest = $1)`,
				n.Digest, n.ExpiresAt+notifyFor)
		}
		if err != nil || len(renewed) > 0 {
			return err
		}
		_, err = t.endSessions(n.SeenAt, false, `digest = $1`, replaces)
		if err != nil {
			return err
		}
		_, err = t.exec(`INSERT INTO sessions (id, digest, user_id, auth_time, seen_at, expires_at, user_agent, address, amr,
			issuer) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
			n.ID, n.Digest, n.UserID, n.AuthTime, n.SeenAt, n.ExpiresAt, n.UserAgent, n.Address, n.AMR, n.Issuer)
		return err
	})
}

// Renewal gives a session another cookie: whoever has a copy of the old one is signed out. It is part of each change
// of how the person of the session signs in.
type Renewal struct {
	ID, Was string  // the session, and the digest of its cookie so far
	Session Session // with the new digest and methods, and with the new ID if that changes too
}

// renew renews a session, and locks its row. It returns ErrSpent if the session does not have the old digest any more.
func (t tx) renew(r Renewal) error {
	return t.spend(`UPDATE sessions SET id = $6, digest = $3, amr = $4 WHERE id = $1 AND digest = $2 AND user_id = $5`,
		r.ID, r.Was, r.Session.Digest, r.Session.AMR, r.Session.UserID, r.Session.ID)
}

// StrengthenSession stores that the person has shown another factor in a session. The cookie changes, so that a copy
// of the old one does not become stronger too. It returns ErrSpent if the session cannot be renewed, and
// ErrFactorUsed if its factor cannot be used.
func (s *Store) StrengthenSession(ctx context.Context, r Renewal, notices ...NewMail) error {
	return s.atomically(ctx, func(t tx) error {
		err := t.lockUser(r.Session.UserID)
		if err == nil {
			err = t.renew(r)
		}
		if err == nil {
			err = t.useFactor(r.Session.UserID, r.Session.Factor)
		}
		if err != nil {
			return err
		}
		return t.addNotices(notices)
	})
}

// SignedIn is an active session and its person.
type SignedIn struct {
	Session Session `db:"session"`
	User    User    `db:"user"`
}

// SessionByDigest reads an unexpired session of an active person that was used after
// idleSince.
func (s *Store) SessionByDigest(ctx context.Context, digest string, now, idleSince int64) (SignedIn, error) {
	var found SignedIn
	err := s.get(ctx, &found, `SELECT s.id AS "session.id", s.digest AS "session.digest", s.user_id AS "session.user_id",
		s.auth_time AS "session.auth_time",
		s.seen_at AS "session.seen_at", s.expires_at AS "session.expires_at", s.user_agent AS "session.user_agent",
		s.address AS "session.address", s.amr AS "session.amr", s.issuer AS "session.issuer",
		u.id AS "user.id", u.number AS "user.number", u.username AS "user.username", u.username_key AS "user.username_key",
			u.email AS "user.email",
		u.first_name AS "user.first_name", u.last_name AS "user.last_name", u.password AS "user.password",
			u.active AS "user.active",
		u.administrator AS "user.administrator", u.auditor AS "user.auditor", u.created_at AS "user.created_at",
		u.password_changed_at AS "user.password_changed_at", u.profile AS "user.profile", u.updated_at AS "user.updated_at",
		u.language AS "user.language", u.factor_due_at AS "user.factor_due_at", u.generation AS "user.generation",
		EXISTS (SELECT 1 FROM group_administrators d WHERE d.user_id = u.id) AS "user.delegate"
		FROM sessions s JOIN users u ON u.id = s.user_id
		WHERE s.digest = $1 AND s.expires_at > $2 AND s.seen_at > $3 AND u.active`, digest, now, idleSince)
	return found, err
}

// SessionByID reads whose session it is. It reads nothing else of the two.
func (s *Store) SessionByID(ctx context.Context, id string) (SignedIn, error) {
	var found SignedIn
	err := s.get(ctx, &found, `SELECT s.id AS "session.id", s.user_id AS "session.user_id", u.id AS "user.id",
		u.username AS "user.username"
		FROM sessions s JOIN users u ON u.id = s.user_id WHERE s.id = $1`, id)
	return found, err
}

// holdSession locks a session's row while a transaction stores something that depends
// on the session. A transaction that ends the session waits for the lock, and then also
// ends what was stored. The lock is an UPDATE, because both databases lock rows only
// for writes. If the session has ended, the result is ErrSpent.
func (t tx) holdSession(id, userID string, now int64) error {
	return t.spend(`UPDATE sessions SET seen_at = CASE WHEN seen_at > $3 THEN seen_at ELSE $3 END WHERE id = $1
		AND user_id = $2`, id, userID, now)
}

// TouchSession stores the time at which a session was used, unless it was stored within the last seconds.
func (s *Store) TouchSession(ctx context.Context, id string, now, seconds int64) error {
	_, err := s.exec(ctx, `UPDATE sessions SET seen_at = $2 WHERE id = $1 AND seen_at <= $3`, id, now, now-seconds)
	return err
}

// SessionsOf lists a person's active sessions, the most recently used first.
func (s *Store) SessionsOf(ctx context.Context, userID string, now, idleSince int64) ([]Session, error) {
	var sessions []Session
	err := s.all(ctx, &sessions, `SELECT id, digest, user_id, auth_time, seen_at, expires_at, user_agent, address, amr,
		issuer FROM sessions
		WHERE user_id = $1 AND expires_at > $2 AND seen_at > $3 ORDER BY seen_at DESC, id`, userID, now, idleSince)
	return sessions, err
}
