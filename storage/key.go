package storage

import "context"

// Key is a signing key. Its private half is encrypted; the database cannot read it.
type Key struct {
	ID        string `db:"id"`
	Kind      string `db:"kind"`
	Sealed    string `db:"sealed"`
	CreatedAt int64  `db:"created_at"`
	ActiveAt  int64  `db:"active_at"`
	RetiredAt int64  `db:"retired_at"` // 0: no such time is set
	ExpiresAt int64  `db:"expires_at"` // 0: no such time is set
}

// Keys lists the keys that are published at the time since or later, ordered by the
// time at which they become active.
func (s *Store) Keys(ctx context.Context, since int64) ([]Key, error) {
	var keys []Key
	err := s.all(ctx, &keys, `SELECT id, kind, sealed, created_at, active_at, retired_at, expires_at FROM keys
		WHERE expires_at = 0 OR expires_at > $1 ORDER BY active_at, id`, since)
	return keys, err
}

// AddKey stores a key. The other keys of its kind stop signing when it becomes active.
// They stay published until expiresAt, so that their signatures can be verified.
func (s *Store) AddKey(ctx context.Context, k Key, expiresAt int64) error {
	return s.atomically(ctx, func(t tx) error {
		_, err := t.exec(`UPDATE keys SET retired_at = $2, expires_at = $3 WHERE kind = $1 AND (retired_at = 0
			OR retired_at > $2)`, k.Kind, k.ActiveAt, expiresAt)
		if err != nil {
			return err
		}
		_, err = t.exec(`INSERT INTO keys (id, kind, sealed, created_at, active_at, retired_at, expires_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7)`,
			k.ID, k.Kind, k.Sealed, k.CreatedAt, k.ActiveAt, k.RetiredAt, k.ExpiresAt)
		t.changed(OfKeys, "")
		return err
	})
}

// RetireKey stops a key from signing and from being published, at once. It sets
// expires_at to 1, a time long ago, so that nothing that the key signed is accepted.
func (s *Store) RetireKey(ctx context.Context, id string, now int64) error {
	return s.atomically(ctx, func(t tx) error {
		t.changed(OfKeys, "")
		return t.one(`UPDATE keys SET retired_at = $2, expires_at = 1 WHERE id = $1 AND (expires_at = 0 OR expires_at > $2)`,
			id, now)
	})
}
