package storage

import (
	"context"
	"time"
)

// ManagedAlone and ManagedByMany say whose registration access tokens work for an
// application (RFC 7592). An empty text means that none may change it.
const (
	ManagedAlone  = "own"    // one client has registered it, and may change it
	ManagedByMany = "shared" // several clients have registered it, and may only read it
)

// InitialToken lets its holder register applications (RFC 7591 §3). It is identified by
// the digest of its text. The one who made it is responsible for these applications.
type InitialToken struct {
	Digest             string  `db:"digest"`
	ID                 string  `db:"id"`
	ByOperator         bool    `db:"by_operator"` // the operator made it
	MakerID            *string `db:"maker_id"`    // the person who made it
	Maker              *string `db:"maker"`       // the person's name; only read, never written
	MakerAdministrator *bool   `db:"maker_is_admin"`
	MakerActive        *bool   `db:"maker_is_active"`
	Limits             string  `db:"limits"` // JSON
	Resources          string  `db:"resources"`
	UsesLeft           int64   `db:"uses_left"`
	CreatedAt          int64   `db:"created_at"`
	ExpiresAt          int64   `db:"expires_at"`
}

const selectInitialToken = `SELECT i.digest, i.id, i.by_operator, i.maker_id, u.username AS maker, u.administrator AS maker_is_admin, u.active AS maker_is_active,
	i.limits, i.resources, i.uses_left, i.created_at, i.expires_at
	FROM initial_tokens i LEFT JOIN users u ON u.id = i.maker_id `

