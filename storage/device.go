package storage

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// Device is a device authorization request (RFC 8628 §3.1), which waits until a person
// approves or denies it. An approved request has a Grant, whose code is the device code.
type Device struct {
	Digest        string `db:"digest"`    // of the device code
	UserCode      string `db:"user_code"` // a keyed digest of the user code
	ApplicationID string `db:"application_id"`
	Scope         string `db:"scope"`
	Resource      string `db:"resource"` // the resources, as in Grant
	State         string `db:"state"`
	Interval      int64  `db:"poll_interval"`
	NextPollAt    int64  `db:"next_poll_at"`
	ChargedTo     string `db:"charged_to"` // the quota of requests against which it counts
	Network       string `db:"network"`    // from which the request came
	Address       string `db:"address"`
	UserAgent     string `db:"user_agent"`
	CreatedAt     int64  `db:"created_at"`
	ExpiresAt     int64  `db:"expires_at"` // of the row: the codes expire before it, at CodesEnd
}

// The states of a request.
const (
	DevicePending  = "pending"
	DeviceApproved = "approved"
	DeviceDenied   = "denied"
)

// ExpiredDeviceLife is for how many seconds a request stays after its codes have expired,
// so that a device that polls late learns why its code does not work.
const ExpiredDeviceLife = 600

// CodesEnd returns the time at which the device code and the user code expire.
func (d Device) CodesEnd() int64 { return d.ExpiresAt - ExpiredDeviceLife }

const deviceColumns = `digest, user_code, application_id, scope, resource, state, poll_interval, ` +
	`next_poll_at, charged_to, network, address, user_agent, created_at, expires_at`

// AddDevice stores a request. It returns ErrConflict if another request has the same user
// code. It returns ErrFull if the quota has most pending requests already, or if perNetwork of
// them came from the network of this request; 0 stands for no limit. While the quota is full, the
// oldest request of the network that has the most makes room for that of a network that has fewer. A
// few requests that arrive at the same moment may exceed the limit.
func (s *Store) AddDevice(ctx context.Context, d Device, most, perNetwork int) error {
	err := s.insertDevice(ctx, d, most, perNetwork)
	if !errors.Is(err, ErrFull) || most == 0 {
		return err
	}
	n, err := s.exec(ctx, `DELETE FROM devices WHERE digest = (SELECT digest FROM (SELECT digest,
		ROW_NUMBER() OVER (PARTITION BY network ORDER BY created_at DESC, digest) AS turn
			FROM devices WHERE charged_to = $1 AND state = 'pending' AND expires_at > $2) x
		WHERE turn > 1 + (SELECT COUNT(*) FROM devices WHERE charged_to = $1 AND network = $3 AND state = 'pending'
			AND expires_at > $2) ORDER BY turn DESC, digest LIMIT 1)`,
		d.ChargedTo, d.CreatedAt+ExpiredDeviceLife, d.Network)
	if err == nil && n == 0 {
		err = ErrFull // no other network has more
	}
	if err == nil {
		err = s.insertDevice(ctx, d, most, perNetwork)
	}
	return err
}

func (s *Store) insertDevice(ctx context.Context, d Device, most, perNetwork int) error {
	n, err := s.exec(ctx, `INSERT INTO devices (`+deviceColumns+`)
		SELECT CAST($1 AS TEXT), CAST($2 AS TEXT), CAST($3 AS TEXT), CAST($4 AS TEXT), CAST($5 AS TEXT), CAST($6 AS TEXT),
			CAST($7 AS BIGINT), CAST($8 AS BIGINT),
			CAST($9 AS TEXT), CAST($10 AS TEXT), CAST($11 AS TEXT), CAST($12 AS TEXT), CAST($13 AS BIGINT), CAST($14 AS BIGINT)
		WHERE (CAST($15 AS BIGINT) = 0 OR (SELECT COUNT(*) FROM (SELECT 1 AS one FROM devices WHERE charged_to = $9
			AND state = 'pending' AND expires_at > $17 LIMIT $15) x) < $15)
		AND (CAST($16 AS BIGINT) = 0 OR (SELECT COUNT(*) FROM (SELECT 1 AS one FROM devices WHERE charged_to = $9
			AND network = $10 AND state = 'pending' AND expires_at > $17 LIMIT $16) x) < $16)`,
		d.Digest, d.UserCode, d.ApplicationID, d.Scope, d.Resource, d.State, d.Interval, d.NextPollAt, d.ChargedTo, d.Network,
		d.Address, d.UserAgent, d.CreatedAt, d.ExpiresAt, most, perNetwork, d.CreatedAt+ExpiredDeviceLife)
	if err == nil && n == 0 {
		err = ErrFull
	}
	return err
}

// slower is by how many seconds a poll that comes too early extends the interval (RFC 8628
// §3.5).
const slower = 5

// earliness is by how many seconds a poll may come before its time: the clocks of two nodes
// differ, and a request may be faster than the one before it.
const earliness = 1

// poll is a question of a device for its tokens.
type poll struct {
	digest, applicationID string
	now                   int64
	early                 *bool // the answer
}

