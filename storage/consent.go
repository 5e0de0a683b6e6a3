package storage

import "context"

// Consent is the stored decision of a person to grant scopes to an application.
type Consent struct {
	UserID        string `db:"user_id"`
	ApplicationID string `db:"application_id"`
	Scope         string `db:"scope"` // all scopes that were approved
	// A line for each resource: its name as in Grant, a space, the scopes that were approved there. The name of the
	// server itself is empty. Older releases stored names alone, and nothing if only the server was approved.
	Resource   string `db:"resource"`
	CreatedAt  int64  `db:"created_at"`
	Generation int64  `db:"generation"` // that of the application for which it was given
}

// Consent reads the stored consent. It returns ErrNotFound if there is none, or if it was
// revoked with everything that the application held.
func (s *Store) Consent(ctx context.Context, userID, applicationID string) (Consent, error) {
	var c Consent
	err := s.get(ctx, &c, `SELECT c.user_id, c.application_id, c.scope, c.resource, c.created_at, c.generation
		FROM consents c
		JOIN applications a ON a.id = c.application_id AND a.generation = c.generation WHERE c.user_id = $1
			AND c.application_id = $2`, userID, applicationID)
	return c, err
}

// KeepConsent stores what a person has approved. merge adds it to what was approved before, which is nothing if the
// consent was revoked. The row is locked between the two, so that no revocation is lost. KeepConsent returns ErrSpent
// if the session in which the person approved has ended.
func (s *Store) KeepConsent(ctx context.Context, c Consent, session string,
	merge func(before, now Consent) Consent) error {
	return s.atomically(ctx, func(t tx) error {
		err := t.holdSession(session, c.UserID, c.CreatedAt)
		if err != nil {
			return err
		}
		var before Consent
		err = t.write(&before, `INSERT INTO consents
			(user_id, application_id, scope, created_at, updated_at, resource, generation) VALUES ($1, $2, '', $3, $3, '', $4)
			ON CONFLICT (user_id, application_id) DO UPDATE SET updated_at = excluded.updated_at
			RETURNING user_id, application_id, scope, resource, created_at, generation`,
			c.UserID, c.ApplicationID, c.CreatedAt, c.Generation)
		if err != nil {
			return err
		}
		if before.Generation != c.Generation {
			before = Consent{} // it was revoked with everything that the application held
		}
		c = merge(before, c)
		return t.one(`UPDATE consents SET scope = $3, resource = $4, generation = $5 WHERE user_id = $1
			AND application_id = $2`,
			c.UserID, c.ApplicationID, c.Scope, c.Resource, c.Generation)
	})
}

// endApprovals revokes every token family of a person, and deletes every consent: with a
// consent of an attacker an application would get access without a question. No session is
// spared: the attacker may have a copy of its cookie. The caller records the change.
func (t tx) endApprovals(userID string) error {
	_, err := t.exec(`DELETE FROM consents WHERE user_id = $1`, userID)
	if err == nil {
		_, err = t.exec(`DELETE FROM grants WHERE user_id = $1`, userID)
	}
	return err
}

// Authorized is an application to which a person has given access: by a stored consent,
// or by a token family that has not expired.
type Authorized struct {
	ApplicationID string  `db:"application_id"`
	Name          string  `db:"name"`
	ClientID      string  `db:"client_id"`
	Owner         *string `db:"owner"`
	Scope         string  `db:"scope"`
	Resource      string  `db:"resource"` // as in Consent, or as in Grant
	Since         int64   `db:"since"`

	// Of the application, as in Application.
	Origin             string `db:"origin"`
	Responsible        string `db:"responsible"`
	OwnerAdministrator *bool  `db:"owner_is_admin"`
	OwnerActive        *bool  `db:"owner_is_active"`
	LastUsedAt         int64  `db:"last_used_at"`
	Metadata           string `db:"metadata"`
	Management         string `db:"management"`
}

// AuthorizedBy lists, by name, the applications to which a person has given access. A code
// that was not exchanged gives none yet, except that of a device, which has no redirect URI:
// the device can use it for minutes.
func (s *Store) AuthorizedBy(ctx context.Context, userID string, now int64) ([]Authorized, error) {
	var rows []Authorized
	err := s.all(ctx, &rows, `SELECT x.application_id, a.name, a.client_id, u.username AS owner, x.scope,
		x.resource, x.since,
			a.origin, a.responsible, u.administrator AS owner_is_admin, u.active AS owner_is_active, a.last_used_at, a.metadata,
				a.management FROM (
			SELECT application_id, scope, resource, generation, created_at AS since FROM consents WHERE user_id = $1
			UNION ALL
			SELECT application_id, scope, resource, generation, created_at AS since FROM grants WHERE user_id = $1
				AND expires_at > $2 AND (code_digest IS NULL OR code_used_at IS NOT NULL OR redirect_uri = '')
		) x JOIN applications a ON a.id = x.application_id AND a.generation = x.generation LEFT
			JOIN users u ON u.id = a.owner_id
		ORDER BY LOWER(a.name), a.id, x.since`, userID, now)
	return rows, err
}

// RevokeConsent deletes the consent of a person for an application, and revokes every
// token family of the two. It locks the person, so that no session begins meanwhile, and the sessions, so that no
// grant is stored.
func (s *Store) RevokeConsent(ctx context.Context, userID, applicationID string) error {
	return s.atomically(ctx, func(t tx) error {
		err := t.lockUser(userID)
		if err == nil {
			_, err = t.exec(`UPDATE sessions SET seen_at = seen_at WHERE user_id = $1`, userID)
		}
		if err != nil {
			return err
		}
		consents, err := t.exec(`DELETE FROM consents WHERE user_id = $1 AND application_id = $2`, userID, applicationID)
		if err != nil {
			return err
		}
		grants, err := t.exec(`DELETE FROM grants WHERE user_id = $1 AND application_id = $2`, userID, applicationID)
		if err != nil {
			return err
		}
		if consents+grants == 0 {
			return ErrNotFound
		}
		t.changed(OfUser, userID)
		return nil
	})
}
