package storage

import "context"

// InitialToken lets its holder register applications (RFC 7591 §3). It is identified by
// the digest of its text. The one who made it is responsible for these applications.
type InitialToken struct {
	Digest             string  `db:"digest"`
	ID                 string  `db:"id"`
	ByOperator         bool    `db:"by_operator"` // the operator made it
	MakerID            *string `db:"maker_id"`    // the person who made it
	Maker              *string `db:"maker"`       // the person's name; only read, never written
	MakerAdministrator *bool   `db:"maker_is_admin"`
	MakerActive        *bool   `db:"maker_is_active"`
	Limits             string  `db:"limits"` // JSON
	Resources          string  `db:"resources"`
	UsesLeft           int64   `db:"uses_left"`
	CreatedAt          int64   `db:"created_at"`
	ExpiresAt          int64   `db:"expires_at"`
}

const selectInitialToken = `SELECT i.digest, i.id, i.by_operator, i.maker_id, u.username AS maker,
	u.administrator AS maker_is_admin, u.active AS maker_is_active,
	i.limits, i.resources, i.uses_left, i.created_at, i.expires_at
	FROM initial_tokens i LEFT JOIN users u ON u.id = i.maker_id `

// AddInitialToken stores an initial access token. It returns ErrFull if there are most of
// them.
func (s *Store) AddInitialToken(ctx context.Context, i InitialToken, most int) error {
	return s.atomically(ctx, func(t tx) error {
		_, err := t.exec(`UPDATE departures SET deleted = deleted`) // a lock: the table always has one row
		var n int
		if err == nil {
			err = t.get(&n, `SELECT COUNT(*) FROM initial_tokens`)
		}
		if err == nil && n >= most {
			err = ErrFull
		}
		if err == nil {
			_, err = t.exec(`INSERT INTO initial_tokens (digest, id, by_operator, maker_id, limits, resources, uses_left,
				created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
				i.Digest, i.ID, i.ByOperator, i.MakerID, i.Limits, i.Resources, i.UsesLeft, i.CreatedAt, i.ExpiresAt)
		}
		return err
	})
}

// InitialTokenByDigest reads an initial access token. It may be expired or used up.
func (s *Store) InitialTokenByDigest(ctx context.Context, digest string) (InitialToken, error) {
	var i InitialToken
	err := s.get(ctx, &i, selectInitialToken+`WHERE i.digest = $1`, digest)
	return i, err
}

// InitialTokens lists the initial access tokens, the newest first.
func (s *Store) InitialTokens(ctx context.Context) ([]InitialToken, error) {
	var found []InitialToken
	err := s.all(ctx, &found, selectInitialToken+`ORDER BY i.created_at DESC, i.id`)
	return found, err
}

// DeleteInitialToken deletes an initial access token. The applications that were
// registered with it stay.
func (s *Store) DeleteInitialToken(ctx context.Context, id string) error {
	return s.one(ctx, `DELETE FROM initial_tokens WHERE id = $1`, id)
}

// spendInitialToken uses an initial access token once. It returns ErrSpent if the token has
// no use left, has expired, or if the person who made it is no administrator any more.
func (t tx) spendInitialToken(digest string, now int64) error {
	return t.spend(`UPDATE initial_tokens SET uses_left = uses_left - 1 WHERE digest = $1 AND uses_left > 0
		AND expires_at > $2
		AND (by_operator OR EXISTS (SELECT 1 FROM users u WHERE u.id = maker_id AND u.active AND u.administrator))`,
		digest, now)
}
