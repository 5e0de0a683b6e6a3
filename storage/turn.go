package storage

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Clock returns the time of the database, which all nodes share. SQLite has that of this machine.
func (s *Store) Clock(ctx context.Context) (time.Time, error) {
	if s.embedded {
		return time.Now(), nil
	}
	t, err := s.turn(ctx)
	return time.UnixMilli(t.Now), err
}

// everywhere returns the earlier one of the time of a node and that of the database. What has expired by it has expired
// for every node: a node whose clock is ahead must not delete what others use.
func (t tx) everywhere(now int64) (int64, error) {
	clock := time.Now().Unix()
	if !t.store.embedded {
		err := t.get(&clock, `SELECT CAST(FLOOR(EXTRACT(EPOCH FROM clock_timestamp())) AS BIGINT)`)
		if err != nil {
			return 0, err
		}
	}
	return min(now, clock), nil
}

// turnFor is for how many seconds a node does the work that one node does for all. It takes the next turn before.
const turnFor = 30

// turn says who does the work that one node does for all, and until when.
type turn struct {
	Now    int64  `db:"now"` // of the database, in milliseconds
	Stored string `db:"stored"`
}

const readTurn = `SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) AS now, COALESCE((SELECT value
	FROM settings WHERE name = 'turn'), '') AS stored`

func (s *Store) turn(ctx context.Context) (turn, error) {
	var t turn
	err := s.get(ctx, &t, readTurn)
	return t, err
}

// left returns for how many seconds the turn of a node goes on, and whether it is that of this node.
func (t turn) left(node string) (int64, bool) {
	until, who, _ := strings.Cut(t.Stored, " ")
	end, err := strconv.ParseInt(until, 10, 64)
	if err != nil {
		return 0, false
	}
	return end - t.Now/1000, who == node
}

// TakeTurn returns the time of the database, and reports whether it is this node's turn to do the work that one node
// does for all. agrees is asked about the time first: a node that does not agree with it takes no turn. On
// SQLite it is always its turn.
func (s *Store) TakeTurn(ctx context.Context, node string, agrees func(time.Time) bool) (now time.Time, mine bool,
	err error) {
	if s.embedded {
		now = time.Now()
		return now, agrees(now), nil
	}
	t, err := s.turn(ctx)
	if err != nil {
		return time.Time{}, false, err
	}
	now = time.UnixMilli(t.Now)
	if !agrees(now) {
		return now, false, nil
	}
	left, own := t.left(node)
	switch {
	case own && left > turnFor/2:
		return now, true, nil
	case !own && left > 0 && left <= turnFor: // a longer turn was taken at another time
		return now, false, nil
	}
	n, err := s.exec(ctx, `INSERT INTO settings (name, value) VALUES ('turn', $1) ON CONFLICT (name) DO UPDATE
		SET value = excluded.value WHERE settings.value = $2`,
		fmt.Sprintf("%d %s", t.Now/1000+turnFor, node), t.Stored)
	return now, n > 0, err
}

// EndTurn ends the turn of this node, so that another one need not wait for the end of it.
func (s *Store) EndTurn(ctx context.Context, node string) error {
	if s.embedded {
		return nil
	}
	_, err := s.exec(ctx, `DELETE FROM settings WHERE name = 'turn' AND value LIKE '% ' || $1`, node)
	return err
}
