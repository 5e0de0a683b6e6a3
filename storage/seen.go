package storage

import (
	"context"
	"crypto/rand"
	"errors"
)

// seen is a one-time value that is used now.
type seen struct {
	digest    string
	expiresAt int64
	now       int64
	call      string
}

// A row that has expired gives way: the value that it was stored for is refused because of
// its age. If a connection breaks, the statement may run twice, and the second time finds the
// row of the same call.
const (
	intoSeen   = `INSERT INTO seen (digest, expires_at, by_call) `
	unlessSeen = ` ON CONFLICT (digest) DO UPDATE SET expires_at = excluded.expires_at, by_call = excluded.by_call
		WHERE seen.expires_at <= $1 OR seen.by_call = excluded.by_call RETURNING digest`
	see = intoSeen + `VALUES ($2, $3, $4)` + unlessSeen
)

// SeeOnce uses a one-time value that somebody else made, and stores its digest until
// expiresAt. It returns ErrSpent if the value was used already. It is one statement, which
// concurrent calls share.
func (s *Store) SeeOnce(ctx context.Context, digest string, expiresAt, now int64) error {
	one := seen{digest, expiresAt, now, rand.Text()}
	if s.embedded {
		var stored string
		err := s.writeRow(ctx, &stored, see, now, digest, expiresAt, one.call)
		if errors.Is(err, ErrNotFound) {
			return ErrSpent
		}
		return err
	}
	ctx, done := s.begin(ctx, seeValues)
	err := s.writes.do(ctx, write{value: &one})
	done(err)
	return err
}
