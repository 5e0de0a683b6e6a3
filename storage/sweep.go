package storage

import (
	"context"
	"sync/atomic"
)

// EndOldSessions ends at most limit sessions that have expired, and at most limit that
// were not used since idleSince. The effect is the same as that of signing out.
func (s *Store) EndOldSessions(ctx context.Context, now, idleSince int64, limit int) (int64, error) {
	var ended int
	err := s.atomically(ctx, func(t tx) error {
		n, err := t.endSessions(now, false, `id IN (SELECT id FROM sessions WHERE expires_at <= $1
			ORDER BY expires_at LIMIT $2) AND expires_at <= $1`, now, limit)
		ended = n
		if err == nil {
			n, err = t.endSessions(now, false, `id IN (SELECT id FROM sessions WHERE seen_at <= $1 ORDER BY seen_at LIMIT $2)
				AND seen_at <= $1`, idleSince, limit)
			ended += n
		}
		return err
	})
	if err == nil {
		s.counters.sessions.Add(int64(ended))
	}
	return int64(ended), err
}

// Sweep deletes at most limit expired rows of each table, oldest first, and returns
// their number. Small batches keep locks short. Each statement checks the expiry time
// twice, because a row may have been extended while the statement waited for its lock.
func (s *Store) Sweep(ctx context.Context, now int64, limit int) (int64, error) {
	var sum int64
	for _, of := range []struct {
		removed   *atomic.Int64
		statement string
	}{
		{&s.counters.tokens, `DELETE FROM tokens WHERE digest IN (SELECT digest FROM tokens WHERE expires_at <= $1
			ORDER BY expires_at LIMIT $2) AND expires_at <= $1`},
		{&s.counters.grants, `DELETE FROM grants WHERE id IN (SELECT id FROM grants WHERE expires_at <= $1
			ORDER BY expires_at LIMIT $2) AND expires_at <= $1`},
		{&s.counters.logins, `DELETE FROM logins WHERE (session_id, application_id) IN (SELECT session_id, application_id
			FROM logins WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2) AND expires_at <= $1`},
		{&s.counters.devices, `DELETE FROM devices WHERE digest IN (SELECT digest FROM devices WHERE expires_at <= $1
			ORDER BY expires_at LIMIT $2) AND expires_at <= $1`},
		{&s.counters.requests, `DELETE FROM requests WHERE digest IN (SELECT digest FROM requests WHERE expires_at <= $1
			ORDER BY expires_at LIMIT $2) AND expires_at <= $1`},
		{&s.counters.initial, `DELETE FROM initial_tokens WHERE digest IN (SELECT digest FROM initial_tokens
			WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2) AND expires_at <= $1`},
		{&s.counters.mails, `DELETE FROM mails WHERE id IN (SELECT id FROM mails WHERE expires_at <= $1
			ORDER BY expires_at LIMIT $2) AND expires_at <= $1`},
		{&s.counters.links, `DELETE FROM links WHERE digest IN (SELECT digest FROM links WHERE expires_at <= $1
			ORDER BY expires_at LIMIT $2) AND expires_at <= $1`},
		{&s.counters.mailCounts, `DELETE FROM mail_counts WHERE (recipient, hour) IN (SELECT recipient, hour FROM mail_counts
			WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2) AND expires_at <= $1`},
		{&s.counters.sites, `DELETE FROM site_sessions WHERE digest IN (SELECT digest FROM site_sessions
			WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2) AND expires_at <= $1`},
		{&s.counters.seen, `DELETE FROM seen WHERE digest IN (SELECT digest FROM seen WHERE expires_at <= $1
			ORDER BY expires_at LIMIT $2) AND expires_at <= $1`},
	} {
		n, err := s.exec(ctx, of.statement, now, limit)
		if err != nil {
			return sum, err
		}
		of.removed.Add(n)
		sum += n
	}
	n, err := s.sweepInvitations(ctx, now, limit)
	return sum + n, err
}

// expiredInvitation is how long an invitation that has expired is kept, in seconds, so that an administrator sees that
// nobody has used it.
const expiredInvitation = 30 * 24 * 60 * 60

// sweepInvitations deletes links that people asked for when they expire, and invitations later.
func (s *Store) sweepInvitations(ctx context.Context, now int64, limit int) (int64, error) {
	var sum int64
	for asked, before := range map[bool]int64{true: now, false: now - expiredInvitation} {
		n, err := s.exec(ctx, `DELETE FROM invitations WHERE id IN (SELECT id FROM invitations WHERE asked = $1
			AND expires_at <= $2 ORDER BY expires_at LIMIT $3) AND asked = $1 AND expires_at <= $2`, asked, before, limit)
		s.counters.invitations.Add(n)
		sum += n
		if err != nil {
			return sum, err
		}
	}
	return sum, nil
}
