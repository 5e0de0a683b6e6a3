package storage

import "context"

// Sweep deletes at most limit expired rows of each kind, oldest first, and says
// how many went. Small batches keep the locks short. The time is asked for twice:
// a row that was extended while the sweep waited for it is to stay.
func (s *Store) Sweep(ctx context.Context, now int64, limit int) (int64, error) {
	var sum int64
	for _, statement := range []string{
		`DELETE FROM tokens WHERE digest IN (SELECT digest FROM tokens WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2) AND expires_at <= $1`,
		`DELETE FROM grants WHERE id IN (SELECT id FROM grants WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2) AND expires_at <= $1`,
		`DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2) AND expires_at <= $1`,
		`DELETE FROM logins WHERE (session_id, application_id) IN (SELECT session_id, application_id FROM logins WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2) AND expires_at <= $1`,
	} {
		n, err := s.exec(ctx, statement, now, limit)
		if err != nil {
			return sum, err
		}
		sum += n
	}
	return sum, nil
}
