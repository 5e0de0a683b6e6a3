package storage

import (
	"context"
	"errors"
)

// Request is a pushed authorization request (RFC 9126): the parameters that a client sent
// before the browser brings their request URI.
type Request struct {
	Digest     string `db:"digest"` // of the request URI
	ClientID   string `db:"client_id"`
	Parameters string `db:"parameters"` // encrypted; empty once the request is used
	ChargedTo  string `db:"charged_to"` // the quota of requests against which it counts
	Network    string `db:"network"`    // from which the request came
	OpensUntil int64  `db:"opens_until"`
	ExpiresAt  int64  `db:"expires_at"` // of the row; KeepRequest moves it
	UsedAt     *int64 `db:"used_at"`
}

// AddRequest stores a request. It returns ErrFull if the quota has most requests already that
// are unused and have not expired, or if perNetwork of them came from the network of this request; 0 stands for no
// limit. While the quota is full, the oldest request of the network that has the most makes room for that of a
// network that has fewer. A few requests that arrive at the same moment may exceed the limit.
func (s *Store) AddRequest(ctx context.Context, r Request, most, perNetwork int, now int64) error {
	err := s.insertRequest(ctx, r, most, perNetwork, now)
	if !errors.Is(err, ErrFull) || most == 0 {
		return err
	}
	n, err := s.exec(ctx, `DELETE FROM requests WHERE digest = (SELECT digest FROM (SELECT digest,
		ROW_NUMBER() OVER (PARTITION BY network ORDER BY opens_until DESC, digest) AS turn
			FROM requests WHERE charged_to = $1 AND used_at IS NULL AND expires_at > $2) x
		WHERE turn > 1 + (SELECT COUNT(*) FROM requests WHERE charged_to = $1 AND network = $3 AND used_at IS NULL
			AND expires_at > $2) ORDER BY turn DESC, digest LIMIT 1)`,
		r.ChargedTo, now, r.Network)
	if err == nil && n == 0 {
		err = ErrFull // no other network has more
	}
	if err == nil {
		err = s.insertRequest(ctx, r, most, perNetwork, now)
	}
	return err
}

func (s *Store) insertRequest(ctx context.Context, r Request, most, perNetwork int, now int64) error {
	n, err := s.exec(ctx, `INSERT INTO requests (digest, client_id, parameters, charged_to, network, opens_until,
		expires_at)
		SELECT CAST($1 AS TEXT), CAST($2 AS TEXT), CAST($3 AS TEXT), CAST($4 AS TEXT), CAST($5 AS TEXT), CAST($6 AS BIGINT),
			CAST($7 AS BIGINT)
		WHERE (CAST($8 AS BIGINT) = 0 OR (SELECT COUNT(*) FROM (SELECT 1 AS one FROM requests WHERE charged_to = $4
			AND used_at IS NULL AND expires_at > $10 LIMIT $8) x) < $8)
		AND (CAST($9 AS BIGINT) = 0 OR (SELECT COUNT(*) FROM (SELECT 1 AS one FROM requests WHERE charged_to = $4
			AND network = $5 AND used_at IS NULL AND expires_at > $10 LIMIT $9) x) < $9)`,
		r.Digest, r.ClientID, r.Parameters, r.ChargedTo, r.Network, r.OpensUntil, r.ExpiresAt, most, perNetwork, now)
	if err == nil && n == 0 {
		err = ErrFull
	}
	return err
}

// Request reads a request by the digest of its request URI, whether it was used or not.
func (s *Store) Request(ctx context.Context, digest string) (Request, error) {
	var r Request
	err := s.get(ctx, &r, `SELECT digest, client_id, parameters, charged_to, network, opens_until, expires_at, used_at
		FROM requests WHERE digest = $1`, digest)
	return r, err
}

// KeepRequest lets the row of an unused request stay until a time, if it would expire before.
func (s *Store) KeepRequest(ctx context.Context, digest string, until int64) error {
	_, err := s.exec(ctx, `UPDATE requests SET expires_at = $2 WHERE digest = $1 AND used_at IS NULL AND expires_at < $2`,
		digest, until)
	return err
}

// useRequest marks an unused request as used.
const useRequest = `UPDATE requests SET used_at = $2, parameters = '' WHERE digest = $1 AND used_at IS NULL
	AND expires_at > $2`

// UseRequest marks a request as used, without a grant. It returns ErrNotFound if it was
// used already, or has expired.
func (s *Store) UseRequest(ctx context.Context, digest string, now int64) error {
	return s.one(ctx, useRequest, digest, now)
}
