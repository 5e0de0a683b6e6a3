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

// insertRegistered stores nothing if an application with the same digest exists.
var insertRegistered = insertApplication + ` ON CONFLICT (registration_digest) DO NOTHING`

// RegisterApplication stores an application that registers itself. A digest of an initial
// access token that is not empty uses that token once; the result is ErrSpent if it cannot
// be used. If an application with the same RegistrationDigest exists, it becomes a shared
// one, and is the result. most limits the applications as for AddApplication.
func (s *Store) RegisterApplication(ctx context.Context, a Application, most int, initialToken string,
	now int64) (Application, error) {
	if s.fewOpen(ctx, a, most) {
		most = 0
	}
	insert, values, err := named(insertRegistered, a)
	if err != nil {
		return Application{}, err
	}
	if most <= 0 && initialToken == "" {
		// Nearly every registration needs only this statement, and no transaction.
		n, err := s.exec(ctx, insert, values...)
		if n > 0 || err != nil {
			return a, err
		}
	}
	var id string // of the application that exists already
	err = s.atomically(ctx, func(t tx) error {
		id = ""
		if initialToken != "" {
			err := t.spendInitialToken(initialToken, now)
			if err != nil {
				return err
			}
		}
		full := t.roomFor(a, most)
		if full == nil {
			n, err := t.exec(insert, values...)
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
		case err != nil:
			return err
		case id != "":
			t.unchanged() // it was registered before
			return nil
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
		err := s.get(ctx, &counted.n, `SELECT COUNT(*) FROM (SELECT 1 AS one FROM applications
			WHERE responsible = 'nobody' LIMIT $1) x`, most/4)
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
		ids, err := t.deleteApplications(nil, `id = $1 AND management = 'own'`, id)
		if err == nil && len(ids) == 0 {
			err = ErrNotFound
		}
		return err
	})
}
