package storage

import "context"

// Passkey is a credential with which a person signs in (Web Authentication).
type Passkey struct {
	ID             string `db:"id"` // the credential ID, as base64url
	UserID         string `db:"user_id"`
	PublicKey      string `db:"public_key"` // a COSE key, as base64url
	Name           string `db:"name"`       // as the person calls it
	SignCount      int64  `db:"sign_count"`
	BackupEligible bool   `db:"backup_eligible"` // it can be copied to other devices; it never changes
	BackedUp       bool   `db:"backed_up"`
	Transports     string `db:"transports"` // separated by spaces
	AAGUID         string `db:"aaguid"`     // the model of the authenticator, as it reports it, as base64url
	CreatedAt      int64  `db:"created_at"`
	LastUsedAt     int64  `db:"last_used_at"` // 0: never
}

const passkeyColumns = `id, user_id, public_key, name, sign_count, backup_eligible, backed_up, ` +
	`transports, aaguid, created_at, last_used_at`

// AddPasskey stores a passkey that a person has made in a session, which is renewed. It returns ErrSpent if
// the session has ended, ErrFull if the person has most passkeys already, and ErrConflict
// if anybody has a passkey with this ID. The session's person is locked, so that the second
// of two concurrent calls counts the first one.
func (s *Store) AddPasskey(ctx context.Context, k Passkey, r Renewal, most int, notices ...NewMail) error {
	r.Session.UserID = k.UserID
	return s.atomically(ctx, func(t tx) error {
		err := t.spend(`UPDATE users SET active = active WHERE id = $1 AND active`, k.UserID)
		if err == nil {
			err = t.renew(r)
		}
		var n int
		if err == nil {
			err = t.get(&n, `SELECT COUNT(*) FROM passkeys WHERE user_id = $1`, k.UserID)
		}
		if err == nil && n >= most {
			err = ErrFull
		}
		if err == nil {
			err = t.insertPasskey(k)
		}
		if err != nil {
			return err
		}
		return t.addNotices(notices)
	})
}

func (t tx) insertPasskey(k Passkey) error {
	_, err := t.exec(`INSERT INTO passkeys (`+passkeyColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
		k.ID, k.UserID, k.PublicKey, k.Name, k.SignCount, k.BackupEligible, k.BackedUp, k.Transports, k.AAGUID, k.CreatedAt,
		k.LastUsedAt)
	return err
}

// Passkey reads a passkey by its ID.
func (s *Store) Passkey(ctx context.Context, id string) (Passkey, error) {
	var k Passkey
	err := s.get(ctx, &k, `SELECT `+passkeyColumns+` FROM passkeys WHERE id = $1`, id)
	return k, err
}

// PasskeysOf lists the passkeys of a person, the oldest first.
func (s *Store) PasskeysOf(ctx context.Context, userID string) ([]Passkey, error) {
	var found []Passkey
	err := s.all(ctx, &found, `SELECT `+passkeyColumns+` FROM passkeys WHERE user_id = $1 ORDER BY created_at, id`, userID)
	return found, err
}

// RenamePasskey changes the name of a passkey of a person.
func (s *Store) RenamePasskey(ctx context.Context, userID, id, name string) error {
	return s.atomically(ctx, func(t tx) error {
		return t.one(`UPDATE passkeys SET name = $3 WHERE id = $1 AND user_id = $2`, id, userID, name)
	})
}

// DeletePasskey deletes a passkey of a person. The sessions that began with it stay. If the person does it, by is
// their session; nil: somebody else does. It returns ErrLastWay if the person could not sign in any more, and ErrSpent
// if the session has ended.
func (s *Store) DeletePasskey(ctx context.Context, userID, id string, ways Ways, by *Renewal,
	notices ...NewMail) error {
	return s.atomically(ctx, func(t tx) error {
		err := t.lockUser(userID)
		if err == nil && by != nil {
			err = t.renew(*by)
		}
		if err == nil {
			err = t.one(`DELETE FROM passkeys WHERE id = $1 AND user_id = $2`, id, userID)
		}
		if err == nil {
			err = t.keepWay(userID, ways)
		}
		if err == nil {
			err = t.dropRecoveryCodes(userID, ways)
		}
		if err != nil {
			return err
		}
		return t.addNotices(notices)
	})
}

// PasskeyUse is a sign-in with a passkey. It is stored in the same transaction as the session that
// it begins.
type PasskeyUse struct {
	ID        string
	SignCount int64
	BackedUp  bool
	At        int64
}

// usePasskey stores the use of a passkey.
//
// WebAuthn-3 §7.2: a counter grows with each use, unless the authenticator has none and always sends
// 0. One conditional statement compares and stores it: of two copies of an authenticator that are used
// at the same moment with the same counter, one is refused.
func (t tx) usePasskey(userID string, use PasskeyUse) error {
	return t.meets(ErrFactorUsed, `UPDATE passkeys SET sign_count = $3, backed_up = $4, last_used_at = $5
		WHERE id = $1 AND user_id = $2 AND (sign_count < $3 OR sign_count = 0 AND $3 = 0)`, use.ID, userID, use.SignCount,
		use.BackedUp, use.At)
}
