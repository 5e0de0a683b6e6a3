package storage

import (
	"context"
	"crypto/rand"
	"errors"
)

// OneTime is a value that somebody else made, such as the jti of an assertion, and that is used
// now. Its digest is stored until ExpiresAt.
type OneTime struct {
	Digest         string
	ExpiresAt, Now int64
}

// seen is a value that one call uses.
type seen struct {
	OneTime
	call string
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

// SeeOnce uses a value. It returns ErrSpent if the value was used already. It is one statement,
// which concurrent calls share.
func (s *Store) SeeOnce(ctx context.Context, value OneTime) error {
	one := seen{value, rand.Text()}
	if !s.embedded {
		return s.writeWithOthers(ctx, seeValues, write{value: &one})
	}
	var stored string
	return spentIfNone(s.writeRow(ctx, &stored, see, one.values()...))
}

// AddTokenOnce stores a token as AddToken does, and uses a value at the same time. If the value
// was used already it returns ErrSpent, and there is no token.
func (s *Store) AddTokenOnce(ctx context.Context, token Token, value OneTime) error {
	one := seen{value, rand.Text()}
	if !s.embedded {
		return s.writeWithOthers(ctx, insertBoth, write{&token, &one})
	}
	return s.atomically(ctx, func(t tx) error {
		var stored string
		err := spentIfNone(t.write(&stored, see, one.values()...))
		if err != nil {
			return err
		}
		return t.addTokens([]Token{token})
	})
}

func (v seen) values() []any { return []any{v.Now, v.Digest, v.ExpiresAt, v.call} }

func spentIfNone(err error) error {
	if errors.Is(err, ErrNotFound) {
		return ErrSpent
	}
	return err
}
