package storage

import (
	"context"
	"errors"
)

// TOTP is the authenticator app of a person.
type TOTP struct {
	UserID    string `db:"user_id"`
	Secret    string `db:"secret"` // encrypted by the caller
	CreatedAt int64  `db:"created_at"`
	LastStep  int64  `db:"last_step"` // the time step of the last code that was used
}

// Factors says what a person has beside the password.
type Factors struct {
	TOTPSince     int64 `db:"totp_since"` // 0: there is no authenticator app
	Passkeys      int   `db:"passkeys"`
	RecoveryCodes int   `db:"recovery_codes"`
}

// Factors reads what a person has beside the password.
func (s *Store) Factors(ctx context.Context, userID string) (Factors, error) {
	var found Factors
	err := s.get(ctx, &found, `SELECT COALESCE((SELECT created_at FROM totps WHERE user_id = $1), 0) AS totp_since,
		(SELECT COUNT(*) FROM passkeys WHERE user_id = $1) AS passkeys,
		(SELECT COUNT(*) FROM recovery_codes WHERE user_id = $1) AS recovery_codes`, userID)
	return found, err
}

// TOTP reads the authenticator app of a person.
func (s *Store) TOTP(ctx context.Context, userID string) (TOTP, error) {
	var found TOTP
	err := s.get(ctx, &found, `SELECT user_id, secret, created_at, last_step FROM totps WHERE user_id = $1`, userID)
	return found, err
}

// FactorUse is what a person has shown beside the password. It is used up in the same transaction
// in which the session begins or becomes stronger, so that it is neither used twice nor lost. At
// most one of the factors is set.
type FactorUse struct {
	TOTP     *TOTP       // a code of this authenticator app; LastStep is the time step of the code
	Passkey  *PasskeyUse // a response of this passkey
	Recovery string      // the digest of a recovery code
	New      *TOTP       // an authenticator app that the person adds, with the time step of its first code
	First    *Ways       // New works only if the person has no second factor yet that is one of these ways; nil: always
}

// ErrFactorUsed means that a code cannot be used: somebody has used it meanwhile, or the factor is
// not what it was.
var ErrFactorUsed = errors.New("the code was used, or its factor has changed")

// useFactor uses up what a person has shown. Each is one conditional statement: of two concurrent
// calls, one returns ErrFactorUsed.
func (t tx) useFactor(userID string, f FactorUse) error {
	switch {
	case f.TOTP != nil:
		// RFC 6238 §5.2: a code is accepted once. So a step is accepted only after every earlier
		// one.
		return t.meets(ErrFactorUsed, `UPDATE totps SET last_step = $2 WHERE user_id = $1 AND last_step < $2 AND secret = $3`,
			userID, f.TOTP.LastStep, f.TOTP.Secret)
	case f.Passkey != nil:
		return t.usePasskey(userID, *f.Passkey)
	case f.Recovery != "":
		return t.meets(ErrFactorUsed, `DELETE FROM recovery_codes WHERE digest = $1 AND user_id = $2`, f.Recovery, userID)
	case f.New != nil:
		// The person is locked, or the session: a passkey that is added at this moment is seen. A passkey that browsers
		// do not offer could not be shown, so it does not count.
		return t.meets(ErrFactorUsed, `INSERT INTO totps (user_id, secret, created_at, last_step) SELECT CAST($1 AS TEXT),
			CAST($2 AS TEXT), CAST($3 AS BIGINT), CAST($4 AS BIGINT)
			WHERE NOT (CAST($5 AS BOOLEAN) AND EXISTS (SELECT 1 FROM passkeys WHERE user_id = $1))
				ON CONFLICT (user_id) DO NOTHING`,
			userID, f.New.Secret, f.New.CreatedAt, f.New.LastStep, f.First != nil && f.First.Passkeys)
	}
	return nil
}

