package storage

import "context"

// LiveTokens counts the unexpired tokens that count against a quota. It stops at most.
func (s *Store) LiveTokens(ctx context.Context, chargedTo string, now int64, most int) (int, error) {
	var n int
	err := s.get(ctx, &n, `SELECT COUNT(*) FROM (SELECT 1 AS one FROM tokens WHERE charged_to = $1
		AND expires_at > $2 LIMIT $3) x`, chargedTo, now, most)
	return n, err
}

// LiveGrants counts the unexpired grants that count against a quota. It stops at most.
func (s *Store) LiveGrants(ctx context.Context, chargedTo string, now int64, most int) (int, error) {
	var n int
	err := s.get(ctx, &n, `SELECT COUNT(*) FROM (SELECT 1 AS one FROM grants WHERE charged_to = $1
		AND expires_at > $2 LIMIT $3) x`, chargedTo, now, most)
	return n, err
}

// GrantsOf counts the unexpired grants that one person gave to one application, without
// revoked ones. It stops at most.
func (s *Store) GrantsOf(ctx context.Context, userID, applicationID string, now int64, most int) (int, error) {
	var n int
	err := s.get(ctx, &n, `SELECT COUNT(*) FROM (SELECT 1 AS one FROM grants WHERE user_id = $1 AND application_id = $2
		AND expires_at > $3 AND generation = (SELECT generation FROM applications WHERE id = $2) LIMIT $4) x`, userID,
		applicationID, now, most)
	return n, err
}