// pollResult is a row that polls return.
type pollResult struct {
	Digest        string `db:"digest"`
	ApplicationID string `db:"application_id"`
	Early         bool   `db:"early"`
}

// pollDevices holds the statements for 1, 2, 4, ... 64 polls.
var pollDevices = newPollDevices()

func newPollDevices() (statements [7]string) {
	for i := range statements {
		var digests, pairs []string
		for n := range 1 << i {
			digests = append(digests, fmt.Sprintf("$%d", 6+2*n))
			pairs = append(pairs, fmt.Sprintf("$%d", 7+2*n))
		}
		statements[i] = `UPDATE devices SET
				poll_interval = CASE WHEN next_poll_at > $2 THEN poll_interval + $3 ELSE poll_interval END,
				next_poll_at = CASE WHEN next_poll_at > $2 THEN next_poll_at ELSE $1 + poll_interval END
			WHERE digest IN (` + strings.Join(digests, ", ") + `) AND digest || ' ' || application_id IN (` +
			strings.Join(pairs, ", ") + `) AND state = $4 AND expires_at > $5
			RETURNING digest, application_id, next_poll_at <> $1 + poll_interval AS early`
	}
	return statements
}

// pollArguments are the arguments of such a statement.
func pollArguments(now int64, polls []poll) []any {
	args := []any{now, now + earliness, slower, DevicePending, now + ExpiredDeviceLife}
	for _, p := range polls {
		args = append(args, p.digest, p.digest+" "+p.applicationID)
	}
	return args
}

// PollDevice notes that a device asks for its tokens, and reports whether it asks too early.
// It is one statement, which concurrent calls share. Only a poll in time moves the time of
// the next one, so that a device which polls too often is still accepted from time to time.
// PollDevice returns ErrNotFound if no request of the application with this digest is
// pending.
func (s *Store) PollDevice(ctx context.Context, digest, applicationID string, now int64) (bool, error) {
	if s.embedded {
		var result pollResult
		err := s.writeRow(ctx, &result, pollDevices[0],
			pollArguments(now, []poll{{digest: digest, applicationID: applicationID}})...)
		return result.Early, err
	}
	ctx, done := s.begin(ctx, pollDevices[0])
	early := false
	err := s.polls.do(ctx, poll{digest, applicationID, now, &early})
	done(err)
	if err != nil {
		return false, err // the batch may still write early
	}
	return early, nil
}

// pollTogether runs the polls of a batch in one statement. If a device polls twice in it, the
// second poll is too early.
func (s *Store) pollTogether(batch []poll) []error {
	ctx, stop := context.WithTimeout(context.Background(), maxBatchWait)
	defer stop()
	var now int64
	for _, p := range batch {
		now = max(now, p.now)
	}
	var results []pollResult
	err := s.writeRows(ctx, &results, pollDevices[bits.Len(uint(len(batch)))-1], pollArguments(now, batch)...)
	if err != nil {
		return slices.Repeat([]error{err}, len(batch))
	}
	outcomes := make([]error, len(batch))
	for i, p := range batch {
		at := slices.IndexFunc(results,
			func(r pollResult) bool { return r.Digest == p.digest && r.ApplicationID == p.applicationID })
		if at < 0 {
			outcomes[i] = ErrNotFound
			continue
		}
		*p.early = results[at].Early
		results[at].Early = true
	}
	return outcomes
}

// DeviceByCode reads a request by the digest of its device code.
func (s *Store) DeviceByCode(ctx context.Context, digest string) (Device, error) {
	var d Device
	err := s.get(ctx, &d, `SELECT `+deviceColumns+` FROM devices WHERE digest = $1`, digest)
	return d, err
}

// DeviceByUserCode reads a pending request by the keyed digest of its user code.
func (s *Store) DeviceByUserCode(ctx context.Context, userCode string, now int64) (Device, error) {
	var d Device
	err := s.get(ctx, &d, `SELECT `+deviceColumns+` FROM devices WHERE user_code = $1 AND state = 'pending'
		AND expires_at > $2`, userCode, now+ExpiredDeviceLife)
	return d, err
}

// decideDevice changes the state of a pending request.
const decideDevice = `UPDATE devices SET state = $2 WHERE digest = $1 AND state = 'pending' AND expires_at > $3`

// ApproveDevice approves a pending request: it stores the grant, whose code is the device
// code. It returns ErrNotFound if the request is not pending any more, and ErrSpent if the
// session in which the person approved has ended. owner is that of AddGrant.
func (s *Store) ApproveDevice(ctx context.Context, g Grant, owner string) error {
	return s.atomically(ctx, func(t tx) error {
		err := t.one(decideDevice, *g.CodeDigest, DeviceApproved, g.CreatedAt+ExpiredDeviceLife)
		if err != nil {
			return err
		}
		return t.addGrant(g, owner)
	})
}

// DenyDevice denies a pending request, or returns ErrNotFound.
func (s *Store) DenyDevice(ctx context.Context, digest string, now int64) error {
	return s.one(ctx, decideDevice, digest, DeviceDenied, now+ExpiredDeviceLife)
}
