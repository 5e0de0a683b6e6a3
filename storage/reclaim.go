package storage

import "context"

// reclaimAfter is how many tokens leave before their room is given back.
const reclaimAfter = 100_000

// Reclaim makes the room of tokens that were deleted free for new ones, where
// many have left: so many, and a fifth of those that there are. PostgreSQL does so
// by itself, by the same rule, but looks only once a minute, in which a busy table
// of short lives grows to many times its size. SQLite needs nothing of the kind.
func (s *Store) Reclaim(ctx context.Context) error {
	left := s.counters.tokens.Load() - s.reclaimed.Load()
	if s.embedded || left < reclaimAfter {
		return nil
	}
	var rows float64
	err := s.get(ctx, &rows, `SELECT reltuples FROM pg_class WHERE oid = 'tokens'::regclass`)
	if err == nil && float64(left) >= rows/5 {
		s.reclaimed.Add(left)
		// Another node may be about it. The end of the file stays: to cut it, everybody
		// would have to wait.
		_, err = s.write.ExecContext(ctx, `VACUUM (SKIP_LOCKED, TRUNCATE FALSE) tokens`)
	}
	if unsupported(err) {
		return nil // it is another database, with another way
	}
	return err
}
