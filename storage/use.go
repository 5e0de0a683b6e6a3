package storage

import (
	"context"
	"maps"
	"slices"
)

// NoteUses stores when applications were last used: a time for each id. It is not a change
// of the application, so copies of it stay valid, except at its first use: a copy that says
// "never used" would make each later use the first one.
func (s *Store) NoteUses(ctx context.Context, at map[string]int64) error {
	return s.atomically(ctx, func(t tx) error {
		// The same order on every node, so that two of them cannot wait for each other.
		for _, id := range slices.Sorted(maps.Keys(at)) {
			n, err := t.exec(`UPDATE applications SET last_used_at = $2 WHERE id = $1 AND last_used_at = 0`, id, at[id])
			if err != nil {
				return err
			}
			if n > 0 {
				t.changed(OfApplication, id)
				continue
			}
			_, err = t.exec(`UPDATE applications SET last_used_at = $2 WHERE id = $1 AND last_used_at < $2`, id, at[id])
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// NoteWithoutPKCE stores when applications last got a code without a code challenge: a time for each id.
func (s *Store) NoteWithoutPKCE(ctx context.Context, at map[string]int64) error {
	return s.atomically(ctx, func(t tx) error {
		for _, id := range slices.Sorted(maps.Keys(at)) { // in the same order on every node
			_, err := t.exec(`UPDATE applications SET last_without_pkce_at = $2 WHERE id = $1 AND last_without_pkce_at < $2`,
				id, at[id])
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// EndUnusedApplications deletes at most limit applications for which nobody is responsible:
// those that were registered before neverUsedSince and never used, and those that were not
// used since unusedSince. A repeated registration counts in both cases. It returns their
// number. each is the event of one of them.
func (s *Store) EndUnusedApplications(ctx context.Context, neverUsedSince, unusedSince int64, limit int,
	each Event) (int64, error) {
	var ended int
	err := s.atomically(ctx, func(t tx) error {
		ended = 0
		for _, of := range []struct {
			where string
			since int64
		}{
			{`last_used_at = 0 AND created_at <= $1 AND renewed_at <= $1`, neverUsedSince},
			{`last_used_at > 0 AND last_used_at <= $1 AND renewed_at <= $1`, unusedSince},
		} {
			// The condition is checked twice, because another node may have noted a use while
			// the statement waited.
			ids, err := t.deleteApplications(&each, `id IN (SELECT id FROM applications WHERE responsible = 'nobody'
				AND `+of.where+` LIMIT $2)
				AND responsible = 'nobody' AND `+of.where, of.since, limit)
			if err != nil {
				return err
			}
			ended += len(ids)
		}
		return nil
	})
	return int64(ended), err
}
