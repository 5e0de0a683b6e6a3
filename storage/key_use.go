package storage

import (
	"cmp"
	"context"
	"maps"
	"slices"
)

// KeyUse names a key with which an application authenticates.
type KeyUse struct {
	ApplicationID string
	KeyID         string // empty: the key has none
}

// maxKeyUses is for how many keys of an application the last use is known.
const maxKeyUses = 100

// NoteKeyUses stores when keys were last used. Keys of an unknown application are left out.
// Only the keys of an application that were used last are kept.
func (s *Store) NoteKeyUses(ctx context.Context, at map[KeyUse]int64) error {
	return s.atomically(ctx, func(t tx) error {
		// The same order on every node, so that two of them cannot wait for each other.
		for _, key := range slices.SortedFunc(maps.Keys(at), func(a, b KeyUse) int {
			return cmp.Or(cmp.Compare(a.ApplicationID, b.ApplicationID), cmp.Compare(a.KeyID, b.KeyID))
		}) {
			_, err := t.exec(`INSERT INTO key_uses (application_id, kid, last_used_at) SELECT a.id, CAST($2 AS TEXT),
				CAST($3 AS BIGINT) FROM applications a WHERE a.id = $1
				ON CONFLICT (application_id, kid) DO UPDATE SET last_used_at = excluded.last_used_at
					WHERE key_uses.last_used_at < excluded.last_used_at`,
				key.ApplicationID, key.KeyID, at[key])
			if err == nil {
				_, err = t.exec(`DELETE FROM key_uses WHERE application_id = $1 AND kid NOT IN (SELECT kid FROM key_uses
					WHERE application_id = $1 ORDER BY last_used_at DESC, kid LIMIT $2)`,
					key.ApplicationID, maxKeyUses)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// KeyUses returns when an application last used each of its keys, by key ID.
func (s *Store) KeyUses(ctx context.Context, applicationID string) (map[string]int64, error) {
	var rows []struct {
		KeyID      string `db:"kid"`
		LastUsedAt int64  `db:"last_used_at"`
	}
	err := s.all(ctx, &rows, `SELECT kid, last_used_at FROM key_uses WHERE application_id = $1`, applicationID)
	uses := map[string]int64{}
	for _, row := range rows {
		uses[row.KeyID] = row.LastUsedAt
	}
	return uses, err
}
