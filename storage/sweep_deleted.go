package storage

import "context"

// departures is the progress of the clean-up that deletes the rows of deleted
// applications, and what was revoked with everything that an application held. Deleted
// counts both.
type departures struct {
	Deleted int64  `db:"deleted"`
	Done    int64  `db:"walked"`
	Current int64  `db:"walking"`
	Next    string `db:"reached"`
}

// The clean-up walks through the tokens and then through the grants, in key order. No
// key contains a colon.
const (
	amongTokens = "tokens:"
	amongGrants = "grants:"
)

// SweepDeletedApplications examines the next limit rows of the tokens or grants. It deletes those
// whose application or grant no longer exists, and those of an earlier generation of their
// application. It does nothing if there were none since the last complete walk.
func (s *Store) SweepDeletedApplications(ctx context.Context, limit int) error {
	var d departures
	err := s.get(ctx, &d, `SELECT deleted, walked, walking, reached FROM departures`)
	switch {
	case err != nil || d.Next == "" && d.Done == d.Deleted:
		return err
	case d.Next == "":
		_, err = s.exec(ctx, `UPDATE departures SET walking = $1, reached = $2 WHERE reached = ''`, d.Deleted, amongTokens)
		return err
	case d.Next[:len(amongTokens)] == amongTokens:
		return s.sweepTokensOfDeleted(ctx, d, limit)
	}
	return s.sweepGrantsOfDeleted(ctx, d, limit)
}

func (s *Store) sweepTokensOfDeleted(ctx context.Context, d departures, limit int) error {
	from := d.Next[len(amongTokens):]
	var upTo string
	err := s.get(ctx, &upTo, `SELECT COALESCE(MAX(digest), '') FROM (SELECT digest FROM tokens WHERE digest > $1
		ORDER BY digest LIMIT $2) x`, from, limit)
	if err != nil {
		return err
	}
	if upTo == "" {
		return s.keepProgress(ctx, d, amongGrants)
	}
	n, err := s.exec(ctx, `DELETE FROM tokens WHERE digest > $1 AND digest <= $2 AND CASE WHEN grant_id IS NULL
		THEN NOT EXISTS (SELECT 1 FROM applications a WHERE a.id = tokens.application_id AND a.generation = tokens.generation)
		ELSE NOT EXISTS (SELECT 1 FROM grants g JOIN applications a ON a.id = g.application_id AND a.generation = g.generation
			WHERE g.id = tokens.grant_id) END`, from, upTo)
	if err != nil {
		return err
	}
	s.counters.tokens.Add(n)
	return s.keepProgress(ctx, d, amongTokens+upTo)
}

func (s *Store) sweepGrantsOfDeleted(ctx context.Context, d departures, limit int) error {
	from := d.Next[len(amongGrants):]
	var upTo string
	err := s.get(ctx, &upTo, `SELECT COALESCE(MAX(id), '') FROM (SELECT id FROM grants WHERE id > $1
		ORDER BY id LIMIT $2) x`, from, limit)
	if err != nil {
		return err
	}
	if upTo == "" {
		_, err = s.exec(ctx, `UPDATE departures SET walked = walking, reached = '' WHERE reached = $1`, d.Next)
		return err
	}
	n, err := s.exec(ctx, `DELETE FROM grants WHERE id > $1 AND id <= $2 AND NOT EXISTS (SELECT 1 FROM applications a
		WHERE a.id = grants.application_id AND a.generation = grants.generation)`, from, upTo)
	if err != nil {
		return err
	}
	s.counters.grants.Add(n)
	return s.keepProgress(ctx, d, amongGrants+upTo)
}

// keepProgress stores the progress of the walk. If two nodes do the same step, both delete the
// same rows and only one of them stores the progress.
func (s *Store) keepProgress(ctx context.Context, d departures, to string) error {
	_, err := s.exec(ctx, `UPDATE departures SET reached = $2 WHERE reached = $1`, d.Next, to)
	return err
}
