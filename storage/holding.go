package storage

import "context"

// Holding is what an application holds: the people who have approved it, and its access
// and refresh tokens that are stored and have not expired.
type Holding struct {
	People, Tokens         int
	MorePeople, MoreTokens bool // there may be more than the number says
}

// Holding counts what an application holds. No index contains the application of a token
// or of a grant: it would slow down every issue of a token. So at most examined rows of
// each table are read: those that count against the same quota or, if chargedTo is nil,
// those that expire last. No number is above most.
func (s *Store) Holding(ctx context.Context, a Application, chargedTo *string, now int64, examined,
	most int) (Holding, error) {
	charged, args := "", []any{a.ID, now, a.Generation, examined}
	if chargedTo != nil {
		charged, args = " AND charged_to = $5", append(args, *chargedTo)
	}
	var tokens, people struct{ Examined, Found int }
	err := s.get(ctx, &tokens, `SELECT COUNT(*) AS examined, COUNT(CASE WHEN used_at IS NULL
		AND CASE WHEN grant_id IS NULL THEN application_id = $1 AND generation = $3
			ELSE (SELECT g.application_id FROM grants g WHERE g.id = x.grant_id
				AND g.generation = $3) = $1 END THEN 1 END) AS found
		FROM (SELECT grant_id, application_id, generation, used_at FROM tokens WHERE expires_at > $2`+charged+
		` ORDER BY expires_at DESC LIMIT $4) x`, args...)
	if err != nil {
		return Holding{}, err
	}
	err = s.get(ctx, &people, `WITH live AS (SELECT user_id, application_id, generation, code_digest, code_used_at
		FROM grants WHERE expires_at > $2`+charged+` ORDER BY expires_at DESC LIMIT $4)
		SELECT (SELECT COUNT(*) FROM live) AS examined, (SELECT COUNT(*) FROM (
			SELECT user_id FROM (SELECT user_id FROM consents WHERE application_id = $1 AND generation = $3 LIMIT $4) x
			UNION SELECT user_id FROM live WHERE application_id = $1 AND generation = $3 AND (code_digest IS NULL
				OR code_used_at IS NOT NULL)) x) AS found`, args...)
	return Holding{min(people.Found, most), min(tokens.Found, most), people.Found > most || people.Examined >= examined,
		tokens.Found > most || tokens.Examined >= examined}, err
}

// RevokeAllOf revokes everything that an application holds: its tokens, the grants and the
// consents of people, and codes that are not exchanged yet. The application stays. It is
// one change of the application's row, so nothing survives that is stored at the same
// moment. The clean-up deletes the rows later.
func (s *Store) RevokeAllOf(ctx context.Context, applicationID string) error {
	return s.atomically(ctx, func(t tx) error {
		t.changed(OfApplication, applicationID)
		err := t.one(`UPDATE applications SET generation = generation + 1 WHERE id = $1`, applicationID)
		if err == nil {
			_, err = t.exec(`DELETE FROM consents WHERE application_id = $1`, applicationID)
		}
		if err == nil {
			_, err = t.exec(`UPDATE departures SET deleted = deleted + 1`)
		}
		return err
	})
}