// RemoveTOTP deletes the authenticator app of the person of a session, and the recovery codes unless they replace
// another one of these ways. It returns ErrNotFound if there is no app, and ErrSpent if the session has ended.
func (s *Store) RemoveTOTP(ctx context.Context, r Renewal, ways Ways, notices ...NewMail) error {
	userID := r.Session.UserID
	return s.atomically(ctx, func(t tx) error {
		err := t.lockUser(userID)
		if err == nil {
			err = t.renew(r)
		}
		if err == nil {
			err = t.one(`DELETE FROM totps WHERE user_id = $1`, userID)
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

// hasFactor is the condition that a person has a second factor. The second parameter is Ways.Passkeys.
const hasFactor = `(EXISTS (SELECT 1 FROM totps WHERE user_id = $1) OR $2 AND EXISTS (SELECT 1 FROM passkeys
	WHERE user_id = $1))`

// dropRecoveryCodes deletes the recovery codes of a person without a second factor, because nothing
// is left that they would replace.
func (t tx) dropRecoveryCodes(userID string, ways Ways) error {
	_, err := t.exec(`DELETE FROM recovery_codes WHERE user_id = $1 AND NOT `+hasFactor, userID, ways.Passkeys)
	return err
}

// ReplaceRecoveryCodes stores the digests of new recovery codes of the person of a session in place of the old ones.
// It returns ErrNotFound if the person has no second factor that is one of these ways, and ErrSpent if the session has
// ended. The UPDATE locks the person's row, so that two concurrent calls do not both add their codes.
func (s *Store) ReplaceRecoveryCodes(ctx context.Context, r Renewal, digests []string, now int64, ways Ways,
	notices ...NewMail) error {
	userID := r.Session.UserID
	return s.atomically(ctx, func(t tx) error {
		err := t.one(`UPDATE users SET active = active WHERE id = $1 AND `+hasFactor, userID, ways.Passkeys)
		if err == nil {
			err = t.renew(r)
		}
		if err == nil {
			_, err = t.exec(`DELETE FROM recovery_codes WHERE user_id = $1`, userID)
		}
		for _, digest := range digests {
			if err == nil {
				_, err = t.exec(`INSERT INTO recovery_codes (digest, user_id, created_at) VALUES ($1, $2, $3)`, digest, userID, now)
			}
		}
		if err != nil {
			return err
		}
		return t.addNotices(notices)
	})
}

// hasPassword is the condition that a person has a password.
const hasPassword = `EXISTS (SELECT 1 FROM users WHERE id = $1 AND password <> '')`

// ResetFactors deletes what a person has beside the password, and ends their sessions. It is for a
// person who has lost everything: whoever found it must not stay signed in. The identities of a person
// without a password stay: no way to sign in would be left. It returns ErrNotFound if there is no such person.
func (s *Store) ResetFactors(ctx context.Context, userID string, now int64, notices ...NewMail) error {
	return s.atomically(ctx, func(t tx) error {
		err := t.resetFactors(userID, now)
		if err != nil {
			return err
		}
		return t.addNotices(notices)
	})
}

func (t tx) resetFactors(userID string, now int64) error {
	err := t.lockUser(userID)
	if err == nil {
		_, err = t.exec(`DELETE FROM totps WHERE user_id = $1`, userID)
	}
	if err == nil {
		_, err = t.exec(`DELETE FROM passkeys WHERE user_id = $1`, userID)
	}
	if err == nil {
		_, err = t.exec(`DELETE FROM recovery_codes WHERE user_id = $1`, userID)
	}
	if err == nil {
		_, err = t.exec(`INSERT INTO former_identities (user_id, issuer) SELECT DISTINCT user_id, issuer FROM identities
			WHERE user_id = $1 AND `+hasPassword+` ON CONFLICT (user_id, issuer) DO NOTHING`, userID)
	}
	if err == nil {
		_, err = t.exec(`DELETE FROM identities WHERE user_id = $1 AND `+hasPassword, userID)
	}
	if err == nil {
		_, err = t.endAllSessions(userID, now)
	}
	return err
}

// FactorDue stores when a person must have a second factor, unless that is known, and returns what
// is stored.
func (s *Store) FactorDue(ctx context.Context, userID string, due int64) (int64, error) {
	var stored int64
	err := s.atomically(ctx, func(t tx) error {
		return t.write(&stored, `UPDATE users SET factor_due_at = CASE WHEN factor_due_at = 0 THEN $2 ELSE factor_due_at END
			WHERE id = $1 RETURNING factor_due_at`, userID, due)
	})
	return stored, err
}
