package storage

import "context"

// reclaimAfter is the number of deleted tokens after which Reclaim may run VACUUM.
const reclaimAfter = 100_000

// Reclaim runs VACUUM on the tokens table after many deletions: at least reclaimAfter
// rows, and a fifth of the table. PostgreSQL's autovacuum uses a similar rule but
// checks only once a minute. In that minute a busy table of short-lived tokens grows to
// many times its size. SQLite does not need this.
func (s *Store) Reclaim(ctx context.Context) error {
	left := s.counters.tokens.Load() - s.reclaimed.Load()
	if s.embedded || left < reclaimAfter {
		return nil
	}
	var rows float64
	err := s.get(ctx, &rows, `SELECT reltuples FROM pg_class WHERE oid = 'tokens'::regclass`)
	if err == nil && float64(left) >= rows/5 {
		s.reclaimed.Add(left)
		// Another node may run VACUUM now; SKIP_LOCKED then skips the table. The file is
		// not truncated, because that would block all other statements.
		_, err = s.write.ExecContext(ctx, `VACUUM (SKIP_LOCKED, TRUNCATE FALSE) tokens`)
	}
	if unsupported(err) {
		return nil // another database, which reclaims space in its own way
	}
	return err
}