// AddInitialToken stores an initial access token. It returns ErrFull if there are most of
// them.
func (s *Store) AddInitialToken(ctx context.Context, i InitialToken, most int) error {
	return s.atomically(ctx, func(t tx) error {
		_, err := t.exec(`UPDATE departures SET deleted = deleted`) // a lock: the table always has one row
		var n int
		if err == nil {
			err = t.get(&n, `SELECT COUNT(*) FROM initial_tokens`)
		}
		if err == nil && n >= most {
			err = ErrFull
		}
		if err == nil {
			_, err = t.exec(`INSERT INTO initial_tokens (digest, id, by_operator, maker_id, limits, resources, uses_left, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
				i.Digest, i.ID, i.ByOperator, i.MakerID, i.Limits, i.Resources, i.UsesLeft, i.CreatedAt, i.ExpiresAt)
		}
		return err
	})
}

// InitialTokenByDigest reads an initial access token. It may be expired or used up.
func (s *Store) InitialTokenByDigest(ctx context.Context, digest string) (InitialToken, error) {
	var i InitialToken
	err := s.get(ctx, &i, selectInitialToken+`WHERE i.digest = $1`, digest)
	return i, err
}

// InitialTokens lists the initial access tokens, the newest first.
func (s *Store) InitialTokens(ctx context.Context) ([]InitialToken, error) {
	var found []InitialToken
	err := s.all(ctx, &found, selectInitialToken+`ORDER BY i.created_at DESC, i.id`)
	return found, err
}

// DeleteInitialToken deletes an initial access token. The applications that were
// registered with it stay.
func (s *Store) DeleteInitialToken(ctx context.Context, id string) error {
	return s.one(ctx, `DELETE FROM initial_tokens WHERE id = $1`, id)
}

// spendInitialToken uses an initial access token once. It returns ErrSpent if the token has
// no use left, has expired, or if the person who made it is no administrator any more.
func (t tx) spendInitialToken(digest string, now int64) error {
	return t.spend(`UPDATE initial_tokens SET uses_left = uses_left - 1 WHERE digest = $1 AND uses_left > 0 AND expires_at > $2
		AND (by_operator OR EXISTS (SELECT 1 FROM users u WHERE u.id = maker_id AND u.active AND u.administrator))`, digest, now)
}

// insertRegistered stores nothing if an application with the same digest exists.
const insertRegistered = insertApplication + ` ON CONFLICT (registration_digest) DO NOTHING`

// RegisterApplication stores an application that registers itself. A digest of an initial
// access token that is not empty uses that token once; the result is ErrSpent if it cannot
// be used. If an application with the same RegistrationDigest exists, it becomes a shared
// one, and is the result. most limits the applications as for AddApplication.
func (s *Store) RegisterApplication(ctx context.Context, a Application, most int, initialToken string, now int64) (Application, error) {
	if s.fewOpen(ctx, a, most) {
		most = 0
	}
	if most <= 0 && initialToken == "" {
		// Nearly every registration needs only this statement, and no transaction.
		n, err := s.exec(ctx, insertRegistered, a.columns()...)
		if n > 0 || err != nil {
			return a, err
		}
	}
	var id string // of the application that exists already
	err := s.atomically(ctx, func(t tx) error {
		id = ""
		if initialToken != "" {
			err := t.spendInitialToken(initialToken, now)
			if err != nil {
				return err
			}
		}
		full := t.roomFor(a, most)
		if full == nil {
			n, err := t.exec(insertRegistered, a.columns()...)
			if n > 0 || err != nil {
				return err
			}
		} else if full != ErrFull {
			return full
		}
		// It may exist already, or another transaction has stored it in the meantime.
		var err error
		id, err = t.share(a.RegistrationDigest, now)
		switch {
		case err != nil || id != "":
			return err
		case full != nil:
			return full
		}
		return ErrConflict
	})
	switch {
	case err != nil:
		return Application{}, err
	case id == "":
		return a, nil
	}
	return s.Application(ctx, id)
}

// openCount is the number of applications for which nobody is responsible, as it was
// counted before. The count ends at a quarter of the quota.
type openCount struct {
	n     int
	until time.Time // when it is counted again
}

// fewOpen reports whether so few applications have registered themselves that the quota
// does not need an exact check. An exact one takes a lock, so it would be the slowest part
// of a registration. The number of one second ago is exact enough until a quarter of the
// quota is used: no node stores in one second the half that is left for registrations.
func (s *Store) fewOpen(ctx context.Context, a Application, most int) bool {
	const exactBelow = 5000
	if a.Responsible != ByNobody || most < exactBelow {
		return false
	}
	// One registration counts, and the others use the number of before.
	last := s.open.Load()
	if (last == nil || time.Now().After(last.until)) && s.counting.TryLock() {
		defer s.counting.Unlock()
		counted := &openCount{until: time.Now().Add(time.Second)}
		err := s.get(ctx, &counted.n, `SELECT COUNT(*) FROM (SELECT 1 AS one FROM applications WHERE responsible = 'nobody' LIMIT $1) x`, most/4)
		if err != nil {
			return false // the registration fails too, or counts exactly
		}
		s.open.Store(counted)
		last = counted
	}
	return last != nil && last.n < most/4
}

// ShareRegistration notes that somebody else has registered the application with this
// digest too, and returns it, or ErrNotFound. The clean-up counts its time anew: the new
// registrant has not used it yet. RFC 7591 §3.2.1: the time of issue stays.
func (s *Store) ShareRegistration(ctx context.Context, digest string, now int64) (Application, error) {
	var id string
	err := s.atomically(ctx, func(t tx) error {
		var err error
		id, err = t.share(&digest, now)
		if err == nil && id == "" {
			err = ErrNotFound
		}
		return err
	})
	if err != nil {
		return Application{}, err
	}
	return s.Application(ctx, id)
}

// share returns the id of the application with this digest, or "" if there is none.
func (t tx) share(digest *string, now int64) (string, error) {
	if digest == nil {
		return "", nil
	}
	ids, err := t.texts(`UPDATE applications SET management = 'shared', version = version + 1, renewed_at = $2
		WHERE registration_digest = $1 RETURNING id`, *digest, now)
	if err != nil || len(ids) == 0 {
		return "", err
	}
	t.changed(OfApplication, ids[0])
	return ids[0], nil
}

// RegistrationByDigest reads the application with this digest.
func (s *Store) RegistrationByDigest(ctx context.Context, digest string) (Application, error) {
	var a Application
	err := s.get(ctx, &a, selectApplication+`WHERE a.registration_digest = $1`, digest)
	return a, err
}

// DeleteRegistration deletes an application at the request of its only registrant. It
// returns ErrNotFound if the application is gone, or if somebody else has registered it
// too.
func (s *Store) DeleteRegistration(ctx context.Context, id string) error {
	return s.atomically(ctx, func(t tx) error {
		ids, err := t.deleteApplications(`id = $1 AND management = 'own'`, id)
		if err == nil && len(ids) == 0 {
			err = ErrNotFound
		}
		return err
	})
}
